//! How flows look in a chart: name, colour and stroke pattern, the same in every panel.

use rrul_analysis::analysis::FlowLabel;
use rrul_model::flow::AddressFamily;

use crate::figure::Dash;
use crate::label::{Naming, is_icmp, names};
use crate::theme::Theme;

/// How one flow looks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FlowLook {
    /// Its name beside the others.
    pub(crate) name: String,
    /// The colour of its class.
    pub(crate) colour: &'static str,
    /// IPv6 is dashed where there are both families, ICMP dotted.
    pub(crate) dash: Dash,
}

/// The looks of flows that are drawn together.
pub(crate) fn flow_looks(flows: &[&FlowLabel], naming: Naming, theme: &Theme) -> Vec<FlowLook> {
    let both_families = AddressFamily::ALL.iter().all(|family| flows.iter().any(|flow| flow.family == *family));
    let look = |(flow, name): (&&FlowLabel, String)| {
        let dash = match flow.family {
            _ if is_icmp(flow) => Dash::Dotted,
            AddressFamily::Ipv6 if both_families => Dash::Dashed,
            _ => Dash::Solid,
        };
        FlowLook { name, colour: theme.class(flow.class), dash }
    };
    flows.iter().zip(names(flows, naming)).map(look).collect()
}
