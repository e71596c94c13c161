//! What class runs and confirmation show, in lines for people.

use rrul_analysis::Analysis;
use rrul_analysis::tuning::trial::ClassRate;
use rrul_model::flow::Direction;
use rrul_model::marking::ServiceClass;
use rrul_model::units::{BitRate, ByteCount, Delay};

use super::class_runs::{CLASSES, ClassRun};
use super::confirmation::Confirmation;

/// What is not known.
const UNKNOWN: &str = "–";
const DIRECTIONS: [Direction; 2] = [Direction::Down, Direction::Up];

/// A line for each class and direction: its rate alone, and beside the others.
pub(crate) fn class_lines(runs: &[ClassRun]) -> Vec<String> {
    let mut lines =
        vec![String::new(), format!("{:24}{:>14}{:>14}{:>8}", "Rates of the classes", "alone", "together", "share")];
    for direction in DIRECTIONS {
        let rate = |alone: Option<ServiceClass>, class: ServiceClass| {
            let run = runs.iter().find(|run| run.alone == alone)?;
            let classes = &run.trial()?.directions.get(direction).classes;
            classes.iter().find(|entry| entry.class == class).map(mean)
        };
        let sum: u64 = CLASSES.into_iter().filter_map(|class| rate(None, class)).map(|rate| rate.0).sum();
        for class in CLASSES {
            let (alone, together) = (rate(Some(class), class), rate(None, class));
            if alone.is_none() && together.is_none() {
                continue;
            }
            let share = together.filter(|_| sum > 0).map(|rate| format!("{:.0} %", rate.0 as f64 / sum as f64 * 100.0));
            lines.push(format!(
                "  {:22}{:>14}{:>14}{:>8}",
                format!("{} {class}", direction.select("Upload", "Download")),
                words(alone),
                words(together),
                share.unwrap_or_else(|| UNKNOWN.to_owned())
            ));
        }
    }
    lines
}

fn mean(class: &ClassRate) -> BitRate {
    let sum: u64 = class.seconds.iter().map(|octets| octets.0).sum();
    ByteCount(sum).per(std::time::Duration::from_secs(class.seconds.len() as u64))
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
    for direction in DIRECTIONS {
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
