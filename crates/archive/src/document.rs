//! docs/archive.md, made from the definitions of tables and questions.

use std::fmt::Write;

use crate::questions::QUESTIONS;
use crate::tables::TABLES;

const INTRODUCTION: &str = "\
# The tables of the archive

An archive is a folder of Parquet files, divided by day and site:

```text
DIR/TABLE/v=1/date=2026-01-31/site=NAME/*.parquet
```

`date` (UTC) and `site` (label `--site`, or `unknown`) are columns to every engine that reads folders in Hive's manner. A run is in the
archive when it is in table `runs`; join the other tables with it by `run_key`. Columns may be added within `v=1`; none changes its meaning.
Every column may be null, which is \"not known\". No column contains an address or a host name.

This page is made from the program. [Ask many runs](guide/archive.md) shows how to use it.
";

const VIEWS: &str = "
## Views

| view | rows |
|---|---|
| `usable_v1` | runs that are complete and not invalid |
| `valid_v1` | of those, runs whose load saturated the line (confidence `medium` or `high`) |

A view never changes. What is learned later becomes `valid_v2`, so that a figure that was published can be computed again.
";

/// The whole of docs/archive.md.
pub fn archive_document() -> String {
    let mut document = INTRODUCTION.to_owned();
    let mut tables = TABLES.to_vec();
    // The main table first.
    tables.reverse();
    for table in tables {
        let _ = write!(document, "\n## Table {}\n\n{}\n", table.name, paragraphs(table.about));
        document += "\n| column | type | definition |\n|---|---|---|\n";
        for column in table.columns {
            let about = paragraphs(column.about).replace('\n', " ");
            let _ = writeln!(document, "| `{}` | {} | {about} |", column.name, column.kind.name());
        }
    }
    document += VIEWS;
    document += "\n## Questions\n\n`rrul archive query DIR NAME` answers them.\n\n| name | question |\n|---|---|\n";
    for question in QUESTIONS {
        let _ = writeln!(document, "| `{}` | {} |", question.name, question.about().collect::<Vec<_>>().join(" "));
    }
    document
}

/// A doc comment without the spaces before its lines; lines of a paragraph are joined.
fn paragraphs(comment: &str) -> String {
    let lines: Vec<&str> = comment.trim().lines().map(str::trim).collect();
    let joined: Vec<String> = lines.split(|line| line.is_empty()).map(|paragraph| paragraph.join(" ")).collect();
    joined.join("\n\n")
}
