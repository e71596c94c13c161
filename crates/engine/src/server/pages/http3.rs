//! Pages over HTTP/3.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use h3::server::RequestResolver;
use quinn::{Endpoint, EndpointConfig, Incoming, ServerConfig, TokioRuntime};
use rrul_proto::token::Token;
use tokio::runtime::Handle;

use super::quic_socket::{self, Forwarding, QuicSocket};
use super::{Shared, Visit, answer};
use crate::clock::RawTime;
use crate::server::datagram_port::DatagramPort;

/// Serves a port until the runtime ends.
pub(super) fn serve(
    handle: &Handle,
    config: ServerConfig,
    port: &Arc<DatagramPort>,
    shared: &Arc<Shared>,
) -> io::Result<Forwarding> {
    let _on = handle.enter();
    let (forwarding, socket) = quic_socket::pair(port)?;
    let quic: Arc<QuicSocket> = Arc::clone(&socket);
    let endpoint =
        Endpoint::new_with_abstract_socket(EndpointConfig::default(), Some(config), quic, Arc::new(TokioRuntime))?;
    // Not held for ever: the runtime would keep the server, and the server its runtime.
    let shared = Arc::downgrade(shared);
    handle.spawn(async move {
        while let Some(incoming) = endpoint.accept().await {
            let Some(shared) = shared.upgrade() else { return };
            let source = incoming.remote_address();
            let visit = socket.guest(source).and_then(|guest| Visit::to(&shared, Token(guest.token), guest.flow));
            match visit {
                Some(visit) => {
                    let socket = Arc::clone(&socket);
                    tokio::spawn(async move {
                        converse(incoming, visit).await;
                        socket.forget(source);
                    });
                }
                None => incoming.ignore(),
            }
        }
    });
    Ok(forwarding)
}

/// One connection, from its handshake to its end.
async fn converse(incoming: Incoming, visit: Visit) {
    let arrived = RawTime::now();
    let Ok(connecting) = incoming.accept() else { return };
    let Ok(connection) = connecting.await else { return };
    let quic = connection.clone();
    if let Ok(mut connection) = h3::server::Connection::<_, Bytes>::new(h3_quinn::Connection::new(connection)).await {
        while let Ok(Some(request)) = connection.accept().await {
            tokio::spawn(async move {
                // That a stream breaks is the client's to notice.
                let _ = respond(request).await;
            });
        }
    }
    quic.close(0_u32.into(), b"");
    if let Some(clock) = visit.end.clock() {
        visit.note(visit.opened(clock.at(arrived)).quic(&quic, clock.now()));
    }
}

async fn respond(request: RequestResolver<h3_quinn::Connection, Bytes>) -> Result<(), h3::error::StreamError> {
    let (request, mut stream) = request.resolve_request().await?;
    let host = request.uri().authority().map_or("", |authority| authority.as_str());
    let mut answer = answer::to(host, request.uri().path()).await;
    if let Ok(response) = answer.response().body(()) {
        stream.send_response(response).await?;
        while let Some(piece) = answer.body.piece() {
            stream.send_data(piece).await?;
        }
    }
    stream.finish().await
}
