//! When a recording deserves trust.

use rrul_analysis::Analysis;
use rrul_analysis::validity::{Reason, Severity, Verdict};
use rrul_model::flow::{AddressFamily, Component, Direction, Parameter};
use rrul_model::marking::ServiceClass;
use rrul_model::observation::{CpuTime, FlowEventKind, ProbeSent, ProbesSkipped, ProcessTime};
use rrul_model::recording::{AbsentFamily, End, FORMAT, FORMER_FORMAT};
use rrul_model::time::TestTime;
use rrul_model::units::Delay;

use crate::builder::{Client, MS, SECOND, Scenario, Server};

/// Asserts verdict and the one code, and that the documentation knows the code. Gives the text.
#[track_caller]
fn says(analysis: &Analysis, verdict: Verdict, code: &str) -> String {
    let reasons = &analysis.validity.reasons;
    assert_eq!(analysis.validity.verdict, verdict, "{reasons:?}");
    let documented = include_str!("../../../../docs/metrics.md");
    assert!(documented.contains(&format!("`{code}`")), "docs/metrics.md does not explain {code}");
    for reason in reasons {
        let sentences = 1 + usize::from(!reason.detail().is_empty());
        assert!(reason.text.ends_with('.') && reason.text.matches(". ").count() < sentences, "{}", reason.text);
        assert!(reason.headline().len() <= 120, "a headline of {}: {}", reason.headline().len(), reason.text);
    }
    reasons.iter().find(|reason| reason.code == code).unwrap_or_else(|| panic!("no {code} in {reasons:?}")).text.clone()
}

#[test]
fn a_headline_ends_at_the_first_sentence_and_not_within_a_figure() {
    let reason = |text: &str| Reason { code: "partial", severity: Severity::Doubt, text: text.to_owned() };
    let two = reason("Test packets left late: P99 2.1 ms (limit 2.0 ms). Stop other programs.");
    assert_eq!(two.headline(), "Test packets left late: P99 2.1 ms (limit 2.0 ms).");
    assert_eq!(two.detail(), "Stop other programs.");
    let one = reason("a.b. failed: connection refused.");
    assert_eq!((one.headline(), one.detail()), ("a.b. failed: connection refused.", ""));
}

#[test]
fn a_complete_run_on_idle_hosts_is_valid_without_a_word() {
    let validity = Scenario::healthy().analyze().validity;
    assert_eq!((validity.verdict, validity.reasons), (Verdict::Valid, vec![]));
}

#[test]
fn an_interrupted_run_is_doubtful() {
    let mut scenario = Scenario::healthy();
    scenario.recording.end =
        Some(End { at: TestTime(18 * SECOND), partial: Some("interrupted".to_owned()), ..End::default() });
    assert!(says(&scenario.analyze(), Verdict::Doubtful, "partial").contains("interrupted"));
    scenario.recording.end = None;
    assert!(says(&scenario.analyze(), Verdict::Doubtful, "partial").contains("cut off"));
}

#[test]
fn a_failed_flow_is_named_and_makes_the_run_doubtful() {
    let mut scenario = Scenario::healthy();
    let flow = scenario.recording.header.flows[2].id;
    scenario.event(Client, flow, 9 * SECOND, FlowEventKind::Failed, "connection reset by the server");
    let analysis = scenario.analyze();
    let text = says(&analysis, Verdict::Doubtful, "flow_failed");
    assert!(text.contains("bulk_tcp/BE/ipv4#2") && text.contains("connection reset"), "{text}");
    assert_eq!(analysis.failed_flows.len(), 1);
}

#[test]
fn icmp_echo_that_never_began_is_reported_and_no_doubt_and_one_that_broke_down_is() {
    let mut scenario = Scenario::healthy();
    let flow = scenario.flow("icmp_echo", Component::Realtime, None, AddressFamily::Ipv4, Scenario::ALL);
    scenario.event(Client, flow, 0, FlowEventKind::Failed, "permission denied");
    let analysis = scenario.analyze();
    let text = says(&analysis, Verdict::Valid, "flow_absent");
    assert!(text.contains("icmp_echo") && text.contains("permission denied"), "{text}");
    assert!(analysis.failed_flows.is_empty() && analysis.absent_flows.len() == 1);
    scenario.sent(flow, 0, 10 * MS);
    says(&scenario.analyze(), Verdict::Doubtful, "flow_failed");
}

#[test]
fn an_absent_family_is_reported_and_no_doubt() {
    let mut scenario = Scenario::healthy();
    let reason = "the server has no address of that family".to_owned();
    scenario.recording.header.absent_families.push(AbsentFamily { family: AddressFamily::Ipv6, reason });
    assert!(says(&scenario.analyze(), Verdict::Valid, "family_absent").starts_with("IPv6 was not tested: "));
}

#[test]
fn a_full_core_is_doubtful_in_1_of_10_seconds_and_invalid_in_2() {
    for (point, name) in [(Client, "client"), (Server, "server")] {
        let mut scenario = Scenario::healthy();
        scenario.processor(point, |second| if second == 7 { (99, 0) } else { (20, 0) });
        assert!(says(&scenario.analyze(), Verdict::Doubtful, "processor_saturated").contains(name));
        scenario.processor(point, |second| if (7..9).contains(&second) { (99, 0) } else { (20, 0) });
        says(&scenario.analyze(), Verdict::Invalid, "processor_saturated");
        scenario.processor(point, |second| if (7..9).contains(&second) { (95, 0) } else { (20, 0) });
        assert_eq!(scenario.analyze().validity.verdict, Verdict::Valid, "95 % is not over 95 %");
    }
}

#[test]
fn a_core_that_is_full_of_something_else_is_no_matter_while_another_has_room() {
    let with = |seconds_of_ours: i64, in_interrupts: bool| {
        let mut scenario = Scenario::healthy();
        scenario.processor(Client, |_| (100, 0));
        for second in 0..=20 {
            let at = TestTime(second * SECOND);
            let user = Delay(second * seconds_of_ours * MS);
            scenario.observe(Client, at.0, ProcessTime { at, user, system: Delay(0) });
        }
        for frame in scenario.recording.frames.iter_mut().filter(|frame| in_interrupts && frame.point == Client) {
            let rows: Vec<_> = frame.tables.cpu_time.rows().collect();
            frame.tables.cpu_time = rrul_model::observation::CpuTimeTable::default();
            for row in rows {
                let softirq = row.user / 10;
                frame.tables.cpu_time.push(CpuTime { user: row.user - softirq, softirq, ..row });
            }
        }
        scenario.recording.header.client.cores = 2;
        scenario.recording
    };
    let analyze = rrul_analysis::analyze;
    let beside = analyze(&with(100, false));
    assert_eq!(beside.validity.verdict, Verdict::Valid, "{:?}", beside.validity);
    assert!(beside.processor[0].busiest_core > 0.99 && beside.processor[0].saturated == 0.0);
    says(&analyze(&with(600, false)), Verdict::Invalid, "processor_saturated");
    says(&analyze(&with(100, true)), Verdict::Invalid, "processor_saturated");
    // Of the two cores rrul may use one, and nothing shows which.
    let mut pinned = with(100, false);
    pinned.header.client.cores = 1;
    says(&analyze(&pinned), Verdict::Invalid, "processor_saturated");
}

#[test]
fn a_hypervisor_that_takes_time_is_distinguished_from_a_busy_host() {
    let mut scenario = Scenario::healthy();
    scenario.processor(Server, |second| if second == 7 { (20, 6) } else { (20, 5) });
    says(&scenario.analyze(), Verdict::Doubtful, "processor_stolen");
    scenario.processor(Server, |_| (20, 6));
    says(&scenario.analyze(), Verdict::Invalid, "processor_stolen");
}

#[test]
fn a_host_whose_processor_load_was_not_recorded_is_reported() {
    let mut scenario = Scenario::healthy();
    for frame in &mut scenario.recording.frames {
        frame.tables.cpu_time = rrul_model::observation::CpuTimeTable::default();
    }
    says(&scenario.analyze(), Verdict::Valid, "processor_unknown");
}

#[test]
fn late_sending_is_a_doubt_and_never_worse_because_delay_is_measured_from_the_actual_sending() {
    let late_of = |packets: u32, late: i64, every: u32| {
        let mut scenario = Scenario::healthy();
        let flow = scenario.udp_probe(AddressFamily::Ipv4);
        for sequence in 0..packets {
            let scheduled = TestTime(10 * MS + i64::from(sequence) * 20_000 * MS / i64::from(packets));
            let sent = TestTime(scheduled.0 + if sequence % every == 0 { late } else { 0 });
            scenario.observe(Client, scheduled.0, ProbeSent { flow, sequence, scheduled, sent });
            scenario.received(flow, sequence, sent.0, 20 * MS);
        }
        scenario.analyze()
    };
    let late = |late: i64, every: u32| late_of(1000, late, every);
    says(&late(500 * MS, 10), Verdict::Doubtful, "send_late");
    says(&late_of(3000, 11 * MS, 200), Verdict::Doubtful, "send_late");
    // One late packet in 1000 says nothing about the 99.9th percentile.
    assert!(late(11 * MS, 200).validity.reasons.is_empty());
    says(&late(1_500_000, 10), Verdict::Valid, "send_late");
    assert!(late(900_000, 10).validity.reasons.is_empty());
}

#[test]
fn streams_that_were_sent_with_another_congestion_control_are_one_doubt() {
    let analyze = |details: &[(Direction, &str)], asked: Option<&str>| {
        let mut scenario = Scenario::healthy();
        for (direction, detail) in details {
            let flow = scenario.bulk(*direction);
            if let Some(asked) = asked {
                let parameters = &mut scenario.recording.header.flows.last_mut().unwrap().parameters.0;
                parameters.insert("congestion_control".to_owned(), Parameter::Text(asked.to_owned()));
            }
            let (sender, receiver) = if *direction == Direction::Up { (Client, Server) } else { (Server, Client) };
            scenario.event(sender, flow, 0, FlowEventKind::CongestionControl, detail);
            // What the receiver uses sends acknowledgments.
            scenario.event(receiver, flow, 0, FlowEventKind::CongestionControl, "vegas (cubic: not permitted)");
        }
        scenario.analyze()
    };
    let refused = "bbr (cubic: Operation not permitted (os error 1))";
    let text = says(&analyze(&[(Direction::Up, refused); 4], None), Verdict::Doubtful, "congestion_control");
    assert!(text.contains("4 upload streams used bbr instead of cubic"), "{text}");
    assert!(text.contains("allow cubic on the client (sysctl net.ipv4.tcp_allowed_congestion_control)"), "{text}");
    let both = [(Direction::Up, "cubic"), (Direction::Up, refused), (Direction::Down, "unknown: no such option")];
    let analysis = analyze(&both, None);
    let text = says(&analysis, Verdict::Doubtful, "congestion_control");
    assert!(text.contains("1 upload stream used bbr instead of cubic, 1 download stream used"), "{text}");
    assert!(
        text.contains("an unknown algorithm instead of cubic") && text.contains("on the client and the server"),
        "{text}"
    );
    assert_eq!(analysis.validity.reasons.len(), 1, "{:?}", analysis.validity.reasons);

    assert_eq!(analyze(&[(Direction::Up, "cubic"), (Direction::Down, "cubic")], None).validity.reasons, []);
    assert_eq!(analyze(&[(Direction::Up, "bbr")], Some("bbr")).validity.reasons, []);
    let text = says(&analyze(&[(Direction::Up, "cubic")], Some("bbr")), Verdict::Doubtful, "congestion_control");
    assert!(text.contains("cubic instead of bbr") && text.contains("allow bbr"), "{text}");
}

#[test]
fn a_flow_that_leaves_either_host_with_another_code_point_is_a_doubt() {
    let marked = |events: &[(_, usize, &str)]| {
        let mut scenario = Scenario::healthy();
        let flows = &mut scenario.recording.header.flows;
        for flow in flows.iter_mut() {
            flow.class = ServiceClass::EF;
        }
        let ids: Vec<_> = flows.iter().map(|flow| flow.id).collect();
        for (point, flow, octet) in events {
            scenario.event(*point, ids[*flow], 0, FlowEventKind::Marked, octet);
        }
        scenario.analyze()
    };
    // EF is DSCP 46, byte 184; with ECT(0), which the kernel sets on a TCP socket by itself, 186.
    let good = [(Client, 0, "184"), (Client, 1, "186"), (Server, 1, "184"), (Server, 2, "no number")];
    assert_eq!(marked(&good).validity.reasons, []);
    let text = says(&marked(&[(Client, 1, "184"), (Server, 1, "32")]), Verdict::Doubtful, "marking_refused");
    assert!(text.contains("bulk_tcp/BE/ipv4#1 leaves the server with DSCP 8 instead of 46"), "{text}");
    let analysis = marked(&[(Client, 0, "0"), (Client, 2, "0"), (Server, 2, "700")]);
    let text = says(&analysis, Verdict::Doubtful, "marking_refused");
    assert!(text.contains("#0 leaves the client with DSCP 0 instead of 46 (first of 2 such flows)"), "{text}");
}

#[test]
fn packets_that_the_host_had_no_time_to_send_are_reported_and_a_doubt_above_1_percent_of_a_flow() {
    let skipped = |count: u32| {
        let mut scenario = Scenario::healthy();
        let busy = scenario.udp_probe(AddressFamily::Ipv4);
        // 990 packets sent: 10 more were due, or 11.
        for sequence in 0..990 {
            let at = 10 * MS + i64::from(sequence) * 20 * MS;
            scenario.sent(busy, sequence, at);
            scenario.received(busy, sequence, at, 20 * MS);
        }
        scenario.observe(Client, 9 * SECOND, ProbesSkipped { flow: busy, at: TestTime(9 * SECOND), count });
        scenario.analyze()
    };
    assert!(says(&skipped(10), Verdict::Valid, "packets_skipped").contains("10 of 1000 test packets of udp_probe"));
    let text = says(&skipped(11), Verdict::Doubtful, "packets_skipped");
    assert!(text.contains("11 of 1001") && text.contains("udp_probe/BE/ipv4#3") && text.contains("1.1 %"), "{text}");
    assert!(skipped(0).validity.reasons.is_empty());
}

#[test]
fn a_server_farther_than_80_ms_is_doubtful_in_whichever_family() {
    let with = |idle_v6: i64| {
        let mut scenario = Scenario::healthy();
        let flow = scenario.udp_probe(AddressFamily::Ipv6);
        scenario.probes(flow, |_| Some(idle_v6));
        scenario.analyze()
    };
    assert!(says(&with(81 * MS), Verdict::Doubtful, "server_far").contains("IPv6"));
    assert_eq!(with(80 * MS).validity.verdict, Verdict::Valid);
}

#[test]
fn observations_that_were_dropped_or_whose_frame_is_missing_are_a_doubt() {
    let mut scenario = Scenario::healthy();
    scenario.frame(Server, 6 * SECOND).dropped = 12;
    assert!(says(&scenario.analyze(), Verdict::Doubtful, "observations_dropped").contains("12 observations"));

    let mut scenario = Scenario::healthy();
    scenario.recording.frames.retain(|frame| frame.point == Client || !(8..=10).contains(&frame.number));
    assert!(says(&scenario.analyze(), Verdict::Doubtful, "frames_missing").contains("3 of 21 frames of the server"));

    let mut scenario = Scenario::healthy();
    scenario.recording.end.as_mut().unwrap().client_frames = Some(21);
    assert_eq!(scenario.analyze().validity.verdict, Verdict::Valid);
    scenario.recording.frames.retain(|frame| frame.point == Server || frame.number != 20);
    assert!(says(&scenario.analyze(), Verdict::Doubtful, "frames_missing").contains("1 of 21 frames of the client"));
}

#[test]
fn without_load_in_a_direction_the_run_is_invalid() {
    let mut scenario = Scenario::healthy();
    scenario.bulk(Direction::Down);
    assert_eq!(scenario.analyze().validity.verdict, Verdict::Valid, "one starved stream is a result");

    scenario.recording.frames.retain(|frame| frame.point == Client);
    let analysis = scenario.analyze();
    assert!(says(&analysis, Verdict::Invalid, "no_load").contains("Upload has no load"));
    says(&analysis, Verdict::Invalid, "frames_missing");
}

#[test]
fn without_any_reply_the_run_is_invalid() {
    let mut scenario = Scenario::new();
    let flow = scenario.udp_probe(AddressFamily::Ipv4);
    assert!(says(&scenario.analyze(), Verdict::Invalid, "no_replies").contains("No test packet was sent"));
    scenario.probes(flow, |_| None);
    assert!(says(&scenario.analyze(), Verdict::Invalid, "no_replies").contains("firewalls"));
}

#[test]
fn udp_that_is_met_with_silence_is_distinguished_from_a_line_that_carries_nothing() {
    // No greeting over IPv6 was answered, those over IPv4 were. The text of a failure decides nothing, except in recordings
    // of format 1, which have no other sign.
    let sentence = "no answer over UDP from the server; is a firewall in between?";
    for (format, events) in [
        (FORMAT, &[(FlowEventKind::Unanswered, ""), (FlowEventKind::Failed, "silence")][..]),
        (FORMER_FORMAT, &[(FlowEventKind::Failed, sentence)]),
    ] {
        let mut scenario = Scenario::healthy();
        format.clone_into(&mut scenario.recording.header.format);
        let flow = scenario.udp_probe(AddressFamily::Ipv6);
        for (event, detail) in events {
            scenario.event(Client, flow, 0, *event, detail);
        }
        assert!(says(&scenario.analyze(), Verdict::Doubtful, "udp_blocked").contains("over IPv6"));
    }
    // None at all was, and the load ran.
    let mut scenario = Scenario::new();
    for direction in Direction::ALL {
        let stream = scenario.bulk(direction);
        scenario.stream(stream, 10_000_000);
    }
    let flow = scenario.udp_probe(AddressFamily::Ipv4);
    scenario.event(Client, flow, 0, FlowEventKind::Unanswered, "");
    scenario.event(Client, flow, 0, FlowEventKind::Failed, sentence);
    assert!(says(&scenario.analyze(), Verdict::Invalid, "udp_blocked").starts_with("UDP is blocked: "));
    // A flow that failed for another reason says nothing about UDP.
    let mut scenario = Scenario::healthy();
    let flow = scenario.udp_probe(AddressFamily::Ipv6);
    scenario.event(Client, flow, 0, FlowEventKind::Failed, sentence);
    assert!(scenario.analyze().validity.reasons.iter().all(|reason| reason.code != "udp_blocked"));
}

#[test]
fn an_empty_recording_is_invalid_and_says_what_is_missing() {
    let mut scenario = Scenario::healthy();
    scenario.recording.frames.clear();
    scenario.recording.end = None;
    let analysis = scenario.analyze();
    for code in ["no_load", "no_replies", "partial", "frames_missing"] {
        says(&analysis, Verdict::Invalid, code);
    }
    assert!(analysis.validity.reasons.is_sorted_by_key(|reason| std::cmp::Reverse(reason.severity)));
    assert_eq!(analysis.validity.reasons[0].severity, Severity::Invalid);
    assert_eq!((analysis.round_trip_delay.pooled.idle, analysis.start_spread), (None, None));
}
