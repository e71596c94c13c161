//! `rrul demo`: a bloated and a well-managed virtual link, measured, compared, drawn and reported.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use rrul_analysis::Analysis;
use rrul_analysis::comparison::Comparison;
use rrul_analysis::comparison::run::ComparedRun;
use rrul_engine::client::{Families, RunOptions};
use rrul_engine::privacy::Privacy;
use rrul_lab::{Lab, Link};
use rrul_model::flow::AddressFamily;
use rrul_model::plan::TestPlan;
use rrul_model::recording::Recording;
use rrul_view::charts::CHARTS;
use rrul_view::report::{ReportedRun, report};
use rrul_view::text_comparison;

use crate::arguments::DemoArguments;
use crate::commands::lab::{link_named, make_possible, server_in};
use crate::commands::plot::{Look, draw};
use crate::commands::run::seed_from;
use crate::commands::show::{UNNAMED, print_summary, style};
use crate::failure::Failure;
use crate::measurement::{Measurement, measure};
use crate::outcome::Outcome;
use crate::output::write;
use crate::progress::{Manner, Progress};
use crate::store::Writer;
use crate::{interruption, plan_book};

pub(crate) fn execute(arguments: &DemoArguments) -> Result<Outcome, Failure> {
    let plan = plan_book::plan(&arguments.plan, &arguments.settings)?;
    let links: Vec<Link> = arguments.links.iter().map(|name| link_named(name)).collect::<Result<_, _>>()?;
    make_possible()?;
    let folder = &arguments.output;
    std::fs::create_dir_all(folder).map_err(Failure::output(folder))?;
    let stop = interruption::flag();
    let (mut results, mut compared) = (Vec::new(), Vec::new());
    for link in &links {
        println!("\n{}: {}\n", link.name, link.about);
        let measurement = over(link, &plan, &folder.join(&link.name), &stop)?;
        let Measurement { recording, analysis, path } = measurement;
        print_summary(&analysis, path.as_deref().unwrap_or(Path::new(UNNAMED)));
        let written = path?;
        compared.push(ComparedRun::from_recording(&written.to_string_lossy(), &recording, &analysis));
        results.push(Measured { recording, analysis, path: written });
        if stop.load(Ordering::Relaxed) {
            break;
        }
    }
    if compared.len() == 2 {
        println!("\n{}", text_comparison(&Comparison::new(compared, None), style()));
    }
    println!("written:");
    println!("  {}", write_report(&results, folder)?.display());
    for measured in &results {
        println!("  {}", measured.path.display());
    }
    for path in draw_all(&results, folder)? {
        println!("  {}", path.display());
    }
    let doubtful = results.iter().any(|measured| Outcome::of(&measured.analysis) == Outcome::Doubtful);
    Ok(if doubtful { Outcome::Doubtful } else { Outcome::Good })
}

/// Runs the plan over one link, with the server at its other end, recorded to `STEM.rrul` or the next free name.
fn over(link: &Link, plan: &TestPlan, stem: &Path, stop: &Arc<AtomicBool>) -> Result<Measurement, Failure> {
    let lab = Lab::up(link, 1)?;
    let server = server_in(&lab)?;
    let address = lab.server().address(AddressFamily::Ipv4);
    let options = RunOptions {
        server: address.to_string(),
        port: rrul_engine::PORT,
        families: Families::Only(AddressFamily::Ipv4),
        plan: plan.clone(),
        title: link.name.clone(),
        created: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
        privacy: Privacy::Open,
        token: None,
        trust: rrul_engine::client::ServerTrust::default(),
        wait: true,
        seed: seed_from(SystemTime::now()),
    };
    let writer = Writer::create_free(&stem.to_string_lossy())?;
    let (stop, label) = (Arc::clone(stop), link.name.clone());
    let measurement = lab.client().run(move || measure(&options, writer, Progress::new(label, Manner::Line), &stop))?;
    drop(server);
    measurement
}

/// What was found over one link.
struct Measured {
    recording: Recording,
    analysis: Analysis,
    path: PathBuf,
}

/// Writes everything on one page for a browser.
fn write_report(results: &[Measured], folder: &Path) -> Result<PathBuf, Failure> {
    let runs: Vec<ReportedRun<'_>> =
        results.iter().map(|Measured { recording, analysis, .. }| ReportedRun { recording, analysis }).collect();
    let page = report(&runs)?;
    let path = folder.join("report.html");
    write(&path, page.as_bytes(), true)?;
    Ok(path)
}

/// Draws every chart that shows one run for each, and every chart of two for both together.
fn draw_all(results: &[Measured], folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut written = Vec::new();
    for Measured { analysis, path: recording, .. } in results {
        let overview = rrul_view::chart_named("overview").unwrap_or(CHARTS[0]);
        for ending in ["svg", "png"] {
            let stem = recording.file_stem().unwrap_or_default().to_string_lossy();
            let path = folder.join(format!("{stem}-overview.{ending}"));
            draw(overview, &[analysis], Look::FOLDER, &path)?;
            written.push(path);
        }
    }
    if let ([before, after], Some(chart)) = (results, rrul_view::chart_named("comparison")) {
        for ending in ["svg", "png"] {
            let path = folder.join(format!("comparison.{ending}"));
            draw(chart, &[&before.analysis, &after.analysis], Look::FOLDER, &path)?;
            written.push(path);
        }
    }
    Ok(written)
}
