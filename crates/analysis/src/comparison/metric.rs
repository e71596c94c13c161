//! The figures by which runs are compared, each with what is better and with the least difference that matters.
//!
//! The least difference is of use and not of chance: a difference too small to notice is called the same, however
//! certain it is. It is the greater of an absolute part and of a part of the larger figure. docs/comparison.md lists
//! them.

use schemars::JsonSchema;
use serde::Serialize;

/// A figure of a run that is compared with that of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ComparedMetric {
    /// Median of what the load adds to round-trip delay.
    AddedDelayP50,
    /// 95th percentile of the same.
    AddedDelayP95,
    /// Median of round-trip delay under load.
    LoadedDelayP50,
    /// 95th percentile of the same.
    LoadedDelayP95,
    /// 99th percentile of the same.
    LoadedDelayP99,
    /// Share of probe packets lost under load.
    Loss,
    /// Mean page load time under load.
    PageLoad,
    /// Median DNS lookup time under load.
    #[serde(rename = "lookup_p50")]
    Lookup,
    /// Median time to connect under load.
    #[serde(rename = "connect_p50")]
    Connect,
    /// Goodput, server to client.
    Download,
    /// Goodput, client to server.
    Upload,
    /// Evenness among the streams, server to client.
    EvennessDown,
    /// Evenness among the streams, client to server.
    EvennessUp,
    /// The specification's main score.
    WebScore,
    /// The score of five parts.
    CompositeScore,
    /// The worst opinion of a call under load.
    CallOpinion,
    /// Round trips per minute.
    Responsiveness,
}

/// What a figure counts; the base unit of its value in data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    /// Time, nanoseconds.
    Delay,
    /// Bits per second.
    Rate,
    /// A part of all, 0 to 1.
    Share,
    /// Jain's index, up to 1.
    Evenness,
    /// Points of 100.
    Points,
    /// Mean opinion score, 1 to 4.41.
    Opinion,
    PerMinute,
}

impl Quantity {
    pub(crate) const UNITS: [&str; 7] = ["ns", "bit/s", "share", "index", "points", "MOS", "1/min"];

    pub fn unit(self) -> &'static str {
        match self {
            Self::Delay => "ns",
            Self::Rate => "bit/s",
            Self::Share => "share",
            Self::Evenness => "index",
            Self::Points => "points",
            Self::Opinion => "MOS",
            Self::PerMinute => "1/min",
        }
    }

    /// Whether "so many times as much" says something: of an amount that begins at nothing and has no upper end.
    pub fn has_factor(self) -> bool {
        matches!(self, Self::Delay | Self::Rate | Self::PerMinute)
    }

    /// Amounts below this cannot be distinguished from zero, so no factor divides by less. Of delay, timers and
    /// scheduling of ordinary hosts; of the others one unit.
    pub fn floor(self) -> f64 {
        if self == Self::Delay { 100_000.0 } else { 1.0 }
    }
}

/// The direction that is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
}

/// The least difference that matters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Margin {
    /// In the figure's base unit.
    pub absolute: f64,
    /// As a part of the larger of two figures.
    pub relative: f64,
}

impl Margin {
    /// Between these two figures. What is infinite is left out of it.
    pub fn between(self, first: f64, second: f64) -> f64 {
        let larger =
            [first, second].into_iter().filter(|value| value.is_finite()).fold(0.0, |most, v| v.abs().max(most));
        self.absolute.max(self.relative * larger)
    }
}

impl ComparedMetric {
    /// All, in the order in which they are reported.
    pub const ALL: [Self; 17] = [
        Self::AddedDelayP50,
        Self::AddedDelayP95,
        Self::LoadedDelayP50,
        Self::LoadedDelayP95,
        Self::LoadedDelayP99,
        Self::Loss,
        Self::PageLoad,
        Self::Lookup,
        Self::Connect,
        Self::Download,
        Self::Upload,
        Self::EvennessDown,
        Self::EvennessUp,
        Self::WebScore,
        Self::CompositeScore,
        Self::CallOpinion,
        Self::Responsiveness,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::AddedDelayP50 => "added_delay_p50",
            Self::AddedDelayP95 => "added_delay_p95",
            Self::LoadedDelayP50 => "loaded_delay_p50",
            Self::LoadedDelayP95 => "loaded_delay_p95",
            Self::LoadedDelayP99 => "loaded_delay_p99",
            Self::Loss => "loss",
            Self::PageLoad => "page_load",
            Self::Lookup => "lookup_p50",
            Self::Connect => "connect_p50",
            Self::Download => "download",
            Self::Upload => "upload",
            Self::EvennessDown => "evenness_down",
            Self::EvennessUp => "evenness_up",
            Self::WebScore => "web_score",
            Self::CompositeScore => "composite_score",
            Self::CallOpinion => "call_opinion",
            Self::Responsiveness => "responsiveness",
        }
    }

    pub fn quantity(self) -> Quantity {
        match self {
            Self::AddedDelayP50
            | Self::AddedDelayP95
            | Self::LoadedDelayP50
            | Self::LoadedDelayP95
            | Self::LoadedDelayP99
            | Self::PageLoad
            | Self::Lookup
            | Self::Connect => Quantity::Delay,
            Self::Loss => Quantity::Share,
            Self::Download | Self::Upload => Quantity::Rate,
            Self::EvennessDown | Self::EvennessUp => Quantity::Evenness,
            Self::WebScore | Self::CompositeScore => Quantity::Points,
            Self::CallOpinion => Quantity::Opinion,
            Self::Responsiveness => Quantity::PerMinute,
        }
    }

    /// The direction that is better.
    pub fn better(self) -> Better {
        match self.quantity() {
            Quantity::Delay | Quantity::Share => Better::Lower,
            _ => Better::Higher,
        }
    }

    /// The least difference that matters.
    pub fn margin(self) -> Margin {
        let (absolute, relative) = match self {
            // Pages are read by people, who tell a twentieth of a second no better.
            Self::PageLoad => (50e6, 0.1),
            Self::Download | Self::Upload => (100e3, 0.05),
            Self::Responsiveness => (50.0, 0.1),
            _ => match self.quantity() {
                Quantity::Share => (0.001, 0.1),
                Quantity::Evenness => (0.05, 0.0),
                Quantity::Points => (5.0, 0.0),
                Quantity::Opinion => (0.1, 0.0),
                _ => (5e6, 0.1),
            },
        };
        Margin { absolute, relative }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_metric_stands_once_and_has_a_name_of_its_own() {
        let names: HashSet<&str> = ComparedMetric::ALL.iter().map(|metric| metric.name()).collect();
        assert_eq!(names.len(), ComparedMetric::ALL.len());
        assert!(ComparedMetric::ALL.is_sorted());
        assert!(ComparedMetric::ALL.iter().all(|metric| serde_json::to_value(metric).unwrap() == metric.name()));
    }

    #[test]
    fn the_margin_is_the_greater_of_both_parts_and_the_same_either_way() {
        let margin = ComparedMetric::LoadedDelayP50.margin();
        assert!((margin.between(20e6, 30e6) - 5e6).abs() < 1.0);
        assert!((margin.between(200e6, 20e6) - 20e6).abs() < 1.0);
        assert!((margin.between(20e6, 200e6) - 20e6).abs() < 1.0);
        assert!((margin.between(f64::INFINITY, 200e6) - 20e6).abs() < 1.0);
    }
}
