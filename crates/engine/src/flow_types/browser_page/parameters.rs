//! Parameters of a browser page, with their defaults and limits.

use std::time::Duration;

use rrul_model::flow::FlowSpec;

/// The parameter that names a site.
pub(crate) const URL: &str = "url";

const DEFAULT_INTERVAL: Duration = Duration::from_secs(10);
const SHORTEST_INTERVAL: Duration = Duration::from_secs(1);
const DEFAULT_CAP: Duration = Duration::from_secs(30);
const SHORTEST_CAP: Duration = Duration::from_millis(100);

/// Returns the time from one load to the next.
pub(super) fn interval_of(spec: &FlowSpec) -> Duration {
    spec.parameters.duration("interval", DEFAULT_INTERVAL).max(SHORTEST_INTERVAL)
}

/// Returns the time after which a load is given up.
pub(super) fn cap_of(spec: &FlowSpec) -> Duration {
    spec.parameters.duration("cap", DEFAULT_CAP).max(SHORTEST_CAP)
}
