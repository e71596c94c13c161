//! The bufferbloat letter, the RRUL score and voice, a line each, or why not.

use rrul_analysis::Analysis;
use rrul_analysis::packets::probe_pool::is_headline;
use rrul_analysis::scores::bufferbloat::Letter;
use rrul_analysis::scores::web::WebScore;
use rrul_analysis::validity::Verdict;
use rrul_model::flow::Direction;

use crate::text::score_lines::seconds;
use crate::text::short_summary::layout::{COLUMNS, condensed, printable};

/// Width of the names and the gap behind them, columns.
const NAMES: usize = 13;
/// From here on an opinion score is so good (ITU-T G.107 annex B: user satisfaction).
const OPINIONS: [(f64, &str); 4] = [(4.34, "excellent"), (4.03, "good"), (3.60, "fair"), (3.10, "poor")];

pub(super) fn lines(run: &Analysis) -> Vec<String> {
    if !is_loaded(run) && run.scores.web.is_none() {
        return vec!["No load in this plan: no bufferbloat grade and no scores.".to_owned()];
    }
    if run.validity.verdict == Verdict::Invalid {
        return vec!["No grades: the figures of an invalid run are not those of the line.".to_owned()];
    }
    let rows = [("Bufferbloat", Some(bufferbloat(run))), ("RRUL score", Some(score(run))), ("Voice calls", voice(run))];
    let row = |(name, text): (&str, Option<String>)| {
        let text = condensed(&printable(&text?), 1, COLUMNS - NAMES).concat();
        Some(format!("{name:<NAMES$}{text}"))
    };
    rows.into_iter().filter_map(row).collect()
}

/// Whether the plan loads either direction.
pub(super) fn is_loaded(run: &Analysis) -> bool {
    Direction::ALL.into_iter().any(|direction| !run.goodput(direction).flows.is_empty())
}

fn bufferbloat(run: &Analysis) -> String {
    match (&run.scores.bufferbloat, &run.scores.withheld) {
        (Some(letters), _) => {
            let [letter, p95] = [letters.letter, letters.letter_p95].map(Letter::name);
            format!("{letter} on average, {p95} for the slowest 5 % (A+ is best, F is worst)")
        }
        (None, Some(withheld)) => format!("none: {withheld}"),
        (None, None) => "none: no delay probes both idle and under load".to_owned(),
    }
}

fn score(run: &Analysis) -> String {
    match (&run.scores.web, &run.scores.withheld) {
        (Some(web), _) => web_score(web),
        (None, Some(withheld)) => format!("none: {withheld}"),
        (None, None) if run.page_loads.is_empty() => "none: the plan loads no pages".to_owned(),
        (None, None) if run.scores.web_missing.is_empty() => "none: no page loaded both idle and under load".to_owned(),
        (None, None) => {
            let at_most =
                run.scores.web_at_most.map_or_else(String::new, |highest| format!(", at most {highest} of 100"));
            format!("none{at_most}: {}", reasons(&run.scores.web_missing))
        }
    }
}

/// Why pages have no score, without the names of the pages: the full summary has those.
fn reasons(missing: &[String]) -> String {
    let mut reasons: Vec<&str> =
        missing.iter().map(|entry| entry.split_once(": ").map_or(entry.as_str(), |(_, reason)| reason)).collect();
    reasons.dedup();
    reasons.join("; ")
}

fn web_score(web: &WebScore) -> String {
    let times = match web.pages.as_slice() {
        [page] => {
            let [idle, loaded] = [page.unloaded_mean_ns, page.loaded_mean_ns].map(seconds);
            format!(": a page takes {idle} idle, {loaded} under load")
        }
        pages => format!(" (mean of {} pages): 100 is as fast as idle", pages.len()),
    };
    format!("{} of 100{times}", web.score)
}

/// The worst stream of best effort and expedited forwarding, in words; nothing without voice streams.
fn voice(run: &Analysis) -> Option<String> {
    let voip = run.voip.as_ref()?;
    let loaded = run.scores.voip_mos.as_ref().and_then(|mos| mos.worst);
    let Some(loaded) = loaded else { return Some("none: one-way delay of voice is unknown".to_owned()) };
    let flows = voip.flows.iter().filter(|entry| is_headline(entry.flow.class));
    let idle = flows.filter_map(|entry| entry.idle?.mos_plc).min_by(f64::total_cmp);
    let idle = idle.map_or_else(String::new, |idle| format!("; idle {idle:.1}"));
    Some(format!("{} (MOS {loaded:.1}{idle}; 4.4 is best, 1 is worst)", opinion(loaded)))
}

fn opinion(score: f64) -> &'static str {
    OPINIONS.iter().find(|(least, _)| score >= *least).map_or("bad", |(_, word)| word)
}
