//! Sentences on what of the load the figures are of.

use rrul_analysis::Analysis;
use rrul_analysis::metrics::burst::Burst;
use rrul_model::flow::Direction;
use rrul_model::units::{BitRate, Delay};

use crate::rate_panel::direction_word;

/// One line on each direction in which the line ran faster at first, and on a load too short to tell.
pub(crate) fn lines(run: &Analysis) -> Vec<String> {
    let mut lines = Vec::new();
    for direction in Direction::ALL {
        let word = direction_word(direction);
        if let Some(Burst { duration_ns, peak_bps, sustained_bps, octets, .. }) =
            run.bursts.of(direction).and_then(|history| history.burst)
        {
            lines.push(format!(
                "{word} ran at {} for its first {}, {:.1} MB above the {} that it kept: left out of what follows.",
                BitRate(peak_bps),
                seconds(duration_ns),
                octets as f64 / 1e6,
                BitRate(sustained_bps)
            ));
        }
        if run.scored.cut_short.contains(&direction)
            && let Some(window) = run.scored.of(direction)
        {
            lines.push(format!(
                "{word} was loaded too shortly to settle: its figures are of the last {}.",
                seconds(Delay::from(window.length()).0)
            ));
        }
    }
    let searched = |direction| run.bursts.of(direction).is_none_or(|history| history.searched);
    if !Direction::ALL.into_iter().all(searched) {
        lines.push("The load was too short to tell a provider's burst allowance; plan rrul is not.".to_owned());
    }
    lines
}

fn seconds(nanoseconds: i64) -> String {
    format!("{:.1} s", nanoseconds as f64 / 1e9)
}
