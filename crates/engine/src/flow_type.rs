//! What a flow type is: both of its ends, and the words that plans use for it.

use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::thread::JoinHandle;

use rrul_model::flow::{FlowSpec, FlowTypeWords};
use rrul_proto::send_schedule::Random;
use rrul_proto::token::Token;

use crate::test_end::TestEnd;

/// What flows of a test have in common at the client.
#[derive(Debug, Clone)]
pub struct Initiation {
    /// The client's end.
    pub end: Arc<TestEnd>,
    /// What binds streams and test packets to the session.
    pub token: Token,
    /// The server's address in each family under test.
    pub servers: Vec<SocketAddr>,
    /// Seed of every schedule.
    pub seed: u64,
}

impl Initiation {
    /// The server's address in the family of this flow.
    pub fn server_for(&self, spec: &FlowSpec) -> Option<SocketAddr> {
        let of_family = |address: &&SocketAddr| rrul_model::flow::AddressFamily::of(address.ip()) == spec.family;
        self.servers.iter().find(of_family).copied()
    }

    /// A seed of this flow's own.
    pub fn seed_for(&self, spec: &FlowSpec) -> u64 {
        // Through the generator: seeds at a regular distance would give schedules shifted by one slot.
        Random(self.seed ^ u64::from(spec.id.0)).next()
    }
}

/// How the server takes part in flows of a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerPart {
    /// A TCP connection a flow, handed to [`FlowType::respond`].
    Stream,
    /// Any number of TCP connections a flow, each answered and closed.
    Connections,
    /// Any number of connections that speak HTTP, on which the server's pages are served.
    Pages,
    /// The session's reflector answers its test packets.
    Reflector,
    /// Packets that are not answered: those towards the server are noted as they arrive, those towards the client are
    /// sent by the session's own thread, to where the flow's greeting came from.
    OneWay,
    /// None: the server's host answers by itself.
    Nothing,
}

/// One way of putting traffic on a link and observing it. Both ends stand in one file.
pub trait FlowType: Sync {
    /// The name, the parameters and a line about it.
    fn words(&self) -> &'static FlowTypeWords;

    /// What the server does.
    fn server_part(&self) -> ServerPart;

    /// Test packets that a flow sends in a second at most, for the server's limit.
    fn packets_per_second(&self, _spec: &FlowSpec) -> f64 {
        0.0
    }

    /// Connections that a flow opens in a second, for the server's limit.
    fn connections_per_second(&self, _spec: &FlowSpec) -> f64 {
        0.0
    }

    /// Octets that each packet of a flow carries above its UDP or ICMP header, or each message over TCP, where all are of
    /// one length. Put into the flow's parameters as `length`, so that a recording says what was sent.
    fn length(&self, _spec: &FlowSpec) -> Option<usize> {
        None
    }

    /// Bits per second, IP headers included, of a flow that sends at a constant rate, in each direction in which it does;
    /// 0 of others.
    fn constant_rate(&self, _spec: &FlowSpec) -> f64 {
        0.0
    }

    /// Sets up all flows of this type at the client, before T0, and starts their threads, which wait for T0.
    ///
    /// A flow that cannot be set up is noted as failed; the others go on.
    fn initiate(&self, specs: &[&FlowSpec], initiation: &Initiation) -> Vec<JoinHandle<()>>;

    /// Serves the stream of one flow at the server, on the connection's own thread, until the flow ends.
    fn respond(&self, _spec: &FlowSpec, _stream: TcpStream, _end: &TestEnd) {}
}
