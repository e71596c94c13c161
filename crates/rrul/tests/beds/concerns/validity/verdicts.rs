//! Whether a run is reported to be what it is: far, blocked, busy, changing, or not loaded at all.

use std::collections::HashSet;
use std::net::UdpSocket;
use std::time::{Duration, Instant};

use rrul_lab::Lab;
use rrul_model::flow::{AddressFamily, Direction};
use rrul_model::phase::Phase;

use crate::journal::TCP;
use crate::plans::{BOTH_WAYS, plan};
use crate::rows::Rows;
use crate::setting::{Measured, Setting};
use crate::{Bed, Runs};

/// Streams each way and probes, with a load of so many seconds.
fn loaded(seconds: u32, streams: &str) -> String {
    let phases = format!("idle = \"4s\", load = \"{seconds}s\", after = \"3s\"");
    plan(&phases, &[("bulk_tcp", &format!("{BOTH_WAYS}{streams}")), ("udp_probe", "")])
}

/// Two each way for 20 s.
fn two() -> String {
    loaded(20, "count = 2")
}

fn link(round_trip: u32, down: &str, up: &str) -> String {
    format!("rtt = \"{round_trip}ms\"\n[down]\n{down}\n[up]\n{up}\n")
}

const FQ_CODEL: [&str; 2] = ["rate = \"20Mbit/s\"\nqueue = \"fq_codel\"", "rate = \"8Mbit/s\"\nqueue = \"fq_codel\""];

fn says(rows: &mut Rows, requirements: &'static str, case: &str, measured: &Measured, code: &str, expected: bool) {
    let reasons = measured.reasons();
    let told = if reasons.is_empty() { "no reason".to_owned() } else { reasons.join(", ") };
    let truth = if expected { code.to_owned() } else { format!("not {code}") };
    rows.holds(
        requirements,
        format!("{case}says {code}"),
        truth,
        told,
        reasons.iter().any(|one| one == code) == expected,
    );
}

pub(crate) const FAR: Bed = Bed {
    name: "far",
    about: "A server 79 ms away, then one 81 ms away: the specification's limit is 80 ms.",
    runs: Runs::InAccuracy,
    run: |rows| {
        let probes = plan("idle = \"4s\"", &[("udp_probe", "")]);
        for (round_trip, expected) in [(79, false), (81, true)] {
            let measured = Setting::new(link(round_trip, FQ_CODEL[0], FQ_CODEL[1]), probes.clone()).measure();
            says(rows, "R8", &format!("{round_trip} ms: "), &measured, "server_far", expected);
        }
    },
};

/// Segments retransmitted in this direction, and different ones, of a test without TCP flows: they carry control messages.
fn retransmitted(measured: &Measured, direction: Direction) -> (usize, usize) {
    let segments = measured.truth.direction(direction).records().filter(|record| record.protocol == TCP);
    let numbers: Vec<_> = segments
        .filter(|record| record.tcp_payload > 0)
        .map(|record| (record.source_port, record.destination_port, record.tcp_sequence))
        .collect();
    let different = numbers.iter().collect::<HashSet<_>>().len();
    (numbers.len() - different, different)
}

pub(crate) const SECONDS_AWAY: Bed = Bed {
    name: "seconds_away",
    about: "A path of 1.5 s, as through a queue of seconds: control messages that only wait are not retransmitted, and the test runs to its end.",
    runs: Runs::SideBySide,
    run: |rows| {
        let rate = "rate = \"10Mbit/s\"";
        let measured = Setting::new(link(1500, rate, rate), plan("idle = \"8s\"", &[("udp_probe", "")])).measure();
        rows.near(
            "R44",
            "idle round trip P50, ms",
            measured.milliseconds("/round_trip_delay/idle/p50_ns"),
            1500.0,
            2.0,
        );
        says(rows, "R54", "", &measured, "partial", false);
        for direction in Direction::ALL {
            let (more, different) = retransmitted(&measured, direction);
            let share = (different > 0).then(|| 100.0 * more as f64 / different as f64);
            rows.between("R54", format!("{direction}: control messages retransmitted, %"), share, 0, 0.0..=20.0);
        }
    },
};

pub(crate) const STARVED_STREAMS: Bed = Bed {
    name: "starved_streams",
    about: "20/8 Mbit/s, strict priority by class: streams of EF starve those of BK, and the control connection, for 45 s.",
    runs: Runs::InAccuracy,
    run: |rows| {
        let queue = "queue = { discipline = \"prio\", limit = \"100p\" }";
        let link = link(20, &format!("rate = \"20Mbit/s\"\n{queue}"), &format!("rate = \"8Mbit/s\"\n{queue}"));
        let streams = format!("count = 2\neach.class = [\"EF\", \"BK\"]\n{BOTH_WAYS}");
        let flows = [("bulk_tcp", streams.as_str()), ("udp_probe", "")];
        let measured = Setting::new(link, plan("idle = \"2s\", load = \"45s\", after = \"3s\"", &flows)).measure();
        for code in ["partial", "flow_failed", "host_limited"] {
            says(rows, "R54", "", &measured, code, false);
        }
        for (direction, name) in [(Direction::Down, "down"), (Direction::Up, "up")] {
            let carried = measured.number(&format!("/link_octets/load/{name}/all/carried_octets"));
            let truth = measured.delivered(direction, None, &measured.window(Phase::Load));
            rows.near("R54", format!("bytes carried {name}"), carried, truth, truth * 0.01);
        }
    },
};

pub(crate) const LONG_PATH: Bed = Bed {
    name: "long_path",
    about: "20/8 Mbit/s, 170 ms, FIFOs of 256 packets: such a path is still filled.",
    runs: Runs::InAccuracy,
    run: |rows| {
        let queue = "queue = { discipline = \"pfifo\", limit = \"256p\" }";
        let link = link(170, &format!("rate = \"20Mbit/s\"\n{queue}"), &format!("rate = \"8Mbit/s\"\n{queue}"));
        let plan = loaded(30, "count = 4");
        let measured = Setting::new(link, plan).measure();
        for (direction, name) in [(Direction::Down, "down"), (Direction::Up, "up")] {
            let saturated = measured.word(&format!("/saturation/{name}/saturated"));
            rows.equal("R54", format!("saturated {name}"), saturated, "true".to_owned());
            let carried = measured.number(&format!("/link_octets/load/{name}/all/carried_octets"));
            let truth = measured.delivered(direction, None, &measured.window(Phase::Load));
            rows.near("R54", format!("bytes carried {name}"), carried, truth, truth * 0.01);
        }
    },
};

pub(crate) const UDP_BLOCKED: Bed = Bed {
    name: "udp_blocked",
    about: "Every UDP packet is dropped on the way up: said, and the streams run all the same.",
    runs: Runs::InAccuracy,
    run: |rows| {
        // Echo gets through: what it measures does not replace UDP.
        let icmp = "[flow.echo]\ntype = \"icmp_echo\"\ncomponent = \"realtime\"\n";
        let blocked = "rate = \"8Mbit/s\"\nqueue = \"fq_codel\"\nonly = { protocol = \"udp\" }\nloss = \"100%\"";
        let measured = Setting::new(link(20, FQ_CODEL[0], blocked), two() + icmp).measure();
        says(rows, "R6", "", &measured, "udp_blocked", true);
        for (name, rate) in [("down", 20.0), ("up", 8.0)] {
            let goodput = measured.number(&format!("/goodput/{name}/sum_bps")).map(|bits| bits / 1e6);
            rows.between("R6", format!("goodput {name}, Mbit/s"), goodput, rate, rate * 0.85..=rate);
        }
    },
};

pub(crate) const BUSY_BASELINE: Bed = Bed {
    name: "busy_baseline",
    about: "20/8 Mbit/s; 1 Mbit/s of something else goes up while the line should be idle. Then nothing does.",
    runs: Runs::InAccuracy,
    run: |rows| {
        let link = link(20, FQ_CODEL[0], FQ_CODEL[1]);
        let busy = Setting::new(link.clone(), two()).beside(something_else).measure();
        says(rows, "R5", "something else goes up: ", &busy, "baseline_busy", true);
        says(rows, "R5", "nothing else does: ", &Setting::new(link, two()).measure(), "baseline_busy", false);
    },
};

/// 1 Mbit/s from client to server for 6 s, in packets of 1250 bytes.
fn something_else(lab: &Lab) {
    let server = lab.server().address(AddressFamily::Ipv4);
    // Somebody takes them, so that nothing is reported to be unreachable.
    let _ = lab.server().spawn(move || {
        let sink = UdpSocket::bind((server, 9999)).unwrap();
        sink.set_read_timeout(Some(Duration::from_secs(8))).unwrap();
        while sink.recv(&mut [0; 2000]).is_ok() {}
    });
    let _ = lab.client().spawn(move || {
        let source = UdpSocket::bind("0.0.0.0:0").unwrap();
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(6) {
            let _ = source.send_to(&[0; 1222], (server, 9999));
            std::thread::sleep(Duration::from_millis(10));
        }
    });
}

pub(crate) const RATE_STEP: Bed = Bed {
    name: "rate_step",
    about: "20/8 Mbit/s, and the way down at 10 Mbit/s from the middle of the load on.",
    runs: Runs::InAccuracy,
    run: |rows| {
        let half = "rate = \"10Mbit/s\"\nqueue = \"fq_codel\"";
        let measured = Setting::new(link(20, FQ_CODEL[0], FQ_CODEL[1]), two())
            .then(Duration::from_secs(16), link(20, half, FQ_CODEL[1]))
            .measure();
        says(rows, "R3", "", &measured, "rate_unsteady", true);
        rows.equal("R3", "confidence", measured.word("/validity/confidence"), "medium".to_owned());
        for (half, truth) in [("first", 20.0), ("second", 10.0)] {
            let pointer = format!("/stationarity/down/{half}_half_bps");
            rows.near(
                "R3",
                format!("rate of the {half} half, Mbit/s"),
                measured.number(&pointer).map(|bits| bits / 1e6),
                truth,
                0.5,
            );
        }
    },
};

pub(crate) const NOT_FILLED: Bed = Bed {
    name: "not_filled",
    about: "50/50 Mbit/s and streams that pace themselves at 5 Mbit/s: nothing is loaded, and it is reported.",
    runs: Runs::InAccuracy,
    run: |rows| {
        let plan = loaded(20, "pacing_rate = \"5Mbit/s\"");
        let rate = "rate = \"50Mbit/s\"";
        let measured = Setting::new(link(20, rate, rate), plan).measure();
        says(rows, "R3", "", &measured, "not_saturated", true);
        rows.equal("R3", "confidence", measured.word("/validity/confidence"), "low".to_owned());
    },
};

pub(crate) const FILLED: Bed = Bed {
    name: "filled",
    about: "20/8 Mbit/s, fq_codel: a plain good line, of which nothing else may be said.",
    runs: Runs::InAccuracy,
    run: |rows| {
        let measured = Setting::new(link(20, FQ_CODEL[0], FQ_CODEL[1]), two()).measure();
        rows.equal("R9", "verdict", measured.word("/validity/verdict"), "valid".to_owned());
        rows.equal("R3", "confidence", measured.word("/validity/confidence"), "high".to_owned());
        for (name, truth) in [("down", 20.0), ("up", 8.0)] {
            let pointer = format!("/link_octets/load/{name}/all/carried_bps");
            let carried = measured.number(&pointer).map(|bits| bits / 1e6);
            rows.near("R15", format!("carried {name}, Mbit/s"), carried, truth, truth * 0.03);
        }
    },
};
