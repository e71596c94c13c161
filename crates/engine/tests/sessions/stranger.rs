//! A client made for tests: it says exactly what a test wants a server to hear.

use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use rrul_engine::control_link::{Compression, LinkError, read, write};
use rrul_engine::server::Server;
use rrul_model::flow::{AddressFamily, FlowSpec};
use rrul_proto::control::{ClientMessage, ServerMessage};
use rrul_proto::opening::{ClientOpening, Purpose, SERVER_OCTETS, ServerOpening, Status};
use rrul_proto::token::Token;
use socket2::{Domain, Socket, Type};

use crate::common::plan;

/// Longer than a server takes to answer on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// A session, opened.
pub(crate) struct Stranger {
    server: SocketAddr,
    pub(crate) from: IpAddr,
    pub(crate) control: TcpStream,
    pub(crate) token: Token,
}

/// Connects from this address and says what the connection is for.
pub(crate) fn connect(server: SocketAddr, from: IpAddr, opening: ClientOpening) -> (TcpStream, ServerOpening) {
    connect_with(&Socket::new(Domain::IPV4, Type::STREAM, None).unwrap(), server, from, opening)
}

/// The same through a socket of the test's own.
fn connect_with(
    socket: &Socket,
    server: SocketAddr,
    from: IpAddr,
    opening: ClientOpening,
) -> (TcpStream, ServerOpening) {
    socket.bind(&SocketAddr::new(from, 0).into()).unwrap();
    socket.connect(&server.into()).unwrap();
    let mut stream = TcpStream::from(socket.try_clone().unwrap());
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(&opening.encode()).unwrap();
    let mut answer = [0; SERVER_OCTETS];
    stream.read_exact(&mut answer).unwrap();
    (stream, ServerOpening::decode(&answer).unwrap())
}

/// The flows of a plan over IPv4.
pub(crate) fn flows(text: &str) -> Vec<FlowSpec> {
    plan(text).flows(&[AddressFamily::Ipv4])
}

impl Stranger {
    /// Opens a session of the server's IPv4 address.
    pub(crate) fn new(server: &Server) -> Self {
        let server = *server.addresses().iter().find(|address| address.is_ipv4()).unwrap();
        Self::try_from(server, Ipv4Addr::LOCALHOST.into()).unwrap()
    }

    /// Opens a session of this server from this address, if it has a place.
    pub(crate) fn try_from(server: SocketAddr, from: IpAddr) -> Option<Self> {
        Self::try_through(&Socket::new(Domain::IPV4, Type::STREAM, None).unwrap(), server, from)
    }

    /// Opens a session whose kernel takes little that it has not read.
    pub(crate) fn with_little_room(server: SocketAddr) -> Self {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        socket.set_recv_buffer_size(4096).unwrap();
        Self::try_through(&socket, server, Ipv4Addr::LOCALHOST.into()).unwrap()
    }

    fn try_through(socket: &Socket, server: SocketAddr, from: IpAddr) -> Option<Self> {
        let opening = ClientOpening::new(Purpose::Control, Token::NONE, 0);
        let (mut control, answer) = connect_with(socket, server, from, opening);
        if answer.status == Status::Busy {
            return None;
        }
        assert_eq!(answer.status, Status::Accepted);
        let ServerMessage::Welcome { token, .. } = read(&mut control, PATIENCE, Compression::Allowed).unwrap() else {
            panic!("no welcome");
        };
        Some(Self { server, from, control, token })
    }

    pub(crate) fn say(&mut self, message: &ClientMessage) {
        write(&mut self.control, message, Compression::Never).unwrap();
    }

    /// What the server says next.
    pub(crate) fn hear(&mut self) -> ServerMessage {
        self.hear_within(PATIENCE).unwrap()
    }

    /// A message that has begun by then is heard to its end: who stops half-way does not know where the next one begins.
    pub(crate) fn hear_within(&mut self, patience: Duration) -> Result<ServerMessage, LinkError> {
        self.control.set_read_timeout(Some(patience)).unwrap();
        let begun = self.control.peek(&mut [0]);
        if begun.is_err_and(|error| matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)) {
            return Err(LinkError::Silent(patience.as_secs()));
        }
        read(&mut self.control, PATIENCE, Compression::Allowed)
    }

    /// Asks for a test of these flows, and hears the answer.
    pub(crate) fn open(&mut self, flows: &[FlowSpec], length: Duration) -> ServerMessage {
        self.open_sampled(flows, length, Duration::from_millis(100))
    }

    /// The same, where counters are read this often.
    pub(crate) fn open_sampled(
        &mut self,
        flows: &[FlowSpec],
        length: Duration,
        sample_interval: Duration,
    ) -> ServerMessage {
        self.say(&ClientMessage::Open { flows: flows.to_vec(), length, sample_interval });
        self.hear()
    }

    /// Opens the stream of a flow.
    pub(crate) fn stream(&self, flow: &FlowSpec) -> TcpStream {
        let (stream, answer) =
            connect(self.server, self.from, ClientOpening::new(Purpose::Stream, self.token, flow.id.0));
        assert_eq!(answer.status, Status::Accepted);
        stream
    }

    /// Begins the test at once.
    pub(crate) fn begin(&mut self) {
        self.say(&ClientMessage::Time { id: 1 });
        let ServerMessage::Time { sent, .. } = self.hear() else { panic!("no time") };
        self.say(&ClientMessage::Begin { origin: sent });
    }
}
