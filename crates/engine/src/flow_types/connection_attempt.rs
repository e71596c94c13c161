//! One attempt at a new TCP connection: handshake, opening, the server's answer, end.

use std::io::{self, Read, Write};
use std::net::SocketAddr;

use rrul_model::flow::FlowId;
use rrul_model::observation::Connection;
use rrul_model::time::TestTime;
use rrul_model::units::Delay;
use rrul_proto::opening::{CLIENT_OCTETS, SERVER_OCTETS, ServerOpening, Status};
use socket2::Socket;

use crate::clock::test_clock::TestClock;
use crate::socket::wait::{WaitSet, is_not_ready};
use crate::tcp_info;

/// Which attempt of which flow.
#[derive(Debug, Clone, Copy)]
pub(super) struct Which {
    pub(super) flow: FlowId,
    pub(super) sequence: u32,
    pub(super) scheduled: TestTime,
}

impl Which {
    /// What is known of an attempt that came so far, before anything took time.
    pub(super) fn row(self, started: TestTime, reached: u8) -> Connection {
        let Self { flow, sequence, scheduled } = self;
        let nothing = Delay(0);
        Connection {
            flow,
            sequence,
            scheduled,
            started,
            reached,
            connect: nothing,
            answer: nothing,
            syn_retransmits: 0,
        }
    }
}

/// A connection that has not ended. Dropping it resets it.
#[derive(Debug)]
pub(super) struct Attempt {
    /// What is known so far.
    row: Connection,
    socket: Socket,
    opening: [u8; CLIENT_OCTETS],
    answer: [u8; SERVER_OCTETS],
    /// How many bytes of the answer are there.
    arrived: usize,
    /// When the first of them came, after the start.
    first: Delay,
}

impl Attempt {
    /// Calls `connect` on a socket that does not wait for it; where that fails at once, what is to be noted.
    pub(super) fn start(
        which: Which,
        socket: Socket,
        server: SocketAddr,
        opening: [u8; CLIENT_OCTETS],
        clock: TestClock,
    ) -> Result<Self, Connection> {
        let started = clock.now();
        let called = socket.connect(&server.into());
        let row = which.row(started, Connection::UNANSWERED);
        match called {
            Ok(()) => {}
            Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => {}
            Err(error) => {
                let connect = clock.now().since(started);
                return Err(Connection { reached: reached_by(&error), connect, ..row });
            }
        }
        Ok(Self { row, socket, opening, answer: [0; SERVER_OCTETS], arrived: 0, first: Delay(0) })
    }

    pub(super) fn started(&self) -> TestTime {
        self.row.started
    }

    /// Adds the socket to those waited for.
    pub(super) fn wait_in(&self, waiting: &mut WaitSet) {
        match self.row.reached {
            Connection::UNANSWERED => waiting.add_writable(&self.socket),
            _ => waiting.add_readable(&self.socket),
        }
    }

    /// Takes the next step, as the socket is ready; what is to be noted when that was the last.
    pub(super) fn proceed(&mut self, now: TestTime) -> Option<Connection> {
        let since = now.since(self.row.started);
        if self.row.reached == Connection::UNANSWERED {
            self.row.connect = since;
            self.row.syn_retransmits = self.retransmits(now);
            match self.socket.take_error() {
                Ok(None) => self.row.reached = Connection::CONNECTED,
                Ok(Some(error)) | Err(error) => {
                    self.row.reached = reached_by(&error);
                    return Some(self.row);
                }
            }
            // A connection that is new takes so few bytes at once; one that has failed shows it when it is read.
            let _ = (&self.socket).write(&self.opening);
            return None;
        }
        match (&self.socket).read(&mut self.answer[self.arrived..]) {
            Ok(0) => Some(self.row),
            Ok(count) => {
                if self.arrived == 0 {
                    self.first = since;
                }
                self.arrived += count;
                (self.arrived == SERVER_OCTETS).then(|| self.understood())
            }
            Err(error) if is_not_ready(&error) => None,
            Err(_) => Some(self.row),
        }
    }

    /// What is to be noted of an attempt that is given up now.
    pub(super) fn given_up(&self, now: TestTime) -> Connection {
        match self.row.reached {
            Connection::UNANSWERED => {
                let connect = now.since(self.row.started);
                Connection { connect, syn_retransmits: self.retransmits(now), ..self.row }
            }
            _ => self.row,
        }
    }

    /// The whole answer is there.
    fn understood(&self) -> Connection {
        match ServerOpening::decode(&self.answer) {
            Ok(ServerOpening { status: Status::Accepted, .. }) => {
                Connection { reached: Connection::ANSWERED, answer: self.first, ..self.row }
            }
            // It is at its limit, or has forgotten the session.
            _ => Connection { reached: Connection::REFUSED, ..self.row },
        }
    }

    /// Retransmitted SYN segments: nothing else has been sent yet.
    fn retransmits(&self, now: TestTime) -> u8 {
        let info = tcp_info::read(&self.socket, self.row.flow, now);
        info.map_or(0, |info| u8::try_from(info.total_retrans).unwrap_or(u8::MAX))
    }
}

fn reached_by(error: &io::Error) -> u8 {
    match error.kind() {
        io::ErrorKind::ConnectionRefused | io::ErrorKind::ConnectionReset => Connection::REFUSED,
        io::ErrorKind::TimedOut => Connection::UNANSWERED,
        _ => Connection::IMPOSSIBLE,
    }
}
