//! `rrul convert FILE --to FORM`: a recording in a format that other tools read, and their files as recordings.

use std::io::Write;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use rrul_analysis::{Analysis, analyze};
use rrul_view::exports::flent_export::flent_file;
use rrul_view::exports::har::archive;
use rrul_view::exports::tidy_export;

use crate::arguments::{ConvertArguments, ConvertForm};
use crate::failure::{ContentError, Failure};
use crate::outcome::Outcome;
use crate::output::{say, write};
use crate::parquet_table::parquet;
use crate::store::{self, Writer};

pub(crate) fn execute(arguments: &ConvertArguments) -> Result<Outcome, Failure> {
    let recording = store::read(&arguments.file)?;
    let form = match (arguments.har, arguments.to, &recording.header.imported) {
        (true, ..) => ConvertForm::Har,
        (_, Some(form), _) => form,
        (_, None, Some(_)) => ConvertForm::Rrul,
        (_, None, None) => ConvertForm::Flent,
    };
    if form == ConvertForm::Rrul {
        if recording.header.imported.is_none() {
            return Err(Failure::content(&arguments.file, ContentError::AlreadyConverted));
        }
        let path = arguments.output.clone().unwrap_or_else(|| named(&arguments.file, ".rrul"));
        say(format_args!("recording: {}", Writer::write(&path, &recording)?.display()));
        return Ok(Outcome::Good);
    }
    let run = analyze(&recording);
    for (path, octets, about) in written(form, arguments, &run)? {
        write(&path, &octets, arguments.force)?;
        say(format_args!("{about}: {}", path.display()));
    }
    Ok(Outcome::Good)
}

/// The files of a form: where, what, and what to call it.
fn written(
    form: ConvertForm,
    arguments: &ConvertArguments,
    run: &Analysis,
) -> Result<Vec<(PathBuf, Vec<u8>, String)>, Failure> {
    let path = |ending| arguments.output.clone().unwrap_or_else(|| named(&arguments.file, ending));
    Ok(match form {
        ConvertForm::Rrul => Vec::new(),
        ConvertForm::Har => {
            if run.page_loads.is_empty() {
                return Err(Failure::content(&arguments.file, ContentError::NoPages));
            }
            let archive = archive(run);
            let json = serde_json::to_vec_pretty(&archive)?;
            vec![(path(".har"), json, format!("HTTP archive of {} page loads", archive.log.pages.len()))]
        }
        ConvertForm::Flent => {
            let file = flent_file(run);
            let json = serde_json::to_vec(&file)?;
            let path = path(".flent.gz");
            let plain = path.extension().is_some_and(|ending| ending != "gz");
            let octets = if plain { json } else { gzip(&json).map_err(Failure::system("gzip"))? };
            let about = format!("test {} of Flent", file.metadata.name);
            say(&file.metadata.note);
            vec![(path, octets, about)]
        }
        ConvertForm::Csv => {
            let export = tidy_export::export(run);
            let of = |what: &str, table| {
                (table_path(arguments, what, "csv"), tidy_export::csv(table).into_bytes(), what.to_owned())
            };
            vec![of("series", &export.series), of("samples", &export.samples)]
        }
        ConvertForm::Parquet => {
            let export = tidy_export::export(run);
            let of = |what: &str, table| -> Result<_, Failure> {
                let octets = parquet(table, &export)?;
                Ok((table_path(arguments, what, "parquet"), octets, what.to_owned()))
            };
            vec![of("series", &export.series)?, of("samples", &export.samples)?]
        }
        ConvertForm::Json => {
            let json = tidy_export::json(&tidy_export::export(run))?;
            vec![(path(".json"), json.into_bytes(), "series and samples".to_owned())]
        }
    })
}

/// Where one of several tables goes.
fn table_path(arguments: &ConvertArguments, what: &str, ending: &str) -> PathBuf {
    let stem = arguments.output.clone().unwrap_or_else(|| named(&arguments.file, ".x")).with_extension("");
    let mut name = stem.into_os_string();
    name.push(format!("-{what}.{ending}"));
    PathBuf::from(name)
}

/// The file's name with another ending, beside it: `x.flent.gz` and `x.rrul` are both named `x`.
fn named(file: &Path, ending: &str) -> PathBuf {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let known = [".flent.gz", ".json.gz", ".flent", ".json", ".rrul.part", ".rrul", ".gz"];
    let stem = known.into_iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(&name);
    file.with_file_name(format!("{stem}{ending}"))
}

/// The same text gives the same bytes: the file contains no time.
fn gzip(text: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text)?;
    encoder.finish()
}
