//! Line 1: what was run, when, to whom, over which families, and whether the numbers can be trusted.

use rrul_analysis::Analysis;
use rrul_analysis::validity::{Severity, Verdict};

use crate::text::short_summary::layout::{COLUMNS, fitting, printable, width};
use crate::text::style::Style;
use crate::text::words;

/// Between the parts.
const BETWEEN: &str = " · ";
/// A title, plan or server name is not cut to less, columns.
const LEAST: usize = 8;

pub(super) fn line(run: &Analysis, style: Style) -> String {
    let verdict = verdict(run);
    let when = minutes(&printable(&run.test.created));
    let families: Vec<&str> = run.test.families.iter().map(|family| words::family_name(*family)).collect();
    let known: Vec<String> = [when, families.join("+")].into_iter().filter(|part| !part.is_empty()).collect();
    let fixed = known.join(BETWEEN);
    let end = if fixed.is_empty() { String::new() } else { format!("{BETWEEN}{fixed}") };
    let room = COLUMNS - width(&verdict) - width(BETWEEN);
    let names = names(run, room.saturating_sub(width(&end)));
    let whole = format!("{}{}", names, fitting(&end, room.saturating_sub(width(&names))));
    let verdict = match run.validity.verdict {
        Verdict::Valid => style.green(&verdict),
        Verdict::Doubtful => style.amber(&verdict),
        Verdict::Invalid => style.alarm(&verdict),
    };
    format!("{}{BETWEEN}{verdict}", style.heading(&whole))
}

/// `valid`, or the verdict with the number of reasons for it.
fn verdict(run: &Analysis) -> String {
    let reasons = run.validity.reasons.iter().filter(|reason| reason.severity != Severity::Info).count();
    match run.validity.verdict {
        Verdict::Valid => "valid".to_owned(),
        Verdict::Doubtful => format!("doubtful ({})", words::counted(reasons, "reason")),
        Verdict::Invalid => format!("INVALID ({})", words::counted(reasons, "reason")),
    }
}

/// The title, the plan and the server, the longest cut first until all fit.
fn names(run: &Analysis, room: usize) -> String {
    let title = printable(run.test.title.trim());
    let (mut title, mut plan, mut server) = (title, printable(&run.test.plan), printable(&run.test.server));
    let joined = |title: &str, plan: &str, server: &str| {
        let target = if server.is_empty() { plan.to_owned() } else { format!("{plan} to {server}") };
        if title.is_empty() { target } else { format!("{title}{BETWEEN}{target}") }
    };
    while width(&joined(&title, &plan, &server)) > room {
        let longest = [&mut title, &mut plan, &mut server].into_iter().max_by_key(|part| width(part));
        let Some(longest) = longest.filter(|part| width(part) > LEAST) else { break };
        *longest = fitting(longest, width(longest) - 1);
    }
    fitting(&joined(&title, &plan, &server), room)
}

/// An RFC 3339 instant to the minute; any other text as it is.
fn minutes(created: &str) -> String {
    let date = words::date(created);
    match date.strip_suffix(" UTC").and_then(|date| date.get(..16)) {
        Some(minute) => format!("{minute} UTC"),
        None => date,
    }
}
