//! Loss of test packets by direction, and ICMP messages about them, in a few lines for people.

use rrul_analysis::metrics::loss::icmp_messages::Sender;
use rrul_analysis::metrics::loss::packet_fate::{DirectionFate, PacketFate};
use rrul_analysis::{Analysis, LossAttribution};
use rrul_model::flow::Direction;
use rrul_model::phase::Phase;

use crate::text::table::{SectionBody, Table};
use crate::text::words;

/// What stands above the lines.
pub(crate) const HEADING: &str = "Packet loss by direction";

/// Returns a line for each direction and remarks below; empty for a run without such records.
pub(crate) fn told(run: &Analysis) -> SectionBody {
    let mut table = Table::default();
    table.row(["", "idle", "loaded", "after", "total"]);
    let mut remarks = Vec::new();
    let ways = Direction::ALL.map(|direction| (direction, run.loss.fates.pooled(direction)));
    for (direction, fate) in ways.into_iter().filter_map(|(direction, fate)| Some((direction, fate?))) {
        let phases = [Phase::Idle, Phase::Load, Phase::After].map(|phase| share(fate.phase(phase)));
        table.named_row(direction.name(), phases.into_iter().chain([share(fate.all.as_ref())]));
        remarks.extend(remark(fate).map(|text| format!("  {direction}: {text}")));
    }
    if remarks.is_empty() && ways.iter().all(|(_, fate)| fate.is_none()) && run.icmp_messages.is_empty() {
        return SectionBody::default();
    }
    let mut below: Vec<String> = remarks;
    below.extend(run.icmp_messages.iter().map(|messages| {
        let sender = match messages.sender {
            Sender::Server => "the server",
            Sender::Path => "a host on the path",
        };
        let (name, message) = (&messages.flow.name, &messages.message);
        format!("  ICMP from {sender} of {name}: {message}, {}", words::counted(messages.count as usize, "message"))
    }));
    SectionBody { table, below, ..SectionBody::default() }
}

fn share(fate: Option<&PacketFate>) -> String {
    match fate {
        None => "–".to_owned(),
        Some(fate) if fate.unattributed > 0 => {
            format!("{} to {}", words::percent(fate.share_least), words::percent(fate.share_most))
        }
        Some(fate) => words::percent(fate.share_least),
    }
}

/// Bursts, late packets, duplicates and reordering in one direction, if any.
fn remark(fate: &DirectionFate) -> Option<String> {
    let all = fate.all?;
    let mut said = Vec::new();
    if let Some(runs) = all.loss_runs.filter(|runs| runs.longest_burst > 1) {
        said.push(format!("longest loss burst {}", words::count(runs.longest_burst)));
    }
    if all.late > 0 {
        said.push(format!("{} counted as lost because late", words::count(all.late)));
    }
    if let Some(copies) = all.duplicated.filter(|copies| *copies > 0) {
        said.push(format!("{} duplicates", words::count(copies)));
    }
    if let Some(reordering) = all.reordering.filter(|reordering| reordering.reordered > 0) {
        said.push(format!("{} reordered", words::count(reordering.reordered)));
    }
    if all.unattributed > 0 {
        said.push(format!("loss direction of {} unknown", words::count(all.unattributed)));
    }
    if fate.evidence == LossAttribution::Window && (all.lost > 0 || all.unattributed > 0) {
        said.push("server records incomplete".to_owned());
    }
    (!said.is_empty()).then(|| said.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rrul_analysis::metrics::loss::reordering::Reordering;
    use rrul_analysis::statistics::loss_runs::LossRuns;

    fn fate(sent: u64, lost: u64) -> PacketFate {
        let share = lost as f64 / sent as f64;
        PacketFate {
            sent,
            arrived: sent - lost,
            lost,
            late: 0,
            unattributed: 0,
            duplicated: Some(0),
            share_least: share,
            share_most: share,
            share_ci95_low: None,
            share_ci95_high: None,
            loss_runs: Some(LossRuns::from_fates((0..sent).map(|number| number < lost)).summary()),
            reordering: Some(Reordering::default()),
        }
    }

    fn run(up: Option<&DirectionFate>, down: Option<&DirectionFate>) -> Analysis {
        let mut run = Analysis::default();
        (run.loss.fates.up, run.loss.fates.down) = (up.copied(), down.copied());
        run
    }

    fn direction(all: &PacketFate) -> DirectionFate {
        let (idle, all) = (Some(fate(1000, 0)), Some(*all));
        DirectionFate { evidence: LossAttribution::Exact, idle, load: all, after: None, all }
    }

    #[test]
    fn a_run_without_fates_says_nothing() {
        assert_eq!(told(&run(None, None)).lines(), Vec::<String>::new());
    }

    #[test]
    fn directions_stand_apart_and_only_the_extraordinary_is_remarked() {
        let reordering = Some(Reordering { reordered: 4, ..Reordering::default() });
        let up = PacketFate { duplicated: Some(9), reordering, late: 2, ..fate(1000, 12) };
        let lines = told(&run(Some(&direction(&up)), Some(&direction(&fate(1000, 0))))).lines();
        assert_eq!(
            lines,
            [
                "        idle  loaded  after  total",
                "  down   0 %     0 %      –    0 %",
                "  up     0 %   1.2 %      –  1.2 %",
                "  up: longest loss burst 12; 2 counted as lost because late; 9 duplicates; 4 reordered",
            ]
        );
    }

    #[test]
    fn what_cannot_be_attributed_is_a_range() {
        let open = PacketFate { unattributed: 37, share_most: 0.05, loss_runs: None, ..fate(1000, 13) };
        let window = DirectionFate { evidence: LossAttribution::Window, ..direction(&open) };
        let lines = told(&run(None, Some(&window))).lines();
        assert!(lines[1].contains("1.3 % to 5.0 %"), "{lines:?}");
        assert_eq!(lines[2], "  down: loss direction of 37 unknown; server records incomplete");
    }
}
