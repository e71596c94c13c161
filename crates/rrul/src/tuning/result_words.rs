//! What class runs, overhead runs and confirmation show, in lines for people.

use rrul_analysis::Analysis;
use rrul_analysis::tuning::class_shares::{ClassShare, ClassShares, JudgedShare, ShareVerdict};
use rrul_analysis::tuning::overhead::{Framing, LineOverheads};
use rrul_model::flow::Direction;
use rrul_model::shaping::TuningPlan;
use rrul_model::units::Delay;

use super::confirmation::Confirmation;

/// What is not known.
const UNKNOWN: &str = "–";

/// A line for each class and direction: its shares alone and beside the others, what is promised, and whether that is kept.
pub(crate) fn class_lines(shares: &ClassShares) -> Vec<String> {
    let row = |name: &str, alone: &str, together: &str, promised: &str| {
        format!("{name:24}{alone:>18}{together:>18}{promised:>12}")
    };
    let mut lines = vec![String::new(), row("Shares of the classes", "alone", "together", "promised")];
    for direction in Direction::ALL {
        for class in shares.directions.get(direction) {
            let name = format!("  {} {}", direction.select("Upload", "Download"), class.class);
            let promised = [class.alone, class.together].map(|share| share.and_then(|share| share.promised));
            let promised = match promised {
                [None, None] => UNKNOWN.to_owned(),
                [alone, together] => format!("{}, {} %", words(alone.map(percent)), words(together.map(percent))),
            };
            let line = row(&name, &share_words(class.alone), &share_words(class.together), &promised);
            lines.push(format!("{line}  {}", verdict_words(class)));
        }
    }
    lines
}

/// A line for each direction: what the line adds to each packet, in what the shaper counts, and what to set.
pub(crate) fn overhead_lines(found: &LineOverheads, tuning: &TuningPlan) -> Vec<String> {
    let row = |name: &str, found: &str, counted: &str| format!("{name:24}{found:>24}{counted:>24}");
    let mut lines = vec![String::new(), row("Link-layer overhead", "of the line", "of the shaper")];
    for direction in Direction::ALL.into_iter().filter(|direction| tuning.directions.contains(direction)) {
        let counted = direction.select(&tuning.shaper.up_link_layer, &tuning.shaper.down_link_layer).as_deref();
        let name = direction.select("  Upload", "  Download");
        let Some(found) = found.directions.get(direction) else {
            lines.push(format!(
                "{}  a host limited the load, or the line's rate changed",
                row(name, UNKNOWN, words(counted).as_str())
            ));
            continue;
        };
        let cells = if found.framing == Framing::Cells { "ATM, " } else { "" };
        let (low, high) = (found.low.floor().max(0.0), found.high.ceil().max(0.0));
        let octets = found.overhead.round().max(0.0);
        let agrees = counted.and_then(|layer| layer.parse().ok()).map(|layer| found.agrees(&layer));
        let advice = match agrees {
            Some(true) => "as the line".to_owned(),
            Some(false) | None => {
                format!("set {}overhead {octets} (as CAKE takes it)", if cells.is_empty() { "" } else { "atm " })
            }
        };
        let of_line = format!("{cells}{octets} bytes ({low}–{high})");
        lines.push(format!("{}  {advice}", row(name, &of_line, words(counted).as_str())));
    }
    lines
}

/// A share and its interval.
fn share_words(share: Option<JudgedShare>) -> String {
    let Some(share) = share else { return UNKNOWN.to_owned() };
    let interval = share.low.zip(share.high).map(|(low, high)| format!(" ({}–{})", percent(low), percent(high)));
    format!("{} %{}", percent(share.share), interval.unwrap_or_default())
}

fn percent(share: f64) -> String {
    format!("{:.0}", share * 100.0)
}

/// Both verdicts, or one where they are alike.
fn verdict_words(class: &ClassShare) -> String {
    let [alone, together] = [class.alone, class.together].map(|share| share.map(|share| share.verdict));
    match (alone, together) {
        (Some(alone), Some(together)) if alone != together => {
            format!("alone {}; together {}", verdict_word(alone), verdict_word(together))
        }
        (verdict, other) => verdict.or(other).map_or(UNKNOWN, verdict_word).to_owned(),
    }
}

fn verdict_word(verdict: ShareVerdict) -> &'static str {
    match verdict {
        ShareVerdict::AsPromised => "as promised",
        ShareVerdict::More => "more than promised",
        ShareVerdict::Less => "less than promised",
        ShareVerdict::Unclear => "unclear: rates vary too much",
        ShareVerdict::MarkingLost => "cannot be verified: markings are lost on the way",
        ShareVerdict::HostLimited => "cannot be verified: a host limited the load",
        ShareVerdict::OtherTraffic => "cannot be verified: other traffic",
        ShareVerdict::NoPromise => "not judged: the shaper's kind is unknown",
    }
}

fn words<T: std::fmt::Display>(value: Option<T>) -> String {
    value.map_or_else(|| UNKNOWN.to_owned(), |value| value.to_string())
}

/// Both tests side by side.
pub(crate) fn confirmation_lines(confirmation: &Confirmation) -> Vec<String> {
    let before = &confirmation.as_found.analysis;
    let after = confirmation.recommended.as_ref().map(|measured| &measured.analysis);
    let row = |name: &str, of: &dyn Fn(&Analysis) -> Option<String>| {
        let cell = |run: Option<&Analysis>| words(run.and_then(of));
        format!("  {name:30}{:>16}{:>16}", cell(Some(before)), cell(after))
    };
    let mut lines = vec![String::new(), format!("{:32}{:>16}{:>16}", "Two whole tests", "as found", "recommended")];
    lines.push(row("Added latency under load, P50", &|run| added(run, |delays| delays.p50)));
    lines.push(row("Added latency under load, P95", &|run| added(run, |delays| delays.p95)));
    for direction in Direction::ALL {
        let name = direction.select("Upload goodput", "Download goodput");
        let goodput = move |run: &Analysis| {
            let goodput = run.goodput(direction);
            (!goodput.flows.is_empty()).then(|| goodput.sum.to_string())
        };
        lines.push(row(name, &goodput));
    }
    lines
}

/// A percentile of the round trip under load above the median of the idle line.
fn added(
    run: &Analysis,
    of: fn(&rrul_analysis::statistics::percentile::DelayStatistics) -> Option<Delay>,
) -> Option<String> {
    let delays = &run.round_trip_delay.pooled;
    let idle = delays.idle.as_ref()?.p50?;
    let load = delays.load.as_ref()?;
    Some(of(load).map_or_else(|| "lost".to_owned(), |loaded| format!("{:+.1} ms", (loaded - idle).milliseconds())))
}

#[cfg(test)]
mod tests {
    use rrul_analysis::by_direction::ByDirection;
    use rrul_analysis::tuning::overhead::LineOverhead;
    use rrul_model::marking::ServiceClass;
    use rrul_model::shaping::ShaperDescription;
    use rrul_model::units::BitRate;

    use super::*;

    #[test]
    fn the_overhead_of_the_line_is_beside_that_of_the_shaper_with_what_to_set() {
        let found = |framing, overhead: f64| {
            Some(LineOverhead { framing, overhead, low: overhead - 0.6, high: overhead + 0.6 })
        };
        let layer = |name: &str| Some(name.to_owned());
        let shaper = ShaperDescription {
            up_link_layer: layer("ip"),
            down_link_layer: layer("ethernet"),
            ..ShaperDescription::default()
        };
        let mut tuning = TuningPlan::new(shaper);
        let directions = ByDirection { up: found(Framing::Cells, 40.0), down: found(Framing::Packets, 38.1) };
        assert_eq!(
            overhead_lines(&LineOverheads { directions }, &tuning)[1..],
            [
                "Link-layer overhead                  of the line           of the shaper",
                "  Download                      38 bytes (37–39)                ethernet  as the line",
                "  Upload                   ATM, 40 bytes (39–41)                      ip  set atm overhead 40 (as CAKE \
                 takes it)",
            ]
        );
        tuning.directions = vec![Direction::Up];
        tuning.shaper.up_link_layer = None;
        let none = LineOverheads { directions: ByDirection { up: None, down: None } };
        assert_eq!(
            overhead_lines(&none, &tuning)[2..],
            [
                "  Upload                                       –                       –  a host limited the load, or the line's rate changed"
            ]
        );
    }

    #[test]
    fn each_class_has_a_line_with_what_is_promised_and_whether_it_is_kept() {
        let share = |share: f64, promised, verdict| JudgedShare {
            goodput: BitRate((18e6 * share) as u64),
            share,
            low: Some(share - 0.01),
            high: Some(share + 0.01),
            promised,
            verdict,
        };
        let ef = ClassShare {
            class: ServiceClass::EF,
            alone: Some(share(0.2, Some(0.333), ShareVerdict::Less)),
            together: Some(share(0.33, Some(0.333), ShareVerdict::AsPromised)),
        };
        let be = ClassShare {
            class: ServiceClass::BE,
            alone: Some(share(1.0, None, ShareVerdict::NoPromise)),
            together: None,
        };
        let shares = ClassShares { directions: ByDirection { up: vec![be], down: vec![ef] } };
        assert_eq!(
            class_lines(&shares)[1..],
            [
                "Shares of the classes                alone          together    promised",
                "  Download EF                 20 % (19–21)      33 % (32–34)    33, 33 %  alone less than promised; \
                 together as promised",
                "  Upload BE                 100 % (99–101)                 –           –  not judged: the shaper's \
                 kind is unknown",
            ]
        );
    }
}
