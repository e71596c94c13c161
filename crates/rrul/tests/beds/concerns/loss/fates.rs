//! Loss, copies and order of test packets by flow, direction and phase: integers, each equal to that of the link's log.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;

use rrul_analysis::metrics::loss::packet_fate::{DirectionFate, FlowFate, PacketFate};
use rrul_analysis::{Analysis, LossAttribution};
use rrul_lab::{DirectionTruth, LabTime, Record};
use rrul_model::flow::{AddressFamily, Direction, FlowId};
use rrul_model::marking::ServiceClass;
use rrul_model::observation::{ObservationPoint, PacketReceivedTable};
use rrul_model::phase::Phase;
use rrul_model::recording::Recording;
use rrul_model::time::{TestTime, Window};

use crate::journal::UDP;
use crate::plans::{THREE_CLASSES, plan};
use crate::rows::Rows;
use crate::setting::{Measured, Setting};
use crate::{Bed, Runs};

const PHASES: &str = "idle = \"2s\", load = \"5s\", after = \"2s\"";

fn link(up: &str, down: &str) -> String {
    let direction = |impairments: &str| {
        format!("rate = \"100Mbit/s\"\nonly = {{ protocol = \"udp\", port = 7785 }}\n{impairments}\n")
    };
    format!("rtt = \"20ms\"\n[up]\n{}[down]\n{}", direction(up), direction(down))
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
            .map(|record| entered.binary_search(&record.arrival).unwrap());
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

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sent, lost, duplicated, reordered, extent_max, three_reordered } = self;
        let extent = extent_max.unwrap_or(0);
        write!(
            f,
            "{sent} sent, {lost} lost, {duplicated} doubled, {reordered} late by up to {extent}, {three_reordered} by three"
        )
    }
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
    let reordering = fate.reordering.unwrap();
    assert_eq!((fate.unattributed, fate.late), (0, 0));
    Counts {
        sent: fate.sent,
        lost: fate.lost,
        duplicated: fate.duplicated.unwrap(),
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
    let window = |phase| recording.phase(phase).unwrap();
    let [idle, load, after] = [Phase::Idle, Phase::Load, Phase::After].map(window);
    let fates = [fate.idle, fate.load, fate.after, fate.all].map(|fate| fate.unwrap());
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
fn probes_are_exact(rows: &mut Rows, recording: &Recording, flow: &FlowFate, truths: &Truths) -> [Counts; 2] {
    let (up, down) = truths.flow(flow);
    let name = &flow.flow.name;
    let left = departures(recording, flow.flow.id);
    rows.equal("R18", format!("{name}: packets sent, and that entered the link"), left.len(), up.entered);
    rows.equal("R18", format!("{name}: replies, one to every copy"), down.entered, up.delivered.len());
    // A reply belongs to the phase in which the packet was sent that it answers.
    let of_replies: Vec<TestTime> = up.delivered.iter().map(|number| left[*number]).collect();
    let ways = [("up", &flow.up, up, &left), ("down", &flow.down, down, &of_replies)];
    for (direction, found, truth, at) in ways {
        for (phase, (fate, window)) in ["idle", "load", "after", "all"].iter().zip(stretches(recording, found)) {
            let truth = truth.counts(|number| window.contains(at[number]));
            rows.equal("R18", format!("{name} {direction}, {phase}"), measured_counts(&fate), truth);
        }
    }
    [up.counts(|_| true), down.counts(|_| true)]
}

fn exchanges_are_exact(rows: &mut Rows, flow: &FlowFate, truths: &Truths) {
    let (up, down) = truths.flow(flow);
    let (there, back) = (flow.up.all.unwrap(), flow.down.all.unwrap());
    let counts = up.counts(|_| true);
    // A request that arrived twice was answered twice; either response will do.
    let mut answered: Vec<usize> = down.delivered.iter().map(|number| up.delivered[*number]).collect();
    answered.sort_unstable();
    answered.dedup();
    let arrived = counts.sent - counts.lost;
    let truth = [counts.sent, counts.lost, counts.duplicated, arrived, arrived - answered.len() as u64];
    let found = [there.sent, there.lost, there.duplicated.unwrap_or(u64::MAX), back.sent, back.lost];
    let what = format!("{}: sent, lost, doubled up; sent, lost down", flow.flow.name);
    rows.equal("R18", what, format!("{found:?}"), format!("{truth:?}"));
}

/// Lost replies that no reply and no window reports: to a copy, where another was answered or is shown already.
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

pub(crate) const FATES: Bed = Bed {
    name: "fates",
    about: "Packets are lost, doubled and overtaken both ways, in both families: by the server's rows every count of every flow, \
        direction and phase is exact; without them nothing that is counted is false.",
    runs: Runs::SideBySide,
    run: fates,
};

fn fates(rows: &mut Rows) {
    let overtaking = "{ probability = \"2%\", displacement = 30, extra_delay = \"80ms\" }";
    let up = format!("loss = \"3%\"\nduplicate = \"2%\"\nreorder = {overtaking}");
    let down = format!("loss = \"2%\"\nduplicate = \"3%\"\nreorder = {overtaking}");
    // Each flow of a family has a class of its own, by which its packets are known in the link's log.
    let flows = [
        ("udp_probe", &*format!("{THREE_CLASSES}interval = \"10ms\"")),
        ("udp_rr", "class = \"CS5\"\nmin_interval = \"20ms\"\ntimeout = \"200ms\""),
    ];
    let measured = Setting::new(link(&up, &down), plan(PHASES, &flows)).both_families().measure();
    let truths = Truths::of(&measured);
    let fates = &measured.analysis.loss.fates;
    rows.equal("R18", "flows: three probes and an exchange in each family", fates.flows.len(), 8);
    let mut lost = [0, 0];
    for flow in &fates.flows {
        rows.holds(
            "R18",
            format!("{}: evidence", flow.flow.name),
            "exact",
            format!("{:?}", flow.up.evidence),
            flow.up.evidence == LossAttribution::Exact,
        );
        if flow.flow.flow_type == "udp_rr" {
            exchanges_are_exact(rows, flow, &truths);
            continue;
        }
        for (sum, counts) in lost.iter_mut().zip(probes_are_exact(rows, &measured.recording, flow, &truths)) {
            // The pool is of best effort and expedited forwarding.
            *sum += if flow.flow.class == ServiceClass::BK { 0 } else { counts.lost };
            assert!(counts.lost > 0 && counts.duplicated > 0 && counts.reordered > 0, "too calm: {counts:?}");
        }
    }
    for (direction, lost) in [Direction::Up, Direction::Down].into_iter().zip(lost) {
        let pooled = fates.pooled(direction).and_then(|fate| fate.all).map_or(u64::MAX, |fate| fate.lost);
        rows.equal("R18", format!("lost {direction}, pooled"), pooled, lost);
    }

    // Of what replies and windows tell nothing is false, and what they leave open bounds the truth.
    let by_windows = without_the_servers_rows(measured.recording);
    for flow in by_windows.loss.fates.flows.iter().filter(|flow| flow.flow.flow_type == "udp_probe") {
        let (up, down) = truths.flow(flow);
        // A window has one bit for a packet and its copies.
        let ways = [
            ("up", &flow.up, up.counts(|_| true), 0),
            ("down", &flow.down, down.counts(|_| true), replies_unseen(up, down)),
        ];
        for (direction, fate, truth, unseen) in ways {
            let all = fate.all.unwrap();
            let bounded = fate.evidence == LossAttribution::Window
                && (all.lost..=all.lost + all.unattributed + unseen).contains(&truth.lost)
                && all.duplicated <= Some(truth.duplicated);
            rows.holds(
                "R18",
                format!("{} {direction}, without the server's rows", flow.flow.name),
                &truth,
                format!("{} lost, {} unattributed, {:?} doubled", all.lost, all.unattributed, all.duplicated),
                bounded,
            );
        }
    }
}

pub(crate) const LONG_OUTAGE: Bed = Bed {
    name: "long_outage",
    about: "Of one flow 120 packets in a row are lost up, and later 120 down, more than a window of 64: exact by the server's rows, \
        bounded without them.",
    runs: Runs::SideBySide,
    run: long_outage,
};

fn long_outage(rows: &mut Rows) {
    let outage = |from: u32| {
        let numbers: Vec<String> = (from..from + 120).map(|number| number.to_string()).collect();
        format!("loss = {{ packets = [{}] }}", numbers.join(", "))
    };
    // Hundred packets a second, so that an outage of a second is longer than a window.
    let plan = plan(PHASES, &[("udp_probe", "class = \"BE\"\ninterval = \"10ms\"")]);
    let measured = Setting::new(link(&outage(250), &outage(450)), plan).measure();
    let truths = Truths::of(&measured);
    let [flow] = measured.analysis.loss.fates.flows.as_slice() else { panic!("{:?}", measured.analysis.loss.fates) };
    let [up, down] = probes_are_exact(rows, &measured.recording, flow, &truths);
    assert_eq!((up.lost, down.lost), (120, 120));
    let runs = flow.up.all.and_then(|all| all.loss_runs).unwrap();
    rows.equal("R18", "bursts of loss up", runs.bursts, 1);
    rows.equal("R18", "packets of the longest", runs.longest_burst, 120);

    let by_windows = without_the_servers_rows(measured.recording);
    for (direction, fate) in [("up", by_windows.loss.fates.up), ("down", by_windows.loss.fates.down)] {
        let fate = fate.unwrap();
        assert_eq!(fate.evidence, LossAttribution::Window);
        let all = fate.all.unwrap();
        // The first reply after each outage reports the 63 packets before it.
        rows.equal("R18", format!("lost {direction} by windows"), all.lost, 63);
        rows.equal("R18", format!("unattributed {direction} by windows"), all.unattributed, 2 * (120 - 63));
        let share = 120.0 / all.sent as f64;
        let told = format!("{:.4} to {:.4}", all.share_least, all.share_most);
        let bounded = all.share_least < share && all.share_most > share;
        rows.holds("R18", format!("share lost {direction}"), format!("{share:.4}"), told, bounded);
    }
}
