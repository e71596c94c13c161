//! What is known of a rate: a probability for each point of a logarithmic grid.
//!
//! Noisy answers to "is the rate above this one?" change the probabilities (Waeber, Frazier and Henderson, "Bisection search
//! with noisy responses", SIAM Journal on Control and Optimization, 2013). So one wrong answer does not mislead the search.

/// Points of the grid differ by this, in the logarithm: a quarter of a percent.
const SPACING: f64 = 0.0025;
/// An answer is as good as random this close to the rate itself, in the logarithm.
const BLUR: f64 = 0.003;

/// Probabilities of a rate.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Posterior {
    /// Logarithm of the lowest rate of the grid.
    from: f64,
    /// Probability of each point. They sum up to 1.
    mass: Vec<f64>,
}

impl Posterior {
    /// A prior whose density at the logarithm of a rate is this.
    pub(crate) fn with_prior(lowest: f64, highest: f64, density: impl Fn(f64) -> f64) -> Self {
        let from = lowest.ln();
        let points = ((highest.ln() - from) / SPACING).ceil().max(1.0) as usize;
        let mass = (0..=points).map(|point| density(from + point as f64 * SPACING)).collect();
        let mut prior = Self { from, mass };
        prior.normalize();
        prior
    }

    /// Weights every point by the likelihood of an observation at its logarithm.
    pub(crate) fn observe(&mut self, likelihood: impl Fn(f64) -> f64) {
        for (point, mass) in self.mass.iter_mut().enumerate() {
            *mass *= likelihood(self.from + point as f64 * SPACING);
        }
        self.normalize();
    }

    /// An answer: the rate is at least this one, or is below it, and how sure that is, between a half and one.
    pub(crate) fn answer(&mut self, rate: f64, at_least: bool, sure: f64) {
        let at = rate.ln();
        self.observe(|point| {
            let above = 1.0 / (1.0 + (-(point - at) / BLUR).exp());
            let agrees = if at_least { above } else { 1.0 - above };
            sure * agrees + (1.0 - sure) * (1.0 - agrees)
        });
    }

    fn normalize(&mut self) {
        let sum: f64 = self.mass.iter().sum();
        if sum > 0.0 && sum.is_finite() {
            self.mass.iter_mut().for_each(|mass| *mass /= sum);
        } else {
            let even = 1.0 / self.mass.len() as f64;
            self.mass.fill(even);
        }
    }

    fn rate(&self, point: f64) -> f64 {
        (self.from + point * SPACING).exp()
    }

    /// The rate below which this part of the probability lies.
    pub(crate) fn quantile(&self, part: f64) -> f64 {
        let mut sum = 0.0;
        for (point, mass) in self.mass.iter().enumerate() {
            if sum + mass >= part {
                let within = if *mass > 0.0 { (part - sum) / mass } else { 0.5 };
                return self.rate(point as f64 - 0.5 + within);
            }
            sum += mass;
        }
        self.rate(self.mass.len() as f64 - 1.0)
    }

    /// How probable a rate of at least this is.
    pub(crate) fn at_least(&self, rate: f64) -> f64 {
        let first = ((rate.ln() - self.from) / SPACING).ceil().max(0.0) as usize;
        self.mass.iter().skip(first).sum()
    }

    /// The interval of highest density with this part of the probability: its lower and upper end.
    pub(crate) fn densest(&self, part: f64) -> (f64, f64) {
        let mut order: Vec<usize> = (0..self.mass.len()).collect();
        order.sort_by(|a, b| self.mass[*b].total_cmp(&self.mass[*a]));
        let (mut sum, mut low, mut high) = (0.0, usize::MAX, 0);
        for point in order {
            (low, high) = (low.min(point), high.max(point));
            sum += self.mass[point];
            if sum >= part {
                break;
            }
        }
        let low = if low == usize::MAX { 0 } else { low };
        (self.rate(low as f64 - 0.5), self.rate(high as f64 + 0.5))
    }

    /// The width of that interval, as a part of its middle.
    pub(crate) fn width(&self, part: f64) -> f64 {
        let (low, high) = self.densest(part);
        2.0 * (high - low) / (high + low)
    }

    /// The distribution of a rate that is another one's part: `density` of the logarithm of that part.
    pub(crate) fn scaled(&self, density: impl Fn(f64) -> f64) -> Self {
        let points = self.mass.len();
        let weights: Vec<f64> =
            (0..2 * points).map(|shift| density((shift as f64 - points as f64) * SPACING)).collect();
        let mut mass = vec![0.0; points];
        for (whole, part_of) in self.mass.iter().enumerate().filter(|(_, mass)| **mass > 1e-9) {
            for (point, sum) in mass.iter_mut().enumerate() {
                *sum += part_of * weights[points + point - whole];
            }
        }
        let mut part = Self { from: self.from, mass };
        part.normalize();
        part
    }
}

/// The density of a normal distribution, not normalized.
pub(crate) fn normal(value: f64, mean: f64, deviation: f64) -> f64 {
    (-0.5 * ((value - mean) / deviation).powi(2)).exp()
}

/// How probable a normal value is below this many standard deviations: the logistic approximation, within 0.01.
pub(crate) fn normal_below(deviations: f64) -> f64 {
    1.0 / (1.0 + (-1.702 * deviations).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn even() -> Posterior {
        Posterior::with_prior(1e6, 10e6, |_| 1.0)
    }

    #[test]
    fn answers_of_which_some_are_wrong_still_lead_to_the_rate() {
        let truth = 7.3e6_f64;
        let mut known = even();
        for number in 0..40 {
            let asked = known.quantile(0.5);
            let wrong = number % 6 == 2;
            known.answer(asked, (truth >= asked) != wrong, 0.8);
        }
        assert!((known.quantile(0.5) / truth - 1.0).abs() < 0.01, "{}", known.quantile(0.5));
        let (low, high) = known.densest(0.9);
        assert!(low < truth && truth < high && known.width(0.9) < 0.05, "{low}..{high}");
    }

    #[test]
    fn quantiles_and_the_densest_interval_are_those_of_the_prior() {
        let normal = Posterior::with_prior(1e6, 10e6, |at| normal(at, 4e6_f64.ln(), 0.05));
        assert!((normal.quantile(0.5) / 4e6 - 1.0).abs() < 0.002);
        let (low, high) = normal.densest(0.9);
        assert!((low.ln() - 4e6_f64.ln() + 0.0822).abs() < 0.004, "1.645 deviations: {low}");
        assert!((high.ln() - 4e6_f64.ln() - 0.0822).abs() < 0.004, "{high}");
        assert!((normal.at_least(4e6) - 0.5).abs() < 0.03);
    }

    #[test]
    fn a_part_of_a_rate_is_distributed_as_the_part() {
        let whole = Posterior::with_prior(1e6, 10e6, |at| normal(at, 4e6_f64.ln(), 0.005));
        let part = whole.scaled(|at| normal(at, 0.9_f64.ln(), 0.005));
        assert!((part.quantile(0.5) / 3.6e6 - 1.0).abs() < 0.003, "{}", part.quantile(0.5));
    }

    #[test]
    fn what_is_impossible_leaves_a_distribution() {
        let mut known = even();
        known.observe(|_| 0.0);
        assert!((known.at_least(1.0) - 1.0).abs() < 1e-9);
    }
}
