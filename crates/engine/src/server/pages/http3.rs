//! Pages over HTTP/3.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use h3::server::RequestResolver;
use quinn::{Endpoint, EndpointConfig, Incoming, ServerConfig, TokioRuntime};
use rrul_proto::session_name::read_connection_id;
use tokio::runtime::Handle;
use tokio::time::timeout;

use super::answer;
use super::quic_socket::{self, Forwarding, QuicSocket};
use super::visit::Visit;
use crate::clock::RawTime;
use crate::server::connection::admit;
use crate::server::datagram_port::DatagramPort;
use crate::server::shared::Shared;
use crate::web::HANDSHAKE_TIME;

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
            let visit = read_connection_id(&incoming.orig_dst_cid())
                .and_then(|(token, flow)| Visit::to_flow(&shared, token, flow))
                .zip(admit(&shared, source.ip()));
            let Some((visit, admitted)) = visit else {
                incoming.ignore();
                continue;
            };
            // Before the first answer, which would not leave otherwise.
            let stay = socket.quic_peers.welcome(source, visit.class.octet(), &visit.moved);
            tokio::spawn(async move {
                let _keep = (stay, admitted);
                converse(incoming, &Arc::new(visit)).await;
            });
        }
    });
    Ok(forwarding)
}

/// One connection, from its handshake to its end.
async fn converse(incoming: Incoming, visit: &Arc<Visit>) {
    let arrived = RawTime::now();
    let Ok(connecting) = incoming.accept() else { return };
    let Ok(Ok(quic)) = timeout(HANDSHAKE_TIME, connecting).await else { return };
    tokio::select! {
        () = requests(quic.clone(), visit) => {}
        () = visit.over() => {}
    }
    quic.close(0_u32.into(), b"");
    if let Some(clock) = visit.end.clock() {
        visit.note(visit.opened(clock.at(arrived)).quic(&quic, clock.now()));
    }
}

/// Requests and responses, until the client has enough.
async fn requests(quic: quinn::Connection, visit: &Arc<Visit>) {
    let connection = h3::server::Connection::<_, Bytes>::new(h3_quinn::Connection::new(quic)).await;
    let Ok(mut connection) = connection else { return };
    while let Ok(Some(request)) = connection.accept().await {
        let visit = Arc::clone(visit);
        tokio::spawn(async move {
            // That a stream breaks is the client's to notice.
            let _ = respond(request, &visit).await;
        });
    }
}

async fn respond(
    request: RequestResolver<h3_quinn::Connection, Bytes>,
    visit: &Visit,
) -> Result<(), h3::error::StreamError> {
    let (request, mut stream) = request.resolve_request().await?;
    let host = request.uri().authority().map_or("", |authority| authority.as_str());
    let mut answer = answer::answer_to(visit, host, request.uri().path()).await;
    if let Ok(response) = answer.response().body(()) {
        stream.send_response(response).await?;
        while let Some(piece) = answer.body.piece() {
            stream.send_data(piece).await?;
        }
    }
    stream.finish().await
}
