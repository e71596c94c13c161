//! `rrul list`: what is available, one line each.

use std::io::Read;

use clap::ValueEnum;
use flate2::read::GzDecoder;
use rrul_analysis::scores::SCORES;
use rrul_analysis::summary::sections::{Row, Section, sections};
use rrul_analysis::validity_rules::reason_words;
use rrul_engine::vocabulary;
use rrul_model::link_layer::LinkLayer;
#[cfg(feature = "charts")]
use rrul_view::charts::CHARTS;

use crate::arguments::ListChoice;
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::plan_book;

pub(crate) fn execute(what: Option<ListChoice>) -> Result<Outcome, Failure> {
    match what {
        Some(choice) => list(choice)?,
        None => {
            for (index, choice) in ListChoice::value_variants().iter().enumerate() {
                println!("{}{choice:?}", if index > 0 { "\n" } else { "" });
                list(*choice)?;
            }
        }
    }
    Ok(Outcome::Good)
}

fn list(choice: ListChoice) -> Result<(), Failure> {
    match choice {
        ListChoice::Plans => {
            for name in plan_book::names() {
                println!("{name:<12} {}", plan_book::plan(name, &[])?.title);
            }
        }
        #[cfg(feature = "charts")]
        ListChoice::Charts => CHARTS.iter().for_each(|chart| println!("{:<19} {}", chart.name, chart.about)),
        ListChoice::Flows => {
            for words in vocabulary() {
                println!("{:<12} {}", words.name, words.about);
                for parameter in words.parameters {
                    println!("{:12}   {:<20} {}", "", parameter.name, parameter.about);
                }
            }
        }
        ListChoice::LinkLayers => {
            LinkLayer::words().for_each(|(word, about)| println!("{word:<22} {about}"));
        }
        #[cfg(feature = "lab")]
        ListChoice::Links => {
            for name in rrul_lab::link_names() {
                println!("{name:<22} {}", rrul_lab::Link::builtin(name)?.about);
            }
        }
        ListChoice::Metrics => list_metrics(),
        ListChoice::Scores => {
            for word in SCORES {
                println!("{:<15} {} ({})", word.name, word.about, word.source);
            }
        }
    }
    Ok(())
}

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
fn list_metrics() {
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
