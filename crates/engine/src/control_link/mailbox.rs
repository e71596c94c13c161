//! The messages of a control connection whose thread has more to do than to wait for them.

use std::io;
use std::time::{Duration, Instant};

use rrul_proto::control::{FRAME_HEADER_OCTETS, FrameHeader};
use serde::Serialize;
use serde::de::DeserializeOwned;
use socket2::SockRef;

use super::{Compression, ControlStream, LinkError, decode, encode};
use crate::endpoint::test_course::PATIENCE;
use crate::socket::{options, wait};

/// Bytes that may wait for a client that does not read before it gets nothing more.
const MOST_WAITING: usize = 64 << 10;

/// Bytes read at once. Nearly every message is shorter.
const PART: usize = 512;

/// What has come of the next message, and what has not left yet. Both take no memory while they are empty.
#[derive(Debug)]
pub(crate) struct Mailbox {
    /// Payload of the longest message that is taken.
    longest: usize,
    /// How long a message may take to come.
    patience: Duration,
    incoming: Vec<u8>,
    /// Since when a part of a message is there.
    begun: Option<Instant>,
    outbox: Outbox,
}

/// Messages that have not left yet. They take no memory while none waits.
#[derive(Debug)]
pub(crate) struct Outbox {
    /// Bytes that may wait before the client gets nothing more.
    room: usize,
    /// How long the kernel may take none of them.
    patience: Duration,
    waiting: Vec<u8>,
    /// Since when it has taken none.
    stuck: Option<Instant>,
}

impl Mailbox {
    pub(crate) fn new(longest: usize, patience: Duration) -> Self {
        let outbox = Outbox::new(MOST_WAITING, patience);
        Self { longest, patience, incoming: Vec::new(), begun: None, outbox }
    }

    /// Reads the next message, as far as it has come; `None` while it is not there. What follows it stays in the kernel.
    ///
    /// # Errors
    /// When the other end closes, takes too long for a message, or sends none.
    pub(crate) fn next<M: DeserializeOwned>(&mut self, stream: &ControlStream) -> Result<Option<M>, LinkError> {
        let mut part = [0; PART];
        loop {
            let header = self.incoming.first_chunk().map(|octets| FrameHeader::decode(*octets)).transpose()?;
            if header.is_some_and(|header| header.length > self.longest) {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "a message too long to be in order").into());
            }
            let end = FRAME_HEADER_OCTETS + header.map_or(0, |header| header.length);
            if let Some(header) = header.filter(|_| self.incoming.len() == end) {
                let payload = std::mem::take(&mut self.incoming).split_off(FRAME_HEADER_OCTETS);
                self.begun = None;
                return decode(payload, header.compressed, Compression::Never).map(|(message, _)| Some(message));
            }
            let missing = (end - self.incoming.len()).min(PART);
            match stream.take(&mut part[..missing]) {
                Ok(0) => return Err(LinkError::Closed),
                Ok(count) => self.incoming.extend_from_slice(&part[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Err(LinkError::Closed),
                Err(error) => return Err(error.into()),
            }
        }
        if !self.incoming.is_empty() && self.begun.get_or_insert_with(Instant::now).elapsed() > self.patience {
            return Err(LinkError::Silent(self.patience.as_secs()));
        }
        Ok(None)
    }

    /// As [`Outbox::post`].
    pub(crate) fn post(&mut self, stream: &ControlStream, message: &impl Serialize) -> Result<(), LinkError> {
        self.outbox.post(stream, message)
    }

    /// Whether something waits until the kernel takes more.
    pub(crate) fn is_waiting(&self) -> bool {
        self.outbox.is_waiting()
    }

    /// As [`Outbox::flush`].
    pub(crate) fn flush(&mut self, stream: &ControlStream) -> Result<(), LinkError> {
        self.outbox.flush(stream)
    }
}

impl Outbox {
    pub(crate) fn new(room: usize, patience: Duration) -> Self {
        Self { room, patience, waiting: Vec::new(), stuck: None }
    }

    /// Sends a message, as far as the kernel takes it at once.
    ///
    /// # Errors
    /// When the connection breaks, too much waits already, or the message is longer than a frame may be.
    pub(crate) fn post(&mut self, stream: &ControlStream, message: &impl Serialize) -> Result<(), LinkError> {
        if self.waiting.len() > self.room {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "the client reads too slowly").into());
        }
        options::insist(stream.socket());
        let octets = stream.sealed(encode(message, Compression::Allowed)?)?;
        self.waiting.extend_from_slice(&octets);
        self.flush(stream)
    }

    fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Sends what waits, as far as the kernel takes it at once.
    ///
    /// # Errors
    /// When the connection breaks, or nothing has been taken for too long.
    pub(crate) fn flush(&mut self, stream: &ControlStream) -> Result<(), LinkError> {
        let socket = SockRef::from(stream.socket());
        let mut sent = 0;
        while sent < self.waiting.len() {
            match socket.send_with_flags(&self.waiting[sent..], libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL) {
                Ok(0) => return Err(io::Error::from(io::ErrorKind::WriteZero).into()),
                Ok(count) => sent += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        if sent == self.waiting.len() {
            (self.waiting, self.stuck) = (Vec::new(), None);
            return Ok(());
        }
        if sent > 0 {
            self.waiting.drain(..sent);
            self.stuck = None;
        }
        if self.stuck.get_or_insert_with(Instant::now).elapsed() > self.patience {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "the client does not read").into());
        }
        Ok(())
    }

    /// Sends all that waits.
    ///
    /// # Errors
    /// As [`Outbox::flush`].
    pub(crate) fn drain(&mut self, stream: &ControlStream) -> Result<(), LinkError> {
        self.flush(stream)?;
        while self.is_waiting() {
            wait::writable(stream.socket(), PATIENCE)?;
            self.flush(stream)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control_link::write;
    use rrul_proto::control::ClientMessage;
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};

    fn pair() -> (TcpStream, ControlStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let server = ControlStream::plain(listener.accept().unwrap().0);
        server.stop_waiting().unwrap();
        (client, server)
    }

    fn mailbox() -> Mailbox {
        Mailbox::new(1024, Duration::from_millis(200))
    }

    /// The next message, which is on its way.
    fn wait(mailbox: &mut Mailbox, server: &ControlStream) -> Result<ClientMessage, LinkError> {
        loop {
            if let Some(message) = mailbox.next(server)? {
                return Ok(message);
            }
            server.readable(Duration::from_secs(1)).unwrap();
        }
    }

    #[test]
    fn messages_that_come_together_or_in_parts_are_read_one_by_one() {
        let (mut client, server) = pair();
        let mut mailbox = mailbox();
        assert!(matches!(mailbox.next::<ClientMessage>(&server), Ok(None)));
        let begin = encode(&ClientMessage::Begin { origin: 7 }, Compression::Never).unwrap();
        client.write_all(&[&begin[..], &begin, &begin[..3]].concat()).unwrap();
        for _ in 0..2 {
            assert_eq!(wait(&mut mailbox, &server).unwrap(), ClientMessage::Begin { origin: 7 });
        }
        client.write_all(&begin[3..]).unwrap();
        assert_eq!(wait(&mut mailbox, &server).unwrap(), ClientMessage::Begin { origin: 7 });
        drop(client);
        assert!(matches!(wait(&mut mailbox, &server), Err(LinkError::Closed)));
    }

    #[test]
    fn a_message_that_stays_incomplete_and_one_too_long_end_the_session() {
        let (mut client, server) = pair();
        let mut incomplete = mailbox();
        client.write_all(&[0, 0]).unwrap();
        assert!(matches!(wait(&mut incomplete, &server), Err(LinkError::Silent(_))));
        let (mut client, server) = pair();
        write(&mut client, &"x".repeat(2000), Compression::Never).unwrap();
        assert!(matches!(wait(&mut mailbox(), &server), Err(LinkError::Io(_))));
    }

    #[test]
    fn who_does_not_read_gets_no_more_than_what_may_wait() {
        let (client, server) = pair();
        let mut mailbox = Mailbox::new(1024, Duration::from_mins(1));
        let mut random = vec![0; 30_000];
        rrul_model::random::Random(7).fill(&mut random);
        let posted = (0..10_000).take_while(|_| mailbox.post(&server, &random).is_ok()).count();
        assert!(posted < 10_000 && mailbox.is_waiting());
        assert!(mailbox.outbox.waiting.len() < 3 * MOST_WAITING, "{}", mailbox.outbox.waiting.len());
        drop(client);
    }

    #[test]
    fn who_takes_nothing_within_the_patience_is_given_up() {
        let (_client, server) = pair();
        let mut mailbox = Mailbox::new(1024, Duration::ZERO);
        let mut random = vec![0; 30_000];
        rrul_model::random::Random(7).fill(&mut random);
        let given_up = (0..10_000).any(|_| mailbox.post(&server, &random).is_err());
        assert!(given_up && mailbox.outbox.waiting.len() <= MOST_WAITING, "{}", mailbox.outbox.waiting.len());
    }
}
