//! `rrul tune HOST`: find the rates of a shaper, prove them, say what to set.

mod applying;

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use rrul_analysis::tuning::class_shares::ClassShares;
use rrul_analysis::tuning::overhead::{LineOverheads, NextSize};
use rrul_analysis::{Analysis, analyze};
use rrul_engine::client::RunOptions;
use rrul_engine::privacy::Privacy;
use rrul_model::flow::{AddressFamily, Component, Direction};
use rrul_model::marking::ServiceClass;
use rrul_model::plan::TestPlan;
use rrul_model::shaping::{ShaperDescription, ShaperRates, TuningPlan};
use rrul_model::units::{BitRate, Delay};

use crate::arguments::tune::{SessionArguments, ShaperArguments, TuneArguments};
use crate::commands::run::seed_from;
use crate::commands::show::{UNNAMED, print_summary};
use crate::failure::Failure;
use crate::live_screen::terminal::say;
use crate::outcome::Outcome;
use crate::tuning::conductor::{Conduct, Session, SessionEnd};
use crate::tuning::confirmation::confirm;
use crate::tuning::driver::{self, DriverOptions};
use crate::tuning::estimate::{LONGEST_LOAD, most_data, rates_words, size_words};
use crate::tuning::outside::Outside;
use crate::tuning::result_words::{class_lines, confirmation_lines, overhead_lines};
use crate::tuning::session_folder::SessionFolder;
use crate::tuning::shaper::{Shaper, ShaperError};
use crate::tuning::shaper_address::ShaperKind;
use crate::tuning::{class_runs, overhead_runs};
use crate::{interruption, known_servers, output, plan_book, secret_files};

/// Why a session does not begin, or its rates are not applied.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TuneError {
    #[error(
        "which shaper? Give it, for example --shaper openwrt:root@192.168.1.1 or --shaper tc:down=ifb4eth0,up=eth0"
    )]
    NoShaper,
    #[error(
        "{place}: --apply needs a rate for the {direction}, and what it was set to is unknown; tune both directions, or leave out \
         --apply and run the command by hand",
        direction = .direction.select("upload", "download")
    )]
    UnknownRate { place: String, direction: Direction },
    #[error("--apply asks before it sets anything, and this is no terminal; use --apply --yes")]
    NoTerminal,
    #[error(
        "a search may take {} at most, because a server ends tests of 10 min; use a shorter --max-time",
        humantime::format_duration(LONGEST_LOAD)
    )]
    SearchTooLong,
    #[error("{rates} rates take {} and the longest test of a server takes 10 min; use a larger step, at most {most} rates", humantime::format_duration(*.takes))]
    TooManyRates { rates: usize, takes: std::time::Duration, most: usize },
    #[error("--restore-command is for --shaper command:..., and {0} restores by itself; leave it out")]
    RestoreCommand(&'static str),
    #[error("--on-this-host is for --shaper command:..., and where {0} shapes is known; leave it out")]
    OnThisHost(&'static str),
    #[error("--set \"{0}\" lists no values; write it like --set streams=1,4,16")]
    NoValues(String),
}

pub(crate) fn execute(arguments: &TuneArguments) -> Result<Outcome, Failure> {
    let options = DriverOptions {
        restore_command: arguments.shaper.restore_command.clone(),
        on_this_host: arguments.on_this_host,
        dry_run: arguments.dry_run,
        ..DriverOptions::default()
    };
    if arguments.restore {
        return restore(&options);
    }
    let Some(server) = &arguments.server else { return Err(TuneError::NoShaper.into()) };
    if arguments.max_time > LONGEST_LOAD {
        return Err(TuneError::SearchTooLong.into());
    }
    if arguments.apply && !arguments.yes && !std::io::stdin().is_terminal() {
        return Err(TuneError::NoTerminal.into());
    }
    let mut shaper = opened(&arguments.shaper, &options)?;
    if arguments.outside {
        shaper = Box::new(Outside::new(shaper));
    }
    let directions = directions(arguments.direction, shaper.as_ref())?;
    if arguments.apply {
        applying::refuse_unknown(|direction| directions.contains(&direction), shaper.as_mut())?;
    }
    let tuning = TuningPlan {
        directions,
        prefer: arguments.prefer,
        delay_limit: arguments.delay.map(Delay::from),
        longest: arguments.max_time,
        most_trials: TuningPlan::most_trials_within(arguments.max_time),
        most_data: arguments.max_data,
        ..TuningPlan::new(recorded(shaper.describe(), arguments.session.private))
    };
    let confirming = (!arguments.no_confirm).then(|| plan_book::plan("rrul", &[])).transpose()?;
    announce(&tuning, shaper.describe(), confirming.as_ref());
    if arguments.dry_run {
        return dry_run(&tuning, shaper.as_mut());
    }
    let stop = interruption::flag();
    let folder = SessionFolder::create("tune", arguments.session.output.as_deref())?;
    let run_options = run_options(&arguments.session, server, loading(&tuning.directions)?)?;
    let conduct = Conduct { options: &run_options, tuning: &tuning, stop: &stop, subject: None };
    let session = conduct.run(shaper.as_mut(), folder.writer("tune")?)?;
    let json = arguments.session.json;
    let mut analysis = analyze(&session.recording);
    let rates = recommended(&analysis).map(|rates| applying::completed(rates, shaper.describe().found));
    let goes_on = session.is_kept() && !stop.load(Ordering::Relaxed);
    let with_classes = rates.filter(|_| arguments.classes && goes_on);
    let with_overhead = session.recording.header.families.first().copied().filter(|_| arguments.overhead && goes_on);
    // JSON is printed whole: with what is measured next.
    let json_waits = json && (with_classes.is_some() || with_overhead.is_some());
    if !json_waits {
        print_result(&analysis, session.path.as_deref().ok(), json)?;
    }
    let mut files = vec![kept(session)?];
    check_restored(shaper.as_mut());
    if let Some(rates) = rates.filter(|_| with_classes.is_some() || (confirming.is_some() && goes_on))
        && let Some(direction) = applying::unknown(|direction| rates.direction(direction).is_some(), shaper.as_mut())?
    {
        let name = direction.select("upload", "download");
        say(&format!("the {name} is unshaped in the next tests: the rate that it had is unknown"));
    }
    let shares = with_classes.map(|rates| classes(&conduct, rates, shaper.as_mut(), &folder, &analysis));
    // A shaper that failed is not asked for more.
    let goes_on = shares.as_ref().is_none_or(Result::is_ok) && !stop.load(Ordering::Relaxed);
    let with_overhead = with_overhead.filter(|_| goes_on);
    let overhead = with_overhead.map(|family| overhead(&conduct, family, shaper.as_mut(), &folder));
    if let Some(result) = &mut analysis.tuning_result {
        result.classes = shares.as_ref().and_then(|shares| shares.as_ref().ok()).cloned();
        result.overhead = overhead.as_ref().and_then(|overhead| overhead.as_ref().ok()).copied();
    }
    if json_waits {
        print_result(&analysis, None, json)?;
    }
    // However these tests went, what the search has found is drawn and printed before their failure.
    let mut failed = None;
    if let Some(shares) = shares.and_then(|shares| or_later(shares, &mut failed)) {
        print_lines(&class_lines(&shares), json);
    }
    if let Some(overhead) = overhead.and_then(|overhead| or_later(overhead, &mut failed)) {
        print_lines(&overhead_lines(&overhead, &tuning), json);
    }
    let goes_on = failed.is_none() && !stop.load(Ordering::Relaxed);
    if let Some((rates, plan)) = rates.zip(confirming).filter(|_| goes_on) {
        let options = RunOptions { plan, ..run_options.clone() };
        let confirmed = confirmed(&options, rates, shaper.as_mut(), &folder, &stop, json);
        files.extend(or_later(confirmed, &mut failed).unwrap_or_default());
    }
    print_written(&folder.draw(&analysis, &files)?, json);
    check_restored(shaper.as_mut());
    if let Some(rates) = rates.filter(|_| !arguments.apply || failed.is_some()) {
        print_lines(&applying::driver_lines(rates, shaper.as_ref()), json);
    }
    if let Some(failed) = failed {
        return Err(failed);
    }
    if let Some(rates) = rates.filter(|_| arguments.apply && !stop.load(Ordering::Relaxed)) {
        let answer = (!arguments.yes).then(|| std::io::BufReader::new(std::io::stdin()));
        applying::apply(rates, shaper.as_mut(), answer, &stop)?;
    }
    Ok(Outcome::of(&analysis))
}

/// What went well; of what failed, the first failure is kept.
fn or_later<T>(result: Result<T, Failure>, failed: &mut Option<Failure>) -> Option<T> {
    result.map_err(|error| failed.get_or_insert(error)).ok()
}

/// Opens the shaper that was asked for.
pub(crate) fn opened(arguments: &ShaperArguments, options: &DriverOptions) -> Result<Box<dyn Shaper>, Failure> {
    let Some(address) = &arguments.shaper else { return Err(TuneError::NoShaper.into()) };
    if arguments.restore_command.is_some() && address.kind() != ShaperKind::Command {
        return Err(TuneError::RestoreCommand(address.kind().name()).into());
    }
    if options.on_this_host && address.kind() != ShaperKind::Command {
        return Err(TuneError::OnThisHost(address.kind().name()).into());
    }
    Ok(driver::open(address, options)?)
}

/// The directions to tune: those that were asked for; of both, those that the shaper has.
fn directions(asked: &[Direction], shaper: &dyn Shaper) -> Result<Vec<Direction>, Failure> {
    let place = || shaper.describe().target.clone();
    let (there, missing): (Vec<_>, Vec<_>) = asked.iter().copied().partition(|direction| shaper.has(*direction));
    match (there.as_slice(), missing.as_slice()) {
        ([], missing) => {
            let direction = missing.first().copied().unwrap_or(Direction::Up);
            Err(ShaperError::NoDirection { place: place(), direction }.into())
        }
        (_, []) => Ok(there),
        (_, [direction, ..]) => {
            let (one, other) = (direction.select("upload", "download"), direction.select("download", "upload"));
            say(&format!("{} has no shaper for the {one}: only the {other} is tuned", place()));
            Ok(there)
        }
    }
}

/// The plan of a session, whose load has these directions alone: a queue that is not tuned would delay acknowledgments.
pub(crate) fn loading(directions: &[Direction]) -> Result<TestPlan, Failure> {
    let mut plan = plan_book::plan("tune", &[])?;
    for entry in plan.entries.iter_mut().filter(|entry| entry.component == Component::Load) {
        entry.directions.retain(|direction| directions.contains(direction));
    }
    Ok(plan)
}

/// Returns the description of the shaper for the recording. A private one has no name of a host, an interface or a command; a section of
/// SQM may be named for its interface.
pub(crate) fn recorded(shaper: &ShaperDescription, private: bool) -> ShaperDescription {
    if private {
        let section = shaper.section.clone().filter(|section| section.starts_with('@'));
        return ShaperDescription { target: shaper.driver.clone(), section, ..shaper.clone() };
    }
    shaper.clone()
}

/// Says when the shaper does not have the rates again that it had.
pub(crate) fn check_restored(shaper: &mut dyn Shaper) {
    let Some(found) = shaper.describe().found else { return };
    match shaper.read().map(|state| state.rates) {
        Ok(Some(rates)) if rates != found => {
            say(&format!("rrul: the shaper has {}, not {}", rates_words(rates), rates_words(found)));
        }
        Ok(_) => {}
        Err(error) => say(&format!("rrul: whether the shaper has its rates again is not known: {error}")),
    }
}

/// Restores what earlier sessions have left changed.
fn restore(options: &DriverOptions) -> Result<Outcome, Failure> {
    let restored = driver::restore_all(options)?;
    if restored.is_empty() {
        println!("No shaper was left changed.");
    }
    for title in restored {
        println!("restored: {title}");
    }
    Ok(Outcome::Good)
}

/// What a session runs.
pub(crate) fn run_options(arguments: &SessionArguments, server: &str, plan: TestPlan) -> Result<RunOptions, Failure> {
    let now = SystemTime::now();
    Ok(RunOptions {
        server: server.to_owned(),
        port: arguments.port,
        families: arguments.family.into(),
        plan,
        title: String::new(),
        created: humantime::format_rfc3339_seconds(now).to_string(),
        privacy: if arguments.private { Privacy::Strict } else { Privacy::Open },
        token: secret_files::client_token(arguments.access.token_file.as_deref())?,
        trust: known_servers::trust(&arguments.access, server, arguments.port)?,
        wait: true,
        seed: seed_from(now),
    })
}

/// What will be set, how long it takes and how much data at most.
pub(crate) fn announce(tuning: &TuningPlan, shaper: &ShaperDescription, confirming: Option<&TestPlan>) {
    let disciplines: Vec<&str> =
        [&shaper.down_discipline, &shaper.up_discipline].into_iter().flatten().map(String::as_str).collect();
    let disciplines = if disciplines.is_empty() { String::new() } else { format!(" ({})", disciplines.join(", ")) };
    let found = shaper
        .found
        .map_or_else(|| "its rates cannot be read".to_owned(), |rates| format!("found at {}", rates_words(rates)));
    say(&format!("shaper: {}{disciplines}, {found}", shaper.target));
    let names: Vec<&str> = tuning.directions.iter().map(|direction| direction.select("upload", "download")).collect();
    let sets = if tuning.fixed.is_empty() {
        let slow = BitRate(tuning.floor.0 * 4);
        let floor = format!("{} (of a line below {slow}, a quarter of its rate)", tuning.floor);
        format!("{} rate, never below {floor}", names.join(" and "))
    } else {
        format!("{} settings, one after another", tuning.fixed.len())
    };
    say(&format!("sets: {sets}; restored at the end"));
    let minutes =
        |time: std::time::Duration| humantime::format_duration(std::time::Duration::from_secs(time.as_secs()));
    let confirmation = confirming.map_or_else(String::new, |plan| {
        format!(", then two tests of {} to confirm (--no-confirm leaves them out)", minutes(plan.usual_length()))
    });
    say(&format!("time: at most {}{confirmation}", minutes(tuning.longest)));
    let data = match most_data(tuning) {
        Some(most) if tuning.most_data.is_some() || !tuning.fixed.is_empty() => {
            format!("about {} at most", size_words(most))
        }
        Some(most) => format!("about {} if the line has about these rates; --max-data limits it", size_words(most)),
        None => "as much as the line carries, 75 MB a minute for each 10 Mbit/s; --max-data limits it".to_owned(),
    };
    say(&format!("data: {data}{}", if confirming.is_some() { "; the two tests come on top" } else { "" }));
}

/// Prints the first setting of a session and the lowest that it may use; nothing is loaded.
fn dry_run(tuning: &TuningPlan, shaper: &mut dyn Shaper) -> Result<Outcome, Failure> {
    say("first, both directions unshaped:");
    shaper.set(ShaperRates::UNSHAPED)?;
    for direction in tuning.directions.iter().copied() {
        say(&format!("then other rates; the lowest {} rate:", direction.select("upload", "download")));
        shaper.set(ShaperRates::UNSHAPED.with(direction, Some(tuning.floor)))?;
    }
    Ok(Outcome::Good)
}

/// Prints the outcome of a session, however it ended; gives its analysis and where it is recorded.
pub(crate) fn shown(session: Session, json: bool) -> Result<(Analysis, PathBuf), Failure> {
    let analysis = analyze(&session.recording);
    print_result(&analysis, session.path.as_deref().ok(), json)?;
    Ok((analysis, kept(session)?))
}

fn print_result(analysis: &Analysis, path: Option<&Path>, json: bool) -> Result<(), Failure> {
    match (analysis.tuning(), json) {
        (Some(tuning), true) => output::print_json(tuning)?,
        _ => print_summary(analysis, path.unwrap_or(Path::new(UNNAMED))),
    }
    Ok(())
}

/// Says how a session ended; gives where it is recorded.
fn kept(session: Session) -> Result<PathBuf, Failure> {
    match &session.ended {
        SessionEnd::OutOfData => {
            say("rrul: the session ended because it took all data that it may; allow more with --max-data");
        }
        SessionEnd::TestEnded => {
            say("rrul: the test ended by itself before the session did; rrul show FILE --full says why");
        }
        _ => {}
    }
    Ok(session.kept()?.path)
}

/// The rates to confirm and to apply.
fn recommended(analysis: &Analysis) -> Option<ShaperRates> {
    let rates = analysis.tuning()?.recommended;
    (rates != ShaperRates::UNSHAPED).then_some(rates)
}

/// Runs the classes and judges what each gets.
fn classes(
    conduct: &Conduct<'_>,
    rates: ShaperRates,
    shaper: &mut dyn Shaper,
    folder: &SessionFolder,
    analysis: &Analysis,
) -> Result<ClassShares, Failure> {
    let writer = |class: Option<ServiceClass>| {
        let name = class.map_or_else(|| "all".to_owned(), |class| class.to_string());
        folder.writer(&format!("classes-{name}"))
    };
    let runs = class_runs::run(conduct, rates, shaper, writer)?;
    Ok(class_runs::shares(&runs, shaper.describe(), &analysis.markings))
}

/// Loads the line with packets of several sizes, and finds what it adds to each.
fn overhead(
    conduct: &Conduct<'_>,
    family: AddressFamily,
    shaper: &mut dyn Shaper,
    folder: &SessionFolder,
) -> Result<LineOverheads, Failure> {
    let writer = |direction: Direction, size| {
        let size = match size {
            NextSize::Largest => "largest".to_owned(),
            NextSize::Bytes(octets) => octets.to_string(),
        };
        folder.writer(&format!("overhead-{}-{size}", direction.name()))
    };
    overhead_runs::run(conduct, family, shaper, writer)
}

/// Runs both tests and prints what they show; gives their recordings.
fn confirmed(
    options: &RunOptions,
    rates: ShaperRates,
    shaper: &mut dyn Shaper,
    folder: &SessionFolder,
    stop: &Arc<AtomicBool>,
    json: bool,
) -> Result<Vec<PathBuf>, Failure> {
    let writers = [folder.writer("as-found")?, folder.writer("recommended")?];
    let confirmation = confirm(options, rates, shaper, writers, stop)?;
    print_lines(&confirmation_lines(&confirmation), json);
    let recommended = confirmation.recommended.map(|measured| measured.path).transpose()?;
    Ok(std::iter::once(confirmation.as_found.path?).chain(recommended).collect())
}

/// Prints for people: beside JSON, on standard error.
pub(crate) fn print_lines(lines: &[String], json: bool) {
    for line in lines {
        if json {
            say(line);
        } else {
            println!("{line}");
        }
    }
}

pub(crate) fn print_written(files: &[PathBuf], json: bool) {
    let lines: Vec<String> = files.iter().map(|file| format!("  {}", file.display())).collect();
    print_lines(&[vec![String::new(), "written:".to_owned()], lines].concat(), json);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_private_recording_has_the_kind_of_the_shaper_and_no_name() {
        let shaper = |section: &str| ShaperDescription {
            driver: "openwrt".to_owned(),
            target: "ann@router.example: SQM on corp-vpn-ann".to_owned(),
            section: Some(section.to_owned()),
            down_discipline: Some("cake diffserv4".to_owned()),
            ..ShaperDescription::default()
        };
        let named = shaper("corp_vpn_ann");
        assert_eq!(recorded(&named, false), named);
        let private = recorded(&named, true);
        assert_eq!((private.target.as_str(), &private.section), ("openwrt", &None));
        assert_eq!(private.down_discipline, named.down_discipline);
        assert_eq!(recorded(&shaper("@queue[1]"), true).section.as_deref(), Some("@queue[1]"));
    }
}
