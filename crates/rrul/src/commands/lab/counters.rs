//! Counters of a link's queues as JSON.

use rrul_lab::queue::ClassCounters;
use rrul_lab::{DirectionCounters, LinkCounters, QueueCounters};
use serde_json::{Value, json};

/// One object with `up` and `down`, each with `line` and `shaper`; `shaper` is null without one.
pub(super) fn counters_json(counters: &LinkCounters) -> Value {
    json!({ "up": direction(&counters.up), "down": direction(&counters.down) })
}

fn direction(counters: &DirectionCounters) -> Value {
    json!({ "line": queue(&counters.line), "shaper": counters.shaper.as_ref().map(queue) })
}

fn queue(counters: &QueueCounters) -> Value {
    json!({
        "discipline": counters.discipline,
        "rate_bps": counters.rate.0,
        "packets": counters.packets,
        "octets": counters.octets.0,
        "link_octets": counters.link_octets.0,
        "overflows": counters.overflows,
        "aqm_drops": counters.aqm_drops,
        "marks": counters.marks,
        "backlog_packets": counters.backlog_packets,
        "backlog_octets": counters.backlog.0,
        "classes": counters.classes.iter().map(class).collect::<Vec<Value>>(),
    })
}

fn class(counters: &ClassCounters) -> Value {
    json!({
        "name": counters.name,
        "threshold_bps": counters.threshold.0,
        "packets": counters.packets,
        "octets": counters.octets.0,
        "drops": counters.drops,
        "marks": counters.marks,
        "backlog_octets": counters.backlog.0,
    })
}
