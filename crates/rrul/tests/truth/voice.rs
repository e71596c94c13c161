//! Voice streams, held against what the link did to each of their packets.

use rrul_analysis::metrics::voice::voip::{Voip, VoipFlow};
use rrul_analysis::metrics::voice::voip_quality::VoipQuality;
use rrul_engine::client::Families;
use rrul_lab::{Fate, LabTime, Link, Record, percentile};
use rrul_model::flow::{AddressFamily, Direction, FlowSpec};

use crate::link_log::on_the_links_clock;
use crate::over_a_link::{Measured, measure_over};

const UDP: u8 = 17;

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

/// Runs a plan over a link, both families.
fn measure(link: &str, plan: &str) -> Measured {
    let link = Link::from_toml("voice.toml", &format!("# A link of the test\n{link}")).expect("a link file");
    measure_over(&link, plan, Families::Both, "voice")
}

fn voice(measured: &Measured) -> Voip {
    rrul_analysis::analyze(&measured.recording).measured.voip.expect("the plan has voice")
}

/// The link's records of a stream's packets: of its class, and of the length of voice in its family.
fn records<'a>(measured: &'a Measured, flow: &'a FlowSpec) -> impl Iterator<Item = &'a Record> {
    let length = match flow.family {
        AddressFamily::Ipv4 => 120,
        AddressFamily::Ipv6 => 140,
    };
    let direction = measured.truth.direction(flow.direction.expect("voice has a direction"));
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

#[test]
fn every_packet_lost_on_the_way_up_is_counted_and_none_on_the_way_down() {
    rrul_lab::on_a_lab("every_packet_lost_on_the_way_up_is_counted_and_none_on_the_way_down", || {
        let link = "rtt = \"20ms\"\n[up]\nrate = \"50Mbit/s\"\nloss = \"1%\"\nonly = { protocol = \"udp\" }\n\
                [down]\nrate = \"50Mbit/s\"\n";
        let measured = measure(link, VOICE);
        let voice = voice(&measured);
        assert_eq!(voice.flows.len(), 2 * 3 * 2);
        let mut lost_up = 0;
        for flow in &voice.flows {
            let spec = measured.recording.flow(flow.flow.id).expect("it is in the plan");
            let total = |of: fn(&VoipQuality) -> u64| phases(flow).map(of).sum::<u64>();
            let sent = records(&measured, spec).count() as u64;
            let lost = records(&measured, spec).filter(|record| record.fate != Fate::Delivered).count() as u64;
            eprintln!(
                "{}: link {lost} of {sent} lost, measured {} of {}",
                spec.name,
                total(|q| q.lost),
                total(|q| q.sent)
            );
            assert_eq!((total(|q| q.sent), total(|q| q.lost)), (sent, lost), "{}: sent and lost", spec.name);
            assert_eq!((total(|q| q.duplicates), total(|q| q.reordered)), (0, 0), "{}", spec.name);
            // 11.5 s at 10 ms, less what a busy machine left out.
            assert!((1000..=1150).contains(&sent), "{}: {sent} packets", spec.name);
            match spec.direction {
                Some(Direction::Up) => lost_up += lost,
                _ => assert_eq!(lost, 0, "{}: the link loses nothing on the way down", spec.name),
            }
        }
        // 1 % of some 6900: the seed settles how many.
        assert!((40..100).contains(&lost_up), "{lost_up} lost on the way up");
    });
}

#[test]
fn a_bloated_line_spoils_calls_and_a_managed_one_does_not() {
    rrul_lab::on_a_lab("a_bloated_line_spoils_calls_and_a_managed_one_does_not", || {
        let scores = ["{ discipline = \"pfifo\", limit = \"200p\" }", "\"fq_codel\""].map(|queue| {
        let link = format!(
            "rtt = \"20ms\"\n[up]\nrate = \"10Mbit/s\"\nqueue = {queue}\n[down]\nrate = \"20Mbit/s\"\nqueue = {queue}\n"
        );
        let measured = measure(&link, &format!("{VOICE}{LOAD}"));
        let analysis = rrul_analysis::analyze(&measured.recording);
        let window = on_the_links_clock(&measured.recording, analysis.scored.common.expect("both ways are loaded"));
        let voice = analysis.measured.voip.expect("the plan has voice");
        for flow in &voice.flows {
            let spec = measured.recording.flow(flow.flow.id).expect("it is in the plan");
            delay_is_the_links(&measured, spec, flow, &window);
            let idle = flow.idle.expect("an idle phase");
            assert!(idle.mos_plc > Some(4.3), "{queue} {}: idle {:?}", spec.name, idle.mos_plc);
        }
        let load = |class: &rrul_analysis::metrics::voice::voip::VoipClass| class.load.expect("a load phase").mos_plc;
        voice.classes.iter().map(|class| load(class).expect("the clocks are matched")).collect::<Vec<f64>>()
    });
        let [bloated, managed] = scores;
        eprintln!("opinion scores under load: pfifo {bloated:?}, fq_codel {managed:?}");
        assert!(managed.iter().all(|score| *score > 4.0), "fq_codel: {managed:?}");
        assert!(bloated.iter().all(|score| *score < 3.0), "pfifo: {bloated:?}");
    });
}

/// The queueing of this stream's packets under load against the link's own account of the same packets.
fn delay_is_the_links(measured: &Measured, spec: &FlowSpec, flow: &VoipFlow, window: &std::ops::Range<LabTime>) {
    let delivered = records(measured, spec).filter(|record| window.contains(&record.arrival));
    let mut queued: Vec<u64> =
        delivered.filter(|one| one.fate == Fate::Delivered).map(|one| one.queueing_delay).collect();
    queued.sort_unstable();
    let truth = percentile(&queued, 50.0).expect("packets under load") as f64 / 1e6;
    let added = flow.added.and_then(|added| added.one_way_delay_p50_ns).expect("known in both phases") as f64 / 1e6;
    let allowed = (truth * 0.05).max(1.5);
    eprintln!("{}: delay added at the median {added:.2} ms, queueing of the link {truth:.2} ms", spec.name);
    // The median with losses as infinitely late lies a little above that of what was delivered.
    assert!((added - truth).abs() <= allowed, "{}: added {added:.2} ms, link {truth:.2} ms", spec.name);
}

#[test]
fn a_slow_line_is_recognised_and_its_streams_take_turns() {
    rrul_lab::on_a_lab("a_slow_line_is_recognised_and_its_streams_take_turns", || {
        let plan = VOICE.replace("schedule = \"full\"\n", "").replace("2s", "600ms").replace("6s", "600ms");
        // Megabits a second down and up, and what then is sent: everything but the load may take 5 % of it, 10 % below
        // 5 Mbit/s. Two probe flows are on their way, too, so that 2 Mbit/s do not bear even one stream all the time.
        for (down, up, schedule_down, schedule_up) in
            [(10, 2, "classes", "one"), (20, 8, "full", "classes"), (100, 40, "full", "full")]
        {
            let link = format!("rtt = \"18ms\"\n[up]\nrate = \"{up}Mbit/s\"\n[down]\nrate = \"{down}Mbit/s\"\n");
            let measured = measure(&link, &plan);
            let line = measured.recording.header.line_rate.expect("the train came back");
            for (direction, truth, schedule) in
                [(Direction::Down, down, schedule_down), (Direction::Up, up, schedule_up)]
            {
                let told = line.of(direction).expect("both ways are told").megabits();
                eprintln!("{direction}: link {truth} Mbit/s, train {told:.2} Mbit/s, {schedule}");
                assert!(
                    (told / f64::from(truth) - 1.0).abs() < 0.1,
                    "{direction}: {told:.2} instead of {truth} Mbit/s"
                );
                let flows = &measured.recording.header.flows;
                let flows: Vec<&FlowSpec> =
                    flows.iter().filter(|flow| flow.flow_type == "voip" && flow.direction == Some(direction)).collect();
                assert!(flows.iter().all(|flow| flow.parameters.text("schedule") == Some(schedule)), "{flows:?}");
                // How many packets a second all streams of the direction send together: six streams, two, or one.
                let sent: usize = flows.iter().map(|flow| records(&measured, flow).count()).sum();
                let streams = match schedule {
                    "full" => 6,
                    "classes" => 2,
                    _ => 1,
                };
                let due = streams * 470;
                // Each turn may hold a packet more, as its edges fall between two; alone a stream makes pauses.
                let due = if streams == 1 { due * 5 / 10..=due * 8 / 10 } else { due * 8 / 10..=due + 24 };
                assert!(due.contains(&sent), "{direction}: {sent} packets, {due:?} are due");
            }
        }
    });
}
