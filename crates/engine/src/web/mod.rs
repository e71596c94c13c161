//! What both ends of a page have in common (spec: Web Component).
//!
//! HTTP, TLS and QUIC are libraries; what is ours is which packet carries which marking, when what happened, and which
//! object asks for which.

mod certificate;
pub mod client;
pub mod tls;

/// How long a handshake may take.
pub const HANDSHAKE_TIME: std::time::Duration = std::time::Duration::from_secs(10);

/// Names by which TLS and QUIC say what is spoken over them (RFC 7301).
pub const ALPN_HTTP1: &[u8] = b"http/1.1";
/// HTTP/2.
pub const ALPN_HTTP2: &[u8] = b"h2";
/// HTTP/3.
pub const ALPN_HTTP3: &[u8] = b"h3";

/// The congestion control of pages at both ends: what most of the web uses.
pub const CONGESTION_CONTROL: &str = "cubic";
