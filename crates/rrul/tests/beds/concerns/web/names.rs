//! Lookups of names, held against what the link did to each question and answer.

use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rrul_analysis::metrics::web::name_lookups::LookupStatistics;
use rrul_lab::{Lab, Record};
use rrul_model::flow::{AddressFamily, Direction};
use rrul_model::observation::{NameLookup, ObservationPoint};
use rrul_model::units::Delay;

use crate::journal::UDP;
use crate::plans::plan;
use crate::rows::Rows;
use crate::setting::{Measured, Setting};
use crate::{Bed, Runs};

/// The class of lookups, which nothing else has.
const AF41: u8 = 34 << 2;

const ROUND_TRIP: f64 = 20.0;

/// A link of 20 ms that does this to lookups alone, on the way down.
fn link(to_look_ups: &str) -> String {
    format!(
        "rtt = \"{ROUND_TRIP}ms\"\n[up]\nrate = \"50Mbit/s\"\n[down]\nrate = \"50Mbit/s\"\n\
         only = {{ class = \"AF41\" }}\n{to_look_ups}\n"
    )
}

/// Lookups in a class of their own beside probes, and time for the last of them to be waited for.
fn measure(to_look_ups: &str) -> Measured {
    let flows = [("dns_lookup", "during = [\"idle\"]\nclass = \"AF41\"\ninterval = \"100ms\""), ("udp_probe", "")];
    let plan = plan("idle = \"6s\", after = \"6s\"", &flows);
    Setting::new(link(to_look_ups), plan).both_families().measure()
}

fn look_ups(measured: &Measured) -> Vec<NameLookup> {
    let client = measured.recording.tables_of(ObservationPoint::Client);
    client.flat_map(|tables| tables.name_lookup.rows()).collect()
}

fn packets(measured: &Measured, direction: Direction) -> impl Iterator<Item = &Record> {
    measured.truth.direction(direction).records().filter(|record| record.protocol == UDP && record.tos_in == AF41)
}

/// All lookups together.
fn pooled(measured: &Measured) -> Vec<LookupStatistics> {
    measured.analysis.name_lookups.groups.iter().filter_map(|group| group.times.unloaded).collect()
}

fn probes_are_untouched(rows: &mut Rows, measured: &Measured) {
    let idle = measured.analysis.round_trip_delay.pooled.idle.unwrap();
    rows.equal("R20", "probes lost", idle.lost, 0);
    rows.near("R20", "round trip of probes P50, ms", idle.p50.map(Delay::milliseconds), ROUND_TRIP, 0.5);
}

/// Number and bytes of questions and answers against the log; every question and every answer bears the class.
fn counts_are_the_links(rows: &mut Rows, measured: &Measured) {
    let look_ups = look_ups(measured);
    let asked: Vec<&Record> = packets(measured, Direction::Up).collect();
    let answers: Vec<&Record> =
        packets(measured, Direction::Down).filter(|record| record.delivery().is_some()).collect();
    assert!(look_ups.len() >= 4 * 50, "{} questions", look_ups.len());
    rows.equal("R20", "questions", look_ups.len(), asked.len());
    let length = |records: &[&Record]| records.iter().map(|record| u64::from(record.length)).sum::<u64>();
    let headers = |records: &[&Record]| {
        let v6 = records.iter().filter(|record| record.family == AddressFamily::Ipv6).count();
        (28 * records.len() + 20 * v6) as u64
    };
    let questions: u64 = look_ups.iter().map(|row| u64::from(row.question_octets)).sum();
    rows.equal("R20", "bytes of questions", questions + headers(&asked), length(&asked));
    let answered: u64 = look_ups.iter().map(|row| u64::from(row.answer_octets)).sum();
    rows.equal("R20", "bytes of answers", answered + headers(&answers), length(&answers));
    let told = |of: fn(&LookupStatistics) -> u64| pooled(measured).iter().map(of).sum::<u64>() as usize;
    let counts = [told(|one| one.answered), told(|one| one.unanswered), told(|one| one.refused + one.impossible)];
    let truth = [answers.len(), look_ups.len() - answers.len(), 0];
    rows.equal("R20", "answered, unanswered, others", format!("{counts:?}"), format!("{truth:?}"));
}

/// Waited for as long as the kind of lookup says, 5 s.
fn unanswered_are_waited_for(rows: &mut Rows, measured: &Measured) {
    let unanswered = look_ups(measured).into_iter().filter(|row| row.reached == NameLookup::UNANSWERED);
    let mut waited: Vec<f64> = unanswered.map(|row| row.took.milliseconds()).collect();
    waited.sort_by(f64::total_cmp);
    rows.between("R20", "least time that was waited, ms", waited.first().copied(), 5000, 4990.0..=5200.0);
    rows.between("R20", "most time that was waited, ms", waited.last().copied(), 5000, 4990.0..=5200.0);
}

pub(crate) const CLEAN: Bed = Bed {
    name: "names",
    about: "50/50 Mbit/s, 20 ms: lookups of names of every kind, both families, against the questions and answers in the log.",
    runs: Runs::SideBySide,
    run: |rows| {
        let measured = measure("");
        counts_are_the_links(rows, &measured);
        probes_are_untouched(rows, &measured);
        for one in pooled(&measured) {
            // The lab's threads, and those of both programs, take a moment to wake.
            rows.near("R20", "lookup time P50, ms", one.time.p50.map(Delay::milliseconds), ROUND_TRIP, 1.0);
        }
    },
};

pub(crate) const HIT: Bed = Bed {
    name: "names_hit",
    about: "The same, and the link loses every fifth answer and delays the others by 30 ms: figures of lookups move, and no others.",
    runs: Runs::SideBySide,
    run: |rows| {
        let measured = measure("loss = { every = 5 }\nreorder = { every = 1, extra_delay = \"30ms\" }");
        counts_are_the_links(rows, &measured);
        probes_are_untouched(rows, &measured);
        let unanswered = pooled(&measured).iter().map(|one| one.unanswered).sum::<u64>() as f64;
        let share = unanswered / look_ups(&measured).len() as f64;
        rows.near("R20", "share without an answer", Some(share), 0.2, 0.01);
        for one in pooled(&measured) {
            let p50 = one.time.p50.map(Delay::milliseconds);
            rows.near("R20", "lookup time P50, ms", p50, ROUND_TRIP + 30.0, 1.0);
            rows.holds("R20", "lookup time P90", "lost", format!("{:?}", one.time.p90), one.time.p90.is_none());
        }
        unanswered_are_waited_for(rows, &measured);
    },
};

/// A resolver that never answers over IPv6, and over IPv4 says of every name that it has no such record.
fn resolvers(lab: &Lab, stop: &Arc<AtomicBool>) {
    let bind = |address: &'static str| lab.server().run(move || UdpSocket::bind(address)).unwrap();
    let answering = bind("10.78.0.2:53").unwrap();
    let silent = bind("[fd78::2]:53").unwrap();
    answering.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    let stop = Arc::clone(stop);
    std::thread::spawn(move || {
        let mut octets = [0; 512];
        while !stop.load(Ordering::Relaxed) {
            let Ok((length, from)) = answering.recv_from(&mut octets) else { continue };
            octets[2] |= 0x80;
            let _ = answering.send_to(&octets[..length], from);
        }
        drop(silent);
    });
}

pub(crate) const RESOLVERS: Bed = Bed {
    name: "resolvers",
    about: "A resolver that never answers over IPv6 and one that answers over IPv4: the silent one is waited for, and the test goes on.",
    runs: Runs::SideBySide,
    run: silent_resolver,
};

fn silent_resolver(rows: &mut Rows) {
    let plan = r#"
title = "resolvers"
overhead = "none"
phases = { idle = "2s", after = "6s" }
[flow.four]
type = "dns_lookup"
component = "realtime"
during = ["idle"]
family = "ipv4"
resolver = "10.78.0.2"
each.names = ["cached", "uncached"]
name = "www.example"
[flow.six]
type = "dns_lookup"
component = "realtime"
during = ["idle"]
family = "ipv6"
resolver = "fd78::2"
[flow.probe]
type = "udp_probe"
component = "realtime"
"#;
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let setting = Setting::new(link(""), plan).both_families();
    let measured = setting.beside(move |lab| resolvers(lab, &stopped)).measure();
    stop.store(true, Ordering::Relaxed);
    let analysis = &measured.analysis;
    assert!(analysis.failed_flows.is_empty() && analysis.test.partial.is_none(), "{:?}", analysis.failed_flows);
    for group in &analysis.name_lookups.groups {
        let found = group.times.unloaded.unwrap();
        // Every 500 ms of 2 s.
        assert!((3..=4).contains(&found.time.n), "{:?}: {}", group.kind, found.time.n);
        let expected = if group.kind.resolver == "fd78::2" { (0, found.time.n) } else { (found.time.n, 0) };
        let told = (found.answered, found.unanswered);
        let what = format!("{:?}: answered, unanswered", group.kind);
        rows.holds("R20", what, format!("{expected:?}"), format!("{told:?}"), told == expected);
    }
    rows.equal("R20", "kinds of lookups", analysis.name_lookups.groups.len(), 6);
    unanswered_are_waited_for(rows, &measured);
}
