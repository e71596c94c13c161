//! Measures what a shaper gives to each class: one class at a time, which shows its cap, then all of them together, which shows
//! what each is left.

use rrul_analysis::metrics::marking::marking_path::Markings;
use rrul_analysis::tuning::class_shares::{ClassShares, ClassTrial, class_shares};
use rrul_analysis::tuning::trial::Trial;
use rrul_engine::client::RunOptions;
use rrul_model::flow::Component;
use rrul_model::marking::ServiceClass;
use rrul_model::plan::TestPlan;
use rrul_model::shaping::{ShaperDescription, ShaperRates, TuningPlan};
use rrul_model::units::BitRate;

use super::conductor::{Conduct, KeptSession};
use super::shaper::Shaper;
use crate::failure::Failure;
use crate::store::Writer;

/// The classes that a shaper of home routers distinguishes.
pub(crate) const CLASSES: [ServiceClass; 4] = [ServiceClass::BE, ServiceClass::BK, ServiceClass::CS5, ServiceClass::EF];

/// The part of the recommended rates at which classes are measured: far enough below the line that the shaper alone decides what each
/// gets, however many streams load it.
const PART: f64 = 0.8;

/// One class at a time, or all of them.
pub(crate) struct ClassRun {
    /// The class that loads alone; `None` when all load together.
    pub(crate) alone: Option<ServiceClass>,
    pub(crate) session: KeptSession,
}

impl ClassRun {
    /// The figures of its step; `None` when it was not measured to its end.
    fn trial(&self) -> Option<&Trial> {
        self.session.trials.first()
    }
}

/// Runs a session of one step for each class and one for all, with the shaper below these rates, in the calling thread's
/// network namespace. `writer` makes the file of each. It ends early when a session does.
///
/// # Errors
/// When a test cannot begin, its recording cannot be written, or the shaper cannot be set or restored.
pub(crate) fn run(
    conduct: &Conduct<'_>,
    rates: ShaperRates,
    shaper: &mut dyn Shaper,
    mut writer: impl FnMut(Option<ServiceClass>) -> Result<Writer, Failure>,
) -> Result<Vec<ClassRun>, Failure> {
    let lower = |rate: BitRate| BitRate((PART * rate.0 as f64) as u64);
    let lowered = ShaperRates { down: rates.down.map(lower), up: rates.up.map(lower) };
    let tuning = TuningPlan { fixed: vec![lowered], ..conduct.tuning.clone() };
    let mut runs = Vec::new();
    for alone in CLASSES.into_iter().map(Some).chain([None]) {
        let plan = with_classes(&conduct.options.plan, alone);
        let options = RunOptions { plan, ..conduct.options.clone() };
        let subject = alone.map_or_else(|| "all classes together".to_owned(), |class| format!("class {class} alone"));
        let of_classes = Conduct { options: &options, tuning: &tuning, subject: Some(&subject), ..*conduct };
        let session = of_classes.run(shaper, writer(alone)?)?.kept()?;
        let is_last = !session.is_finished;
        runs.push(ClassRun { alone, session });
        if is_last {
            break;
        }
    }
    Ok(runs)
}

/// What each class got, against what the kind of the shaper promises.
pub(crate) fn shares(runs: &[ClassRun], shaper: &ShaperDescription, markings: &Markings) -> ClassShares {
    let trials = runs.iter().filter_map(|run| Some(ClassTrial { alone: run.alone, trial: run.trial()? }));
    class_shares(&trials.collect::<Vec<_>>(), shaper, markings)
}

/// The plan with a load of one class alone, or with as many streams of each class.
fn with_classes(plan: &TestPlan, alone: Option<ServiceClass>) -> TestPlan {
    let mut plan = plan.clone();
    for entry in plan.entries.iter_mut().filter(|entry| entry.component == Component::Load) {
        entry.classes = alone.map_or_else(|| CLASSES.to_vec(), |class| vec![class]);
        if alone.is_none() {
            entry.count = 1;
            entry.count_alone = None;
        }
    }
    plan
}

#[cfg(test)]
mod tests {
    use rrul_model::flow::{AddressFamily, Direction};

    use super::*;
    use crate::plan_book;

    #[test]
    fn each_class_loads_alone_and_then_all_load_alike() {
        let plan = plan_book::plan("tune", &[]).unwrap();
        let streams = |alone: Option<ServiceClass>| -> Vec<(Direction, ServiceClass)> {
            let flows = with_classes(&plan, alone).flows(&[AddressFamily::Ipv4]);
            let load = flows.iter().filter(|flow| flow.is_load_stream());
            load.map(|flow| (flow.direction.unwrap(), flow.class)).collect()
        };
        for direction in [Direction::Up, Direction::Down] {
            let of = |alone| streams(alone).into_iter().filter(|(way, _)| *way == direction).map(|(_, class)| class);
            for class in CLASSES {
                assert_eq!(of(Some(class)).collect::<Vec<_>>(), [class; 4]);
            }
            assert_eq!(of(None).collect::<Vec<_>>(), CLASSES);
        }
    }
}
