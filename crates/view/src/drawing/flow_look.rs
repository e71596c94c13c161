//! How flows look in a chart: name, color and stroke pattern, the same in every panel.

use rrul_analysis::flow_label::FlowLabel;
use rrul_model::flow::AddressFamily;
use rrul_model::marking::ServiceClass;

use crate::drawing::figure::Dash;
use crate::text::label::{Naming, is_icmp, names};
use crate::theme::Theme;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FlowLook {
    /// Its name beside the others.
    pub(crate) name: String,
    /// The color of its class, or of its kind within the class.
    pub(crate) colour: &'static str,
    /// IPv6 is dashed with both families, ICMP dotted.
    pub(crate) dash: Dash,
}

/// The colors of flows that are drawn together: that of the class, unless the plan sets streams of one class apart by a
/// parameter. Then each kind has a color of its own, as far as they reach.
pub(crate) fn flow_colours(flows: &[&FlowLabel], theme: &Theme) -> Vec<&'static str> {
    // Of several values, only what differs between flows of one class sets them apart.
    let differing = |flow: &FlowLabel| -> Vec<(String, String)> {
        let alike = || flows.iter().filter(|other| other.class == flow.class);
        let differs = |pair: &&(String, String)| alike().any(|other| !other.parameters.contains(pair));
        flow.parameters.iter().filter(differs).cloned().collect()
    };
    let kinds: Vec<_> = flows.iter().map(|flow| (flow.class, differing(flow))).collect();
    let mut distinct: Vec<&(ServiceClass, Vec<(String, String)>)> = Vec::new();
    for kind in &kinds {
        if !distinct.contains(&kind) {
            distinct.push(kind);
        }
    }
    let set_apart = distinct.iter().any(|kind| distinct.iter().filter(|other| other.0 == kind.0).count() > 1);
    let enough = distinct.len() <= theme.variants.len();
    let colour = |kind: &(ServiceClass, Vec<(String, String)>)| {
        let place = distinct.iter().position(|other| **other == *kind).filter(|_| set_apart && enough);
        place.and_then(|place| theme.variant(place)).unwrap_or_else(|| theme.class(kind.0))
    };
    kinds.iter().map(colour).collect()
}

/// The looks of flows that are drawn together.
pub(crate) fn flow_looks(flows: &[&FlowLabel], naming: Naming, theme: &Theme) -> Vec<FlowLook> {
    let both_families = AddressFamily::ALL.iter().all(|family| flows.iter().any(|flow| flow.family == *family));
    let look = |((flow, name), colour): ((&&FlowLabel, String), &'static str)| {
        let dash = match flow.family {
            _ if is_icmp(flow) => Dash::Dotted,
            AddressFamily::Ipv6 if both_families => Dash::Dashed,
            _ => Dash::Solid,
        };
        FlowLook { name, colour, dash }
    };
    flows.iter().zip(names(flows, naming)).zip(flow_colours(flows, theme)).map(look).collect()
}
