//! docs/accuracy.md.

use std::fmt::Write;

use crate::Bed;
use crate::rows::Rows;

const HEAD: &str = "# Accuracy

How near rrul comes to the truth. Each bed is a whole measurement, client against server, over a link whose truth is
known: a virtual link that logs every packet ([lab.md](lab.md)), or the settings and counters of the kernel. `measured` is
what `rrul show --json` says, or the series behind it where a row is of every packet or connection; `truth` comes from the
link. Written by `make accuracy`, never by hand; figures change from run to run, the verdicts should not. The machine's timers
are part of every delay: see \"What it holds\" in lab.md.

The numbers in the first column are those of [spec-conformance.md](spec-conformance.md).
";

const MUTATIONS: &str = "
## Broken on purpose

A row that cannot fail says nothing. `scripts/mutations` breaks one line of a metric at a time and runs a bed that must
notice; the list is `crates/rrul/tests/accuracy/mutations.txt`.

| what was broken | bed | |
|---|---|---|
";

/// The page.
pub(crate) fn document(sections: &[(&Bed, Rows)], mutations: Option<&str>) -> String {
    let mut page = HEAD.to_owned();
    let rows: Vec<_> = sections.iter().flat_map(|(_, rows)| rows.iter()).collect();
    let passed = rows.iter().filter(|row| row.pass).count();
    let _ = writeln!(page, "\n{passed} of {} rows hold.", rows.len());
    for (bed, rows) in sections {
        let _ = writeln!(page, "\n## `{}`\n\n{}\n", bed.name, bed.about);
        page.push_str("| | what | truth | measured | allowed | |\n|---|---|---:|---:|---:|---|\n");
        for row in rows.iter() {
            let _ = writeln!(
                page,
                "| {} | {} | {} | {} | {} | {} |",
                row.requirements,
                row.what,
                row.truth,
                row.measured,
                row.allowed,
                if row.pass { "holds" } else { "**off**" }
            );
        }
    }
    if let Some(mutations) = mutations {
        page.push_str(MUTATIONS);
        page.push_str(mutations);
    }
    page
}
