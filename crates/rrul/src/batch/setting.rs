//! One combination of what varies in a batch, filled in: what a turn of it runs.

use std::path::Path;
use std::time::Duration;

use super::document::{Document, RunEntry};
use super::error::BatchError;
use crate::failure::Failure;

/// Most settings of one batch.
const MOST_SETTINGS: usize = 10_000;

/// A name and its value in one setting.
type Value = (String, String);

/// What one turn runs.
#[derive(Debug, Clone)]
pub(crate) struct Setting {
    /// For file names: the values, joined. Empty when nothing varies.
    pub(crate) name: String,
    /// For people: names and values.
    pub(crate) about: String,
    /// The virtual link, if any.
    pub(crate) link: Option<String>,
    /// The server, without a link.
    pub(crate) server: Option<String>,
    /// Shell commands before it.
    pub(crate) before: Vec<String>,
    /// Shell commands after it.
    pub(crate) after: Vec<String>,
    /// What is run side by side.
    pub(crate) runs: Vec<Run>,
}

/// One of the runs that go on side by side.
#[derive(Debug, Clone)]
pub(crate) struct Run {
    /// For file names, of several; else empty.
    pub(crate) name: String,
    /// The plan's name, or its file.
    pub(crate) plan: String,
    pub(crate) set: Vec<String>,
    /// Address families: 4, 6 or both.
    pub(crate) family: Option<String>,
    /// How long after the others it starts.
    pub(crate) start: Duration,
    pub(crate) link_layer: Option<String>,
}

impl Setting {
    /// Every combination, in the order of the file: the last name varies fastest. Files are looked for from `folder`.
    ///
    /// # Errors
    /// When a value is of no use, or a name in braces is not known.
    pub(crate) fn all(document: &Document, folder: &Path) -> Result<Vec<Self>, Failure> {
        let mut combinations: Vec<Vec<Value>> = vec![Vec::new()];
        for (name, values) in &document.each {
            let values = texts(name, values)?;
            let with = |before: &Vec<Value>| {
                let of = |value: &String| before.iter().cloned().chain([(name.clone(), value.clone())]).collect();
                values.iter().map(of).collect::<Vec<_>>()
            };
            combinations = combinations.iter().flat_map(with).collect();
            if combinations.len() > MOST_SETTINGS {
                return Err(BatchError::TooManySettings(MOST_SETTINGS).into());
            }
        }
        let settings: Vec<Self> =
            combinations.iter().map(|values| Self::of(document, values, folder)).collect::<Result<_, _>>()?;
        let mut names: Vec<&str> = settings.iter().map(|setting| setting.name.as_str()).collect();
        names.sort_unstable();
        if let Some([twice, _]) = names.array_windows().find(|[one, other]| one == other) {
            return Err(BatchError::SameName((*twice).to_owned()).into());
        }
        Ok(settings)
    }

    fn of(document: &Document, values: &[Value], folder: &Path) -> Result<Self, Failure> {
        let fill = |text: &String| filled(text, values);
        let several = document.run.len() > 1;
        let run = |(name, entry): (&String, &RunEntry)| {
            let mut run = Run {
                name: if several { plain(name) } else { String::new() },
                plan: found(&fill(&entry.plan)?, folder),
                set: entry.set.iter().map(fill).collect::<Result<_, _>>()?,
                family: entry.family.as_ref().map(fill).transpose()?,
                start: entry.start.0,
                link_layer: entry.link_layer.as_ref().map(fill).transpose()?,
            };
            run.set.retain(|setting| !setting.trim().is_empty());
            Ok(run)
        };
        let words: Vec<String> = values.iter().map(|(_, value)| plain(stem(value))).collect();
        let about: Vec<String> = values.iter().map(|(name, value)| format!("{name} {}", stem(value))).collect();
        Ok(Self {
            name: words.join("-"),
            about: about.join(", "),
            link: document.link.as_ref().map(fill).transpose()?.map(|link| found(&link, folder)),
            server: document.server.as_ref().map(fill).transpose()?,
            before: document.before.all().iter().map(fill).collect::<Result<_, _>>()?,
            after: document.after.all().iter().map(fill).collect::<Result<_, _>>()?,
            runs: document.run.iter().map(run).collect::<Result<_, Failure>>()?,
        })
    }
}

/// A value's texts: it stands alone or in a list.
fn texts(name: &str, value: &toml::Value) -> Result<Vec<String>, BatchError> {
    let one = |value: &toml::Value| match value {
        toml::Value::String(text) => Ok(text.clone()),
        toml::Value::Integer(_) | toml::Value::Float(_) | toml::Value::Boolean(_) => Ok(value.to_string()),
        _ => Err(BatchError::NoText(name.to_owned())),
    };
    match value {
        toml::Value::Array(values) if values.is_empty() => Err(BatchError::EmptyList(name.to_owned())),
        toml::Value::Array(values) => values.iter().map(one).collect(),
        value => Ok(vec![one(value)?]),
    }
}

/// The text with the value of each name in braces.
fn filled(text: &str, values: &[Value]) -> Result<String, BatchError> {
    let mut rest = text;
    let mut filled = String::new();
    while let Some((before, after)) = rest.split_once('{') {
        filled.push_str(before);
        // A brace of the shell (`${HOME}`, `{ ...; }`) is none of ours.
        let name = after.split_once('}').filter(|(name, _)| is_name(name) && !before.ends_with('$'));
        if let Some((name, after)) = name {
            let value = values.iter().find(|(known, _)| known == name);
            let known = || values.iter().map(|(known, _)| known.as_str()).collect::<Vec<_>>().join(", ");
            let (_, value) = value.ok_or_else(|| BatchError::UnknownPlaceholder {
                text: text.to_owned(),
                name: name.to_owned(),
                known: known(),
            })?;
            filled.push_str(value);
            rest = after;
        } else {
            filled.push('{');
            rest = after;
        }
    }
    Ok(filled + rest)
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

/// A file that the batch names is beside it.
fn found(name: &str, folder: &Path) -> String {
    let path = Path::new(name);
    let is_file = path.extension().is_some_and(|ending| ending == "toml");
    if is_file { folder.join(path).to_string_lossy().into_owned() } else { name.to_owned() }
}

/// A file's name without folder and ending; other values as they are.
fn stem(value: &str) -> &str {
    let Some(rest) = value.strip_suffix(".toml") else { return value };
    rest.rsplit('/').next().unwrap_or(rest)
}

/// A word that every file system takes.
fn plain(value: &str) -> String {
    value.chars().map(|c| if c.is_ascii_alphanumeric() || ".+_=".contains(c) { c } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(text: &str) -> Result<Vec<Setting>, Failure> {
        Setting::all(&Document::read("b.toml", text).unwrap(), Path::new("/batches"))
    }

    #[test]
    fn every_combination_is_filled_in() {
        let text = "link = \"{link}\"\nbefore = \"echo {cc} ${HOME}\"\n\
            [each]\nlink = [\"a\", \"links/b.toml\"]\ncc = [\"cubic\", \"reno\"]\nstreams = 4\n\
            [run.all]\nplan = \"own.toml\"\nset = [\"flow.bulk.congestion_control={cc}\", \"streams={streams}\"]\n";
        let all = settings(text).unwrap();
        let names: Vec<&str> = all.iter().map(|setting| setting.name.as_str()).collect();
        assert_eq!(names, ["a-cubic-4", "a-reno-4", "b-cubic-4", "b-reno-4"]);
        assert_eq!(all[2].about, "link b, cc cubic, streams 4");
        assert_eq!(all[2].link.as_deref(), Some("/batches/links/b.toml"));
        assert_eq!(all[1].before, ["echo reno ${HOME}"]);
        assert_eq!(all[1].runs[0].plan, "/batches/own.toml");
        assert_eq!(all[1].runs[0].set, ["flow.bulk.congestion_control=reno", "streams=4"]);
        assert_eq!(all[1].runs[0].name, "");
    }

    #[test]
    fn runs_side_by_side_have_names_and_times() {
        let all = settings("server = \"h\"\n[run.first]\n[run.second]\nstart = \"30s\"\n").unwrap();
        let runs: Vec<(&str, u64)> = all[0].runs.iter().map(|run| (run.name.as_str(), run.start.as_secs())).collect();
        assert_eq!(runs, [("first", 0), ("second", 30)]);
    }

    #[test]
    fn what_cannot_be_filled_in_is_reported() {
        let error = settings("server = \"{host}\"\n[each]\nplan = [\"a\"]\n").unwrap_err().to_string();
        assert!(error.contains("\"host\"") && error.contains("plan"), "{error}");
        let error = settings("server = \"a\"\n[each]\nx = []\n").unwrap_err().to_string();
        assert!(error.contains("empty"), "{error}");
        let error = settings("server = \"a\"\n[each]\nx = [\"a b\", \"a/b\"]\n").unwrap_err().to_string();
        assert!(error.contains("a_b"), "{error}");
    }
}
