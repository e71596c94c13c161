//! A client made for tests: it says exactly what a test wants a server to hear.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use rrul_engine::control_link::{Compression, read, write};
use rrul_engine::vocabulary;
use rrul_model::flow::{AddressFamily, FlowSpec};
use rrul_model::plan::{Surroundings, TestPlan};
use rrul_proto::control::{ClientMessage, ServerMessage};
use rrul_proto::opening::{ClientOpening, Purpose, SERVER_OCTETS, ServerOpening, Status};
use rrul_proto::token::Token;

use crate::program::SHORT;

/// Longer than a server takes to answer on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// A session, opened.
pub(crate) struct Client {
    server: SocketAddr,
    control: TcpStream,
    pub(crate) token: Token,
}

/// Connects, says this and reads the answer.
pub(crate) fn open(server: SocketAddr, opening: ClientOpening) -> (TcpStream, ServerOpening) {
    let mut stream = TcpStream::connect(server).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(&opening.encode()).unwrap();
    let mut answer = [0; SERVER_OCTETS];
    stream.read_exact(&mut answer).unwrap();
    (stream, ServerOpening::decode(&answer).unwrap())
}

/// The flows of [`SHORT`] over IPv4.
pub(crate) fn flows() -> Vec<FlowSpec> {
    flows_of(SHORT)
}

pub(crate) fn flows_of(plan: &str) -> Vec<FlowSpec> {
    let vocabulary = vocabulary();
    let surroundings = Surroundings { flow_types: &vocabulary, find: &|_| None };
    TestPlan::read("short", "short.toml", plan, &[], &surroundings).unwrap().flows(&[AddressFamily::Ipv4])
}

impl Client {
    /// Opens a session. A server that is busy is asked again, as it says: sessions whose client has vanished take a moment
    /// to end, and one host may hold but its share of them.
    pub(crate) fn new(server: SocketAddr) -> Self {
        let ask = || open(server, ClientOpening::new(Purpose::Control, Token::NONE, 0));
        let deadline = Instant::now() + PATIENCE;
        let (mut control, mut answer) = ask();
        while answer.status == Status::Busy && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(20));
            (control, answer) = ask();
        }
        assert_eq!(answer.status, Status::Accepted);
        let ServerMessage::Welcome { token, .. } = read(&mut control, PATIENCE, Compression::Allowed).unwrap() else {
            panic!("no welcome");
        };
        Self { server, control, token }
    }

    /// Says something.
    pub(crate) fn say(&mut self, message: &ClientMessage) {
        write(&mut self.control, message, Compression::Never).unwrap();
    }

    /// What the server says next.
    pub(crate) fn hear(&mut self) -> ServerMessage {
        read(&mut self.control, PATIENCE, Compression::Allowed).unwrap()
    }

    /// Whether the server closes the connection without another word.
    pub(crate) fn is_closed(&mut self) -> bool {
        self.control.read(&mut [0]).is_ok_and(|octets| octets == 0)
    }

    /// Asks for the test of [`SHORT`].
    pub(crate) fn open_test(&mut self) -> Vec<FlowSpec> {
        self.open_plan(SHORT)
    }

    /// Asks for the test of this plan, which is as long.
    pub(crate) fn open_plan(&mut self, plan: &str) -> Vec<FlowSpec> {
        let flows = flows_of(plan);
        let message = ClientMessage::Open {
            flows: flows.clone(),
            length: Duration::from_secs(4),
            sample_interval: Duration::from_millis(100),
        };
        self.say(&message);
        let answer = self.hear();
        assert!(matches!(&answer, ServerMessage::Opened { refused, .. } if refused.is_empty()), "{answer:?}");
        flows
    }

    /// Opens the stream of every bulk flow.
    pub(crate) fn open_streams(&self, flows: &[FlowSpec]) -> Vec<TcpStream> {
        let streams = flows.iter().filter(|flow| flow.flow_type == "bulk_tcp").map(|flow| {
            let (stream, answer) = open(self.server, ClientOpening::new(Purpose::Stream, self.token, flow.id.0));
            assert_eq!(answer.status, Status::Accepted);
            stream
        });
        streams.collect()
    }

    /// Begins the test, half a second before its load.
    pub(crate) fn begin(&mut self) {
        self.say(&ClientMessage::Time { id: 1 });
        let ServerMessage::Time { sent, .. } = self.hear() else { panic!("no time") };
        self.say(&ClientMessage::Begin { origin: sent });
    }
}
