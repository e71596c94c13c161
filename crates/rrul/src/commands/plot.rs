//! `rrul plot FILE...`: draw recordings.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use rrul_analysis::{Analysis, analyze};
use rrul_view::{Chart, Theme, chart_named, charts};

use crate::Outcome;
use crate::arguments::PlotArguments;
use crate::failure::Failure;
use crate::store;

/// Pixels for each of the chart's units: sharp on a dense screen and in print.
const SCALE: f32 = 2.0;

pub(crate) fn execute(arguments: &PlotArguments) -> Result<Outcome, Failure> {
    let chart = chart_named(&arguments.chart).ok_or_else(|| {
        let known: Vec<_> = charts::CHARTS.iter().map(|chart| chart.name()).collect();
        Failure::Other(format!("there is no chart \"{}\"; known: {}", arguments.chart, known.join(", ")))
    })?;
    let mut analyses = Vec::new();
    for file in &arguments.files {
        analyses.push(analyze(&store::read(file)?));
    }
    let path = arguments.output.clone().unwrap_or_else(|| {
        let stem = arguments.files[0].file_stem().unwrap_or_default().to_string_lossy();
        PathBuf::from(format!("{stem}-{}.svg", chart.name()))
    });
    draw(chart, &analyses.iter().collect::<Vec<_>>(), &path, arguments.force)?;
    println!("chart: {}", path.display());
    Ok(Outcome::Good)
}

/// Draws a chart to a file whose ending says the format.
pub(crate) fn draw(chart: &dyn Chart, runs: &[&Analysis], path: &Path, overwrite: bool) -> Result<(), Failure> {
    let ending = path.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    if !["svg", "png"].contains(&ending.as_str()) {
        return Err(Failure::Other(format!("{}: the name must end in .svg or .png", path.display())));
    }
    let svg = rrul_view::svg(chart, runs, &Theme::LIGHT)?;
    let octets = if ending == "png" { rrul_view::png(&svg, SCALE)? } else { svg.into_bytes() };
    let mut options = OpenOptions::new();
    options.write(true);
    let options = if overwrite { options.create(true).truncate(true) } else { options.create_new(true) };
    let mut file = options.open(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => {
            Failure::Other(format!("{}: there is a file already; --force to write over it", path.display()))
        }
        _ => Failure::output(path)(error),
    })?;
    file.write_all(&octets).map_err(Failure::output(path))
}
