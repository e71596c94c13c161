//! What must hold of every score whatever a line does, and the vectors that others have published.

#![allow(clippy::float_cmp, reason = "what is exactly so is compared exactly")]

mod composite;
mod interoperable;
mod penalty;
mod verdict_text;
mod web;

use rrul_analysis::scores::SCORES;

#[test]
fn every_score_has_its_section_with_source_and_example() {
    let document = include_str!("../../../../docs/scores.md");
    for word in SCORES {
        let section = document.split("\n## ").find(|section| section.lines().next() == Some(word.name));
        let section = section.unwrap_or_else(|| panic!("docs/scores.md has no section \"{}\"", word.name));
        for part in ["*Source:*", "*Example"] {
            assert!(section.contains(part), "{}: {part}", word.name);
        }
    }
}
