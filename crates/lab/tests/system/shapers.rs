//! A shaper that changes while packets pass, as sockets see it.

use std::net::UdpSocket;
use std::time::Duration;

use rrul_lab::{Fate, Link};
use rrul_model::flow::Direction;
use rrul_model::units::BitRate;

const DATAGRAMS: u64 = 300;

/// The shaper at first; the line of 20 Mbit/s behind it has no queue.
const TOML: &str = "rtt = \"2ms\"\n[up]\nrate = \"20Mbit/s\"\n[up.shaper]\nrate = \"4Mbit/s\"\n\
                    queue = { discipline = \"cake\", tins = \"diffserv4\" }\n[down]\nrate = \"20Mbit/s\"\n";

#[test]
fn a_rate_set_on_a_running_lab_is_in_force_and_counters_agree_with_the_truth() {
    let Some(lab) = super::lab("a_rate_set_on_a_running_lab_is_in_force", TOML) else { return };
    let server = lab.server().run(|| UdpSocket::bind(("10.78.0.2", 7785))).unwrap().unwrap();
    // All at once: 2.4 Mbit wait.
    let send = || {
        let socket = UdpSocket::bind("10.78.0.1:0").unwrap();
        (0..DATAGRAMS).all(|_| socket.send_to(&[0; 972], ("10.78.0.2", 7785)).is_ok())
    };
    assert!(lab.client().run(send).unwrap());
    let sent_at = rrul_lab::now();
    std::thread::sleep(Duration::from_millis(100));
    let mut shaper = Link::from_toml("test.toml", TOML).unwrap().up.shaper.unwrap();
    shaper.rate = BitRate(6_000_000);
    lab.set_shaper(Direction::Up, Some(&shaper)).unwrap();
    let changed = rrul_lab::now();
    // What waits at 6 Mbit/s has left after this.
    std::thread::sleep(Duration::from_secs(1));
    let (counters, truth) = (lab.counters().unwrap().up, lab.truth().unwrap().up);
    let sent: Vec<_> = truth.records().filter(|record| record.destination_port == 7785).collect();
    assert_eq!((sent.len() as u64, truth.missed), (DATAGRAMS, 0));
    let counted = counters.shaper.unwrap();
    assert_eq!(counted.rate, BitRate(6_000_000));
    assert_eq!(counted.packets, truth.count(Fate::Delivered), "what the shaper passed was delivered");
    assert_eq!((counted.packets, counted.backlog_packets), (counters.line.packets, 0));
    assert_eq!(counted.aqm_drops, truth.count(Fate::ShaperAqmDrop));
    assert_eq!(counted.classes.iter().map(|tin| tin.packets).sum::<u64>(), counted.packets);
    let rate = |from: u64, to: u64| {
        let left = sent.iter().filter_map(|record| record.departure()).filter(|at| (from..to).contains(&at.0));
        left.count() as f64 * 8000.0 / ((to - from) as f64 / 1e9) / 1e6
    };
    let (before, after) = (rate(sent_at.0, changed.0), rate(changed.0, changed.0 + 150_000_000));
    assert!((before - 4.0).abs() < 0.2 && (after - 6.0).abs() < 0.2, "{before} and {after} Mbit/s");
    assert!(sent.iter().all(|record| record.shaper_delay == record.queueing_delay || record.fate != Fate::Delivered));
    drop(server);
}
