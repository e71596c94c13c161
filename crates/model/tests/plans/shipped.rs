//! The plans of plans/: what they unfold into.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::time::Duration;

use rrul_model::flow::{Direction, FlowSpec};
use rrul_model::marking::ServiceClass;
use rrul_model::phase::Phase;
use rrul_model::time::TestTime;

use crate::shelf::{ONE, TWO, of_type, plan, read_shipped, read_text, shipped, with_flow};

#[test]
fn every_shipped_plan_reads_and_unfolds_into_flows_of_unique_names() {
    let shelf = shipped();
    assert!(shelf.len() >= 10, "only these plans were found: {:?}", shelf.keys());
    for name in shelf.keys() {
        let plan = plan(name, &[]);
        for families in [ONE, TWO] {
            let flows = plan.flows(families);
            let names: HashSet<&str> = flows.iter().map(|flow| flow.name.as_str()).collect();
            assert_eq!(names.len(), flows.len(), "{name}: flow names repeat");
            for (index, flow) in flows.iter().enumerate() {
                assert_eq!(usize::from(flow.id.0), index, "{name}: {} has the wrong number", flow.name);
            }
        }
    }
}

#[test]
fn every_shipped_plan_says_first_which_question_it_answers() {
    for (name, (file, text)) in shipped() {
        let first = text.lines().next().unwrap_or_default();
        assert!(first.starts_with("# ") && first.ends_with('?'), "{file}:1: {name} opens with {first:?}, no question");
    }
}

#[test]
fn every_shipped_plan_measures_delay_in_all_its_phases() {
    for name in shipped().keys() {
        let plan = plan(name, &[]);
        let flows = plan.flows(ONE);
        let probes = of_type(&flows, "udp_probe");
        let end = TestTime::ZERO + plan.length();
        assert!(
            probes.iter().any(|probe| probe.window.from == TestTime::ZERO && probe.window.to == end),
            "{name}: no udp_probe runs through the whole test"
        );
    }
}

#[test]
fn every_short_name_of_a_shipped_plan_can_be_set() {
    let samples = ["2", "50ms", "reno", "5Mbit/s", "false", "one", "http://a/", "rrul2013"];
    for (name, (_, text)) in shipped() {
        let Some(section) = text.split("[parameters]").nth(1) else { continue };
        let short_names = section.lines().take_while(|line| !line.starts_with('[')).filter_map(|line| {
            let (short, _) = line.split_once(" = ")?;
            Some(short.to_owned())
        });
        for short in short_names {
            let settable = samples.iter().any(|sample| read_shipped(&name, &[&format!("{short}={sample}")]).is_ok());
            assert!(settable, "{name}: --set {short}=... takes none of {samples:?}");
        }
    }
}

#[test]
fn shipped_plans_unfold_into_these_numbers_of_flows() {
    // name, then with one and with two families: bulk_tcp streams, all flows
    let truth = [
        ("rrul", (8, 65), (16, 130)),
        ("rrul_be", (8, 65), (16, 130)),
        ("quick", (8, 61), (16, 122)),
        ("rrul2013", (8, 59), (8, 110)),
        ("simple", (2, 4), (4, 8)),
        ("tcp_up", (1, 2), (2, 4)),
        ("tcp_down", (1, 2), (2, 4)),
        ("tcp_nup", (4, 5), (8, 10)),
        ("tcp_ndown", (4, 5), (8, 10)),
        ("ping", (0, 4), (0, 8)),
        ("voip", (8, 15), (8, 22)),
        ("web", (8, 15), (16, 28)),
        ("path", (8, 13), (8, 18)),
        ("household", (2, 8), (4, 16)),
        ("tune", (8, 11), (8, 14)),
    ];
    for (name, one, two) in truth {
        let plan = plan(name, &[]);
        for (families, expected) in [(ONE, one), (TWO, two)] {
            let flows = plan.flows(families);
            let found = (of_type(&flows, "bulk_tcp").len(), flows.len());
            assert_eq!(found, expected, "{name} with {families:?}: (bulk streams, flows)");
        }
    }
    let named: HashSet<&str> = truth.iter().map(|row| row.0).collect();
    for name in shipped().keys() {
        assert!(named.contains(name.as_str()), "plans/{name}.toml is not in this table; add what it unfolds into");
    }
}

#[test]
fn rrul_loads_each_direction_with_one_stream_of_each_class_and_family() {
    let flows = plan("rrul", &[]).flows(TWO);
    for family in TWO {
        for direction in Direction::ALL {
            let classes: Vec<ServiceClass> = of_type(&flows, "bulk_tcp")
                .iter()
                .filter(|flow| flow.family == *family && flow.direction == Some(direction))
                .map(|flow| flow.class)
                .collect();
            assert_eq!(classes, [ServiceClass::BE, ServiceClass::BK, ServiceClass::CS5, ServiceClass::EF]);
        }
    }
    assert!(flows.iter().any(|flow| flow.name == "bulk_tcp/BE/down/ipv4"));
    assert!(flows.iter().any(|flow| flow.name == "udp_probe/EF/ipv6"));
}

#[test]
fn rrul_is_a_survey_five_idle_sixty_of_load_then_pages_and_up_to_twenty_after() {
    let plan = plan("rrul", &[]);
    let lengths: Vec<(Phase, u64)> =
        plan.phase_windows().iter().map(|entry| (entry.phase, entry.window.length().as_secs())).collect();
    assert_eq!(
        lengths,
        [(Phase::Survey, 30), (Phase::Idle, 5), (Phase::Load, 60), (Phase::Web, 25), (Phase::After, 20)]
    );
    assert_eq!(plan.usual_length().as_secs(), 125);
    for flow in plan.flows(ONE) {
        let expected = match flow.flow_type.as_str() {
            "bulk_tcp" => (35.0, 120.0),
            // Nothing else runs beside the load that is scored, and nothing but probes and traces after it.
            "udp_rr" | "tcp_rr" | "voip" | "tcp_records" => (30.0, 95.0),
            "tcp_connect" => (30.0, 120.0),
            _ if flow.name.ends_with("_load") => (95.0, 120.0),
            "marking_sweep" => (0.0, 30.0),
            // One after the other, so that neither measures the other on the idle line.
            "dns_lookup" | "short_flow" => (0.0, 8.0),
            "web_page" => (8.0, 29.0),
            _ => (0.0, 140.0),
        };
        assert_eq!((flow.window.from.seconds(), flow.window.to.seconds()), expected, "{}", flow.name);
    }
}

#[test]
fn voice_runs_in_three_classes_in_both_directions_in_each_family() {
    for (name, classes) in
        [("rrul", ["EF", "BE", "BK"]), ("rrul2013", ["EF", "BK", "BE"]), ("voip", ["EF", "BE", "BK"])]
    {
        let flows = plan(name, &[]).flows(TWO);
        for (family, direction) in TWO.iter().flat_map(|family| Direction::ALL.map(|direction| (family, direction))) {
            let ours = of_type(&flows, "voip");
            let ours = ours.iter().filter(|flow| flow.family == *family && flow.direction == Some(direction));
            let found: Vec<String> = ours.map(|flow| flow.class.to_string()).collect();
            assert_eq!(found, classes, "{name}: {family} {direction}");
        }
    }
}

#[test]
fn the_script_starts_best_effort_a_second_after_background_and_ends_both_together() {
    let plan = plan("rrul2013", &[]);
    for families in [ONE, TWO] {
        let flows = plan.flows(families);
        let bulk = of_type(&flows, "bulk_tcp");
        assert_eq!(bulk.len(), 8, "the script runs eight streams with one family as with two");
        for flow in bulk {
            let start = if flow.class == ServiceClass::BK { 35.0 } else { 36.0 };
            assert_eq!((flow.window.from.seconds(), flow.window.to.seconds()), (start, 120.0), "{}", flow.name);
        }
    }
    assert!(plan.flows(ONE).iter().any(|flow| flow.name == "bulk_tcp/BK/up/ipv4#2"));
    assert!(plan.flows(TWO).iter().any(|flow| flow.name == "bulk_tcp/BK/up/ipv6"));
}

#[test]
fn rrul_be_marks_no_load() {
    let flows = plan("rrul_be", &[]).flows(ONE);
    assert!(of_type(&flows, "bulk_tcp").iter().all(|flow| flow.class == ServiceClass::BE));
}

/// The keys that a complaint about an unknown one names.
fn known_keys(text: &str) -> Vec<String> {
    let said = read_text(text, &[], &[]).unwrap_err().to_string();
    let (_, known) = said.split_once("unknown key; known: ").unwrap_or_else(|| panic!("{said}"));
    known.split(", ").map(str::to_owned).collect()
}

#[test]
fn the_document_explains_every_key_and_its_example_reads() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/plans.md");
    let document = fs::read_to_string(path).unwrap();
    let top = known_keys("unheard_of = 1\n");
    let of_a_flow = known_keys(&with_flow("unheard_of = 1\n"));
    assert!(top.len() >= 7 && of_a_flow.len() >= 12, "{top:?} {of_a_flow:?}");
    for key in top.iter().chain(&of_a_flow) {
        assert!(document.contains(&format!("`{key}`")), "docs/plans.md does not explain {key}");
    }
    let examples: Vec<&str> = document.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(!examples.is_empty(), "docs/plans.md has no example");
    for example in examples {
        read_text(example, &[], &[]).unwrap_or_else(|error| panic!("docs/plans.md: {error}\n{example}"));
    }
}

/// A mean of fewer loads than five has no interval worth telling (the specification asks for one); quick does without.
#[test]
fn pages_have_their_turns_in_each_family_on_the_idle_line() {
    for (name, pages, sites) in [("rrul", 5, 3), ("rrul2013", 5, 3), ("quick", 2, 1)] {
        let flows = plan(name, &["site=https://example.com/"]).flows(TWO);
        for (kind, least) in [("web_page", pages), ("browser_page", sites)] {
            let idle: Vec<_> = of_type(&flows, kind).into_iter().filter(|flow| !flow.name.ends_with("_load")).collect();
            assert_eq!(idle.len(), 2, "{name}: {kind}");
            for flow in &idle {
                let round = flow.parameters.duration("interval", Duration::ZERO) * 2;
                // The second family's first turn is two intervals after the beginning of the window.
                let turns = (flow.window.length().saturating_sub(round)).as_secs_f64() / round.as_secs_f64();
                assert!(turns.floor() + 1.0 >= f64::from(least), "{name}: {turns} turns of {}", flow.name);
            }
        }
    }
}

#[test]
fn lookups_and_short_flows_run_idle_and_again_under_load() {
    for name in ["rrul", "rrul2013", "quick"] {
        let flows = plan(name, &[]).flows(TWO);
        for kind in ["dns_lookup", "short_flow"] {
            let of_type = of_type(&flows, kind);
            let (loaded, idle): (Vec<&FlowSpec>, Vec<&FlowSpec>) =
                of_type.into_iter().partition(|flow| flow.name.ends_with("_load"));
            assert!(!idle.is_empty() && idle.len() == loaded.len(), "{name}: {kind}");
            for one in idle {
                let twins = loaded.iter().filter(|other| {
                    (other.direction, other.family, other.class) == (one.direction, one.family, one.class)
                        && other.parameters == one.parameters
                });
                assert_eq!(twins.count(), 1, "{name}: {} under load", one.name);
            }
        }
        let none = plan(name, &["dns=false", "short=false"]).flows(TWO);
        assert!(["dns_lookup", "short_flow"].into_iter().all(|kind| of_type(&none, kind).is_empty()));
    }
}
