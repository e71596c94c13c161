//! What a batch file may say. docs/batch.md is its description.

use std::collections::BTreeMap;
use std::path::Path;

use rrul_model::units::{UnitError, parse_duration};
use serde::Deserialize;

use super::error::BatchError;
use crate::failure::Failure;

/// Most repetitions of one setting.
const MOST_REPETITIONS: u32 = 1000;

/// A batch file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Document {
    /// What the batch is about.
    #[serde(default)]
    pub(crate) title: String,
    /// The server of all runs; there must be one where no link is named.
    pub(crate) server: Option<String>,
    /// The virtual link over which all is run.
    pub(crate) link: Option<String>,
    /// How often each setting is run.
    #[serde(default = "once")]
    pub(crate) repetitions: u32,
    #[serde(default)]
    pub(crate) pause: Length,
    /// Shell commands before each run.
    #[serde(default)]
    pub(crate) before: Lines,
    /// Shell commands after each run.
    #[serde(default)]
    pub(crate) after: Lines,
    /// What varies: each name with its values. One setting for every combination.
    #[serde(default)]
    pub(crate) each: toml::Table,
    /// What is run side by side.
    #[serde(default)]
    pub(crate) run: BTreeMap<String, RunEntry>,
}

/// One of the runs that go on side by side.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunEntry {
    #[serde(default = "default_plan")]
    pub(crate) plan: String,
    /// Changes of the plan, `KEY=VALUE`.
    #[serde(default)]
    pub(crate) set: Vec<String>,
    /// Address families: 4, 6 or both.
    pub(crate) family: Option<String>,
    /// How long after the others it starts.
    #[serde(default)]
    pub(crate) start: Length,
    pub(crate) link_layer: Option<String>,
}

impl Default for RunEntry {
    fn default() -> Self {
        Self { plan: default_plan(), set: Vec::new(), family: None, start: Length::default(), link_layer: None }
    }
}

fn once() -> u32 {
    1
}

fn default_plan() -> String {
    "rrul".to_owned()
}

/// A time such as "30s".
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Length(pub(crate) std::time::Duration);

impl TryFrom<String> for Length {
    type Error = UnitError;

    fn try_from(text: String) -> Result<Self, UnitError> {
        parse_duration(&text).map(Self)
    }
}

/// One line, or several.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged, expecting = "write a text or a list of texts")]
pub(crate) enum Lines {
    One(String),
    Many(Vec<String>),
}

impl Default for Lines {
    fn default() -> Self {
        Self::Many(Vec::new())
    }
}

impl Lines {
    pub(crate) fn all(&self) -> &[String] {
        match self {
            Self::One(line) => std::slice::from_ref(line),
            Self::Many(lines) => lines,
        }
    }
}

impl Document {
    /// Reads a batch file; `file` names it in messages.
    ///
    /// # Errors
    /// The first thing that is wrong, with its line.
    pub(crate) fn read(file: &str, text: &str) -> Result<Self, BatchError> {
        let line_of = |at: usize| text.get(..at).map_or(1, |before| before.matches('\n').count() + 1);
        let mut document: Self = toml::from_str(text).map_err(|error| {
            let place = error.span().map_or_else(|| file.to_owned(), |span| format!("{file}:{}", line_of(span.start)));
            BatchError::Document(place, error.message().trim().replace('\n', " "))
        })?;
        if document.repetitions == 0 || document.repetitions > MOST_REPETITIONS {
            return Err(BatchError::Repetitions(file.to_owned(), MOST_REPETITIONS));
        }
        if document.server.is_some() == document.link.is_some() {
            return Err(BatchError::ServerOrLink(file.to_owned()));
        }
        if document.run.is_empty() {
            document.run.insert("run".to_owned(), RunEntry::default());
        }
        Ok(document)
    }

    /// Reads the file at this path.
    pub(crate) fn open(path: &Path) -> Result<(Self, String), Failure> {
        let text = std::fs::read_to_string(path).map_err(Failure::file(path))?;
        Ok((Self::read(&path.display().to_string(), &text)?, text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaint(text: &str) -> String {
        Document::read("b.toml", text).unwrap_err().to_string()
    }

    #[test]
    fn what_is_wrong_is_reported_with_its_line() {
        let error = complaint("title = \"x\"\nlink = \"a\"\nrepetition = 3\n");
        assert!(error.starts_with("b.toml:3: ") && error.contains("repetition"), "{error}");
        let error = complaint("link = \"a\"\npause = \"long\"\n");
        assert!(error.starts_with("b.toml:2: "), "{error}");
        let error = complaint("title = \"x\"\n");
        assert!(error.contains("server") && error.contains("link"), "{error}");
        let error = complaint("link = \"a\"\nrepetitions = 0\n");
        assert!(error.contains("from 1 to"), "{error}");
        assert_eq!(complaint("link = \"a\n").lines().count(), 1);
    }

    #[test]
    fn a_batch_without_runs_runs_the_default_plan() {
        let document = Document::read("b.toml", "server = \"host\"\n").unwrap();
        assert_eq!(document.run.values().map(|run| run.plan.as_str()).collect::<Vec<_>>(), ["rrul"]);
    }
}
