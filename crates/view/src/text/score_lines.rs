//! Scores in the printed summary.

use rrul_analysis::Analysis;
use rrul_analysis::scored::Scores;
use rrul_analysis::scores::bufferbloat::Bufferbloat;
use rrul_analysis::scores::composite::Composite;
use rrul_analysis::scores::penalty::{Misbehaviour, Penalty, PenaltyItem};
use rrul_analysis::scores::web::WebScore;
use rrul_model::flow::Direction;
use rrul_model::units::Delay;

use crate::text::table::{SectionBody, Table};

/// The lines that lead the summary: the main score, and one sentence. Nothing without any.
pub(crate) fn lead(run: &Analysis) -> Vec<String> {
    let scores = &run.scores;
    if let Some(withheld) = &scores.withheld {
        return vec![format!("RRUL score: none, {withheld}. To score anyway: rrul show --score-anyway.")];
    }
    let mut lines = Vec::new();
    match (&scores.web, &scores.composite) {
        (Some(web), _) => lines.push(headline(web)),
        (None, Some(_)) if scores.web_missing.is_empty() => {
            lines.push("RRUL score: none, no page loaded both idle and under load.".to_owned());
        }
        (None, Some(_)) => {
            let at_most = scores.web_at_most.map_or_else(String::new, |highest| format!(", at most {highest} of 100"));
            lines.push(format!("RRUL score: none{at_most}. {}.", scores.web_missing.join("; ")));
        }
        (None, None) => {}
    }
    if scores.web.is_some() && !scores.web_missing.is_empty() {
        lines.push(format!("Not in the score: {}.", scores.web_missing.join("; ")));
    }
    lines.extend(scores.in_words.clone());
    lines
}

fn headline(web: &WebScore) -> String {
    let interval = match (web.ci95_low, web.ci95_high) {
        (Some(low), Some(high)) if low.round() < high.round() => format!(" (95 %: {low:.0} to {high:.0})"),
        _ => String::new(),
    };
    let times = match web.pages.as_slice() {
        [page] => {
            let [idle, loaded] = [page.unloaded_mean_ns, page.loaded_mean_ns].map(seconds);
            format!(": a page takes {idle} idle and {loaded} under load")
        }
        pages => format!(" (mean of {} pages): 100 is as fast as idle", pages.len()),
    };
    let failures = match web.failures {
        0 => String::new(),
        1 => "; 1 page load failed".to_owned(),
        failures => format!("; {failures} page loads failed"),
    };
    format!("RRUL score {} of 100{interval}{times}{failures}.", web.score)
}

/// A page's time as people say it.
pub(crate) fn seconds(nanoseconds: i64) -> String {
    let delay = Delay(nanoseconds);
    if nanoseconds < 995_000_000 { delay.to_string() } else { format!("{:.1} s", nanoseconds as f64 / 1e9) }
}

/// What stands above the table.
pub(crate) const HEADING: &str = "Scores";

/// The table; empty where nothing is scored.
pub(crate) fn told(scores: &Scores) -> SectionBody {
    let mut table = Table::default();
    if let Some(composite) = &scores.composite {
        table.row(["composite", &whole(composite)]);
        table.row(["", &parts(composite)]);
    }
    if let Some(penalty) = &scores.penalty {
        table.row(["penalties", &penalties(penalty)]);
    }
    if let Some(bufferbloat) = &scores.bufferbloat {
        table.row(["bufferbloat", &letters(bufferbloat)]);
    }
    if let Some(responsiveness) = &scores.responsiveness {
        let without = if responsiveness.with_tls { "" } else { ", without TLS" };
        table.row(["responsiveness", &format!("{:.0} round trips per minute{without}", responsiveness.rpm)]);
    }
    let outcomes = scores.qoo.iter().filter_map(|entry| Some((entry.profile, entry.score?)));
    let outcomes: Vec<String> =
        outcomes.map(|(profile, score)| format!("{} {score:.0}", profile.replace('_', " "))).collect();
    if !outcomes.is_empty() {
        table.row(["quality of outcome", &format!("{} (of 100)", outcomes.join(", "))]);
    }
    if let Some(aim) = &scores.aim {
        let uses = [("streaming", aim.streaming), ("gaming", aim.gaming), ("calls", aim.rtc)];
        let words: Vec<String> =
            uses.into_iter().filter_map(|(name, told)| Some(format!("{name} {}", told?.word))).collect();
        if !words.is_empty() {
            table.row(["AIM", &words.join(", ")]);
        }
    }
    if let Some(optimum) = &scores.optimum {
        let unknown = match optimum.not_measured {
            0 => String::new(),
            unknown => format!(", {unknown} not measured"),
        };
        let all = optimum.items.len();
        table.row(["optimum of the specification", &format!("{} of {all} met{unknown}", optimum.met)]);
    }
    SectionBody { table, words: true, ..SectionBody::default() }
}

fn whole(composite: &Composite) -> String {
    let Composite { total, maximum_available, missing, .. } = composite;
    let missing: Vec<String> = missing.iter().map(|part| part.replace('_', " ")).collect();
    let missing = if missing.is_empty() { String::new() } else { format!(", not measured: {}", missing.join(", ")) };
    format!("{total:.0} of {maximum_available:.0}{missing}")
}

fn parts(composite: &Composite) -> String {
    let named = composite.parts.named().into_iter().filter_map(|(name, points)| Some((name, points?)));
    let parts: Vec<String> = named.map(|(name, points)| format!("{} {points:.0}", name.replace('_', " "))).collect();
    format!("{} (of 20 each)", parts.join(", "))
}

/// The sum, and what has points, the most first.
fn penalties(penalty: &Penalty) -> String {
    let mut items: Vec<&PenaltyItem> =
        penalty.items.iter().filter(|item| item.points.is_some_and(|p| p >= 0.5)).collect();
    items.sort_by(|a, b| b.points.unwrap_or(0.0).total_cmp(&a.points.unwrap_or(0.0)));
    let told: Vec<String> =
        items.iter().map(|item| format!("{} {:.0}", misbehaviour(item), item.points.unwrap_or(0.0))).collect();
    let unknown = penalty.items.iter().filter(|item| item.points.is_none()).count();
    let unknown = if unknown == 0 { String::new() } else { format!(", {unknown} not measured") };
    match told.as_slice() {
        [] => format!("{:.0}{unknown}", penalty.total),
        told => format!("{:.0}{unknown}: {}", penalty.total, told.join(", ")),
    }
}

fn misbehaviour(item: &PenaltyItem) -> String {
    let what = match item.what {
        Misbehaviour::Expedited => "EF takes too much",
        Misbehaviour::Background => "background does not yield",
        Misbehaviour::BackgroundStarved => "background starves",
        Misbehaviour::UnequalStreams => "unequal streams of one class",
        Misbehaviour::SlowConnects => "slow connects",
        Misbehaviour::Queue => "long queue",
        Misbehaviour::Ipv6Absent => "no IPv6",
        Misbehaviour::CodePointsAltered => "code points altered",
        Misbehaviour::EcnAltered => "ECN altered",
    };
    match item.direction {
        Some(direction) => format!("{what} ({direction})"),
        None => what.to_owned(),
    }
}

fn letters(bufferbloat: &Bufferbloat) -> String {
    let way = |direction: Direction| {
        let told = direction.select(bufferbloat.up, bufferbloat.down);
        let added = told?.mean_added_ms.map_or_else(|| "lost".to_owned(), |ms| format!("+{:.0} ms", ms.max(0.0)));
        Some(format!("{} {added}", if direction == Direction::Up { "upload" } else { "download" }))
    };
    let ways: Vec<String> = Direction::ALL.into_iter().filter_map(way).collect();
    let of = if bufferbloat.of_round_trips { "of the round trip".to_owned() } else { ways.join(", ") };
    format!("{} ({of}); by P95 {}", bufferbloat.letter.name(), bufferbloat.letter_p95.name())
}
