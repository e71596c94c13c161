//! Look-ups of names, held against what the link did to each question and answer.

use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rrul_analysis::Analysis;
use rrul_analysis::metrics::web::name_lookups::LookupStatistics;
use rrul_engine::client::Families;
use rrul_engine::server::ServerOptions;
use rrul_lab::{Lab, Link, Record};
use rrul_model::flow::Direction;
use rrul_model::observation::{NameLookup, ObservationPoint};
use rrul_model::units::Delay;

use crate::MILLISECOND;
use crate::over_a_link::{Measured, measure_beside, measure_over};

const UDP: u8 = 17;

/// The class of look-ups, which nothing else has.
const AF41: u8 = 34 << 2;

const ROUND_TRIP: f64 = 20.0;

/// Look-ups in a class of their own beside probes, and time for the last of them to be waited for.
const PLAN: &str = r#"
title = "names"
overhead = "none"
phases = { idle = "6s", after = "6s" }
[flow.dns]
type = "dns_lookup"
component = "realtime"
during = ["idle"]
class = "AF41"
interval = "100ms"
[flow.probe]
type = "udp_probe"
component = "realtime"
"#;

/// A link of 20 ms that does this to look-ups alone, on the way down.
fn link(to_look_ups: &str) -> Link {
    let text = format!(
        "# A link of the test\nrtt = \"{ROUND_TRIP}ms\"\n[up]\nrate = \"50Mbit/s\"\n[down]\nrate = \"50Mbit/s\"\n\
         only = {{ class = \"AF41\" }}\n{to_look_ups}\n"
    );
    Link::from_toml("names.toml", &text).expect("a link file")
}

fn measure(to_look_ups: &str) -> (Measured, Analysis) {
    let measured = measure_over(&link(to_look_ups), PLAN, Families::Both, "names");
    let analysis = rrul_analysis::analyze(&measured.recording);
    (measured, analysis)
}

fn rows(measured: &Measured) -> Vec<NameLookup> {
    let client = measured.recording.tables_of(ObservationPoint::Client);
    client.flat_map(|tables| tables.name_lookup.rows()).collect()
}

fn packets(measured: &Measured, direction: Direction) -> impl Iterator<Item = &Record> {
    measured.truth.direction(direction).records().filter(|record| record.protocol == UDP && record.tos_in == AF41)
}

/// All look-ups together.
fn pooled(analysis: &Analysis) -> impl Iterator<Item = LookupStatistics> {
    analysis.name_lookups.groups.iter().filter_map(|group| group.times.unloaded)
}

fn probes_are_untouched(analysis: &Analysis) {
    let idle = analysis.round_trip_delay.pooled.idle.expect("an idle phase");
    let p50 = idle.p50.expect("no loss").milliseconds();
    assert_eq!(idle.lost, 0, "probes lost");
    assert!((p50 - ROUND_TRIP).abs() < 0.5, "probes: {p50} ms");
}

/// Median and number of answers, against the log; every question and every answer bears the class.
fn counts_are_the_links(measured: &Measured, analysis: &Analysis) {
    let rows = rows(measured);
    let (asked, answered) = (packets(measured, Direction::Up), packets(measured, Direction::Down));
    let delivered: Vec<&Record> = answered.filter(|record| record.delivery().is_some()).collect();
    let octets: Vec<(u16, u16)> = rows.iter().map(|row| (row.question_octets, row.answer_octets)).collect();
    let headers = |records: usize, v6: usize| (28 * records + 20 * v6) as u64;
    let asked: Vec<&Record> = asked.collect();
    let v6 = |records: &[&Record]| records.iter().filter(|r| r.family.name() == "ipv6").count();
    assert_eq!(asked.len(), rows.len(), "questions in the log, and rows");
    let sum: u64 = octets.iter().map(|(question, _)| u64::from(*question)).sum();
    let truth: u64 = asked.iter().map(|record| u64::from(record.length)).sum();
    assert_eq!(sum + headers(asked.len(), v6(&asked)), truth, "octets of questions");
    let sum: u64 = octets.iter().map(|(_, answer)| u64::from(*answer)).sum();
    let truth: u64 = delivered.iter().map(|record| u64::from(record.length)).sum();
    assert_eq!(sum + headers(delivered.len(), v6(&delivered)), truth, "octets of answers");
    let told = |of: fn(&LookupStatistics) -> u64| pooled(analysis).map(|one| of(&one)).sum::<u64>() as usize;
    let counts = (told(|one| one.answered), told(|one| one.unanswered), told(|one| one.refused + one.impossible));
    eprintln!("{} asked, {} answers delivered, counted {counts:?}", asked.len(), delivered.len());
    assert_eq!(counts, (delivered.len(), rows.len() - delivered.len(), 0), "answered, unanswered, others");
    assert!(rows.len() >= 4 * 50, "{} questions", rows.len());
}

#[test]
fn answers_that_the_link_delays_or_loses_move_the_figures_of_look_ups_and_no_others() {
    rrul_lab::on_a_lab("answers_that_the_link_delays_or_loses_move_the_figures_of_look_ups_and_no_others", || {
        let (clean, analysis) = measure("");
        counts_are_the_links(&clean, &analysis);
        probes_are_untouched(&analysis);
        for one in pooled(&analysis) {
            let p50 = one.time.p50.expect("all are answered").milliseconds();
            // The lab's threads, and those of both programs, take a moment to wake.
            assert!((p50 - ROUND_TRIP).abs() < 1.0, "{p50} ms");
        }
        let (hit, analysis) = measure("loss = { every = 5 }\nreorder = { every = 1, extra_delay = \"30ms\" }");
        counts_are_the_links(&hit, &analysis);
        probes_are_untouched(&analysis);
        let share = pooled(&analysis).map(|one| one.unanswered).sum::<u64>() as f64 / rows(&hit).len() as f64;
        assert!((share - 0.2).abs() < 0.01, "{share} of the look-ups are without an answer");
        for one in pooled(&analysis) {
            let p50 = one.time.p50.expect("four in five are answered").milliseconds();
            assert!((p50 - ROUND_TRIP - 30.0).abs() < 1.0, "{p50} ms");
            assert_eq!(one.time.p90, None, "one in five is lost");
        }
        for row in rows(&hit).iter().filter(|row| row.reached == NameLookup::UNANSWERED) {
            assert!((4990.0..5200.0).contains(&row.took.milliseconds()), "waited for {:?}", row.took);
        }
    });
}

/// A resolver that never answers over IPv6, and over IPv4 says of every name that it has no such record.
fn resolvers(lab: &Lab, stop: &Arc<AtomicBool>) {
    let bind = |address: &'static str| lab.server().run(move || UdpSocket::bind(address)).expect("a thread");
    let answering = bind("10.78.0.2:53").expect("port 53");
    let silent = bind("[fd78::2]:53").expect("port 53");
    answering.set_read_timeout(Some(Duration::from_millis(50))).expect("a time-out");
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

#[test]
fn a_resolver_that_never_answers_is_waited_for_and_the_test_goes_on() {
    rrul_lab::on_a_lab("a_resolver_that_never_answers_is_waited_for_and_the_test_goes_on", || {
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
        let beside = move |lab: &Lab| resolvers(lab, &stop);
        let measured = measure_beside(ServerOptions::default(), &link(""), plan, Families::Both, "resolvers", beside);
        stopped.store(true, Ordering::Relaxed);
        let analysis = rrul_analysis::analyze(&measured.recording);
        assert!(analysis.failed_flows.is_empty() && analysis.test.partial.is_none(), "{:?}", analysis.failed_flows);
        for group in &analysis.name_lookups.groups {
            let found = group.times.unloaded.expect("there were some");
            // Every 500 ms of 2 s.
            assert!((3..=4).contains(&found.time.n), "{:?}: {}", group.kind, found.time.n);
            let expected = if group.kind.resolver == "fd78::2" { (0, found.time.n) } else { (found.time.n, 0) };
            assert_eq!((found.answered, found.unanswered), expected, "{:?}", group.kind);
        }
        assert_eq!(analysis.name_lookups.groups.len(), 6);
        let waited = rows(&measured).into_iter().filter(|row| row.reached == NameLookup::UNANSWERED);
        let waited: Vec<Delay> = waited.map(|row| row.took).collect();
        assert!(waited.iter().all(|took| (4990.0..5200.0).contains(&(took.0 as f64 / MILLISECOND))), "{waited:?}");
    });
}
