//! JSON Schemas, made from types and their doc comments: docs/summary.schema.json and docs/comparison.schema.json.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

use crate::summary::definition::Definition;

/// Returns the schema of a value that is printed as JSON.
pub fn schema_of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    complete(&mut schema);
    schema
}

/// Adds to a schema, and to all within it, what the derived one lacks: objects have no other members, numbers have the
/// range of their unit, and running text has no line breaks but those between paragraphs.
fn complete(node: &mut Value) {
    match node {
        Value::Object(members) => {
            members.remove("format");
            if members.contains_key("properties") {
                members.insert("additionalProperties".to_owned(), false.into());
            }
            if let Some(Value::String(text)) = members.get("description") {
                let text = unwrapped(text);
                let (least, most) = Definition::parse(&text).range();
                limit(members, "minimum", least);
                limit(members, "maximum", most);
                members.insert("description".to_owned(), text.into());
            }
            // The names of members are no keywords.
            for (keyword, inner) in members.iter_mut() {
                match (keyword.as_str(), inner) {
                    ("properties" | "$defs", Value::Object(named)) => named.values_mut().for_each(complete),
                    (_, inner) => complete(inner),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(complete),
        _ => {}
    }
}

/// Sets an end of the range of a number, or of the numbers in a list.
fn limit(schema: &mut Map<String, Value>, keyword: &str, end: Option<f64>) {
    let Some(end) = end else { return };
    if let Some(Value::Object(items)) = schema.get_mut("items") {
        return limit(items, keyword, Some(end));
    }
    let whole = end.fract() == 0.0;
    schema.insert(keyword.to_owned(), if whole { (end as i64).into() } else { end.into() });
}

/// Joins the lines of each paragraph and of each item of a list.
fn unwrapped(text: &str) -> String {
    let joined = |paragraph: &str| {
        paragraph.lines().map(str::trim).fold(String::new(), |mut found, line| {
            if !found.is_empty() {
                found.push(if line.starts_with("* ") { '\n' } else { ' ' });
            }
            found + line
        })
    };
    text.split("\n\n").map(joined).collect::<Vec<_>>().join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_joined_and_paragraphs_and_lists_stay_apart() {
        assert_eq!(unwrapped("One\ntwo.\n\nThree\nfour:\n* a\n  b\n* c"), "One two.\n\nThree four:\n* a b\n* c");
    }
}
