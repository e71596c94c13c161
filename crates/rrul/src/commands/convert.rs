//! `rrul convert FILE --har`: what a recording holds in a form that other tools read.

use std::fs::OpenOptions;
use std::io::Write;

use rrul_analysis::analyze;
use rrul_view::har::archive;

use crate::Outcome;
use crate::arguments::ConvertArguments;
use crate::failure::Failure;
use crate::store;

pub(crate) fn execute(arguments: &ConvertArguments) -> Result<Outcome, Failure> {
    let analysis = analyze(&store::read(&arguments.file)?);
    if analysis.page_loads.is_empty() {
        let name = arguments.file.display();
        return Err(Failure::Other(format!("{name}: no page was loaded in this test, so there is nothing to convert")));
    }
    let archive = archive(&analysis);
    let json = serde_json::to_vec_pretty(&archive).map_err(|error| Failure::Other(error.to_string()))?;
    let path = arguments.output.clone().unwrap_or_else(|| arguments.file.with_extension("har"));
    let mut options = OpenOptions::new();
    options.write(true);
    let options = if arguments.force { options.create(true).truncate(true) } else { options.create_new(true) };
    let mut file = options.open(&path).map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => {
            Failure::Other(format!("{}: there is a file already; --force to write over it", path.display()))
        }
        _ => Failure::output(&path)(error),
    })?;
    file.write_all(&json).map_err(Failure::output(&path))?;
    let loads = archive.log.pages.len();
    println!("HTTP archive of {loads} page loads: {}", path.display());
    Ok(Outcome::Good)
}
