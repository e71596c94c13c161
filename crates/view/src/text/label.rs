//! Short names of flows for legends and tables.

use rrul_analysis::flow_label::FlowLabel;
use rrul_model::flow::{AddressFamily, Direction};
use rrul_model::flow_kind::FlowKind;
use rrul_model::marking::ServiceClass;

/// What a name has to say about a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Naming {
    /// The class: all flows are streams of one direction. `BE`, `EF v6`.
    Streams,
    /// The type too: `UDP EF`, `ICMP`, `VoIP EF up`.
    Probes,
}

/// One name per flow, all different.
///
/// Families are named only if both are present. Flows that would have the same name say in which of the plan's
/// parameters they differ; those that nothing distinguishes are numbered.
pub(crate) fn names(flows: &[&FlowLabel], naming: Naming) -> Vec<String> {
    let both_families = AddressFamily::ALL.iter().all(|family| flows.iter().any(|flow| flow.family == *family));
    let plain: Vec<String> = flows.iter().map(|flow| name(flow, naming, both_families)).collect();
    let varied = |(flow, name): (&&FlowLabel, &String)| {
        let alike: Vec<_> =
            flows.iter().zip(&plain).filter(|(_, other)| *other == name).map(|(flow, _)| flow).collect();
        let differs = |pair: &&(String, String)| alike.iter().any(|other| !other.parameters.contains(pair));
        let values = flow.parameters.iter().filter(differs).map(|(_, value)| value.as_str());
        std::iter::once(name.as_str()).chain(values).collect::<Vec<_>>().join(" ")
    };
    let plain: Vec<String> = flows.iter().zip(&plain).map(varied).collect();
    let numbered = |(index, name): (usize, &String)| {
        if plain.iter().filter(|other| *other == name).count() == 1 {
            return name.clone();
        }
        format!("{name} #{}", plain[..index].iter().filter(|other| *other == name).count() + 1)
    };
    plain.iter().enumerate().map(numbered).collect()
}

fn name(flow: &FlowLabel, naming: Naming, both_families: bool) -> String {
    let mut words = Vec::new();
    let class = flow.class.to_string();
    if naming == Naming::Probes {
        words.push(type_word(flow));
    }
    // Echo requests are best effort unless the plan says otherwise.
    if !(naming == Naming::Probes && is_icmp(flow) && flow.class == ServiceClass::BE) {
        words.push(&class);
    }
    match flow.direction {
        Some(Direction::Up) if naming == Naming::Probes => words.push("up"),
        Some(Direction::Down) if naming == Naming::Probes => words.push("down"),
        _ => {}
    }
    if both_families {
        words.push(family_word(flow.family));
    }
    words.join(" ")
}

/// The word for a family in narrow places.
pub(crate) fn family_word(family: AddressFamily) -> &'static str {
    match family {
        AddressFamily::Ipv4 => "v4",
        AddressFamily::Ipv6 => "v6",
    }
}

/// The short word for a flow type; a type without one is named as it is.
fn type_word(flow: &FlowLabel) -> &str {
    flow.kind().label().unwrap_or(&flow.flow_type)
}

/// Whether a flow is ICMP echo, which networks often treat apart from what applications send.
pub(crate) fn is_icmp(flow: &FlowLabel) -> bool {
    flow.kind() == FlowKind::IcmpEcho
}

#[cfg(test)]
mod tests {
    use rrul_model::flow::{Component, FlowId};

    use super::*;

    fn flow(flow_type: &str, class: ServiceClass, family: AddressFamily) -> FlowLabel {
        FlowLabel {
            id: FlowId(0),
            name: String::new(),
            flow_type: flow_type.to_owned(),
            component: Component::Realtime,
            direction: None,
            family,
            class,
            parameters: Vec::new(),
        }
    }

    #[test]
    fn flows_are_named_by_what_distinguishes_them() {
        use AddressFamily::{Ipv4, Ipv6};
        let (be, ef) = (ServiceClass::BE, ServiceClass::EF);
        let udp = flow("udp_probe", ef, Ipv4);
        let icmp = flow("icmp_echo", be, Ipv4);
        assert_eq!(names(&[&udp, &icmp], Naming::Probes), ["UDP EF", "ICMP"]);
        let udp6 = flow("udp_probe", ef, Ipv6);
        assert_eq!(names(&[&udp, &udp6], Naming::Probes), ["UDP EF v4", "UDP EF v6"]);
        let bulk = flow("bulk_tcp", be, Ipv6);
        assert_eq!(names(&[&bulk, &bulk], Naming::Streams), ["BE #1", "BE #2"]);
        assert_eq!(names(&[&flow("quic", be, Ipv4)], Naming::Probes), ["quic BE"]);
        let with = |control: &str| {
            let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
            let parameters = vec![pair("congestion_control", control), pair("buffer", "1MB")];
            FlowLabel { parameters, ..flow("bulk_tcp", be, Ipv4) }
        };
        let (reno, bbr) = (with("reno"), with("bbr"));
        assert_eq!(names(&[&reno, &bbr, &bbr], Naming::Streams), ["BE reno", "BE bbr #1", "BE bbr #2"]);
    }
}
