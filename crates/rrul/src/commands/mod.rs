//! The commands, one file each.

#[cfg(feature = "archive")]
pub(crate) mod archive;
#[cfg(all(feature = "charts", feature = "lab"))]
pub(crate) mod batch;
#[cfg(feature = "compare")]
pub(crate) mod compare;
#[cfg(feature = "export")]
pub(crate) mod convert;
#[cfg(all(feature = "charts", feature = "lab"))]
pub(crate) mod demo;
pub(crate) mod key;
#[cfg(feature = "lab")]
pub(crate) mod lab;
pub(crate) mod list;
#[cfg(feature = "manual")]
pub(crate) mod manual;
#[cfg(feature = "monitor")]
pub(crate) mod monitor;
#[cfg(feature = "charts")]
pub(crate) mod plot;
#[cfg(feature = "charts")]
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod server;
pub(crate) mod show;
#[cfg(all(feature = "charts", feature = "lab"))]
pub(crate) mod sweep;
#[cfg(all(feature = "charts", feature = "lab"))]
pub(crate) mod tune;
