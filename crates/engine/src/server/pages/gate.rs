//! A TCP connection on which nothing leaves before it is known whom it serves: no error page, no TLS alert, no byte
//! with an unknown marking.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use super::page_connection::PageConnection;

/// The connection.
pub(super) struct Gate {
    pub(super) stream: TcpStream,
    pub(super) connection: Arc<PageConnection>,
}

impl Gate {
    /// The way out, once known.
    fn out(&mut self) -> io::Result<Pin<&mut TcpStream>> {
        if self.connection.is_known() {
            Ok(Pin::new(&mut self.stream))
        } else {
            Err(io::ErrorKind::PermissionDenied.into())
        }
    }
}

impl AsyncRead for Gate {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, into)
    }
}

impl AsyncWrite for Gate {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, octets: &[u8]) -> Poll<io::Result<usize>> {
        self.out()?.poll_write(cx, octets)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        octets: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.out()?.poll_write_vectored(cx, octets)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
