//! Every number of the summary with its definition, in sections: what docs/metrics.md and `rrul list metrics` print.
//!
//! A type that has a title is a section of its own. The members of other types are rows of the section that contains them.

use serde_json::Value;

use crate::summary::definition::Definition;

/// What one type with a title contains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    pub title: String,
    /// Where it occurs in the JSON; empty for the whole.
    pub places: Vec<String>,
    /// What its numbers have in common, in Markdown: estimator, conditions, pitfalls, error.
    pub about: String,
    pub rows: Vec<Row>,
}

/// One member of the summary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Its name below the section, such as `flows[].mean_bps`.
    pub name: String,
    /// What it is, how it is computed, and when it is null.
    pub definition: String,
    /// The unit; empty for names, codes and members that contain others.
    pub unit: String,
    /// The title of the section that lists its members, if it has a section.
    pub section: Option<String>,
    /// The section of the specification, RFC or paper that defines it; empty if it is ours.
    pub source: String,
}

/// Returns all sections of the summary's schema, each followed by those that it is the first to refer to.
pub fn sections(schema: &Value) -> Vec<Section> {
    let mut walk = Walk { root: schema, sections: Vec::new() };
    walk.enter(schema, "");
    walk.sections.into_iter().map(Section::from).collect()
}

/// A section while its places are being found.
struct Found<'a> {
    schema: &'a Value,
    places: Vec<String>,
    rows: Vec<Row>,
}

impl From<Found<'_>> for Section {
    fn from(found: Found<'_>) -> Self {
        Self {
            title: text(found.schema, "title").to_owned(),
            places: folded(found.places),
            about: text(found.schema, "description").to_owned(),
            rows: found.rows,
        }
    }
}

struct Walk<'a> {
    root: &'a Value,
    sections: Vec<Found<'a>>,
}

impl<'a> Walk<'a> {
    /// Adds the section of a type with a title that occurs at `place`, and those of the types below it.
    fn enter(&mut self, schema: &'a Value, place: &str) {
        if let Some(known) = self.sections.iter_mut().find(|found| std::ptr::eq(found.schema, schema)) {
            known.places.push(place.to_owned());
            // Its members occur at further places as well.
            self.members(schema, place, "", None);
            return;
        }
        let index = self.sections.len();
        self.sections.push(Found { schema, places: vec![place.to_owned()], rows: Vec::new() });
        self.members(schema, place, "", Some(index));
    }

    /// Adds the members of a type, below `prefix` in a section that occurs at `place`, to the rows of that section.
    fn members(&mut self, schema: &'a Value, place: &str, prefix: &str, section: Option<usize>) {
        let members: Vec<(&str, &Value, Inner<'_>)> =
            ordered(schema).map(|(name, member)| (name, member, self.inner(member))).collect();
        // Members of one type side by side, such as one a direction, are explained together.
        for alike in members.chunk_by(|(_, _, one), (_, _, other)| one.is_alike(other)) {
            let mut names = Vec::new();
            for (name, member, inner) in alike {
                let name = [*name, inner.suffix.as_str()].concat();
                let row_name = format!("{prefix}{name}");
                if let Some(section) = section {
                    self.sections[section].rows.push(row(&row_name, member, inner));
                }
                if inner.title().is_some() {
                    self.enter(inner.schema, &joined(place, &row_name));
                }
                names.push(name);
            }
            if let Some((_, _, inner)) = alike.first().filter(|(_, _, inner)| inner.title().is_none()) {
                let name =
                    if let [name] = names.as_slice() { name.clone() } else { format!("{{{}}}", names.join(",")) };
                self.members(inner.schema, place, &format!("{prefix}{name}."), section);
            }
        }
    }

    /// Returns the type of a member that is neither null nor empty.
    fn inner(&self, mut member: &'a Value) -> Inner<'a> {
        let mut suffix = String::new();
        loop {
            if let Some(reference) = member.get("$ref").and_then(Value::as_str) {
                member = self.root.pointer(reference.trim_start_matches('#')).unwrap_or(&Value::Null);
            } else if let Some(choices) = member.get("anyOf").and_then(Value::as_array) {
                let null = |choice: &&Value| choice.get("type") == Some(&Value::from("null"));
                member = choices.iter().find(|choice| !null(choice)).unwrap_or(&Value::Null);
            } else if let Some(items) = member.get("items") {
                suffix += "[]";
                member = items;
            } else {
                return Inner { suffix, schema: member };
            }
        }
    }
}

/// The type of a member behind references, null and lists.
struct Inner<'a> {
    /// `[]` for each list.
    suffix: String,
    schema: &'a Value,
}

impl Inner<'_> {
    fn title(&self) -> Option<&str> {
        Some(text(self.schema, "title")).filter(|title| !title.is_empty())
    }

    /// Whether both are of one type that has members and no section.
    fn is_alike(&self, other: &Self) -> bool {
        std::ptr::eq(self.schema, other.schema) && self.title().is_none() && self.schema.get("properties").is_some()
    }
}

/// The place of a member below another; the whole has no name.
fn joined(place: &str, name: &str) -> String {
    if place.is_empty() { name.to_owned() } else { format!("{place}.{name}") }
}

/// The members of an object in the order in which they are printed.
fn ordered(schema: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let properties = schema.get("properties").and_then(Value::as_object);
    let names = schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    names.filter_map(move |name| Some((name, properties?.get(name)?)))
}

fn text<'a>(schema: &'a Value, keyword: &str) -> &'a str {
    schema.get(keyword).and_then(Value::as_str).unwrap_or_default()
}

fn row(name: &str, member: &Value, inner: &Inner<'_>) -> Row {
    let Definition { text, unit, source } = Definition::parse(text(member, "description"));
    let mut definition = text.replace('\n', " ").replace("  ", " ");
    let choices: Vec<String> = choices(inner.schema).collect();
    if !choices.is_empty() {
        definition = format!("{definition} {}.", choices.join("; "));
    }
    Row {
        name: name.to_owned(),
        definition,
        unit: unit.or_else(|| unit_of(name)).unwrap_or_default().to_owned(),
        section: inner.title().map(str::to_owned),
        source: source.to_owned(),
    }
}

/// The values of an enumeration, each with what it means.
fn choices(schema: &Value) -> impl Iterator<Item = String> {
    let described = |choice: &Value| {
        let (value, meaning) = (text(choice, "const"), text(choice, "description").trim_end_matches('.'));
        if meaning.eq_ignore_ascii_case(value) {
            return format!("`{value}`");
        }
        let mut letters = meaning.chars();
        match (letters.next(), letters.next()) {
            (Some(first), Some(second)) if second.is_lowercase() => {
                format!("`{value}`: {}{}", first.to_lowercase(), &meaning[first.len_utf8()..])
            }
            _ => format!("`{value}`: {meaning}"),
        }
    };
    schema.get("oneOf").and_then(Value::as_array).into_iter().flatten().map(described)
}

/// The unit that the name of a member ends in.
fn unit_of(name: &str) -> Option<&'static str> {
    let units = [("_ns", "ns"), ("_bps", "bit/s"), ("_ppm", "ppm"), ("octets", "bytes")];
    units.iter().find(|(suffix, _)| name.ends_with(suffix)).map(|(_, unit)| *unit)
}

/// Writes names that differ in one part only as one: `down.octets` and `up.octets` are `{down,up}.octets`.
fn folded(mut places: Vec<String>) -> Vec<String> {
    let parts = places.iter().map(|place| place.split('.').count()).max().unwrap_or(0);
    for part in 0..parts {
        let mut groups: Vec<(Vec<String>, Vec<String>)> = Vec::new();
        for place in &places {
            let mut split: Vec<String> = place.split('.').map(str::to_owned).collect();
            let own = split.get_mut(part).map(std::mem::take).unwrap_or_default();
            match groups.iter_mut().find(|(others, _)| *others == split) {
                Some((_, choices)) => choices.push(own),
                None => groups.push((split, vec![own])),
            }
        }
        places = groups
            .into_iter()
            .map(|(mut split, choices)| {
                if let Some(place) = split.get_mut(part) {
                    *place = if choices.len() == 1 { choices.concat() } else { format!("{{{}}}", choices.join(",")) };
                }
                split.join(".")
            })
            .collect();
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_that_differ_in_one_part_are_one() {
        let places = |names: &[&str]| folded(names.iter().map(|name| (*name).to_owned()).collect());
        assert_eq!(places(&["a.down.x", "a.up.x"]), ["a.{down,up}.x"]);
        assert_eq!(places(&["a.down.x", "a.down.y", "a.up.x", "a.up.y", "b"]), ["a.{down,up}.{x,y}", "b"]);
    }
}
