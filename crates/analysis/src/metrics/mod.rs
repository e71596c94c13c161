//! One file a metric, each from a recording to numbers, in folders by concern. docs/metrics.md says what each is.

pub mod delay;
pub mod host;
pub mod loss;
pub mod marking;
pub mod octets;
pub mod path;
pub mod rate;
pub mod sharing;
pub mod tcp;
pub mod voice;
pub mod web;
