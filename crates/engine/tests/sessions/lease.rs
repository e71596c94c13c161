//! What a granted test may do: move bytes when it is to load, and no more of them than it has asked for.

use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use rrul_engine::control_link::LinkError;
use rrul_engine::server::{EventKind, Server, ServerEvent, ServerOptions};
use rrul_proto::control::{ClientMessage, ServerMessage};

use crate::stranger::{Stranger, flows};

const UPLOAD: &str = "title = \"u\"\nphases = { load = \"60s\" }\n[flow.u]\ntype = \"bulk_tcp\"\ndirection = \"up\"\n\
    component = \"load\"\n";

/// A server, and why its sessions have ended.
pub(crate) fn watched() -> (Server, std::sync::mpsc::Receiver<String>) {
    let (sender, ended) = std::sync::mpsc::channel();
    let log = move |event: &ServerEvent| {
        if event.what == EventKind::SessionClosed {
            // The test may have ended.
            let _ = sender.send(event.reason.clone());
        }
    };
    let addresses = vec![std::net::Ipv4Addr::LOCALHOST.into()];
    let options = ServerOptions { addresses, port: 0, log: std::sync::Arc::new(log), ..ServerOptions::default() };
    (Server::start(options).unwrap(), ended)
}

/// Says that it is there until the server ends the session; how long that took.
pub(crate) fn stay(client: &mut Stranger, mut meanwhile: impl FnMut()) -> f64 {
    let begun = Instant::now();
    let mut said: Option<Instant> = None;
    loop {
        if said.is_none_or(|said| said.elapsed() > Duration::from_secs(2)) {
            said = Some(Instant::now());
            // A server that has gone shows in what it sends.
            let _ = rrul_engine::control_link::write(
                &mut client.control,
                &ClientMessage::Alive,
                rrul_engine::control_link::Compression::Never,
            );
        }
        match client.hear_within(Duration::from_millis(100)) {
            Ok(_) | Err(LinkError::Silent(_)) => meanwhile(),
            Err(_) => return begun.elapsed().as_secs_f64(),
        }
        assert!(begun.elapsed() < Duration::from_secs(40), "the session goes on");
    }
}

/// A client whose load has begun, with its stream, on which nothing moves.
fn loading_nothing(server: &Server) -> (Stranger, TcpStream) {
    let mut client = Stranger::new(server);
    let asked = flows(UPLOAD);
    assert!(matches!(client.open(&asked, Duration::from_mins(1)), ServerMessage::Opened { .. }));
    let stream = client.stream(&asked[0]);
    client.begin();
    (client, stream)
}

#[test]
fn a_load_that_moves_nothing_gives_its_turn_back() {
    let (server, ended) = watched();
    let (mut client, _unused) = loading_nothing(&server);
    let took = stay(&mut client, || {});
    assert!((9.5..12.5).contains(&took), "ended after {took} s");
    assert_eq!(ended.recv_timeout(Duration::from_secs(2)).unwrap(), "less than 1000 bytes moved in 10 s");
}

#[test]
fn a_client_whose_load_starves_its_control_connection_is_known_by_its_streams() {
    let (server, ended) = watched();
    let mut client = Stranger::new(&server);
    client.say(&ClientMessage::Alive);
    let asked = flows(UPLOAD);
    assert!(matches!(client.open(&asked, Duration::from_mins(1)), ServerMessage::Opened { .. }));
    let mut stream = client.stream(&asked[0]);
    client.begin();
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(17) {
        stream.write_all(&[0; 1000]).unwrap();
        std::thread::sleep(Duration::from_millis(200));
    }
    assert!(ended.try_recv().is_err(), "its client says nothing, and is there");
    // Nothing moves any more. Who is silent for 15 s has not moved 1000 bytes for 10 s.
    let why = ended.recv_timeout(Duration::from_secs(12)).unwrap();
    assert_eq!(why, "less than 1000 bytes moved in 10 s");
    drop(stream);
}

#[test]
fn a_light_test_that_loads_is_ended() {
    let (server, ended) = watched();
    let mut client = Stranger::new(&server);
    // Within the rate of tests that need no turn: 0.5 Mbit/s for 60 s are 3.75 MB.
    let asked = flows(&format!("{UPLOAD}pacing_rate = \"500kbit/s\"\n"));
    assert!(matches!(client.open(&asked, Duration::from_mins(1)), ServerMessage::Opened { .. }));
    let mut stream = client.stream(&asked[0]);
    stream.set_nonblocking(true).unwrap();
    client.begin();
    let (octets, mut sent) = (vec![7; 1 << 20], 0_u64);
    let took = stay(&mut client, || {
        for _ in 0..20 {
            sent += stream.write(&octets).unwrap_or(0) as u64;
            std::thread::sleep(Duration::from_millis(2));
        }
    });
    assert_eq!(ended.recv_timeout(Duration::from_secs(2)).unwrap(), "more bytes than granted");
    assert!(took < 30.0, "ended after {took} s and {sent} bytes");
}

#[test]
fn a_message_that_stays_incomplete_keeps_no_lease() {
    let (server, ended) = watched();
    let (mut client, _unused) = loading_nothing(&server);
    let begun = Instant::now();
    // What announces a message of nine bytes, and none of them.
    client.control.write_all(&[0, 0, 0, 9]).unwrap();
    while matches!(client.hear_within(Duration::from_millis(100)), Ok(_) | Err(LinkError::Silent(_))) {
        assert!(begun.elapsed() < Duration::from_secs(40), "the session goes on");
    }
    let took = begun.elapsed().as_secs_f64();
    assert!((9.5..12.5).contains(&took), "ended after {took} s");
    assert_eq!(ended.recv_timeout(Duration::from_secs(2)).unwrap(), "less than 1000 bytes moved in 10 s");
}
