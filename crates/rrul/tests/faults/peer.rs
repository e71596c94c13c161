//! Peers that are not what a client expects: servers made for one test, each on a free port.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread::JoinHandle;

use rrul_engine::control_link::{Compression, write};
use rrul_model::environment::Environment;
use rrul_proto::control::ServerMessage;
use rrul_proto::limits::Limits;
use rrul_proto::opening::{CLIENT_OCTETS, ServerOpening};
use rrul_proto::token::Token;

/// A listener that treats its first connection in some way.
pub(crate) struct Peer {
    address: SocketAddr,
    thread: Option<JoinHandle<()>>,
}

impl Peer {
    /// Does this with the first connection.
    pub(crate) fn new(treat: impl FnOnce(TcpStream) + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        // The listener stays until the treatment is over: further connections are taken, and never answered.
        let thread = std::thread::spawn(move || treat(listener.accept().unwrap().0));
        Self { address, thread: Some(thread) }
    }

    /// Reads the client's opening and answers with it.
    pub(crate) fn answering(answer: ServerOpening) -> Self {
        Self::new(move |mut stream| {
            read_opening(&mut stream);
            stream.write_all(&answer.encode()).unwrap();
        })
    }

    /// Its address as a user types it.
    pub(crate) fn name(&self) -> String {
        self.address.to_string()
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // It has done its part once the client has ended; a client that never came has failed the test already.
        if let Some(thread) = self.thread.take()
            && !std::thread::panicking()
        {
            thread.join().unwrap();
        }
    }
}

/// Reads the client's 28 bytes.
pub(crate) fn read_opening(stream: &mut TcpStream) -> [u8; CLIENT_OCTETS] {
    let mut octets = [0; CLIENT_OCTETS];
    stream.read_exact(&mut octets).unwrap();
    octets
}

/// Says what a server says that opens a session.
pub(crate) fn welcome(stream: &mut TcpStream) {
    let token = Token([7; 16]);
    let environment = Box::new(Environment::default());
    write(
        stream,
        &ServerMessage::Welcome { token, environment, limits: Limits::default(), hears_alive: false, seals: false },
        Compression::Never,
    )
    .unwrap();
}

/// Waits without a word until the other end closes.
pub(crate) fn stay_silent(stream: &mut TcpStream) {
    let _ = stream.read_to_end(&mut Vec::new());
}
