//! `rrul show FILE`: the summary of a recording, for people or as JSON.

use std::io::IsTerminal;
use std::path::Path;

use rrul_analysis::scored::{Distance, Scores};
use rrul_analysis::summary::Summary;
use rrul_analysis::{Analysis, analyze};
use rrul_view::short_summary;
use rrul_view::text::full_summary::{text_sections, text_summary};
use rrul_view::text::style::Style;
use rrul_view::{Topic, text_equalizer};

use crate::arguments::ShowArguments;
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::{output, store};

pub(crate) fn execute(arguments: &ShowArguments) -> Result<Outcome, Failure> {
    let topics = arguments.sections.iter().map(|name| topic(name)).collect::<Result<Vec<_>, _>>()?;
    let mut recording = store::read(&arguments.file)?;
    if let Some(layer) = &arguments.link_layer {
        recording.header.plan.link_layer = Some(layer.to_string());
    }
    #[cfg(not(feature = "charts"))]
    if recording.header.tuning.is_some() {
        return Err(Failure::content(&arguments.file, crate::failure::ContentError::TuningNotBuilt));
    }
    let mut analysis = analyze(&recording);
    if arguments.score_anyway {
        analysis.scores = Scores::compute(&analysis, Distance::Any);
    }
    if arguments.json {
        output::print_json(&Summary::from(&analysis))?;
    } else if arguments.equalizer {
        print!("{}", text_equalizer(&analysis, style()));
    } else if !topics.is_empty() {
        print!("{}", text_sections(&analysis, &topics, style()));
    } else if arguments.full {
        print!("{}", text_summary(&analysis, style()));
    } else {
        print_summary(&analysis, &arguments.file);
    }
    Ok(Outcome::of(&analysis))
}

/// Stands for a recording that could not be written to its end.
pub(crate) const UNNAMED: &str = "FILE";

fn topic(name: &str) -> Result<Topic, Failure> {
    Topic::named(name).ok_or_else(|| {
        let known: Vec<&str> = Topic::ALL.into_iter().map(Topic::name).collect();
        Failure::Section { name: name.to_owned(), known: known.join(", ") }
    })
}

/// Prints the short summary of a run recorded in this file to stdout.
pub(crate) fn print_summary(analysis: &Analysis, file: &Path) {
    print!("{}", short_summary(analysis, &file.to_string_lossy(), style()));
}

/// Colors only for people who look at a terminal and have not declined them (no-color.org).
pub(crate) fn style() -> Style {
    let declined = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    if std::io::stdout().is_terminal() && !declined { Style::Ansi } else { Style::Plain }
}
