//! What the browser took of the client's processors while it loaded pages under the load.

use std::collections::BTreeMap;

use rrul_model::flow::FlowId;
use rrul_model::observation::ObservationPoint;
use rrul_model::recording::Recording;
use rrul_model::time::{TestTime, Window};
use rrul_model::units::Delay;
use schemars::JsonSchema;
use serde::Serialize;

use crate::metrics::host::processor_load::shared_seconds;
use crate::statistics::counter::Counter;

/// A browser that takes less than this part of a second of processor time waits for the network.
const WORKS: f64 = 0.05;

/// CPU time that the browser took while the load ran.
///
/// A browser uses the same CPU cores as the load. Null if it loaded no page during the load.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "Browser")]
pub struct BrowserLoad {
    /// CPU time of the browser during the load phase, all processes.
    ///
    /// Source: proc(5), /proc/PID/stat.
    #[serde(rename = "process_ns")]
    pub process: Delay,
    /// Seconds of the load phase in which it loaded a page.
    pub seconds: u32,
    /// Share of them in which it took over 5 % of a core while one core was over 95 % busy and none under 50 %: browser
    /// and load shared a saturated core.
    ///
    /// Unit: share. Source: spec, Test Requirements.
    pub contended: f64,
}

/// What the browser took of the client's processors during `load`; `None` where it loaded no page then.
pub(crate) fn browser_load(recording: &Recording, load: Window) -> Option<BrowserLoad> {
    let client = || recording.tables_of(ObservationPoint::Client);
    let mut times: BTreeMap<FlowId, Vec<(TestTime, u64)>> = BTreeMap::new();
    for row in client().flat_map(|tables| tables.browser_time.rows()) {
        let spent = u64::try_from(row.user.0.saturating_add(row.system.0)).unwrap_or(0);
        times.entry(row.flow).or_default().push((row.at, spent));
    }
    let pages = client().flat_map(|tables| tables.page_load.rows()).filter(|row| times.contains_key(&row.flow));
    let pages: Vec<Window> = pages
        .map(|row| Window { from: row.started, to: TestTime(row.started.0.saturating_add(row.took.0)) })
        .filter(|page| page.overlaps(&load))
        .collect();
    if pages.is_empty() {
        return None;
    }
    let counters: Vec<Counter> = times.into_values().map(Counter::new).collect();
    let spent = |window: Window| counters.iter().map(|time| time.at(window.to) - time.at(window.from)).sum::<f64>();
    let seconds = shared_seconds(recording, ObservationPoint::Client, load);
    let loading: Vec<(Window, bool)> =
        seconds.into_iter().filter(|(second, _)| pages.iter().any(|page| page.overlaps(second))).collect();
    let works = |second: Window| spent(second) > second.length().as_nanos() as f64 * WORKS;
    let contended = loading.iter().filter(|(second, shared)| *shared && works(*second)).count();
    Some(BrowserLoad {
        process: Delay(spent(load).max(0.0).round() as i64),
        seconds: u32::try_from(loading.len()).unwrap_or(u32::MAX),
        contended: if loading.is_empty() { 0.0 } else { contended as f64 / loading.len() as f64 },
    })
}
