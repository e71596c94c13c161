//! Notes on the scored window.

use rrul_analysis::Analysis;
use rrul_model::flow::Direction;

/// One line on a load too short to detect bursts. Bursts that were found, and a load too short to leave them out, are among
/// the reasons of the verdict.
pub(crate) fn lines(run: &Analysis) -> Vec<String> {
    let mut lines = Vec::new();
    let searched = |direction| run.bursts.direction(direction).is_none_or(|history| history.searched);
    if !Direction::ALL.into_iter().all(searched) {
        lines.push("The load was too short to detect a provider's burst allowance: use --plan rrul.".to_owned());
    }
    lines
}
