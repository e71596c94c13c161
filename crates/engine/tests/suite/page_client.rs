//! What the client of the synthetic page takes for a page: the objects of its manifest, and nothing else that answers.

use std::cell::{Cell, RefCell};
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::rc::Rc;
use std::time::Duration;

use crate::common::{options, plan, record, server};
use rrul_engine::clock::RawTime;
use rrul_engine::clock::test_clock::TestClock;
use rrul_engine::web::client::Visitor;
use rrul_engine::web::client::page_load::{Times, load};
use rrul_model::flow::{AddressFamily, Component, FlowId, FlowSpec, Parameters};
use rrul_model::marking::ServiceClass;
use rrul_model::observation::{Observation, ObservationPoint, PageLoad, WebObject};
use rrul_model::page::Page;
use rrul_model::time::{TestTime, Window};
use rrul_model::units::Delay;
use rrul_proto::name_responder::Asked;
use rrul_proto::token::Token;

const PAGE: &str = r#"
title = "two objects over plain HTTP/1.1"
secure = false
[[host]]
name = "www"
protocol = "http/1.1"
[[object]]
kind = "html"
host = 0
octets = 3
[[object]]
kind = "image"
host = 0
octets = 5
parent = 0
"#;

/// The responses of a server on 127.0.0.1: returns what it answers to a request for this path.
type Responses = fn(path: &str) -> &'static str;

const DOCUMENT: &str = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc";
const IMAGE: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabcde";

/// Serves names, and pages with these responses, until the test ends.
fn serve(responses: Responses) -> SocketAddr {
    // A port that is free for TCP may be another test's for UDP.
    let both = || {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let names = UdpSocket::bind(listener.local_addr().unwrap()).ok()?;
        Some((listener, names))
    };
    let (listener, names) = (0..100).find_map(|_| both()).expect("a port that is free for TCP and UDP");
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let mut room = [0; 1500];
        while let Ok((length, asker)) = names.recv_from(&mut room) {
            let answer = Asked::read(&room[..length]).unwrap().answer(IpAddr::V4(Ipv4Addr::LOCALHOST));
            names.send_to(&answer, asker).unwrap();
        }
    });
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            std::thread::spawn(move || answer(stream.unwrap(), responses));
        }
    });
    address
}

fn answer(mut stream: TcpStream, responses: Responses) {
    let mut request = Vec::new();
    let mut octet = [0];
    while let Ok(1) = stream.read(&mut octet) {
        request.push(octet[0]);
        if request.ends_with(b"\r\n\r\n") {
            let text = String::from_utf8(std::mem::take(&mut request)).unwrap();
            let answer = responses(text.split(' ').nth(1).unwrap());
            if answer.is_empty() || stream.write_all(answer.as_bytes()).is_err() {
                return;
            }
        }
    }
}

/// One load: its row, and those of its objects by number.
fn loaded(responses: Responses) -> (PageLoad, Vec<WebObject>) {
    let server = serve(responses);
    let clock = TestClock::since(RawTime::now());
    let window = Window { from: TestTime::ZERO, to: TestTime(60_000_000_000) };
    let spec = FlowSpec {
        id: FlowId(3),
        name: "web_page/BE/ipv4".to_owned(),
        flow_type: "web_page".to_owned(),
        component: Component::Web,
        direction: None,
        family: AddressFamily::Ipv4,
        class: ServiceClass::BE,
        window,
        parameters: Parameters::default(),
    };
    let visitor = Rc::new(Visitor {
        spec,
        page: Page::read("two", PAGE).unwrap(),
        version: None,
        server,
        token: Token([7; 16]),
        clock,
        connections: Cell::new(0),
        lookups: Cell::new(0),
        asked: RefCell::default(),
    });
    let cap = clock.now() + Duration::from_secs(30);
    let times = Times { scheduled: TestTime::ZERO, cap, window_end: window.to, linger: TestTime::ZERO };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let over = Cell::new(false);
    let observed = runtime.block_on(load(&visitor, 0, times, std::future::pending(), || over.set(true)));
    assert!(over.get());
    let mut objects = Vec::new();
    let mut page = None;
    for observation in observed {
        match observation {
            Observation::PageLoad(row) => page = Some(row),
            Observation::WebObject(row) => objects.push(row),
            _ => {}
        }
    }
    objects.sort_by_key(|object| object.object);
    (page.unwrap(), objects)
}

fn outcomes(responses: Responses) -> (u8, Vec<(u16, u8)>) {
    let (page, objects) = loaded(responses);
    (page.outcome, objects.iter().map(|object| (object.status, object.outcome)).collect())
}

#[test]
fn a_page_is_complete_when_every_object_is_there() {
    let whole = outcomes(|path| if path == "/two/0" { DOCUMENT } else { IMAGE });
    assert_eq!(whole, (PageLoad::COMPLETE, vec![(200, WebObject::COMPLETE), (200, WebObject::COMPLETE)]));
}

#[test]
fn whatever_else_answers_on_the_way_is_no_page() {
    let elsewhere = outcomes(|_| "HTTP/1.1 302 Found\r\nLocation: /portal\r\nContent-Length: 3\r\n\r\nabc");
    assert_eq!(elsewhere, (PageLoad::FAILED, vec![(302, WebObject::FAILED)]));
    let portal = outcomes(|_| "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsign in");
    assert_eq!(portal, (PageLoad::FAILED, vec![(200, WebObject::FAILED)]));
}

#[test]
fn a_page_without_one_of_its_objects_has_failed_and_says_which() {
    let missing = outcomes(|path| if path == "/two/0" { DOCUMENT } else { "" });
    assert_eq!(missing, (PageLoad::FAILED, vec![(200, WebObject::COMPLETE), (0, WebObject::FAILED)]));
}

#[test]
fn no_load_begins_that_cannot_end_in_its_phase() {
    let text = "title = \"pages\"\nphases = { idle = \"200ms\", load = \"6010ms\" }\n\
                [flow.page]\ntype = \"web_page\"\ncomponent = \"web\"\nduring = [\"load\"]\nfamily = \"ipv4\"\n\
                interval = \"3s\"\n";
    let server = server();
    let recording = record(&options(&server, plan(text))).unwrap();
    let tables = || recording.tables_of(ObservationPoint::Client);
    let loads: Vec<PageLoad> = tables().flat_map(|tables| tables.page_load.rows()).collect();
    let [first] = loads.as_slice() else { panic!("the second has 10 ms left and begins: {loads:?}") };
    assert_eq!(first.outcome, PageLoad::COMPLETE);
    assert!(first.took > Delay(10_000_000), "a page of many objects took {}", first.took);
    let skipped: u32 = tables().flat_map(|tables| tables.probes_skipped.rows()).map(|row| row.count).sum();
    assert_eq!(skipped, 1);
}
