//! Bytes of a stream, from readings that are means over the time before them.

use super::document::RawValue;

/// Fastest rate that is believed, Mbit/s.
const FASTEST: f64 = 1e7;
/// Longest time that one reading is the mean of, seconds.
const LONGEST_READING: f64 = 3600.0;
/// Time between readings that no reading covers, seconds; less is how exact stamps are.
const GAP: f64 = 0.005;
/// Up to this share the recorded bytes may differ from those of the readings and still be the same stream's.
const SAME: f64 = 0.1;
const OCTETS_PER_MEGABIT: f64 = 1e6 / 8.0;

/// A stretch of time and the bytes in it.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    from: f64,
    to: f64,
    octets: f64,
    gap: bool,
}

/// The bytes of a stream over time.
#[derive(Debug, Clone, Default)]
pub(super) struct Octets {
    /// Unix seconds and bytes so far, the first of them 0.
    pub(super) readings: Vec<(f64, u64)>,
    /// Seconds that no reading covers and whose bytes are unknown.
    pub(super) uncovered: f64,
    /// The recorded bytes are not those of the readings, and were left aside.
    pub(super) contradicted: bool,
}

/// What was recorded of the whole stream.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Recorded {
    pub(super) octets: Option<f64>,
    /// Seconds from its beginning.
    pub(super) elapsed: Option<f64>,
}

impl Octets {
    /// From raw values: each is the mean rate of the `dur` seconds before it, and without it, since the one before.
    pub(super) fn of_raw(rows: &[RawValue], recorded: Recorded) -> Self {
        let reading = |row: &RawValue| {
            let dur = row.dur.filter(|dur| *dur > 0.0 && *dur <= LONGEST_READING);
            row.val.filter(|rate| (0.0..=FASTEST).contains(rate)).map(|rate| (row.t, dur, rate))
        };
        let mut readings: Vec<_> = rows.iter().filter_map(reading).collect();
        readings.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut stretches: Vec<Stretch> = Vec::with_capacity(readings.len());
        for (to, dur, rate) in readings {
            let before = stretches.last().map(|stretch| stretch.to);
            let Some(from) = dur.map(|dur| to - dur).or(before) else { continue };
            if let Some(before) = before.filter(|before| from - before > GAP) {
                stretches.push(Stretch { from: before, to: from, octets: 0.0, gap: true });
            }
            stretches.push(Stretch { from, to, octets: rate * OCTETS_PER_MEGABIT * (to - from), gap: false });
        }
        Self::of_stretches(stretches, recorded)
    }

    /// From values on the grid, where nothing else was kept: each covers the time since the one before.
    pub(super) fn of_grid(values: impl Iterator<Item = (f64, f64)>, step: f64) -> Self {
        let mut stretches: Vec<Stretch> = Vec::new();
        for (to, rate) in values.filter(|(_, rate)| (0.0..=FASTEST).contains(rate)) {
            let from = stretches.last().map_or(to - step, |stretch| stretch.to);
            if from < to && to - from <= LONGEST_READING {
                stretches.push(Stretch { from, to, octets: rate * OCTETS_PER_MEGABIT * (to - from), gap: false });
            }
        }
        Self::of_stretches(stretches, Recorded::default())
    }

    fn of_stretches(mut stretches: Vec<Stretch>, recorded: Recorded) -> Self {
        let (Some(first), Some(last)) = (stretches.first().copied(), stretches.last().copied()) else {
            return Self::default();
        };
        let covered: f64 = stretches.iter().map(|stretch| stretch.octets).sum();
        let gaps: f64 = stretches.iter().filter(|stretch| stretch.gap).map(|gap| gap.to - gap.from).sum();
        let whole = recorded.octets.filter(|octets| *octets > 0.0);
        let same = whole.filter(|whole| (whole - covered).abs() <= SAME * covered);
        let missing = same.map_or(0.0, |whole| (whole - covered).max(0.0));
        let filled = gaps > 0.0 && missing > 0.0;
        if filled {
            for gap in stretches.iter_mut().filter(|stretch| stretch.gap) {
                gap.octets = missing * (gap.to - gap.from) / gaps;
            }
        }
        let most = same.unwrap_or(f64::INFINITY);
        let mut readings = vec![(first.from, 0)];
        let mut sum = 0.0;
        for stretch in &stretches {
            sum += stretch.octets;
            readings.push((stretch.to, f64::min(sum, most).round() as u64));
        }
        if let Some(whole) = same.filter(|whole| sum < *whole) {
            let elapsed = recorded.elapsed.filter(|elapsed| (0.0..=LONGEST_READING * 24.0).contains(elapsed));
            let ended = elapsed.map_or(last.to, |elapsed| (first.from + elapsed).max(last.to));
            readings.push((ended, whole.round() as u64));
        }
        Self { readings, uncovered: if filled { 0.0 } else { gaps }, contradicted: whole.is_some() && same.is_none() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(t: f64, dur: f64, val: f64) -> RawValue {
        RawValue { t, val: Some(val), dur: Some(dur), ..RawValue::default() }
    }

    #[test]
    fn a_reading_is_the_mean_of_the_time_before_it() {
        // 8 Mbit/s over 0.5 s are 500 000 bytes, 16 Mbit/s over 0.25 s as many.
        let octets = Octets::of_raw(&[row(10.5, 0.5, 8.0), row(10.75, 0.25, 16.0)], Recorded::default());
        assert_eq!(octets.readings, [(10.0, 0), (10.5, 500_000), (10.75, 1_000_000)]);
        assert!(octets.uncovered.abs() < 1e-9);
    }

    #[test]
    fn the_recorded_total_is_the_last_reading() {
        let recorded = Recorded { octets: Some(1_010_000.0), elapsed: Some(1.25) };
        let octets = Octets::of_raw(&[row(10.5, 0.5, 8.0), row(11.0, 0.5, 8.0)], recorded);
        assert_eq!(octets.readings, [(10.0, 0), (10.5, 500_000), (11.0, 1_000_000), (11.25, 1_010_000)]);
        // Rates are rounded: a sum above the recorded total is cut to it.
        let recorded = Recorded { octets: Some(995_000.0), ..recorded };
        let octets = Octets::of_raw(&[row(10.5, 0.5, 8.0), row(11.0, 0.5, 8.0)], recorded);
        assert_eq!(octets.readings.last(), Some(&(11.0, 995_000)));
    }

    #[test]
    fn what_readings_left_out_is_taken_from_the_total_or_reported_as_unknown() {
        let rows = [row(1.0, 1.0, 8.0), row(3.0, 1.0, 8.0)];
        let octets = Octets::of_raw(&rows, Recorded::default());
        assert_eq!(octets.readings, [(0.0, 0), (1.0, 1_000_000), (2.0, 1_000_000), (3.0, 2_000_000)]);
        assert!((octets.uncovered - 1.0).abs() < 1e-9);
        let octets = Octets::of_raw(&rows, Recorded { octets: Some(2_150_000.0), elapsed: None });
        assert_eq!(octets.readings, [(0.0, 0), (1.0, 1_000_000), (2.0, 1_150_000), (3.0, 2_150_000)]);
        assert!(octets.uncovered.abs() < 1e-9 && !octets.contradicted);
        assert!(Octets::of_raw(&rows, Recorded { octets: Some(5e9), elapsed: None }).contradicted);
    }

    #[test]
    fn values_on_the_grid_tell_of_the_time_since_the_one_before() {
        let octets = Octets::of_grid([(5.0, 8.0), (5.25, 8.0), (6.25, 4.0)].into_iter(), 0.25);
        assert_eq!(octets.readings, [(4.75, 0), (5.0, 250_000), (5.25, 500_000), (6.25, 1_000_000)]);
    }

    #[test]
    fn rates_and_times_that_cannot_be_are_left_out() {
        let rows =
            [row(1.0, 1.0, 1e300), row(2.0, -1.0, 8.0), row(3.0, 1.0, 8.0), row(4.0, 1e300, 8.0), row(5.0, 1.0, -3.0)];
        let octets = Octets::of_raw(&rows, Recorded { octets: Some(-1.0), elapsed: Some(f64::NAN) });
        assert_eq!(octets.readings.first(), Some(&(2.0, 0)));
        assert_eq!(octets.readings.last(), Some(&(4.0, 2_000_000)));
    }
}
