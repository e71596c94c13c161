//! Every number of the summary is defined, and the documents are made from the definitions.

#![allow(clippy::disallowed_methods, reason = "it reads and writes the documents")]

use std::collections::BTreeSet;

use rrul_analysis::comparison::Comparison;
use rrul_analysis::summary::Summary;
use rrul_analysis::summary::document::metrics_document;
use rrul_analysis::summary::schema::schema_of;
use rrul_analysis::summary::sections::sections;
use rrul_analysis::tuning::result::TuningResult;
use rrul_analysis::validity_rules::reason_words;

const DOCUMENTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/");

/// Compares a document with what the program makes of it, or writes it.
fn is_made(name: &str, made: &str) {
    let path = [DOCUMENTS, name].concat();
    if std::env::var_os("RRUL_GOLDEN").is_some_and(|value| value == "write") {
        std::fs::write(&path, made).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap();
    assert!(
        found == made,
        "docs/{name} differs from the types; write it again: RRUL_GOLDEN=write cargo test -p rrul-analysis document"
    );
}

#[test]
fn every_member_has_a_definition_and_no_title_stands_twice() {
    let sections = sections(&schema_of::<Summary>());
    assert!(sections.len() > 40, "{}", sections.len());
    let mut titles = BTreeSet::new();
    for section in &sections {
        assert!(titles.insert(&section.title), "two sections have the title {}", section.title);
        assert!(!section.about.is_empty(), "{} has no description", section.title);
        for row in &section.rows {
            assert!(!row.definition.is_empty(), "{}: {} has no definition", section.title, row.name);
        }
    }
    let linked = sections.iter().flat_map(|section| &section.rows).filter_map(|row| row.section.as_ref());
    linked.for_each(|title| assert!(titles.contains(title), "no section has the title {title}"));
}

#[test]
fn codes_of_reasons_are_unique() {
    let codes: Vec<_> = reason_words().map(|word| word.code).collect();
    assert_eq!(codes.iter().collect::<BTreeSet<_>>().len(), codes.len(), "{codes:?}");
}

#[test]
fn the_document_of_metrics_is_made_from_the_types() {
    let made = metrics_document();
    for line in made.lines().filter(|line| line.starts_with('|')) {
        let columns = line.matches('|').count() - 1;
        assert!(columns == 4 || columns == 3, "a bar within a cell: {line}");
    }
    let anchors: BTreeSet<String> = made.lines().filter_map(|line| line.strip_prefix("## ")).map(anchor).collect();
    let links = made.split("](#").skip(1).filter_map(|rest| rest.split_once(')')).map(|(link, _)| link);
    links.for_each(|link| assert!(anchors.contains(link), "no heading has the anchor #{link}"));
    is_made("metrics.md", &made);
}

/// The anchor that Markdown gives a heading.
fn anchor(title: &str) -> String {
    let letters = title.chars().filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter));
    letters.map(|letter| if letter == ' ' { '-' } else { letter.to_ascii_lowercase() }).collect()
}

#[test]
fn the_documents_of_the_schemas_are_made_from_the_types() {
    is_made("summary.schema.json", &format!("{:#}\n", schema_of::<Summary>()));
    is_made("comparison.schema.json", &format!("{:#}\n", schema_of::<Comparison>()));
    is_made("tuning.schema.json", &format!("{:#}\n", schema_of::<TuningResult>()));
}
