//! Which probes are pooled: the one definition that every figure, chart and comparison of several flows uses.
//!
//! Probes of one kind only: UDP if any UDP probe was sent, else ICMP echo, else (imported files) means of exchanges, which
//! sample good moments more often than bad ones. Of these the headline pool has best effort and expedited forwarding:
//! background is meant to yield, and is reported apart. Where neither class was sent the pool has all classes.

use rrul_model::flow_kind::FlowKind;
use rrul_model::marking::ServiceClass;

/// What pooling looks at in a flow of probes.
pub trait ProbeSample {
    /// Returns what the flow does.
    fn kind(&self) -> FlowKind;
    fn class(&self) -> ServiceClass;
    /// Returns whether any probe was sent.
    fn was_sent(&self) -> bool;
}

/// Returns the flows of the kind of probes that is pooled, of every class, in their order.
///
/// Where nothing was sent that is the preferred kind that the plan has.
pub fn of_one_kind<T: ProbeSample>(flows: &[T]) -> Vec<&T> {
    let has =
        |wanted: FlowKind, sent: bool| flows.iter().any(|flow| flow.kind() == wanted && (flow.was_sent() || !sent));
    let kind = |sent: bool| FlowKind::PROBES.into_iter().find(|kind| has(*kind, sent));
    let chosen = kind(true).or_else(|| kind(false));
    flows.iter().filter(|flow| Some(flow.kind()) == chosen).collect()
}

/// Returns the flows whose probes are pooled into headline figures, in their order.
pub fn pooled<T: ProbeSample>(flows: &[T]) -> Vec<&T> {
    let mut pooled = of_one_kind(flows);
    let classes = HeadlineClasses::among(pooled.iter().filter(|flow| flow.was_sent()).map(|flow| flow.class()));
    pooled.retain(|flow| classes.contains(flow.class()));
    pooled
}

/// The classes of headline figures: best effort and expedited forwarding; every class where neither was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HeadlineClasses {
    every: bool,
}

impl HeadlineClasses {
    /// Returns those among the classes that were sent.
    pub(crate) fn among(mut sent: impl Iterator<Item = ServiceClass>) -> Self {
        Self { every: !sent.any(is_headline) }
    }

    /// Returns whether a class is one of them.
    pub(crate) fn contains(self, class: ServiceClass) -> bool {
        self.every || is_headline(class)
    }
}

/// Returns whether headlines and scores count a class: best effort and expedited forwarding are to be served well, background
/// is meant to wait.
pub fn is_headline(class: ServiceClass) -> bool {
    class == ServiceClass::BE || class == ServiceClass::EF
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Sample(&'static str, ServiceClass, bool);

    impl ProbeSample for Sample {
        fn kind(&self) -> FlowKind {
            FlowKind::named(self.0)
        }

        fn class(&self) -> ServiceClass {
            self.1
        }

        fn was_sent(&self) -> bool {
            self.2
        }
    }

    const BE: ServiceClass = ServiceClass::BE;
    const EF: ServiceClass = ServiceClass::EF;
    const BK: ServiceClass = ServiceClass::BK;

    #[track_caller]
    fn pools(flows: &[Sample], kinds: &[(&str, ServiceClass)]) {
        let found: Vec<(&str, ServiceClass)> = pooled(flows).iter().map(|flow| (flow.0, flow.1)).collect();
        assert_eq!(found, kinds);
    }

    #[test]
    fn kinds_of_probes_are_never_mixed() {
        let all = |udp, icmp, mean| {
            [Sample("exchange_mean", BE, mean), Sample("icmp_echo", BE, icmp), Sample("udp_probe", BE, udp)]
        };
        pools(&all(true, true, true), &[("udp_probe", BE)]);
        pools(&all(false, true, true), &[("icmp_echo", BE)]);
        pools(&all(false, false, true), &[("exchange_mean", BE)]);
        // Nothing was sent: what the plan prefers.
        pools(&all(false, false, false), &[("udp_probe", BE)]);
        pools(&[Sample("icmp_echo", BE, false)], &[("icmp_echo", BE)]);
        pools(&[Sample("tcp_rr", BE, true)], &[]);
    }

    #[test]
    fn background_is_pooled_only_without_any_other_class() {
        let udp = |class, sent| Sample("udp_probe", class, sent);
        pools(&[udp(EF, true), udp(BK, true), udp(BE, true)], &[("udp_probe", EF), ("udp_probe", BE)]);
        pools(&[udp(BK, true), udp(ServiceClass::CS5, true)], &[("udp_probe", BK), ("udp_probe", ServiceClass::CS5)]);
        // A class that was never sent hides no other.
        pools(&[udp(BE, false), udp(BK, true)], &[("udp_probe", BE), ("udp_probe", BK)]);
        // The kind is chosen first: classes of another kind make no pool.
        pools(&[udp(BK, true), Sample("icmp_echo", BE, true)], &[("udp_probe", BK)]);
        let flows = [udp(EF, true), udp(BK, true)];
        assert_eq!(of_one_kind(&flows).len(), 2);
    }
}
