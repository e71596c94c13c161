//! Sentences on what of the load the figures are of.

use rrul_analysis::Analysis;
use rrul_model::flow::Direction;

/// One line on a load too short for bursts to be seen. Those that were found, and a load too short to leave them out, are
/// told with the verdict.
pub(crate) fn lines(run: &Analysis) -> Vec<String> {
    let mut lines = Vec::new();
    let searched = |direction| run.bursts.of(direction).is_none_or(|history| history.searched);
    if !Direction::ALL.into_iter().all(searched) {
        lines.push("The load was too short to tell a provider's burst allowance; plan rrul is not.".to_owned());
    }
    lines
}
