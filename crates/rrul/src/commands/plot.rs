//! `rrul plot FILE...`: draw recordings.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use rrul_analysis::{Analysis, analyze};
use rrul_view::svg::with_renderer;
use rrul_view::{Chart, Theme, ViewError, chart_named, charts};

use crate::Outcome;
use crate::arguments::{PlotArguments, ThemeChoice};
use crate::failure::Failure;
use crate::store;

/// Pixels for each of the chart's units: sharp on a dense screen and in print.
const SCALE: f32 = 2.0;

/// In the place of a chart's name: every chart.
const ALL: &str = "all";

pub(crate) fn execute(arguments: &PlotArguments) -> Result<Outcome, Failure> {
    let chart = match arguments.chart.as_str() {
        ALL => None,
        name => Some(chart_named(name).ok_or_else(|| {
            let known: Vec<_> = charts::CHARTS.iter().map(|chart| chart.name()).collect();
            Failure::Other(format!("there is no chart \"{name}\"; known: {}, {ALL}", known.join(", ")))
        })?),
    };
    let mut analyses = Vec::new();
    for file in &arguments.files {
        analyses.push(analyze(&store::read(file)?));
    }
    let runs: Vec<&Analysis> = analyses.iter().collect();
    let theme = match arguments.theme {
        ThemeChoice::Light => Theme::LIGHT,
        ThemeChoice::Dark => Theme::DARK,
    };
    let stem = arguments.files[0].file_stem().unwrap_or_default().to_string_lossy();
    let place = |otherwise: String| arguments.output.clone().unwrap_or_else(|| PathBuf::from(otherwise));
    if let Some(chart) = chart {
        let path = place(format!("{stem}-{}.svg", chart.name()));
        draw(chart, &runs, &theme, &path, arguments.force)?;
        println!("chart: {}", path.display());
    } else {
        draw_all(&runs, &theme, &place(format!("{stem}-charts")), arguments.force)?;
    }
    Ok(Outcome::Good)
}

/// Draws a chart to a file whose ending says the format.
pub(crate) fn draw(
    chart: &dyn Chart,
    runs: &[&Analysis],
    theme: &Theme,
    path: &Path,
    overwrite: bool,
) -> Result<(), Failure> {
    let ending = path.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    if !["svg", "png"].contains(&ending.as_str()) {
        return Err(Failure::Other(format!("{}: the name must end in .svg or .png", path.display())));
    }
    let svg = rrul_view::svg(chart, runs, theme)?;
    let octets = if ending == "png" { rrul_view::png(&svg, SCALE)? } else { svg.into_bytes() };
    write(path, &octets, overwrite)
}

/// Draws every chart that these runs can show into a folder, and says of the others why not.
fn draw_all(runs: &[&Analysis], theme: &Theme, folder: &Path, overwrite: bool) -> Result<(), Failure> {
    fs::create_dir_all(folder).map_err(Failure::output(folder))?;
    let mut pictures: Vec<(&str, String)> = Vec::new();
    with_renderer(|renderer| {
        for chart in charts::CHARTS {
            let name = chart.name();
            match chart.draw(runs, theme) {
                Ok(drawing) => match &drawing.nothing {
                    None => pictures.push((name, renderer.svg(&drawing)?)),
                    Some(why) => println!("no {name}: {why}"),
                },
                Err(error @ ViewError::Runs { .. }) => println!("no {name}: {error}"),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    })?;
    for (name, svg) in pictures {
        let path = folder.join(format!("{name}.svg"));
        write(&path, svg.as_bytes(), overwrite)?;
        println!("chart: {}", path.display());
    }
    Ok(())
}

/// Writes a file, over another one only where that is asked for.
pub(crate) fn write(path: &Path, octets: &[u8], overwrite: bool) -> Result<(), Failure> {
    let mut options = OpenOptions::new();
    options.write(true);
    let options = if overwrite { options.create(true).truncate(true) } else { options.create_new(true) };
    let mut file = options.open(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => {
            Failure::Other(format!("{}: there is a file already; --force to write over it", path.display()))
        }
        _ => Failure::output(path)(error),
    })?;
    file.write_all(octets).map_err(Failure::output(path))
}
