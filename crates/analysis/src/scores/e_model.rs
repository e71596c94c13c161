//! The E-model: what a listener would say of a call over this path (ITU-T G.107), from delay and loss alone.
//!
//! G.107 sums impairments on a scale of 0 to 100. With all other parameters at their defaults what is left is
//! R = 93.2 - Idd(Ta) - Ie,eff. The parameters of G.711 are those of G.113: Ie = 0, and Bpl by how the receiver conceals
//! what it misses. The model was made for losses up to 20 %; beyond, it goes on as a formula.

use rrul_model::units::Delay;

/// R of a call without any delay or loss, all parameters at their defaults.
const R_DEFAULT: f64 = 93.2;
/// Equipment impairment of G.711 without loss (G.113).
const IE: f64 = 0.0;
/// The range of the burst ratio: losses that are spread more evenly than by chance count as random.
const FEWEST_BURSTS: f64 = 1.0;
const MOST_BURSTS: f64 = 8.0;

/// What the receiver plays in place of a packet that it misses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Concealment {
    /// What the packets before sounded like (packet loss concealment, G.711 appendix I).
    Plc,
    None,
}

impl Concealment {
    /// Packet-loss robustness of G.711 with 10 ms packets (G.113 appendix I).
    fn robustness(self) -> f64 {
        match self {
            Self::Plc => 25.1,
            Self::None => 4.3,
        }
    }
}

/// What the path does to a call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Impairment {
    /// From mouth to ear (Ta): one way over the network, packetisation and play-out.
    pub mouth_to_ear: Delay,
    /// Share of the packets that are not there when they are to be played, 0 to 1.
    pub loss: f64,
    /// Mean burst of losses over that of random loss at the same rate (BurstR); 1 is random.
    pub burst_ratio: f64,
}

impl Impairment {
    /// The rating R, at most 93.2; it may fall below 0 where nothing can be understood.
    pub fn rating(&self, concealment: Concealment) -> f64 {
        R_DEFAULT - delay_impairment(self.mouth_to_ear) - self.equipment_impairment(concealment)
    }

    /// Ie,eff of G.107: losses weigh more the worse they are concealed and the more they come in bursts.
    fn equipment_impairment(&self, concealment: Concealment) -> f64 {
        let percent = self.loss.clamp(0.0, 1.0) * 100.0;
        // The formula is not made for more: with long bursts it would rate a few of them as if nothing had come.
        let burst_ratio = self.burst_ratio.clamp(FEWEST_BURSTS, MOST_BURSTS);
        IE + (95.0 - IE) * percent / (percent / burst_ratio + concealment.robustness())
    }
}

/// Idd of G.107: what delay alone costs a conversation; nothing up to 100 ms.
fn delay_impairment(mouth_to_ear: Delay) -> f64 {
    let milliseconds = mouth_to_ear.0 as f64 / 1e6;
    if milliseconds <= 100.0 {
        return 0.0;
    }
    let x = (milliseconds / 100.0).log2();
    let root = |value: f64| (1.0 + value.powi(6)).powf(1.0 / 6.0);
    25.0 * (root(x) - 3.0 * root(x / 3.0) + 2.0)
}

/// The mean opinion score that a rating stands for, 1 (bad) to 4.5 (G.107 annex B).
///
/// The formula dips to 0.989 and rises with falling R below 3.22; it is cut to 1 there, so that worse is never better.
pub fn mean_opinion_score(rating: f64) -> f64 {
    if rating <= 0.0 {
        return 1.0;
    }
    if rating >= 100.0 {
        return 4.5;
    }
    (1.0 + 0.035 * rating + rating * (rating - 60.0) * (100.0 - rating) * 7e-6).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(milliseconds: i64) -> Impairment {
        Impairment { mouth_to_ear: Delay(milliseconds * 1_000_000), loss: 0.0, burst_ratio: 1.0 }
    }

    fn losing(percent: f64) -> Impairment {
        Impairment { loss: percent / 100.0, ..after(0) }
    }

    fn close(found: f64, expected: f64, tolerance: f64) {
        assert!((found - expected).abs() <= tolerance, "{found} instead of {expected}");
    }

    #[test]
    fn a_call_without_delay_or_loss_has_the_default_rating() {
        for milliseconds in [-5, 0, 40, 100] {
            close(after(milliseconds).rating(Concealment::Plc), 93.2, 1e-9);
        }
        close(mean_opinion_score(93.2), 4.41, 0.005);
    }

    #[test]
    fn delay_costs_what_g_107_says() {
        for (milliseconds, impairment, score) in
            [(150, 0.16, 4.41), (200, 3.04, 4.34), (300, 14.76, 3.96), (400, 24.07, 3.56), (1000, 43.8, 2.54)]
        {
            let rating = after(milliseconds).rating(Concealment::Plc);
            close(93.2 - rating, impairment, 0.05);
            close(mean_opinion_score(rating), score, 0.01);
        }
    }

    #[test]
    fn loss_costs_what_g_107_says_with_and_without_concealment() {
        for (percent, rating) in [(1.0, 89.6), (5.0, 77.4), (10.0, 66.1)] {
            close(losing(percent).rating(Concealment::Plc), rating, 0.05);
        }
        for (percent, rating, score) in [(1.0, 75.3, 3.83), (5.0, 42.1, 2.17)] {
            close(losing(percent).rating(Concealment::None), rating, 0.05);
            close(mean_opinion_score(losing(percent).rating(Concealment::None)), score, 0.01);
        }
    }

    #[test]
    fn losses_in_bursts_cost_more_than_scattered_ones() {
        let bursty = Impairment { burst_ratio: 4.0, ..losing(8.0) };
        // By hand: 95 * 8 / (8 / 4 + 25.1).
        close(93.2 - bursty.rating(Concealment::Plc), 28.044, 0.001);
        assert!(bursty.rating(Concealment::Plc) < losing(8.0).rating(Concealment::Plc));
        let rated = |burst_ratio| Impairment { burst_ratio, ..losing(8.0) }.rating(Concealment::Plc);
        close(rated(500.0), rated(8.0), 1e-9);
        close(rated(0.9), rated(1.0), 1e-9);
    }

    #[test]
    fn the_score_never_rises_as_anything_gets_worse() {
        for (better, worse) in (0..2000).map(|step| (f64::from(step) / 10.0 - 50.0, f64::from(step) / 10.0 - 50.1)) {
            assert!(mean_opinion_score(better) >= mean_opinion_score(worse), "at R {better}");
        }
        for percent in 0..100 {
            let (less, more) = (losing(f64::from(percent)), losing(f64::from(percent + 1)));
            for concealment in [Concealment::Plc, Concealment::None] {
                assert!(less.rating(concealment) > more.rating(concealment));
            }
        }
        for milliseconds in 0..3000 {
            assert!(after(milliseconds).rating(Concealment::Plc) >= after(milliseconds + 1).rating(Concealment::Plc));
        }
    }

    #[test]
    fn what_cannot_be_understood_has_the_lowest_score_and_no_input_breaks_it() {
        let hopeless = Impairment { mouth_to_ear: Delay(i64::MAX), loss: 7.0, burst_ratio: f64::INFINITY };
        assert!((mean_opinion_score(hopeless.rating(Concealment::None)) - 1.0).abs() < f64::EPSILON);
        let odd = Impairment { mouth_to_ear: Delay(i64::MIN), loss: -1.0, burst_ratio: 0.0 };
        close(odd.rating(Concealment::Plc), 93.2, 1e-9);
    }
}
