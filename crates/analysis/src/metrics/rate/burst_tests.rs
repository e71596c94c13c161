//! Bursts that are there, and lines that have none: a thousand simulated runs of congestion control.

use rrul_model::random::Random;
use rrul_model::time::{TestTime, Window};

use super::*;
use crate::metrics::rate::rate_series::STEP;

const SECOND: i64 = 1_000_000_000;

fn between(random: &mut Random, from: f64, to: f64) -> f64 {
    from + (to - from) * random.unit()
}

/// Bits per second at each time since the load began.
type Rate = fn(f64) -> f64;

/// Streams of Cubic (RFC 9438) in fluid form over one queue.
struct Line {
    rate: Rate,
    round_trip: f64,
    /// In seconds at the line's rate.
    queue: f64,
    streams: usize,
    /// How far the rate strays from its mean, as a part of it, for about a second at a time: a radio, other users.
    straying: f64,
}

impl Line {
    /// A line that carries `rate` and nothing but.
    fn steady(rate: Rate, round_trip: f64) -> Self {
        Self { rate, round_trip, queue: 0.2, streams: 4, straying: 0.0 }
    }
}

/// One stream: window and its last maximum in segments, and since when it grows.
struct Stream {
    window: f64,
    maximum: f64,
    reduced: f64,
    slow_start: bool,
}

const SEGMENT_BITS: f64 = 12_000.0;

impl Line {
    /// Bytes that arrived in each step of 250 ms for this many seconds, in whole segments and read a little late.
    fn series(&self, seconds: f64, random: &mut Random) -> RateSeries {
        let fresh = || Stream { window: 10.0, maximum: 0.0, reduced: 0.0, slow_start: true };
        let mut streams: Vec<Stream> = (0..self.streams).map(|_| fresh()).collect();
        let (tick, mut now, mut waiting) = (0.01_f64, 0.0, 0.0_f64);
        let (mut arrived, mut read, mut rates, mut straying) = (0.0, 0.0, Vec::new(), 0.0);
        while now < seconds {
            // Autoregressive of the first order: it forgets within a second.
            straying = straying * (1.0 - tick) + self.straying * between(random, -1.0, 1.0) * (6.0 * tick).sqrt();
            let capacity = ((self.rate)(now) * tick / SEGMENT_BITS) * (1.0 + straying).max(0.1);
            let round_trip = self.round_trip + waiting * tick / capacity;
            let offered: f64 = streams.iter().map(|stream| stream.window / round_trip * tick).sum();
            let carried = capacity.min(offered + waiting);
            waiting += offered - carried;
            arrived += carried;
            let limit = self.queue * (self.rate)(now) / SEGMENT_BITS;
            let full = waiting > limit;
            waiting = waiting.min(limit);
            for stream in &mut streams {
                // Some streams lose; in slow start all do, and much at once, which takes its time to mend.
                let loses = full && (stream.slow_start || random.unit() < 0.5);
                if loses && now - stream.reduced > round_trip {
                    let factor = if stream.slow_start { between(random, 0.2, 0.7) } else { 0.7 };
                    stream.maximum = stream.window;
                    stream.window = (stream.window * factor).max(2.0);
                    (stream.reduced, stream.slow_start) = (now, false);
                }
            }
            for stream in &mut streams {
                if stream.slow_start {
                    stream.window *= 1.0 + tick / round_trip;
                } else {
                    let turn = ((stream.maximum * 0.3) / 0.4).cbrt();
                    stream.window = (0.4 * (now - stream.reduced - turn).powi(3) + stream.maximum).max(2.0);
                }
            }
            now += tick;
            if (now / 0.25).floor() > ((now - tick) / 0.25).floor() {
                // The receiver is handed several segments at once, and its counters are read up to 1 ms late.
                let late = between(random, 0.0, 0.004);
                let seen = ((arrived * (1.0 + late / now.max(0.25))) / 2.0).floor() * 2.0;
                rates.push((seen - read).max(0.0) * SEGMENT_BITS / 0.25);
                read = seen;
            }
        }
        RateSeries { from: TestTime(5 * SECOND), step: Duration::from_millis(250), rates }
    }
}

const STEADY: [Rate; 7] = [|_| 0.5e6, |_| 1e6, |_| 2e6, |_| 8e6, |_| 20e6, |_| 100e6, |_| 1000e6];

#[test]
fn none_of_a_thousand_runs_over_steady_lines_has_a_burst() {
    let (mut found, mut changed) = (Vec::new(), 0);
    for seed in 0..1000 {
        let mut random = Random(seed);
        let line = Line {
            rate: STEADY[seed as usize % STEADY.len()],
            round_trip: between(&mut random, 0.005, 0.17),
            queue: 10_f64.powf(between(&mut random, -2.5, 0.5)),
            streams: [1, 4, 8][random.next() as usize % 3],
            straying: [0.0, 0.02, 0.05][random.next() as usize % 3],
        };
        let seconds = [14.0, 30.0, 60.0, 60.0][random.next() as usize % 4];
        let history = rate_history(&line.series(seconds, &mut random));
        assert!(history.searched);
        if !history.rate_changes.is_empty() {
            changed += 1;
        }
        if let Some(burst) = history.burst {
            found.push((seed, line.round_trip, line.queue, line.streams, line.straying, seconds, burst));
        }
    }
    assert!(found.is_empty(), "{} bursts: {found:#?}", found.len());
    // A line that strays may come to stay elsewhere.
    assert!(changed <= 20, "{changed} runs with a change of rate");
}

#[test]
fn bursts_are_found_with_their_length_and_bytes() {
    let rates: [(Rate, f64, f64); 5] = [
        (|t| if t < 5.0 { 40e6 } else { 20e6 }, 5.0, 12.5e6),
        (|t| if t < 10.0 { 40e6 } else { 20e6 }, 10.0, 25e6),
        (|t| if t < 10.0 { 2e6 } else { 1e6 }, 10.0, 1.25e6),
        (|t| if t < 19.0 { 120e6 } else { 100e6 }, 19.0, 47.5e6),
        (|t| if t < 3.0 { 25e6 } else { 20e6 }, 3.0, 1.875e6),
    ];
    for (index, (rate, length, octets)) in rates.into_iter().enumerate() {
        let mut missed = 0;
        for seed in 0..50 {
            let mut random = Random(seed);
            let line = Line::steady(rate, between(&mut random, 0.01, 0.04));
            let history = rate_history(&line.series(60.0, &mut random));
            let Some(burst) = history.burst else {
                missed += 1;
                continue;
            };
            let off = burst.duration_ns as f64 / 1e9 - length;
            assert!(off.abs() <= 1.0, "burst {index}, seed {seed}: {off:+.2} s: {burst:?}");
            let off = burst.octets as f64 / octets - 1.0;
            assert!(off.abs() <= 0.1, "burst {index}, seed {seed}: {:+.1} % bytes: {burst:?}", off * 100.0);
            assert_eq!(history.rate_changes, []);
        }
        assert_eq!(missed, 0, "burst {index}");
    }
}

#[test]
fn what_is_no_burst_is_a_change_of_rate() {
    let rates: [(Rate, &[i64]); 4] = [
        // Late.
        (|t| if t < 30.0 { 20e6 } else { 10e6 }, &[35]),
        // Upward. Before the middle of the load it would be a ramp.
        (|t| if t < 40.0 { 10e6 } else { 20e6 }, &[45]),
        // And back.
        (|t| if (10.0..30.0).contains(&t) { 10e6 } else { 20e6 }, &[15, 35]),
        // Less than a tenth.
        (|t| if t < 10.0 { 21e6 } else { 20e6 }, &[]),
    ];
    for (rate, at) in rates {
        let line = Line::steady(rate, 0.02);
        let history = rate_history(&line.series(60.0, &mut Random(1)));
        assert_eq!(history.burst, None);
        let found: Vec<i64> =
            history.rate_changes.iter().map(|change| (change.at_ns.0 + SECOND / 2).div_euclid(SECOND)).collect();
        assert_eq!(found, at, "{:?}", history.rate_changes);
    }
}

#[test]
fn a_short_load_is_not_searched_and_one_without_bytes_has_no_ramp() {
    let line = Line::steady(|t| if t < 3.0 { 40e6 } else { 20e6 }, 0.02);
    let short = rate_history(&line.series(11.0, &mut Random(1)));
    assert_eq!((short.searched, short.burst), (false, None));
    assert!(short.ramp_ns.is_some());
    let window = Window { from: TestTime(0), to: TestTime(60 * SECOND) };
    let silent = rate_history(&RateSeries::in_steps_of(STEP, window, &[]));
    assert_eq!(silent, RateHistory { searched: true, ..RateHistory::default() });
    let empty = rate_history(&RateSeries::in_steps_of(STEP, Window { to: TestTime(0), ..window }, &[]));
    assert_eq!(empty, RateHistory::default());
}
