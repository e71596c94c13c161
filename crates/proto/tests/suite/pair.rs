//! Sender and reflector together, over links whose every doing is known.

use crate::attribution;
use crate::virtual_link;
use std::collections::BTreeSet;

use crate::virtual_link::{EF, MILLISECOND, READING, REFLECTING, Run, SECOND, Scenario, Way, run};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use rrul_model::observation::ProbeReceived;
use rrul_model::time::{TestTime, Window};

/// Sixty seconds at 20 ms.
const PACKETS: u32 = 3000;

/// RFC 8762: what the round trip took, less what the reflector held it for; nanoseconds.
fn round_trip(run: &Run, reply: &ProbeReceived) -> i64 {
    let sent = run.sent[reply.sequence as usize].sent;
    reply.received.since(sent).0 - reply.reflector_sent.since(reply.reflector_received).0
}

/// Checks every reply of a run against what the link did to it.
fn every_delay_is_exact(scenario: &Scenario, run: &Run) {
    assert!(!run.received.is_empty());
    for (reply, truth) in &run.received {
        let number = reply.sequence;
        let sent = run.sent[number as usize].sent;
        // T3 is taken before the kernel's own stamp, so what lies between them stays in the round trip.
        let held_after_t3 = truth.at_reflector - REFLECTING;
        assert_eq!(round_trip(run, reply), truth.up + truth.down + held_after_t3, "round trip of {number}");
        let up = reply.reflector_received.since(sent).0;
        assert_eq!(up, truth.up - scenario.origin_error, "one-way delay up of {number}");
        let down = reply.received.since(reply.reflector_sent).0;
        assert_eq!(down, truth.down + held_after_t3 + scenario.origin_error, "one-way delay down of {number}");
        assert_eq!(reply.read.since(reply.received).0, READING);
    }
}

#[test]
fn sixty_seconds_over_a_link_that_only_delays_give_every_packet_and_every_delay() {
    let scenario = Scenario::sixty_seconds();
    let run = run(&scenario);
    assert_eq!(run.sent.len(), PACKETS as usize);
    assert_eq!(run.received.len(), PACKETS as usize);
    assert_eq!(run.skipped, 0);
    every_delay_is_exact(&scenario, &run);
    for (number, (reply, _)) in (0..).zip(&run.received) {
        assert_eq!(reply.sequence, number);
        assert_eq!(reply.reflector_count, number + 1, "the reflector counts from 1");
        assert_eq!((reply.reflector_octet, reply.octet), (EF, EF));
    }
    for sent in &run.sent {
        assert_eq!(sent.sent, sent.scheduled, "a client that is never late");
    }
}

#[test]
fn round_trips_do_not_depend_on_how_well_the_clocks_were_matched() {
    for origin_error in [-3 * SECOND, 0, 40 * MILLISECOND] {
        let scenario = Scenario { origin_error, ..Scenario::sixty_seconds() };
        let run = run(&scenario);
        every_delay_is_exact(&scenario, &run);
        let expected = scenario.up.delay + scenario.down.delay + scenario.stamp_lag;
        assert!(run.received.iter().all(|(reply, _)| round_trip(&run, reply) == expected), "error {origin_error}");
    }
}

#[test]
fn delays_that_vary_and_packets_that_overtake_each_other_are_still_exact() {
    let varied = Way { variation: 100 * MILLISECOND, ..Way::of(7 * MILLISECOND) };
    let scenario = Scenario { up: varied, down: varied, ..Scenario::sixty_seconds() };
    let run = run(&scenario);
    assert_eq!(run.received.len(), PACKETS as usize);
    every_delay_is_exact(&scenario, &run);
    let sequences: Vec<u32> = run.received.iter().map(|(reply, _)| reply.sequence).collect();
    assert!(!sequences.is_sorted(), "100 ms of variation reorder packets 20 ms apart");
    let counts: BTreeSet<u32> = run.received.iter().map(|(reply, _)| reply.reflector_count).collect();
    assert_eq!(counts, (1..=PACKETS).collect(), "each arrival has its own count");
    let mut by_arrival: Vec<_> = run.received.iter().map(|(reply, _)| reply).collect();
    by_arrival.sort_by_key(|reply| reply.reflector_count);
    assert!(by_arrival.is_sorted_by_key(|reply| reply.reflector_received), "the count is the order of arrival");
}

#[test]
fn loss_up_is_distinguished_from_loss_down() {
    let lossy = |loses_one_in| Way { loses_one_in, ..Way::of(7 * MILLISECOND) };
    for (up, down) in [(20, 0), (0, 20), (50, 5), (2, 3)] {
        let scenario = Scenario { up: lossy(up), down: lossy(down), ..Scenario::sixty_seconds() };
        let run = run(&scenario);
        assert_eq!(run.received.len() + run.lost_up.len() + run.lost_down.len(), PACKETS as usize);
        attribution::by_the_reflectors_notes(&run);
        attribution::by_windows(&scenario, &run);
        assert_eq!(!run.lost_up.is_empty(), up > 0, "the link lost what the scenario says");
        assert_eq!(!run.lost_down.is_empty(), down > 0);
        every_delay_is_exact(&scenario, &run);
    }
}

#[test]
fn while_nothing_is_lost_or_overtaken_no_window_is_noted() {
    assert_eq!(run(&Scenario::sixty_seconds()).windows, []);
}

#[test]
fn an_outage_of_more_than_64_packets_is_attributed_by_the_notes_and_in_part_by_windows() {
    // 100 packets and more, as phases vary.
    let outage = Some(Window { from: TestTime(20 * SECOND), to: TestTime(22 * SECOND + 100 * MILLISECOND) });
    for (up, down) in [(outage, None), (None, outage)] {
        let scenario = Scenario {
            up: Way { outage: up, ..Way::of(7 * MILLISECOND) },
            down: Way { outage: down, ..Way::of(11 * MILLISECOND) },
            ..Scenario::sixty_seconds()
        };
        let run = run(&scenario);
        assert!(run.lost_up.len() + run.lost_down.len() > 100, "{} {}", run.lost_up.len(), run.lost_down.len());
        attribution::by_the_reflectors_notes(&run);
        let unattributed = attribution::by_windows(&scenario, &run);
        assert_eq!(unattributed, run.lost_up.len() + run.lost_down.len() - 63, "one reply reports 63 before it");
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 200, rng_seed: RngSeed::Fixed(7785), failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn whatever_the_link_does_every_packet_is_attributed(up in attribution::way(), down in attribution::way(), seed: u64) {
        let scenario = Scenario { up, down, seed, ..Scenario::sixty_seconds() };
        let run = run(&scenario);
        attribution::by_the_reflectors_notes(&run);
        attribution::by_windows(&scenario, &run);
    }
}

#[test]
fn follow_ups_tell_the_departure_of_the_reply_that_they_name() {
    // A stamp read within the interval is reported by the next reply; one read after three intervals by a later one.
    for stamp_read in [10_000, 60 * MILLISECOND] {
        let scenario = Scenario { stamp_read, ..Scenario::sixty_seconds() };
        let run = run(&scenario);
        assert!(run.stamped.len() > 2000, "{} follow-ups", run.stamped.len());
        for told in &run.stamped {
            assert_eq!(told.reflector_sent.0, run.departures[&told.sequence][0], "departure of {}", told.sequence);
        }
        assert!(run.stamped.windows(2).all(|pair| pair[0].sequence < pair[1].sequence), "each is reported once");
    }
}

#[test]
fn with_stamps_read_in_time_every_reply_but_the_last_is_followed_up() {
    // Phases are random within 20 ms, so that two packets may be closer than the 0.2 ms that a stamp takes: the stamp
    // is then reported one reply later, or given up for a newer one.
    let scenario = Scenario::sixty_seconds();
    let run = run(&scenario);
    let lag = REFLECTING + scenario.stamp_lag + scenario.stamp_read;
    let close = run.sent.windows(2).filter(|pair| pair[1].sent.since(pair[0].sent).0 <= lag).count();
    assert_eq!(run.stamped.len(), PACKETS as usize - 1 - close);
}

#[test]
fn a_doubled_request_is_counted_twice_and_followed_up_by_its_first_reply() {
    let up = Way { doubles_one_in: 4, ..Way::of(7 * MILLISECOND) };
    let scenario = Scenario { up, ..Scenario::sixty_seconds() };
    let run = run(&scenario);
    assert!(run.doubled_up > 600, "a quarter of {PACKETS}: {}", run.doubled_up);
    assert_eq!(run.received.len() as u32, PACKETS + run.doubled_up, "every copy is answered");
    let last = run.received.last().expect("replies arrived").0;
    assert_eq!(last.reflector_count, PACKETS + run.doubled_up, "every copy is counted");
    let distinct: BTreeSet<u32> = run.received.iter().map(|(reply, _)| reply.sequence).collect();
    assert_eq!(distinct.len(), PACKETS as usize);
    every_delay_is_exact(&scenario, &run);
}

#[test]
fn the_stamp_of_a_duplicate_does_not_replace_the_first() {
    let up = Way { doubles_one_in: 4, variation: 9 * MILLISECOND, ..Way::of(7 * MILLISECOND) };
    let run = run(&Scenario { up, ..Scenario::sixty_seconds() });
    let doubled = |told: &&rrul_model::observation::ReplyStamped| {
        run.departures.get(&told.sequence).is_some_and(|departures| departures.len() > 1)
    };
    assert!(run.stamped.iter().filter(doubled).count() > 400);
    for told in &run.stamped {
        let departures = &run.departures[&told.sequence];
        assert_eq!(told.reflector_sent.0, departures[0], "{} left at {departures:?}", told.sequence);
    }
}

#[test]
fn a_doubled_reply_is_reported_twice_with_one_count() {
    let down = Way { doubles_one_in: 5, ..Way::of(7 * MILLISECOND) };
    let scenario = Scenario { down, ..Scenario::sixty_seconds() };
    let run = run(&scenario);
    assert!(run.doubled_down > 450, "a fifth of {PACKETS}: {}", run.doubled_down);
    assert_eq!(run.received.len() as u32, PACKETS + run.doubled_down);
    for (reply, _) in &run.received {
        assert_eq!(reply.reflector_count, reply.sequence + 1, "a copy made on the way down reached the reflector once");
    }
    assert!(run.stamped.len() < PACKETS as usize, "a doubled reply does not report its news twice");
    every_delay_is_exact(&scenario, &run);
}

#[test]
fn bleaching_is_reported_by_direction_and_the_reply_bears_what_was_asked_for() {
    for (bleaches_up, bleaches_down) in [(true, false), (false, true), (true, true)] {
        let up = Way { bleaches: bleaches_up, ..Way::of(7 * MILLISECOND) };
        let down = Way { bleaches: bleaches_down, ..Way::of(7 * MILLISECOND) };
        let run = run(&Scenario { up, down, ..Scenario::sixty_seconds() });
        let class = |bleached| if bleached { 0 } else { EF };
        for (reply, _) in &run.received {
            assert_eq!((reply.reflector_octet, reply.octet), (class(bleaches_up), class(bleaches_down)));
        }
        assert_eq!(run.received.len(), PACKETS as usize);
    }
}

#[test]
fn a_stall_leaves_packets_out_and_sends_no_burst() {
    let stall = Window { from: TestTime(10 * SECOND), to: TestTime(12 * SECOND) };
    let scenario = Scenario { stall: Some(stall), ..Scenario::sixty_seconds() };
    let run = run(&scenario);
    // Two seconds at 20 ms hold 100 packets.
    assert_eq!(run.skipped, 100);
    assert_eq!(run.sent.len() as u32, PACKETS - 100);
    for (number, sent) in (0..).zip(&run.sent) {
        assert_eq!(sent.sequence, number, "numbers left out would look like loss");
        assert_eq!(sent.sent, sent.scheduled, "nothing is sent late");
        assert!(!stall.contains(sent.sent));
    }
    // The rest of the schedule is what it would have been.
    let undisturbed = virtual_link::run(&Scenario { stall: None, ..scenario });
    let outside: Vec<_> = undisturbed.sent.iter().map(|sent| sent.sent).filter(|at| !stall.contains(*at)).collect();
    assert_eq!(run.sent.iter().map(|sent| sent.sent).collect::<Vec<_>>(), outside);
    every_delay_is_exact(&scenario, &run);
}

#[test]
fn the_same_seed_gives_the_same_run_and_another_does_not() {
    let rough = Way { variation: 30 * MILLISECOND, loses_one_in: 9, doubles_one_in: 11, ..Way::of(7 * MILLISECOND) };
    let scenario = Scenario { up: rough, down: rough, ..Scenario::sixty_seconds() };
    let replies = |seed| -> Vec<ProbeReceived> {
        run(&Scenario { seed, ..scenario }).received.iter().map(|(reply, _)| *reply).collect()
    };
    assert_eq!(replies(5), replies(5));
    assert_ne!(replies(5), replies(6));
}

#[test]
fn loss_doubling_and_overtaking_together_lose_no_account() {
    let rough = Way { variation: 60 * MILLISECOND, loses_one_in: 7, doubles_one_in: 6, ..Way::of(7 * MILLISECOND) };
    for seed in 0..20 {
        let scenario = Scenario { up: rough, down: rough, seed, ..Scenario::sixty_seconds() };
        let run = run(&scenario);
        let arrived_up = PACKETS - run.lost_up.len() as u32 + run.doubled_up;
        assert_eq!(
            run.received.len() as u32,
            arrived_up - run.lost_down.len() as u32 + run.doubled_down,
            "seed {seed}"
        );
        let highest = run.received.iter().map(|(reply, _)| reply.reflector_count).max();
        assert!(highest.is_some_and(|highest| highest <= arrived_up), "seed {seed}");
        every_delay_is_exact(&scenario, &run);
        for told in &run.stamped {
            assert_eq!(told.reflector_sent.0, run.departures[&told.sequence][0], "seed {seed}");
        }
    }
}
