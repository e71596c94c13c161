//! A new connection for a page, phase by phase: TCP, TLS, HTTP; or QUIC, where all is one.

use std::cell::RefCell;
use std::io;
use std::net::TcpStream;
use std::rc::Rc;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::Empty;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioIo, TokioTimer};
use quinn::crypto::rustls::QuicClientConfig;
use quinn::{ClientConfig, ConnectionId, Endpoint, EndpointConfig, TokioRuntime};
use rrul_model::observation::{ConnectionTotals, WebObject};
use rrul_model::page::HttpVersion;
use rrul_model::time::TestTime;
use rrul_model::units::Delay;
use rrul_proto::session_name::connection_id;
use rustls::pki_types::ServerName;
use socket2::{Protocol, Socket, Type};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpSocket;
use tokio::task::spawn_local;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::Visitor;
use super::quic_socket::QuicSocket;
use crate::connection_totals::Opened;
use crate::socket::options::{self, Asker};
use crate::web::{ALPN_HTTP1, ALPN_HTTP2, ALPN_HTTP3, CONGESTION_CONTROL, HANDSHAKE_TIME, tls};

/// How long QUIC is tried before HTTP/2 takes its place: longer than any queue, shorter than anybody's patience.
const QUIC_TIME: std::time::Duration = std::time::Duration::from_secs(4);

/// Runs what hyper does beside its connections among the tasks of the load, so that it ends with them.
///
/// Left to the runtime it would keep the sockets of a load that was cut off, and what is on its way would go on coming.
#[derive(Clone, Copy)]
struct OfThisLoad;

impl<F: Future<Output: 'static> + 'static> hyper::rt::Executor<F> for OfThisLoad {
    fn execute(&self, future: F) {
        spawn_local(future);
    }
}

/// A connection that speaks HTTP.
#[derive(Clone)]
pub(super) enum Channel {
    /// HTTP/1.1: one request at a time.
    Http1(Rc<tokio::sync::Mutex<http1::SendRequest<Empty<Bytes>>>>),
    /// HTTP/2.
    Http2(http2::SendRequest<Empty<Bytes>>),
    /// HTTP/3.
    Http3(h3::client::SendRequest<h3_quinn::OpenStreams, Bytes>),
}

/// What counts the bytes of a connection.
enum Counts {
    Tcp(TcpStream),
    Quic(quinn::Connection, Endpoint),
}

/// A connection whose bytes are counted, whether or not it is ever fit for use.
pub(super) struct Counted {
    opened: Opened,
    counts: Counts,
}

impl Counted {
    pub(super) fn totals(&self, now: TestTime) -> Option<ConnectionTotals> {
        match &self.counts {
            Counts::Tcp(socket) => self.opened.tcp(socket, now),
            Counts::Quic(connection, _) => Some(self.opened.quic(connection, now)),
        }
    }

    fn close(&self) {
        if let Counts::Quic(connection, _) = &self.counts {
            connection.close(0_u32.into(), b"");
        }
    }

    pub(super) fn endpoint(&self) -> Option<Endpoint> {
        match &self.counts {
            Counts::Tcp(_) => None,
            Counts::Quic(_, endpoint) => Some(endpoint.clone()),
        }
    }
}

/// What is reported of a connection while it is being made, because that may never end.
pub(super) trait Witness {
    /// It may send from now on.
    fn opens(&self, counted: Rc<Counted>);
    /// The time that the TCP handshake took.
    fn connected(&self, took: Delay);
}

/// A connection with what is known of it.
pub(super) struct Dialled {
    channel: RefCell<Option<Channel>>,
    pub(super) version: HttpVersion,
    pub(super) opened: Opened,
    pub(super) connect: Delay,
    pub(super) secure: Delay,
    counted: Rc<Counted>,
}

impl Dialled {
    /// What speaks over it; `None` once it has taken leave.
    pub(super) fn channel(&self) -> Option<Channel> {
        self.channel.borrow().clone()
    }

    /// Ends it, as a browser that leaves the page. What that sends belongs into the totals.
    pub(super) fn part(&self) {
        self.channel.borrow_mut().take();
        self.counted.close();
    }
}

/// Opens a connection to a host of the page, by the version asked for or, where QUIC fails, HTTP/2.
///
/// The flag says that HTTP/2 took the place of HTTP/3.
pub(super) async fn dial(
    visitor: &Visitor,
    host: &str,
    version: HttpVersion,
    witness: &dyn Witness,
) -> io::Result<(Dialled, bool)> {
    if version == HttpVersion::Http3 {
        if let Ok(Ok(dialled)) = timeout(QUIC_TIME, over_quic(visitor, host, witness)).await {
            return Ok((dialled, false));
        }
        return Ok((timeout(HANDSHAKE_TIME, over_tcp(visitor, host, HttpVersion::Http2, witness)).await??, true));
    }
    Ok((timeout(HANDSHAKE_TIME, over_tcp(visitor, host, version, witness)).await??, false))
}

async fn over_tcp(visitor: &Visitor, host: &str, version: HttpVersion, witness: &dyn Witness) -> io::Result<Dialled> {
    let spec = &visitor.spec;
    let socket = Socket::new(options::domain(spec.family), Type::STREAM, Some(Protocol::TCP))?;
    options::mark(&socket, spec.family, spec.class)?;
    options::congestion_control(&socket, CONGESTION_CONTROL, Asker::User)?;
    socket.set_nonblocking(true)?;
    socket.set_tcp_nodelay(true)?;
    let socket = TcpStream::from(socket);
    let counts = Counts::Tcp(socket.try_clone()?);
    let clock = visitor.clock;
    let started = clock.now();
    let opened = Opened { flow: spec.id, connection: visitor.next_connection(), started };
    let counted = Rc::new(Counted { opened, counts });
    witness.opens(Rc::clone(&counted));
    let stream = TcpSocket::from_std_stream(socket).connect(visitor.server).await?;
    let connected = clock.now();
    let (connect, mut secure) = (connected.since(started), WebObject::NONE);
    witness.connected(connect);
    let channel = if visitor.page.secure || version != HttpVersion::Http1 {
        let protocol = if version == HttpVersion::Http1 { ALPN_HTTP1 } else { ALPN_HTTP2 };
        let config = Arc::new(tls::client(protocol).map_err(io::Error::other)?);
        let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
        let stream = TlsConnector::from(config).connect(name, stream).await?;
        secure = clock.now().since(connected);
        speak(stream, version).await?
    } else {
        speak(stream, version).await?
    };
    Ok(Dialled { channel: RefCell::new(Some(channel)), version, opened, connect, secure, counted })
}

async fn speak<S>(stream: S, version: HttpVersion) -> io::Result<Channel>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let stream = TokioIo::new(stream);
    if version == HttpVersion::Http1 {
        let (sender, connection) = http1::handshake(stream).await.map_err(io::Error::other)?;
        spawn_local(connection);
        Ok(Channel::Http1(Rc::new(tokio::sync::Mutex::new(sender))))
    } else {
        let mut builder = http2::Builder::new(OfThisLoad);
        // As browsers do: no response waits for its receiver.
        builder.timer(TokioTimer::new()).initial_stream_window_size(6 << 20).initial_connection_window_size(15 << 20);
        let (sender, connection) = builder.handshake(stream).await.map_err(io::Error::other)?;
        spawn_local(connection);
        Ok(Channel::Http2(sender))
    }
}

async fn over_quic(visitor: &Visitor, host: &str, witness: &dyn Witness) -> io::Result<Dialled> {
    let spec = &visitor.spec;
    let crypto = tls::client(ALPN_HTTP3).map_err(io::Error::other)?;
    let crypto = QuicClientConfig::try_from(crypto).map_err(io::Error::other)?;
    let mut config = ClientConfig::new(Arc::new(crypto));
    let number = visitor.next_connection();
    let identifier = connection_id(visitor.token, spec.id.0, number as u16);
    config.initial_dst_cid_provider(Arc::new(move || ConnectionId::new(&identifier)));
    let socket = QuicSocket::open(spec.family, spec.class, visitor.server)?;
    let endpoint = Endpoint::new_with_abstract_socket(EndpointConfig::default(), None, socket, Arc::new(TokioRuntime))?;
    let clock = visitor.clock;
    let started = clock.now();
    let connecting = endpoint.connect_with(config, visitor.server, host).map_err(io::Error::other)?;
    let connection = connecting.await?;
    let connect = clock.now().since(started);
    let opened = Opened { flow: spec.id, connection: number, started };
    let counted = Rc::new(Counted { opened, counts: Counts::Quic(connection.clone(), endpoint.clone()) });
    witness.opens(Rc::clone(&counted));
    let (mut driver, sender) =
        h3::client::new(h3_quinn::Connection::new(connection)).await.map_err(io::Error::other)?;
    spawn_local(async move {
        // The endpoint is kept for as long as its connection.
        let _endpoint = endpoint;
        driver.wait_idle().await;
    });
    let (channel, version) = (RefCell::new(Some(Channel::Http3(sender))), HttpVersion::Http3);
    Ok(Dialled { channel, version, opened, connect, secure: WebObject::NONE, counted })
}
