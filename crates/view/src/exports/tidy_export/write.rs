//! Tables as text.

use std::fmt::Write as _;

use serde::Serialize;
use serde::ser::{SerializeMap, SerializeSeq, Serializer};

use crate::exports::tidy_export::{Export, Table, Value};

/// A table as CSV (RFC 4180): the columns' names, then a line a row, each ended by CR LF.
pub fn csv(table: &Table) -> String {
    let mut text = table.columns.join(",");
    text.push_str("\r\n");
    for row in &table.rows {
        for (place, value) in row.iter().enumerate() {
            if place > 0 {
                text.push(',');
            }
            field(&mut text, value);
        }
        text.push_str("\r\n");
    }
    text
}

fn field(text: &mut String, value: &Value) {
    // Writing to a string does not fail.
    let _ = match value {
        Value::Nothing => Ok(()),
        Value::Count(count) => write!(text, "{count}"),
        Value::Number { value, decimals } => write!(text, "{value:.decimals$}"),
        Value::Text(words) if words.contains([',', '"', '\r', '\n']) => {
            write!(text, "\"{}\"", words.replace('"', "\"\""))
        }
        Value::Text(words) => write!(text, "{words}"),
    };
}

/// A number rounded as CSV has it.
fn rounded(value: &Value) -> Value {
    match value {
        Value::Number { value, decimals } => {
            let factor = 10_f64.powi(i32::try_from(*decimals).unwrap_or(0));
            Value::Number { value: (value * factor).round() / factor, decimals: *decimals }
        }
        other => other.clone(),
    }
}

struct Rows<'t>(&'t Table);
struct Row<'t>(&'t [&'static str], &'t [Value]);

impl Serialize for Cell<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match rounded(self.0) {
            Value::Nothing => serializer.serialize_none(),
            Value::Count(count) => serializer.serialize_u64(count),
            Value::Number { value, .. } => serializer.serialize_f64(value),
            Value::Text(words) => serializer.serialize_str(&words),
        }
    }
}

struct Cell<'t>(&'t Value);

impl Serialize for Row<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (column, value) in self.0.iter().zip(self.1) {
            map.serialize_entry(column, &Cell(value))?;
        }
        map.end()
    }
}

impl Serialize for Rows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.0.rows.len()))?;
        for row in &self.0.rows {
            list.serialize_element(&Row(self.0.columns, row))?;
        }
        list.end()
    }
}

/// Both tables as one JSON object: `plan`, `title`, `created`, `server`, and `series` and `samples`, each a list of
/// objects with the columns' names.
///
/// # Errors
/// None but of the JSON library.
pub fn json(export: &Export) -> Result<String, serde_json::Error> {
    #[derive(Serialize)]
    struct Whole<'t> {
        plan: &'t str,
        title: &'t str,
        created: &'t str,
        server: &'t str,
        series: Rows<'t>,
        samples: Rows<'t>,
    }
    serde_json::to_string(&Whole {
        plan: &export.plan,
        title: &export.title,
        created: &export.created,
        server: &export.server,
        series: Rows(&export.series),
        samples: Rows(&export.samples),
    })
}
