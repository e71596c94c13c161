//! Calls, held against what the link did to each of their packets.

use std::collections::BTreeSet;
use std::ops::Range;

use rrul_analysis::metrics::voice::voip::{Voip, VoipFlow};
use rrul_analysis::metrics::voice::voip_quality::VoipQuality;
use rrul_lab::{Fate, LabTime, Record, percentile};
use rrul_model::flow::{AddressFamily, Direction, FlowSpec};
use rrul_model::units::BitRate;

use crate::journal::UDP;
use crate::rows::Rows;
use crate::setting::{Measured, Setting};
use crate::{Bed, Runs};

/// Voice in three classes both ways, and what brings the clocks together.
const VOICE: &str = r#"
title = "voice"
phases = { idle = "2s", load = "6s", after = "3500ms" }
[flow.voip]
type = "voip"
component = "voip"
schedule = "full"
each.direction = ["up", "down"]
each.class = ["EF", "BE", "BK"]
[flow.probe]
type = "udp_probe"
component = "realtime"
"#;

const LOAD: &str = r#"
[flow.bulk]
type = "bulk_tcp"
component = "load"
during = ["load"]
each.direction = ["down", "up"]
count = 2
"#;

fn voice(measured: &Measured) -> &Voip {
    measured.analysis.voip.as_ref().unwrap()
}

/// The link's records of a stream's packets: of its class, and of the length of voice in its family.
fn records<'a>(measured: &'a Measured, flow: &'a FlowSpec) -> impl Iterator<Item = &'a Record> {
    let length = match flow.family {
        AddressFamily::Ipv4 => 120,
        AddressFamily::Ipv6 => 140,
    };
    let direction = measured.truth.direction(flow.direction.unwrap());
    // Before that the client greets the server, in packets of the same shape.
    let t0 = LabTime(measured.recording.header.clocks.client_origin.cast_unsigned());
    let ours = move |record: &&Record| {
        record.arrival >= t0
            && (record.protocol, record.family, record.length, record.tos_in)
                == (UDP, flow.family, length, flow.class.octet())
            && !record.duplicate
    };
    direction.records().filter(ours)
}

fn phases(flow: &VoipFlow) -> impl Iterator<Item = &VoipQuality> {
    [&flow.idle, &flow.load, &flow.after].into_iter().flatten()
}

pub(crate) const LOST_UP: Bed = Bed {
    name: "voice_lost_up",
    about: "50/50 Mbit/s, calls in three classes, both ways and families, and 1 % of the packets up is lost: every one is counted, \
        and none down.",
    runs: Runs::SideBySide,
    run: lost_up,
};

fn lost_up(rows: &mut Rows) {
    let link = "rtt = \"20ms\"\n[up]\nrate = \"50Mbit/s\"\nloss = \"1%\"\nonly = { protocol = \"udp\" }\n\
        [down]\nrate = \"50Mbit/s\"\n";
    let measured = Setting::new(link, VOICE).both_families().measure();
    rows.equal(
        "R33",
        "flows of voice: both ways, three classes, two families",
        voice(&measured).flows.len(),
        2 * 3 * 2,
    );
    let mut lost_up = 0;
    for flow in &voice(&measured).flows {
        let spec = measured.recording.flow(flow.flow.id).unwrap();
        let total = |of: fn(&VoipQuality) -> u64| phases(flow).map(of).sum::<u64>();
        let sent = records(&measured, spec).count() as u64;
        let lost = records(&measured, spec).filter(|record| record.fate != Fate::Delivered).count() as u64;
        let told = [total(|q| q.sent), total(|q| q.lost), total(|q| q.duplicates), total(|q| q.reordered)];
        let what = format!("{}: sent, lost, doubled, reordered", spec.name);
        rows.equal("R35", what, format!("{told:?}"), format!("{:?}", [sent, lost, 0, 0]));
        // 11.5 s at 10 ms, less what a busy machine left out.
        assert!((1000..=1150).contains(&sent), "{}: {sent} packets", spec.name);
        match spec.direction {
            Some(Direction::Up) => lost_up += lost,
            _ => assert_eq!(lost, 0, "{}: the link loses nothing on the way down", spec.name),
        }
    }
    // 1 % of some 6900: the seed settles how many.
    assert!((40..100).contains(&lost_up), "{lost_up} lost on the way up");
}

pub(crate) const BLOATED: Bed = Bed {
    name: "calls_bloated",
    about: "20/10 Mbit/s, calls beside two streams each way, FIFOs of 200 packets: added delay is the queue's, and calls are bad \
        where the link's log has many of their packets late or lost.",
    runs: Runs::SideBySide,
    run: |rows| {
        let bad = calls_under_load(rows, "{ discipline = \"pfifo\", limit = \"200p\" }", MANY_MISSING, 0.0..=3.0);
        // Two streams whose acknowledgments wait in the other direction may leave a queue short now and then, never both.
        rows.between("R34", "directions in which many packets were missing", Some(bad as f64), "by the log", 1.0..=2.0);
    },
};

pub(crate) const MANAGED: Bed = Bed {
    name: "calls_managed",
    about: "The same with fq_codel: calls stay good.",
    runs: Runs::SideBySide,
    run: |rows| {
        calls_under_load(rows, "\"fq_codel\"", 0.0, 4.0..=5.0);
    },
};

/// The share of packets that are lost, or late by the specification's limit, from which on calls must be bad: with losses hidden as G.711
/// can (ITU-T G.113), two fifths make R 35, a score of 1.8, before any delay counts.
const MANY_MISSING: f64 = 0.4;
/// What waits longer than this is too late to be played, ns.
const LATE: u64 = 30_000_000;

/// Scores are checked in directions in which the link lost or delayed at least this share of a call's packets; how many these
/// are.
fn calls_under_load(rows: &mut Rows, queue: &str, least: f64, expected: std::ops::RangeInclusive<f64>) -> usize {
    let link = format!(
        "rtt = \"20ms\"\n[up]\nrate = \"10Mbit/s\"\nqueue = {queue}\n[down]\nrate = \"20Mbit/s\"\nqueue = {queue}\n"
    );
    let measured = Setting::new(link, format!("{VOICE}{LOAD}")).both_families().measure();
    let window = measured.scored();
    let mut checked = BTreeSet::new();
    for flow in &voice(&measured).flows {
        let spec = measured.recording.flow(flow.flow.id).unwrap();
        let missing = added_delay_is_the_links(rows, &measured, spec, flow, &window);
        if missing >= least {
            checked.extend(spec.direction);
        }
        let idle = flow.idle.and_then(|idle| idle.mos_plc);
        rows.between("R34", format!("{}: opinion score, idle", spec.name), idle, "over 4.3", 4.3..=5.0);
    }
    for class in voice(&measured).classes.iter().filter(|class| checked.contains(&class.direction)) {
        let score = class.load.and_then(|load| load.mos_plc);
        let what = format!("{} {}: opinion score under load", class.class, class.direction);
        rows.between("R34", what, score, "as the queue is", expected.clone());
    }
    checked.len()
}

/// The queueing of this stream's packets under load against the link's own account of the same packets; the share of them
/// that were lost or late.
fn added_delay_is_the_links(
    rows: &mut Rows,
    measured: &Measured,
    spec: &FlowSpec,
    flow: &VoipFlow,
    window: &Range<LabTime>,
) -> f64 {
    let arrived: Vec<&Record> = records(measured, spec).filter(|record| window.contains(&record.arrival)).collect();
    let mut queued: Vec<u64> =
        arrived.iter().filter(|one| one.fate == Fate::Delivered).map(|one| one.queueing_delay).collect();
    queued.sort_unstable();
    let truth = percentile(&queued, 50.0).unwrap() as f64 / 1e6;
    let added = flow.added.and_then(|added| added.one_way_delay_p50_ns).map(|added| added as f64 / 1e6);
    // The median with losses as infinitely late lies a little above that of what was delivered.
    let allowed = (truth * 0.05).max(1.5);
    rows.near("R34", format!("{}: delay added at the median, ms", spec.name), added, truth, allowed);
    let in_time = queued.partition_point(|wait| *wait <= LATE);
    1.0 - in_time as f64 / arrived.len() as f64
}

pub(crate) const SCHEDULES: Bed = Bed {
    name: "voice_schedules",
    about: "10/2, 20/8 and 100/40 Mbit/s: the line's rate is found, and where six streams would take too much of it they take turns.",
    runs: Runs::SideBySide,
    run: schedules,
};

fn schedules(rows: &mut Rows) {
    let plan = VOICE.replace("schedule = \"full\"\n", "").replace("2s", "600ms").replace("6s", "600ms");
    // Megabits a second down and up, and what then is sent: everything but the load may take 5 % of it, 10 % below
    // 5 Mbit/s. Two probe flows are on their way, too, so that 2 Mbit/s do not bear even one stream all the time.
    for (down, up, schedule_down, schedule_up) in
        [(10, 2, "classes", "one"), (20, 8, "full", "classes"), (100, 40, "full", "full")]
    {
        let link = format!("rtt = \"18ms\"\n[up]\nrate = \"{up}Mbit/s\"\n[down]\nrate = \"{down}Mbit/s\"\n");
        let measured = Setting::new(link, &*plan).both_families().measure();
        let line = measured.recording.header.line_rate.unwrap();
        for (direction, truth, schedule) in [(Direction::Down, down, schedule_down), (Direction::Up, up, schedule_up)] {
            let name = format!("{down}/{up} Mbit/s {direction}: ");
            let rate = line.direction(direction).map(BitRate::megabits);
            let truth = f64::from(truth);
            rows.near("R25", format!("{name}rate of the line, Mbit/s"), rate, truth, truth * 0.1);
            let flows = &measured.recording.header.flows;
            let flows: Vec<&FlowSpec> =
                flows.iter().filter(|flow| flow.flow_type == "voip" && flow.direction == Some(direction)).collect();
            let as_planned = flows.iter().all(|flow| flow.parameters.text("schedule") == Some(schedule));
            rows.holds("R25", format!("{name}schedule of calls"), schedule, format!("{flows:?}"), as_planned);
            // How many packets a second all streams of the direction send together: six streams, two, or one.
            let sent: usize = flows.iter().map(|flow| records(&measured, flow).count()).sum();
            let streams = match schedule {
                "full" => 6,
                "classes" => 2,
                _ => 1,
            };
            let due = f64::from(streams * 470);
            // Each turn may hold a packet more, as its edges fall between two; alone a stream makes pauses.
            let due = if streams == 1 { due * 0.5..=due * 0.8 } else { due * 0.8..=due + 24.0 };
            let what = format!("{name}packets of calls");
            rows.between("R33", what, Some(sent as f64), format!("{streams} streams"), due);
        }
    }
}
