//! What a difference amounts to.

use schemars::JsonSchema;
use serde::Serialize;

use super::metric::Better;
use crate::statistics::block_bootstrap::ConfidenceInterval;

/// What is found of one figure, or of several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Finding {
    /// However the truth lies within the interval, the difference does not matter.
    Same,
    /// The other is better: the interval is on that side of zero, and the difference matters.
    Better,
    /// The other is worse, by the same rule.
    Worse,
    /// None of these can be said.
    Inconclusive,
    /// A figure is missing on one side, or on both.
    NotMeasured,
}

impl Finding {
    /// Judges a difference, other less reference, by its interval and the least difference that matters.
    ///
    /// - `Same`: the whole interval is within the margin either side of zero.
    /// - `Better`, `Worse`: the whole interval is on one side of zero, and the difference is beyond the margin.
    pub fn judge(difference: f64, interval: ConfidenceInterval, margin: f64, better: Better) -> Self {
        let (gain, low, high) = match better {
            Better::Higher => (difference, interval.low, interval.high),
            Better::Lower => (-difference, -interval.high, -interval.low),
        };
        if low >= -margin && high <= margin {
            Self::Same
        } else if low > 0.0 && gain > margin {
            Self::Better
        } else if high < 0.0 && gain < -margin {
            Self::Worse
        } else {
            Self::Inconclusive
        }
    }

    /// Combines the findings of several figures: better or worse if one is and none is the opposite; the same if all are.
    pub fn together(findings: &[Self]) -> Self {
        let measured: Vec<Self> = findings.iter().copied().filter(|finding| *finding != Self::NotMeasured).collect();
        let any = |wanted| measured.contains(&wanted);
        match (any(Self::Better), any(Self::Worse)) {
            (true, false) => Self::Better,
            (false, true) => Self::Worse,
            (false, false) if measured.is_empty() => Self::NotMeasured,
            (false, false) if measured.iter().all(|finding| *finding == Self::Same) => Self::Same,
            (true, true) | (false, false) => Self::Inconclusive,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(difference: f64, low: f64, high: f64, better: Better) -> Finding {
        Finding::judge(difference, ConfidenceInterval { low, high }, 5.0, better)
    }

    #[test]
    fn the_rule_is_exact_at_its_edges() {
        use Better::{Higher, Lower};
        assert_eq!(finding(0.0, -5.0, 5.0, Higher), Finding::Same);
        assert_eq!(finding(0.0, -5.1, 5.0, Higher), Finding::Inconclusive);
        assert_eq!(finding(4.0, 3.0, 5.0, Higher), Finding::Same, "sure, and of no use");
        assert_eq!(finding(4.0, 3.0, 9.0, Higher), Finding::Inconclusive, "sure, and perhaps of use");
        assert_eq!(finding(6.0, 0.1, 12.0, Higher), Finding::Better);
        assert_eq!(finding(6.0, 0.0, 12.0, Higher), Finding::Inconclusive);
        assert_eq!(finding(6.0, 0.1, 12.0, Lower), Finding::Worse);
        assert_eq!(finding(-6.0, -12.0, -0.1, Lower), Finding::Better);
        assert_eq!(finding(f64::INFINITY, 20.0, f64::INFINITY, Lower), Finding::Worse);
    }

    #[test]
    fn several_agree_or_nothing_is_reported() {
        use Finding::{Better, Inconclusive, NotMeasured, Same, Worse};
        assert_eq!(Finding::together(&[Better, Same]), Better);
        assert_eq!(Finding::together(&[Better, Inconclusive, NotMeasured]), Better);
        assert_eq!(Finding::together(&[Better, Worse]), Inconclusive);
        assert_eq!(Finding::together(&[Same, Inconclusive]), Inconclusive);
        assert_eq!(Finding::together(&[Same, Same]), Same);
        assert_eq!(Finding::together(&[NotMeasured]), NotMeasured);
    }
}
