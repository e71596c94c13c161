//! Queues under load, by the truth: an unmanaged one fills, a managed one does not.

use std::net::UdpSocket;
use std::time::Duration;

use rrul_lab::{Fate, LabTime, Truth, percentile};
use rrul_model::flow::AddressFamily;
use rrul_model::units::ByteCount;

use crate::OnlyLab;
use crate::bulk::Stream;

const RATE: u64 = 20_000_000;
const STREAMS: usize = 4;
const LASTING: Duration = Duration::from_secs(10);
const PROBE_PORT: u16 = 7786;
const MS: u64 = 1_000_000;

fn link(queue: &str) -> String {
    format!(
        "# Cable\nrtt = \"18ms\"\n[up]\nrate = \"8Mbit/s\"\nqueue = \"{queue}\"\n[down]\nrate = \"20Mbit/s\"\nqueue = \"{queue}\"\n"
    )
}

/// What four cubic streams leave behind: bytes handed to the receivers, the second half of the run, the truth.
fn loaded(lab: &OnlyLab) -> (u64, std::ops::Range<LabTime>, Truth) {
    let begun = rrul_lab::now();
    let half = LabTime(begun.0 + LASTING.as_nanos() as u64 / 2);
    let end = LabTime(begun.0 + LASTING.as_nanos() as u64);
    let family = |number| AddressFamily::ALL[number % 2];
    let streams: Vec<Stream> = (0..STREAMS).map(|number| Stream::down(lab, family(number), LASTING)).collect();
    let received = streams.into_iter().map(Stream::finish).sum();
    (received, half..end, lab.truth().unwrap())
}

/// What is true under any queue.
fn assert_bounds(received: u64, window: &std::ops::Range<LabTime>, truth: &Truth) {
    let down = &truth.down;
    assert_eq!((down.missed, down.refused, down.forgotten), (0, 0, 0), "the lab kept up");
    assert_eq!(
        down.unique_tcp_payload(LabTime(0)..truth.taken),
        ByteCount(received),
        "the receivers received exactly what the lab saw arrive for the first time"
    );
    let limit = RATE / 8 + 1500;
    assert!(down.busiest_second().0 <= limit, "{:?} in one second, {limit} is the rate", down.busiest_second());
    let rate = down.delivered_octets(window.clone()).per(Duration::from_nanos(window.end.since(window.start)));
    // Four streams keep this link full: at most one second in 50 may be lost to recovery.
    assert!((RATE * 98 / 100..=RATE + RATE / 1000).contains(&rate.0), "delivered {rate}, the link has 20 Mbit/s");
    let goodput = down.unique_tcp_payload(window.clone()).per(Duration::from_nanos(window.end.since(window.start)));
    assert!(goodput < rate, "goodput {goodput} must be below {rate}");
}

#[test]
fn cubic_fills_a_pfifo_of_a_thousand_packets() {
    let Some(lab) = super::lab("cubic_fills_a_pfifo_of_a_thousand_packets", &link("pfifo")) else { return };
    let (received, window, truth) = loaded(&lab);
    assert_bounds(received, &window, &truth);
    let delays = truth.down.queueing_delays(window);
    let (p95, most) = (percentile(&delays, 95.0).unwrap(), *delays.last().unwrap());
    assert!(p95 > 200 * MS, "P95 of the queueing delay {} ms, expected more than 200", p95 / MS);
    // 1000 packets of at most 1500 bytes at 20 Mbit/s.
    assert!(most <= 600 * MS, "{most} ns, but a full queue takes 600 ms");
}

/// RFC 8290 puts each fat flow under a CoDel of its own, which keeps the delay that *stands* near its target of 5 ms;
/// a sawtooth of cubic swings around it. A sparse flow waits for the packet in transmission (0.6 ms) and for the few
/// other flows that have just become active (a packet each).
#[test]
fn fq_codel_keeps_fat_flows_near_its_target_and_lets_thin_ones_pass() {
    rrul_lab::on_a_lab("fq_codel_keeps_fat_flows_near_its_target", || {
        let Some(lab) = super::lab("fq_codel_keeps_fat_flows_near_its_target", &link("fq_codel")) else { return };
        let to = (lab.client().address(AddressFamily::Ipv4), PROBE_PORT);
        let probe = lab.server().spawn(move || {
            let socket = UdpSocket::bind("10.78.0.2:0").unwrap();
            socket.connect(to).unwrap();
            for _ in 0..500 {
                // No program listens: the answer to one datagram may fail the next, which is not a loss.
                let _ = socket.send(&[0; 172]);
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        let (received, window, truth) = loaded(&lab);
        probe.unwrap().join().unwrap();
        assert_bounds(received, &window, &truth);
        let down = &truth.down;
        let median =
            percentile(&down.queueing_delays_of(window.clone(), |record| record.tcp_payload > 0), 50.0).unwrap();
        assert!(median < 15 * MS, "P50 of the fat flows {} us, expected less than 15 ms", median / 1000);
        let thin = down.queueing_delays_of(window, |record| record.destination_port == PROBE_PORT);
        let slowest = percentile(&thin, 99.0).unwrap();
        assert!(thin.len() > 200, "{} probes", thin.len());
        assert!(
            slowest < 5 * 600_000,
            "P99 of the thin flow {slowest} ns, expected less than a packet of each other flow"
        );
        assert!(down.count(Fate::AqmDrop) > 0 && down.count(Fate::Overflow) == 0);
    });
}
