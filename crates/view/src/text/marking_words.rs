//! How the path treats markings, in a few lines for people.

use rrul_analysis::Analysis;
use rrul_analysis::metrics::marking::code_point::{CodePoint, CodePointVerdict};
use rrul_analysis::metrics::marking::ecn::{EcnPath, EcnValue, EcnVerdict};
use rrul_analysis::metrics::marking::marking_path::{MarkingPath, MarkingPhase, PathVerdict};
use rrul_analysis::metrics::tcp::tcp_ecn::TcpEcn;
use rrul_model::flow::{AddressFamily, Direction};
use rrul_model::marking::{Dscp, ServiceClass};

use crate::text::{class_words, words};

/// Code points that are named one by one.
const NAMED: usize = 4;

/// Returns names and texts: service classes, ECN, ECN of TCP. Empty for a run without marking measurements.
pub(crate) fn marking_lines(run: &Analysis) -> Vec<(String, String)> {
    let mut lines = Vec::new();
    for direction in Direction::ALL {
        let of_family = |family| {
            let of = |path: &&MarkingPath| path.direction == direction && path.family == family;
            run.markings.paths.iter().find(of).map(path)
        };
        lines.extend(by_family(run, "DSCP", direction, of_family));
    }
    for direction in Direction::ALL {
        let of_family = |family| {
            let of = |path: &&EcnPath| path.direction == direction && path.family == family;
            run.ecn.paths.iter().find(of).map(ecn)
        };
        lines.extend(by_family(run, "ECN", direction, of_family));
    }
    lines.extend(tcp_ecn(&run.ecn.streams).map(|text| ("ECN of TCP".to_owned(), text)));
    lines.extend(class_words::class_lines(run));
    lines
}

/// One line where all families are alike, one for each where they differ.
pub(crate) fn by_family(
    run: &Analysis,
    what: &str,
    direction: Direction,
    of_family: impl Fn(AddressFamily) -> Option<String>,
) -> Vec<(String, String)> {
    let found: Vec<(AddressFamily, String)> =
        run.test.families.iter().filter_map(|family| Some((*family, of_family(*family)?))).collect();
    match found.as_slice() {
        [] => Vec::new(),
        [(_, first), rest @ ..] if rest.iter().all(|(_, other)| other == first) => {
            vec![(format!("{what} {direction}"), first.clone())]
        }
        _ => {
            let line = |(family, text): (AddressFamily, String)| {
                (format!("{what} {direction}, {}", words::family_name(family)), text)
            };
            found.into_iter().map(line).collect()
        }
    }
}

fn path(path: &MarkingPath) -> String {
    let known = |phase: &&MarkingPhase| phase.verdict != PathVerdict::Unknown;
    let [idle, load] = [&path.idle, &path.load].map(|phase| phase.as_ref().filter(known));
    match (idle, load) {
        (Some(idle), Some(load)) if (idle.verdict, idle.remarked_to) != (load.verdict, load.remarked_to) => {
            format!("{}; under load {}", phase(idle), phase(load))
        }
        (Some(one), _) | (None, Some(one)) => phase(one),
        (None, None) => "unknown: too few packets arrived".to_owned(),
    }
}

fn phase(phase: &MarkingPhase) -> String {
    let changed = phase.bleached + phase.remarked + phase.mixed + phase.dropped;
    let known = phase.preserved + changed;
    match phase.verdict {
        PathVerdict::Preserved => format!("preserved ({known} of {} code points)", known + phase.unknown),
        PathVerdict::Bleached => "bleached to 0".to_owned(),
        PathVerdict::PrecedenceBleached => "upper three bits cleared (EF becomes 6)".to_owned(),
        PathVerdict::Remarked => {
            format!("all remarked to {}", phase.remarked_to.map_or_else(|| "another".to_owned(), class_name))
        }
        PathVerdict::Dropped => "marked packets are dropped".to_owned(),
        PathVerdict::Altered => {
            let mut words: Vec<String> = phase.altered.iter().take(NAMED).map(code_point).collect();
            if phase.altered.len() > NAMED {
                words.push(format!("{} more altered", phase.altered.len() - NAMED));
            }
            format!("{}; {} of {known} preserved", words.join(", "), phase.preserved)
        }
        PathVerdict::Unknown => "unknown: too few packets arrived".to_owned(),
    }
}

fn code_point(point: &CodePoint) -> String {
    let class = point.class;
    match (point.verdict, point.arrives_as) {
        (CodePointVerdict::Dropped, _) => format!("{class} dropped"),
        (CodePointVerdict::Bleached, _) => format!("{class} bleached to 0"),
        (CodePointVerdict::Remarked, Some(to)) => format!("{class} remarked to {}", class_name(to)),
        _ => format!("{class} inconsistent"),
    }
}

fn class_name(dscp: u8) -> String {
    Dscp::new(dscp).map_or_else(String::new, |dscp| ServiceClass::from_dscp(dscp).to_string())
}

fn ecn(path: &EcnPath) -> String {
    let Some(phase) = path.idle.or(path.load) else { return "unknown".to_owned() };
    let mut said = vec![match (phase.ect0.verdict, phase.ect1.verdict) {
        (EcnVerdict::Pass, EcnVerdict::Pass) => "preserved".to_owned(),
        (EcnVerdict::Cleared, EcnVerdict::Cleared) => "cleared".to_owned(),
        (ect0, ect1) => format!("ECT(0) {}, ECT(1) {}", value(ect0, &phase.ect0), value(ect1, &phase.ect1)),
    }];
    if phase.ce.verdict == EcnVerdict::Cleared && phase.ect0.verdict != EcnVerdict::Cleared {
        said.push("CE cleared".to_owned());
    }
    if let Some(load) = path.load {
        let marked = |value: EcnValue| value.marked_share.filter(|_| value.as_ce > 0);
        let shares = [("ECT(0)", marked(load.ect0)), ("ECT(1)", marked(load.ect1))];
        let marks: Vec<String> =
            shares.into_iter().filter_map(|(name, share)| Some(format!("{name} {}", words::percent(share?)))).collect();
        if !marks.is_empty() {
            said.push(format!("marked CE under load: {}", marks.join(", ")));
        }
    }
    said.join("; ")
}

fn value(verdict: EcnVerdict, value: &EcnValue) -> String {
    match verdict {
        EcnVerdict::Pass => "preserved".to_owned(),
        EcnVerdict::Unknown => "unknown".to_owned(),
        EcnVerdict::MarkedIdle => {
            format!("marked CE on the idle line ({})", words::percent(value.marked_share.unwrap_or_default()))
        }
        EcnVerdict::ToEct0 => "remarked to ECT(0)".to_owned(),
        EcnVerdict::ToEct1 => "remarked to ECT(1)".to_owned(),
        EcnVerdict::ToCe => "remarked to CE".to_owned(),
        EcnVerdict::Mixed => "inconsistent".to_owned(),
        EcnVerdict::Cleared => "cleared".to_owned(),
        EcnVerdict::Dropped => "dropped".to_owned(),
    }
}

/// The streams that negotiated ECN, and what arrived; nothing when none did.
fn tcp_ecn(streams: &[TcpEcn]) -> Option<String> {
    let negotiated: Vec<&TcpEcn> = streams.iter().filter(|stream| stream.negotiated == Some(true)).collect();
    if negotiated.is_empty() {
        return None;
    }
    let mut said = vec![format!("negotiated by {} of {}", negotiated.len(), words::counted(streams.len(), "stream"))];
    let bleached = negotiated.iter().filter(|stream| stream.bleached == Some(true)).count();
    if bleached > 0 {
        said.push(format!("cleared on the path for {bleached}"));
    }
    let sum = |of: fn(&TcpEcn) -> Option<u64>| -> Option<u64> {
        negotiated.iter().filter_map(|stream| of(stream)).reduce(u64::saturating_add)
    };
    let ce = sum(|stream| stream.ce_octets);
    let all =
        [sum(|stream| stream.ect0_octets), sum(|stream| stream.ect1_octets), ce].into_iter().flatten().sum::<u64>();
    if let Some(ce) = ce.filter(|_| all > 0) {
        said.push(format!("{} of their bytes marked CE", words::percent(ce as f64 / all as f64)));
    }
    Some(said.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rrul_analysis::metrics::marking::ecn::EcnPhase;
    use rrul_analysis::metrics::marking::marking_tally::MarkingSource;

    fn marking_phase(verdict: PathVerdict, altered: Vec<CodePoint>) -> MarkingPhase {
        let of = |verdict| altered.iter().filter(|point| point.verdict == verdict).count() as u64;
        MarkingPhase {
            verdict,
            remarked_to: (verdict == PathVerdict::Remarked).then_some(8),
            preserved: 64 - altered.len() as u64,
            bleached: of(CodePointVerdict::Bleached),
            remarked: of(CodePointVerdict::Remarked),
            mixed: of(CodePointVerdict::Mixed),
            dropped: of(CodePointVerdict::Dropped),
            unknown: 0,
            altered,
        }
    }

    fn marking_path(direction: Direction, family: AddressFamily, idle: MarkingPhase) -> MarkingPath {
        MarkingPath {
            direction,
            family,
            evidence: MarkingSource::Sweep,
            verdict: idle.verdict,
            remarked_to: idle.remarked_to,
            idle: Some(idle),
            load: None,
            matrix: Vec::new(),
        }
    }

    fn point(dscp: u8, verdict: CodePointVerdict, arrives_as: Option<u8>) -> CodePoint {
        CodePoint {
            dscp,
            class: ServiceClass::from_dscp(Dscp::new(dscp).unwrap()),
            verdict,
            arrives_as,
            sent: Some(5),
            arrived: 5,
            excess_loss: None,
            excess_loss_low: None,
            excess_loss_high: None,
        }
    }

    fn said(paths: Vec<MarkingPath>) -> Vec<(String, String)> {
        let mut run = Analysis::default();
        run.test.families = AddressFamily::ALL.to_vec();
        run.markings.paths = paths;
        marking_lines(&run)
    }

    #[test]
    fn families_that_are_treated_alike_share_a_line() {
        let down = |family| marking_path(Direction::Down, family, marking_phase(PathVerdict::Preserved, Vec::new()));
        let up = |family, verdict| marking_path(Direction::Up, family, marking_phase(verdict, Vec::new()));
        let paths = vec![
            down(AddressFamily::Ipv4),
            down(AddressFamily::Ipv6),
            up(AddressFamily::Ipv4, PathVerdict::Bleached),
            up(AddressFamily::Ipv6, PathVerdict::Remarked),
        ];
        let line = |name: &str, text: &str| (name.to_owned(), text.to_owned());
        assert_eq!(
            said(paths),
            [
                line("DSCP down", "preserved (64 of 64 code points)"),
                line("DSCP up, IPv4", "bleached to 0"),
                line("DSCP up, IPv6", "all remarked to BK"),
            ]
        );
    }

    #[test]
    fn what_load_changes_is_printed_and_code_points_are_named() {
        let altered = vec![
            point(46, CodePointVerdict::Remarked, Some(8)),
            point(48, CodePointVerdict::Dropped, None),
            point(34, CodePointVerdict::Bleached, Some(0)),
            point(17, CodePointVerdict::Mixed, Some(17)),
            point(56, CodePointVerdict::Dropped, None),
        ];
        let mut path =
            marking_path(Direction::Up, AddressFamily::Ipv4, marking_phase(PathVerdict::Preserved, Vec::new()));
        path.load = Some(marking_phase(PathVerdict::Altered, altered));
        let truth = "preserved (64 of 64 code points); under load EF remarked to BK, CS6 dropped, AF41 bleached to 0, \
                     DSCP17 inconsistent, 1 more altered; 59 of 64 preserved";
        assert_eq!(said(vec![path])[0].1, truth);
    }

    #[test]
    fn both_kinds_of_ecn_are_distinguished_where_they_differ() {
        let value = |verdict, as_ce| EcnValue {
            verdict,
            sent: Some(200),
            arrived: 200,
            as_not_ect: 0,
            as_ect1: 0,
            as_ect0: 200 - as_ce,
            as_ce,
            marked_share: Some(as_ce as f64 / 200.0),
            marked_share_low: None,
            marked_share_high: None,
            excess_loss: None,
            excess_loss_low: None,
            excess_loss_high: None,
        };
        let phase = |ect0, ect1, as_ce| EcnPhase {
            not_ect: value(EcnVerdict::Pass, 0),
            ect1: value(ect1, as_ce),
            ect0: value(ect0, 0),
            ce: value(EcnVerdict::Pass, 0),
        };
        let path = |idle, load| EcnPath {
            direction: Direction::Up,
            family: AddressFamily::Ipv4,
            verdict: EcnVerdict::Pass,
            idle: Some(idle),
            load,
        };
        let passes = phase(EcnVerdict::Pass, EcnVerdict::Pass, 0);
        assert_eq!(ecn(&path(passes, None)), "preserved");
        let marked = phase(EcnVerdict::Pass, EcnVerdict::Pass, 24);
        assert_eq!(ecn(&path(passes, Some(marked))), "preserved; marked CE under load: ECT(1) 12 %");
        let hidden = phase(EcnVerdict::Pass, EcnVerdict::ToEct0, 0);
        assert_eq!(ecn(&path(hidden, None)), "ECT(0) preserved, ECT(1) remarked to ECT(0)");
    }
}
