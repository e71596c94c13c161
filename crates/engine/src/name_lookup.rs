//! One DNS lookup: the questions for both kinds of address, from a new socket, and what came of them.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};

use rrul_model::flow::{AddressFamily, FlowId};
use rrul_model::marking::ServiceClass;
use rrul_model::observation::NameLookup;
use rrul_model::time::TestTime;
use rrul_model::units::Delay;
use rrul_proto::name_question::{NotAName, Question, RecordKind};
use socket2::{Protocol, Socket, Type};

use crate::clock::test_clock::TestClock;
use crate::clock::{RawTime, WallClock};
use crate::socket::{datagram, options};

/// The lookup and its flow.
#[derive(Debug, Clone, Copy)]
pub struct Which {
    pub flow: FlowId,
    /// Its number within the flow.
    pub sequence: u32,
    /// When the schedule wanted it.
    pub scheduled: TestTime,
}

/// Whom to ask, and how.
#[derive(Debug, Clone, Copy)]
pub struct Resolver {
    pub address: SocketAddr,
    /// The class that questions are marked with.
    pub class: ServiceClass,
}

impl Resolver {
    /// A new socket towards it: its source port is one that the kernel has just chosen.
    ///
    /// # Errors
    /// When the kernel gives none, or will not mark it.
    pub fn socket(&self) -> io::Result<Socket> {
        let family = AddressFamily::from_address(self.address.ip());
        let socket = Socket::new(options::domain(family), Type::DGRAM, Some(Protocol::UDP))?;
        options::mark(&socket, family, self.class)?;
        // Connected, so that the kernel keeps away what others send, and reports when no program listens there.
        socket.connect(&self.address.into())?;
        // Without stamps of the kernel the program's own will do.
        let _ = options::stamp_received(&socket);
        Ok(socket)
    }
}

/// A question that has been sent and not answered.
#[derive(Debug)]
struct Waiting {
    question: Question,
    row: NameLookup,
}

/// A lookup under way.
#[derive(Debug)]
pub struct Lookup {
    socket: Socket,
    waiting: Vec<Waiting>,
    started: TestTime,
}

impl AsFd for Lookup {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Lookup {
    /// Asks for every kind of address of `name`, one question right behind the other. What can be noted at once is.
    ///
    /// # Errors
    /// When this is no name; nothing has been asked then.
    pub fn ask(
        which: Which,
        resolver: &Resolver,
        name: &str,
        clock: TestClock,
        note: &mut dyn FnMut(NameLookup),
    ) -> Result<Option<Self>, NotAName> {
        let [first, second] = random_ids();
        let [a, aaaa] = RecordKind::ALL;
        let questions = [(a, Question::new(first, name, a)?), (aaaa, Question::new(second, name, aaaa)?)];
        let started = clock.now();
        let row = |record: RecordKind, length: usize| NameLookup {
            flow: which.flow,
            sequence: which.sequence,
            scheduled: which.scheduled,
            started: clock.now(),
            record: record.code(),
            reached: NameLookup::UNANSWERED,
            response_code: 0,
            took: Delay(0),
            question_octets: u16::try_from(length).unwrap_or(u16::MAX),
            answer_octets: 0,
        };
        let Ok(socket) = resolver.socket() else {
            for (record, _) in questions {
                note(NameLookup { reached: NameLookup::IMPOSSIBLE, question_octets: 0, ..row(record, 0) });
            }
            return Ok(None);
        };
        let mut lookup = Self { socket, waiting: Vec::with_capacity(questions.len()), started };
        for (record, question) in questions {
            let octets = question.encode();
            let row = row(record, octets.len());
            if datagram::send(&lookup.socket, &octets).is_ok() {
                lookup.waiting.push(Waiting { question, row });
            } else {
                // It may be that the first question has met with refusal already: the kernel reports it once.
                lookup.end(NameLookup::IMPOSSIBLE, clock.now(), note);
                note(NameLookup { reached: NameLookup::IMPOSSIBLE, question_octets: 0, ..row });
            }
        }
        Ok((!lookup.is_done()).then_some(lookup))
    }

    /// When the first question was about to be sent.
    pub fn started(&self) -> TestTime {
        self.started
    }

    /// Whether nothing more is waited for.
    pub fn is_done(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Takes what has arrived, and notes each answer.
    pub fn receive(&mut self, clock: TestClock, wall: &WallClock, note: &mut dyn FnMut(NameLookup)) {
        let mut octets = [0; 2048];
        while !self.is_done() {
            match datagram::receive(&self.socket, &mut octets) {
                Ok(None) => return,
                Ok(Some(arrived)) => {
                    let Some(octets) = octets.get(..arrived.length) else { continue };
                    let raw = arrived.stamp.map_or_else(RawTime::now, |stamp| wall.raw(stamp));
                    self.take(octets, clock.at(raw), note);
                }
                // The host that was asked has reported that no program listens there; it will say no more.
                Err(_) => return self.end(NameLookup::IMPOSSIBLE, clock.now(), note),
            }
        }
    }

    fn take(&mut self, octets: &[u8], at: TestTime, note: &mut dyn FnMut(NameLookup)) {
        let answers = |waiting: &Waiting| waiting.question.answer(octets);
        let Some((place, answer)) =
            self.waiting.iter().enumerate().find_map(|(place, waiting)| Some((place, answers(waiting)?)))
        else {
            return;
        };
        let row = self.waiting.remove(place).row;
        note(NameLookup {
            reached: if answer.is_final() { NameLookup::ANSWERED } else { NameLookup::REFUSED },
            response_code: answer.response_code,
            // The kernel's stamp lies on another clock, carried over.
            took: at.since(row.started).max(Delay(0)),
            answer_octets: u16::try_from(octets.len()).unwrap_or(u16::MAX),
            ..row
        });
    }

    /// Waits no longer, and notes how long that was.
    pub fn give_up(&mut self, now: TestTime, note: &mut dyn FnMut(NameLookup)) {
        self.end(NameLookup::UNANSWERED, now, note);
    }

    fn end(&mut self, reached: u8, now: TestTime, note: &mut dyn FnMut(NameLookup)) {
        for Waiting { row, .. } in self.waiting.drain(..) {
            note(NameLookup { reached, took: now.since(row.started), ..row });
        }
    }
}

/// Two ids that cannot be guessed, and that differ.
fn random_ids() -> [u16; 2] {
    // Without a random source, port and socket identify the answer well enough.
    let random = getrandom::u32().unwrap_or(0x1234_5678);
    let [first, second] = [(random >> 16) as u16, random as u16];
    [first, if first == second { !second } else { second }]
}

/// A label that no cache contains.
pub fn random_label() -> String {
    let random = getrandom::u64().unwrap_or_else(|_| RawTime::now().0.cast_unsigned());
    format!("{random:016x}")
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;
    use std::time::Duration;

    use rrul_proto::name_responder::Asked;
    use rrul_proto::session_name::SessionName;
    use rrul_proto::token::Token;

    use super::*;
    use crate::socket::wait;

    struct Bed {
        resolver: UdpSocket,
        clock: TestClock,
        rows: Vec<NameLookup>,
        lookup: Lookup,
    }

    fn bed() -> Bed {
        let resolver = UdpSocket::bind("127.0.0.1:0").unwrap();
        resolver.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        let clock = TestClock::since(RawTime::now());
        let which = Which { flow: FlowId(1), sequence: 4, scheduled: TestTime(0) };
        let asked = Resolver { address: resolver.local_addr().unwrap(), class: ServiceClass::BE };
        let mut rows = Vec::new();
        let name = SessionName { label: "k3", flow: 1, token: Token([7; 16]) }.to_string();
        let lookup = Lookup::ask(which, &asked, &name, clock, &mut |row| rows.push(row)).unwrap().unwrap();
        Bed { resolver, clock, rows, lookup }
    }

    impl Bed {
        fn question(&self) -> (Vec<u8>, SocketAddr) {
            let mut octets = [0; 2048];
            let (length, from) = self.resolver.recv_from(&mut octets).unwrap();
            (octets[..length].to_vec(), from)
        }

        fn receive(&mut self) {
            assert!(wait::readable(&[&self.lookup.socket], Duration::from_secs(5)).unwrap());
            let rows = &mut self.rows;
            self.lookup.receive(self.clock, &WallClock::new(), &mut |row| rows.push(row));
        }
    }

    #[test]
    fn both_questions_come_from_one_port_and_each_answer_ends_its_own() {
        let mut bed = bed();
        let [(first, from), (second, also)] = [bed.question(), bed.question()];
        assert_eq!(from, also);
        // The second is answered first, and before that come bytes that are nothing, and an answer to nothing asked.
        bed.resolver.send_to(b"nothing", from).unwrap();
        let address = "192.0.2.1".parse().unwrap();
        let mut spoofed = Asked::read(&first).unwrap().answer(address);
        spoofed[0] ^= 0xff;
        bed.resolver.send_to(&spoofed, from).unwrap();
        bed.resolver.send_to(&Asked::read(&second).unwrap().answer(address), from).unwrap();
        while bed.rows.is_empty() {
            bed.receive();
        }
        assert_eq!((bed.rows[0].record, bed.rows[0].reached, bed.rows[0].sequence), (28, NameLookup::ANSWERED, 4));
        assert_eq!(usize::from(bed.rows[0].question_octets), second.len());
        bed.resolver.send_to(&Asked::read(&first).unwrap().answer(address), from).unwrap();
        bed.receive();
        assert_eq!((bed.rows[1].record, bed.rows[1].reached), (1, NameLookup::ANSWERED));
        assert!(bed.lookup.is_done() && bed.rows.len() == 2 && bed.rows.iter().all(|row| row.took > Delay(0)));
    }

    #[test]
    fn what_is_not_answered_is_noted_with_the_time_waited() {
        let mut bed = bed();
        let now = bed.clock.now() + Duration::from_secs(5);
        let rows = &mut bed.rows;
        bed.lookup.give_up(now, &mut |row| rows.push(row));
        assert_eq!(bed.rows.iter().map(|row| (row.record, row.reached)).collect::<Vec<_>>(), [(1, 0), (28, 0)]);
        assert!(bed.rows.iter().all(|row| row.took >= Delay::from(Duration::from_secs(5))));
    }

    #[test]
    fn where_no_program_listens_a_lookup_is_impossible() {
        let mut bed = bed();
        let closed = bed.resolver.local_addr().unwrap();
        drop(std::mem::replace(&mut bed.resolver, UdpSocket::bind("127.0.0.1:0").unwrap()));
        let which = Which { flow: FlowId(1), sequence: 5, scheduled: TestTime(0) };
        let resolver = Resolver { address: closed, class: ServiceClass::BE };
        let mut rows = Vec::new();
        let lookup = Lookup::ask(which, &resolver, "a.test", bed.clock, &mut |row| rows.push(row)).unwrap();
        if let Some(mut lookup) = lookup {
            assert!(wait::readable(&[&lookup.socket], Duration::from_secs(5)).unwrap());
            lookup.receive(bed.clock, &WallClock::new(), &mut |row| rows.push(row));
        }
        assert_eq!(rows.iter().map(|row| row.reached).collect::<Vec<_>>(), [NameLookup::IMPOSSIBLE; 2]);
        assert!(Lookup::ask(which, &resolver, "a..b", bed.clock, &mut |_| {}).is_err());
    }
}
