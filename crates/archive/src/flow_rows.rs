//! The flows of a run as rows of table `flows`.

use std::collections::HashMap;

use rrul_analysis::Analysis;
use rrul_analysis::flow_label::FlowLabel;
use rrul_analysis::metrics::loss::packet_count::Loss;
use rrul_analysis::metrics::rate::goodput::GoodputFlow;
use rrul_model::flow::Direction;

use crate::tables::FlowRow;
use crate::vocabulary::flow_type;

/// Rows of the streams of the load, then of the probes by phase. `names` has a name for each flow by that in the recording.
pub(crate) fn flow_rows(run_key: Option<i64>, analysis: &Analysis, names: &HashMap<String, String>) -> Vec<FlowRow> {
    let row = |flow: &FlowLabel, phase: &str| FlowRow {
        run_key,
        phase: Some(phase.to_owned()),
        flow: names.get(&flow.name).cloned(),
        flow_type: Some(flow_type(flow.kind(), &flow.flow_type).to_owned()),
        class: Some(flow.class.to_string()),
        family: Some(flow.family.to_string()),
        direction: flow.direction.map(|direction| direction.name().to_owned()),
        ..FlowRow::default()
    };
    let streams = Direction::ALL.into_iter().flat_map(|direction| &analysis.goodput(direction).flows);
    let stream = |entry: &GoodputFlow| {
        let loss = analysis.loss.tcp.iter().find(|loss| loss.flow.id == entry.flow.id);
        FlowRow {
            octets: count(entry.octets.0),
            goodput_bps: count(entry.mean.0),
            retransmitted_ppm: entry.retransmitted.map(|share| share * 1e6),
            segments: loss.map(|loss| i64::from(loss.segments)),
            retransmitted: loss.map(|loss| i64::from(loss.retransmitted)),
            ..row(&entry.flow, "load")
        }
    };
    let probes = analysis.round_trip_delay.flows.iter().flat_map(|entry| {
        let phases = [
            ("idle", &entry.delays.idle),
            ("load", &entry.delays.load),
            ("unscored", &entry.delays.unscored),
            ("web", &entry.delays.web),
            ("after", &entry.delays.after),
        ];
        let known = phases.into_iter().filter_map(|(phase, delays)| Some((phase, delays.as_ref()?)));
        known.map(|(phase, delays)| (entry, phase, Loss { sent: delays.n, lost: delays.lost })).collect::<Vec<_>>()
    });
    let probe = probes.map(|(entry, phase, loss)| FlowRow {
        packets: count(loss.sent),
        lost: count(loss.lost),
        ..row(&entry.flow, phase)
    });
    streams.map(stream).chain(probe).collect()
}

fn count(value: u64) -> Option<i64> {
    i64::try_from(value).ok()
}
