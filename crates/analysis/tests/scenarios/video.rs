//! Video playback, from segments whose arrival is known.

use rrul_analysis::metrics::web::video_playback::VideoPlayback;
use rrul_model::flow::{AddressFamily, Component, FlowId, Parameter};
use rrul_model::observation::Transfer;
use rrul_model::time::{TestTime, Window};
use rrul_model::units::{BitRate, ByteCount, Delay};

use crate::builder::{Client, MS, Scenario};

/// A video of 4 Mbit/s in segments of 2 s that plays under load, from 5 s to 15 s.
fn video(scenario: &mut Scenario, window: Window) -> FlowId {
    let flow = scenario.flow("video_bursts", Component::Web, None, AddressFamily::Ipv4, window);
    let parameters = &mut scenario.recording.header.flows.last_mut().unwrap().parameters;
    for (name, value) in [("interval", "2s"), ("rate", "4000000bit/s"), ("buffer", "4s")] {
        parameters.0.insert(name.to_owned(), Parameter::Text(value.to_owned()));
    }
    flow
}

/// Segments that were asked for and complete at these times, milliseconds since the test began.
fn segments(scenario: &mut Scenario, flow: FlowId, times: &[(i64, i64)]) {
    for (sequence, (asked, complete)) in times.iter().enumerate() {
        segment(scenario, flow, sequence, (*asked, *complete), Transfer::COMPLETE);
    }
}

fn segment(scenario: &mut Scenario, flow: FlowId, sequence: usize, (asked, ended): (i64, i64), reached: u8) {
    let octets = ByteCount(1_000_000);
    let row = Transfer {
        flow,
        sequence: sequence as u32,
        scheduled: TestTime(asked * MS),
        started: TestTime(asked * MS),
        reached,
        octets,
        arrived: if reached == Transfer::COMPLETE { octets } else { ByteCount(0) },
        connect: Delay(0),
        answer: Delay(MS),
        took: Delay((ended - asked) * MS),
        syn_retransmits: 0,
    };
    scenario.observe(Client, ended * MS, row);
}

fn playback(scenario: &Scenario) -> VideoPlayback {
    let mut found = scenario.analyze().measured.video_playback;
    assert_eq!(found.len(), 1);
    found.remove(0)
}

fn ms(ms: i64) -> Delay {
    Delay(ms * MS)
}

#[test]
fn a_video_whose_segments_come_in_time_starts_late_and_never_stalls() {
    let mut scenario = Scenario::healthy();
    let flow = video(&mut scenario, Scenario::LOAD);
    segments(&mut scenario, flow, &[(5000, 5800), (5800, 6600), (7000, 7500), (9000, 10_600), (11_000, 12_000)]);
    // The fourth segment is due when the third has been played: at 5.8 + 3 * 2 s. It is there.
    let found = playback(&scenario);
    assert_eq!((found.video, found.segment), (BitRate(4_000_000), ms(2000)));
    assert_eq!(found.startup, Some(ms(800)));
    assert_eq!((found.stalls, found.stalled, found.longest_stall), (0, ms(0), None));
    assert_eq!((found.played, found.stalled_share), (ms(9200), Some(0.0)));
    let load = found.download.unwrap();
    assert_eq!((load.n, load.lost, load.min, load.max), (5, 0, Some(ms(500)), Some(ms(1600))));
}

#[test]
fn a_segment_that_is_late_stalls_the_video_until_it_is_complete() {
    let mut scenario = Scenario::healthy();
    let flow = video(&mut scenario, Scenario::LOAD);
    // Played from 6.0 to 8.0; stalled to 9.5; played to 11.5; stalled to 12.0; played to 14.0; stalled to the end at 15.0.
    segments(&mut scenario, flow, &[(5000, 6000), (6000, 9500), (9500, 12_000)]);
    segment(&mut scenario, flow, 3, (12_000, 15_000), Transfer::CONNECTED);
    let found = playback(&scenario);
    assert_eq!(found.startup, Some(ms(1000)));
    assert_eq!((found.stalls, found.stalled, found.longest_stall), (3, ms(1500 + 500 + 1000), Some(ms(1500))));
    assert_eq!((found.played, found.stalled_share), (ms(6000), Some(3.0 / 9.0)));
    let load = found.download.unwrap();
    assert_eq!(
        (load.n, load.lost, load.p50),
        (4, 0, Some(ms(2500))),
        "the last was cut off, and would have been longer"
    );
}

#[test]
fn a_video_that_never_starts_has_no_start_up_delay_and_no_stall() {
    let mut scenario = Scenario::healthy();
    let flow = video(&mut scenario, Scenario::LOAD);
    segment(&mut scenario, flow, 0, (5000, 8000), Transfer::CONNECTED);
    let found = playback(&scenario);
    assert_eq!((found.startup, found.stalls, found.stalled_share), (None, 0, None));
    assert_eq!((found.played, found.stalled), (ms(0), ms(0)));
    let load = found.download.unwrap();
    assert_eq!((load.n, load.lost), (1, 1), "its connection broke long before the end");
}

#[test]
fn a_video_beside_the_load_is_none_of_its_streams() {
    let mut scenario = Scenario::healthy();
    let (before, flow) = (scenario.analyze(), video(&mut scenario, Scenario::LOAD));
    segments(&mut scenario, flow, &[(5000, 5800), (5800, 6600), (7000, 7500), (9000, 10_600), (11_000, 12_000)]);
    let found = scenario.analyze();
    assert_eq!(found.goodput, before.goodput);
    assert_eq!(found.short_flows, before.short_flows);
    assert!(found.transaction_flows.is_empty() && before.measured.video_playback.is_empty());
    assert_eq!(found.validity.verdict, before.validity.verdict);
}
