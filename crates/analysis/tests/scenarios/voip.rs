//! Voice streams whose every packet's fate is known, and what the analysis makes of them.

use std::time::Duration;

use rrul_analysis::metrics::voice::voip::{Voip, VoipFlow};
use rrul_analysis::metrics::voice::voip_quality::VoipQuality;
use rrul_analysis::metrics::voice::voip_schedule::LineSharing;
use rrul_model::flow::{AddressFamily, Component, Direction, FlowId, Parameter};
use rrul_model::line_rate::{Dispersion, LineRate};
use rrul_model::marking::ServiceClass;
use rrul_model::observation::{PacketReceived, ProbeSent, ProbeStamped};
use rrul_model::time::TestTime;
use rrul_model::units::ByteCount;

use crate::builder::{CLOCK_OFFSET, Client, MS, SECOND, Scenario, Server, ms};

/// 20 s at 10 ms.
const PACKETS: u32 = 2000;

impl Scenario {
    pub(crate) fn voip(&mut self, direction: Direction, family: AddressFamily) -> FlowId {
        self.flow("voip", Component::Voip, Some(direction), family, Self::ALL)
    }

    /// A packet every 10 ms; `fate` of its send time and number is its delay, or `None` for a lost one. Times are those of
    /// each end's own clock: the server's is ahead.
    pub(crate) fn voice(&mut self, flow: FlowId, fate: impl Fn(i64, u32) -> Option<i64>) {
        let up = self.recording.flow(flow).unwrap().direction == Some(Direction::Up);
        let (sender, receiver) = if up { (Client, Server) } else { (Server, Client) };
        let (here, there) = if up { (0, CLOCK_OFFSET) } else { (CLOCK_OFFSET, 0) };
        for sequence in 0..PACKETS {
            let at = 3 * MS + i64::from(sequence) * 10 * MS;
            let sent = TestTime(at + here);
            // The kernel passes it on 40 µs after the program did: the delay counts from there.
            self.observe(sender, at, ProbeSent { flow, sequence, scheduled: sent, sent: TestTime(sent.0 - 40_000) });
            self.observe(sender, at, ProbeStamped { flow, sequence, sent });
            if let Some(delay) = fate(at, sequence) {
                let received = TestTime(at + delay + there);
                self.observe(receiver, at + delay, PacketReceived { flow, sequence, received, octet: 0 });
            }
        }
    }
}

/// A probe that brings the clocks together over a path of 20 ms each way, and one voice stream.
fn scenario(direction: Direction, fate: impl Fn(i64, u32) -> Option<i64>) -> Scenario {
    let mut scenario = Scenario::new();
    let probe = scenario.udp_probe(AddressFamily::Ipv4);
    scenario.probes(probe, |_| Some(40 * MS));
    let flow = scenario.voip(direction, AddressFamily::Ipv4);
    scenario.voice(flow, fate);
    scenario
}

fn voip(scenario: &Scenario) -> Voip {
    scenario.analyze().measured.voip.unwrap()
}

fn only(scenario: &Scenario) -> VoipFlow {
    let mut flows = voip(scenario).flows;
    assert_eq!(flows.len(), 1);
    flows.remove(0)
}

fn loaded(at: i64) -> bool {
    Scenario::LOAD.contains(TestTime(at))
}

fn close(found: Option<f64>, expected: f64) {
    let found = found.unwrap();
    assert!((found - expected).abs() < 5e-4, "{found} instead of {expected}");
}

#[test]
fn a_perfect_call_has_the_best_rating_and_its_true_delay_in_both_directions() {
    for direction in Direction::ALL {
        let flow = only(&scenario(direction, |_, _| Some(20 * MS)));
        for (quality, sent) in [(flow.idle, 500), (flow.load, 1000), (flow.after, 500)] {
            let quality = quality.unwrap();
            assert_eq!((quality.sent, quality.lost, quality.late30, quality.late30_fixed), (sent, 0, 0, 0));
            let delay = quality.one_way_delay.unwrap();
            assert_eq!((delay.min, delay.p50, delay.max), (ms(20), ms(20), ms(20)), "{direction}");
            assert_eq!(quality.one_way_delay_mean_ns, Some(20 * MS));
            assert_eq!(quality.delay_variation.unwrap().pdv_p99_ns, Some(0));
            close(quality.rating_plc, 93.2);
            close(quality.mos_plc, 4.409);
            close(quality.mos_no_plc, 4.409);
        }
        let added = flow.added.unwrap();
        assert_eq!((added.one_way_delay_p50_ns, added.mos_plc), (Some(0), Some(0.0)));
    }
}

#[test]
fn loss_is_counted_to_the_packet_and_rated_with_and_without_concealment() {
    // Under load one in a hundred: 10 of 1000, each alone.
    let flow = only(&scenario(Direction::Up, |at, n| (!loaded(at) || n % 100 != 7).then_some(20 * MS)));
    let load = flow.load.unwrap();
    assert_eq!((load.sent, load.lost, load.late30), (1000, 10, 0));
    close(load.one_way_loss, 0.01);
    close(load.effective_loss, 0.01);
    assert_eq!((load.loss_runs.bursts, load.loss_runs.longest_burst), (10, 1));
    assert_eq!((load.loss_runs.mean_gap, load.loss_runs.shortest_gap), (Some(99.0), Some(99)));
    close(load.loss_runs.burst_ratio, 0.99);
    // Losses a hundred apart are more even than random ones, and count as those.
    close(load.rating_plc, 93.2 - 95.0 / (1.0 + 25.1));
    close(load.rating_no_plc, 93.2 - 95.0 / (1.0 + 4.3));
    assert_eq!(flow.idle.unwrap().lost, 0);
    close(flow.added.unwrap().effective_loss, 0.01);
}

#[test]
fn a_burst_is_one_burst_and_weighs_more() {
    let in_a_row = |at: i64, n: u32| (!loaded(at) || !(600..650).contains(&n)).then_some(20 * MS);
    let scattered = |at: i64, n: u32| (!loaded(at) || !n.is_multiple_of(20)).then_some(20 * MS);
    let [burst, scattered] = [only(&scenario(Direction::Down, in_a_row)), only(&scenario(Direction::Down, scattered))]
        .map(|f| f.load.unwrap());
    assert_eq!((burst.lost, scattered.lost), (50, 50));
    assert_eq!((burst.loss_runs.bursts, burst.loss_runs.longest_burst), (1, 50));
    close(burst.loss_runs.burst_ratio, 50.0 * 0.95);
    assert!(burst.mos_plc < scattered.mos_plc, "{burst:?} {scattered:?}");
}

#[test]
fn spikes_above_thirty_milliseconds_count_as_loss_and_smaller_ones_as_delay() {
    for (spike, expected) in [(0, 0), (29, 0), (31, 100)] {
        let fate = |at: i64, n: u32| Some((20 + if loaded(at) && n % 10 == 3 { spike } else { 0 }) * MS);
        let load = only(&scenario(Direction::Down, fate)).load.unwrap();
        assert_eq!((load.sent, load.lost), (1000, 0), "{spike} ms");
        assert_eq!((load.late30, load.late30_fixed), (expected, expected), "{spike} ms");
        close(load.effective_loss, f64::from(expected as u32) / 1000.0);
    }
}

#[test]
fn lost_and_late_are_never_the_same_packet() {
    // One in ten lost, one in ten late by 31 ms, and where both fall together it is lost.
    let fate = |at: i64, n: u32| match (loaded(at), n % 10, n % 50) {
        (true, 0, _) => None,
        (true, 5, _) => Some(51 * MS),
        _ => Some(20 * MS),
    };
    let load = only(&scenario(Direction::Up, fate)).load.unwrap();
    assert_eq!((load.sent, load.lost, load.late30), (1000, 100, 100));
    close(load.effective_loss, 0.2);
}

#[test]
fn a_standing_queue_is_delay_to_an_adaptive_receiver_and_loss_to_a_fixed_one() {
    let flow = only(&scenario(Direction::Down, |at, _| Some(if loaded(at) { 220 * MS } else { 20 * MS })));
    let load = flow.load.unwrap();
    // For five seconds the smallest delay of before still stands; the load's first packet is at 3 ms of it.
    assert_eq!((load.late30, load.late30_fixed), (499, 1000));
    assert_eq!(load.one_way_delay.unwrap().p50, ms(220));
    assert_eq!(flow.added.unwrap().one_way_delay_p50_ns, Some(200 * MS));
    assert!(load.mos_plc < flow.idle.unwrap().mos_plc);
    assert_eq!(flow.after.unwrap().late30, 0, "a falling delay is never late");
}

#[test]
fn families_of_one_class_stand_together_and_each_for_itself() {
    let mut scenario = scenario(Direction::Up, |_, _| Some(20 * MS));
    let other = scenario.voip(Direction::Up, AddressFamily::Ipv6);
    scenario.voice(other, |at, n| (!loaded(at) || n % 2 == 0).then_some(20 * MS));
    let voip = voip(&scenario);
    assert_eq!(voip.flows.iter().map(|flow| flow.load.unwrap().lost).collect::<Vec<_>>(), [0, 500]);
    let [class] = voip.classes.as_slice() else { panic!("{:?}", voip.classes) };
    assert_eq!((class.class, class.direction), (ServiceClass::BE, Direction::Up));
    let load: VoipQuality = class.load.unwrap();
    assert_eq!((load.sent, load.lost), (2000, 500));
    assert_eq!(load.loss_runs.longest_burst, 1, "the end of one stream and the beginning of the other are no burst");
    assert_eq!(load.delay_variation, None, "two streams have no common smallest delay");
}

#[test]
fn calls_that_suffer_are_reported_however_bad_background_is_on_the_idle_line() {
    let mut scenario = scenario(Direction::Up, |at, n| (!loaded(at) || n % 3 > 0).then_some(20 * MS));
    let background = scenario.voip(Direction::Up, AddressFamily::Ipv4);
    scenario.recording.header.flows.last_mut().unwrap().class = ServiceClass::BK;
    scenario.voice(background, |_, n| (n % 2 == 0).then_some(20 * MS));
    let said = scenario.analyze().scores.in_words.unwrap();
    assert!(said.contains("voice calls bad"), "{said}");
}

#[test]
fn without_probes_loss_and_lateness_are_known_and_delay_is_not() {
    let mut scenario = Scenario::new();
    let flow = scenario.voip(Direction::Down, AddressFamily::Ipv4);
    scenario.voice(flow, |at, n| Some((20 + if loaded(at) && n % 10 == 3 { 31 } else { 0 }) * MS));
    let load = only(&scenario).load.unwrap();
    assert_eq!((load.sent, load.lost, load.late30), (1000, 0, 100));
    assert_eq!((load.one_way_delay, load.mos_plc, load.rating_no_plc), (None, None, None));
    assert_eq!(load.delay_variation.unwrap().pdv_p95_ns, Some(31 * MS));
}

#[test]
fn copies_are_no_packets_and_an_overtaken_packet_is_reported() {
    let mut scenario = scenario(Direction::Down, |_, n| Some(if n == 700 { 35 } else { 20 } * MS));
    let flow = scenario.recording.header.flows[1].id;
    let at = 3 * MS + 8000 * MS + 20 * MS;
    let copy = PacketReceived { flow, sequence: 800, received: TestTime(at + MS), octet: 0 };
    scenario.observe(Client, at, copy);
    // Rows are in the order of arrival: 701 (20 ms, sent 10 ms later) before 700.
    for frame in &mut scenario.recording.frames {
        let mut rows: Vec<_> = frame.tables.packet_received.rows().collect();
        rows.sort_by_key(|row| row.received);
        frame.tables.packet_received = rrul_model::observation::PacketReceivedTable::default();
        for row in rows {
            frame.tables.push(row.into());
        }
    }
    let load = only(&scenario).load.unwrap();
    assert_eq!((load.sent, load.lost, load.duplicates, load.reordered), (1000, 0, 1, 1));
}

#[test]
fn what_the_server_could_not_tell_any_more_is_not_called_lost() {
    let mut scenario = scenario(Direction::Up, |_, _| Some(20 * MS));
    // The server is lost at 10 s; the client goes on sending until it notices.
    scenario.recording.frames.retain(|frame| frame.point == Client || frame.number < 10);
    scenario.recording.end.as_mut().unwrap().partial = Some("the server was lost".to_owned());
    let load = only(&scenario).load.unwrap();
    // Until 3 s before the last arrival the fate of every packet is known.
    assert_eq!(load.lost, 0);
    assert!((190..=210).contains(&load.sent), "{} packets of 2 s", load.sent);
    // Without a word of the server nothing is known.
    scenario.recording.frames.retain(|frame| frame.point == Client);
    assert_eq!(only(&scenario).load, None);
}

#[test]
fn streams_that_took_turns_are_reported_with_what_the_line_was_taken_for() {
    let mut scenario = scenario(Direction::Up, |_, _| Some(20 * MS));
    let down = scenario.voip(Direction::Down, AddressFamily::Ipv4);
    scenario.voice(down, |_, _| Some(20 * MS));
    let header = &mut scenario.recording.header;
    let dispersion = Dispersion { packets: 19, octets: ByteCount(1228), took: Duration::from_micros(23_332) };
    header.line_rate = Some(LineRate { up: Some(dispersion), down: None });
    let up = header.flows.iter_mut().find(|flow| flow.direction == Some(Direction::Up)).unwrap();
    for (name, text) in [("schedule", "classes"), ("turns", "0s-2s,5s-8s")] {
        up.parameters.0.insert(name.to_owned(), Parameter::Text(text.to_owned()));
    }
    let analysis = scenario.analyze();
    let schedules = &analysis.voip.as_ref().unwrap().schedules;
    let found: Vec<_> =
        schedules.iter().map(|one| (one.direction, one.schedule, one.reduced_cir, one.line_rate_bps)).collect();
    // 19 packets of 1228 bytes in 23.332 ms.
    assert_eq!(
        found,
        [
            (Direction::Down, LineSharing::Full, false, None),
            (Direction::Up, LineSharing::Classes, true, Some(8_000_000)),
        ]
    );
    let reasons: Vec<_> = analysis.validity.reasons.iter().filter(|reason| reason.code == "reduced_cir").collect();
    let [reason] = reasons.as_slice() else { panic!("{reasons:?}") };
    assert!(reason.text.contains("Upload voice") && reason.text.contains("8.00 Mbit/s"), "{}", reason.text);
}

#[test]
fn a_plan_without_voice_has_none() {
    assert_eq!(Scenario::healthy().analyze().voip, None);
    let mut silent = Scenario::new();
    silent.voip(Direction::Up, AddressFamily::Ipv4);
    let voip = voip(&silent);
    assert_eq!((voip.flows.len(), voip.classes.len()), (0, 1), "nothing was sent");
    assert_eq!(voip.classes[0].load, None);
    assert_eq!(SECOND, 100 * 10 * MS);
}
