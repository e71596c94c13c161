//! Plans of beds: the length of each phase, and the flows.

use std::fmt::Write;

/// A plan of these phases and flows. Each flow is its type and what else is to be said of it; streams of the load run
/// during the load, all else all the time unless it says otherwise.
pub(crate) fn plan(phases: &str, flows: &[(&str, &str)]) -> String {
    let mut text = format!("title = \"a bed\"\noverhead = \"none\"\nphases = {{ {phases} }}\n");
    for (number, (flow_type, more)) in flows.iter().enumerate() {
        let component = match *flow_type {
            "bulk_tcp" => "load\"\nduring = [\"load\"]\n",
            "voip" => "voip\"\n",
            "web_page" => "web\"\n",
            "marking_sweep" => "analysis\"\n",
            _ => "realtime\"\n",
        };
        let _ = write!(text, "[flow.f{number}]\ntype = \"{flow_type}\"\ncomponent = \"{component}{more}\n");
    }
    text
}

/// In each direction.
pub(crate) const BOTH_WAYS: &str = "each.direction = [\"down\", \"up\"]\n";
/// In three service classes.
pub(crate) const THREE_CLASSES: &str = "each.class = [\"EF\", \"BK\", \"BE\"]\n";
