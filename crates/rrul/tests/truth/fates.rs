//! Loss, copies and order of test packets by flow, direction and phase: integers, each equal to that of the link's log.

use std::collections::{BTreeMap, HashMap, HashSet};

use rrul_analysis::metrics::loss::packet_fate::{DirectionFate, FlowFate, PacketFate};
use rrul_analysis::{Analysis, LossAttribution};
use rrul_engine::client::Families;
use rrul_lab::{DirectionTruth, LabTime, Link, Record};
use rrul_model::flow::{AddressFamily, Direction, FlowId};
use rrul_model::marking::ServiceClass;
use rrul_model::observation::{ObservationPoint, PacketReceivedTable};
use rrul_model::phase::Phase;
use rrul_model::recording::Recording;
use rrul_model::time::{TestTime, Window};

use crate::over_a_link::{Measured, measure_over};

const UDP: u8 = 17;

/// Each flow of a family has a class of its own, by which its packets are known in the link's log.
const EVERYTHING: &str = r#"
title = "probes over a link that loses, doubles and reorders"
overhead = "none"
phases = { idle = "2s", load = "5s", after = "2s" }
[flow.probe]
type = "udp_probe"
component = "realtime"
each.class = ["EF", "BK", "BE"]
interval = "10ms"
[flow.exchange]
type = "udp_rr"
component = "realtime"
class = "CS5"
min_interval = "20ms"
timeout = "200ms"
"#;

/// Hundred packets a second, so that an outage of a second is longer than a window.
const ONE_PROBE: &str = r#"
title = "one probe over a link that goes away twice"
overhead = "none"
phases = { idle = "2s", load = "5s", after = "2s" }
[flow.probe]
type = "udp_probe"
component = "realtime"
class = "BE"
interval = "10ms"
"#;

fn link(up: &str, down: &str) -> Link {
    let direction = |impairments: &str| {
        format!("rate = \"100Mbit/s\"\nonly = {{ protocol = \"udp\", port = 7785 }}\n{impairments}\n")
    };
    let text = format!("# A link of the test\nrtt = \"20ms\"\n[up]\n{}[down]\n{}", direction(up), direction(down));
    Link::from_toml("fates.toml", &text).unwrap_or_else(|error| panic!("{error}"))
}

/// One way of one flow as the link saw it. Packets are numbered in the order in which they entered the link.
#[derive(Default)]
struct TrueWay {
    /// Numbers of the packets that were delivered, copies too, in the order of delivery.
    delivered: Vec<usize>,
    entered: usize,
}

type Key = (AddressFamily, u8);

/// Each flow's packets since T0; before it are greetings.
fn ways(truth: &DirectionTruth, from: LabTime) -> HashMap<Key, TrueWay> {
    let mut records: BTreeMap<(bool, u8), Vec<&Record>> = BTreeMap::new();
    for record in truth.records().filter(|record| record.protocol == UDP && record.arrival >= from) {
        records.entry((record.family == AddressFamily::Ipv6, record.tos_in)).or_default().push(record);
    }
    let way = |records: Vec<&Record>| {
        let mut entered: Vec<LabTime> =
            records.iter().filter(|record| !record.duplicate).map(|record| record.arrival).collect();
        entered.sort_unstable();
        // The log is in the order of delivery.
        let delivered = records
            .iter()
            .filter(|record| record.delivery().is_some())
            .map(|record| entered.binary_search(&record.arrival).expect("a copy entered with its original"));
        TrueWay { delivered: delivered.collect(), entered: entered.len() }
    };
    let family = |v6| if v6 { AddressFamily::Ipv6 } else { AddressFamily::Ipv4 };
    records.into_iter().map(|((v6, tos), records)| ((family(v6), tos), way(records))).collect()
}

#[derive(Debug, PartialEq, Eq)]
struct Counts {
    sent: u64,
    lost: u64,
    duplicated: u64,
    reordered: u64,
    extent_max: Option<u64>,
    three_reordered: u64,
}

impl TrueWay {
    /// Of the packets whose numbers are `wanted`, by the definitions taken literally.
    fn counts(&self, wanted: impl Fn(usize) -> bool) -> Counts {
        let sent: Vec<usize> = (0..self.entered).filter(|number| wanted(*number)).collect();
        let mut firsts: Vec<usize> = Vec::new();
        let mut duplicated = 0;
        for number in &self.delivered {
            if firsts.contains(number) {
                duplicated += u64::from(wanted(*number));
            } else {
                firsts.push(*number);
            }
        }
        let (mut extents, mut three_reordered) = (Vec::new(), 0);
        for (index, number) in firsts.iter().enumerate().filter(|(_, number)| wanted(**number)) {
            if let Some(overtaker) = firsts[..index].iter().position(|earlier| earlier > number) {
                extents.push((index - overtaker) as u64);
                let above = firsts[..index].iter().rev().take_while(|earlier| *earlier > number).count();
                three_reordered += u64::from(above >= 3);
            }
        }
        Counts {
            sent: sent.len() as u64,
            lost: sent.iter().filter(|number| !firsts.contains(number)).count() as u64,
            duplicated,
            reordered: extents.len() as u64,
            extent_max: extents.iter().max().copied(),
            three_reordered,
        }
    }
}

fn measured_counts(fate: &PacketFate) -> Counts {
    let reordering = fate.reordering.expect("probes have an order");
    assert_eq!((fate.unattributed, fate.late), (0, 0));
    Counts {
        sent: fate.sent,
        lost: fate.lost,
        duplicated: fate.duplicated.expect("copies of probes are told"),
        reordered: reordering.reordered,
        extent_max: reordering.extent_max,
        three_reordered: reordering.three_reordered,
    }
}

/// When each packet of a flow left, by number.
fn departures(recording: &Recording, flow: FlowId) -> Vec<TestTime> {
    let client = || recording.tables_of(ObservationPoint::Client);
    let rows = client().flat_map(|tables| tables.probe_sent.rows()).filter(|row| row.flow == flow);
    let mut left: Vec<TestTime> = rows.map(|row| row.sent).collect();
    for row in client().flat_map(|tables| tables.probe_stamped.rows()).filter(|row| row.flow == flow) {
        let place = &mut left[row.sequence as usize];
        *place = row.sent.max(*place);
    }
    left
}

/// Every phase of the test, and the whole.
fn stretches(recording: &Recording, fate: &DirectionFate) -> [(PacketFate, Window); 4] {
    let window = |phase| recording.phase(phase).expect("the plan has it");
    let [idle, load, after] = [Phase::Idle, Phase::Load, Phase::After].map(window);
    let fates = [fate.idle, fate.load, fate.after, fate.all].map(|fate| fate.expect("packets in every phase"));
    let windows = [idle, load, after, Window { from: idle.from, to: after.to }];
    [0, 1, 2, 3].map(|index| (fates[index], windows[index]))
}

struct Truths {
    up: HashMap<Key, TrueWay>,
    down: HashMap<Key, TrueWay>,
}

impl Truths {
    fn of(measured: &Measured) -> Self {
        let from = LabTime(measured.recording.header.clocks.client_origin.cast_unsigned());
        Self { up: ways(&measured.truth.up, from), down: ways(&measured.truth.down, from) }
    }

    fn flow(&self, flow: &FlowFate) -> (&TrueWay, &TrueWay) {
        let key = (flow.flow.family, flow.flow.class.octet());
        (&self.up[&key], &self.down[&key])
    }
}

/// All integers of a flow of probes against the truth.
fn probes_are_exact(recording: &Recording, flow: &FlowFate, truths: &Truths) -> [Counts; 2] {
    let (up, down) = truths.flow(flow);
    let name = &flow.flow.name;
    let left = departures(recording, flow.flow.id);
    assert_eq!(left.len(), up.entered, "{name}: what was sent entered the link");
    assert_eq!(up.delivered.len(), down.entered, "{name}: the reflector answers every copy");
    for (fate, window) in stretches(recording, &flow.up) {
        let truth = up.counts(|number| window.contains(left[number]));
        assert_eq!(measured_counts(&fate), truth, "{name}, up, {window:?}");
    }
    for (fate, window) in stretches(recording, &flow.down) {
        // A reply belongs to the phase in which the packet was sent that it answers.
        let truth = down.counts(|number| window.contains(left[up.delivered[number]]));
        assert_eq!(measured_counts(&fate), truth, "{name}, down, {window:?}");
    }
    [up.counts(|_| true), down.counts(|_| true)]
}

fn exchanges_are_exact(flow: &FlowFate, truths: &Truths) {
    let (up, down) = truths.flow(flow);
    let (there, back) = (flow.up.all.expect("exchanges"), flow.down.all.expect("responses"));
    let counts = up.counts(|_| true);
    assert_eq!((there.sent, there.lost), (counts.sent, counts.lost), "{}", flow.flow.name);
    assert_eq!(there.duplicated, Some(counts.duplicated), "{}", flow.flow.name);
    // A request that arrived twice was answered twice; either response will do.
    let mut answered: Vec<usize> = down.delivered.iter().map(|number| up.delivered[*number]).collect();
    answered.sort_unstable();
    answered.dedup();
    assert_eq!((back.sent, back.lost), (counts.sent - counts.lost, back.sent - answered.len() as u64));
}

/// Lost replies that no reply and no window tells of: to a copy, where another was answered or is shown already.
fn replies_unseen(up: &TrueWay, down: &TrueWay) -> u64 {
    let mut arrivals: HashMap<usize, (u64, u64)> = HashMap::new();
    let came_back: HashSet<usize> = down.delivered.iter().copied().collect();
    for (reply, packet) in up.delivered.iter().enumerate() {
        let (arrived, answered) = arrivals.entry(*packet).or_default();
        *arrived += 1;
        *answered += u64::from(came_back.contains(&reply));
    }
    arrivals.values().map(|(arrived, answered)| arrived - (*answered).max(1)).sum()
}

fn without_the_servers_rows(mut recording: Recording) -> Analysis {
    for frame in &mut recording.frames {
        frame.tables.packet_received = match frame.point {
            ObservationPoint::Server => PacketReceivedTable::default(),
            ObservationPoint::Client => std::mem::take(&mut frame.tables.packet_received),
        };
    }
    rrul_analysis::analyze(&recording)
}

#[test]
fn loss_copies_and_order_are_exact_by_direction_over_both_families() {
    rrul_lab::on_a_lab("loss_copies_and_order_are_exact_by_direction_over_both_families", || {
        let overtaking =
            |probability| format!("{{ probability = \"{probability}\", displacement = 30, extra_delay = \"80ms\" }}");
        let up = format!("loss = \"3%\"\nduplicate = \"2%\"\nreorder = {}", overtaking("2%"));
        let down = format!("loss = \"2%\"\nduplicate = \"3%\"\nreorder = {}", overtaking("2%"));
        let measured = measure_over(&link(&up, &down), EVERYTHING, Families::Both, "fates");
        let analysis = rrul_analysis::analyze(&measured.recording);
        let truths = Truths::of(&measured);
        let flows = &analysis.loss.fates.flows;
        assert_eq!(flows.len(), 8, "three probes and an exchange in each family");
        let mut lost = [0, 0];
        for flow in flows {
            assert_eq!(flow.up.evidence, LossAttribution::Exact, "{}", flow.flow.name);
            if flow.flow.flow_type == "udp_rr" {
                exchanges_are_exact(flow, &truths);
                continue;
            }
            for (sum, counts) in lost.iter_mut().zip(probes_are_exact(&measured.recording, flow, &truths)) {
                // The pool is of best effort and expedited forwarding.
                *sum += if flow.flow.class == ServiceClass::BK { 0 } else { counts.lost };
                assert!(counts.lost > 0 && counts.duplicated > 0 && counts.reordered > 0, "too calm: {counts:?}");
            }
        }
        let pooled = |direction| analysis.loss.fates.pooled(direction).and_then(|fate| fate.all).expect("probes");
        assert_eq!([pooled(Direction::Up).lost, pooled(Direction::Down).lost], lost);
        eprintln!("lost up and down: {lost:?}");

        // Of what replies and windows tell nothing is false, and what they leave open bounds the truth.
        let by_windows = without_the_servers_rows(measured.recording);
        for flow in by_windows.loss.fates.flows.iter().filter(|flow| flow.flow.flow_type == "udp_probe") {
            let (up, down) = truths.flow(flow);
            // A window has one bit for a packet and its copies.
            let ways =
                [(&flow.up, up.counts(|_| true), 0), (&flow.down, down.counts(|_| true), replies_unseen(up, down))];
            for (fate, truth, unseen) in ways {
                let all = fate.all.expect("packets");
                assert_eq!(fate.evidence, LossAttribution::Window);
                assert!(all.lost <= truth.lost, "{}: {all:?}, {truth:?}", flow.flow.name);
                assert!(all.lost + all.unattributed + unseen >= truth.lost, "{}: {all:?}, {truth:?}", flow.flow.name);
                assert!(all.duplicated <= Some(truth.duplicated), "{}: {all:?}, {truth:?}", flow.flow.name);
            }
        }
    });
}

#[test]
fn an_outage_longer_than_a_window_is_exact_by_the_servers_rows_and_bounded_without_them() {
    rrul_lab::on_a_lab("an_outage_longer_than_a_window_is_exact_by_the_servers_rows_and_bounded_without_them", || {
        let outage = |from: u32| {
            let numbers: Vec<String> = (from..from + 120).map(|number| number.to_string()).collect();
            format!("loss = {{ packets = [{}] }}", numbers.join(", "))
        };
        let measured =
            measure_over(&link(&outage(250), &outage(450)), ONE_PROBE, Families::Only(AddressFamily::Ipv4), "outages");
        let truths = Truths::of(&measured);
        let analysis = rrul_analysis::analyze(&measured.recording);
        let [flow] = analysis.loss.fates.flows.as_slice() else { panic!("{:?}", analysis.loss.fates.flows) };
        let [up, down] = probes_are_exact(&measured.recording, flow, &truths);
        assert_eq!((up.lost, down.lost), (120, 120));
        let runs = flow.up.all.and_then(|all| all.loss_runs).expect("all is attributed");
        assert_eq!((runs.bursts, runs.longest_burst), (1, 120));

        let by_windows = without_the_servers_rows(measured.recording);
        for fate in [by_windows.loss.fates.up, by_windows.loss.fates.down] {
            let fate = fate.expect("a probe");
            let all = fate.all.expect("packets");
            assert_eq!(fate.evidence, LossAttribution::Window);
            // The first reply after each outage tells of the 63 packets before it.
            assert_eq!((all.lost, all.unattributed), (63, 2 * (120 - 63)));
            assert!(all.share_least < 120.0 / all.sent as f64 && all.share_most > 120.0 / all.sent as f64);
        }
    });
}
