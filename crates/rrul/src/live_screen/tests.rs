//! The screen as a picture, at the sizes that terminals have, and what a terminal makes of it.

#![allow(clippy::unwrap_used, reason = "what helps a test may panic as the test may")]

use std::num::NonZeroU16;
use std::path::Path;
use std::time::Duration;

use ratatui::buffer::Buffer;
use rrul_model::flow::{AddressFamily, Component, Direction, FlowId, FlowSpec, Parameters};
use rrul_model::marking::ServiceClass;
use rrul_model::observation::{
    CpuTime, Observation, ObservationPoint, OctetsReceived, ProbeReceived, ProbeSent, Tables,
};
use rrul_model::phase::Phase;
use rrul_model::plan::{PhaseLength, TestPlan};
use rrul_model::recording::{FORMAT, Frame, Header};
use rrul_model::time::{TestTime, Window};
use rrul_model::units::ByteCount;

use super::layout::draw;
use super::paint::{Painter, blank};
use super::palette::Palette;
use super::shows_braille;
use super::state::State;

const SECOND: i64 = 1_000_000_000;
const MS: i64 = 1_000_000;
const CLASSES: [ServiceClass; 4] = [ServiceClass::BE, ServiceClass::BK, ServiceClass::CS5, ServiceClass::EF];

/// A bloated line of 20 Mbit/s down and 8 Mbit/s up: 5 s idle, 60 s load, 5 s after, seen at 40 s.
fn bloated(families: &[AddressFamily]) -> State {
    let header = header(families);
    let mut state = State::new("rrul", &header);
    for second in 0..40 {
        for point in [ObservationPoint::Client, ObservationPoint::Server] {
            let mut tables = Tables::default();
            for flow in &header.flows {
                observe(flow, point, second, &mut tables);
            }
            processor(point, second, &mut tables);
            let number = u32::try_from(second).unwrap();
            state.frame(&Frame { point, number, dropped: 0, tables, events: Vec::new() });
        }
    }
    state.now = TestTime(40 * SECOND + 300 * MS);
    state
}

fn header(families: &[AddressFamily]) -> Header {
    let length = |phase, seconds| PhaseLength { phase, length: Duration::from_secs(seconds) };
    let plan = TestPlan {
        name: "rrul".to_owned(),
        title: "a test".to_owned(),
        phases: vec![length(Phase::Idle, 5), length(Phase::Load, 60), length(Phase::After, 5)],
        sample_interval: Duration::from_millis(100),
        ..TestPlan::default()
    };
    let mut flows: Vec<FlowSpec> = Vec::new();
    for family in families.iter().copied() {
        for class in CLASSES {
            for direction in Direction::ALL {
                flows.push(flow("bulk_tcp", Component::Load, Some(direction), family, class));
            }
            flows.push(flow("udp_probe", Component::Realtime, None, family, class));
        }
    }
    for (id, flow) in (0..).zip(&mut flows) {
        flow.id = FlowId(id);
    }
    Header {
        format: FORMAT.to_owned(),
        created: "2026-01-02T03:04:05Z".to_owned(),
        phases: plan.phase_windows(),
        plan,
        flows,
        families: families.to_vec(),
        server_name: "server.example".to_owned(),
        ..Header::default()
    }
}

fn flow(
    kind: &str,
    component: Component,
    direction: Option<Direction>,
    family: AddressFamily,
    class: ServiceClass,
) -> FlowSpec {
    let window = match component {
        Component::Load => Window { from: TestTime(5 * SECOND), to: TestTime(65 * SECOND) },
        _ => Window { from: TestTime(0), to: TestTime(70 * SECOND) },
    };
    let (name, flow_type) = (format!("{kind}/{class}/{family}"), kind.to_owned());
    let parameters = Parameters::default();
    FlowSpec { id: FlowId(0), name, flow_type, component, direction, family, class, window, parameters }
}

/// What one end sees of a flow in one second.
fn observe(flow: &FlowSpec, point: ObservationPoint, second: i64, tables: &mut Tables) {
    let place = CLASSES.iter().position(|class| *class == flow.class).unwrap() as i64;
    match (flow.direction, point) {
        (Some(Direction::Down), ObservationPoint::Client) | (Some(Direction::Up), ObservationPoint::Server) => {
            let rate = if flow.direction == Some(Direction::Down) { 3_000_000 } else { 1_200_000 } * (place + 2) / 2;
            for reading in 0..10 {
                let at = TestTime(second * SECOND + reading * 100 * MS);
                let octets = ByteCount(((at.0 - flow.window.from.0).max(0) / MS * rate / 8000) as u64);
                tables.push(OctetsReceived { flow: flow.id, at, octets }.into());
            }
        }
        (None, ObservationPoint::Client) => {
            for packet in 0..50 {
                probe(flow, place, second * 50 + packet, tables);
            }
        }
        _ => {}
    }
}

fn probe(flow: &FlowSpec, place: i64, number: i64, tables: &mut Tables) {
    let (sequence, sent) = (u32::try_from(number).unwrap(), number * 20 * MS);
    let at = TestTime(sent);
    tables.push(ProbeSent { flow: flow.id, sequence, scheduled: at, sent: at }.into());
    let second = sent / SECOND;
    // Expedited forwarding is served well, background waits longest; best effort loses some in a burst.
    let queue = [180, 420, 240, 15][place as usize] * (second - 5).clamp(0, 10) / 10;
    if place == 0 && (20..22).contains(&second) && number % 5 == 0 {
        return;
    }
    let received = TestTime(sent + (20 + queue + number % 7) * MS);
    let reply = ProbeReceived {
        flow: flow.id,
        sequence,
        received,
        read: received,
        reflector_received: TestTime(0),
        reflector_sent: TestTime(0),
        reflector_octet: 0,
        octet: 0,
        reflector_count: 0,
    };
    tables.push(Observation::from(reply));
}

fn processor(point: ObservationPoint, second: i64, tables: &mut Tables) {
    let busy = if point == ObservationPoint::Client { 35 } else { 97 };
    let ticks = second as u64;
    let at = TestTime(second * SECOND);
    let zero = CpuTime { at, core: 0, user: 0, nice: 0, system: 0, idle: 0, iowait: 0, irq: 0, softirq: 0, steal: 0 };
    tables.push(CpuTime { user: busy * ticks, idle: (100 - busy) * ticks, ..zero }.into());
}

fn palette(set: &'static [(&'static str, &'static str)]) -> Palette {
    Palette::of(|name| set.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned()))
}

fn picture(state: &State, size: (u16, u16)) -> Buffer {
    let mut buffer = blank(size);
    draw(state, &palette(&[("COLORTERM", "truecolor")]), &mut buffer);
    buffer
}

/// The characters of a picture, a line for each row.
fn text(buffer: &Buffer) -> String {
    let row = |y| (0..buffer.area.width).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned();
    (0..buffer.area.height).map(|y| row(y) + "\n").collect()
}

/// Compares with `golden/NAME` beside this file; `RRUL_GOLDEN=write` writes it instead.
fn assert_golden(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/live_screen/golden").join(name);
    if std::env::var_os("RRUL_GOLDEN").is_some_and(|value| value == "write") {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(text, golden, "{name} differs; if the new picture is right, run this test with RRUL_GOLDEN=write");
}

const BOTH: [AddressFamily; 2] = AddressFamily::ALL;
const ONE: [AddressFamily; 1] = [AddressFamily::Ipv4];

#[test]
fn a_screen_of_80_by_24_shows_everything() {
    assert_golden("80x24.txt", &text(&picture(&bloated(&ONE), (80, 24))));
    assert_golden("80x24_both_families.txt", &text(&picture(&bloated(&BOTH), (80, 24))));
}

#[test]
fn the_document_shows_the_screen_as_it_is() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/terminal.md");
    let document = std::fs::read_to_string(path).unwrap();
    let picture = text(&picture(&bloated(&ONE), (80, 24)));
    assert!(document.contains(&picture), "docs/terminal.md does not show this:\n{picture}");
}

#[test]
fn a_screen_of_200_by_50_uses_its_room() {
    assert_golden("200x50.txt", &text(&picture(&bloated(&BOTH), (200, 50))));
}

#[test]
fn before_the_first_frame_nothing_is_claimed() {
    assert_golden("80x24_start.txt", &text(&picture(&State::new("rrul", &header(&ONE)), (80, 24))));
}

#[test]
fn a_small_screen_has_one_line() {
    let text = text(&picture(&bloated(&ONE), (59, 24)));
    assert_eq!(text.trim_end().lines().count(), 1, "{text}");
    assert!(text.starts_with("load    30 s left   down 18.9 Mbit/s"), "{text}");
}

#[test]
fn every_size_can_be_drawn() {
    let mut state = bloated(&BOTH);
    let empty = State::new("rrul", &Header { flows: Vec::new(), phases: Vec::new(), ..header(&ONE) });
    for (width, height) in (1..=240).step_by(7).flat_map(|width| (1..=70).step_by(3).map(move |height| (width, height)))
    {
        picture(&state, (width, height));
        picture(&empty, (width, height));
    }
    state.note = Some("rrul: stopping; press again to quit at once".to_owned());
    assert!(text(&picture(&state, (80, 24))).contains("stopping; press again"), "what is printed is seen");
}

#[test]
fn no_color_means_no_color_codes_and_the_same_text() {
    let state = bloated(&ONE);
    let paint = |palette: &Palette| {
        let mut buffer = blank((80, 24));
        draw(&state, palette, &mut buffer);
        (text(&buffer), Painter::default().paint(buffer))
    };
    let (plain, codes) = paint(&palette(&[("NO_COLOR", "1"), ("COLORTERM", "truecolor")]));
    let (coloured, colour_codes) = paint(&palette(&[("COLORTERM", "truecolor")]));
    assert_eq!(plain, coloured);
    assert!(colour_codes.contains(";38;2;"));
    let looks: Vec<&str> = codes.split("\x1b[").filter_map(|code| code.split_once('m')).map(|(look, _)| look).collect();
    let looks: Vec<&str> =
        looks.into_iter().filter(|look| look.chars().all(|c| c.is_ascii_digit() || c == ';')).collect();
    assert!(!looks.is_empty() && looks.iter().all(|look| matches!(*look, "0" | "0;1" | "0;2" | "0;7")), "{looks:?}");
}

#[test]
fn what_is_painted_is_what_a_terminal_shows_frame_by_frame() {
    let cells = |count| NonZeroU16::new(count).unwrap();
    let mut terminal = vt100::Parser::new(cells(24), cells(80), 0);
    let mut painter = Painter::default();
    let mut state = bloated(&ONE);
    for second in 0..30 {
        state.now = TestTime((40 + second) * SECOND);
        let buffer = picture(&state, (80, 24));
        let wanted = text(&buffer);
        let codes = painter.paint(buffer);
        terminal.process(codes.as_bytes());
        assert_eq!(terminal.screen().contents().trim_end(), wanted.trim_end(), "second {second}");
        assert!(second == 0 || codes.len() < 600, "only what changes is painted, not {} bytes", codes.len());
    }
    terminal.screen_mut().set_size(cells(50), cells(200));
    let buffer = picture(&state, (200, 50));
    let wanted = text(&buffer);
    terminal.process(painter.paint(buffer).as_bytes());
    assert_eq!(terminal.screen().contents().trim_end(), wanted.trim_end());
}

#[test]
fn braille_is_for_terminals_that_have_it() {
    let able = |set: &[(&str, &str)]| {
        shows_braille(|name| set.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned()))
    };
    assert!(able(&[("TERM", "xterm"), ("LANG", "en_GB.UTF-8")]));
    assert!(able(&[("TERM", "screen"), ("LANG", "C"), ("LC_CTYPE", "C.utf8")]));
    assert!(!able(&[("TERM", "xterm"), ("LANG", "de_DE.UTF-8"), ("LC_ALL", "C")]), "LC_ALL is above LANG");
    assert!(!able(&[("TERM", "linux"), ("LANG", "C.UTF-8")]) && !able(&[("TERM", "dumb"), ("LANG", "C.UTF-8")]));
    assert!(!able(&[("TERM", "xterm")]) && !able(&[("LANG", "C.UTF-8")]));
}
