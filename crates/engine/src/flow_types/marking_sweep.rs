//! Marking sweep: test packets of every code point and ECN value, answered with the marking that each asked for
//! (spec: "classification preservation/alteration", "ECT(0) and ECT(1)").
//!
//! Packets of one marking lie far apart, between those of all others: what a burst of loss takes, it takes of every
//! marking alike, and what one marking alone loses is due to the marking.

use std::thread::JoinHandle;
use std::time::Duration;

use rrul_model::flow::{AddressFamily, FlowSpec, FlowTypeWords, ParameterKind, ParameterWord};
use rrul_model::marking::{Dscp, Ecn, Marking};
use rrul_model::observation::ProbeSent;
use rrul_model::random::Random;
use rrul_model::time::TestTime;
use rrul_proto::session_sender::{Arrival, Identity, SessionSender};

use super::open_loop::{self, ProbeFlow, Prober, Reply};
use super::parallel_setup;
use super::udp_probe::{open, packet_for};
use crate::flow_type::{FlowType, Footprint, Initiation, Pacing};
use crate::server::parts::reflector::Reflected;
use crate::server::session::ServerPart;

const DEFAULT_INTERVAL: Duration = Duration::from_millis(20);
const DEFAULT_REPEATS: u32 = 5;
/// From this many packets on, a loss that ECN causes is distinguished from chance with fair confidence.
const DEFAULT_ECN_PACKETS: u32 = 200;

/// The name in plans.
pub(crate) const NAME: &str = "marking_sweep";

pub(crate) struct MarkingSweep;

impl FlowType for MarkingSweep {
    fn descriptor(&self) -> &'static FlowTypeWords {
        &FlowTypeWords {
            name: NAME,
            about: "UDP packets of all 64 code points and the four ECN values, returned with the same marking: remarking by the path",
            directed: false,
            parameters: &[
                ParameterWord {
                    name: "interval",
                    kind: ParameterKind::Duration,
                    about: "one packet in each, at a random phase; default 20ms",
                },
                ParameterWord {
                    name: "repeats",
                    kind: ParameterKind::Count,
                    about: "packets of each code point per round; default 5",
                },
                ParameterWord {
                    name: "ecn_packets",
                    kind: ParameterKind::Count,
                    about: "packets of each ECN value on the flow's class per round; default 200",
                },
                ParameterWord {
                    name: "length",
                    kind: ParameterKind::Size,
                    about: "UDP payload; default and least that of udp_probe, most 1400B",
                },
            ],
        }
    }

    fn server_part(&self) -> &'static dyn ServerPart {
        &Reflected
    }

    fn packets_per_second(&self, spec: &FlowSpec) -> f64 {
        spec.parameters.duration("interval", DEFAULT_INTERVAL).as_secs_f64().recip()
    }

    fn footprint(&self, spec: &FlowSpec) -> Footprint {
        Footprint::both(
            self.packets_per_second(spec) * super::udp_probe::packet_bits(spec, packet_for(spec).len() as u64),
        )
    }

    fn pacing(&self) -> Pacing {
        let longest = Duration::from_millis(500);
        Pacing::Interval { parameter: "interval", default: DEFAULT_INTERVAL, longest, yields: 1.0 }
    }

    fn length(&self, spec: &FlowSpec) -> Option<usize> {
        Some(packet_for(spec).len())
    }

    fn initiate(&self, specs: &[&FlowSpec], initiation: &Initiation) -> Vec<JoinHandle<()>> {
        let opened = parallel_setup::open_all(specs, initiation, open);
        open_loop::spawn("marking_sweep", opened, initiation, |spec, socket, server_origin, initiation| {
            let interval = spec.parameters.duration("interval", DEFAULT_INTERVAL);
            let seed = initiation.seed_for(spec);
            let order = order(
                spec.class.dscp(),
                spec.parameters.count("repeats", DEFAULT_REPEATS),
                spec.parameters.count("ecn_packets", DEFAULT_ECN_PACKETS),
                Random(seed),
            );
            let seal = initiation.seal.clone();
            let identity = Identity { flow: spec.id, seal, octet: spec.class.octet(), server_origin };
            let sender = SessionSender::new(identity, spec.window, interval, seed);
            let sweep = Sweep { sender, family: spec.family, order, next: 0, written: spec.class.octet() };
            ProbeFlow::new(spec, interval, socket, packet_for(spec), Box::new(sweep))
        })
    }
}

/// The bytes of a sweep in the order in which they are sent; never none.
///
/// In as many rounds as each code point has packets, each round shuffled: a sweep that is cut short has still sent all
/// code points about equally often.
fn order(ecn_on: Dscp, repeats: u32, ecn_packets: u32, mut random: Random) -> Vec<u8> {
    let rounds = u64::from(repeats.max(1));
    let mut order = Vec::new();
    for round in 0..rounds {
        let begin = order.len();
        if repeats > 0 {
            order.extend((0..64).filter_map(Dscp::new).map(|dscp| Marking { dscp, ecn: Ecn::NotEct }.octet()));
        }
        let until = |round: u64| u64::from(ecn_packets) * round / rounds;
        for _ in until(round)..until(round + 1) {
            let values = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce];
            order.extend(values.map(|ecn| Marking { dscp: ecn_on, ecn }.octet()));
        }
        shuffle(&mut order[begin..], &mut random);
    }
    if order.is_empty() {
        order.push(Marking { dscp: ecn_on, ecn: Ecn::NotEct }.octet());
    }
    order
}

/// Fisher and Yates: every order is as likely as any other.
fn shuffle(octets: &mut [u8], random: &mut Random) {
    for last in (1..octets.len()).rev() {
        octets.swap(last, random.up_to(last as u64) as usize);
    }
}

/// A session whose packets are each marked in their turn.
struct Sweep {
    sender: SessionSender,
    family: AddressFamily,
    order: Vec<u8>,
    next: usize,
    /// Byte of the packet that was written last.
    written: u8,
}

impl Prober for Sweep {
    fn due(&self) -> Option<TestTime> {
        self.sender.due()
    }

    fn send(&mut self, now: TestTime, octets: &mut [u8]) -> Option<ProbeSent> {
        self.written = self.order[self.next % self.order.len()];
        self.sender.mark(self.written);
        let sent = self.sender.send(now, octets)?;
        self.next += 1;
        Some(sent)
    }

    fn marking(&self) -> Option<(AddressFamily, u8)> {
        Some((self.family, self.written))
    }

    fn skip_before(&mut self, now: TestTime) -> u32 {
        self.sender.skip_before(now)
    }

    fn receive(&mut self, octets: &[u8], arrival: Arrival) -> Option<Reply> {
        Prober::receive(&mut self.sender, octets, arrival)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(octets: &[u8]) -> [usize; 256] {
        let mut counts = [0; 256];
        for octet in octets {
            counts[usize::from(*octet)] += 1;
        }
        counts
    }

    #[test]
    fn every_code_point_and_ecn_value_is_sent_as_often_as_asked() {
        let order = order(Dscp::default(), 5, 200, Random(1));
        assert_eq!(order.len(), 64 * 5 + 4 * 200);
        let counts = counts(&order);
        assert_eq!(counts[..4], [205, 200, 200, 200], "the four ECN values on best effort");
        assert!((1..64).all(|dscp| counts[dscp << 2] == 5), "{counts:?}");
    }

    #[test]
    fn a_sweep_that_is_cut_short_has_sent_all_about_equally_often() {
        let order = order(Dscp::new(46).unwrap(), 5, 7, Random(2));
        assert_eq!(order.len(), 64 * 5 + 4 * 7);
        let half = counts(&order[..order.len() / 2]);
        assert!((0..64).all(|dscp| half[dscp << 2] >= 2), "{half:?}");
        assert!([0xb9, 0xba, 0xbb].iter().all(|octet| (2..=5).contains(&half[*octet])), "{half:?}");
    }

    #[test]
    fn the_order_is_shuffled_by_its_seed() {
        let of = |seed| order(Dscp::default(), 2, 10, Random(seed));
        assert_eq!(of(3), of(3));
        assert_ne!(of(3), of(4));
        // Adjacent code points do not follow each other in number: of 63 pairs of a shuffled round one does, on
        // average.
        let rising = of(3)[..64].windows(2).filter(|pair| pair[1] == pair[0].wrapping_add(4)).count();
        assert!(rising < 8, "{rising}");
    }

    #[test]
    fn nothing_asked_for_is_still_a_packet() {
        assert_eq!(order(Dscp::default(), 0, 0, Random(1)), [0]);
        assert_eq!(order(Dscp::default(), 0, 1, Random(1)).len(), 4);
    }
}
