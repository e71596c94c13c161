//! What the summary says of streams.

use rrul_analysis::Analysis;
use rrul_analysis::metrics::delay::round_trip_delay::PhaseDelays;
use rrul_analysis::metrics::sharing::global_synchronization::Synchronized;
use rrul_analysis::metrics::sharing::stream_sharing::{ClassShare, DirectionSharing, FamilyShare, StreamShare};
use rrul_analysis::metrics::web::connections::{
    ClassConnections, ConnectionPhases, ConnectionStatistics, Connections, FlowConnections,
};
use rrul_analysis::statistics::jain_index::JainStatistics;
use rrul_analysis::statistics::percentile::DelayStatistics;
use rrul_model::flow::{AddressFamily, Component, Direction};
use rrul_model::marking::ServiceClass;
use rrul_model::units::Delay;
use rrul_view::{Style, text_summary};

use crate::synthetic::{Made, label};

fn jain(mean: f64, p5: f64) -> JainStatistics {
    JainStatistics { sharers: 2, intervals: 80, mean, p5, overall: mean }
}

/// Two downloads: background starves.
fn with_sharing(mut run: Analysis) -> Analysis {
    let shares = [(ServiceClass::EF, 0.75, 0.0), (ServiceClass::BK, 0.25, 0.125)];
    let family = AddressFamily::Ipv4;
    let stream = |(class, share, starved)| StreamShare {
        flow: label(1, "bulk_tcp", Component::Load, Some(Direction::Down), family, class),
        share,
        starved,
    };
    let class =
        |(class, share, starved)| ClassShare { class, streams: 1, share, starved, jain: None, ipv6_to_ipv4: None };
    run.sharing.down = Some(DirectionSharing {
        from_ns: 15_000_000_000,
        to_ns: 65_000_000_000,
        interval_ns: 100_000_000,
        intervals: 500,
        jain_streams: Some(jain(0.8, 0.7)),
        jain_classes: Some(jain(0.8, 0.7)),
        jain_families: None,
        ipv6_to_ipv4: None,
        classes: shares.map(class).to_vec(),
        families: vec![FamilyShare { family, streams: 2, share: 1.0, starved: 0.0, jain: None }],
        streams: shares.map(stream).to_vec(),
        jain_series: Vec::new(),
    });
    run
}

fn lines_below<'a>(text: &'a str, heading: &str) -> Vec<&'a str> {
    let (_, rest) = text.split_once(&format!("{heading}\n")).unwrap_or_else(|| panic!("no \"{heading}\" in:\n{text}"));
    rest.lines().take_while(|line| !line.is_empty()).collect()
}

#[test]
fn sharing_is_reported_by_stream_and_class_with_who_starves() {
    let mut run = with_sharing(Made::pfifo().analysis());
    run.stream_limits.down.pooled.rwnd_limited = Some(0.4);
    run.stream_limits.down.pooled.sndbuf_limited = Some(0.09);
    run.global_synchronization.up.synchronized = Synchronized::Yes;
    run.global_synchronization.up.dips = 7;
    let text = text_summary(&run, Style::Plain);
    let expected = [
        "                       mean    P5            shares",
        "  Download, 2 streams  0.80  0.70",
        "    2 classes          0.80  0.70  EF 75 %  BK 25 %",
        "  Download: BK starved for 12 % of the time",
        "  Download: the receiver's window limited streams for 40 % of the time",
        "  Upload: global synchronization, streams back off together (7 times) and the link runs idle",
    ];
    assert_eq!(lines_below(&text, "Fairness under load (Jain's index, 1 is equal)"), expected);
}

fn attempts(connect: &[i64], lost: u64, over_1s: f64) -> ConnectionStatistics {
    let connect =
        DelayStatistics::from_delays(connect.iter().map(|ms| Delay(ms * 1_000_000)).collect(), lost).expect("some");
    ConnectionStatistics {
        connect,
        answer: connect,
        over_1s,
        retried: 1,
        syn_retransmits: 2,
        unanswered: lost,
        refused: 0,
        impossible: 0,
    }
}

#[test]
fn new_connections_are_reported_idle_and_loaded_and_by_class() {
    let mut run = Made::pfifo().analysis();
    let phases = ConnectionPhases {
        idle: Some(attempts(&[19], 0, 0.0)),
        load: Some(attempts(&[540, 600, 1700], 1, 0.5)),
        after: None,
    };
    let idle = ConnectionPhases { idle: Some(attempts(&[19], 0, 0.0)), ..ConnectionPhases::default() };
    let class = |class, phases| ClassConnections { class, phases };
    let flow = label(9, "tcp_connect", Component::Realtime, None, AddressFamily::Ipv4, ServiceClass::BE);
    run.connections = Connections {
        pooled: phases.clone(),
        classes: vec![class(ServiceClass::EF, phases.clone()), class(ServiceClass::BK, idle)],
        families: Vec::new(),
        flows: vec![FlowConnections { flow, phases, series: Vec::new(), exchanges: Vec::new() }],
    };
    let text = text_summary(&run, Style::Plain);
    let expected = [
        "       idle P50  loaded P50  loaded P95  over 1 s  SYN retransmitted  failed",
        "  all   19.0 ms      600 ms        lost      50 %               25 %    25 %",
        "  EF    19.0 ms      600 ms        lost      50 %               25 %    25 %",
        "  BK    19.0 ms           –           –         –                  –       –",
    ];
    assert_eq!(lines_below(&text, "TCP connect time"), expected);
}

#[test]
fn in_stream_delay_is_reported_by_direction() {
    let mut run = Made::pfifo().analysis();
    let of = |ms: i64| DelayStatistics::from_delays(vec![Delay(ms * 1_000_000)], 0);
    run.stream_delay.up = Some(PhaseDelays { idle: of(10), load: of(250), ..PhaseDelays::default() }.with_induced());
    let text = text_summary(&run, Style::Plain);
    let expected = [
        "          idle P50  loaded P50  loaded P95  added P50  added P95",
        "  Upload   10.0 ms      250 ms      250 ms    +240 ms    +240 ms",
    ];
    assert_eq!(lines_below(&text, "In-stream delay (TCP)"), expected);
}
