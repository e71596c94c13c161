//! What CAKE promises, in virtual time.

use std::time::Duration;

use super::*;
use crate::queue::drive::packet;

const RATE: u64 = 10_000_000;
const LENGTH: u32 = 1250;
/// A packet of `LENGTH` bytes at `RATE`.
const SLOT: u64 = 1_000_000;

fn cake(change: impl FnOnce(&mut QueueOptions)) -> Cake {
    let mut options = QueueOptions::default();
    change(&mut options);
    let mut cake = Cake::new(&options, 3).unwrap();
    cake.set_rate(BitRate(RATE));
    cake
}

/// A source of packets that always has one waiting, or sends one each so many slots.
#[derive(Clone, Copy)]
struct Source {
    dscp: u8,
    flow: u64,
    hosts: (u64, u64),
    length: u32,
    /// Slots between its packets; 0 keeps the queue filled.
    every: u64,
}

fn greedy(dscp: u8, flow: u64) -> Source {
    Source { dscp, flow, hosts: (1, 1), length: LENGTH, every: 0 }
}

/// Packets of each source that wait at least, if it is greedy.
const BACKLOG: u64 = 20;

/// Bytes sent for each source in so many slots of the rate, and the longest wait of each in nanoseconds.
fn shares(queue: &mut Cake, sources: &[Source], slots: u64) -> (Vec<u64>, Vec<u64>) {
    let (mut octets, mut longest) = (vec![0; sources.len()], vec![0; sources.len()]);
    let mut waiting = vec![0u64; sources.len()];
    let mut dropped = Vec::new();
    let (mut now, mut sent_slots) = (0, 0);
    while now < slots * SLOT {
        for (index, source) in sources.iter().enumerate() {
            let count = if source.every == 0 {
                BACKLOG.saturating_sub(waiting[index])
            } else {
                u64::from(sent_slots % source.every == 0)
            };
            for _ in 0..count {
                let (source_host, destination) = source.hosts;
                let packet = QueuedPacket {
                    length: source.length,
                    link_octets: source.length,
                    flow: source.flow,
                    source: source_host,
                    destination,
                    dscp: source.dscp,
                    ..packet(index as u32, source.flow, LabTime(now))
                };
                queue.enqueue(packet, LabTime(now), &mut dropped);
                waiting[index] += 1;
            }
        }
        let sent = queue.dequeue(LabTime(now), &mut dropped);
        for lost in dropped.drain(..) {
            waiting[lost.packet.slot as usize] -= 1;
        }
        sent_slots += 1;
        let Some(sent) = sent else {
            now += SLOT;
            continue;
        };
        let index = sent.slot as usize;
        waiting[index] -= 1;
        octets[index] += u64::from(sent.length);
        longest[index] = longest[index].max(now - sent.arrival.0);
        now += transmission_time(u64::from(sent.link_octets), BitRate(RATE));
    }
    (octets, longest)
}

fn percent(octets: &[u64]) -> Vec<f64> {
    let all: u64 = octets.iter().sum();
    octets.iter().map(|own| *own as f64 * 100.0 / all as f64).collect()
}

fn assert_shares(layout: TinLayout, dscps: &[u8], expected: &[f64]) {
    let mut queue = cake(|options| options.tins = Some(layout));
    let sources: Vec<Source> = dscps.iter().zip(1..).map(|(dscp, flow)| greedy(*dscp, flow)).collect();
    let got = percent(&shares(&mut queue, &sources, 20_000).0);
    for (got, expected) in got.iter().zip(expected) {
        assert!((got - expected).abs() < 0.5, "{layout:?} {dscps:?}: {got:.2} %, expected {expected} %");
    }
}

#[test]
fn saturated_tins_get_their_thresholds_and_best_effort_the_rest() {
    let [be, bk, cs5, ef, af41] = [0, 8, 40, 46, 34];
    assert_shares(TinLayout::Diffserv3, &[be, bk, cs5, ef], &[34.4, 6.25, 34.4, 25.0]);
    assert_shares(TinLayout::Diffserv4, &[be, bk, cs5, ef], &[68.75, 6.25, 12.5, 12.5]);
    assert_shares(TinLayout::Diffserv4, &[be, bk, af41, cs5, ef], &[18.75, 6.25, 50.0, 12.5, 12.5]);
    assert_shares(TinLayout::BestEffort, &[be, bk, cs5, ef], &[25.0; 4]);
    // 7/8 to the seventh and to the sixth; what is left goes to the tin below them, and nothing to those below that.
    assert_shares(TinLayout::Diffserv8, &[be, bk, 16, ef, 48], &[0.0, 0.0, 15.85, 44.88, 39.27]);
}

#[test]
fn each_class_alone_gets_the_whole_rate() {
    for layout in [TinLayout::BestEffort, TinLayout::Diffserv3, TinLayout::Diffserv4, TinLayout::Diffserv8] {
        for dscp in [0, 8, 34, 40, 46, 48] {
            let mut queue = cake(|options| options.tins = Some(layout));
            let (octets, _) = shares(&mut queue, &[greedy(dscp, 1)], 2000);
            assert_eq!(octets, [2000 * u64::from(LENGTH)], "{layout:?}, DSCP {dscp}");
        }
    }
}

#[test]
fn a_class_below_its_threshold_waits_for_a_packet_at_most() {
    let mut queue = cake(|options| options.tins = Some(TinLayout::Diffserv4));
    let voice = Source { every: 5, ..greedy(46, 2) };
    let (octets, longest) = shares(&mut queue, &[greedy(0, 1), voice, greedy(8, 3)], 5000);
    assert!((percent(&octets)[1] - 20.0).abs() < 0.5, "it gets the fifth that it sends: {octets:?}");
    // The packets of best effort and bulk that are being sent.
    assert!(longest[1] <= 2 * SLOT, "{} ns", longest[1]);
}

#[test]
fn an_idle_tin_saves_nothing_up() {
    let mut queue = cake(|_| {});
    let mut dropped = Vec::new();
    let mut offer = |queue: &mut Cake, dscp, at: u64, count| {
        for _ in 0..count {
            let packet = QueuedPacket {
                dscp,
                length: LENGTH,
                link_octets: LENGTH,
                ..packet(u32::from(dscp), u64::from(dscp), LabTime(at))
            };
            queue.enqueue(packet, LabTime(at), &mut dropped);
        }
    };
    offer(&mut queue, 0, 10_000 * SLOT, 60);
    offer(&mut queue, 46, 10_000 * SLOT, 60);
    let mut voice = 0;
    for slot in 0..40 {
        let sent = queue.dequeue(LabTime((10_000 + slot) * SLOT), &mut Vec::new()).unwrap();
        voice += u32::from(sent.dscp == 46);
    }
    assert!((9..=12).contains(&voice), "{voice} of 40 are voice after ten idle seconds: a quarter");
}

#[test]
fn flows_share_bytes_and_a_sparse_one_goes_first() {
    let mut queue = cake(|options| options.flow_isolation = Some(FlowIsolation::Flows));
    let small = Source { length: 250, ..greedy(0, 2) };
    let sparse = Source { length: 125, every: 40, ..greedy(0, 3) };
    let (octets, longest) = shares(&mut queue, &[greedy(0, 1), small, sparse], 20_000);
    let ratio = octets[0] as f64 / octets[1] as f64;
    assert!((ratio - 1.0).abs() < 0.01, "large and small packets get the same bytes: {octets:?}");
    // It goes before both. Only at the beginning, when they are new as well, it waits for a quantum of each, which is one large
    // packet and two small ones.
    assert!(longest[2] <= SLOT + 2 * SLOT / 5, "{} ns", longest[2]);
}

/// One flow from the first host, four from the second.
fn five_flows(hosts: impl Fn(u64) -> (u64, u64)) -> Vec<Source> {
    (1..=5).map(|flow| Source { hosts: hosts(flow), ..greedy(0, flow) }).collect()
}

#[test]
fn hosts_share_fairly_where_that_is_asked_for() {
    /// Source and destination of each flow.
    type Hosts = fn(u64) -> (u64, u64);
    let cases: [(FlowIsolation, Hosts, f64); 6] = [
        (FlowIsolation::DualSourceHost, |flow| (flow.min(2), 9), 50.0),
        (FlowIsolation::DualDestinationHost, |flow| (9, flow.min(2)), 50.0),
        (FlowIsolation::TripleIsolate, |flow| (flow.min(2), flow.min(2)), 50.0),
        // All flows go to one host, which has more of them than either source.
        (FlowIsolation::TripleIsolate, |flow| (flow.min(2), 9), 20.0),
        (FlowIsolation::Flows, |flow| (flow.min(2), 9), 20.0),
        (FlowIsolation::Hosts, |flow| (flow.min(2), 9), 50.0),
    ];
    for (isolation, hosts, expected) in cases {
        let mut queue = cake(|options| options.flow_isolation = Some(isolation));
        let got = percent(&shares(&mut queue, &five_flows(hosts), 20_000).0);
        assert!((got[0] - expected).abs() < 1.0, "{isolation:?}: {got:?}, expected {expected} % for the first");
        let others = if isolation == FlowIsolation::Hosts { 0.0 } else { (100.0 - expected) / 4.0 };
        if others > 0.0 {
            assert!(got[1..].iter().all(|share| (share - others).abs() < 1.0), "{isolation:?}: {got:?}");
        }
    }
}

#[test]
fn without_isolation_all_flows_wait_in_one_queue() {
    let mut queue = cake(|options| options.flow_isolation = Some(FlowIsolation::FlowBlind));
    let mut dropped = Vec::new();
    for slot in 0..6 {
        queue.enqueue(packet(slot, u64::from(slot % 2), LabTime(0)), LabTime(0), &mut dropped);
    }
    let order: Vec<u32> =
        std::iter::from_fn(|| queue.dequeue(LabTime(0), &mut dropped)).map(|sent| sent.slot).collect();
    assert_eq!(order, [0, 1, 2, 3, 4, 5]);
}

#[test]
fn a_thousand_flows_hardly_ever_share_a_queue() {
    let mut queue = cake(|options| options.flow_isolation = Some(FlowIsolation::Flows));
    let mut dropped = Vec::new();
    for flow in 0..700u64 {
        queue.enqueue(packet(0, rrul_model::random::mix(flow), LabTime(0)), LabTime(0), &mut dropped);
    }
    let used = (0..700).filter(|_| queue.dequeue(LabTime(0), &mut dropped).is_some()).count();
    assert_eq!(used, 700);
    // One in five of 700 would share one of 1024 queues chosen by hash alone; eight ways leave less than one in twenty.
    let mut queue = cake(|options| options.flow_isolation = Some(FlowIsolation::Flows));
    for flow in 0..700u64 {
        for _ in 0..2 {
            let packet =
                QueuedPacket { link_octets: 1500, ..packet(flow as u32, rrul_model::random::mix(flow), LabTime(0)) };
            queue.enqueue(packet, LabTime(0), &mut dropped);
        }
    }
    let first: std::collections::HashSet<u32> =
        (0..700).filter_map(|_| queue.dequeue(LabTime(0), &mut dropped)).map(|sent| sent.slot).collect();
    assert!(first.len() > 665, "{} of 700 flows had a queue of their own", first.len());
}

/// A queue that always has 100 ms waiting at the head: what is dropped and marked each second.
fn overload(queue: &mut Cake, ecn_capable: bool, seconds: u64) -> (Vec<u32>, Vec<u32>) {
    let (mut drops, mut marks) = (vec![0; seconds as usize], vec![0; seconds as usize]);
    let mut dropped = Vec::new();
    for slot in 0..seconds * 1000 {
        let now = LabTime(slot * SLOT + 200 * SLOT);
        while queue.packets() < 100 {
            let packet = QueuedPacket { ecn_capable, ..packet(0, 1, LabTime(now.0 - 100 * SLOT)) };
            queue.enqueue(packet, now, &mut dropped);
        }
        let sent = queue.dequeue(now, &mut dropped).unwrap();
        marks[(slot / 1000) as usize] += u32::from(sent.marked);
        drops[(slot / 1000) as usize] += dropped.drain(..).count() as u32;
    }
    (drops, marks)
}

#[test]
fn a_standing_queue_is_signaled_to_more_and_more_often() {
    let (drops, marks) = overload(&mut cake(|_| {}), false, 4);
    // The n-th signal comes 100 ms times the sum of 1/sqrt(k) after the first: 31, 92 more in the second second, and so on.
    let by_hand: Vec<u32> = (0..4u32)
        .map(|second| {
            let mut times = vec![0.0f64];
            for count in 2..2000u32 {
                times.push(times[count as usize - 2] + 100.0 / f64::from(count).sqrt());
            }
            let (from, to) = (f64::from(second) * 1000.0, f64::from(second + 1) * 1000.0);
            times.iter().filter(|time| (from..to).contains(*time)).count() as u32
        })
        .collect();
    for (got, expected) in drops.iter().zip(&by_hand) {
        assert!(got.abs_diff(*expected) <= 2, "{drops:?} dropped each second, by hand {by_hand:?}");
    }
    assert_eq!(marks, [0; 4]);
    let (drops_ect, marks) = overload(&mut cake(|_| {}), true, 4);
    assert_eq!((drops_ect, marks), (vec![0; 4], drops), "ECN-capable packets are marked at the same times");
}

#[test]
fn overflow_takes_from_the_head_of_the_longest_queue_of_all() {
    let mut queue = cake(|options| options.limit = Some(Limit::Octets(ByteCount(10 * PACKET_MEMORY))));
    let mut dropped = Vec::new();
    for slot in 0..3 {
        queue.enqueue(QueuedPacket { dscp: 46, ..packet(slot, 1, LabTime(0)) }, LabTime(0), &mut dropped);
    }
    for slot in 10..18 {
        queue.enqueue(packet(slot, 2, LabTime(0)), LabTime(5), &mut dropped);
    }
    let lost = DroppedPacket { packet: packet(10, 2, LabTime(0)), cause: DropCause::Overflow, at: LabTime(5) };
    assert_eq!((dropped, queue.packets()), (vec![lost], 10));
}

#[test]
fn settings_follow_the_rate_as_tc_shows_them() {
    // tc -s qdisc show: threshold, target, interval, quantum of bulk, best effort, voice at 8 and at 100 Mbit/s.
    let settings = |mbit: u64, index: usize| {
        let mut queue = cake(|_| {});
        queue.set_rate(BitRate(mbit * 1_000_000));
        let mut tins: Vec<&Tin> = queue.tins.iter().collect();
        tins.sort_by_key(|tin| tin.kind.place);
        let Tin { threshold, parameters, quantum, .. } = tins[index];
        (threshold.0, parameters.target / 1000, parameters.interval / 1000, *quantum)
    };
    let at_8 = [0, 1, 2].map(|index| settings(8, index));
    assert_eq!(
        at_8,
        [(500_000, 36336, 131_336, 300), (8_000_000, 5000, 100_000, 300), (2_000_000, 9084, 104_084, 300)]
    );
    let at_100 = [0, 1, 2].map(|index| settings(100, index));
    assert_eq!(
        at_100,
        [(6_250_000, 5000, 100_000, 300), (100_000_000, 5000, 100_000, 1514), (25_000_000, 5000, 100_000, 762)]
    );
    let refused = |change: fn(&mut QueueOptions)| {
        let mut options = QueueOptions::default();
        change(&mut options);
        Cake::new(&options, 0).unwrap_err().to_string()
    };
    assert!(refused(|options| options.rtt = Some(Duration::ZERO)).contains("100us"));
    assert!(refused(|options| options.limit = Some(Limit::Packets(5))).contains("256kB"));
}

#[test]
fn counters_of_the_tins_add_up_and_draining_gives_the_order_of_arrival() {
    let mut queue = cake(|options| options.tins = Some(TinLayout::Diffserv4));
    let mut dropped = Vec::new();
    for slot in 0..12u32 {
        let dscp = [8, 0, 34, 46][slot as usize % 4];
        queue.enqueue(
            QueuedPacket { dscp, ..packet(slot, u64::from(dscp), LabTime(u64::from(slot))) },
            LabTime(u64::from(slot)),
            &mut dropped,
        );
    }
    for _ in 0..5 {
        queue.dequeue(LabTime(100), &mut dropped).unwrap();
    }
    let classes = queue.classes();
    assert_eq!(classes.iter().map(|class| class.name).collect::<Vec<_>>(), ["Bulk", "Best Effort", "Video", "Voice"]);
    assert_eq!(classes.iter().map(|class| class.packets).sum::<u64>(), 5);
    assert_eq!(classes.iter().map(|class| class.backlog.0).sum::<u64>(), 7 * 1500);
    let order: Vec<u32> = queue.drain().iter().map(|packet| packet.slot).collect();
    assert!(order.len() == 7 && order.is_sorted(), "{order:?}");
    assert_eq!(queue.packets(), 0);
    queue.enqueue(packet(1, 1, LabTime(200)), LabTime(200), &mut dropped);
    assert_eq!(queue.dequeue(LabTime(200), &mut dropped).map(|sent| sent.slot), Some(1), "a drained queue works on");
}
