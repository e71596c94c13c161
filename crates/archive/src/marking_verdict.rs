//! What becomes of expedited forwarding (EF) in one direction, by what the analysis says of its code point.

use rrul_analysis::Analysis;
use rrul_analysis::metrics::marking::code_point::CodePointVerdict;
use rrul_analysis::metrics::marking::marking_path::{MarkingPath, MarkingPhase};
use rrul_model::flow::Direction;
use rrul_model::marking::ServiceClass;

/// Packets that must have arrived for a code point to be judged, as in the analysis.
const FEWEST: u64 = 2;

/// The worst verdict of the families; `None` when no packet of EF was sent.
pub(crate) fn of_expedited(analysis: &Analysis, direction: Direction) -> Option<&'static str> {
    let paths = analysis.markings.paths.iter().filter(|path| path.direction == direction);
    let verdicts = paths.filter_map(verdict);
    verdicts.min_by_key(|verdict| badness(*verdict)).map(name)
}

fn verdict(path: &MarkingPath) -> Option<CodePointVerdict> {
    let dscp = ServiceClass::EF.dscp().value();
    let cells = || path.matrix.iter().filter(|cell| cell.sent_octet >> 2 == dscp && cell.packets > 0);
    cells().next()?;
    let arrived = |loaded: bool| -> u64 {
        cells().filter(|cell| cell.loaded == loaded && cell.received_octet.is_some()).map(|cell| cell.packets).sum()
    };
    let found = |phase: &MarkingPhase, arrived: u64| {
        let altered = phase.altered.iter().find(|point| point.dscp == dscp).map(|point| point.verdict);
        let preserved = (arrived >= FEWEST).then_some(CodePointVerdict::Preserved);
        altered.or(preserved)
    };
    let idle = path.idle.as_ref().and_then(|phase| found(phase, arrived(false)));
    let load = || path.load.as_ref().and_then(|phase| found(phase, arrived(true)));
    Some(idle.or_else(load).unwrap_or(CodePointVerdict::Unknown))
}

/// The place among verdicts, the worst first.
fn badness(verdict: CodePointVerdict) -> u8 {
    match verdict {
        CodePointVerdict::Dropped => 0,
        CodePointVerdict::Bleached => 1,
        CodePointVerdict::Remarked => 2,
        CodePointVerdict::Mixed => 3,
        CodePointVerdict::Preserved => 4,
        CodePointVerdict::Unknown => 5,
    }
}

fn name(verdict: CodePointVerdict) -> &'static str {
    match verdict {
        CodePointVerdict::Dropped => "dropped",
        CodePointVerdict::Bleached => "bleached",
        CodePointVerdict::Remarked => "remarked",
        CodePointVerdict::Mixed => "mixed",
        CodePointVerdict::Preserved => "preserved",
        CodePointVerdict::Unknown => "unknown",
    }
}
