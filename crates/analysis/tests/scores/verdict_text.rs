//! What the text says, for lines that are easy to imagine.

use rrul_analysis::by_direction::ByDirection;
use rrul_analysis::scores::verdict_text::{Fault, VerdictText};

fn line(slowdown: Option<f64>, up: f64, down: f64) -> VerdictText {
    VerdictText { slowdown, wait_ms: ByDirection { up: Some(up), down: Some(down) }, ..VerdictText::default() }
}

#[test]
fn the_sentence_says_what_a_person_would_feel_and_where() {
    let lossy = |up, down| ByDirection { up: Some(up), down: Some(down) };
    let cases = [
        (
            line(Some(6.04), 210.4, 12.0),
            "Under load: pages take 6.0 times as long; upload latency +210 ms.",
            Some(Fault::Up),
        ),
        (
            line(Some(14.2), 40.0, 380.0),
            "Under load: pages take 14 times as long; download latency +380 ms.",
            Some(Fault::Down),
        ),
        (
            line(Some(2.0), 150.0, 220.0),
            "Under load: pages take 2.0 times as long; download latency +220 ms, upload +150 ms.",
            Some(Fault::Both),
        ),
        (
            line(Some(1.1), 4.2, 0.3),
            "Under load: pages load about as fast as idle; median latency +4 ms, good.",
            Some(Fault::None),
        ),
        (
            VerdictText { at_least: true, ..line(Some(7.7), 4.0, 0.3) },
            "Under load: pages take over 7.7 times as long; median latency +4 ms, good.",
            Some(Fault::None),
        ),
        (line(None, 0.8, 0.3), "Under load: median latency +1 ms, good.", Some(Fault::None)),
        (line(None, 1600.0, 2.0), "Under load: upload latency +1.6 s.", Some(Fault::Up)),
        (
            VerdictText { no_page: true, loss: lossy(0.031, 0.0), ..line(Some(30.0), f64::INFINITY, 0.2) },
            "Under load: no page loads completely; upload latency unknown (most packets lost); upload loss 3 %.",
            Some(Fault::Up),
        ),
        (
            VerdictText { loss: lossy(0.02, 0.05), call: Some((2.0, 4.3)), ..line(Some(3.0), 90.0, 10.0) },
            "Under load: pages take 3.0 times as long; upload latency +90 ms; upload loss 2 %, download loss 5 %; \
             voice calls bad.",
            Some(Fault::Up),
        ),
        (
            VerdictText { call: Some((3.3, 4.3)), round_trip_ms: Some(120.0), ..VerdictText::default() },
            "Under load: median latency +120 ms; voice calls poor.",
            None,
        ),
        (
            // Calls that were bad on the idle line already say nothing about the load.
            VerdictText { call: Some((2.0, 2.4)), round_trip_ms: Some(0.4), ..VerdictText::default() },
            "Under load: median latency +0 ms, good.",
            None,
        ),
    ];
    for (verdict, sentence, fault) in cases {
        assert_eq!(verdict.sentence().as_deref(), Some(sentence));
        assert_eq!(verdict.fault(), fault, "{sentence}");
    }
}

#[test]
fn what_is_not_known_is_not_said() {
    assert_eq!(VerdictText::default().sentence(), None);
    assert_eq!(VerdictText { call: Some((1.0, 4.0)), ..VerdictText::default() }.sentence(), None);
    let one_way = VerdictText { wait_ms: ByDirection { up: Some(300.0), down: None }, ..VerdictText::default() };
    assert_eq!((one_way.sentence(), one_way.fault()), (None, None), "the other way may be worse");
}
