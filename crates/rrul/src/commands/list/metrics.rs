//! `rrul list metrics`.

use std::io::Read;

use flate2::read::GzDecoder;
use rrul_analysis::summary::sections::{Row, Section, sections};
use rrul_analysis::validity_rules::reason_words;

/// docs/summary.schema.json, compressed. What makes it from the types is over half a
/// megabyte of program, so the program has the file.
const SUMMARY_SCHEMA: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/summary.schema.json.gz"));

/// The sections of docs/metrics.md.
fn metrics() -> Vec<Section> {
    let mut schema = String::new();
    GzDecoder::new(SUMMARY_SCHEMA).read_to_string(&mut schema).expect("the build has compressed it");
    sections(&serde_json::from_str(&schema).expect("a test has compared it with the types"))
}

/// What docs/metrics.md says, without its running text.
pub(super) fn print() {
    for Section { title, places, rows, .. } in metrics() {
        let places = places.join(", ");
        println!("{title}{}{places}", if places.is_empty() { "" } else { ": " });
        for Row { name, definition, unit, section, .. } in rows {
            let unit = section.map_or(unit, |section| format!("see {section}"));
            println!(
                "  {name}{}\n      {definition}",
                if unit.is_empty() { String::new() } else { format!(" [{unit}]") }
            );
        }
    }
    println!("Reasons in validity.reasons[]");
    for word in reason_words() {
        println!("  {}\n      {}", word.code, word.when);
    }
}

#[cfg(test)]
mod tests {
    use rrul_analysis::summary::Summary;
    use rrul_analysis::summary::schema::schema_of;

    use super::*;

    #[test]
    fn metrics_are_those_of_the_types() {
        assert_eq!(metrics(), sections(&schema_of::<Summary>()));
    }
}
