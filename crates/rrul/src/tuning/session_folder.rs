//! The folder of a session: its recordings, charts and report.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rrul_analysis::Analysis;

use crate::commands::plot::{Look, draw};
use crate::commands::report;
use crate::failure::Failure;
use crate::store::Writer;

/// A folder that exists.
pub(crate) struct SessionFolder(PathBuf);

impl SessionFolder {
    /// Makes the folder if it is missing: the one that was asked for, or `COMMAND-DATE`.
    pub(crate) fn create(command: &str, asked: Option<&Path>) -> Result<Self, Failure> {
        let folder = asked.map_or_else(
            || {
                let now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
                let date: String = now.chars().filter(|c| c.is_ascii_digit() || *c == 'T').collect();
                PathBuf::from(format!("{command}-{date}"))
            },
            Path::to_owned,
        );
        std::fs::create_dir_all(&folder).map_err(Failure::output(&folder))?;
        Ok(Self(folder))
    }

    /// A recording of this name in it, or of the next that is free.
    pub(crate) fn writer(&self, name: &str) -> Result<Writer, Failure> {
        Writer::create_free(&self.0.join(name).to_string_lossy())
    }

    /// Draws the charts of a session, and writes the report of its recordings; gives all files, the recordings first.
    pub(crate) fn draw(&self, session: &Analysis, recordings: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
        let mut files = recordings.to_vec();
        for name in ["tune", "pareto"] {
            files.extend(self.chart(name, &[session])?);
        }
        files.push(self.report(recordings)?);
        Ok(files)
    }

    /// Draws a chart of runs for screens and for editing.
    pub(crate) fn chart(&self, name: &str, runs: &[&Analysis]) -> Result<Vec<PathBuf>, Failure> {
        let Some(chart) = rrul_view::chart_named(name) else { return Ok(Vec::new()) };
        ["svg", "png"]
            .into_iter()
            .map(|ending| {
                let path = self.0.join(format!("{name}.{ending}"));
                draw(chart, runs, Look::FOLDER, &path).map(|()| path)
            })
            .collect()
    }

    pub(crate) fn report(&self, recordings: &[PathBuf]) -> Result<PathBuf, Failure> {
        let path = self.0.join("report.html");
        report::renew(recordings, &path)?;
        Ok(path)
    }
}
