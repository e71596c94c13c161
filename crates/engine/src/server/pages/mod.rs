//! The server's pages: served on its one port, to those who have a session, over HTTP/1.1, HTTP/2 and HTTP/3.
//!
//! They run on an asynchronous runtime of their own, whose threads no measurement waits for. The first bytes of a
//! connection show that it is for a page; the session that it names in the name of its host (SNI, `Host`, or QUIC's
//! first connection identifier) decides how every packet of the answer is marked.

mod answer;
mod body;
pub(super) mod connections;
mod document;
mod gate;
mod http3;
mod page_connection;
mod quic_peers;
mod quic_socket;
pub(super) mod runtime;
mod stream;
mod visit;

use std::sync::Arc;

pub(super) use quic_socket::Forwarding;
pub(super) use stream::{Protocol, take};

use super::datagram_port::DatagramPort;
use super::shared::Shared;

/// Serves HTTP/3 on a UDP port; packets come by way of its reflector.
pub(super) fn serve_datagrams(port: &Arc<DatagramPort>, shared: &Arc<Shared>) -> std::io::Result<Forwarding> {
    http3::serve(&shared.pages.handle, shared.pages.over_quic.clone(), port, shared)
}
