//! The block bootstrap against series whose truth is known.

use super::*;
use crate::statistics::autocorrelation::memory;
use crate::statistics::percentile::percentile;

const MINUTE: Window = Window { from: TestTime(0), to: TestTime(60_000_000_000) };
const SPACING: Duration = Duration::from_millis(20);
const SAMPLES: usize = 3000;

/// Normal deviates, twelve uniform ones each.
struct Noise(Random);

impl Noise {
    fn next(&mut self) -> f64 {
        (0..12).map(|_| self.0.below(1 << 30) as f64 / f64::from(1 << 30)).sum::<f64>() - 6.0
    }
}

/// An autoregressive series of first order with standard deviation 1: x' = coefficient x + noise.
fn autoregressive(noise: &mut Noise, coefficient: f64) -> Vec<f64> {
    let mut value = noise.next();
    let innovation = (1.0 - coefficient * coefficient).sqrt();
    (0..SAMPLES)
        .map(|_| {
            value = coefficient * value + innovation * noise.next();
            value
        })
        .collect()
}

fn timed(series: &[f64]) -> impl Iterator<Item = (TestTime, f64)> {
    series.iter().enumerate().map(|(index, value)| (MINUTE.from + SPACING * index as u32, *value))
}

/// A value in milliseconds around 100 ms as a delay.
fn delays(series: &[f64]) -> impl Iterator<Item = (TestTime, Option<Delay>)> {
    timed(series).map(|(at, value)| (at, Some(Delay(((100.0 + value) * 1e6) as i64))))
}

fn bootstrap_for(series: &[f64]) -> BlockBootstrap {
    BlockBootstrap::new(MINUTE, block_length(MINUTE, Delay(0), SPACING.mul_f64(memory(series)))).unwrap()
}

/// Of so many runs, in how many the interval held the truth.
fn coverage(runs: u64, mut interval: impl FnMut(&mut Noise) -> (ConfidenceInterval, f64)) -> f64 {
    let held = (0..runs).filter(|run| {
        let (interval, truth) = interval(&mut Noise(Random(run * 7919 + 1)));
        interval.contains(truth)
    });
    held.count() as f64 / runs as f64
}

#[test]
fn the_interval_of_a_mean_of_an_autoregressive_series_covers_it() {
    // Time constant 0.2 s and 1 s; 95 % nominal.
    for coefficient in [0.9, 0.98] {
        let found = coverage(150, |noise| {
            let series = autoregressive(noise, coefficient);
            let bootstrap = bootstrap_for(&series);
            let (sum, count) = (bootstrap.sums(timed(&series)), bootstrap.sums(timed(&vec![1.0; SAMPLES])));
            (bootstrap.interval(|resample| sum.sum(resample) / count.sum(resample)).unwrap(), 0.0)
        });
        eprintln!("mean, coefficient {coefficient}: covered in {found}");
        assert!((0.90..=0.995).contains(&found), "coefficient {coefficient}: covered in {found}");
    }
}

#[test]
fn the_interval_of_a_difference_of_percentiles_covers_it() {
    // P50 of two series with a common part, 2 ms apart; P95 of one: 1.645 standard deviations.
    let found = coverage(100, |noise| {
        let common = autoregressive(noise, 0.98);
        let own = |shift: f64, noise: &mut Noise| -> Vec<f64> {
            common.iter().zip(autoregressive(noise, 0.9)).map(|(common, own)| common + 0.5 * own + shift).collect()
        };
        let (first, second) = (own(0.0, noise), own(2.0, noise));
        let bootstrap = bootstrap_for(&first);
        let [first, second] = [first, second].map(|series| bootstrap.percentiles(delays(&series)));
        let p50 = |series: &PercentileSeries, resample: &Resample| series.percentiles(resample, [500])[0];
        let interval = bootstrap.interval(|resample| p50(&second, resample) - p50(&first, resample)).unwrap();
        assert!(interval.high - interval.low < 1.0e6, "paired, the common part of 1 ms cancels: {interval:?}");
        (interval, 2.0e6)
    });
    eprintln!("difference of P50: covered in {found}");
    assert!((0.90..=1.0).contains(&found), "covered in {found}");
    let found = coverage(100, |noise| {
        let series = autoregressive(noise, 0.95);
        let bootstrap = bootstrap_for(&series);
        let ready = bootstrap.percentiles(delays(&series));
        (bootstrap.interval(|resample| ready.percentiles(resample, [950])[0]).unwrap(), 101.645e6)
    });
    eprintln!("P95: covered in {found}");
    assert!((0.90..=0.995).contains(&found), "covered in {found}");
}

#[test]
fn independent_samples_would_claim_far_too_much() {
    // What blocks are for: with blocks of one sample the truth lies outside more often than inside.
    let found = coverage(100, |noise| {
        let series = autoregressive(noise, 0.98);
        let bootstrap = BlockBootstrap::new(MINUTE, SPACING * 4).unwrap();
        let (sum, count) = (bootstrap.sums(timed(&series)), bootstrap.sums(timed(&vec![1.0; SAMPLES])));
        (bootstrap.interval(|resample| sum.sum(resample) / count.sum(resample)).unwrap(), 0.0)
    });
    assert!(found < 0.6, "covered in {found}");
}

#[test]
fn percentiles_of_a_resample_are_those_of_the_samples_it_drew() {
    let mut noise = Noise(Random(5));
    let series = autoregressive(&mut noise, 0.5);
    let bootstrap = BlockBootstrap::new(MINUTE, Duration::from_secs(2)).unwrap();
    assert_eq!(bootstrap.blocks(), 30);
    // Every tenth packet is lost.
    let with_losses: Vec<_> =
        delays(&series).enumerate().map(|(index, (at, delay))| (at, delay.filter(|_| index % 10 > 0))).collect();
    let ready = bootstrap.percentiles(with_losses.iter().copied());
    let mut seen = 0;
    let interval = bootstrap.interval(|resample| {
        let weights = resample.weights();
        assert_eq!(weights.iter().sum::<u32>() as usize, bootstrap.cells, "as long as the stretch");
        let (mut drawn, mut lost) = (Vec::new(), 0);
        for (at, delay) in &with_losses {
            let weight = weights[bootstrap.cell(*at).unwrap()];
            match delay {
                Some(delay) => drawn.extend((0..weight).map(|_| delay.0)),
                None => lost += u64::from(weight),
            }
        }
        drawn.sort_unstable();
        let [p50, p85, p95] = ready.percentiles(resample, [500, 850, 950]);
        if seen < 50 {
            for (found, per_mille) in [(p50, 500), (p85, 850)] {
                let [low, high] = [per_mille - 5, per_mille + 5].map(|rank| percentile(&drawn, lost, rank).unwrap());
                assert!((low as f64..=high as f64).contains(&found), "{found} is not within 0.5 % of rank {per_mille}");
            }
        }
        seen += 1;
        assert!(p95.is_infinite(), "a tenth is lost");
        p50
    });
    assert_eq!(seen, RESAMPLES);
    assert!(interval.is_some_and(|interval| interval.low < interval.high));
}

#[test]
fn what_is_too_short_or_empty_has_no_interval() {
    assert!(BlockBootstrap::new(MINUTE, Duration::from_secs(13)).is_none(), "four blocks");
    assert!(BlockBootstrap::new(MINUTE, Duration::from_secs(12)).is_some());
    let nothing = Window { from: TestTime(5), to: TestTime(5) };
    assert!(BlockBootstrap::new(nothing, Duration::from_secs(1)).is_none());
    let wide = Window { from: TestTime(i64::MIN), to: TestTime(i64::MAX) };
    let wide = BlockBootstrap::new(wide, Duration::ZERO).unwrap();
    assert!(wide.cells <= MOST_CELLS);
    let bootstrap = BlockBootstrap::new(MINUTE, Duration::from_secs(1)).unwrap();
    let empty = bootstrap.percentiles(std::iter::empty());
    assert_eq!(bootstrap.interval(|resample| empty.percentiles(resample, [500])[0]), None);
    let outside = bootstrap.sums([(TestTime(-1), 5.0), (MINUTE.to, 5.0)].into_iter());
    assert_eq!(bootstrap.interval(|resample| outside.sum(resample)), Some(ConfidenceInterval { low: 0.0, high: 0.0 }));
}

#[test]
fn the_tails_are_those_of_the_tables() {
    // t distribution, 97.5 %: 2.776 at 4 degrees of freedom, 2.201 at 11, 1.960 at infinity. Normal: 2.5 % beyond 1.960.
    for (degrees, quantile) in [(4.0, 2.776), (11.0, 2.201), (59.0, 2.001)] {
        assert!((student_975(degrees) / quantile - 1.0).abs() < 0.003, "{degrees}");
    }
    for (x, tail) in [(0.0, 0.5), (1.959_964, 0.025), (2.575_829, 0.005), (3.0, 0.001_349_9)] {
        assert!((normal_tail(x) - tail).abs() < 1e-6, "{x}");
    }
    assert!((expanded_tail(12, 1.0) - 0.010_8).abs() < 0.000_2, "{}", expanded_tail(12, 1.0));
}

#[test]
fn the_same_series_gives_the_same_interval() {
    let series = autoregressive(&mut Noise(Random(9)), 0.9);
    let interval = || {
        let bootstrap = BlockBootstrap::new(MINUTE, Duration::from_secs(1)).unwrap();
        let ready = bootstrap.percentiles(delays(&series));
        bootstrap.interval(|resample| ready.percentiles(resample, [500])[0])
    };
    assert_eq!(interval(), interval());
}
