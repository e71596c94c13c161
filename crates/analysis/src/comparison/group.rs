//! Runs that belong together: repetitions of one setting.

use schemars::JsonSchema;
use serde::Serialize;

use super::run::ComparedRun;

/// What repetitions have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupKey {
    Title,
    Plan,
    /// The server as the user named it.
    Server,
    Client,
    Families,
    /// The day on which it began, UTC.
    Day,
}

impl GroupKey {
    pub fn name(self) -> &'static str {
        match self {
            Self::Title => "title",
            Self::Plan => "plan",
            Self::Server => "server",
            Self::Client => "client",
            Self::Families => "families",
            Self::Day => "day",
        }
    }

    fn value(self, run: &ComparedRun) -> String {
        match self {
            Self::Title => run.title.clone(),
            Self::Plan => run.workload.plan.clone(),
            Self::Server => run.server.clone(),
            Self::Client => run.client.clone(),
            Self::Families => run.workload.families.iter().map(ToString::to_string).collect::<Vec<_>>().join(" and "),
            Self::Day => run.created.get(..10).unwrap_or(&run.created).to_owned(),
        }
    }
}

/// Repetitions of one setting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Group {
    /// What the runs have in common, or the name of the run.
    pub name: String,
    /// Places in the list of runs.
    pub runs: Vec<usize>,
}

impl Group {
    /// Every run by itself, or all of one key together, in the order in which they come.
    ///
    /// A run by itself is named by its title where no other has the same, and else by its file.
    pub fn all(runs: &[ComparedRun], by: Option<GroupKey>) -> Vec<Self> {
        let mut groups: Vec<Self> = Vec::new();
        for (index, run) in runs.iter().enumerate() {
            let name = match by {
                Some(key) => key.value(run),
                None => name_of(run, runs),
            };
            let known = groups.iter_mut().find(|group| by.is_some() && group.name == name);
            match known {
                Some(group) => group.runs.push(index),
                None => groups.push(Self { name, runs: vec![index] }),
            }
        }
        for group in &mut groups {
            if let Some(key) = by.filter(|_| group.name.is_empty()) {
                group.name = format!("no {}", key.name());
            }
        }
        groups
    }

    pub(crate) fn members<'r>(&self, runs: &'r [ComparedRun]) -> Vec<&'r ComparedRun> {
        self.runs.iter().filter_map(|index| runs.get(*index)).collect()
    }
}

fn name_of(run: &ComparedRun, runs: &[ComparedRun]) -> String {
    let alone = runs.iter().filter(|other| other.title == run.title).count() == 1;
    let stem = || {
        let name = run.file.rsplit('/').next().unwrap_or(&run.file);
        name.strip_suffix(".rrul").unwrap_or(name).to_owned()
    };
    if alone && !run.title.is_empty() { run.title.clone() } else { stem() }
}

/// Whether the runs of two groups took turns: `Some(false)` when all of one came before all of the other.
///
/// `None` with only one run on each side, or it is not known when they began. Then a line that changes with the
/// time of day looks like a setting that changes it.
pub(crate) fn interleaved(first: &[&ComparedRun], second: &[&ComparedRun]) -> Option<bool> {
    let all_known = first.iter().chain(second).all(|run| is_time(&run.created));
    if first.len() + second.len() < 3 || !all_known {
        return None;
    }
    // Instants of one form sort as their text does; a fraction of a second does not matter here.
    let ends = |runs: &[&ComparedRun]| {
        let times = || runs.iter().map(|run| run.created.get(..19).unwrap_or_default().to_owned());
        Some((times().min()?, times().max()?))
    };
    let ((from, to), (other_from, other_to)) = (ends(first)?, ends(second)?);
    Some(to >= other_from && other_to >= from)
}

/// Whether this begins as an RFC 3339 instant does and is of UTC.
fn is_time(created: &str) -> bool {
    let octets = created.as_bytes();
    octets.len() > 19 && created.ends_with('Z') && octets[4] == b'-' && octets[10] == b'T' && octets[13] == b':'
}
