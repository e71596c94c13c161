//! Sentences that charts and summaries share, so that both say the same.

use rrul_analysis::Analysis;
use rrul_analysis::metrics::loss::packet_count::Loss;
use rrul_analysis::validity::{Confidence, Reason, Severity, Verdict};
use rrul_model::flow::{AddressFamily, Direction};
use rrul_model::marking::ServiceClass;
use rrul_model::printable;
use rrul_model::units::Delay;

/// The user's word for a direction.
pub(crate) fn direction_word(direction: Direction) -> &'static str {
    direction.select("Upload", "Download")
}

/// The title of a run: the user's, or what was done to whom.
pub(crate) fn title(run: &Analysis) -> String {
    if !run.test.title.trim().is_empty() {
        return printable::field(run.test.title.trim()).into_owned();
    }
    format!("Realtime response under load — {}", plan_and_server(run))
}

/// The plan and the server, if that may be shown.
fn plan_and_server(run: &Analysis) -> String {
    if run.test.server.is_empty() {
        return format!("plan {}", printable::field(&run.test.plan));
    }
    format!("plan {} to {}", printable::field(&run.test.plan), printable::field(&run.test.server))
}

/// The short name of a run beside others: the user's title, or the server.
pub(crate) fn run_name(run: &Analysis) -> &str {
    let title = run.test.title.trim();
    if title.is_empty() { &run.test.server } else { title }
}

/// The short names of runs, distinguished by letters where they would be the same.
pub(crate) fn run_names(runs: &[&Analysis]) -> Vec<String> {
    let alike = |name: &str| runs.iter().filter(|run| run_name(run) == name).count() > 1;
    let lettered = |(index, run): (usize, &&Analysis)| {
        let name = run_name(run);
        if !alike(name) && !name.is_empty() {
            return name.to_owned();
        }
        let letter = char::from(b'A' + (index % 26) as u8);
        if name.is_empty() { format!("run {letter}") } else { format!("{name} ({letter})") }
    };
    runs.iter().enumerate().map(lettered).collect()
}

/// When, what, to whom and over which families, in one line.
pub(crate) fn circumstances(run: &Analysis) -> String {
    let mut words = vec![date(&run.test.created)];
    if !run.test.title.trim().is_empty() {
        words.push(plan_and_server(run));
    }
    words.push(families(&run.test.families));
    words.retain(|word| !word.is_empty());
    words.join("  ·  ")
}

/// An RFC 3339 instant for people, to the second; any other text as it is.
pub(crate) fn date(created: &str) -> String {
    match (created.get(..10), created.get(10..11), created.get(11..19)) {
        (Some(day), Some("T"), Some(time)) if created.ends_with('Z') => format!("{day} {time} UTC"),
        _ => created.to_owned(),
    }
}

/// Families as people write them.
pub(crate) fn families(families: &[AddressFamily]) -> String {
    let names: Vec<&str> = families.iter().map(|family| family_name(*family)).collect();
    names.join(" and ")
}

/// A family as people write it.
pub(crate) fn family_name(family: AddressFamily) -> &'static str {
    match family {
        AddressFamily::Ipv4 => "IPv4",
        AddressFamily::Ipv6 => "IPv6",
    }
}

/// The validity issues of a run, the heaviest first, one line each; empty for a valid run.
pub(crate) fn warnings(run: &Analysis) -> Vec<String> {
    warning_words(&run.validity.reasons)
}

/// The doubts about these runs, counted, in one line for a chart; `None` when all are valid.
pub(crate) fn doubts(runs: &[&Analysis], names: &[String]) -> Option<String> {
    let reasons = |run: &Analysis| warnings(run).len();
    counted_doubts(runs, names, reasons)
}

/// The same where not every reason counts.
pub(crate) fn counted_doubts(
    runs: &[&Analysis],
    names: &[String],
    reasons: impl Fn(&Analysis) -> usize,
) -> Option<String> {
    let told = |(run, name): (&&Analysis, &String)| {
        let count = reasons(run);
        let verdict = verdict_word(run.validity.verdict);
        let said = format!("{verdict} ({})", counted(count, "reason"));
        (count > 0).then(|| if runs.len() > 1 { format!("{name}: {}", said.to_lowercase()) } else { said })
    };
    let told: Vec<String> = runs.iter().zip(names).filter_map(told).collect();
    (!told.is_empty()).then(|| format!("{}; see summary", told.join("; ")))
}

/// Those of these reasons that change the verdict, one line each.
pub(crate) fn warning_words(reasons: &[Reason]) -> Vec<String> {
    let reasons = reasons.iter().filter_map(|reason| {
        let word = match reason.severity {
            Severity::Info => return None,
            Severity::Doubt => verdict_word(Verdict::Doubtful),
            Severity::Invalid => verdict_word(Verdict::Invalid),
        };
        Some(format!("{word}: {}", reason.text))
    });
    reasons.collect()
}

/// The verdict as a word that begins a line.
pub(crate) fn verdict_word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Valid => "Valid",
        Verdict::Doubtful => "Doubtful",
        Verdict::Invalid => "Invalid",
    }
}

/// Whether a class is background, which is meant to yield: CS1 and LE (RFC 3662, RFC 8622).
pub(crate) fn is_background(class: ServiceClass) -> bool {
    matches!(class.dscp().value(), 1 | 8)
}

/// Losses in words: `12 of 14 003 lost (0.09 %)`.
pub(crate) fn loss(loss: Loss) -> String {
    match (loss.sent, loss.lost) {
        (0, _) => "none sent".to_owned(),
        (sent, 0) => format!("none of {} lost", count(sent)),
        (sent, lost) => format!("{} of {} lost ({})", count(lost), count(sent), percent(lost as f64 / sent as f64)),
    }
}

/// A share as per cent, with the decimals that mean something.
pub(crate) fn percent(share: f64) -> String {
    let value = share * 100.0;
    match value {
        v if v <= 0.0 => "0 %".to_owned(),
        v if v < 0.01 => "under 0.01 %".to_owned(),
        v if v < 1.0 => format!("{v:.2} %"),
        v if v < 10.0 => format!("{v:.1} %"),
        v => format!("{v:.0} %"),
    }
}

/// A difference with its sign.
pub(crate) fn added(delay: Option<Delay>) -> String {
    match delay {
        Some(delay) if delay.0 > 0 => format!("+{delay}"),
        Some(delay) => delay.to_string(),
        None => "–".to_owned(),
    }
}

/// A count with thin groups of thousands: `14 003`.
pub(crate) fn count(count: u64) -> String {
    let digits = count.to_string();
    // A no-break space: a number is not to be torn.
    if digits.len() > 4 { in_thousands(&digits, '\u{a0}') } else { digits }
}

/// Digits in groups of three.
pub(crate) fn in_thousands(digits: &str, separator: char) -> String {
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(separator);
        }
        grouped.push(digit);
    }
    grouped
}

/// A noun with its count: `1 stream`, `4 streams`.
pub(crate) fn counted(count: usize, one: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {one}{plural}")
}

/// How well figures under load represent the loaded line.
pub(crate) fn confidence(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::High => {
            "Confidence: high. The load was the most that the line carries; rate and delay were stationary."
        }
        Confidence::Medium => {
            "Confidence: medium. The load was the most that the line carries, but not known to be stationary."
        }
        Confidence::Low => "Confidence: low. The load is not known to have been the most that the line carries.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_and_counts_read_as_people_write_them() {
        for (share, text) in
            [(0.0, "0 %"), (0.000_01, "under 0.01 %"), (0.000_9, "0.09 %"), (0.034, "3.4 %"), (0.5, "50 %")]
        {
            assert_eq!(percent(share), text);
        }
        assert_eq!(count(1234), "1234");
        assert_eq!(count(1_234_567), "1\u{a0}234\u{a0}567");
        assert_eq!((counted(1, "stream"), counted(4, "stream")), ("1 stream".to_owned(), "4 streams".to_owned()));
        assert_eq!(loss(Loss { sent: 14_000, lost: 12 }), "12 of 14\u{a0}000 lost (0.09 %)");
        assert_eq!(loss(Loss::default()), "none sent");
    }

    #[test]
    fn a_date_loses_its_fraction_and_anything_else_stays() {
        assert_eq!(date("2026-11-21T18:51:06.306851Z"), "2026-11-21 18:51:06 UTC");
        assert_eq!(date("2026-11-21T18:51:06Z"), "2026-11-21 18:51:06 UTC");
        assert_eq!(date("yesterday"), "yesterday");
    }
}
