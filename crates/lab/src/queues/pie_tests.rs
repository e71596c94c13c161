//! What RFC 8033 promises, in virtual time.

use std::time::Duration;

use super::*;
use crate::queue::drive::{ms, packet};

fn pie(change: impl FnOnce(&mut QueueOptions)) -> Pie {
    let mut options = QueueOptions::default();
    change(&mut options);
    Pie::new(&options, 7).unwrap()
}

/// What a run has seen: sojourn times in microseconds with the time of departure in ms, drops and marks with their time in ms.
#[derive(Default)]
struct Run {
    delays: Vec<(u64, u64)>,
    drops: Vec<(u64, u32)>,
    marks: Vec<u64>,
    arrived: usize,
}

impl Run {
    fn mean_delay_ms(&self, from: u64) -> f64 {
        let late: Vec<u64> = self.delays.iter().filter(|(at, _)| *at >= from).map(|(_, delay)| *delay).collect();
        late.iter().sum::<u64>() as f64 / late.len() as f64 / 1000.0
    }

    fn drops_from(&self, from: u64) -> usize {
        self.drops.iter().filter(|(at, _)| *at >= from).count()
    }
}

/// A departure every millisecond, as many arrivals as `arrivals` says for it; packets of the lengths in turn.
fn drive(queue: &mut Pie, milliseconds: u64, ecn_capable: bool, lengths: &[u32], arrivals: impl Fn(u64) -> u64) -> Run {
    let mut run = Run::default();
    let mut dropped = Vec::new();
    for now in 0..milliseconds {
        for number in 0..arrivals(now) {
            let at = LabTime(ms(now).0 + number * 10_000);
            let length = lengths[run.arrived % lengths.len()];
            queue.enqueue(QueuedPacket { length, ecn_capable, ..packet(0, 0, at) }, at, &mut dropped);
            run.arrived += 1;
        }
        let end = LabTime(ms(now).0 + 999_999);
        if let Some(sent) = queue.dequeue(end, &mut dropped) {
            run.delays.push((now, end.since(sent.arrival) / 1000));
            if sent.marked {
                run.marks.push(now);
            }
        }
        run.drops.extend(dropped.drain(..).map(|drop| (now, drop.packet.length)));
    }
    run
}

/// Eleven arrivals for ten departures.
fn ten_percent_too_much(now: u64) -> u64 {
    if now.is_multiple_of(10) { 2 } else { 1 }
}

#[test]
fn the_delay_converges_to_the_target_and_the_drop_share_to_the_excess() {
    for target in [15, 40] {
        let mut queue = pie(|options| options.target = Some(Duration::from_millis(target)));
        let run = drive(&mut queue, 60_000, false, &[1500], ten_percent_too_much);
        let mean = run.mean_delay_ms(30_000);
        // The integral term leaves no standing error; the mean of 30 s wanders with the drops by less than a fifth.
        assert!((mean - target as f64).abs() < 0.2 * target as f64, "mean delay {mean} ms, target {target} ms");
        let share = run.drops_from(30_000) as f64 / 33_000.0;
        assert!((share - 1.0 / 11.0).abs() < 0.002, "{share} dropped, one in eleven arrivals is too much");
    }
}

#[test]
fn a_burst_shorter_than_the_allowance_loses_nothing_and_a_longer_one_does() {
    // Four arrivals a millisecond are three too many.
    let burst = |length: u64| move |now: u64| if now < length { 4 } else { 0 };
    let mut queue = pie(|_| {});
    let run = drive(&mut queue, 2000, false, &[1500], burst(140));
    assert_eq!(run.drops, [], "140 ms are within the allowance of 150 ms");
    let mut queue = pie(|options| options.burst = Some(Duration::ZERO));
    let first_drop = |queue: &mut Pie| drive(queue, 2000, false, &[1500], burst(600)).drops.first().map(|(at, _)| *at);
    let (without, with) = (first_drop(&mut queue), first_drop(&mut pie(|_| {})));
    assert!(without.is_some() && with >= without, "first drop at {with:?} ms, without an allowance at {without:?} ms");
    assert!(
        with.is_some_and(|at| at >= 150),
        "first drop at {with:?} ms, not before the allowance of 150 ms is used up"
    );
}

#[test]
fn the_allowance_is_granted_anew_once_the_queue_was_idle() {
    let mut queue = pie(|_| {});
    let run =
        drive(
            &mut queue,
            32_000,
            false,
            &[1500],
            |now| if now < 300 || (30_000..30_140).contains(&now) { 3 } else { 0 },
        );
    assert!(run.drops.iter().any(|(at, _)| *at < 1000), "the first burst is longer than the allowance");
    assert_eq!(run.drops_from(20_000), 0, "the second is shorter, and the probability has decayed in between");
}

#[test]
fn the_probability_of_an_idle_queue_decays_by_two_percent_an_update() {
    let mut queue = pie(|_| {});
    queue.controller.probability = 0.5;
    queue.next_update = Some(ms(0));
    queue.catch_up(ms(15 * 10));
    // Eleven updates, each after a step of the controller for a delay of zero: -alpha * target.
    let mut expected = 0.5f64;
    for _ in 0..11 {
        expected = (expected - 0.125 * 0.015) * 0.98;
    }
    assert!((queue.controller.probability - expected).abs() < 1e-12);
}

#[test]
fn gains_shrink_with_the_probability_as_the_table_of_the_rfc_says() {
    let scales = [5e-7, 5e-6, 5e-5, 5e-4, 5e-3, 5e-2, 0.5].map(|probability| (1.0 / gain_scale(probability)) as u32);
    assert_eq!(scales, [2048, 512, 128, 32, 8, 2, 1]);
}

#[test]
fn ecn_capable_packets_are_marked_up_to_ten_percent_and_dropped_above() {
    let light = |now: u64| if now.is_multiple_of(20) { 2 } else { 1 };
    let run = drive(&mut pie(|options| options.ecn = Some(true)), 30_000, true, &[1500], light);
    // Marks do not slow this load down, so the probability passes 10 % in the end and drops hold the delay.
    let first_drop = run.drops.first().map_or(u64::MAX, |(at, _)| *at);
    let marked_before = run.marks.iter().filter(|at| **at < first_drop).count();
    assert!(marked_before > 5, "{marked_before} marks before the first drop at {first_drop} ms");
    let run = drive(&mut pie(|options| options.ecn = Some(true)), 30_000, false, &[1500], light);
    assert!(run.marks.is_empty() && !run.drops.is_empty(), "a packet without ECN is dropped");
    let run = drive(&mut pie(|_| {}), 30_000, true, &[1500], light);
    assert!(run.marks.is_empty() && !run.drops.is_empty(), "ecn is off unless it is asked for");
}

#[test]
fn bytemode_drops_short_packets_less_in_proportion_to_their_length() {
    let shares = |bytemode| {
        let mut queue = pie(|options| options.bytemode = Some(bytemode));
        let run = drive(&mut queue, 120_000, false, &[1500, 300], |now| if now.is_multiple_of(5) { 2 } else { 1 });
        let of = |length| run.drops.iter().filter(|(_, dropped)| *dropped == length).count() as f64;
        of(300) / of(1500)
    };
    // The accumulated probability makes a drop due, the next draw decides: 300/1500 = 0.2 for the draw.
    let (scaled, equal) = (shares(true), shares(false));
    assert!((0.1..0.35).contains(&scaled), "{scaled}: a fifth of the length, about a fifth of the drops");
    assert!((0.85..1.15).contains(&equal), "{equal}: without bytemode the length does not matter");
}

#[test]
fn drops_are_spread_rather_than_clustered() {
    let mut queue = pie(|_| {});
    let run = drive(&mut queue, 60_000, false, &[1500], ten_percent_too_much);
    let settled: Vec<u64> = run.drops.iter().map(|(at, _)| *at).filter(|at| *at > 30_000).collect();
    let close = settled.windows(2).filter(|pair| pair[1] - pair[0] < 5).count();
    // Independent drops of one in eleven would follow within 5 ms in a third of the cases.
    assert!(close * 10 < settled.len(), "{close} of {} drops within 5 ms of the one before", settled.len());
}

#[test]
fn the_limit_is_kept_and_the_smallest_queue_is_never_dropped_from() {
    let mut queue = pie(|options| options.limit = Some("10p".parse().unwrap()));
    let mut dropped = Vec::new();
    for slot in 0..11 {
        queue.enqueue(packet(slot, 0, ms(0)), ms(0), &mut dropped);
    }
    assert_eq!(
        dropped.iter().map(|drop| (drop.packet.slot, drop.cause)).collect::<Vec<_>>(),
        [(10, DropCause::Overflow)]
    );
    let mut queue = pie(|_| {});
    queue.controller.probability = 1.0;
    queue.controller.delay = 1_000_000_000;
    queue.controller.burst_left = 0;
    for slot in 0..2 {
        queue.enqueue(packet(slot, 0, ms(0)), ms(0), &mut dropped);
    }
    assert_eq!((queue.packets(), dropped.len()), (2, 1), "two full packets may always wait");
}

#[test]
fn settings_that_make_no_sense_are_refused() {
    let refused = |change: fn(&mut QueueOptions)| {
        let mut options = QueueOptions::default();
        change(&mut options);
        Pie::new(&options, 0).unwrap_err().to_string()
    };
    assert!(refused(|options| options.tupdate = Some(Duration::ZERO)).contains("tupdate"));
    assert!(refused(|options| options.alpha = Some(33)).contains("alpha = 33"));
    assert!(refused(|options| options.limit = Some("1MB".parse().unwrap())).contains("1000p"));
}
