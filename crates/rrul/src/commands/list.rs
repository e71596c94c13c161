//! `rrul list`: what is available, one line each.

#[cfg(feature = "export")]
mod metrics;

use clap::ValueEnum;
use rrul_analysis::scores::SCORES;
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
        #[cfg(feature = "export")]
        ListChoice::Metrics => metrics::print(),
        ListChoice::Scores => {
            for word in SCORES {
                println!("{:<15} {} ({})", word.name, word.about, word.source);
            }
        }
    }
    Ok(())
}
