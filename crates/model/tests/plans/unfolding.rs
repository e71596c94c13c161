//! Extending, setting and multiplying: from a plan to its flows.

use std::collections::HashSet;
use std::time::Duration;

use rrul_model::flow::{Direction, Parameter};
use rrul_model::marking::ServiceClass;

use crate::shelf::{ONE, TWO, of_type, plan, read_text, with_flow};

#[test]
fn a_plan_lays_over_the_one_that_it_extends() {
    let down = plan("tcp_ndown", &[]);
    assert_eq!(down.title, "Several TCP downloads");
    assert!(of_type(&down.flows(ONE), "bulk_tcp").iter().all(|flow| flow.direction == Some(Direction::Down)));
    let quick = plan("quick", &[]);
    assert_eq!(quick.usual_length(), Duration::from_secs(38));
    assert_eq!(quick.length(), Duration::from_secs(53), "where queues drain slowly");
    assert_eq!(quick.spec, "RRUL2013");
}

#[test]
fn settings_change_phases_short_names_and_full_keys() {
    let settings = ["load=30s", "streams=2", "interval=10ms", "flow.icmp.enabled=false", "sample_interval=50ms"];
    let changed = plan("rrul", &settings);
    assert_eq!(changed.usual_length(), Duration::from_secs(95));
    assert_eq!(changed.sample_interval, Duration::from_millis(50));
    let flows = changed.flows(ONE);
    assert_eq!(of_type(&flows, "bulk_tcp").len(), 16);
    assert!(of_type(&flows, "icmp_echo").is_empty());
    for probe in of_type(&flows, "udp_probe") {
        assert_eq!(probe.parameters.0["interval"], Parameter::Text("10ms".into()));
    }
    let one_class = plan("rrul", &["flow.bulk.each.class=EF", "congestion_control=reno"]).flows(ONE);
    let bulk = of_type(&one_class, "bulk_tcp");
    assert_eq!(bulk.len(), 2);
    assert!(
        bulk.iter()
            .all(|flow| flow.class == ServiceClass::EF && flow.parameters.text("congestion_control") == Some("reno"))
    );
    let two_classes = plan("rrul", &["flow.bulk.each.class=[\"BE\", \"EF\"]"]).flows(ONE);
    assert_eq!(of_type(&two_classes, "bulk_tcp").len(), 4);
}

#[test]
fn web_is_a_phase_by_its_length_and_the_pages_by_a_switch() {
    let without_pages = plan("rrul", &["web=false"]);
    assert!(of_type(&without_pages.flows(ONE), "web_page").is_empty());
    assert_eq!(without_pages.usual_length(), plan("rrul", &[]).usual_length());
    let without_phase = plan("rrul", &["web=0s"]);
    assert_eq!(without_phase.usual_length(), Duration::from_secs(100));
    assert!(
        without_phase.flows(ONE).iter().all(|flow| flow.flow_type != "bulk_tcp" || flow.window.to.seconds() <= 95.0)
    );
}

#[test]
fn later_settings_win() {
    assert_eq!(plan("ping", &["idle=20s", "idle=30s"]).length(), Duration::from_secs(30));
}

#[test]
fn lists_of_parameters_multiply_and_are_distinguished_by_name() {
    let text = with_flow("each.interval = [\"5ms\", \"20ms\"]\neach.length = [\"72B\", \"200B\", \"1kB\"]\n");
    let flows = read_text(&text, &[], &[]).unwrap().flows(ONE);
    assert_eq!(flows.len(), 6);
    assert_eq!(flows[0].name, "udp_probe/BE/ipv4/variant1");
    let names: HashSet<&str> = flows.iter().map(|flow| flow.name.as_str()).collect();
    assert_eq!(names.len(), 6);
}

#[test]
fn two_entries_of_the_same_shape_are_distinguished_by_their_label() {
    let more = "[flow.b]\ntype = \"udp_probe\"\ncomponent = \"realtime\"\n";
    let flows = read_text(&with_flow(more), &[], &[]).unwrap().flows(ONE);
    let names: Vec<&str> = flows.iter().map(|flow| flow.name.as_str()).collect();
    assert_eq!(names, ["udp_probe/BE/ipv4", "udp_probe/BE/ipv4@b"]);
}

#[test]
fn start_and_duration_place_a_flow_within_its_phases() {
    let flows = read_text(&with_flow("start = \"2s\"\nduration = \"3s\"\n"), &[], &[]).unwrap().flows(ONE);
    assert_eq!((flows[0].window.from.seconds(), flows[0].window.to.seconds()), (2.0, 5.0));
    let flows = read_text(&with_flow("start = \"9s\"\nduration = \"3s\"\n"), &[], &[]).unwrap().flows(ONE);
    assert_eq!(flows[0].window.to.nanoseconds(), 10_000_000_000, "a flow ends with its last phase at the latest");
    assert!(read_text(&with_flow("start = \"10s\"\n"), &[], &[]).unwrap().flows(ONE).is_empty());
}

#[test]
fn a_flow_of_one_family_is_left_out_where_that_family_is_absent() {
    let flows = read_text(&with_flow("family = \"ipv6\"\n"), &[], &[]).unwrap();
    assert!(flows.flows(ONE).is_empty());
    assert_eq!(flows.flows(TWO).len(), 1);
}

#[test]
fn an_entry_that_needs_a_parameter_stands_by_until_it_is_set() {
    let flows = |more: &str, settings: &[&str]| {
        let text = with_flow("each.family = [\"ipv4\"]\n")
            + "[flow.b]\ntype = \"udp_probe\"\ncomponent = \"realtime\"\n"
            + more;
        read_text(&text, &[], settings).map(|plan| plan.flows(ONE).len())
    };
    let standing_by = "needs = \"length\"\nclass = \"EF\"\n";
    assert_eq!(flows(standing_by, &[]).unwrap(), 1);
    assert_eq!(flows(standing_by, &["flow.b.length=92B"]).unwrap(), 2);
    assert_eq!(flows(&format!("{standing_by}each.length = [\"92B\", \"200B\"]\n"), &[]).unwrap(), 3);
    assert!(flows("needs = \"length\"\nclass = \"EE\"\n", &[]).is_err(), "its mistakes are reported all the same");
}
