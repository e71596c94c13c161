//! Pages over TCP: HTTP/1.1 as it is, or HTTP/1.1 and HTTP/2 over TLS.

use std::io;
use std::net::TcpStream;
use std::sync::{Arc, Mutex, OnceLock};

use hyper::body::Incoming;
use hyper::header::HOST;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;
use tokio_rustls::LazyConfigAcceptor;
use tokio_rustls::rustls::server::Acceptor;

use super::answer;
use super::body::ObjectBody;
use super::gate::Gate;
use super::page_connection::PageConnection;
use super::runtime::MOST_REQUESTS;
use crate::clock::RawTime;
use crate::server::client_quota::HeldPlace;
use crate::server::connection::Admitted;
use crate::server::shared::Shared;
use crate::socket::options::{self, Asker};
use crate::web::{ALPN_HTTP2, CONGESTION_CONTROL, HANDSHAKE_TIME};

/// Bytes of a request that are kept, and of an answer that waits to be sent, over HTTP/1.1.
const MOST_KEPT: usize = 32 << 10;

/// What a connection speaks, by its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// HTTP/1.1 without TLS.
    Http,
    /// TLS, with whatever it says is within.
    Tls,
}

impl Protocol {
    /// What these first four bytes begin; `None` for anything else.
    pub(crate) fn from_octets(first: [u8; 4]) -> Option<Self> {
        match &first {
            // A handshake record (RFC 8446, section 5.1).
            [0x16, 0x03, _, _] => Some(Self::Tls),
            b"GET " | b"POST" | b"HEAD" => Some(Self::Http),
            _ => None,
        }
    }
}

/// Serves a connection whose first bytes are still unread.
pub(crate) fn take(stream: TcpStream, protocol: Protocol, admitted: Admitted) {
    admitted.shared.pages.handle.clone().spawn(async move {
        // The whole of it: what a block does not name it does not keep, and the connection would count for a moment only.
        let mut admitted = admitted;
        let unnamed = admitted.unnamed.take();
        // That it breaks is the client's to notice.
        let _ = serve(stream, protocol, unnamed, &admitted.shared).await;
    });
}

async fn serve(
    stream: TcpStream,
    protocol: Protocol,
    unnamed: Option<HeldPlace>,
    shared: &Arc<Shared>,
) -> io::Result<()> {
    stream.set_nonblocking(true)?;
    stream.set_nodelay(true)?;
    let _ = options::congestion_control(&stream, CONGESTION_CONTROL, Asker::Stranger);
    let (visit, counted, unnamed) = (OnceLock::new(), OnceLock::new(), Mutex::new(unnamed));
    let socket = Arc::new(stream.try_clone()?);
    let connection = PageConnection { visit, counted, unnamed, socket, arrived: RawTime::now() };
    let connection = Arc::new(connection);
    let stream = Gate { stream: tokio::net::TcpStream::from_std(stream)?, connection: Arc::clone(&connection) };
    match protocol {
        Protocol::Http => converse(stream, false, &connection, shared).await,
        Protocol::Tls => {
            let hello = LazyConfigAcceptor::new(Acceptor::default(), stream);
            let hello = timeout(HANDSHAKE_TIME, hello).await??;
            let name = hello.client_hello().server_name().map(str::to_owned);
            let Some(_) = name.and_then(|name| connection.welcome(shared, &name)) else { return Ok(()) };
            let secured = hello.into_stream(Arc::clone(&shared.pages.over_tcp));
            let secured = timeout(HANDSHAKE_TIME, secured).await??;
            let second = secured.get_ref().1.alpn_protocol() == Some(ALPN_HTTP2);
            converse(secured, second, &connection, shared).await
        }
    }
}

/// Requests and responses, until either side has enough.
async fn converse<S>(stream: S, second: bool, connection: &Arc<PageConnection>, shared: &Arc<Shared>) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = service_fn(|request: Request<Incoming>| {
        let (connection, shared) = (Arc::clone(connection), Arc::clone(shared));
        async move { respond(&connection, &shared, &request).await }
    });
    let stream = TokioIo::new(stream);
    let conversation = async {
        if second {
            let mut builder = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
            builder.timer(TokioTimer::new()).max_concurrent_streams(MOST_REQUESTS);
            // Requests have no bodies.
            builder.initial_connection_window_size(65_535);
            builder.serve_connection(stream, service).await
        } else {
            let mut builder = hyper::server::conn::http1::Builder::new();
            builder.timer(TokioTimer::new()).header_read_timeout(None).max_buf_size(MOST_KEPT);
            builder.serve_connection(stream, service).await
        }
    };
    tokio::select! {
        done = conversation => done.map_err(io::Error::other),
        () = connection.gone(shared) => Ok(()),
    }
}

/// The response; an error for who has no session, which ends the connection.
async fn respond(
    connection: &PageConnection,
    shared: &Shared,
    request: &Request<Incoming>,
) -> io::Result<Response<ObjectBody>> {
    let told = request.headers().get(HOST).and_then(|host| host.to_str().ok());
    let host = request.uri().authority().map_or(told, |authority| Some(authority.as_str())).unwrap_or_default();
    let visit = connection.welcome(shared, host).ok_or(io::ErrorKind::NotFound)?;
    let answer = answer::answer_to(&visit, host, request.uri().path()).await;
    answer.response().body(answer.body).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_bytes_of_a_connection_show_its_protocol() {
        assert_eq!(Protocol::from_octets([0x16, 3, 1, 2]), Some(Protocol::Tls));
        assert_eq!(Protocol::from_octets(*b"GET "), Some(Protocol::Http));
        for other in [*b"RRUL", *b"SSH-", [0; 4], [0x16, 2, 0, 0]] {
            assert_eq!(Protocol::from_octets(other), None);
        }
    }
}
