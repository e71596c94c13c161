//! The JSON of tables: an object of tables, each an object of columns.
//!
//! Written and read by name. What serde derives for each table would be several hundred kilobytes of program.

use std::fmt;

use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Tables;
use super::columns::{Column, Table};

impl Serialize for Tables {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let filled = || self.named().into_iter().filter(|(_, table)| !table.columns().iter().any(Column::is_empty));
        let mut tables = serializer.serialize_map(Some(filled().count()))?;
        for (name, table) in filled() {
            tables.serialize_entry(name, &Columns(table))?;
        }
        tables.end()
    }
}

/// The columns of a table, to be written.
struct Columns<'a>(&'a dyn Table);

impl Serialize for Columns<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.names().iter().zip(self.0.columns()))
    }
}

impl<'de> Deserialize<'de> for Tables {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ReadTables)
    }
}

/// Reads tables; those of a later rrul are passed over.
struct ReadTables;

impl<'de> Visitor<'de> for ReadTables {
    type Value = Tables;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("tables")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Tables, A::Error> {
        let mut tables = Tables::default();
        let mut seen = Vec::new();
        while let Some(name) = map.next_key::<String>()? {
            if let Some((name, table)) = tables.table_mut(&name) {
                once(&mut seen, name)?;
                map.next_value_seed(ReadColumns(table))?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(tables)
    }
}

/// Reads the columns of one table; those of a later rrul are passed over.
struct ReadColumns<'a>(&'a mut dyn Table);

impl<'de> DeserializeSeed<'de> for ReadColumns<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for ReadColumns<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the columns of a table")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let names = self.0.names();
        let mut seen = Vec::new();
        while let Some(name) = map.next_key::<String>()? {
            if let Some(index) = names.iter().position(|known| *known == name) {
                once(&mut seen, names[index])?;
                self.0.columns_mut()[index] = map.next_value()?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

/// # Errors
/// When the name has occurred before.
fn once<E: Error>(seen: &mut Vec<&'static str>, name: &'static str) -> Result<(), E> {
    if seen.contains(&name) {
        return Err(E::duplicate_field(name));
    }
    seen.push(name);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_or_column_that_stands_twice_is_refused_and_an_unknown_one_passed_over() {
        let read = |text: &str| serde_json::from_str::<Tables>(text).map_err(|error| error.to_string());
        for (text, twice) in [
            (r#"{"tcp_info":{},"tcp_info":{}}"#, "tcp_info"),
            (r#"{"tcp_info":{"flow":[],"rtt":[],"flow":[]}}"#, "flow"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.starts_with(&format!("duplicate field `{twice}`")), "{error}");
        }
        assert_eq!(read(r#"{"of_tomorrow":{"flow":[1]},"tcp_info":{"of_tomorrow":[1]}}"#), Ok(Tables::default()));
    }
}
