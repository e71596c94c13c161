//! What serves pages: threads of its own, and TLS over TCP and QUIC.

use std::io;
use std::sync::Arc;

use quinn::crypto::rustls::{NoInitialCipherSuite, QuicServerConfig};
use tokio::runtime::Handle;
use tokio_rustls::rustls::ServerConfig;

use crate::web::tls::{self, TlsError};
use crate::web::{ALPN_HTTP1, ALPN_HTTP2, ALPN_HTTP3};

/// Threads that serve pages: they are many connections, and little work.
const THREADS: usize = 2;

/// Requests that a client may have under way on one connection.
pub(super) const MOST_REQUESTS: u32 = 100;

/// Bytes of answers that wait on one QUIC connection to be acknowledged: more than a page has of any host.
const MOST_UNACKNOWLEDGED: u64 = 1 << 20;

/// Why no pages can be served.
#[derive(Debug, thiserror::Error)]
pub enum PagesError {
    #[error("cannot start threads for pages: {0}")]
    Threads(io::Error),
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error(transparent)]
    Quic(#[from] NoInitialCipherSuite),
    #[error(transparent)]
    Port(io::Error),
}

/// What all pages of a server share.
pub(crate) struct Pages {
    pub(super) handle: Handle,
    pub(super) over_tcp: Arc<ServerConfig>,
    pub(super) over_quic: quinn::ServerConfig,
}

impl Pages {
    /// The runtime, and what runs on it. The runtime ends when it is let go.
    pub(crate) fn start() -> Result<(tokio::runtime::Runtime, Self), PagesError> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(THREADS)
            .thread_name("pages")
            .enable_all()
            .build()
            .map_err(PagesError::Threads)?;
        let over_tcp = Arc::new(tls::server(&[ALPN_HTTP2, ALPN_HTTP1])?);
        let over_quic = QuicServerConfig::try_from(tls::server(&[ALPN_HTTP3])?)?;
        let mut over_quic = quinn::ServerConfig::with_crypto(Arc::new(over_quic));
        let mut transport = quinn::TransportConfig::default();
        transport.max_concurrent_bidi_streams(MOST_REQUESTS.into()).send_window(MOST_UNACKNOWLEDGED);
        over_quic.transport_config(Arc::new(transport));
        let pages = Self { handle: runtime.handle().clone(), over_tcp, over_quic };
        Ok((runtime, pages))
    }
}
