//! A session over a virtual link in virtual time: events in the order of their instants, every chance from one seed.
//!
//! The link keeps its own account of what it did to each packet, so that a test compares what the session has seen
//! with what was true.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::net::IpAddr;
use std::time::Duration;

use rrul_model::flow::FlowId;
use rrul_model::observation::{ProbeReceived, ProbeSent, ReflectorWindow, ReplyStamped};
use rrul_model::random::Random;
use rrul_model::time::{TestTime, Window};
use rrul_proto::arrival_log::LoggedArrival;
use rrul_proto::limits::Limits;
use rrul_proto::packet_seal::{PacketSeal, PacketSecrets};
use rrul_proto::session_reflector::{Incoming, Reply, SessionReflector};
use rrul_proto::session_sender::{Answer, Arrival, Identity, SessionSender};
use rrul_proto::test_packet::TestPacket;
use rrul_proto::token::Token;

const MICROSECOND: i64 = 1_000;
pub(crate) const MILLISECOND: i64 = 1_000_000;
pub(crate) const SECOND: i64 = 1_000_000_000;

const FLOW: u16 = 3;
const TOKEN: Token = Token(*b"a token of tests");
const CLIENT: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 7));
/// EF without ECN.
pub(crate) const EF: u8 = 0xb8;

/// One direction of the link.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Way {
    /// Least delay, nanoseconds.
    pub delay: i64,
    /// Each packet takes up to this much longer, drawn evenly; more than the interval between packets reorders them.
    pub variation: i64,
    /// One packet in so many is lost at random; 0: none.
    pub loses_one_in: u64,
    /// One packet in so many arrives twice; 0: none.
    pub doubles_one_in: u64,
    /// Nothing passes during this, by the time of entering.
    pub outage: Option<Window>,
    /// Whether the traffic class is set to 0 on the way.
    pub bleaches: bool,
}

impl Way {
    /// Loses nothing and always takes this long.
    pub(crate) fn of(delay: i64) -> Self {
        Self { delay, variation: 0, loses_one_in: 0, doubles_one_in: 0, outage: None, bleaches: false }
    }
}

/// What a run is about.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scenario {
    pub up: Way,
    pub down: Way,
    /// Every packet, octets.
    pub length: usize,
    /// How long the flow sends; the interval is 20 ms.
    pub window: Window,
    /// What the server's session clock shows at T0.
    pub server_origin: i64,
    /// How far off the client believes that to be: the error of the clock exchange.
    pub origin_error: i64,
    /// From the reflector's T3 to the kernel's own transmit stamp.
    pub stamp_lag: i64,
    /// From that stamp until the reflector has read it.
    pub stamp_read: i64,
    /// The client does not run during this.
    pub stall: Option<Window>,
    pub seed: u64,
    /// Whether packets are under a key.
    pub sealed: bool,
}

impl Scenario {
    /// Sixty seconds over a link that does nothing but delay: 7 ms up, 11 ms down.
    pub(crate) fn sixty_seconds() -> Self {
        Self {
            up: Way::of(7 * MILLISECOND),
            down: Way::of(11 * MILLISECOND),
            length: 200,
            window: Window { from: TestTime(0), to: TestTime(60 * SECOND) },
            server_origin: 7_123_456_789,
            origin_error: 0,
            stamp_lag: 40 * MICROSECOND,
            stamp_read: 10 * MICROSECOND,
            stall: None,
            seed: 1,
            sealed: false,
        }
    }
}

/// How often the client sends.
const INTERVAL: Duration = Duration::from_millis(20);
/// From the kernel's receive stamp to the reflector's T3: what RFC 8762 takes out of the round trip.
pub(crate) const REFLECTING: i64 = 150 * MICROSECOND;
/// From the kernel's receive stamp to the client's reading.
pub(crate) const READING: i64 = 30 * MICROSECOND;

/// What was true of one reply that reached the client.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Truth {
    /// What the request took.
    pub up: i64,
    /// What the reply took from its kernel stamp.
    pub down: i64,
    /// From T2 to that stamp.
    pub at_reflector: i64,
}

/// What came of a run.
#[derive(Debug, Default)]
pub(crate) struct Run {
    pub sent: Vec<ProbeSent>,
    pub received: Vec<(ProbeReceived, Truth)>,
    pub stamped: Vec<ReplyStamped>,
    /// Windows that were news to the sender.
    pub windows: Vec<ReflectorWindow>,
    /// What the reflector has noted.
    pub arrivals: Vec<LoggedArrival>,
    /// Requests in the order in which the link delivered them, and when, on the server's session clock.
    pub delivered: Vec<(u32, i64)>,
    /// Left out after the stall.
    pub skipped: u32,
    /// Requests that the link lost, by number.
    pub lost_up: Vec<u32>,
    /// Replies that the link lost, by the number of their request; a doubled request has two.
    pub lost_down: Vec<u32>,
    /// Requests that the link doubled.
    pub doubled_up: u32,
    /// Replies that the link doubled.
    pub doubled_down: u32,
    /// Kernel departures of the replies to each packet on the server's clock less its origin, in their order.
    pub departures: BTreeMap<u32, Vec<i64>>,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Due,
    AtReflector { octets: Vec<u8>, class: u8, up: i64 },
    Stamped { sequence: u32, at: i64 },
    AtClient { octets: Vec<u8>, class: u8, up: i64, down: i64, at_reflector: i64 },
}

/// Events by instant; equal instants in the order in which they were put in.
#[derive(Default)]
struct Agenda {
    events: BinaryHeap<Reverse<(i64, u64, Event)>>,
    entries: u64,
}

impl Agenda {
    fn put(&mut self, at: i64, event: Event) {
        self.events.push(Reverse((at, self.entries, event)));
        self.entries += 1;
    }

    fn take(&mut self) -> Option<(i64, Event)> {
        self.events.pop().map(|Reverse((at, _, event))| (at, event))
    }
}

/// Delays of the copies that arrive: none when the packet is lost, two when it is doubled.
fn carry(way: &Way, now: i64, random: &mut Random) -> Vec<i64> {
    let mut one_in = |number: u64| number > 0 && random.next().is_multiple_of(number);
    let (lost, doubled) = (one_in(way.loses_one_in), one_in(way.doubles_one_in));
    let lost = lost || way.outage.is_some_and(|outage| outage.contains(TestTime(now)));
    let copies = if lost { 0 } else { 1 + usize::from(doubled) };
    let mut delay = || {
        let varies = way.variation.cast_unsigned();
        way.delay + if varies > 0 { (random.next() % varies).cast_signed() } else { 0 }
    };
    (0..copies).map(|_| delay()).collect()
}

/// A reflector that answers [`FLOW`] of the session [`TOKEN`] for [`CLIENT`], with the limits of a fresh server.
fn reflector(seal: PacketSeal) -> SessionReflector {
    let mut reflector = SessionReflector::new(seal, &Limits::default());
    reflector.prove(CLIENT);
    reflector.admit(FLOW, 10_000.0, None);
    reflector
}

/// Runs the scenario to its end, until nothing is under way any more.
pub(crate) fn run(scenario: &Scenario) -> Run {
    let Scenario { up, down, server_origin, .. } = *scenario;
    let secrets = scenario.sealed.then_some(PacketSecrets { up: [7; 32], down: [8; 32] });
    let seal = PacketSeal::of_client(TOKEN, secrets.as_ref());
    let identity =
        Identity { flow: FlowId(FLOW), seal, octet: EF, server_origin: server_origin + scenario.origin_error };
    let mut sender = SessionSender::new(identity, scenario.window, INTERVAL, scenario.seed);
    let mut reflector = reflector(PacketSeal::of_server(TOKEN, secrets.as_ref()));
    let mut random = Random(scenario.seed);
    let mut agenda = Agenda::default();
    let mut result = Run::default();
    if let Some(first) = sender.due() {
        agenda.put(first.0, Event::Due);
    }
    while let Some((now, event)) = agenda.take() {
        match event {
            Event::Due => {
                if let Some(stall) = scenario.stall.filter(|stall| stall.contains(TestTime(now))) {
                    agenda.put(stall.to.0, Event::Due);
                    continue;
                }
                result.skipped += sender.skip_before(TestTime(now));
                if sender.due() == Some(TestTime(now)) {
                    let mut octets = vec![0; scenario.length];
                    let sent = sender.send(TestTime(now), &mut octets).expect("it is due and room is left");
                    result.sent.push(sent);
                    let copies = carry(&up, now, &mut random);
                    result.lost_up.extend(copies.is_empty().then_some(sent.sequence));
                    result.doubled_up += u32::from(copies.len() > 1);
                    let class = if up.bleaches { 0 } else { EF };
                    for delay in copies {
                        agenda.put(now + delay, Event::AtReflector { octets: octets.clone(), class, up: delay });
                    }
                }
                if let Some(next) = sender.due() {
                    agenda.put(next.0, Event::Due);
                }
            }
            Event::AtReflector { mut octets, class, up } => {
                let received = server_origin + now;
                result.delivered.push((TestPacket::read(&octets).expect("a test packet").sequence, received));
                let incoming = Incoming { source: CLIENT, received, octet: class, hop_limit: None };
                let Reply { flow, sequence, octet, .. } =
                    reflector.reflect(&mut octets, incoming, || received + REFLECTING).expect("granted");
                assert_eq!(
                    (flow, octets.len()),
                    (FLOW, scenario.length),
                    "a reply of the flow, as long as its request"
                );
                let at_reflector = REFLECTING + scenario.stamp_lag;
                let departure = now + at_reflector;
                result.departures.entry(sequence).or_default().push(departure);
                agenda.put(departure + scenario.stamp_read, Event::Stamped { sequence, at: server_origin + departure });
                let copies = carry(&down, departure, &mut random);
                result.lost_down.extend(copies.is_empty().then_some(sequence));
                result.doubled_down += u32::from(copies.len() > 1);
                let class = if down.bleaches { 0 } else { octet };
                for delay in copies {
                    let octets = octets.clone();
                    agenda.put(departure + delay, Event::AtClient { octets, class, up, down: delay, at_reflector });
                }
            }
            Event::Stamped { sequence, at } => reflector.stamped(FLOW, sequence, at),
            Event::AtClient { octets, class, up, down, at_reflector } => {
                let read = TestTime(now + READING);
                let arrival = Arrival { received: TestTime(now), read, octet: class };
                let Answer { received, stamped, window } =
                    sender.receive(&octets, arrival).expect("a reply to a packet of this flow");
                result.received.push((received, Truth { up, down, at_reflector }));
                result.stamped.extend(stamped);
                result.windows.extend(window);
            }
        }
    }
    result.arrivals = reflector.arrivals.drain().collect();
    result
}
