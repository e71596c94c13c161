//! docs/accuracy.md.

use std::fmt::Write;

use crate::Bed;
use crate::concerns::BEDS;
use crate::rows::Rows;

const HEAD: &str = "# Accuracy

How accurate rrul is. Each bed is a whole measurement, client against server, over a link whose truth is
known: a virtual link that logs every packet ([lab.md](lab.md)), or the settings and counters of the kernel. `measured` is
what `rrul show --json` says, or the series behind it where a row is of every packet or connection; `truth` comes from the
link. Written by `make accuracy`, never by hand; figures change from run to run, the verdicts should not. The machine's timers
are part of every delay: see \"What it guarantees\" in lab.md. Beds of the suite ran side by side, all others alone.

The numbers in the first column are those of [spec-conformance.md](spec-conformance.md).
";

/// How a row ends.
const HOLDS: &str = "| passes |";
const OFF: &str = "| **off** |";

/// The heading of the last section.
const BROKEN: &str = "Broken on purpose";

const MUTATIONS: &str = "
## Broken on purpose

A row that cannot fail says nothing. `scripts/mutations` breaks one line of a metric at a time and runs a bed that must
notice; the list is `crates/rrul/tests/beds/mutations.txt`.

| what was broken | bed | |
|---|---|---|
";

/// What each section begins with.
const SECTION: &str = "\n## ";

/// The page: what was measured now and, of what was not, the sections of the page as it was `before`.
pub(crate) fn document(sections: &[(&Bed, &Rows)], mutations: Option<&str>, before: &str) -> String {
    let old: Vec<&str> = before.split(SECTION).skip(1).map(str::trim_end).collect();
    let kept = |heading: &str| old.iter().find(|section| section.lines().next() == Some(heading));
    let mut beds = String::new();
    for bed in BEDS.iter().copied().flatten() {
        let heading = format!("`{}`", bed.name);
        if let Some((bed, rows)) = sections.iter().find(|(measured, _)| measured.name == bed.name) {
            beds.push_str(&section(bed, rows));
        } else if let Some(section) = kept(&heading) {
            let _ = writeln!(beds, "{SECTION}{section}");
        }
    }
    let holds = beds.lines().filter(|line| line.ends_with(HOLDS)).count();
    let off = beds.lines().filter(|line| line.ends_with(OFF)).count();
    let mut page = format!("{HEAD}\n{holds} of {} rows hold.\n{beds}", holds + off);
    if let Some(mutations) = mutations {
        page.push_str(MUTATIONS);
        page.push_str(mutations);
    } else if let Some(section) = kept(BROKEN) {
        let _ = writeln!(page, "{SECTION}{section}");
    }
    page
}

fn section(bed: &Bed, rows: &Rows) -> String {
    let mut text = format!("{SECTION}`{}`\n\n{}\n\n", bed.name, bed.about);
    text.push_str("| | what | truth | measured | allowed | |\n|---|---|---:|---:|---:|---|\n");
    for row in rows.iter() {
        let verdict = if row.pass { HOLDS } else { OFF };
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} {verdict}",
            row.requirements, row.what, row.truth, row.measured, row.allowed
        );
    }
    text
}
