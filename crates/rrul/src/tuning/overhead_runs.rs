//! Measures what the line adds to each packet: a load of one direction with segments of one size after another, unshaped.

use std::time::Duration;

use rrul_analysis::by_direction::ByDirection;
use rrul_analysis::tuning::overhead::{LineOverhead, LineOverheads, NextSize, SizedRate, next_size};
use rrul_analysis::tuning::trials::sized_rate;
use rrul_engine::client::{Families, RunOptions};
use rrul_model::flow::{AddressFamily, Component, Direction, Parameter};
use rrul_model::phase::Phase;
use rrul_model::plan::TestPlan;
use rrul_model::shaping::{ShaperRates, TuningPlan};

use super::conductor::Conduct;
use super::shaper::Shaper;
use crate::failure::Failure;
use crate::store::Writer;

/// What surrounds the load: nothing is compared with the idle line.
const AROUND: Duration = Duration::from_secs(1);

/// Runs sessions of one step for each direction of the search until its overhead is known, in the calling thread's network
/// namespace. `writer` makes the file of each, for a direction and a size. It ends early when a session does.
///
/// # Errors
/// When a test cannot begin, its recording cannot be written, or the shaper cannot be set or restored.
pub(crate) fn run(
    conduct: &Conduct<'_>,
    family: AddressFamily,
    shaper: &mut dyn Shaper,
    mut writer: impl FnMut(Direction, NextSize) -> Result<Writer, Failure>,
) -> Result<LineOverheads, Failure> {
    let tuning = TuningPlan { fixed: vec![ShaperRates::UNSHAPED], ..conduct.tuning.clone() };
    let mut found = ByDirection { up: None, down: None };
    for direction in tuning.directions.iter().copied() {
        let mut rates: Vec<SizedRate> = Vec::new();
        while let Some(size) = next_size(&rates) {
            let plan = with_packets(&conduct.options.plan, direction, family, size);
            let options = RunOptions { plan, families: Families::Only(family), ..conduct.options.clone() };
            let subject = match size {
                NextSize::Largest => "packets of the largest size".to_owned(),
                NextSize::Bytes(octets) => format!("packets of {octets} bytes"),
            };
            let sized = Conduct { options: &options, tuning: &tuning, subject: Some(&subject), ..*conduct };
            let session = sized.run(shaper, writer(direction, size)?)?.kept()?;
            if !session.is_finished {
                return Ok(LineOverheads { directions: found });
            }
            let step = session.recording.steps.first();
            let Some(rate) = step.and_then(|step| sized_rate(&session.recording, step, direction)) else { break };
            rates.push(rate);
        }
        *found.get_mut(direction) = LineOverhead::find(&rates);
    }
    Ok(LineOverheads { directions: found })
}

/// The plan with a load of one direction, whose IP packets have this size.
fn with_packets(plan: &TestPlan, direction: Direction, family: AddressFamily, size: NextSize) -> TestPlan {
    let mut plan = plan.clone();
    for entry in plan.phases.iter_mut().filter(|entry| entry.phase != Phase::Load) {
        entry.length = if entry.phase == Phase::Survey { Duration::ZERO } else { AROUND };
    }
    plan.entries.retain(|entry| entry.component != Component::Analysis);
    for entry in plan.entries.iter_mut().filter(|entry| entry.component == Component::Load) {
        entry.directions = vec![direction];
        if let NextSize::Bytes(size) = size {
            // The size of a segment contains the options of TCP.
            let mss = Parameter::Text(format!("{}B", size.saturating_sub(family.tcp_header_octets())));
            entry.parameters.iter_mut().for_each(|one| drop(one.0.insert("mss".to_owned(), mss.clone())));
        }
    }
    plan
}

#[cfg(test)]
mod tests {
    use rrul_model::units::ByteCount;

    use super::*;
    use crate::plan_book;

    #[test]
    fn one_direction_is_loaded_with_segments_that_make_packets_of_this_size() {
        let plan = plan_book::plan("tune", &[]).unwrap();
        for (family, segment) in [(AddressFamily::Ipv4, 160), (AddressFamily::Ipv6, 140)] {
            let flows = with_packets(&plan, Direction::Up, family, NextSize::Bytes(200)).flows(&[family]);
            let load: Vec<_> = flows.iter().filter(|flow| flow.is_load_stream()).collect();
            assert_eq!(load.len(), 4);
            for flow in load {
                assert_eq!(flow.direction, Some(Direction::Up));
                assert_eq!(flow.parameters.size("mss", ByteCount(0)), ByteCount(segment));
            }
        }
        let flows =
            with_packets(&plan, Direction::Down, AddressFamily::Ipv4, NextSize::Largest).flows(&AddressFamily::ALL);
        assert!(flows.iter().all(|flow| flow.parameters.text("mss").is_none()));
    }
}
