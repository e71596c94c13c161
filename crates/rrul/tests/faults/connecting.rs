//! A test that cannot begin: one line says what, where and what to do, and nothing is left on disk.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::Command;
use std::time::Duration;

use rrul_engine::control_link::{Compression, read, write};
use rrul_proto::control::{ClientMessage, ServerMessage};
use rrul_proto::opening::{ClientOpening, Purpose, ServerOpening, Status};
use rrul_proto::token::Token;

use crate::client::{self, Client};
use crate::peer::{Peer, read_opening, stay_silent, welcome};
use crate::program::{Ended, Folder, PROGRAM, SHORT, Server, end_of, run_short, wait_until};

/// The protocol gives a server 5 s to answer (PROTOCOL.md, section 7); a busy machine may add to it.
const ANSWERED: Duration = Duration::from_secs(9);

/// What `rrul run` says of this server; nothing may be left on disk.
fn refused_by(server: &str, more: &[&str]) -> Ended {
    let folder = Folder::with_plan();
    let ended = end_of(run_short(&folder, server, more));
    assert_eq!(folder.recordings(), [""; 0], "{ended:#?}");
    ended
}

#[test]
fn an_unknown_host_is_named() {
    refused_by("nowhere.invalid", &[]).complains(&["nowhere.invalid: unknown host ("]);
}

#[test]
fn a_closed_port_is_named_with_the_question_whether_a_server_runs() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let port = format!("TCP port {}", address.port());
    refused_by(&address.to_string(), &[]).complains(&[&address.to_string(), "refused", "rrul server", &port]);
}

#[test]
fn a_peer_that_is_no_rrul_server_is_called_that() {
    let peers = [
        Peer::new(|mut stream| stream.write_all(b"SSH-2.0-OpenSSH_10.0\r\n").unwrap()),
        Peer::new(|mut stream| {
            read_opening(&mut stream);
            stream.write_all(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n").unwrap();
        }),
        Peer::new(drop),
    ];
    for peer in peers {
        let ended = refused_by(&peer.name(), &[]);
        ended.complains(&[&peer.name(), "not an rrul server", "check host and port"]);
        assert!(ended.took < ANSWERED, "{:?}", ended.took);
    }
}

#[test]
fn a_peer_that_says_nothing_is_given_up_after_five_seconds() {
    let peer = Peer::new(|mut stream| stay_silent(&mut stream));
    let ended = refused_by(&peer.name(), &[]);
    ended.complains(&[&peer.name(), "no answer within 5 s", "rrul server"]);
    assert!(ended.took >= Duration::from_secs(5) && ended.took < ANSWERED, "{:?}", ended.took);
}

#[test]
fn an_older_and_a_newer_server_are_distinguished() {
    let version = |lowest, highest| ServerOpening { status: Status::Version, version: 0, lowest, highest };
    let older = Peer::answering(version(0, 0));
    refused_by(&older.name(), &[])
        .complains(&[&older.name(), "the server speaks protocol 0, this client 1; update the server"]);
    let newer = Peer::answering(version(3, 4));
    refused_by(&newer.name(), &[])
        .complains(&[&newer.name(), "the server speaks protocol 3 to 4, this client 1; update the client"]);
}

#[test]
fn an_answer_of_a_later_protocol_is_not_taken_for_a_stranger() {
    let peer = Peer::new(|mut stream| {
        read_opening(&mut stream);
        stream.write_all(b"RRUL\x09\x00\x01\x02").unwrap();
    });
    refused_by(&peer.name(), &[]).complains(&[&peer.name(), "unknown status 9", "update this client"]);
}

#[test]
fn a_newer_client_is_sent_the_servers_range() {
    let server = Server::start(&[]);
    let mut octets = ClientOpening::new(Purpose::Control, Token::NONE, 0);
    (octets.lowest, octets.highest) = (9, 9);
    let (mut stream, answer) = client::open(server.address(), octets);
    let expected = ServerOpening { status: Status::Version, version: 0, lowest: 1, highest: 1 };
    assert_eq!(answer, expected);
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).unwrap();
    assert_eq!(rest, b"", "the server closes behind its answer");
}

#[test]
fn a_server_that_breaks_off_before_the_test_is_named() {
    let closes = Peer::new(|mut stream| {
        read_opening(&mut stream);
        stream.write_all(&ServerOpening::answer(Status::Accepted, 1).encode()).unwrap();
        welcome(&mut stream);
    });
    let babbles = Peer::new(|mut stream| {
        read_opening(&mut stream);
        stream.write_all(&ServerOpening::answer(Status::Accepted, 1).encode()).unwrap();
        stream.write_all(b"\0\0\0\x05hello").unwrap();
        stay_silent(&mut stream);
    });
    refused_by(&closes.name(), &[]).complains(&[&closes.name(), "lost before the test began"]);
    refused_by(&babbles.name(), &[]).complains(&[&babbles.name(), "not a control message"]);
}

#[test]
fn a_test_longer_than_granted_is_refused_with_both_lengths() {
    let server = Server::start(&["--max-length", "2s"]);
    let said = refused_by(&server.name(), &[]);
    said.complains(&[&server.name(), "a test of 4 s asked for, this server grants 2 s", "--set", "limits"]);
}

#[test]
fn a_server_refuses_what_a_client_asks_for_all_the_same() {
    let server = Server::start(&["--max-length", "2s"]);
    let mut client = Client::new(server.address());
    let sample_interval = Duration::from_millis(100);
    client.say(&ClientMessage::Open { flows: client::flows(), length: Duration::from_secs(4), sample_interval });
    let expected = "a test of 4 s asked for, this server grants 2 s".to_owned();
    assert_eq!(client.hear(), ServerMessage::Refused { reason: expected, retry_after: None });
    assert!(client.is_closed(), "the server closes behind its refusal");
}

#[test]
fn a_refusal_in_words_of_the_servers_own_is_printed() {
    let peer = Peer::new(|mut stream| {
        read_opening(&mut stream);
        stream.write_all(&ServerOpening::answer(Status::Accepted, 1).encode()).unwrap();
        welcome(&mut stream);
        let _: ClientMessage = read(&mut stream, ANSWERED, Compression::Never).unwrap();
        let refusal = ServerMessage::Refused { reason: "no tests on Sundays".to_owned(), retry_after: None };
        write(&mut stream, &refusal, Compression::Never).unwrap();
    });
    refused_by(&peer.name(), &[]).complains(&[&peer.name(), "refuses the test: no tests on Sundays"]);
}

#[test]
fn more_flows_than_granted_are_refused_with_both_numbers() {
    let server = Server::start(&[]);
    // 2 directions, 64 times 10 classes: more than a server grants, and more than fits into one control frame.
    let classes = r#"each.class = ["BE", "BK", "CS1", "CS2", "CS3", "CS4", "CS5", "CS6", "AF11", "EF"]"#;
    let folder = Folder::new();
    folder.write("short.toml", SHORT.replace("each.direction", &format!("count = 64\n{classes}\neach.direction")));
    let said = end_of(run_short(&folder, &server.name(), &[]));
    said.complains(&[&server.name(), "1281 flows asked for, this server grants 256", "--set"]);
}

#[test]
fn flows_that_do_not_fit_into_a_control_frame_are_refused_in_words() {
    let server = Server::start(&[]);
    // Few enough to be granted, but each with the longest words that a server takes.
    let words = format!("count = 60\ncongestion_control = \"{}\"\neach.class = [\"BE\", \"DSCP63\"]", "x".repeat(64));
    let folder = Folder::new();
    folder.write("short.toml", SHORT.replace("each.direction", &format!("{words}\neach.direction")));
    let said = end_of(run_short(&folder, &server.name(), &[]));
    said.complains(&[&server.name(), "241 flows", "--set"]);
}

#[test]
fn a_busy_server_is_called_busy_and_serves_when_it_is_free_again() {
    let mut server = Server::start(&["--max-sessions", "1"]);
    let first = Client::new(server.address());
    refused_by(&server.name(), &["--no-wait"]).complains(&[&server.name(), "busy", "try again"]);
    drop(first);
    let again = || {
        let opening = ClientOpening::new(Purpose::Control, Token::NONE, 0);
        client::open(server.address(), opening).1.status == Status::Accepted
    };
    wait_until("the place of a client that went away", again);
    server.assert_sound();
}

#[test]
fn a_server_that_cannot_listen_says_why() {
    let server = Server::start(&[]);
    let listen = |arguments: &[&str]| {
        let mut command = Command::new(PROGRAM);
        command.arg("server").args(arguments);
        end_of(command)
    };
    let taken = listen(&["--listen", "127.0.0.1", "--port", &server.port().to_string()]);
    taken.complains(&[&server.name(), "another server runs there", "--port"]);
    // RFC 5737: no host has an address of this net.
    let foreign = listen(&["--listen", "192.0.2.1", "--port", "0"]);
    foreign.complains(&["192.0.2.1", "no interface of this host has that address"]);
}
