//! One short flow at the client: handshake, opening, the bytes one way, the end.

use std::io::{self, IoSlice, Read, Write};
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};

use rrul_model::flow::{Direction, FlowId};
use rrul_model::observation::Transfer;
use rrul_model::time::TestTime;
use rrul_model::units::{ByteCount, Delay};
use rrul_proto::opening::{CLIENT_OCTETS, SERVER_OCTETS, ServerOpening, Status};
use rrul_proto::short_flow::{NUMBER_OCTETS, encode_number};
use socket2::Socket;

use crate::clock::test_clock::TestClock;
use crate::socket::wait::{WaitSet, is_not_ready};
use crate::tcp_info;

/// Which transfer of which flow.
#[derive(Debug, Clone, Copy)]
pub(super) struct Which {
    pub(super) flow: FlowId,
    pub(super) sequence: u32,
    pub(super) scheduled: TestTime,
    pub(super) octets: ByteCount,
}

impl Which {
    /// What is known of an attempt that came so far, before anything took time.
    pub(super) fn row(self, started: TestTime, reached: u8) -> Transfer {
        let Self { flow, sequence, scheduled, octets } = self;
        let nothing = Delay(0);
        Transfer {
            flow,
            sequence,
            scheduled,
            started,
            reached,
            octets,
            arrived: ByteCount(0),
            connect: nothing,
            answer: nothing,
            took: nothing,
            syn_retransmits: 0,
        }
    }
}

/// Bytes that the client sends before those that it is there to carry.
const HEAD: usize = CLIENT_OCTETS + NUMBER_OCTETS;

/// A transfer that has not ended. Dropping it resets its connection.
#[derive(Debug)]
pub(super) struct Attempt {
    /// What is known so far.
    row: Transfer,
    socket: Socket,
    direction: Direction,
    head: [u8; HEAD],
    /// How many bytes have been handed to the kernel, the head among them.
    sent: usize,
    answer: [u8; SERVER_OCTETS],
    /// How many bytes have been read, the server's opening among them.
    read: usize,
}

impl AsFd for Attempt {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Attempt {
    /// Calls `connect` on a socket that does not wait for it; where that fails at once, what is to be noted.
    pub(super) fn start(
        which: Which,
        socket: Socket,
        server: SocketAddr,
        direction: Direction,
        opening: [u8; CLIENT_OCTETS],
        clock: TestClock,
    ) -> Result<Self, Transfer> {
        let mut head = [0; HEAD];
        head[..CLIENT_OCTETS].copy_from_slice(&opening);
        head[CLIENT_OCTETS..].copy_from_slice(&encode_number(which.sequence));
        let started = clock.now();
        let called = socket.connect(&server.into());
        let row = which.row(started, Transfer::UNANSWERED);
        match called {
            Ok(()) => {}
            Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => {}
            Err(error) => {
                let took = clock.now().since(started);
                return Err(Transfer { reached: reached_by(&error), connect: took, took, ..row });
            }
        }
        Ok(Self { row, socket, direction, head, sent: 0, answer: [0; SERVER_OCTETS], read: 0 })
    }

    pub(super) fn started(&self) -> TestTime {
        self.row.started
    }

    /// Adds the socket to those waited for.
    pub(super) fn wait_in(&self, waiting: &mut WaitSet) {
        if self.row.reached == Transfer::UNANSWERED || self.sent < self.to_send() {
            waiting.add_writable(&self.socket);
        } else {
            waiting.add_readable(&self.socket);
        }
    }

    /// Bytes that the client has to send in all.
    fn to_send(&self) -> usize {
        HEAD + if self.direction == Direction::Up { self.row.octets.0 as usize } else { 0 }
    }

    /// Bytes that the client is to receive in all: behind the server's opening those that are carried down, or the
    /// confirmation of those that were carried up.
    fn to_read(&self) -> usize {
        SERVER_OCTETS + if self.direction == Direction::Down { self.row.octets.0 as usize } else { NUMBER_OCTETS }
    }

    /// Takes the next steps, as far as the socket lets it; what is to be noted when that was the last.
    ///
    /// `random` is what uploads consist of, `room` where downloads go.
    pub(super) fn proceed(&mut self, clock: TestClock, random: &[u8], room: &mut [u8]) -> Option<Transfer> {
        if self.row.reached == Transfer::UNANSWERED {
            let now = clock.now();
            self.row.connect = now.since(self.row.started);
            self.row.syn_retransmits = self.retransmits(now);
            match self.socket.take_error() {
                Ok(None) => self.row.reached = Transfer::CONNECTED,
                Ok(Some(error)) | Err(error) => return Some(self.ended(reached_by(&error), now)),
            }
        }
        // What the server has said counts, even where it takes no more.
        let (sent, read) = (self.send(random), self.receive(clock, room));
        let now = clock.now();
        if self.read >= SERVER_OCTETS && !self.is_accepted() {
            return Some(self.ended(Transfer::REFUSED, now));
        }
        if self.read >= self.to_read() {
            self.row.arrived = self.row.octets;
            return Some(self.ended(Transfer::COMPLETE, now));
        }
        (sent.is_err() || read.is_err()).then(|| self.ended(Transfer::CONNECTED, now))
    }

    /// Whether the server's opening, which is whole, grants the connection. It does not where the server is at its limit, has
    /// forgotten the session, or is none of rrul's.
    fn is_accepted(&self) -> bool {
        matches!(ServerOpening::decode(&self.answer), Ok(ServerOpening { status: Status::Accepted, .. }))
    }

    fn send(&mut self, random: &[u8]) -> io::Result<()> {
        while self.sent < self.to_send() {
            // With the head in front, so that the first segment is a full one.
            let head = self.head.get(self.sent..).unwrap_or_default();
            let offset = self.sent.saturating_sub(HEAD) % random.len();
            let left = self.to_send() - self.sent - head.len();
            let body = &random[offset..];
            let body = &body[..body.len().min(left)];
            match (&self.socket).write_vectored(&[IoSlice::new(head), IoSlice::new(body)]) {
                Ok(count) => self.sent += count,
                Err(error) if is_not_ready(&error) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn receive(&mut self, clock: TestClock, room: &mut [u8]) -> io::Result<()> {
        while self.read < self.to_read() {
            let place = match self.answer.get_mut(self.read..) {
                Some(place) if !place.is_empty() => place,
                _ => &mut *room,
            };
            match (&self.socket).read(place) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => {
                    if self.read == 0 {
                        self.row.answer = clock.now().since(self.row.started);
                    }
                    self.read += count;
                }
                Err(error) if is_not_ready(&error) => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn ended(&mut self, reached: u8, now: TestTime) -> Transfer {
        self.row.reached = reached;
        self.given_up(now)
    }

    /// What is to be noted of a transfer that goes no further.
    pub(super) fn given_up(&self, now: TestTime) -> Transfer {
        let took = now.since(self.row.started);
        let mut row = Transfer { took, ..self.row };
        match row.reached {
            Transfer::UNANSWERED => {
                row.connect = took;
                row.syn_retransmits = self.retransmits(now);
            }
            Transfer::CONNECTED if self.direction == Direction::Down => {
                row.arrived = ByteCount(self.read.saturating_sub(SERVER_OCTETS) as u64);
            }
            _ => {}
        }
        row
    }

    /// Retransmitted SYN segments, as long as nothing else has been sent.
    fn retransmits(&self, now: TestTime) -> u8 {
        let info = tcp_info::read(&self.socket, self.row.flow, now);
        info.map_or(0, |info| u8::try_from(info.total_retrans).unwrap_or(u8::MAX))
    }
}

fn reached_by(error: &io::Error) -> u8 {
    match error.kind() {
        io::ErrorKind::ConnectionRefused | io::ErrorKind::ConnectionReset => Transfer::REFUSED,
        io::ErrorKind::TimedOut => Transfer::UNANSWERED,
        _ => Transfer::IMPOSSIBLE,
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use rrul_model::flow::FlowId;
    use socket2::{Domain, Type};

    use super::*;
    use crate::clock::RawTime;

    /// What becomes of a download of 100 bytes from a peer that sends this and closes.
    fn download(sent: Vec<u8>) -> Transfer {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = listener.local_addr().unwrap();
        let peer = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.read_exact(&mut [0; HEAD]).unwrap();
            stream.write_all(&sent).unwrap();
        });
        let clock = TestClock::since(RawTime::now());
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        socket.set_nonblocking(true).unwrap();
        let which = Which { flow: FlowId(0), sequence: 0, scheduled: TestTime::ZERO, octets: ByteCount(100) };
        let opening = [0; CLIENT_OCTETS];
        let mut attempt = Attempt::start(which, socket, server, Direction::Down, opening, clock).unwrap();
        let outcome = loop {
            let mut waiting = WaitSet::default();
            attempt.wait_in(&mut waiting);
            waiting.wait(std::time::Duration::from_secs(20)).unwrap();
            if let Some(row) = attempt.proceed(clock, &[0], &mut [0; 4096]) {
                break row;
            }
        };
        peer.join().unwrap();
        outcome
    }

    #[test]
    fn only_a_server_of_this_protocol_that_accepts_completes_a_transfer() {
        let with = |head: &[u8]| [head, &[7; 100]].concat();
        let accepted = ServerOpening::answer(Status::Accepted, 1).encode();
        assert_eq!(download(with(&accepted)).reached, Transfer::COMPLETE);
        for other in [*b"HTTP/1.1", [0; SERVER_OCTETS], ServerOpening::answer(Status::Busy, 0).encode()] {
            let row = download(with(&other));
            assert_eq!((row.reached, row.arrived), (Transfer::REFUSED, ByteCount(0)), "{other:?}");
        }
        assert_eq!(download(accepted[..4].to_vec()).reached, Transfer::CONNECTED);
    }
}
