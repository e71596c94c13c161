//! What leads the report of a run: what a person would feel, the score, whether to trust it, and the few figures to know.

use rrul_analysis::Analysis;
use rrul_analysis::metrics::loss::packet_count::Loss;
use rrul_analysis::validity::{Severity, Verdict};
use rrul_model::flow::Direction;
use rrul_model::recording::Header;

use super::markup::Markup;
use super::missing_data::missing_data;
use super::plot_part::heading;
use crate::panels::delay_panel::increase;
use crate::text::path_lines;
use crate::text::pooled_probes::pooled_name;
use crate::text::score_lines;
use crate::text::style::{quantile, unknown};
use crate::text::text_scored;
use crate::text::tuning::findings::findings;
use crate::text::tuning::outcome_words::outcome;
use crate::text::words;
use crate::text::words::direction_word;

/// Writes it under headings of this level.
pub(crate) fn write(page: &mut Markup, run: &Analysis, header: &Header, level: usize) {
    page.element("p", &[("class", "circumstances")], &words::circumstances(run));
    let verdict = run.validity.verdict;
    page.within("section", &[("class", "verdict")], |page| {
        page.element(heading(level), &[], "In words");
        // Whoever reads figures that say nothing has to know it first.
        if verdict != Verdict::Valid {
            badge(page, run);
        }
        if let Some(tuning) = run.tuning() {
            page.element("p", &[("class", "felt")], &unbroken(&outcome(tuning)));
            for finding in findings(tuning) {
                page.element("p", &[("class", "score")], &unbroken(&finding));
            }
        }
        if let Some(felt) = &run.scores.in_words {
            page.element("p", &[("class", "felt")], &unbroken(felt));
        }
        for line in score_lines::lead(run).iter().filter(|line| Some(*line) != run.scores.in_words.as_ref()) {
            page.element("p", &[("class", "score")], &unbroken(line));
        }
        for line in path_lines::lead(run) {
            page.element("p", &[("class", "score")], &unbroken(&line));
        }
        if verdict == Verdict::Valid {
            badge(page, run);
        }
        tiles(page, run);
    });
    reasons(page, run, level);
    absent(page, run, header, level);
}

/// Whether to trust the figures, in a word and a sentence.
fn badge(page: &mut Markup, run: &Analysis) {
    let verdict = run.validity.verdict;
    page.within("p", &[("class", "badge-line")], |page| {
        let class = match verdict {
            Verdict::Valid => "badge valid",
            Verdict::Doubtful => "badge doubtful",
            Verdict::Invalid => "badge invalid",
        };
        page.element("strong", &[("class", class)], words::verdict_word(verdict));
        page.text(" ");
        page.text(match verdict {
            Verdict::Valid => "No validity issues found.",
            Verdict::Doubtful => "The figures may be wrong; the reasons are below.",
            Verdict::Invalid => "The figures say nothing about the network; the reasons are below.",
        });
        if let Some(confidence) = run.validity.confidence {
            page.text(" ");
            page.text(words::confidence(confidence));
        }
    });
}

/// A sentence in which no number is torn from its unit at the end of a line.
fn unbroken(sentence: &str) -> String {
    ["%", "ms", "s", "of 100", "bit/s", "kbit/s", "Mbit/s", "Gbit/s"].iter().fold(
        sentence.to_owned(),
        |sentence, unit| {
            let mut whole = String::with_capacity(sentence.len());
            let mut rest = sentence.as_str();
            while let Some(at) = rest.find(&format!(" {unit}")) {
                let (before, after) = (&rest[..at], &rest[at + 1..]);
                let number = before.ends_with(|c: char| c.is_ascii_digit());
                let ended = !after[unit.len()..].starts_with(char::is_alphanumeric);
                whole.push_str(before);
                whole.push(if number && ended { '\u{a0}' } else { ' ' });
                rest = after;
            }
            whole + rest
        },
    )
}

/// The few figures to know.
fn tiles(page: &mut Markup, run: &Analysis) {
    let delays = &run.round_trip_delay.pooled;
    let mut told: Vec<(String, String, String)> = Vec::new();
    if let Some(web) = &run.scores.web {
        told.push(("RRUL score".to_owned(), format!("{} of 100", web.score), String::new()));
    }
    if !run.round_trip_delay.flows.is_empty() {
        let idle = delays.idle.as_ref().map_or_else(unknown, |statistics| quantile(statistics.p50));
        told.push(("Round-trip delay idle".to_owned(), idle, "median".to_owned()));
        let load = delays.load.as_ref();
        let median = load.map_or_else(unknown, |statistics| quantile(statistics.p50));
        let p95 = load.map_or_else(String::new, |statistics| format!("median; P95 {}", quantile(statistics.p95)));
        told.push(("Round-trip delay under load".to_owned(), median, p95));
        told.push(("Increase under load".to_owned(), increase(delays), "median".to_owned()));
        let Loss { sent, lost } = run.loss.round_trips;
        if sent > 0 {
            let share = words::percent(lost as f64 / sent as f64);
            told.push((
                "Probe packets lost".to_owned(),
                share,
                format!("{} of {}, {}", words::count(lost), words::count(sent), pooled_name(&[run])),
            ));
        }
    }
    for direction in Direction::ALL {
        let goodput = run.goodput(direction);
        if !goodput.flows.is_empty() {
            let streams = format!("sum of {}", words::counted(goodput.flows.len(), "stream"));
            told.push((direction_word(direction).to_owned(), goodput.sum.to_string(), streams));
        }
    }
    page.within("dl", &[("class", "tiles")], |page| {
        for (name, figure, more) in &told {
            page.within("div", &[("class", "tile")], |page| {
                page.element("dt", &[], name);
                page.within("dd", &[], |page| {
                    page.element("strong", &[], figure);
                    page.element("span", &[], more);
                });
            });
        }
    });
}

/// Every reason, the heaviest first, in full.
fn reasons(page: &mut Markup, run: &Analysis, level: usize) {
    page.within("section", &[("class", "validity")], |page| {
        page.element(heading(level), &[], "Validity");
        let scored = text_scored::lines(run);
        if run.validity.reasons.is_empty() && scored.is_empty() {
            page.element("p", &[], "No rule reports anything.");
            return;
        }
        page.within("ul", &[("class", "reasons")], |page| {
            for reason in &run.validity.reasons {
                let (class, word) = match reason.severity {
                    Severity::Info => ("info", "Note"),
                    Severity::Doubt => ("doubtful", words::verdict_word(Verdict::Doubtful)),
                    Severity::Invalid => ("invalid", words::verdict_word(Verdict::Invalid)),
                };
                page.within("li", &[], |page| {
                    page.element("strong", &[("class", &format!("badge {class}"))], word);
                    page.text(" ");
                    page.text(&reason.text);
                    page.text(" ");
                    page.element("code", &[], reason.code);
                });
            }
            for line in &scored {
                page.element("li", &[], line);
            }
        });
    });
}

/// What was not measured, and every flow that failed.
fn absent(page: &mut Markup, run: &Analysis, header: &Header, level: usize) {
    let missing = missing_data(run, header);
    page.within("section", &[("class", "absent")], |page| {
        page.element(heading(level), &[], "What is not in this run");
        if missing.is_empty() && run.failed_flows.is_empty() {
            page.element("p", &[], "Nothing is missing.");
            return;
        }
        page.within("ul", &[], |page| {
            for entry in &missing {
                page.within("li", &[], |page| {
                    page.element("strong", &[], &entry.what);
                    page.text(": ");
                    page.text(&entry.why);
                });
            }
            for flow in &run.failed_flows {
                page.within("li", &[], |page| {
                    page.element("strong", &[], &format!("Flow {}", flow.flow.name));
                    page.text(" failed: ");
                    page.text(&flow.reason);
                });
            }
            for note in header.imported.iter().flat_map(|imported| &imported.notes) {
                page.element("li", &[], note);
            }
        });
    });
}
