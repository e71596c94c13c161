//! Flows that open TCP connections to the server.

use std::io::Write;
use std::net::TcpStream;
use std::sync::Arc;

use rrul_model::flow::FlowSpec;

use crate::endpoint::Endpoint;
use crate::server::session::{Admission, Connections, FlowRefusal, ServerPart};
use crate::socket::options;

/// One connection a flow, served by a function until the flow ends.
pub(crate) struct OneStream(pub(crate) fn(&FlowSpec, &Arc<TcpStream>, &Endpoint));

impl ServerPart for OneStream {
    fn connections(&self) -> Connections {
        Connections::One
    }

    fn serve(&self, spec: &FlowSpec, stream: &Arc<TcpStream>, answer: &[u8], end: &Endpoint) {
        if (&**stream).write_all(answer).is_ok() {
            (self.0)(spec, stream, end);
        }
    }
}

/// Any number of connections a flow, each marked and served by a function, which sends the answer.
pub(crate) struct ManyStreams(pub(crate) fn(&FlowSpec, &Arc<TcpStream>, &[u8], &Endpoint));

impl ServerPart for ManyStreams {
    fn connections(&self) -> Connections {
        Connections::Many
    }

    fn serve(&self, spec: &FlowSpec, stream: &Arc<TcpStream>, answer: &[u8], end: &Endpoint) {
        // One that cannot be marked is served unmarked: the client's own end has said so before.
        let _ = options::mark(stream, spec.family, spec.class);
        (self.0)(spec, stream, answer, end);
    }
}

/// Any number of connections that speak HTTP, on which the server's pages are served.
pub(crate) struct ServedPages;

/// Questions for the hosts of a page in a second, over a load of it: a page has dozens of hosts, and two questions for each.
const QUESTIONS_PER_SECOND: f64 = 50.0;

impl ServerPart for ServedPages {
    fn admit(&self, spec: &FlowSpec, _packets_per_second: f64, session: &mut Admission<'_>) -> Result<(), FlowRefusal> {
        session.reserve_replies(spec, QUESTIONS_PER_SECOND);
        Ok(())
    }

    fn connections(&self) -> Connections {
        Connections::Pages
    }
}
