//! What the pooled probes of runs are called: the one place with these words.

use rrul_analysis::Analysis;
use rrul_analysis::metrics::delay::round_trip_delay::DelayFlow;
use rrul_analysis::packets::probe_pool::{of_one_kind, pooled};

use crate::text::label::is_icmp;

/// Pooled probes where the pool leaves out classes.
const CLASSES: &str = "probes (BE and EF)";
/// Pooled probes where it has every class, and leaves out probes of other kinds.
const UDP: &str = "UDP probes";
const ICMP: &str = "ICMP probes";
/// Pooled probes where it leaves out nothing.
const ALL: &str = "all probes";

/// Returns the name of the pooled probes of these runs, by the run whose pool leaves out most.
pub(crate) fn pooled_name(runs: &[&Analysis]) -> &'static str {
    let has = |name: &str| runs.iter().any(|run| name_of(&run.round_trip_delay.flows) == name);
    [CLASSES, UDP, ICMP].into_iter().find(|name| has(name)).unwrap_or(ALL)
}

/// Returns the name of the pooled probes among lines of probes, with little room.
pub(crate) fn pooled_label(run: &Analysis) -> &'static str {
    match pooled_name(&[run]) {
        CLASSES => "BE and EF",
        name => name,
    }
}

fn name_of(flows: &[DelayFlow]) -> &'static str {
    let sent = |flows: &[&DelayFlow]| flows.iter().filter(|flow| !flow.series.is_empty()).count();
    let [all, one_kind, pool] = [flows.iter().collect(), of_one_kind(flows), pooled(flows)].map(|some| sent(&some));
    if pool < one_kind {
        CLASSES
    } else if one_kind == all {
        ALL
    } else if pooled(flows).iter().any(|flow| is_icmp(&flow.flow)) {
        ICMP
    } else {
        UDP
    }
}

#[cfg(test)]
mod tests {
    use rrul_analysis::flow_label::FlowLabel;
    use rrul_analysis::metrics::delay::round_trip_delay::PhaseDelays;
    use rrul_analysis::metrics::loss::packet_count::{Loss, Skipped};
    use rrul_analysis::series::DelayPoint;
    use rrul_model::flow::{AddressFamily, Component, FlowId};
    use rrul_model::marking::ServiceClass;
    use rrul_model::time::TestTime;

    use super::*;

    fn run(flows: &[(&str, ServiceClass)]) -> Analysis {
        let flow = |(flow_type, class): &(&str, ServiceClass)| DelayFlow {
            flow: FlowLabel {
                id: FlowId(1),
                name: String::new(),
                flow_type: (*flow_type).to_owned(),
                component: Component::Realtime,
                direction: None,
                family: AddressFamily::Ipv4,
                class: *class,
                parameters: Vec::new(),
            },
            delays: PhaseDelays::default(),
            loss: Loss::default(),
            skipped: Skipped::default(),
            series: vec![DelayPoint { at: TestTime(0), delay: None }],
        };
        let mut run = Analysis::default();
        run.round_trip_delay.flows = flows.iter().map(flow).collect();
        run
    }

    #[test]
    fn pooled_probes_are_called_what_they_are() {
        let [be, bk, ef] = [ServiceClass::BE, ServiceClass::BK, ServiceClass::EF];
        let of_classes = run(&[("udp_probe", be), ("udp_probe", bk), ("udp_probe", ef), ("icmp_echo", be)]);
        let both_kinds = run(&[("udp_probe", be), ("icmp_echo", be)]);
        let one_class = run(&[("udp_probe", be)]);
        let background = run(&[("udp_probe", bk)]);
        let imported = run(&[("icmp_echo", be), ("exchange_mean", be)]);
        for (run, name) in [
            (&of_classes, "probes (BE and EF)"),
            (&both_kinds, "UDP probes"),
            (&one_class, "all probes"),
            (&background, "all probes"),
            (&imported, "ICMP probes"),
        ] {
            assert_eq!(pooled_name(&[run]), name);
        }
        assert_eq!([&of_classes, &one_class].map(pooled_label), ["BE and EF", "all probes"]);
        assert_eq!(pooled_name(&[&one_class, &of_classes]), "probes (BE and EF)", "what is true of one run at least");
    }
}
