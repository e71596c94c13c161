//! How the path treats service classes, in a few lines for people.

use rrul_analysis::Analysis;
use rrul_analysis::metrics::sharing::class_difference::{ClassDifference, DelayDifference};
use rrul_analysis::metrics::sharing::class_share::ExpeditedVerdict;
use rrul_analysis::metrics::sharing::class_treatment::{DelayOf, DirectionTreatment};
use rrul_model::units::Delay;

use crate::text::words;

/// Returns a name and a text for each direction; empty for a run that compares no classes.
pub(crate) fn class_lines(run: &Analysis) -> Vec<(String, String)> {
    let line = |treatment: &DirectionTreatment| {
        let text = said(treatment);
        (!text.is_empty()).then(|| (format!("classes {}", treatment.direction), text))
    };
    run.class_treatment.directions.iter().filter_map(line).collect()
}

fn said(treatment: &DirectionTreatment) -> String {
    let judged = || treatment.classes.iter().filter(|class| class.acted_on.is_some());
    let acted_on: Vec<&ClassDifference> = judged().filter(|class| class.acted_on == Some(true)).collect();
    let mut said = Vec::new();
    if acted_on.is_empty() && judged().next().is_some() {
        let names: Vec<String> = judged().map(|class| class.class.to_string()).collect();
        said.push(format!("no difference: {} treated like BE", names.join(" and ")));
    }
    said.extend(acted_on.iter().map(|class| difference(class, treatment.delay_of)));
    if let Some(host) = &treatment.own_queue {
        said.push(format!("possibly by a queue of the sending host ({host})"));
    }
    if let Some(background) = treatment.background.filter(|background| background.starved) {
        said.push(format!("background starved {} of the time", words::percent(background.starved_share)));
    }
    match treatment.expedited {
        Some(expedited) if expedited.verdict == ExpeditedVerdict::Dominates => {
            said.push(format!("EF takes {} of the rate, nearly all", words::percent(expedited.share)));
        }
        Some(expedited) if expedited.verdict == ExpeditedVerdict::Much => {
            said.push(format!("EF takes {} of the rate", words::percent(expedited.share)));
        }
        _ => {}
    }
    said.join("; ")
}

/// `EF queueing delay 12 ms below BE (10 to 14)`.
fn difference(class: &ClassDifference, delay_of: DelayOf) -> String {
    let what = match delay_of {
        DelayOf::Queueing => "queueing delay",
        DelayOf::RoundTrip => "round-trip delay",
    };
    let significant = |delay: &&DelayDifference| match (delay.low_ns, delay.high_ns) {
        (Some(low), Some(high)) => low > 0 || high < 0,
        _ => false,
    };
    let delays = [("", class.delay_p50), (" at P95", class.delay_p95)];
    let delay = delays.iter().find(|(_, delay)| significant(&delay)).and_then(|(at, delay)| {
        let DelayDifference { difference_ns, low_ns, high_ns } = *delay;
        let (difference, low, high) = (difference_ns?, low_ns?, high_ns?);
        let size = |value: i64| Delay(value.abs()).to_string();
        let (least, most) = if difference < 0 { (high, low) } else { (low, high) };
        let word = if difference < 0 { "below" } else { "above" };
        let range = format!("{} to {}", size(least), size(most));
        Some(format!("{} {what} {} {word} BE{at} ({range})", class.class, size(difference)))
    });
    delay.unwrap_or_else(|| match class.loss.difference {
        Some(loss) if loss > 0.0 => format!("{} loses {} more than BE", class.class, words::percent(loss)),
        Some(loss) => format!("{} loses {} less than BE", class.class, words::percent(-loss)),
        None => format!("{} treated differently from BE", class.class),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rrul_analysis::metrics::sharing::class_difference::ShareDifference;
    use rrul_analysis::metrics::sharing::class_share::{BackgroundShare, ExpeditedShare};
    use rrul_model::flow::Direction;
    use rrul_model::marking::ServiceClass;

    fn class(class: ServiceClass, acted_on: bool, milliseconds: [i64; 3]) -> ClassDifference {
        let [difference, low, high] = milliseconds.map(|value| Some(value * 1_000_000));
        ClassDifference {
            class,
            acted_on: Some(acted_on),
            delay_p50: DelayDifference { difference_ns: difference, low_ns: low, high_ns: high },
            delay_p95: DelayDifference::default(),
            loss: ShareDifference { difference: Some(0.05), low: Some(0.04), high: Some(0.06) },
            rate_share: ShareDifference::default(),
        }
    }

    fn treatment(classes: Vec<ClassDifference>) -> DirectionTreatment {
        DirectionTreatment {
            direction: Direction::Up,
            delay_of: DelayOf::Queueing,
            block_ns: Some(1_000_000_000),
            blocks: 60,
            classes,
            background: None,
            expedited: None,
            own_queue: None,
        }
    }

    #[test]
    fn what_is_acted_upon_is_printed_with_its_interval() {
        let classes = vec![
            class(ServiceClass::EF, true, [-12, -14, -10]),
            class(ServiceClass::BK, true, [30, 20, 41]),
            class(ServiceClass::CS5, false, [0, -1, 1]),
        ];
        let text = said(&treatment(classes));
        let truth = "EF queueing delay 12.0 ms below BE (10.0 ms to 14.0 ms); BK queueing delay 30.0 ms above BE (20.0 ms to 41.0 ms)";
        assert_eq!(text, truth);
    }

    #[test]
    fn what_is_not_acted_upon_is_printed_in_one_line() {
        let classes = vec![class(ServiceClass::EF, false, [0, -1, 1]), class(ServiceClass::BK, false, [0, -1, 1])];
        let mut treatment = treatment(classes);
        treatment.background = Some(BackgroundShare { share: 0.01, starved_share: 0.4, starved: true });
        treatment.expedited = Some(ExpeditedShare { share: 0.97, verdict: ExpeditedVerdict::Dominates });
        let truth = "no difference: EF and BK treated like BE; background starved 40 % of the time; \
                     EF takes 97 % of the rate, nearly all";
        assert_eq!(said(&treatment), truth);
    }

    #[test]
    fn a_class_that_only_loses_more_is_reported_to() {
        let text = said(&treatment(vec![class(ServiceClass::BK, true, [0, -1, 1])]));
        assert_eq!(text, "BK loses 5.0 % more than BE");
    }
}
