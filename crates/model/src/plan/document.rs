//! A TOML document that remembers where each value stands, so that every complaint can name file, line and key.

use toml::de::{DeTable, DeValue};

use super::PlanError;

/// Where a value was written: `plans/rrul.toml:14` or `--set load=5x`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place(pub String);

/// A value and its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    pub value: Value,
    pub place: Place,
}

/// What TOML can hold, less dates.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Text(String),
    Integer(i64),
    Number(f64),
    Flag(bool),
    List(Vec<Node>),
    /// A table in the order written.
    Table(Vec<(String, Node)>),
}

impl Node {
    /// A complaint about this value under this key.
    pub fn error(&self, key: &str, message: impl std::fmt::Display) -> PlanError {
        PlanError { place: self.place.0.clone(), message: format!("{key}: {message}") }
    }

    /// The entry with this key, when this is a table that has it.
    pub fn get(&self, key: &str) -> Option<&Self> {
        match &self.value {
            Value::Table(entries) => entries.iter().find(|(name, _)| name == key).map(|(_, node)| node),
            _ => None,
        }
    }

    /// The entries of a table; none for anything else.
    pub fn entries(&self) -> &[(String, Self)] {
        match &self.value {
            Value::Table(entries) => entries,
            _ => &[],
        }
    }

    /// Lays `over` over this: tables merge key by key, anything else is replaced.
    pub fn merge(&mut self, over: Self) {
        match (&mut self.value, over.value) {
            (Value::Table(mine), Value::Table(theirs)) => {
                for (key, node) in theirs {
                    match mine.iter_mut().find(|(name, _)| *name == key) {
                        Some((_, existing)) => existing.merge(node),
                        None => mine.push((key, node)),
                    }
                }
            }
            (mine, theirs) => {
                *mine = theirs;
                self.place = over.place;
            }
        }
    }
}

/// Parses TOML text; `file` is the name for messages.
///
/// # Errors
/// When it is no TOML, with the line.
pub fn parse(file: &str, text: &str) -> Result<Node, PlanError> {
    let table = DeTable::parse(text).map_err(|error| {
        let line = error.span().map_or(1, |span| line_of(text, span.start));
        PlanError { place: format!("{file}:{line}"), message: error.message().to_owned() }
    })?;
    let top = Place(format!("{file}:1"));
    Ok(Node { value: table_value(file, text, table.get_ref())?, place: top })
}

/// Reads one `--set KEY=VALUE`: the dotted key, and the value as TOML or else as plain text.
///
/// # Errors
/// When `=` or the key is missing.
pub fn parse_setting(setting: &str) -> Result<(Vec<String>, Node), PlanError> {
    let place = format!("--set {setting}");
    let complaint = || PlanError {
        place: place.clone(),
        message: "write KEY=VALUE, such as load=30s or flow.bulk.count=8".to_owned(),
    };
    let (key, value) = setting.split_once('=').ok_or_else(complaint)?;
    let path: Vec<String> = key.trim().split('.').map(|part| part.trim().to_owned()).collect();
    if path.iter().any(String::is_empty) {
        return Err(complaint());
    }
    let as_toml = parse(&place, &format!("value = {}", value.trim()));
    let value = match as_toml.ok().and_then(|document| document.get("value").cloned()) {
        Some(node) => node.value,
        None => Value::Text(value.trim().to_owned()),
    };
    let place = Place(place);
    Ok((path, at_place(value, &place)))
}

/// A table nested along `path` that contains `leaf` at its end.
pub fn nest(path: &[String], leaf: Node) -> Node {
    path.iter().rev().fold(leaf, |inner, key| {
        let place = inner.place.clone();
        Node { value: Value::Table(vec![(key.clone(), inner)]), place }
    })
}

fn at_place(value: Value, place: &Place) -> Node {
    let value = match value {
        Value::List(items) => Value::List(items.into_iter().map(|item| at_place(item.value, place)).collect()),
        Value::Table(entries) => {
            Value::Table(entries.into_iter().map(|(key, node)| (key, at_place(node.value, place))).collect())
        }
        plain => plain,
    };
    Node { value, place: place.clone() }
}

fn table_value(file: &str, text: &str, table: &DeTable<'_>) -> Result<Value, PlanError> {
    let mut entries = Vec::with_capacity(table.len());
    for (key, value) in table {
        let place = Place(format!("{file}:{}", line_of(text, key.span().start)));
        let value = node_value(file, text, &place, value.get_ref())?;
        entries.push((key.get_ref().to_string(), Node { value, place }));
    }
    Ok(Value::Table(entries))
}

fn node_value(file: &str, text: &str, place: &Place, value: &DeValue<'_>) -> Result<Value, PlanError> {
    let complaint = |what: &str| PlanError { place: place.0.clone(), message: format!("{what} is not allowed here") };
    Ok(match value {
        DeValue::String(string) => Value::Text(string.to_string()),
        DeValue::Integer(integer) => Value::Integer(
            i64::from_str_radix(integer.as_str(), integer.radix()).map_err(|_| complaint("an integer this large"))?,
        ),
        DeValue::Float(float) => Value::Number(float.as_str().parse().map_err(|_| complaint("this number"))?),
        DeValue::Boolean(flag) => Value::Flag(*flag),
        DeValue::Datetime(_) => return Err(complaint("a date")),
        DeValue::Array(items) => {
            let mut nodes = Vec::with_capacity(items.len());
            for item in items {
                let place = Place(format!("{file}:{}", line_of(text, item.span().start)));
                nodes.push(Node { value: node_value(file, text, &place, item.get_ref())?, place });
            }
            Value::List(nodes)
        }
        DeValue::Table(table) => table_value(file, text, table)?,
    })
}

fn line_of(text: &str, offset: usize) -> usize {
    text.as_bytes().iter().take(offset).filter(|byte| **byte == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_knows_its_line() {
        let document = parse("x.toml", "title = \"a\"\n\n[flow.bulk]\ntype = \"bulk_tcp\"\n").unwrap();
        let kind = document.get("flow").and_then(|flow| flow.get("bulk")).and_then(|bulk| bulk.get("type")).unwrap();
        assert_eq!(kind.place.0, "x.toml:4");
    }

    #[test]
    fn broken_toml_names_file_and_line() {
        let error = parse("x.toml", "title = \"a\"\nphases = {\n").unwrap_err();
        assert!(error.place.starts_with("x.toml:"), "{error}");
    }

    #[test]
    fn a_later_table_lays_over_an_earlier_one() {
        let mut base = parse("a.toml", "[flow.x]\na = 1\nb = 2\n").unwrap();
        base.merge(parse("b.toml", "[flow.x]\nb = 3\n").unwrap());
        let x = base.get("flow").and_then(|flow| flow.get("x")).unwrap();
        assert_eq!(x.get("a").unwrap().value, Value::Integer(1));
        assert_eq!(x.get("b").unwrap(), &Node { value: Value::Integer(3), place: Place("b.toml:2".into()) });
    }

    #[test]
    fn a_setting_is_toml_or_plain_text() {
        let (path, node) = parse_setting("flow.bulk.count=8").unwrap();
        assert_eq!((path.join("."), node.value), ("flow.bulk.count".to_owned(), Value::Integer(8)));
        assert_eq!(parse_setting("load=30s").unwrap().1.value, Value::Text("30s".into()));
        assert!(parse_setting("load").is_err());
        assert!(parse_setting("=5").is_err());
    }
}
