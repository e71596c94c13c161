//! The reflecting end of a session, without a socket: which packet is answered, and how.
//!
//! RFC 8762 Session-Reflector, stateful: it notes every packet that arrives, so that loss can be attributed to a
//! direction.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::IpAddr;

use crate::arrival_log::{ArrivalLog, LoggedArrival};
use crate::limits::{Limits, RateCap};
use crate::one_way_packet::OneWayPacket;
use crate::packet_seal::PacketSeal;
use crate::packet_seal::replay_window::{Freshness, ReplayWindow};
use crate::packet_train::{TrainArrivals, TrainKind, TrainPacket};
use crate::receive_window::ReceiveWindow;
use crate::test_packet::{FollowUp, Kind, LEAST_OCTETS, TestPacket};

/// Addresses that one session may prove.
const PROVEN_ADDRESSES: usize = 8;

/// Arrivals are fetched once a second; room is kept for as many seconds of what the flows may send, and for a few more.
const LOGGED_SECONDS: f64 = 4.0;
const LOGGED_MORE: usize = 64;
/// Flows for which room for a few more is kept.
const LOGGED_FLOWS: usize = 256;

/// Trains that one session may send: a client sends three, and a few more if it has to try again.
pub const MOST_TRAINS: u16 = 8;

/// Packets of a flow beside those of its schedule: greetings, and questions that are asked again.
const BESIDE: u32 = 64;

/// Why a packet gets no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Silence {
    #[error("from an address that the session has not proven")]
    UnprovenSource,
    #[error("not a request of this session")]
    NotARequest,
    #[error("without the tag of the session's client")]
    Forged,
    #[error("repeated more often than the network doubles packets")]
    Replayed,
    #[error("of a flow that the session does not have")]
    UnknownFlow,
    #[error("longer than granted")]
    TooLong,
    #[error("more in a second than granted")]
    TooMany,
}

/// A packet as it came in.
#[derive(Debug, Clone, Copy)]
pub struct Incoming {
    pub source: IpAddr,
    /// The kernel's receive stamp on the session clock, nanoseconds.
    pub received: i64,
    /// The traffic-class octet it bore.
    pub octet: u8,
    /// The TTL or hop limit that it had left, where that is known.
    pub hop_limit: Option<u8>,
}

/// What to send back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reply {
    pub flow: u16,
    pub sequence: u32,
    /// The traffic-class octet to send it with: the one that the sender asked for, so that both directions are tested
    /// in the same class even where the way here has rewritten it.
    pub octet: u8,
    /// Its transmit stamp, nanoseconds on the session clock.
    pub sent: i64,
    /// How many octets of the request's are sent back.
    pub length: usize,
}

/// A train to send back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Train {
    /// Its packets, to leave back to back.
    pub packets: Vec<TrainPacket>,
    pub octets: usize,
}

#[derive(Debug)]
struct FlowState {
    cap: RateCap,
    longest: usize,
    count: u32,
    window: ReceiveWindow,
    follow_up: Option<FollowUp>,
    /// Packets that were taken, where they are sealed.
    taken: ReplayWindow,
    /// The T1 of the latest greeting, likewise.
    greeted: i64,
}

#[derive(Debug)]
pub struct SessionReflector {
    seal: PacketSeal,
    proven: Vec<IpAddr>,
    flows: HashMap<u16, FlowState>,
    cap: RateCap,
    longest: usize,
    /// Most arrivals for which room is taken, whatever the flows ask for: 24 octets each. More are not answered.
    most_logged: usize,
    /// Test packets that have arrived, those of one-way flows too; greetings are none.
    pub arrivals: ArrivalLog,
    train: TrainArrivals,
    /// Trains that have begun.
    trains: u16,
    /// Packets of trains that were taken, where they are sealed.
    train_taken: ReplayWindow,
}

impl SessionReflector {
    /// A session that answers no flow and no address yet.
    pub fn new(seal: impl Into<PacketSeal>, limits: &Limits) -> Self {
        Self {
            seal: seal.into(),
            proven: Vec::new(),
            flows: HashMap::new(),
            cap: RateCap::new(limits.packets_per_second),
            longest: limits.packet_octets as usize,
            most_logged: (f64::from(limits.packets_per_second) * LOGGED_SECONDS) as usize + LOGGED_FLOWS * LOGGED_MORE,
            train: TrainArrivals::default(),
            trains: 0,
            train_taken: ReplayWindow::default(),
            // A session that tests nothing takes no room.
            arrivals: ArrivalLog::with_room(0),
        }
    }

    /// Whether the client has completed a TCP handshake of this session from there.
    pub fn is_proven(&self, address: IpAddr) -> bool {
        self.proven.contains(&address.to_canonical())
    }

    /// The session's client has completed a TCP handshake from this address. A host has a few; more are not taken, as
    /// they are looked through for every packet.
    pub fn prove(&mut self, address: IpAddr) {
        let address = address.to_canonical();
        if !self.proven.contains(&address) && self.proven.len() < PROVEN_ADDRESSES {
            self.proven.push(address);
        }
    }

    /// Packets of this flow are to be answered. So many a second are to be expected of it, each of this length; without
    /// one, of any length.
    pub fn admit(&mut self, flow: u16, packets_per_second: f64, octets: Option<usize>) {
        if let Entry::Vacant(place) = self.flows.entry(flow) {
            let most = self.cap.per_second();
            place.insert(FlowState {
                cap: RateCap::declared(packets_per_second.max(0.0).min(most), BESIDE),
                // Greetings are of the least length, whatever the flow's is.
                longest: octets.map_or(self.longest, |octets| octets.max(LEAST_OCTETS).min(self.longest)),
                count: 0,
                window: ReceiveWindow::default(),
                follow_up: None,
                taken: ReplayWindow::default(),
                greeted: 0,
            });
            let room = ((packets_per_second * LOGGED_SECONDS) as usize).saturating_add(LOGGED_MORE);
            self.arrivals.add_room(room.min(self.most_logged.saturating_sub(self.arrivals.room())));
        }
    }

    /// Turns the request in `octets` into its reply, of the same length, or returns why not.
    ///
    /// `now` is the session clock; the last thing asked for is the transmit stamp.
    ///
    /// # Errors
    /// [`Silence`]: nothing is to be sent.
    pub fn reflect(&mut self, octets: &mut [u8], incoming: Incoming, now: impl Fn() -> i64) -> Result<Reply, Silence> {
        if !self.is_proven(incoming.source) {
            return Err(Silence::UnprovenSource);
        }
        let mut packet = TestPacket::read(octets).map_err(|_| Silence::NotARequest)?;
        self.check(octets)?;
        let reply_kind = match packet.kind {
            Kind::Test => Kind::Reply,
            Kind::Greeting => Kind::GreetingReply,
            Kind::Trace => Kind::TraceReply,
            Kind::Reply | Kind::GreetingReply | Kind::TraceReply => return Err(Silence::NotARequest),
        };
        let flow = self.flows.get_mut(&packet.flow).ok_or(Silence::UnknownFlow)?;
        if octets.len() > flow.longest {
            return Err(Silence::TooLong);
        }
        // By the session clock and not by the packet's stamp: that comes from the wall clock, which may step.
        let freshness = match packet.kind {
            Kind::Greeting => greeted(&self.seal, flow, packet.t1),
            _ => self.seal.take(&mut flow.taken, packet.sequence),
        };
        grant(freshness, &now, |now| flow.cap.grant(now) && self.cap.grant(now))?;
        if packet.kind == Kind::Test {
            flow.count = flow.count.saturating_add(1);
            flow.window.note(packet.sequence);
            self.arrivals.note(LoggedArrival {
                flow: packet.flow,
                sequence: packet.sequence,
                received: incoming.received,
                octet: incoming.octet,
            });
        }
        packet.kind = reply_kind;
        packet.token = self.seal.token();
        packet.octet_received = incoming.octet;
        packet.reflector_count =
            if reply_kind == Kind::TraceReply { u32::from(incoming.hop_limit.unwrap_or(0)) } else { flow.count };
        packet.follow_up = flow.follow_up;
        packet.window = flow.window;
        packet.t2 = incoming.received;
        packet.t3 = now();
        packet.write(octets).map_err(|_| Silence::NotARequest)?;
        // How long a packet the way back carries is not what a path trace asks.
        let length = if reply_kind == Kind::TraceReply { LEAST_OCTETS } else { octets.len() };
        self.seal.seal(&mut octets[..length]);
        Ok(Reply { flow: packet.flow, sequence: packet.sequence, octet: packet.octet_sent, sent: packet.t3, length })
    }

    /// Takes a one-way packet, which is noted and never answered, or says why it is not taken.
    ///
    /// # Errors
    /// [`Silence`]: it is as if the packet had not come.
    pub fn take(&mut self, octets: &[u8], incoming: Incoming, now: i64) -> Result<(), Silence> {
        if !self.is_proven(incoming.source) {
            return Err(Silence::UnprovenSource);
        }
        let packet = OneWayPacket::read(octets).map_err(|_| Silence::NotARequest)?;
        self.check(octets)?;
        let flow = self.flows.get_mut(&packet.flow).ok_or(Silence::UnknownFlow)?;
        if octets.len() > flow.longest {
            return Err(Silence::TooLong);
        }
        let freshness = self.seal.take(&mut flow.taken, packet.sequence);
        grant(freshness, || now, |now| flow.cap.grant(now) && self.cap.grant(now))?;
        flow.count = flow.count.saturating_add(1);
        flow.window.note(packet.sequence);
        let Incoming { received, octet, .. } = incoming;
        self.arrivals.note(LoggedArrival { flow: packet.flow, sequence: packet.sequence, received, octet });
        Ok(())
    }

    /// Takes a packet of a train; the last one gives the train to send back, and the octets of each of its packets.
    ///
    /// Trains are of no flow, so they are taken before a test is opened, too: a few, as no turn and no test limits them.
    ///
    /// # Errors
    /// [`Silence`]: it is as if the packet had not come.
    pub fn couple(&mut self, octets: &[u8], incoming: Incoming, now: i64) -> Result<Option<Train>, Silence> {
        if !self.is_proven(incoming.source) {
            return Err(Silence::UnprovenSource);
        }
        let packet = TrainPacket::read(octets).map_err(|_| Silence::NotARequest)?;
        self.check(octets)?;
        // Those that go back bear it.
        let packet = TrainPacket { token: self.seal.token(), ..packet };
        if octets.len() > self.longest {
            return Err(Silence::TooLong);
        }
        let freshness = self.seal.take(&mut self.train_taken, packet.number());
        // A copy shows nothing of the line; the end of a train is announced more than once.
        if freshness == Freshness::Copy && packet.kind == TrainKind::Car {
            return Err(Silence::Replayed);
        }
        let begins = packet.kind == TrainKind::Car && self.train.is_new(&packet);
        if begins && self.trains >= MOST_TRAINS || packet.kind == TrainKind::Car && !begins && self.train.is_full() {
            return Err(Silence::TooMany);
        }
        grant(freshness, || now, |now| self.cap.grant(now))?;
        match packet.kind {
            TrainKind::Car => {
                self.trains += u16::from(begins);
                self.train.note(&packet, octets.len(), incoming.received);
            }
            TrainKind::Last => return Ok(self.train.end(&packet).map(|(packets, octets)| Train { packets, octets })),
            TrainKind::Back => return Err(Silence::NotARequest),
        }
        Ok(None)
    }

    /// Whether a packet comes from the session's client.
    fn check(&self, octets: &[u8]) -> Result<(), Silence> {
        if self.seal.opens(octets) {
            Ok(())
        } else if self.seal.is_keyed() {
            Err(Silence::Forged)
        } else {
            Err(Silence::NotARequest)
        }
    }

    /// Whether a question of a flow, of so many octets, for one of the session's names is to be taken.
    ///
    /// # Errors
    /// [`Silence`]: nothing is to be sent.
    pub fn take_question(&mut self, flow: u16, octets: usize, source: IpAddr, now: i64) -> Result<(), Silence> {
        if !self.is_proven(source) {
            return Err(Silence::UnprovenSource);
        }
        let flow = self.flows.get_mut(&flow).ok_or(Silence::UnknownFlow)?;
        if !flow.cap.grant(now) {
            return Err(Silence::TooMany);
        }
        self.take_other(octets, source, now)
    }

    /// Whether the first packet of a QUIC connection, of so many octets, is to be taken.
    ///
    /// # Errors
    /// [`Silence`]: nothing is to be sent.
    pub fn take_other(&mut self, octets: usize, source: IpAddr, now: i64) -> Result<(), Silence> {
        if !self.proven.contains(&source.to_canonical()) {
            return Err(Silence::UnprovenSource);
        }
        if octets > self.longest {
            return Err(Silence::TooLong);
        }
        if self.cap.grant(now) { Ok(()) } else { Err(Silence::TooMany) }
    }

    /// Whether the session may have one more packet at this instant of the session clock, sent without being asked.
    pub fn grant(&mut self, now: i64) -> bool {
        self.cap.grant(now)
    }

    /// The kernel has stamped the departure of an earlier reply; the next reply of the flow reports it.
    ///
    /// Only of a later packet than the last: the stamp of a duplicate's reply does not take the place of the first
    /// one's, or the sender would hold a departure against the wrong arrival. Before the first test packet of the flow
    /// it can only be a greeting's reply, which has a number too and is reported nowhere.
    pub fn stamped(&mut self, flow: u16, sequence: u32, sent: i64) {
        if let Some(state) = self.flows.get_mut(&flow)
            && state.count > 0
            && state.follow_up.is_none_or(|told| sequence > told.sequence)
        {
            state.follow_up = Some(FollowUp { sequence, sent });
        }
    }
}

/// How a greeting is to be taken: where greetings are sealed, only in the order in which they were made.
fn greeted(seal: &PacketSeal, flow: &mut FlowState, t1: i64) -> Freshness {
    if seal.is_keyed() {
        if t1 <= flow.greeted {
            return Freshness::Excess;
        }
        flow.greeted = t1;
    }
    Freshness::New
}

/// Whether a packet is taken: a copy takes nothing from the caps.
fn grant(freshness: Freshness, now: impl FnOnce() -> i64, granted: impl FnOnce(i64) -> bool) -> Result<(), Silence> {
    match freshness {
        Freshness::New if !granted(now()) => Err(Silence::TooMany),
        Freshness::New | Freshness::Copy => Ok(()),
        Freshness::Excess => Err(Silence::Replayed),
    }
}
