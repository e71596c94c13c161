//! Runs taken together by what is known of them: repetitions of the same thing.

use std::collections::BTreeMap;

use rrul_analysis::Analysis;
use rrul_model::units::Delay;

use crate::text::words;

/// By what runs are taken together.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Grouping {
    #[default]
    None,
    /// All runs of which this is the same: `title`, `plan`, `server`, `date` (day, UTC), `families`, or a setting of the
    /// plan such as `bulk.congestion_control`.
    By(String),
}

impl Grouping {
    /// What a run is grouped by; `None` when this is not known of it.
    pub fn value(&self, run: &Analysis) -> Option<String> {
        let Self::By(key) = self else { return None };
        let value = match key.as_str() {
            "title" => run.test.title.trim().to_owned(),
            "plan" => run.test.plan.clone(),
            "server" => run.test.server.clone(),
            "date" => run.test.created.get(..10).unwrap_or_default().to_owned(),
            "families" => words::families(&run.test.families),
            setting => run.test.settings.get(setting).cloned().unwrap_or_default(),
        };
        (!value.is_empty()).then_some(value)
    }

    /// The groups in the order in which their first runs are given, each with its name and the places of its runs.
    ///
    /// Runs of which the key is not known are one group, and the last.
    pub(crate) fn groups(&self, runs: &[&Analysis]) -> Vec<(String, Vec<usize>)> {
        let Self::By(key) = self else {
            let names = words::run_names(runs);
            return names.into_iter().enumerate().map(|(index, name)| (name, vec![index])).collect();
        };
        let mut order: Vec<Option<String>> = Vec::new();
        let mut members: BTreeMap<Option<String>, Vec<usize>> = BTreeMap::new();
        for (index, run) in runs.iter().enumerate() {
            let value = self.value(run);
            if !order.contains(&value) {
                order.push(value.clone());
            }
            members.entry(value).or_default().push(index);
        }
        order.sort_by_key(Option::is_none);
        let named = |value: Option<String>| {
            let places = members.remove(&value).unwrap_or_default();
            (value.unwrap_or_else(|| format!("{key} not known")), places)
        };
        order.into_iter().map(named).collect()
    }
}

/// The name of a row: a run's, or a group's with how many runs it is of.
pub(crate) fn group_name(name: &str, runs: usize, grouping: &Grouping) -> String {
    match grouping {
        Grouping::None => name.to_owned(),
        Grouping::By(_) => format!("{name} ({})", words::counted(runs, "run")),
    }
}

/// The middle of some figures of runs, one infinitely late counting as such; `None` when it is one of those.
pub(crate) fn middle_delay(delays: &[Option<Delay>]) -> Option<Delay> {
    let mut sorted: Vec<Delay> = delays.iter().copied().flatten().collect();
    sorted.sort_unstable();
    let infinite = (delays.len() - sorted.len()) as u64;
    rrul_analysis::statistics::percentile::percentile(&sorted, infinite, 500)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rrul_analysis::measured::{Measured, TestDescription};

    fn run(title: &str, day: &str, setting: Option<&str>) -> Analysis {
        let settings = setting.map(|value| ("bulk.congestion_control".to_owned(), value.to_owned()));
        Analysis {
            measured: Measured {
                test: TestDescription {
                    title: title.to_owned(),
                    created: format!("{day}T10:00:00Z"),
                    settings: settings.into_iter().collect(),
                    ..TestDescription::default()
                },
                ..Measured::default()
            },
            ..Analysis::default()
        }
    }

    #[test]
    fn runs_are_taken_together_by_what_is_the_same_of_them() {
        let (first, second, third) =
            (run("a", "2026-11-21", Some("cubic")), run("b", "2026-11-22", None), run("a", "2026-11-22", Some("bbr")));
        let runs = [&first, &second, &third];
        let groups = |key: &str| Grouping::By(key.to_owned()).groups(&runs);
        assert_eq!(groups("title"), [("a".to_owned(), vec![0, 2]), ("b".to_owned(), vec![1])]);
        assert_eq!(groups("date"), [("2026-11-21".to_owned(), vec![0]), ("2026-11-22".to_owned(), vec![1, 2])]);
        let unknown = ("bulk.congestion_control not known".to_owned(), vec![1]);
        assert_eq!(
            groups("bulk.congestion_control"),
            [("cubic".to_owned(), vec![0]), ("bbr".to_owned(), vec![2]), unknown]
        );
        assert_eq!(Grouping::None.groups(&runs).len(), 3);
    }

    #[test]
    fn the_middle_of_runs_counts_a_lost_figure_as_infinite() {
        let ms = |ms: i64| Some(Delay(ms * 1_000_000));
        assert_eq!(middle_delay(&[ms(30), ms(10), None]), ms(30));
        assert_eq!(middle_delay(&[ms(30), None, None]), None);
        assert_eq!(middle_delay(&[ms(30), ms(10)]), ms(10), "the lower of two in the middle, as everywhere");
    }
}
