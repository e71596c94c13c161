//! `rrul list`: what there is, one line each.

use rrul_engine::flow_types::FLOW_TYPES;
use rrul_view::charts::CHARTS;

use crate::Outcome;
use crate::arguments::ListChoice;
use crate::failure::Failure;
use crate::plan_book;

pub(crate) fn execute(what: Option<ListChoice>) -> Result<Outcome, Failure> {
    let choices = [ListChoice::Plans, ListChoice::Charts, ListChoice::Flows, ListChoice::Links];
    match what {
        Some(choice) => list(choice)?,
        None => {
            for (index, choice) in choices.into_iter().enumerate() {
                println!("{}{choice:?}", if index > 0 { "\n" } else { "" });
                list(choice)?;
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
        ListChoice::Charts => CHARTS.iter().for_each(|chart| println!("{:<12} {}", chart.name(), chart.about())),
        ListChoice::Flows => {
            for flow_type in FLOW_TYPES {
                let words = flow_type.words();
                println!("{:<12} {}", words.name, words.about);
                for parameter in words.parameters {
                    println!("{:12}   {:<20} {}", "", parameter.name, parameter.about);
                }
            }
        }
        ListChoice::Links => {
            for name in rrul_lab::link_names() {
                println!("{name:<22} {}", rrul_lab::Link::builtin(name)?.about);
            }
        }
    }
    Ok(())
}
