//! The answer to a question: columns and rows, as text, CSV and JSON.

use std::fmt::Write;

use serde_json::{Map, Value as Json};

use crate::table::Value;

/// Rows in the order in which the question asks for them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Answer {
    /// Names of the columns.
    pub columns: Vec<String>,
    pub rows: Vec<Vec<Value>>,
}

impl Answer {
    /// Aligned columns with their names above: numbers right, words left, `-` for null, `no rows` when it is empty.
    pub fn text(&self) -> String {
        let cell = |value: &Value| match value {
            Value::Null => "-".to_owned(),
            Value::Count(count) => count.to_string(),
            Value::Number(number) => number.to_string(),
            // A name of others must not begin a line of its own.
            Value::Text(text) => text.replace(char::is_control, " "),
        };
        let body = self.rows.iter().map(|row| row.iter().map(cell).collect::<Vec<_>>());
        let lines: Vec<Vec<String>> = std::iter::once(self.columns.clone()).chain(body).collect();
        let column = |place: usize| self.rows.iter().map(move |row| &row[place]);
        let right = |place| {
            column(place).any(|value| matches!(value, Value::Count(_) | Value::Number(_)))
                && !column(place).any(|value| matches!(value, Value::Text(_)))
        };
        let sides: Vec<(usize, bool)> = (0..self.columns.len())
            .map(|place| {
                let width = lines.iter().map(|line| line[place].chars().count()).max();
                (width.unwrap_or(0), right(place))
            })
            .collect();
        let mut text = String::new();
        for line in &lines {
            let mut padded = String::new();
            for (cell, (width, right)) in line.iter().zip(&sides) {
                let between = if padded.is_empty() { "" } else { "  " };
                let padding = " ".repeat(width - cell.chars().count());
                let parts = if *right { [between, &padding, cell] } else { [between, cell, &padding] };
                padded.extend(parts);
            }
            let _ = writeln!(text, "{}", padded.trim_end());
        }
        if self.rows.is_empty() {
            text += "no rows\n";
        }
        text
    }

    /// RFC 4180 with names of columns in the first line; null is empty, and an empty text is in quotes.
    pub fn csv(&self) -> String {
        let quoted = |text: &str| {
            if text.is_empty() || text.contains([',', '"', '\n', '\r']) {
                format!("\"{}\"", text.replace('"', "\"\""))
            } else {
                text.to_owned()
            }
        };
        let cell = |value: &Value| match value {
            Value::Null => String::new(),
            Value::Count(count) => count.to_string(),
            Value::Number(number) => number.to_string(),
            Value::Text(text) => quoted(text),
        };
        let head = self.columns.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(",");
        let rows = self.rows.iter().map(|row| row.iter().map(cell).collect::<Vec<_>>().join(","));
        std::iter::once(head).chain(rows).map(|line| line + "\r\n").collect()
    }

    /// One object: `columns`, the names in their order, and `rows`, each an object by name.
    ///
    /// A number that is not finite is null, because JSON has none.
    pub fn json(&self) -> Json {
        let cell = |value: &Value| match value {
            Value::Null => Json::Null,
            Value::Count(count) => Json::from(*count),
            Value::Number(number) => Json::from(*number),
            Value::Text(text) => Json::from(text.as_str()),
        };
        let row = |row: &Vec<Value>| -> Json {
            self.columns.iter().cloned().zip(row.iter().map(cell)).collect::<Map<_, _>>().into()
        };
        serde_json::json!({ "columns": self.columns, "rows": self.rows.iter().map(row).collect::<Vec<_>>() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer() -> Answer {
        Answer {
            columns: ["provider", "runs", "p95_ms"].map(str::to_owned).to_vec(),
            rows: vec![
                vec![Value::Text("A, \"B\"\n".to_owned()), Value::Count(7), Value::Number(12.5)],
                vec![Value::Null, Value::Count(1000), Value::Null],
                vec![Value::Text(String::new()), Value::Count(-1), Value::Number(f64::NAN)],
            ],
        }
    }

    #[test]
    fn text_has_words_left_and_numbers_right() {
        let lines =
            ["provider  runs  p95_ms", "A, \"B\"       7    12.5", "-         1000       -", "            -1     NaN"];
        assert_eq!(answer().text().lines().collect::<Vec<_>>(), lines);
        assert_eq!(Answer { columns: vec!["a".to_owned()], rows: Vec::new() }.text(), "a\nno rows\n");
    }

    #[test]
    fn csv_has_nothing_for_null_and_quotes_for_an_empty_text() {
        assert_eq!(answer().csv(), "provider,runs,p95_ms\r\n\"A, \"\"B\"\"\n\",7,12.5\r\n,1000,\r\n\"\",-1,NaN\r\n");
    }

    #[test]
    fn json_keeps_the_order_of_columns_and_has_numbers() {
        let json = answer().json();
        assert_eq!(json["columns"], serde_json::json!(["provider", "runs", "p95_ms"]));
        assert_eq!(json["rows"][0], serde_json::json!({ "provider": "A, \"B\"\n", "runs": 7, "p95_ms": 12.5 }));
        assert_eq!(json["rows"][2]["p95_ms"], Json::Null);
    }
}
