//! How much a counter grew in a window.

use rrul_model::time::{TestTime, Window};

use crate::statistics::counter::Counter;

/// How much a counter grew within `window`; `None` unless it was read inside.
pub(crate) fn growth(readings: Vec<(TestTime, u64)>, window: Window) -> Option<u64> {
    let inside = readings.len() > 1 && readings.iter().any(|(at, _)| window.contains(*at));
    let counter = Counter::new(readings);
    inside.then(|| (counter.at(window.to) - counter.at(window.from)).round() as u64)
}
