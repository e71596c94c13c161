//! How much a lab carries on this machine: bulk TCP both ways through a link, with what the lab itself says of it.
//!
//! `throughput [Mbit/s up] [Mbit/s down] [seconds] [streams a direction]`

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread::sleep;
use std::time::Duration;

use rrul_lab::{DirectionTruth, Fate, Host, Lab, LabTime, Link, percentile};
use rrul_model::flow::AddressFamily;

const OCTETS_A_CALL: usize = 128 * 1024;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<u64>());
    let mut next = |default| arguments.next().unwrap_or(Ok(default));
    let (up, down, seconds, streams) = (next(500)?, next(500)?, next(5)?, next(1)?);
    let text = format!(
        "# Throughput\nrtt = \"10ms\"\n[up]\nrate = \"{up}Mbit/s\"\nqueue = \"fq_codel\"\n\
         [down]\nrate = \"{down}Mbit/s\"\nqueue = \"fq_codel\"\n"
    );
    let lab = Lab::up(&Link::from_toml("throughput.toml", &text)?, 1)?;
    for stream in 0..streams {
        if up > 0 {
            load(lab.client(), lab.server(), 9000 + stream as u16)?;
        }
        if down > 0 {
            load(lab.server(), lab.client(), 8000 + stream as u16)?;
        }
    }
    // The first second is slow start.
    sleep(Duration::from_secs(1));
    let begin = rrul_lab::now();
    sleep(Duration::from_secs(seconds));
    let end = rrul_lab::now();
    let truth = lab.truth()?;
    println!("real-time priority: {}", truth.realtime);
    print("up", &truth.up, begin, end);
    print("down", &truth.down, begin, end);
    Ok(())
}

/// Starts a bulk stream from one host to the other; it ends with the process.
fn load(from: &Host, to: &Host, port: u16) -> Result<(), Box<dyn std::error::Error>> {
    let address = SocketAddr::new(to.address(AddressFamily::Ipv4), port);
    let listener = to.run(move || TcpListener::bind(address))??;
    to.spawn(move || -> std::io::Result<()> {
        let (mut stream, _) = listener.accept()?;
        let mut octets = vec![0; OCTETS_A_CALL];
        while stream.read(&mut octets)? > 0 {}
        Ok(())
    })?;
    from.spawn(move || -> std::io::Result<()> {
        let stream = TcpStream::connect(address)?;
        socket2::SockRef::from(&stream).set_tcp_congestion(b"cubic")?;
        let octets = vec![0x5a; OCTETS_A_CALL];
        loop {
            (&stream).write_all(&octets)?;
        }
    })?;
    Ok(())
}

fn print(name: &str, truth: &DirectionTruth, begin: LabTime, end: LabTime) {
    let seconds = end.since(begin) as f64 / 1e9;
    let rate = |octets: u64| octets as f64 * 8.0 / 1e6 / seconds;
    let of = |values: Vec<u64>| {
        let at = |percent| percentile(&values, percent).unwrap_or(0) as f64 / 1e6;
        format!("P50 {:.3}, P95 {:.3}, P99 {:.3}, max {:.3} ms", at(50.0), at(95.0), at(99.0), at(100.0))
    };
    println!(
        "{name}: {:.1} Mbit/s of L3, {:.1} Mbit/s above TCP, {} packets, {} AQM drops, {} overflows, {} missed, {} refused",
        rate(truth.delivered_octets(begin..end).0),
        rate(truth.unique_tcp_payload(begin..end).0),
        truth.records().count(),
        truth.count(Fate::AqmDrop),
        truth.count(Fate::Overflow),
        truth.missed,
        truth.refused,
    );
    println!("  busiest second {:.2} Mbit", truth.busiest_second().0 as f64 * 8.0 / 1e6);
    println!("  queueing delay {}", of(truth.queueing_delays(begin..end)));
    println!("  lateness       {}", of(truth.lateness()));
}
