//! `rrul plot FILE...`: draw recordings.

use std::fs;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use rrul_analysis::digest::{DELAY_TABLES, delays};
use rrul_analysis::{Analysis, analyze};
use rrul_view::drawing::svg::{Renderer, with_renderer};
use rrul_view::{Chart, Theme, ViewError, chart_named, charts};

use crate::arguments::{PictureFormat, PlotArguments};
use crate::failure::{ContentError, Failure};
use crate::outcome::Outcome;
use crate::output::{say, write};
use crate::{store, together};

/// In the place of a chart's name: every chart.
const ALL: &str = "all";

pub(crate) fn execute(arguments: &PlotArguments) -> Result<Outcome, Failure> {
    let chart = match arguments.chart.as_str() {
        ALL => None,
        name => Some(chart_named(name).ok_or_else(|| {
            let known: Vec<_> = charts::CHARTS.iter().map(|chart| chart.name).collect();
            let known = format!("{}, {ALL}", known.join(", "));
            Failure::NotFound { what: "chart", name: name.to_owned(), known }
        })?),
    };
    let look = Look { theme: arguments.theme, scale: arguments.scale, overwrite: arguments.force };
    let format = arguments.format.unwrap_or(PictureFormat::Svg);
    let stem = arguments.files[0].file_stem().unwrap_or_default().to_string_lossy();
    let place = |otherwise: String| arguments.output.clone().unwrap_or_else(|| PathBuf::from(otherwise));
    // The chart library is loaded while recordings are read.
    std::thread::scope(|scope| {
        let reading = scope.spawn(move || {
            together::of_each(&arguments.files, |file| match chart {
                Some(chart) if chart.shows_only_delays() => store::read_tables(file, &DELAY_TABLES, delays, analyze),
                _ => Ok(analyze(&store::read(file)?)),
            })
        });
        with_renderer(|renderer| {
            let read = reading.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            Ok(read.and_then(|analyses| {
                let runs: Vec<&Analysis> = analyses.iter().collect();
                let Some(chart) = chart else {
                    return draw_all(renderer, &runs, look, &place(format!("{stem}-charts")), format);
                };
                let path = place(format!("{stem}-{}.{}", chart.name, format.ending()));
                draw_with(renderer, chart, &runs, look, &path)?;
                say(format_args!("chart: {}", path.display()));
                Ok(())
            }))
        })
    })??;
    Ok(Outcome::Good)
}

/// How pictures are written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Look<'a> {
    pub(crate) theme: &'a Theme,
    /// Pixels of PNG for each of the chart's units.
    pub(crate) scale: f32,
    /// Whether an existing picture is replaced.
    pub(crate) overwrite: bool,
}

impl Look<'static> {
    /// The pictures in the folder of a command: drawn anew each time, sharp on a dense screen.
    pub(crate) const FOLDER: Self = Self { theme: &Theme::LIGHT, scale: 2.0, overwrite: true };
}

impl PictureFormat {
    fn ending(self) -> &'static str {
        match self {
            Self::Svg => "svg",
            Self::Png => "png",
            Self::Pdf => "pdf",
        }
    }
}

/// Draws a chart to a file whose ending says the format.
pub(crate) fn draw(chart: &Chart, runs: &[&Analysis], look: Look<'_>, path: &Path) -> Result<(), Failure> {
    with_renderer(|renderer| Ok(draw_with(renderer, chart, runs, look, path)))?
}

/// What the ending of a name says.
pub(crate) fn format_of(path: &Path) -> Result<PictureFormat, Failure> {
    let ending = path.extension().unwrap_or_default().to_string_lossy();
    PictureFormat::from_str(&ending, true).map_err(|_| Failure::content(path, ContentError::PictureName))
}

fn octets(svg: String, format: PictureFormat, scale: f32) -> Result<Vec<u8>, Failure> {
    Ok(match format {
        PictureFormat::Svg => svg.into_bytes(),
        PictureFormat::Png => rrul_view::png(&svg, scale)?,
        PictureFormat::Pdf => rrul_view::pdf(&svg)?,
    })
}

fn draw_with(
    renderer: &Renderer<'_>,
    chart: &Chart,
    runs: &[&Analysis],
    look: Look<'_>,
    path: &Path,
) -> Result<(), Failure> {
    format_of(path)?;
    write_picture(renderer.svg(&chart.draw(runs, look.theme)?)?, look, path)
}

/// Writes a picture in the format that the ending of its name says.
pub(crate) fn write_picture(svg: String, look: Look<'_>, path: &Path) -> Result<(), Failure> {
    write(path, &octets(svg, format_of(path)?, look.scale)?, look.overwrite)
}

/// Draws every chart that these runs can show into a folder, and says of the others why not.
fn draw_all(
    renderer: &Renderer<'_>,
    runs: &[&Analysis],
    look: Look<'_>,
    folder: &Path,
    format: PictureFormat,
) -> Result<(), Failure> {
    fs::create_dir_all(folder).map_err(Failure::output(folder))?;
    for chart in charts::CHARTS {
        let name = chart.name;
        match chart.draw(runs, look.theme) {
            Ok(drawing) => match &drawing.nothing {
                None => {
                    let path = folder.join(format!("{name}.{}", format.ending()));
                    write(&path, &octets(renderer.svg(&drawing)?, format, look.scale)?, look.overwrite)?;
                    say(format_args!("chart: {}", path.display()));
                }
                Some(why) => say(format_args!("no {name}: {why}")),
            },
            Err(error @ ViewError::Runs { .. }) => say(format_args!("no {name}: {error}")),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
