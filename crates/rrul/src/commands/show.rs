//! `rrul show FILE`: what a recording holds, for people or as JSON.

use std::io::IsTerminal;

use rrul_analysis::score::{Distance, Scores};
use rrul_analysis::summary::Summary;
use rrul_analysis::{Analysis, analyze};
use rrul_view::text::{Style, text_summary};
use rrul_view::text_equaliser;

use crate::Outcome;
use crate::arguments::ShowArguments;
use crate::commands::run::outcome;
use crate::failure::Failure;
use crate::store;

pub(crate) fn execute(arguments: &ShowArguments) -> Result<Outcome, Failure> {
    let mut recording = store::read(&arguments.file)?;
    if let Some(layer) = &arguments.link_layer {
        recording.header.plan.link_layer = Some(layer.to_string());
    }
    let mut analysis = analyze(&recording);
    if arguments.score_anyway {
        analysis.scores = Scores::of(&analysis, Distance::Any);
    }
    if arguments.json {
        let json = serde_json::to_string_pretty(&Summary::from(&analysis));
        println!("{}", json.map_err(|error| Failure::Other(error.to_string()))?);
    } else if arguments.equaliser {
        print!("{}", text_equaliser(&analysis, style()));
    } else {
        print_summary(&analysis);
    }
    Ok(outcome(&analysis))
}

/// Prints the summary to stdout.
pub(crate) fn print_summary(analysis: &Analysis) {
    print!("{}", text_summary(analysis, style()));
}

/// Colours only for people who look at a terminal and have not declined them (no-color.org).
pub(crate) fn style() -> Style {
    let declined = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    if std::io::stdout().is_terminal() && !declined { Style::Ansi } else { Style::Plain }
}
