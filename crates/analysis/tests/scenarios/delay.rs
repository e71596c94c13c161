//! Round-trip delay and loss.

use rrul_analysis::metrics::loss::packet_count::{Loss, Skipped};
use rrul_model::flow::{AddressFamily, Component, FlowId};
use rrul_model::observation::{EchoReceived, ProbeStamped, ProbesSkipped, ReplyStamped};
use rrul_model::phase::Phase;
use rrul_model::recording::End;
use rrul_model::time::TestTime;
use rrul_model::units::Delay;

use crate::builder::{CLOCK_OFFSET, Client, HELD, MS, SECOND, Scenario, ms};

fn with_probe() -> (Scenario, FlowId) {
    let mut scenario = Scenario::new();
    let flow = scenario.udp_probe(AddressFamily::Ipv4);
    (scenario, flow)
}

#[test]
fn a_constant_delay_is_found_exactly_in_every_phase_whatever_the_servers_clock() {
    let (mut scenario, flow) = with_probe();
    scenario.probes(flow, |_| Some(20 * MS));
    let analysis = scenario.analyze();
    for (delays, n) in [
        (analysis.round_trip_delay.pooled.idle.unwrap(), 250),
        (analysis.round_trip_delay.pooled.load.unwrap(), 500),
        (analysis.round_trip_delay.pooled.after.unwrap(), 250),
    ] {
        assert_eq!((delays.n, delays.lost), (n, 0));
        assert_eq!([delays.min, delays.p50, delays.p90, delays.p95, delays.p99, delays.max], [ms(20); 6]);
    }
    assert_eq!(analysis.round_trip_delay.pooled.induced_p50, ms(0));
    assert_eq!(analysis.loss.round_trips, Loss { sent: 1000, lost: 0 });
    assert_eq!(analysis.round_trip_delay.flows[0].series.len(), 1000);
}

#[test]
fn each_family_that_was_tested_has_its_own_delays() {
    let (mut scenario, four) = with_probe();
    scenario.recording.header.families = AddressFamily::ALL.to_vec();
    let six = scenario.udp_probe(AddressFamily::Ipv6);
    scenario.probes(four, |_| Some(20 * MS));
    scenario.probes(six, |_| Some(30 * MS));
    let analysis = scenario.analyze();
    let families: Vec<_> =
        analysis.round_trip_delay.families.iter().map(|entry| (entry.family, entry.delays.idle.unwrap())).collect();
    let [(AddressFamily::Ipv4, four), (AddressFamily::Ipv6, six)] = families[..] else { panic!("{families:?}") };
    assert_eq!([four.min, four.p50, six.min, six.p50], [ms(20), ms(20), ms(30), ms(30)]);
    assert_eq!((four.n, analysis.round_trip_delay.pooled.idle.unwrap().n), (250, 500));
}

#[test]
fn a_step_under_load_is_the_induced_delay() {
    let (mut scenario, flow) = with_probe();
    // One packet in ten waits 420 ms longer than the others do.
    scenario.probes(flow, |at| match at {
        _ if !Scenario::LOAD.contains(TestTime(at)) => Some(20 * MS),
        _ if (at / (20 * MS)) % 10 == 0 => Some(640 * MS),
        _ => Some(220 * MS),
    });
    let delays = scenario.analyze().measured.round_trip_delay.pooled;
    assert_eq!(delays.induced_p50, ms(200));
    assert_eq!(delays.load.unwrap().p90, ms(220));
    assert_eq!(delays.induced_p95, ms(620));
}

#[test]
fn kernel_stamps_replace_those_of_the_program_on_both_hosts() {
    let (mut scenario, flow) = with_probe();
    scenario.sent(flow, 0, SECOND);
    scenario.received(flow, 0, SECOND, 20 * MS);
    scenario.observe(Client, SECOND, ProbeStamped { flow, sequence: 0, sent: TestTime(SECOND + 2 * MS) });
    // The reflector's packet left its host 3 ms after the program handed it over.
    let reflector_sent = TestTime(SECOND + 10 * MS + CLOCK_OFFSET + HELD + 3 * MS);
    scenario.observe(Client, SECOND, ReplyStamped { flow, sequence: 0, reflector_sent });
    let analysis = scenario.analyze();
    assert_eq!(analysis.round_trip_delay.pooled.idle.unwrap().p50, ms(20 - 2 - 3));
    assert_eq!(analysis.round_trip_delay.flows[0].series[0].at, TestTime(SECOND + 2 * MS));
}

#[test]
fn a_reflectors_stamp_from_before_the_reply_was_written_is_of_another_copy_and_not_used() {
    let (mut scenario, flow) = with_probe();
    scenario.sent(flow, 0, SECOND);
    scenario.received(flow, 0, SECOND, 20 * MS);
    let reflector_sent = TestTime(SECOND + CLOCK_OFFSET);
    scenario.observe(Client, SECOND, ReplyStamped { flow, sequence: 0, reflector_sent });
    assert_eq!(scenario.analyze().round_trip_delay.pooled.idle.unwrap().p50, ms(20));
}

#[test]
fn losses_are_counted_and_move_the_percentiles_up() {
    let (mut scenario, flow) = with_probe();
    // 10 of the 500 packets under load: 2 %, so that P99 falls on a loss.
    scenario.probes(flow, |at| (!(6 * SECOND..6 * SECOND + 200 * MS).contains(&at)).then_some(20 * MS));
    let analysis = scenario.analyze();
    let load = analysis.round_trip_delay.pooled.load.unwrap();
    assert_eq!((load.n, load.lost, load.p95, load.p99, load.max), (500, 10, ms(20), None, ms(20)));
    assert_eq!(analysis.loss.round_trips, Loss { sent: 1000, lost: 10 });
    assert_eq!(analysis.round_trip_delay.flows[0].series.iter().filter(|point| point.delay.is_none()).count(), 10);
}

#[test]
fn a_reply_after_the_waiting_time_counts_as_lost_and_one_at_its_end_does_not() {
    let (mut scenario, flow) = with_probe();
    scenario.sent(flow, 0, SECOND);
    scenario.received(flow, 0, SECOND, 3 * SECOND - HELD);
    scenario.sent(flow, 1, 2 * SECOND);
    scenario.received(flow, 1, 2 * SECOND, 3 * SECOND - HELD + 1);
    // Enough prompt ones that ten median round trips stay below 3 s.
    for sequence in 2..10 {
        scenario.sent(flow, sequence, 3 * SECOND);
        scenario.received(flow, sequence, 3 * SECOND, 20 * MS);
    }
    let analysis = scenario.analyze();
    assert_eq!(analysis.loss.waiting_time, Delay(3 * SECOND));
    let idle = analysis.round_trip_delay.pooled.idle.unwrap();
    assert_eq!((idle.n, idle.lost, idle.max), (10, 1, Some(Delay(3 * SECOND - HELD))));
}

#[test]
fn on_a_long_path_packets_are_waited_for_ten_round_trips() {
    let (mut scenario, flow) = with_probe();
    scenario.probes(flow, |at| Some(if (6 * SECOND..7 * SECOND).contains(&at) { 4 * SECOND } else { 500 * MS }));
    let analysis = scenario.analyze();
    assert_eq!(analysis.loss.waiting_time, Delay(5 * SECOND));
    let load = analysis.round_trip_delay.pooled.load.unwrap();
    assert_eq!((load.lost, load.max), (0, ms(4000)));
}

#[test]
fn behind_a_queue_of_seconds_packets_are_late_and_not_lost() {
    let (mut scenario, flow) = with_probe();
    let load = scenario.recording.phase(Phase::Load).unwrap();
    scenario.probes(flow, |at| {
        let into = at - load.from.0;
        // One packet in the middle never arrives; at the end of the load a packet waits for 5 s.
        let lost = (0..20 * MS).contains(&(into - 4 * SECOND));
        (!lost).then_some(if load.contains(TestTime(at)) { 20 * MS + into / 2 } else { 20 * MS })
    });
    let analysis = scenario.analyze();
    let delays = analysis.round_trip_delay.pooled.load.unwrap();
    assert_eq!(delays.lost, 1, "{delays:?}");
    assert!(delays.p95 > ms(4500), "{delays:?}");
    let waited_longer = analysis.loss.waiting_time - delays.max.unwrap();
    assert!((0..=20 * MS).contains(&waited_longer.0), "{waited_longer}: as long as the longest, which is not scored");
}

#[test]
fn one_packet_that_was_held_up_does_not_make_the_others_waited_for() {
    let (mut scenario, flow) = with_probe();
    scenario
        .probes(flow, |at| Some(if (9 * SECOND..9 * SECOND + 20 * MS).contains(&at) { 5 * SECOND } else { 20 * MS }));
    let analysis = scenario.analyze();
    assert_eq!(analysis.loss.waiting_time, Delay(3 * SECOND));
    assert_eq!(analysis.round_trip_delay.pooled.load.unwrap().lost, 1);
}

#[test]
fn a_duplicated_reply_counts_once_and_the_first_one_counts() {
    let (mut scenario, flow) = with_probe();
    scenario.sent(flow, 0, SECOND);
    scenario.received(flow, 0, SECOND, 35 * MS);
    scenario.received(flow, 0, SECOND, 20 * MS);
    scenario.received(flow, 0, SECOND, 50 * MS);
    let idle = scenario.analyze().round_trip_delay.pooled.idle.unwrap();
    assert_eq!((idle.n, idle.lost, idle.min, idle.max), (1, 0, ms(20), ms(20)));
}

#[test]
fn a_kernels_stamp_from_before_the_packet_was_sent_is_of_another_one_and_not_used() {
    let (mut scenario, flow) = with_probe();
    for (sequence, stamp) in [(0, SECOND - 1), (1, SECOND)] {
        scenario.sent(flow, sequence, SECOND);
        scenario.received(flow, sequence, SECOND, 20 * MS);
        scenario.observe(Client, SECOND, ProbeStamped { flow, sequence, sent: TestTime(stamp) });
    }
    let analysis = scenario.analyze();
    assert_eq!(analysis.round_trip_delay.pooled.idle.unwrap().max, ms(20));
    assert!(analysis.round_trip_delay.flows[0].series.iter().all(|point| point.at == TestTime(SECOND)));
}

/// Cuts a recording off: nothing of this second or later is in it.
fn cut_at(scenario: &mut Scenario, second: u32, end: Option<End>) {
    scenario.recording.end = end;
    scenario.recording.frames.retain(|frame| frame.number < second);
}

#[test]
fn losses_in_the_last_second_count_as_listening_went_on_after_it() {
    let (mut scenario, flow) = with_probe();
    // Every second packet of the last second is lost: 25. The last one is waited for until 22.99 s.
    scenario.probes(flow, |at| (at < 19 * SECOND || at % (40 * MS) == 10 * MS).then_some(20 * MS));
    scenario.recording.end = Some(End { at: TestTime(23 * SECOND), partial: None, ..End::default() });
    let analysis = scenario.analyze();
    assert_eq!(analysis.loss.round_trips, Loss { sent: 1000, lost: 25 });
    assert_eq!(analysis.round_trip_delay.flows[0].series.len(), 1000);
}

#[test]
fn a_run_that_is_cut_off_shows_the_loss_until_then() {
    let (mut scenario, flow) = with_probe();
    // Every second packet is lost. Were answers of the last 3 s counted and losses not, 10 s of it would show 41 %, and
    // 5 s 29 %.
    scenario.probes(flow, |at| (at % (40 * MS) == 10 * MS).then_some(20 * MS));
    for (second, sent) in [(10, 350), (5, 100)] {
        let ends =
            [None, Some(End { at: TestTime(20 * SECOND), partial: Some("interrupted".to_owned()), ..End::default() })];
        for end in ends {
            cut_at(&mut scenario, second, end);
            // The last observation is the packet that was sent 10 ms before the cut; the one sent 3 s before it counts.
            assert_eq!(scenario.analyze().loss.round_trips, Loss { sent, lost: sent / 2 }, "cut at {second} s");
        }
    }
}

#[test]
fn where_all_of_the_last_packets_were_answered_they_count_flow_by_flow() {
    let mut scenario = Scenario::new();
    let [whole, lossy] = [AddressFamily::Ipv4, AddressFamily::Ipv6].map(|family| scenario.udp_probe(family));
    scenario.probes(whole, |at| (at < 10 * SECOND - 25 * MS).then_some(5 * MS));
    scenario.probes(lossy, |at| (at < 9 * SECOND).then_some(5 * MS));
    // Of `whole` the packet sent at 9.99 s has no answer in time; without it all are answered.
    let frames = scenario.recording.frames.clone();
    cut_at(&mut scenario, 10, None);
    let sent = |scenario: &Scenario| -> Vec<u64> {
        scenario.analyze().round_trip_delay.flows.iter().map(|entry| entry.loss.sent).collect()
    };
    assert_eq!(sent(&scenario), [350, 350]);
    scenario.recording.frames = frames;
    scenario.received(whole, 499, 9990 * MS, 5 * MS);
    cut_at(&mut scenario, 10, None);
    assert_eq!(sent(&scenario), [500, 350]);
}

#[test]
fn packets_that_were_skipped_are_not_lost_and_counted_apart() {
    let (mut scenario, flow) = with_probe();
    let silent = scenario.flow("icmp_echo", Component::Realtime, None, AddressFamily::Ipv4, Scenario::ALL);
    scenario.probes(flow, |_| Some(20 * MS));
    for (flow, at, count) in [(flow, 6, 40), (flow, 9, 2), (silent, 9, 7), (FlowId(99), 9, 5)] {
        scenario.observe(Client, at * SECOND, ProbesSkipped { flow, at: TestTime(at * SECOND), count });
    }
    let analysis = scenario.analyze();
    assert_eq!(analysis.loss.round_trips, Loss { sent: 1000, lost: 0 });
    let skipped: Vec<Skipped> = analysis.round_trip_delay.flows.iter().map(|entry| entry.skipped).collect();
    assert_eq!(skipped, [Skipped { packets: 42, due: 1042 }, Skipped { packets: 7, due: 7 }]);
    assert_eq!(analysis.loss.skipped, skipped[0], "of the flows whose loss is reported");
}

#[test]
fn packets_whose_waiting_time_had_not_passed_at_the_end_are_not_counted() {
    let (mut scenario, flow) = with_probe();
    // Nothing is answered from 16 s on; the recording ends at 20 s. Sent after 17 s: not known.
    scenario.probes(flow, |at| (at < 16 * SECOND).then_some(20 * MS));
    let analysis = scenario.analyze();
    assert_eq!(analysis.loss.round_trips, Loss { sent: 850, lost: 50 });
    assert_eq!(analysis.round_trip_delay.pooled.after.unwrap().n, 100);
    assert_eq!(analysis.round_trip_delay.flows[0].series.len(), 850);
}

#[test]
fn a_packet_belongs_to_the_phase_in_which_it_was_sent() {
    let (mut scenario, flow) = with_probe();
    scenario.probes(flow, |at| match at {
        _ if at < 5 * SECOND => Some(20 * MS),
        _ if at < 15 * SECOND => Some(1500 * MS),
        _ => None,
    });
    let delays = scenario.analyze().measured.round_trip_delay.pooled;
    let load = delays.load.unwrap();
    assert_eq!((load.n, load.lost, load.p50), (500, 0, ms(1500)), "answered in the next phase, sent under load");
    let after = delays.after.unwrap();
    assert_eq!((after.n, after.lost, after.min, after.p50, after.max), (100, 100, None, None, None));
}

#[test]
fn a_reply_to_a_packet_that_is_not_in_the_recording_is_passed_over() {
    let (mut scenario, flow) = with_probe();
    scenario.probes(flow, |_| Some(20 * MS));
    scenario.received(flow, 123_456, 9 * SECOND, 900 * MS);
    scenario.received(FlowId(99), 0, 9 * SECOND, 900 * MS);
    let analysis = scenario.analyze();
    assert_eq!(analysis.loss.round_trips, Loss { sent: 1000, lost: 0 });
    assert_eq!(analysis.round_trip_delay.pooled.load.unwrap().max, ms(20));
}

#[test]
fn two_families_are_pooled_packet_by_packet_and_distinguished_by_flow() {
    let mut scenario = Scenario::new();
    for (family, delay) in [(AddressFamily::Ipv4, 20 * MS), (AddressFamily::Ipv6, 30 * MS)] {
        let flow = scenario.udp_probe(family);
        scenario.probes(flow, |_| Some(delay));
    }
    let analysis = scenario.analyze();
    let idle = analysis.round_trip_delay.pooled.idle.unwrap();
    assert_eq!((idle.n, idle.p50, idle.p90), (500, ms(20), ms(30)));
    let medians: Vec<_> = analysis.round_trip_delay.flows.iter().map(|entry| entry.delays.idle.unwrap().p50).collect();
    assert_eq!(medians, [ms(20), ms(30)]);
}

#[test]
fn icmp_echo_is_a_flow_of_its_own_and_pooled_only_without_udp_probes() {
    let echo = |scenario: &mut Scenario| {
        let flow = scenario.flow("icmp_echo", Component::Realtime, None, AddressFamily::Ipv4, Scenario::ALL);
        scenario.sent(flow, 0, SECOND);
        let received = TestTime(SECOND + 12 * MS);
        scenario.observe(Client, SECOND, EchoReceived { flow, sequence: 0, received, read: received });
    };
    let (mut scenario, flow) = with_probe();
    scenario.probes(flow, |_| Some(20 * MS));
    echo(&mut scenario);
    let analysis = scenario.analyze();
    assert_eq!(analysis.round_trip_delay.pooled.idle.unwrap().min, ms(20));
    assert_eq!(analysis.round_trip_delay.flows[1].delays.idle.unwrap().p50, ms(12));

    let (mut alone, _never_sent) = with_probe();
    echo(&mut alone);
    let analysis = alone.analyze();
    assert_eq!(analysis.round_trip_delay.pooled.idle.unwrap().p50, ms(12));
    assert_eq!(analysis.loss.round_trips, Loss { sent: 1, lost: 0 });
}

#[test]
fn in_a_recording_that_breaks_off_the_last_observation_is_the_end() {
    let (mut scenario, flow) = with_probe();
    // The last packet is sent at 9.99 s; nothing is answered from 5 s on. Sent after 6.99 s: not known.
    scenario.probes(flow, |at| (at < 5 * SECOND).then_some(20 * MS));
    scenario.recording.end = None;
    scenario.recording.frames.retain(|frame| frame.number < 10);
    assert_eq!(scenario.analyze().loss.round_trips, Loss { sent: 350, lost: 100 });
}

#[test]
fn the_series_is_in_the_order_in_which_packets_left() {
    let (mut scenario, flow) = with_probe();
    for (sequence, at) in [(0, 3 * SECOND), (1, SECOND), (2, 2 * SECOND)] {
        scenario.sent(flow, sequence, at);
        scenario.received(flow, sequence, at, 20 * MS);
    }
    let analysis = scenario.analyze();
    let seconds: Vec<i64> = analysis.round_trip_delay.flows[0].series.iter().map(|point| point.at.0 / SECOND).collect();
    assert_eq!(seconds, [1, 2, 3]);
}

#[test]
fn in_a_run_that_was_stopped_the_client_listened_no_longer_than_it_observed() {
    let (mut scenario, flow) = with_probe();
    // The last packet is sent at 19.99 s, the client's last observation is at 20.003 s, the end 4 s later.
    scenario.probes(flow, |at| (at < 17 * SECOND).then_some(20 * MS));
    scenario.recording.end =
        Some(End { at: TestTime(24 * SECOND), partial: Some("interrupted".to_owned()), ..End::default() });
    assert_eq!(scenario.analyze().loss.round_trips, Loss { sent: 850, lost: 0 });
}
