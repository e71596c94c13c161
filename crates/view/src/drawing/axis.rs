//! Axes: nice ends, nice steps, and units that keep figures short.

use rrul_model::units::{BitRate, Delay};

use crate::text::words::in_thousands;

/// An axis that ends on its ticks, in the unit that it shows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Axis {
    pub(crate) min: f64,
    pub(crate) max: f64,
    pub(crate) step: f64,
}

impl Axis {
    /// From zero to the first tick at or above `top`, with about `ticks` steps; 0 to 1 when `top` is not positive.
    pub(crate) fn from_zero(top: f64, ticks: u32) -> Self {
        if !(top.is_finite() && top > 0.0) {
            return Self { min: 0.0, max: 1.0, step: 0.5 };
        }
        let step = nice_step(top / f64::from(ticks));
        // A hair below, so that a top of exactly three steps is not given a fourth by rounding.
        let steps = (top / step - 1e-9).ceil().max(1.0);
        Self { min: 0.0, max: steps * step, step }
    }

    /// From `min` to `max` as they are, with about `ticks` ticks on round values; one second long when they coincide.
    pub(crate) fn between(min: f64, max: f64, ticks: u32) -> Self {
        let max = if max > min { max } else { min + 1.0 };
        Self { min, max, step: nice_step((max - min) / f64::from(ticks)) }
    }

    /// From the tick at or below `low` to that at or above `high`; from zero where `low` is near it.
    pub(crate) fn covering(low: f64, high: f64, ticks: u32) -> Self {
        // A third of the axis for nothing is the price of seeing sizes in proportion; more is not.
        let low = if low > 0.0 && low < high * 0.35 { 0.0 } else { low };
        // What differs by less than a millionth cannot be drawn apart.
        let apart = high - low > 1e-6 * high.abs().max(low.abs());
        let high = if apart { high } else { low + (low.abs() * 0.1).max(1e-3) };
        let step = nice_step((high - low) / f64::from(ticks));
        let (min, max) = ((low / step + 1e-9).floor() * step, (high / step - 1e-9).ceil() * step);
        Self { min, max: if max > min { max } else { min + (min.abs() * 0.1).max(step) }, step }
    }

    /// From 1, 2 or 5 times a power of ten at or below `low` to one at or above `high`, for a logarithmic scale; at
    /// least a decade. Both are above zero.
    pub(crate) fn logarithmic(low: f64, high: f64) -> Self {
        let min = round_logarithmic(low, Rounding::Down);
        Self { min, max: round_logarithmic(high, Rounding::Up).max(min * 10.0), step: 1.0 }
    }

    pub(crate) fn length(&self) -> f64 {
        self.max - self.min
    }
}

/// The direction in which a value is rounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rounding {
    Down,
    Up,
}

/// A value moved to the next of 1, 2, 5 times a power of ten.
fn round_logarithmic(value: f64, rounding: Rounding) -> f64 {
    let power = 10_f64.powf(value.log10().floor());
    let digits = [1.0, 2.0, 5.0, 10.0];
    let digit = value / power;
    let chosen = match rounding {
        Rounding::Down => digits.iter().rev().find(|candidate| **candidate <= digit * (1.0 + 1e-9)).unwrap_or(&1.0),
        Rounding::Up => digits.iter().find(|candidate| **candidate >= digit * (1.0 - 1e-9)).unwrap_or(&10.0),
    };
    power * chosen
}

/// A tick as the axis writes it, without the dust of binary fractions: `0.6`, `25`, `1,000`.
pub(crate) fn tick_words(tick: f64) -> String {
    let text = format!("{tick:.6}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    let (sign, size) = text.split_at(usize::from(text.starts_with('-')));
    let (whole, rest) = size.split_at(size.find('.').unwrap_or(size.len()));
    // As the chart library writes them.
    format!("{sign}{}{rest}", in_thousands(whole, ','))
}

/// The smallest of 1, 2, 2.5, 5 and 10 times a power of ten that is at least `least`.
pub(crate) fn nice_step(least: f64) -> f64 {
    let power = 10_f64.powf(least.log10().floor());
    let step = [1.0, 2.0, 2.5, 5.0].into_iter().find(|digit| digit * power >= least * (1.0 - 1e-9));
    step.unwrap_or(10.0) * power
}

/// The values 1, 2 and 5 times powers of ten within `from` to `to`, both positive, for logarithmic axes.
pub(crate) fn logarithmic_ticks(from: f64, to: f64) -> Vec<f64> {
    let decades = from.log10().floor() as i32..=to.log10().floor() as i32;
    decades
        .flat_map(|power| [1.0, 2.0, 5.0].map(|digit| digit * 10_f64.powi(power)))
        .filter(|tick| (from * (1.0 - 1e-9)..=to * (1.0 + 1e-9)).contains(tick))
        .collect()
}

/// Where an axis from zero has to end for these values to be read.
///
/// The highest value, unless it stands more than half above the 99th percentile (nearest rank): then a seventh above
/// that percentile, and whoever draws counts what lies beyond.
pub(crate) fn readable_top(mut values: Vec<f64>) -> f64 {
    values.retain(|value| value.is_finite());
    let Some(highest) = values.iter().copied().max_by(f64::total_cmp) else { return 0.0 };
    let rank = (values.len() * 99).div_ceil(100).max(1);
    let (_, &mut common, _) = values.select_nth_unstable_by(rank - 1, f64::total_cmp);
    if highest > 1.5 * common && common > 0.0 { common * 8.0 / 7.0 } else { highest }
}

/// A unit to show values in: how much of the base unit one of it is, and its name.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Unit {
    /// Base units (bit/s, ns) in one of these.
    pub(crate) size: f64,
    pub(crate) name: &'static str,
}

impl Unit {
    /// The unit for rates up to this many bit/s.
    pub(crate) fn of_rates(top: f64) -> Self {
        let (size, name) = match top {
            t if t >= 1e9 => (1e9, "Gbit/s"),
            t if t >= 1e6 => (1e6, "Mbit/s"),
            t if t >= 1e3 => (1e3, "kbit/s"),
            _ => (1.0, "bit/s"),
        };
        Self { size, name }
    }

    /// The unit for delays up to this many nanoseconds: milliseconds wherever they are short to write.
    pub(crate) fn of_delays(top: f64) -> Self {
        let (size, name) = match top {
            t if t >= 10e9 => (1e9, "s"),
            t if t >= 1e6 => (1e6, "ms"),
            _ => (1e3, "µs"),
        };
        Self { size, name }
    }

    /// The unit for counts of bytes up to this many.
    pub(crate) fn of_octets(top: f64) -> Self {
        let (size, name) = match top {
            t if t >= 1e9 => (1e9, "GB"),
            t if t >= 1e6 => (1e6, "MB"),
            t if t >= 1e3 => (1e3, "kB"),
            _ => (1.0, "B"),
        };
        Self { size, name }
    }

    /// A rate in this unit, three significant figures, without the name.
    pub(crate) fn rate(self, rate: BitRate) -> String {
        figures(rate.0 as f64 / self.size)
    }

    /// A delay in this unit, three significant figures, without the name; "lost" without one.
    pub(crate) fn delay(self, delay: Option<Delay>) -> String {
        delay.map_or_else(|| "lost".to_owned(), |delay| figures(delay.0 as f64 / self.size))
    }
}

/// Three significant figures: 0.05, 4.21, 16.8, 551. Whole numbers above that.
pub(crate) fn figures(value: f64) -> String {
    let decimals = match value.abs() {
        0.0 => 0,
        v if v < 9.995 => 2,
        v if v < 99.95 => 1,
        _ => 0,
    };
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_ends_on_a_tick_at_or_above_its_top() {
        for (top, max, step) in
            [(4.2, 5.0, 1.0), (5.0, 5.0, 1.0), (0.6, 0.6, 0.2), (251.0, 300.0, 100.0), (1e-3, 1e-3, 2.5e-4)]
        {
            let axis = Axis::from_zero(top, 5);
            assert!((axis.max - max).abs() < 1e-9 * max, "top {top} gave {axis:?}, expected {max}");
            assert!(axis.max / axis.step > 1.9 && (axis.step - step).abs() <= step, "{axis:?}");
        }
        for nothing in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(Axis::from_zero(nothing, 5), Axis { min: 0.0, max: 1.0, step: 0.5 });
        }
    }

    #[test]
    fn steps_are_one_two_two_and_a_half_or_five() {
        for (least, step) in
            [(1.0, 1.0), (1.1, 2.0), (2.2, 2.5), (2.6, 5.0), (5.1, 10.0), (0.03, 0.05), (700.0, 1000.0)]
        {
            assert!((nice_step(least) - step).abs() < 1e-9 * step, "{least} gave {}", nice_step(least));
        }
        assert_eq!(logarithmic_ticks(10.0, 500.0), [10.0, 20.0, 50.0, 100.0, 200.0, 500.0]);
    }

    #[test]
    fn axes_cover_what_they_are_made_for() {
        for (low, high, axis) in [
            (16.2, 19.7, Axis { min: 16.0, max: 20.0, step: 0.5 }),
            (3.0, 40.0, Axis { min: 0.0, max: 40.0, step: 5.0 }),
            (-3.0, 40.0, Axis { min: -10.0, max: 40.0, step: 10.0 }),
        ] {
            let made = Axis::covering(low, high, 8);
            assert!((made.min - axis.min).abs() + (made.max - axis.max).abs() < 1e-9, "{low} to {high} gave {made:?}");
        }
        let one = Axis::covering(7.0, 7.0, 8);
        assert!(one.min <= 7.0 && one.max > 7.0, "{one:?}");
        let axis = Axis::logarithmic(16.2, 430.0);
        assert!((axis.min - 10.0).abs() < 1e-9 && (axis.max - 500.0).abs() < 1e-9, "{axis:?}");
    }

    #[test]
    fn ticks_are_written_without_dust() {
        let short = [(3.0 * 0.2, "0.6"), (25.0, "25"), (250.0, "250"), (1.25, "1.25"), (-250.0, "-250")];
        let long = [(1000.0, "1,000"), (-1000.0, "-1,000"), (1_250_000.5, "1,250,000.5")];
        for (tick, text) in short.into_iter().chain(long) {
            assert_eq!(tick_words(tick), text);
        }
    }

    #[test]
    fn a_lonely_peak_does_not_flatten_the_rest() {
        let mut values = vec![10.0; 999];
        values.push(900.0);
        assert!((readable_top(values.clone()) - 80.0 / 7.0).abs() < 1e-9);
        values.pop();
        values.push(14.0);
        assert!((readable_top(values) - 14.0).abs() < 1e-9, "14 is no peak above 10");
        assert!(readable_top(vec![f64::NAN]).abs() < 1e-9);
    }

    #[test]
    fn units_follow_the_scale() {
        for (top, name) in [(5e9, "Gbit/s"), (20e6, "Mbit/s"), (5e3, "kbit/s"), (900.0, "bit/s")] {
            assert_eq!(Unit::of_rates(top).name, name);
        }
        for (top, name) in [(2e9, "GB"), (3e6, "MB"), (5e3, "kB"), (900.0, "B")] {
            assert_eq!(Unit::of_octets(top).name, name);
        }
        for (top, name) in [(50e3, "µs"), (18e6, "ms"), (5e9, "ms"), (12e9, "s")] {
            assert_eq!(Unit::of_delays(top).name, name);
        }
        assert_eq!(Unit::of_rates(20e6).rate(BitRate(4_213_000)), "4.21");
        assert_eq!(Unit::of_delays(20e6).delay(Some(Delay(551_400_000))), "551");
        assert_eq!(Unit::of_delays(20e6).delay(None), "lost");
    }
}
