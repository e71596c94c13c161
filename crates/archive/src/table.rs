//! What a table is: columns with their definitions, and rows with a value for each.

/// What a column contains. Every column may be null: what is not known is never 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Integers (INT64).
    Count,
    /// Numbers (DOUBLE).
    Number,
    /// Words (UTF-8).
    Text,
    /// Times in UTC, as microseconds since 1970 (INT64, TIMESTAMP).
    Time,
}

impl Kind {
    /// The type's name in SQL.
    pub fn name(self) -> &'static str {
        match self {
            Self::Count => "BIGINT",
            Self::Number => "DOUBLE",
            Self::Text => "VARCHAR",
            Self::Time => "TIMESTAMP",
        }
    }
}

/// One column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    pub name: &'static str,
    pub kind: Kind,
    /// Its definition.
    pub about: &'static str,
}

/// One table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Table {
    /// Its name, and that of its folder.
    pub name: &'static str,
    pub about: &'static str,
    pub columns: &'static [Column],
    /// Columns by which `compact` sorts the rows, so that an engine can skip what a question does not ask for.
    pub order: &'static [&'static str],
}

/// One column of one row.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Null,
    Count(i64),
    Number(f64),
    Text(String),
}

/// What a field of a row is in its column.
pub(crate) trait ToValue {
    fn to_value(&self) -> Value;
}

impl ToValue for Option<i64> {
    fn to_value(&self) -> Value {
        self.map_or(Value::Null, Value::Count)
    }
}

impl ToValue for Option<f64> {
    fn to_value(&self) -> Value {
        self.map_or(Value::Null, Value::Number)
    }
}

impl ToValue for Option<String> {
    fn to_value(&self) -> Value {
        self.clone().map_or(Value::Null, Value::Text)
    }
}

/// A row of a table.
pub trait Row {
    const TABLE: Table;

    /// The values, in the order of the columns.
    fn values(&self) -> Vec<Value>;
}

/// Defines a table by the struct of its rows. The doc comments are the definitions of table and columns.
macro_rules! table {
    (@type Text) => { Option<String> };
    (@type Number) => { Option<f64> };
    (@type Count) => { Option<i64> };
    (@type Time) => { Option<i64> };
    (
        $(#[doc = $about:literal])+
        $row:ident is $name:literal ordered by $order:expr;
        $( $(#[doc = $text:literal])+ $column:ident: $kind:ident, )+
    ) => {
        $(#[doc = $about])+
        #[derive(Debug, Clone, PartialEq, Default)]
        pub struct $row {
            $( $(#[doc = $text])+ pub $column: $crate::table::table!(@type $kind), )+
        }

        impl $crate::table::Row for $row {
            const TABLE: $crate::table::Table = $crate::table::Table {
                name: $name,
                about: concat!($($about, "\n"),+),
                columns: &[
                    $( $crate::table::Column {
                        name: stringify!($column),
                        kind: $crate::table::Kind::$kind,
                        about: concat!($($text, "\n"),+),
                    }, )+
                ],
                order: $order,
            };

            fn values(&self) -> Vec<$crate::table::Value> {
                vec![ $( $crate::table::ToValue::to_value(&self.$column), )+ ]
            }
        }
    };
}

pub(crate) use table;
