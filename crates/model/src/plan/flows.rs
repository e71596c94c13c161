//! From a plan to its flows: the Cartesian product of the `each` lists.

use crate::flow::{AddressFamily, FlowId, FlowSpec, Parameters};
use crate::time::Window;

use super::{FlowEntry, TestPlan};

impl TestPlan {
    /// Every flow of this test when these families are at hand, numbered from 0 in the order of the plan.
    ///
    /// A flow whose family is not at hand is left out: the recording lists the missing families.
    pub fn flows(&self, families: &[AddressFamily]) -> Vec<FlowSpec> {
        let mut flows = Vec::new();
        for entry in &self.entries {
            let Some(window) = self.window_of(entry) else { continue };
            for combination in combinations(entry, families) {
                let FlowShape { direction, class, family, copy, parameters, variant } = combination;
                let mut name = vec![entry.flow_type.clone(), class.to_string()];
                name.extend(direction.map(|direction| direction.name().to_owned()));
                name.push(family.name().to_owned());
                name.extend(variant);
                let mut name = name.join("/");
                if copies(entry, families) > 1 {
                    name = format!("{name}#{}", copy + 1);
                }
                while flows.iter().any(|flow: &FlowSpec| flow.name == name) {
                    name = format!("{name}@{}", entry.label);
                }
                flows.push(FlowSpec {
                    id: FlowId(u16::try_from(flows.len()).unwrap_or(u16::MAX)),
                    name,
                    flow_type: entry.flow_type.clone(),
                    component: entry.component,
                    direction,
                    family,
                    class,
                    window,
                    parameters: parameters.clone(),
                });
            }
        }
        flows
    }

    /// When this entry's flows send; `None` when no time is left for them.
    fn window_of(&self, entry: &FlowEntry) -> Option<Window> {
        let mut windows =
            self.phase_windows().into_iter().filter(|window| entry.during.contains(&window.phase)).map(|w| w.window);
        let first = windows.next()?;
        let last = windows.next_back().unwrap_or(first);
        let from = first.from + entry.start;
        let to = entry.duration.map_or(last.to, |duration| last.to.min(from + duration));
        (from < to).then_some(Window { from, to })
    }
}

struct FlowShape<'a> {
    direction: Option<crate::flow::Direction>,
    class: crate::marking::ServiceClass,
    family: AddressFamily,
    copy: u32,
    parameters: &'a Parameters,
    variant: Option<String>,
}

/// Copies of each combination with these families at hand.
fn copies(entry: &FlowEntry, families: &[AddressFamily]) -> u32 {
    match (families, entry.count_alone) {
        ([_], Some(alone)) => alone,
        _ => entry.count,
    }
}

/// Every combination, the slowest-changing first: parameters, direction, family, class, copy.
fn combinations<'a>(entry: &'a FlowEntry, families: &[AddressFamily]) -> Vec<FlowShape<'a>> {
    let copies = copies(entry, families);
    let directions: Vec<_> =
        if entry.directions.is_empty() { vec![None] } else { entry.directions.iter().copied().map(Some).collect() };
    let families: Vec<_> = families
        .iter()
        .copied()
        .filter(|family| entry.families.is_empty() || entry.families.contains(family))
        .collect();
    let mut shapes = Vec::new();
    for (index, parameters) in entry.parameters.iter().enumerate() {
        let variant = (entry.parameters.len() > 1).then(|| format!("variant{}", index + 1));
        for &direction in &directions {
            for &family in &families {
                for &class in &entry.classes {
                    for copy in 0..copies {
                        let variant = variant.clone();
                        shapes.push(FlowShape { direction, class, family, copy, parameters, variant });
                    }
                }
            }
        }
    }
    shapes
}
