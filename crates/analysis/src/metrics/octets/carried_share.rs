//! How much of what was sent arrived, where no host counted arrivals: taken from the probes, which both ends count.

use rrul_model::flow::{AddressFamily, FlowSpec};
use rrul_model::marking::ServiceClass;
use rrul_model::time::{TestTime, Window};

use crate::metrics::octets::traffic::growth;
use crate::statistics::counter::Counter;

/// Probes are compared over this long before and after a packet: long enough for dozens, short beside a phase.
const NEAR_NANOSECONDS: i64 = 2_000_000_000;

/// One flow of probes, counted where its packets were sent, reflected and received.
#[derive(Debug)]
pub(crate) struct ProbeCounts {
    pub(crate) family: AddressFamily,
    pub(crate) class: ServiceClass,
    pub(crate) sent: Counter,
    pub(crate) reflected: Counter,
    pub(crate) received: Counter,
}

/// All probes of a test.
#[derive(Debug, Default)]
pub(crate) struct CarriedShares(Vec<ProbeCounts>);

impl CarriedShares {
    pub(crate) fn new(probes: Vec<ProbeCounts>) -> Self {
        Self(probes)
    }

    /// Returns the shares for packets of a flow: those of the probes of its family and class, or else of its family.
    pub(crate) fn for_flow(&self, flow: &FlowSpec) -> CarriedShare<'_> {
        let family = || self.0.iter().filter(|probes| probes.family == flow.family);
        let same: Vec<&ProbeCounts> = family().filter(|probes| probes.class == flow.class).collect();
        CarriedShare { probes: if same.is_empty() { family().collect() } else { same } }
    }
}

/// The share of packets that arrived, by the probes near in time. It is 1 where no probe was sent or none was lost.
#[derive(Debug)]
pub(crate) struct CarriedShare<'a> {
    probes: Vec<&'a ProbeCounts>,
}

impl CarriedShare<'_> {
    /// Returns the share of questions sent near this time that arrived: those that were answered, and of the others as
    /// many as [`arrived_unanswered`](Self::arrived_unanswered) says.
    pub(crate) fn arrived(&self, answered: &Counter, sent: &Counter, at: TestTime) -> f64 {
        let answered = share(growth(answered, around(at)), growth(sent, around(at)));
        answered + (1.0 - answered) * self.arrived_unanswered(at)
    }

    /// Returns the share of questions without an answer that did arrive: it was the answer that was lost.
    pub(crate) fn arrived_unanswered(&self, at: TestTime) -> f64 {
        let [sent, reflected, received] = self.counts(at);
        share(reflected - received, sent - received)
    }

    /// Returns the share of what was sent to the server near this time that arrived there.
    pub(crate) fn arrived_up(&self, at: TestTime) -> f64 {
        let [sent, reflected, _] = self.counts(at);
        share(reflected, sent)
    }

    /// Returns the share of what was sent to the client near this time that arrived there.
    pub(crate) fn arrived_down(&self, at: TestTime) -> f64 {
        let [_, reflected, received] = self.counts(at);
        share(received, reflected)
    }

    /// Returns how many probes were sent, reflected and received near this time.
    fn counts(&self, at: TestTime) -> [f64; 3] {
        let total =
            |of: fn(&ProbeCounts) -> &Counter| self.probes.iter().map(|probes| growth(of(probes), around(at))).sum();
        [total(|probes| &probes.sent), total(|probes| &probes.reflected), total(|probes| &probes.received)]
    }
}

fn around(at: TestTime) -> Window {
    Window {
        from: TestTime(at.0.saturating_sub(NEAR_NANOSECONDS)),
        to: TestTime(at.0.saturating_add(NEAR_NANOSECONDS)),
    }
}

fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { (part / whole).clamp(0.0, 1.0) } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    /// `sent`, `reflected` and `received` probes a second, for 20 seconds.
    fn probes(family: AddressFamily, class: ServiceClass, per_second: [i64; 3]) -> ProbeCounts {
        let counter = |count: i64| Counter::new(vec![(TestTime(0), 0), (TestTime(20 * SECOND), (20 * count) as u64)]);
        let [sent, reflected, received] = per_second.map(counter);
        ProbeCounts { family, class, sent, reflected, received }
    }

    fn flow(family: AddressFamily, class: ServiceClass) -> FlowSpec {
        FlowSpec {
            id: rrul_model::flow::FlowId(1),
            name: String::new(),
            flow_type: "icmp_echo".into(),
            component: rrul_model::flow::Component::Realtime,
            direction: None,
            family,
            class,
            window: Window { from: TestTime(0), to: TestTime(20 * SECOND) },
            parameters: rrul_model::flow::Parameters::default(),
        }
    }

    fn same(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9, "{found}, expected {expected}");
    }

    #[test]
    fn shares_are_those_of_the_same_class_or_else_of_the_family() {
        let (be, ef, bk) = (ServiceClass::BE, ServiceClass::EF, ServiceClass::BK);
        let shares = CarriedShares::new(vec![
            probes(AddressFamily::Ipv4, be, [10, 6, 3]),
            probes(AddressFamily::Ipv4, ef, [10, 10, 6]),
        ]);
        let at = TestTime(10 * SECOND);
        // Of 7 questions without an answer 3 had arrived.
        let best_effort = shares.for_flow(&flow(AddressFamily::Ipv4, be));
        same(best_effort.arrived_unanswered(at), 3.0 / 7.0);
        same(shares.for_flow(&flow(AddressFamily::Ipv4, bk)).arrived_unanswered(at), 7.0 / 11.0);
        // A flow's own answers come first.
        let [sent, answered] = [10, 5].map(|count| probes(AddressFamily::Ipv4, be, [count; 3]).sent);
        same(best_effort.arrived(&answered, &sent, at), 0.5 + 0.5 * 3.0 / 7.0);
        same(best_effort.arrived(&sent, &sent, at), 1.0);
        same(best_effort.arrived_up(at), 0.6);
        same(best_effort.arrived_down(at), 0.5);
    }

    #[test]
    fn without_probes_or_losses_everything_arrived() {
        let shares = CarriedShares::new(vec![probes(AddressFamily::Ipv4, ServiceClass::BE, [10, 10, 10])]);
        for family in AddressFamily::ALL {
            let share = shares.for_flow(&flow(family, ServiceClass::BE));
            same(share.arrived_unanswered(TestTime(SECOND)), 1.0);
            same(share.arrived_unanswered(TestTime(-9 * SECOND)), 1.0);
        }
    }
}
