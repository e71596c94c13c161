//! The client's UDP socket of one QUIC connection: marked as its flow is, whatever QUIC thinks of markings.

use std::future::poll_fn;
use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use quinn::udp::{RecvMeta, Transmit};
use quinn::{AsyncUdpSocket, UdpPoller};
use rrul_model::flow::AddressFamily;
use rrul_model::marking::ServiceClass;
use socket2::{Protocol, Socket, Type};

use crate::socket::options;

/// The socket, connected to the server, so that what ICMP says of its packets is heard.
#[derive(Debug)]
pub(super) struct QuicSocket {
    socket: tokio::net::UdpSocket,
    server: SocketAddr,
}

impl QuicSocket {
    pub(super) fn open(family: AddressFamily, class: ServiceClass, server: SocketAddr) -> io::Result<Arc<Self>> {
        let socket = Socket::new(options::domain(family), Type::DGRAM, Some(Protocol::UDP))?;
        options::mark(&socket, family, class)?;
        options::enlarge_receive_buffer(&socket);
        socket.set_nonblocking(true)?;
        socket.connect(&server.into())?;
        Ok(Arc::new(Self { socket: tokio::net::UdpSocket::from_std(socket.into())?, server }))
    }
}

impl AsyncUdpSocket for QuicSocket {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        Box::pin(Writable(self))
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        self.socket.try_send(transmit.contents).map(|_| ())
    }

    fn poll_recv(
        &self,
        cx: &mut Context<'_>,
        bufs: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        let (Some(into), Some(meta)) = (bufs.first_mut(), meta.first_mut()) else { return Poll::Ready(Ok(0)) };
        loop {
            ready!(self.socket.poll_recv_ready(cx))?;
            match self.socket.try_recv(into) {
                Ok(len) => {
                    *meta = RecvMeta { addr: self.server, len, stride: len, ..RecvMeta::default() };
                    return Poll::Ready(Ok(1));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }
}

/// Waits until the socket takes another packet.
#[derive(Debug)]
struct Writable(Arc<QuicSocket>);

impl UdpPoller for Writable {
    fn poll_writable(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut ready = std::pin::pin!(poll_fn(|cx| self.0.socket.poll_send_ready(cx)));
        ready.as_mut().poll(cx)
    }
}
