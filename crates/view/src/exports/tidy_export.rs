//! Every series and every sample of a run as rows of a table, for other programs to count in.
//!
//! Two tables in long form, one row a value: [`series`] contains what changes over time (rates, delays on a grid, the
//! state of TCP), [`samples`] every single packet. docs/export.md explains each column. A table becomes CSV (RFC 4180)
//! or JSON.

pub mod samples;
pub mod series;
mod write;

use rrul_analysis::Analysis;
use rrul_analysis::flow_label::FlowLabel;

pub use write::{csv, json};

/// A value in a table.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Not known, or not there: an empty field in CSV, `null` in JSON.
    Nothing,
    Count(u64),
    /// A number, with as many decimals as it is exact to.
    Number {
        value: f64,
        decimals: usize,
    },
    Text(String),
}

impl Value {
    /// Milliseconds, to the nanosecond.
    fn milliseconds(delay: Option<rrul_model::units::Delay>) -> Self {
        delay.map_or(Self::Nothing, |delay| Self::Number { value: delay.milliseconds(), decimals: 6 })
    }

    /// Seconds from T0, to the microsecond.
    fn seconds(at: rrul_model::time::TestTime) -> Self {
        Self::Number { value: at.seconds(), decimals: 6 }
    }
}

/// A table: rows as long as the columns.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// Names, with the unit behind, if any.
    pub columns: &'static [&'static str],
    pub rows: Vec<Vec<Value>>,
}

/// The type of a column in every run, even if it is empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// [`Value::Count`].
    Counts,
    /// [`Value::Number`], and [`Value::Count`].
    Numbers,
    /// [`Value::Text`].
    Texts,
}

impl Kind {
    /// That of the column with this name: numbers have their unit behind.
    pub fn of(column: &str) -> Self {
        match column {
            "lost" => Self::Counts,
            "value" => Self::Numbers,
            name if name.ends_with("_s") || name.ends_with("_ms") => Self::Numbers,
            _ => Self::Texts,
        }
    }

    /// Whether a value fits into such a column.
    pub fn holds(self, value: &Value) -> bool {
        match value {
            Value::Nothing => true,
            Value::Count(_) => self != Self::Texts,
            Value::Number { .. } => self == Self::Numbers,
            Value::Text(_) => self == Self::Texts,
        }
    }
}

/// Both tables of a run and what it was.
#[derive(Debug, Clone, PartialEq)]
pub struct Export {
    pub plan: String,
    pub title: String,
    pub created: String,
    pub server: String,
    pub series: Table,
    pub samples: Table,
}

/// The tables of a run.
pub fn export(run: &Analysis) -> Export {
    Export {
        plan: run.test.plan.clone(),
        title: run.test.title.clone(),
        created: run.test.created.clone(),
        server: run.test.server.clone(),
        series: series::table(run),
        samples: samples::table(run),
    }
}

/// Who a flow is: name, type, class, family, direction.
fn who(flow: &FlowLabel) -> [Value; 5] {
    let direction = flow.direction.map_or(Value::Nothing, |direction| Value::Text(direction.to_string()));
    [
        Value::Text(flow.name.clone()),
        Value::Text(flow.flow_type.clone()),
        Value::Text(flow.class.to_string()),
        Value::Text(flow.family.to_string()),
        direction,
    ]
}
