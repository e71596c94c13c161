//! `rrul sweep HOST`: measure given settings one after another, and draw what each trades between rate and delay.

use std::path::PathBuf;
use std::sync::atomic::Ordering;

use rrul_analysis::Analysis;
use rrul_analysis::comparison::Comparison;
use rrul_analysis::comparison::run::ComparedRun;
use rrul_engine::client::RunOptions;
use rrul_model::flow::Direction;
use rrul_model::shaping::TuningPlan;
use rrul_view::text_comparison;

use crate::arguments::tune::SweepArguments;
use crate::commands::show::style;
use crate::commands::tune::{
    TuneError, announce, check_restored, loading, opened, print_lines, print_written, recorded, run_options, shown,
};
use crate::failure::Failure;
use crate::measurement::measure;
use crate::outcome::Outcome;
use crate::progress::{Manner, Progress};
use crate::tuning::conductor::Conduct;
use crate::tuning::driver::DriverOptions;
use crate::tuning::estimate::{LONGEST_LOAD, most_rates, sweep_time};
use crate::tuning::rate_list::paired;
use crate::tuning::session_folder::SessionFolder;
use crate::{interruption, output, plan_book};

pub(crate) fn execute(arguments: &SweepArguments) -> Result<Outcome, Failure> {
    match &arguments.set {
        Some(setting) => of_plan(arguments, setting),
        None => of_rates(arguments),
    }
}

/// One session, whose shaper is set to one rate after another.
fn of_rates(arguments: &SweepArguments) -> Result<Outcome, Failure> {
    let fixed = paired(arguments.up.as_ref(), arguments.down.as_ref())?;
    let takes = sweep_time(fixed.len());
    if takes > LONGEST_LOAD {
        return Err(TuneError::TooManyRates { rates: fixed.len(), takes, most: most_rates() }.into());
    }
    let restore_command = arguments.shaper.restore_command.clone();
    let options = DriverOptions { restore_command, ..DriverOptions::default() };
    let mut shaper = opened(&arguments.shaper, &options)?;
    let swept = Direction::ALL.into_iter().filter(|way| fixed.iter().any(|rates| rates.direction(*way).is_some()));
    let described = recorded(shaper.describe(), arguments.session.private);
    let tuning = TuningPlan { directions: swept.collect(), longest: takes, fixed, ..TuningPlan::new(described) };
    announce(&tuning, shaper.describe(), None);
    let stop = interruption::flag();
    let folder = SessionFolder::create("sweep", arguments.session.output.as_deref())?;
    let options = run_options(&arguments.session, &arguments.server, loading(&tuning.directions)?)?;
    let conduct = Conduct { options: &options, tuning: &tuning, stop: &stop, subject: None };
    let session = conduct.run(shaper.as_mut(), folder.writer("sweep")?)?;
    let (analysis, path) = shown(session, arguments.session.json)?;
    check_restored(shaper.as_mut());
    print_written(&folder.draw(&analysis, &[path])?, arguments.session.json);
    Ok(Outcome::of(&analysis))
}

/// Whole tests, one for each value of a parameter of the plan.
fn of_plan(arguments: &SweepArguments, setting: &str) -> Result<Outcome, Failure> {
    let values = setting.split_once('=').filter(|(key, values)| !key.is_empty() && !values.is_empty());
    let (key, values) = values.ok_or_else(|| TuneError::NoValues(setting.to_owned()))?;
    // Every value is read before the first test runs.
    let plans = values
        .split(',')
        .map(|value| {
            let setting = format!("{key}={}", value.trim());
            plan_book::plan(&arguments.plan, std::slice::from_ref(&setting)).map(|plan| (setting, plan))
        })
        .collect::<Result<Vec<_>, Failure>>()?;
    let stop = interruption::flag();
    let folder = SessionFolder::create("sweep", arguments.session.output.as_deref())?;
    let (mut runs, mut compared, mut files): (Vec<Analysis>, Vec<ComparedRun>, Vec<PathBuf>) = Default::default();
    for (setting, plan) in plans {
        let options = run_options(&arguments.session, &arguments.server, plan)?;
        let options = RunOptions { title: setting.clone(), ..options };
        let name: String =
            setting.chars().map(|c| if c.is_ascii_alphanumeric() || "=.-_".contains(c) { c } else { '_' }).collect();
        let measured = measure(&options, folder.writer(&name)?, Progress::new(setting, Manner::Line), &stop)?;
        let path = measured.path?;
        compared.push(ComparedRun::from_recording(&path.to_string_lossy(), &measured.recording, &measured.analysis));
        runs.push(measured.analysis);
        files.push(path);
        if stop.load(Ordering::Relaxed) {
            break;
        }
    }
    let analyses: Vec<&Analysis> = runs.iter().collect();
    if compared.len() > 1 {
        let comparison = Comparison::new(compared, None);
        if arguments.session.json {
            output::print_json(&comparison)?;
        } else {
            print_lines(&[text_comparison(&comparison, style())], false);
        }
    }
    files.push(folder.report(&files)?);
    files.extend(folder.chart("pareto", &analyses)?);
    print_written(&files, arguments.session.json);
    let doubtful = runs.iter().any(|run| Outcome::of(run) == Outcome::Doubtful);
    Ok(if doubtful { Outcome::Doubtful } else { Outcome::Good })
}
