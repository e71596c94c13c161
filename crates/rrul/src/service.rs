//! What commands that run as a service have in common: the service manager, and metrics over HTTP.

pub(crate) mod manager;
#[cfg(any(feature = "metrics", feature = "monitor"))]
pub(crate) mod metrics_http;
