//! Runs against each other, for a terminal of 80 columns.

use rrul_analysis::comparison::difference::{Bound, Difference, Factor, Why};
use rrul_analysis::comparison::finding::Finding;
use rrul_analysis::comparison::metric::ComparedMetric;
use rrul_analysis::comparison::run::ComparedRun;
use rrul_analysis::comparison::span::Basis;
use rrul_analysis::comparison::{Comparison, Pair};
use rrul_model::units::Delay;

use crate::text::improvement::{Improvement, times};
use crate::text::style::{Style, finished, printable, unknown};
use crate::text::table::Table;
use crate::text::words;

/// The comparison in words and a table for each group: doubts first, then what a person would notice and what it costs,
/// then every figure. Ends in a newline.
pub fn text_comparison(comparison: &Comparison, style: Style) -> String {
    let mut lines: Vec<String> = warnings(comparison).iter().map(|line| style.alarm(&printable(line))).collect();
    lines.extend(comparison.notes.iter().map(|note| printable(&format!("Note: {note}."))));
    for pair in &comparison.pairs {
        if !lines.is_empty() {
            lines.push(String::new());
        }
        lines.extend(pair_lines(comparison, pair, style));
    }
    lines.push(String::new());
    lines.extend(how_to_read(comparison));
    finished(&lines)
}

/// The validity issues of the comparison as a whole, and of each run.
fn warnings(comparison: &Comparison) -> Vec<String> {
    let conflicts = comparison.conflicts.iter().map(|text| format!("Not the same workload: {text}"));
    let of_run = |run: &ComparedRun| -> Vec<String> {
        let mut said: Vec<String> = words::warning_words(&run.reasons);
        if let Some(partial) = run.partial.as_ref().filter(|_| said.is_empty()) {
            said.push(format!("not complete: {partial}"));
        }
        said.into_iter().map(|text| format!("{}: {text}", run.file)).collect()
    };
    conflicts.chain(comparison.runs.iter().flat_map(of_run)).collect()
}

/// The letter of a group in tables; numbers when letters are used up.
fn letter(group: usize) -> String {
    match u8::try_from(group) {
        Ok(group @ 0..26) => char::from(b'A' + group).to_string(),
        _ => (group + 1).to_string(),
    }
}

/// A group's letter and name, with the number of its runs if several.
fn named(comparison: &Comparison, group: usize) -> String {
    let found = comparison.groups.get(group);
    let name = found.map_or("", |group| &group.name);
    let runs = found.map_or(0, |group| group.runs.len());
    let counted = if runs > 1 { format!(" ({})", words::counted(runs, "run")) } else { String::new() };
    printable(&format!("{}: {name}{counted}", letter(group)))
}

fn pair_lines(comparison: &Comparison, pair: &Pair, style: Style) -> Vec<String> {
    let names = [letter(0), letter(pair.group)];
    let mut lines =
        vec![style.heading(&format!("{}, against {}", named(comparison, pair.group), named(comparison, 0)))];
    if pair.interleaved == Some(false) {
        let text = "Not interleaved: all runs of one came before all of the other, so a change over time looks like an effect. Take turns.";
        lines.push(style.alarm(text));
    }
    lines.extend(added_delay(pair, &names));
    lines.push(for_a_person(pair, &names[1]));
    lines.extend(cost(pair));
    lines.push(String::new());
    lines.extend(table(pair, &names, style));
    lines.extend(left_out(pair));
    lines
}

/// `Under load, A adds 200 ms, B adds 8.0 ms: 25x less (95 %: 22x to 28x).`
fn added_delay(pair: &Pair, names: &[String; 2]) -> Option<String> {
    let added = pair.metric(ComparedMetric::AddedDelayP50)?;
    let (reference, other) = (added.reference?, added.other?);
    let adds = |name: &str, value: f64| match value {
        lost if lost.is_infinite() => format!("with {name} the median packet is lost"),
        none if none <= 0.0 => format!("{name} adds no delay"),
        value => format!("{name} adds {}", Delay(value as i64)),
    };
    let factor = added.factor.map_or_else(String::new, |factor| factor_words(&factor));
    Some(format!("Under load, {}, {}{factor}.", adds(&names[0], reference), adds(&names[1], other)))
}

fn factor_words(factor: &Factor) -> String {
    let improvement = Improvement::of_factor(factor);
    let ends = factor.ci95_low.zip(factor.ci95_high).filter(|(low, high)| *low > 0.0 && high.is_finite());
    let interval = match (improvement, ends) {
        (Improvement::Less(_), Some((low, high))) => format!(" (95 %: {} to {})", times(low), times(high)),
        (Improvement::More(_), Some((low, high))) => {
            format!(" (95 %: {} to {})", times(high.recip()), times(low.recip()))
        }
        _ => String::new(),
    };
    format!(": {}{interval}", improvement.words())
}

fn for_a_person(pair: &Pair, name: &str) -> String {
    match pair.overall.delay {
        Finding::Better => format!("For a person {name} is better: calls, games and pages wait less."),
        Finding::Worse => format!("For a person {name} is worse: calls, games and pages wait longer."),
        Finding::Same => "For a person they do not differ: the load adds the same delay.".to_owned(),
        Finding::Inconclusive => "Which is better for a person is not certain from these runs.".to_owned(),
        Finding::NotMeasured => "Which is better for a person is not known: delay was not compared.".to_owned(),
    }
}

/// `It costs: download the same, upload 11 % less.`
fn cost(pair: &Pair) -> Option<String> {
    let of = |name: &str, metric| {
        let found = pair.metric(metric)?;
        let percent = found.factor.map_or(0.0, |factor| 100.0 * (factor.value - 1.0));
        let said = match found.verdict {
            Finding::Better => format!("{percent:.0} % more"),
            Finding::Worse => format!("{:.0} % less", -percent),
            Finding::Same => "the same".to_owned(),
            Finding::Inconclusive => "not certain".to_owned(),
            Finding::NotMeasured => return None,
        };
        Some(format!("{name} {said}"))
    };
    let said: Vec<String> = [of("download", ComparedMetric::Download), of("upload", ComparedMetric::Upload)]
        .into_iter()
        .flatten()
        .collect();
    let pays = [pair.overall.download, pair.overall.upload].contains(&Finding::Worse);
    let begin = if pays && pair.overall.delay == Finding::Better { "It costs goodput" } else { "Goodput" };
    (!said.is_empty()).then(|| format!("{begin}: {}.", said.join(", ")))
}

/// A row's name with its unit, and what one of that unit is in data.
fn row_of(metric: ComparedMetric) -> (&'static str, f64) {
    match metric {
        ComparedMetric::AddedDelayP50 => ("added delay P50, ms", 1e6),
        ComparedMetric::AddedDelayP95 => ("added delay P95, ms", 1e6),
        ComparedMetric::LoadedDelayP50 => ("loaded P50, ms", 1e6),
        ComparedMetric::LoadedDelayP95 => ("loaded P95, ms", 1e6),
        ComparedMetric::LoadedDelayP99 => ("loaded P99, ms", 1e6),
        ComparedMetric::Loss => ("probes lost, %", 0.01),
        ComparedMetric::PageLoad => ("page load, s", 1e9),
        ComparedMetric::Lookup => ("DNS lookup P50, ms", 1e6),
        ComparedMetric::Connect => ("connect P50, ms", 1e6),
        ComparedMetric::Download => ("download, Mbit/s", 1e6),
        ComparedMetric::Upload => ("upload, Mbit/s", 1e6),
        ComparedMetric::EvennessDown => ("evenness down", 1.0),
        ComparedMetric::EvennessUp => ("evenness up", 1.0),
        ComparedMetric::WebScore => ("web score", 1.0),
        ComparedMetric::CompositeScore => ("composite score", 1.0),
        ComparedMetric::CallOpinion => ("calls, MOS", 1.0),
        ComparedMetric::Responsiveness => ("round trips/min", 1.0),
    }
}

/// Three figures, or all of a whole number.
fn figure(value: f64) -> String {
    if value.is_infinite() {
        return "lost".to_owned();
    }
    let decimals = match value.abs() {
        a if a >= 99.95 => 0,
        a if a >= 9.995 => 1,
        _ => 2,
    };
    let text = format!("{value:.decimals$}");
    if text.trim_start_matches(['-', '0', '.']).is_empty() { text.trim_start_matches('-').to_owned() } else { text }
}

fn signed(value: f64) -> String {
    if value.is_infinite() {
        return if value > 0.0 { "+∞" } else { "-∞" }.to_owned();
    }
    let text = figure(value);
    let positive = value > 0.0 && text.contains(|c: char| ('1'..='9').contains(&c));
    if positive { format!("+{text}") } else { text }
}

fn verdict_cell(found: &Difference) -> String {
    let word = match found.verdict {
        Finding::Same => return "same".to_owned(),
        Finding::Better => "better",
        Finding::Worse => "worse",
        Finding::Inconclusive => return "inconclusive".to_owned(),
        Finding::NotMeasured => return unknown(),
    };
    let Some(factor) = found.factor else { return word.to_owned() };
    let value = if found.verdict == Finding::Worse { factor.value.recip() } else { factor.value };
    let over = if matches!(factor.bound, Some(Bound::AtLeast | Bound::AtMost)) { ">" } else { "" };
    format!("{word} {over}{}", times(value))
}

fn table(pair: &Pair, names: &[String; 2], style: Style) -> Vec<String> {
    let compared: Vec<&Difference> =
        pair.metrics.iter().filter(|found| found.verdict != Finding::NotMeasured).collect();
    if compared.is_empty() {
        return vec!["  Nothing was measured on both sides.".to_owned()];
    }
    let mut table = Table::default();
    let [a, b] = names;
    table.row(["", a, b, &format!("{b} - {a}"), "95 % interval", "verdict"]);
    for found in &compared {
        let (name, one) = row_of(found.metric);
        let cell = |value: Option<f64>, form: fn(f64) -> String| value.map_or_else(unknown, |value| form(value / one));
        let interval = found.ci95_low.zip(found.ci95_high);
        let interval =
            interval.map_or_else(unknown, |(low, high)| format!("{} to {}", signed(low / one), signed(high / one)));
        let values = [cell(found.reference, figure), cell(found.other, figure), cell(found.difference, signed)];
        table.named_row(name, values.into_iter().chain([interval, verdict_cell(found)]));
    }
    let coloured = |(line, found): (String, &&Difference)| {
        let verdict = verdict_cell(found);
        let styled = match found.verdict {
            Finding::Better => style.green(&verdict),
            Finding::Worse => style.alarm(&verdict),
            _ => return line,
        };
        line.strip_suffix(&verdict).map_or_else(|| line.clone(), |front| format!("{front}{styled}"))
    };
    let mut lines = table.lines().into_iter();
    let head = lines.next();
    head.into_iter().chain(lines.zip(&compared).map(coloured)).collect()
}

/// What is not in the table, and why.
fn left_out(pair: &Pair) -> Vec<String> {
    let of = |why: Why, said: &str| {
        let names = pair.metrics.iter().filter(|found| found.why == Some(why));
        let names: Vec<&str> =
            names.map(|found| row_of(found.metric).0.split(',').next().unwrap_or_default()).collect();
        (!names.is_empty()).then(|| format!("{said}: {}.", names.join(", ")))
    };
    let all = [
        of(Why::Nowhere, "Measured on neither side"),
        of(Why::OneSide, "Measured on one side only, so not compared"),
        of(Why::OtherParts, "Different parts, so not compared"),
        of(Why::BothLost, "Lost packets on both sides, so no difference is known"),
        of(Why::NoInterval, "No interval from one run each; repeat the runs to get one"),
    ];
    all.into_iter().flatten().collect()
}

/// What intervals and verdicts mean.
fn how_to_read(comparison: &Comparison) -> Vec<String> {
    let judged = || comparison.pairs.iter().flat_map(|pair| &pair.metrics);
    let rests_on = |basis| judged().any(|found| found.basis == Some(basis));
    let mut lines = Vec::new();
    if rests_on(Basis::OneRun) {
        lines.push(
            "One run each: intervals are of these runs only (block bootstrap). Lines differ more from run to run: \
             repeat each four times or more, taking turns, and compare with --by title.",
        );
    }
    if rests_on(Basis::FewRuns) {
        lines.push(
            "Too few runs for a rank test, which needs four against four: intervals span all pairs of these runs, and are valid for these runs only.",
        );
    }
    if rests_on(Basis::Ranks) {
        lines.push("Repetitions: shift of Hodges and Lehmann, rank test of Mann and Whitney, exact up to 60 runs.");
    }
    lines.push(
        "Same: the interval is within the least difference that matters. Better, worse: it is beyond zero, and the \
         difference matters. Each figure is tested by itself: of equal ones, one in twenty may seem different.",
    );
    lines.into_iter().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_three_digits_and_no_sign_of_nothing() {
        for (value, text) in
            [(0.0, "0.00"), (-0.001, "0.00"), (4.567, "4.57"), (45.67, "45.7"), (456.7, "457"), (-1234.4, "-1234")]
        {
            assert_eq!(figure(value), text);
        }
        assert_eq!(
            (signed(1.5), signed(-1.5), signed(0.001)),
            ("+1.50".to_owned(), "-1.50".to_owned(), "0.00".to_owned())
        );
        assert_eq!((figure(f64::INFINITY), signed(f64::NEG_INFINITY)), ("lost".to_owned(), "-∞".to_owned()));
    }

    #[test]
    fn groups_have_letters_and_then_numbers() {
        assert_eq!([0, 25, 26, 300].map(letter), ["A", "Z", "27", "301"]);
    }

    #[test]
    fn every_row_has_room_for_its_name() {
        assert!(ComparedMetric::ALL.iter().all(|metric| row_of(*metric).0.len() <= 19));
    }
}
