//! From recordings to rows.

use std::collections::BTreeMap;

use rrul_analysis::analyze;
use rrul_archive::sketch::{LOST, middle_of};
use rrul_archive::{Labels, RunRows};
use rrul_model::phase::Phase;

use crate::recordings::recording;

const PLANS: [&str; 1] = ["quick"];

#[test]
fn percentiles_of_the_headline_sketches_are_those_of_the_summary() {
    let recording = recording("before.rrul");
    let analysis = analyze(&recording);
    let rows = RunRows::new(&recording, &analysis, &Labels::default(), &PLANS).unwrap();
    for phase in [Phase::Idle, Phase::Load, Phase::After] {
        let Some(exact) = analysis.round_trip_delay.pooled.phase(phase) else { continue };
        let mut bins: BTreeMap<i64, i64> = BTreeMap::new();
        for row in &rows.delays {
            let ours = row.kind.as_deref() == Some("round_trip") && row.headline == Some(1);
            if ours && row.phase.as_deref() == Some(phase.name()) {
                *bins.entry(row.bin.unwrap()).or_default() += row.n.unwrap();
            }
        }
        let total: i64 = bins.values().sum();
        assert_eq!(total as u64, exact.n, "{phase}: packets");
        assert_eq!(bins.get(&LOST).copied().unwrap_or(0) as u64, exact.lost, "{phase}: lost packets");
        for (place, known) in [(500, exact.p50), (950, exact.p95), (990, exact.p99)] {
            let mut reached = 0;
            let bin = bins.iter().find_map(|(bin, n)| {
                reached += n;
                (reached * 1000 >= total * place).then_some(*bin)
            });
            match (known, middle_of(bin.unwrap())) {
                (Some(known), Some(found)) => {
                    let error = (found / known.0 as f64 - 1.0).abs();
                    assert!(error <= 0.011, "{phase}: P{place} {found} for {known}, {error} off");
                }
                (known, found) => assert_eq!(known.is_none(), found.is_none(), "{phase}: P{place}"),
            }
        }
    }
}

#[test]
fn seconds_have_every_packet_and_every_byte_and_are_there_on_request() {
    let recording = recording("before.rrul");
    let analysis = analyze(&recording);
    let rows = RunRows::new(&recording, &analysis, &Labels::default(), &PLANS).unwrap();
    assert!(rows.seconds.is_empty() && rows.run.second_rows == Some(0));
    let rows = rows.with_seconds(&recording, &analysis);
    assert_eq!(rows.run.second_rows, Some(rows.seconds.len() as i64));
    let of = |name: &str| rows.seconds.iter().filter(move |row| row.flow.as_deref() == Some(name)).collect::<Vec<_>>();
    for flow in &rows.flows {
        let name = flow.flow.as_deref().unwrap();
        let seconds = of(name);
        assert!(seconds.windows(2).all(|pair| pair[0].second < pair[1].second), "{name}: in order, each once");
        if let Some(octets) = flow.octets {
            let loaded = seconds.iter().filter(|row| matches!(row.phase.as_deref(), Some("load" | "unscored")));
            let sum = loaded.filter_map(|row| row.goodput_bps).sum::<i64>() as f64 / 8.0;
            // The first and the last second have less than a second of the stream.
            assert!((sum / octets as f64 - 1.0).abs() < 0.1, "{name}: {sum} of {octets} bytes");
            assert!(seconds.len() >= 5 && seconds.iter().all(|row| row.packets.is_none()), "{name}");
        } else {
            let sent: i64 =
                rows.flows.iter().filter(|other| other.flow == flow.flow).filter_map(|row| row.packets).sum();
            let lost: i64 = rows.flows.iter().filter(|other| other.flow == flow.flow).filter_map(|row| row.lost).sum();
            let within = |row: &&&rrul_archive::tables::SecondRow| row.phase.is_some();
            let sum = |of: fn(&rrul_archive::tables::SecondRow) -> Option<i64>| -> i64 {
                seconds.iter().filter(within).filter_map(|row| of(row)).sum()
            };
            let (packets, gone) = (sum(|row| row.packets), sum(|row| row.lost));
            // Seconds in which a phase begins or ends are counted whole.
            assert!((packets - sent).abs() <= sent / 10, "{name}: {packets} of {sent} packets");
            assert!((gone - lost).abs() <= lost / 10 + 2, "{name}: {gone} of {lost} lost");
        }
    }
}

#[test]
fn a_row_says_what_the_summary_says() {
    let recording = recording("after.rrul");
    let analysis = analyze(&recording);
    let labels = Labels { asn: Some(64_496), isp: Some("Example Net".parse().unwrap()), ..Labels::default() };
    let rows = RunRows::new(&recording, &analysis, &labels, &PLANS).unwrap();
    let run = &rows.run;
    assert_eq!((run.asn, run.isp.as_deref(), run.plan.as_deref()), (Some(64_496), Some("Example Net"), Some("quick")));
    assert_eq!(run.tool.as_deref(), Some("rrul"));
    assert_eq!(run.goodput_down_bps, Some(analysis.goodput.down.sum.0 as i64));
    assert_eq!(run.load_p95_ns, analysis.round_trip_delay.pooled.load.unwrap().p95.map(|delay| delay.0));
    assert_eq!(run.bufferbloat.as_deref(), analysis.scores.bufferbloat.map(|score| score.letter.name()));
    assert_eq!(run.flow_rows, Some(rows.flows.len() as i64));
    assert_eq!(run.delay_rows, Some(rows.delays.len() as i64));
    assert!(rows.date.starts_with("2026-") && rows.site.as_str() == "unknown", "{} {:?}", rows.date, rows.site);
    assert!(rows.flows.iter().all(|row| row.flow.is_some()), "{:?}", rows.flows);
    let streams = rows.flows.iter().filter(|row| row.octets.is_some());
    let octets: i64 =
        streams.clone().filter(|row| row.direction.as_deref() == Some("down")).filter_map(|row| row.octets).sum();
    assert_eq!(octets as u64, analysis.goodput.down.octets.0);
    let summary: serde_json::Value = serde_json::from_str(run.summary.as_deref().unwrap()).unwrap();
    assert_eq!(summary["format"], "rrul-summary/1");
    assert_eq!(summary["goodput"]["down"]["sum_bps"], analysis.goodput.down.sum.0);
}

#[test]
fn a_run_has_one_name_and_others_have_others() {
    let (before, after) = (recording("before.rrul"), recording("after.rrul"));
    let id = |recording| {
        let rows = RunRows::new(recording, &analyze(recording), &Labels::default(), &[]).unwrap();
        rows.run_id().to_owned()
    };
    assert_eq!(id(&before), id(&before));
    assert_ne!(id(&before), id(&after));
    // Who measured is no part of it.
    let mut renamed = before.clone();
    renamed.header.server_name = "another.example".to_owned();
    renamed.header.title = "another".to_owned();
    assert_eq!(id(&before), id(&renamed));
    assert_eq!(id(&before).len(), 32);
}

#[test]
fn a_recording_without_a_date_has_no_rows() {
    let mut recording = recording("before.rrul");
    recording.header.created = "yesterday".to_owned();
    let error = RunRows::new(&recording, &analyze(&recording), &Labels::default(), &[]).unwrap_err();
    assert!(error.to_string().contains("no date"), "{error}");
}
