//! Random numbers of a seed.

use rrul_model::random::Random;

pub(crate) struct Chance(Random);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Random(seed.wrapping_mul(0x2545_F491_4F6C_DD1D) ^ 0x1234_5678))
    }

    /// Between 0 and 1.
    pub(crate) fn even(&mut self) -> f64 {
        self.0.unit()
    }

    pub(crate) fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.even()
    }

    pub(crate) fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.even()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.even()).cos()
    }

    /// Above 0, with this 95th percentile.
    pub(crate) fn exponential(&mut self, p95: f64) -> f64 {
        -(1.0 - self.even()).ln() * p95 / 20.0_f64.ln()
    }
}
