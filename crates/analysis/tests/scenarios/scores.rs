//! Scores of lines whose every packet is known.

use std::time::Duration;

use rrul_analysis::scored::{Distance, Scores};
use rrul_analysis::scores::bufferbloat::Letter;
use rrul_analysis::scores::equalizer::Equalizer;
use rrul_analysis::scores::optimum::{Goal, State};
use rrul_analysis::scores::penalty::Misbehaviour;
use rrul_analysis::scores::score_cell::{Losses, ScoreCell};
use rrul_analysis::scores::verdict_text::Fault;
use rrul_model::flow::{AddressFamily, Direction, FlowId};
use rrul_model::marking::ServiceClass;
use rrul_model::observation::{Connection, PacketReceived, PageLoad, ProbeReceived, ProbeSent, WebObject};
use rrul_model::recording::AbsentFamily;
use rrul_model::time::{TestTime, Window};
use rrul_model::units::Delay;

use crate::builder::{CLOCK_OFFSET, Client, HELD, MS, SECOND, Scenario, Server, tcp_info};
use crate::connections::{attempts, connect_flow};
use crate::pages;

/// What queues add under load: to packets up and down, to a new connection, to a page, nanoseconds; and one probe of so
/// many is lost on the way up.
#[derive(Clone, Copy)]
struct Line {
    base: i64,
    up: i64,
    down: i64,
    page: i64,
    one_lost_in: u32,
}

const QUIET: Line = Line { base: 20 * MS, up: 0, down: 0, page: 0, one_lost_in: u32::MAX };
const BLOATED: Line = Line { up: 200 * MS, page: 2 * SECOND, one_lost_in: 50, ..QUIET };

fn loaded(at: i64) -> bool {
    Scenario::LOAD.contains(TestTime(at))
}

/// Probes, new connections and a page in best effort and expedited forwarding, streams of four classes each way.
fn scenario(line: Line) -> Scenario {
    let mut scenario = Scenario::new();
    let family = AddressFamily::Ipv4;
    for class in [ServiceClass::BE, ServiceClass::EF] {
        let probe = scenario.udp_probe(family);
        scenario.recording.header.flows.last_mut().unwrap().class = class;
        probes(&mut scenario, probe, line);
        let connect = connect_flow(&mut scenario, class, family);
        attempts(&mut scenario, connect, |at| {
            let queues = if loaded(at) { line.up + line.down } else { 0 };
            (Connection::ANSWERED, line.base + queues, 0)
        });
    }
    let page = scenario.page(ServiceClass::BE, family);
    for (load, at) in [(0, 1), (1, 2), (2, 3), (3, 11), (4, 12), (5, 13)] {
        let added = if loaded(at * SECOND) { line.page } else { 0 };
        scenario.load(page, load, at * SECOND, SECOND + added, PageLoad::COMPLETE);
    }
    for direction in Direction::ALL {
        for class in [ServiceClass::BE, ServiceClass::BK, ServiceClass::CS5, ServiceClass::EF] {
            let flow = scenario.bulk(direction);
            scenario.recording.header.flows.last_mut().unwrap().class = class;
            scenario.stream(flow, 5_000_000);
            let sender = if direction == Direction::Up { Client } else { Server };
            for second in 5..15 {
                let rtt = ((line.base + line.up + line.down) / 1000) as u32;
                let at = second * SECOND;
                scenario.observe(sender, at, rrul_model::observation::TcpInfo { rtt, ..tcp_info(flow, at) });
            }
        }
    }
    scenario
}

/// A probe every 20 ms, half of the base each way, its arrival reported by the server.
fn probes(scenario: &mut Scenario, flow: rrul_model::flow::FlowId, line: Line) {
    let octet = scenario.recording.flow(flow).unwrap().class.octet();
    for sequence in 0..1000 {
        let at = 10 * MS + i64::from(sequence) * 20 * MS;
        let sent = TestTime(at);
        scenario.observe(Client, at, ProbeSent { flow, sequence, scheduled: sent, sent });
        let (up, down) = if loaded(at) { (line.up, line.down) } else { (0, 0) };
        if loaded(at) && sequence % line.one_lost_in == 7 % line.one_lost_in {
            continue;
        }
        let arrived = at + line.base / 2 + up;
        let received = TestTime(arrived + CLOCK_OFFSET);
        scenario.observe(Server, arrived, PacketReceived { flow, sequence, received, octet });
        let back = arrived + HELD + line.base / 2 + down;
        let row = ProbeReceived {
            flow,
            sequence,
            received: TestTime(back),
            read: TestTime(back),
            reflector_received: received,
            reflector_sent: TestTime(received.0 + HELD),
            reflector_octet: octet,
            octet,
            reflector_count: sequence + 1,
        };
        scenario.observe(Client, back, row);
    }
}

fn near(found: Option<f64>, expected: f64) {
    let found = found.unwrap();
    assert!((found - expected).abs() < 0.05, "{found} instead of {expected}");
}

#[test]
fn a_line_that_the_load_does_not_change_has_everything() {
    let scores = scenario(QUIET).analyze().scores;
    let composite = scores.composite.unwrap();
    assert!((composite.total - 100.0).abs() < 1e-9, "{composite:?}");
    assert_eq!((composite.maximum_available, composite.missing.len()), (100.0, 0));
    assert_eq!(scores.web.unwrap().score, 100);
    let bufferbloat = scores.bufferbloat.unwrap();
    assert_eq!((bufferbloat.letter, bufferbloat.letter_p95), (Letter::APlus, Letter::APlus));
    assert_eq!(scores.fault, Some(Fault::None));
    // Only background, which has a quarter as every other stream, does not behave.
    let penalty = scores.penalty.unwrap();
    let items: Vec<_> = penalty.items.iter().filter(|item| item.points.unwrap() > 0.0).collect();
    assert!(items.iter().all(|item| item.what == Misbehaviour::Background) && items.len() == 2, "{items:?}");
    assert!((penalty.total - 20.0).abs() < 0.1);
}

#[test]
fn a_bloated_upload_loses_in_every_part_and_is_named() {
    let analysis = scenario(BLOATED).analyze();
    let scores = &analysis.scores;
    // 1 s and 3 s; 40 over 240; PDV 0 and 0 in the scored window, whose smallest packet waits as well; connects as delay;
    // 2 % lost one way of two.
    let composite = scores.composite.as_ref().unwrap();
    near(composite.parts.web, 20.0 / 3.0);
    near(composite.parts.delay, 20.0 * 40.0 / 240.0);
    near(composite.parts.slew, 20.0 * 40.0 / 240.0);
    near(composite.parts.delay_variation, 20.0);
    near(composite.parts.loss, 20.0 * f64::midpoint(0.5, 1.0));
    let worst = composite.cells[composite.worst_cell.unwrap()];
    assert_eq!((worst.direction, composite.cells.len()), (Direction::Up, 4));
    let letters = scores.bufferbloat.unwrap();
    assert_eq!((letters.letter, letters.dslreports_compatible), (Letter::D, Some(Letter::C)));
    assert_eq!(letters.down.unwrap().letter, Letter::APlus);
    near(letters.up.unwrap().mean_added_ms, 200.0);
    assert_eq!(scores.fault, Some(Fault::Up));
    let said = "Under load: pages take 3.0 times as long; upload latency +200 ms; upload loss 2 %.";
    assert_eq!(scores.in_words.as_deref(), Some(said));
    // tcp_f 220 ms, http_f 20 ms by the builder, http_l 220 ms: 60000/120 and 60000/220, the mean of both.
    let rpm = scores.responsiveness.unwrap();
    near(Some(rpm.foreign_rpm), 500.0);
    near(Some(rpm.loaded_rpm), 272.727);
    near(Some(rpm.rpm), 386.364);
    assert!(!rpm.with_tls);
    let optimum = scores.optimum.as_ref().unwrap();
    let state = |what, direction| {
        optimum.items.iter().find(|item| item.what == what && item.direction == Some(direction)).unwrap().state
    };
    assert_eq!(state(Goal::RealtimeLoss, Direction::Up), State::NotMet);
    assert_eq!(state(Goal::RealtimeLoss, Direction::Down), State::Met);
    assert_eq!(state(Goal::BackgroundShare, Direction::Up), State::NotMet);
    assert_eq!(state(Goal::ExpeditedShare, Direction::Up), State::Met);
    // A rise of 200 ms from 20 ms: 10 points for latency, -10 for the rise, 5 for 2 % of round trips lost.
    let gaming = scores.aim.unwrap().gaming.unwrap();
    assert_eq!((gaming.points, gaming.word), (0, "bad"), "5 + 5 - 10");
    let video = scores.qoo.iter().find(|profile| profile.profile == "video_call").unwrap();
    // 220 ms at P90 of 50 to 250; P99 falls on a loss.
    assert_eq!((video.delay, video.score), (Some(0.0), Some(0.0)));
}

#[test]
fn tls_handshakes_that_never_ended_count_as_long_as_they_were_waited_for() {
    let tls = |rows: &[WebObject]| {
        let mut scenario = scenario(QUIET);
        let page = scenario.recording.header.flows.iter().find(|flow| flow.flow_type == "web_page").unwrap().id;
        scenario.load(page, 6, 14 * SECOND, 500 * MS, PageLoad::CUT);
        for row in rows {
            scenario.observe(Client, 0, WebObject { flow: page, ..*row });
        }
        scenario.analyze().scores.responsiveness.unwrap().tls_f.map(|mean| (mean.n, mean.trimmed_mean_ms))
    };
    let (none, failed) = (WebObject::NONE, WebObject::FAILED);
    let of = |load, wanted| pages::object(FlowId(0), load, 0, wanted);
    let whole = WebObject { secure: Delay(30 * MS), ..of(3, 11 * SECOND) };
    // TCP stood, and nothing was ever sent.
    let nothing = WebObject { status: 0, protocol: 0, send: none, wait: none, receive: none, ..of(4, 12 * SECOND) };
    let broken = WebObject { outcome: failed, object: 1, ..nothing };
    let pending = WebObject { outcome: WebObject::INCOMPLETE, load: 6, wanted: TestTime(14 * SECOND), ..nothing };
    let refused = WebObject { connect: none, ..broken };
    let over_quic = WebObject { protocol: 30, ..broken };
    let reused = WebObject { connect: none, secure: none, object: 2, ..whole };
    assert_eq!(tls(&[whole, reused, refused, over_quic, pending]), Some((1, 30.0)));
    assert_eq!(tls(&[whole, broken]), Some((2, 5015.0)));
}

#[test]
fn the_other_direction_gives_the_same_scores_with_the_names_swapped() {
    let up = scenario(Line { one_lost_in: u32::MAX, ..BLOATED }).analyze().scores;
    let down = scenario(Line { up: 0, down: 200 * MS, one_lost_in: u32::MAX, ..BLOATED }).analyze().scores;
    assert!((up.composite.unwrap().total - down.composite.unwrap().total).abs() < 0.05);
    assert_eq!((up.fault, down.fault), (Some(Fault::Up), Some(Fault::Down)));
    let (up, down) = (up.bufferbloat.unwrap(), down.bufferbloat.unwrap());
    assert_eq!((up.letter, up.dslreports_compatible), (down.letter, down.dslreports_compatible));
    assert_eq!(up.up.unwrap().letter, down.down.unwrap().letter);
}

#[test]
fn a_direction_without_load_has_no_part_in_what_is_reported_of_both() {
    let mut one_way = scenario(BLOATED);
    one_way.recording.header.flows.retain(|flow| flow.direction != Some(Direction::Down));
    let scores = one_way.analyze().scores;
    let letters = scores.bufferbloat.unwrap();
    assert_eq!((letters.letter, letters.dslreports_compatible), (Letter::D, None));
    assert!(scores.qoo.iter().all(|profile| profile.rate.is_none()));
    // Nothing else is lacking, so nothing else makes it unknown.
    let mut quiet = scenario(QUIET);
    assert!(quiet.analyze().scores.qoo.iter().all(|profile| profile.score == Some(100.0)));
    quiet.recording.header.flows.retain(|flow| flow.direction != Some(Direction::Up));
    assert!(quiet.analyze().scores.qoo.iter().all(|profile| profile.score.is_none()));
}

#[test]
fn slow_connects_while_the_streams_begin_are_no_penalty() {
    let slow_connects = |until: i64| {
        let mut scenario = Scenario::healthy();
        let connect = connect_flow(&mut scenario, ServiceClass::BE, AddressFamily::Ipv4);
        attempts(&mut scenario, connect, |at| {
            let slow = loaded(at) && at < until;
            (Connection::ANSWERED, if slow { 1500 * MS } else { 20 * MS }, u8::from(slow))
        });
        let analysis = scenario.analyze();
        assert_eq!(analysis.scored.common.unwrap().from, TestTime(7 * SECOND));
        let items = analysis.scores.penalty.unwrap().items;
        items.iter().find(|item| item.what == Misbehaviour::SlowConnects).unwrap().value
    };
    assert_eq!(slow_connects(7 * SECOND), Some(0.0));
    assert_eq!(slow_connects(9 * SECOND), Some(0.25), "2 s of the 8 s that are scored");
}

#[test]
fn what_the_plan_does_not_have_is_missing_and_never_good() {
    let scores = Scenario::healthy().analyze().scores;
    assert_eq!((&scores.web, &scores.responsiveness, &scores.voip_mos), (&None, &None, &None));
    let composite = scores.composite.unwrap();
    assert_eq!(composite.missing, ["web", "slew"]);
    assert!((composite.maximum_available - 60.0).abs() < 1e-9 && composite.total <= 60.0);
    let nothing = Scenario::new().analyze().scores;
    assert_eq!((nothing.composite, nothing.penalty, nothing.bufferbloat, nothing.aim), (None, None, None, None));
    assert!(nothing.qoo.is_empty() && nothing.in_words.is_none() && nothing.fault.is_none());
}

#[test]
fn a_line_that_loses_every_probe_under_load_has_nothing_of_delay() {
    let mut scenario = Scenario::new();
    let probe = scenario.udp_probe(AddressFamily::Ipv4);
    scenario.probes(probe, |at| (!loaded(at)).then_some(20 * MS));
    let composite = scenario.analyze().scores.composite.unwrap();
    assert_eq!((composite.parts.delay, composite.parts.delay_variation), (Some(0.0), Some(0.0)));
    assert!(composite.parts.loss.unwrap() < 1e-9);
}

#[test]
fn a_direction_that_nothing_reached_is_not_taken_for_good() {
    // All is lost on the way up, by the server's own word: of the way down nothing is known.
    let composite = scenario(Line { one_lost_in: 1, ..QUIET }).analyze().scores.composite.unwrap();
    let cell = |direction| *composite.cells.iter().find(|cell| cell.direction == direction).unwrap();
    assert!(cell(Direction::Up).loss.unwrap() < 1e-9);
    assert_eq!((cell(Direction::Down).loss, cell(Direction::Down).delay_variation), (None, None));
    assert!(composite.parts.loss.unwrap() < 1e-9);
}

#[test]
fn a_server_beyond_eighty_milliseconds_is_not_scored_unless_asked_for() {
    let far = |base| scenario(Line { base, ..QUIET }).analyze();
    assert!(far(79 * MS).scores.composite.is_some());
    let analysis = far(81 * MS);
    let scores = &analysis.scores;
    let withheld = scores.withheld.as_deref().unwrap();
    assert!(withheld.contains("81.0 ms") && withheld.contains("IPv4"), "{withheld}");
    assert_eq!((&scores.composite, &scores.web, &scores.penalty), (&None, &None, &None));
    assert!(analysis.round_trip_delay.pooled.load.is_some(), "it is measured all the same");
    let asked = Scores::compute(&analysis, Distance::Any);
    assert!((asked.composite.unwrap().total - 100.0).abs() < 1e-9 && asked.withheld.is_none());
}

#[test]
fn absence_of_ipv6_is_a_penalty_only_where_it_was_asked_for() {
    let points = |scenario: &Scenario| {
        let items = scenario.analyze().scores.penalty.unwrap().items;
        items.iter().find(|item| item.what == Misbehaviour::Ipv6Absent).map(|item| item.points.unwrap())
    };
    let mut scenario = scenario(QUIET);
    assert_eq!(points(&scenario), None);
    let reason = "the server has no IPv6 address".to_owned();
    scenario.recording.header.absent_families.push(AbsentFamily { family: AddressFamily::Ipv6, reason });
    assert_eq!(points(&scenario), Some(5.0));
    scenario.recording.header.absent_families.clear();
    scenario.recording.header.families.push(AddressFamily::Ipv6);
    assert_eq!(points(&scenario), Some(0.0));
}

#[test]
fn a_window_of_the_whole_scored_load_has_the_bars_of_the_final_score() {
    let mut scenario = scenario(BLOATED);
    // Ten seconds of load behind ten of idle: windows of ten seconds from the baseline on are idle and load.
    for entry in &mut scenario.recording.header.phases {
        if entry.phase == rrul_model::phase::Phase::Idle {
            entry.window.from = TestTime(-5 * SECOND);
        }
    }
    let mut analysis = scenario.analyze();
    analysis.scored.common = Some(Scenario::LOAD);
    let scores = Scores::compute(&analysis, Distance::AsSpecified);
    let cells = ScoreCell::all(&analysis);
    let equalizer = Equalizer::new(&analysis, &cells, Duration::from_secs(10)).unwrap();
    let composite = scores.composite.unwrap();
    for (column, cell) in equalizer.columns.iter().zip(&composite.cells) {
        assert_eq!((column.class, column.direction), (cell.class, cell.direction));
        let bars = [column.delay.0[1], column.delay_variation.0[1], column.loss.0[1]];
        assert_eq!(bars, [cell.delay, cell.delay_variation, cell.loss]);
        assert_eq!(column.delay.0[0], Some(20.0), "the idle line against itself");
    }
    // Slew and pages are in windows five times as long.
    let equalizer = Equalizer::new(&analysis, &cells, Duration::from_secs(2)).unwrap();
    assert_eq!(equalizer.columns[0].slew.0[1], composite.cells[0].slew);
    near(equalizer.web.0[1], composite.parts.web.unwrap());
}

#[test]
fn the_equalizer_shows_second_by_second_and_shows_nothing_of_what_was_not_sent() {
    let equalizer = scenario(BLOATED).analyze().scores.equalizer.unwrap();
    assert_eq!((equalizer.window_ns, equalizer.slow_window_ns, equalizer.columns.len()), (SECOND, 5 * SECOND, 4));
    let column = &equalizer.columns[0];
    let delay: Vec<i64> = column.delay.0.iter().map(|bar| bar.unwrap().round() as i64).collect();
    let expected = [vec![20; 5], vec![3; 10], vec![20; 5]].concat();
    assert_eq!(delay, expected);
    assert_eq!(column.slew.0.iter().map(|bar| bar.unwrap().round() as i64).collect::<Vec<_>>(), [20, 3, 3, 20]);
    assert_eq!((equalizer.from_ns, equalizer.slow_from_ns), (TestTime(0), TestTime(0)));
    let web: Vec<Option<i64>> = equalizer.web.0.iter().map(|bar| bar.map(|bar| bar.round() as i64)).collect();
    assert_eq!(web, [Some(20), None, Some(7), None]);
}

#[test]
fn the_load_begins_with_a_window_however_long_the_baseline_is() {
    let mut scenario = scenario(BLOATED);
    for entry in &mut scenario.recording.header.phases {
        if entry.phase == rrul_model::phase::Phase::Idle {
            entry.window.from = TestTime(2 * SECOND);
        }
    }
    let equalizer = scenario.analyze().scores.equalizer.unwrap();
    assert_eq!((equalizer.from_ns, equalizer.slow_from_ns), (TestTime(2 * SECOND), TestTime(0)));
    let slew: Vec<i64> = equalizer.columns[0].slew.0.iter().map(|bar| bar.unwrap().round() as i64).collect();
    assert_eq!(slew, [20, 3, 3, 20], "none is half idle and half loaded");
    assert_eq!(equalizer.columns[0].delay.0.len(), 18);
}

#[test]
fn losses_of_windows_add_up_to_those_of_the_whole_and_percentiles_do_not() {
    let analysis = scenario(BLOATED).analyze();
    for cell in ScoreCell::all(&analysis) {
        let seconds = (0..20).map(|second| {
            let at = |second: i64| TestTime(second * SECOND);
            cell.within(Window { from: at(second), to: at(second + 1) }).losses
        });
        let sum = seconds.fold(Losses::default(), Losses::and);
        assert_eq!(sum, cell.within(Scenario::ALL).losses, "{:?} {}", cell.class, cell.direction);
        assert_eq!(sum.gone > 0, cell.direction == Direction::Up);
    }
}
