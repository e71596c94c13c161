//! `rrul run` in a terminal: a real pseudo-terminal, with an emulator behind it that knows what is on the screen.
//!
//! What counts is what a user sees while it runs, and has afterwards: the terminal set as before, its cursor, the screen
//! that was there, the summary below it, and the recording on disk.
#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of test functions, and a test may panic")]

#[path = "../faults/program.rs"]
#[allow(dead_code, reason = "this test uses its own share of it")]
mod program;
mod pseudo_terminal;
mod run;

use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::Signal;

use program::{Folder, PROGRAM};
use pseudo_terminal::Terminal;
use run::Run;

/// Every part of the screen is where a terminal of this size has room for it.
fn assert_whole_screen(terminal: &Terminal, columns: usize, rows: usize) {
    let lines = terminal.lines();
    let text = lines.join("\n");
    for words in ["short to 127.0.0.1", "Download ", "Upload ", "Round-trip delay ", "Equalizer", "variation", "loss"] {
        assert!(text.contains(words), "no \"{words}\" in:\n{text}");
    }
    assert_eq!(lines.len(), rows);
    assert!(lines[rows - 1].contains("Busiest core") && lines[rows - 1].ends_with("keep the results"), "{text}");
    assert_eq!(lines[rows - 1].chars().count(), columns, "the last line reaches to the edge: {text}");
    let braille = text.chars().filter(|c| ('\u{2801}'..='\u{28ff}').contains(c)).count();
    assert!(braille > 20, "{braille} braille cells in:\n{text}");
}

#[test]
fn a_run_at_80_by_24_draws_and_leaves_its_summary_in_the_scroll_back() {
    let mut run = Run::start(Terminal::new(80, 24), "4s", &[], &[]);
    run.wait_for_load();
    assert!(run.terminal.emulator.lock().unwrap().screen().alternate_screen());
    assert!(run.terminal.emulator.lock().unwrap().screen().hide_cursor());
    assert_whole_screen(&run.terminal, 80, 24);
    let ended = run.end();
    run.terminal.assert_sane();
    run.terminal.wait_for("rrul report out.rrul");
    let said = run.terminal.said();
    assert!(matches!(ended.code(), Some(0 | 1)), "{said}");
    assert!(said.starts_with("short: 4 flows over ipv4, 6 s"), "{said}");
    assert!(said.contains("Under load (BE, EF)") && !said.contains("Equalizer"), "{said}");
    assert!(run.recording().exists());
    let screen = run.terminal.emulator.lock().unwrap().screen().contents();
    assert!(screen.contains("short to ") && screen.contains("rrul report out.rrul"), "all on one screen: {screen}");
}

#[test]
fn a_run_at_200_by_50_uses_its_room_and_follows_a_new_size() {
    let mut run = Run::start(Terminal::new(200, 50), "12s", &[], &[]);
    run.wait_for_load();
    assert_whole_screen(&run.terminal, 200, 50);
    assert!(run.terminal.has("longest"), "the table of delays");
    for (columns, rows) in [(80, 24), (120, 30), (100, 40)] {
        run.terminal.resize(columns, rows);
        let last = usize::from(rows) - 1;
        run.terminal.wait_until("the last line at its new place", || {
            run.terminal.lines()[last].chars().count() == usize::from(columns) && run.terminal.has("Equalizer")
        });
        assert_whole_screen(&run.terminal, columns.into(), rows.into());
    }
    run.terminal.resize(40, 10);
    run.terminal.wait_until("one line", || run.terminal.lines().iter().filter(|line| !line.is_empty()).count() == 1);
    run.signal(Signal::INT);
    run.assert_stopped();
}

#[test]
fn control_c_typed_stops_politely() {
    let mut run = Run::start(Terminal::new(80, 24), "30s", &[], &[]);
    run.wait_for_load();
    run.terminal.type_keys("\x03");
    run.assert_stopped();
    assert!(run.terminal.said().contains("rrul: stopping; press again to quit at once"), "said again below the screen");
}

#[test]
fn q_stops_as_control_c_does_and_other_keys_leave_no_trace() {
    let mut run = Run::start(Terminal::new(80, 24), "30s", &[], &[]);
    run.wait_for_load();
    // Neither Ctrl-Z nor Ctrl-S may stop a measurement half-way.
    run.terminal.type_keys("xyz quick\x1a\x13\x1b[A");
    std::thread::sleep(Duration::from_millis(1500));
    assert_whole_screen(&run.terminal, 80, 24);
    assert!(!run.terminal.has("xyz quick") && !run.terminal.has("^Z"), "{}", run.terminal.lines().join("\n"));
    run.terminal.type_keys("q");
    run.assert_stopped();
}

#[test]
fn polite_kills_and_a_closed_window_restore_the_terminal() {
    for signal in [Signal::TERM, Signal::HUP] {
        let mut run = Run::start(Terminal::new(80, 24), "30s", &[], &[]);
        run.wait_for_load();
        run.signal(signal);
        run.assert_stopped();
    }
}

#[test]
fn control_c_twice_ends_at_once_and_restores_the_terminal() {
    let mut run = Run::start(Terminal::new(80, 24), "30s", &[], &[]);
    run.wait_for_load();
    // Both before the first can have ended the test.
    run.signal(Signal::STOP);
    run.signal(Signal::INT);
    run.signal(Signal::CONT);
    run.terminal.wait_until("the first to be heard", || {
        run.terminal.has("press again to quit") || !run.terminal.emulator.lock().unwrap().screen().alternate_screen()
    });
    run.signal(Signal::INT);
    let code = run.end().code();
    // A test that has ended between the two is a stopped one.
    assert!(matches!(code, Some(130 | 1)), "{code:?}");
    run.terminal.assert_sane();
}

#[test]
fn a_run_that_is_killed_leaves_a_sane_terminal_and_a_readable_file() {
    for signal in [Signal::KILL, Signal::QUIT, Signal::ABORT] {
        let mut run = Run::start(Terminal::new(80, 24), "30s", &[], &[]);
        run.wait_for_load();
        run.signal(signal);
        assert_eq!(run.end().signal(), Some(signal.as_raw()));
        run.terminal.assert_sane();
        assert!(run.folder.file("out.rrul.part").exists());
        assert!(run.terminal.said().contains("short: 4 flows"), "the earlier content is back");
    }
}

#[test]
fn a_run_that_is_killed_before_it_drew_leaves_the_terminal_alone() {
    let terminal = Terminal::new(80, 24);
    let folder = Folder::new();
    // No host answers there: it waits for its connection.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap().to_string();
    let mut command = Command::new("setsid");
    command.args(["--ctty", PROGRAM, "run", &address, "-o", "out"]).current_dir(folder.path());
    command.env("TERM", "xterm").env("LANG", "C.UTF-8");
    let mut child = command.stdin(terminal.end()).stdout(terminal.end()).stderr(terminal.end()).spawn().unwrap();
    let (_connection, _) = silent.accept().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    std::thread::sleep(Duration::from_millis(500));
    terminal.assert_sane();
    assert_eq!(terminal.said(), "");
}

#[test]
fn a_terminal_that_takes_nothing_delays_neither_the_test_nor_its_end() {
    let mut run = Run::start(Terminal::new(200, 50), "6s", &[], &[]);
    run.wait_for_load();
    // As an emulator that hangs: the output is not read, and whole pictures come, for the size changes.
    let emulator = Arc::clone(&run.terminal.emulator);
    let hanging = emulator.lock().unwrap();
    for look in 0..60 {
        std::thread::sleep(Duration::from_millis(250));
        run.terminal.tell_size(200 - look % 2, 50);
        if run.recording().exists() {
            break;
        }
    }
    assert!(run.recording().exists(), "the test came to its end, and its recording is whole");
    drop(hanging);
    run.end();
    run.terminal.assert_sane();
}

#[test]
fn a_run_that_was_stopped_and_goes_on_draws_anew() {
    let mut run = Run::start(Terminal::new(80, 24), "30s", &[], &[]);
    run.wait_for_load();
    run.signal(Signal::STOP);
    // What a shell does that has the terminal meanwhile.
    run.terminal.show("\x1b[?1049l\x1b[?25h\x1b[2J$ fg\r\n");
    std::thread::sleep(Duration::from_secs(3));
    run.signal(Signal::CONT);
    run.wait_for_load();
    assert_whole_screen(&run.terminal, 80, 24);
    assert!(!run.terminal.has("$ fg"));
    run.signal(Signal::INT);
    run.assert_stopped();
}

#[test]
fn in_the_background_no_screen_is_drawn() {
    let by = ["sh", "-mc", "\"$@\" & wait", "sh"];
    let mut run = Run::start_by(&by, Terminal::new(80, 24), "1s", &[], &[]);
    run.end();
    run.terminal.wait_for("rrul report out.rrul");
    run.terminal.assert_sane();
    let written = String::from_utf8_lossy(&run.terminal.written.lock().unwrap()).into_owned();
    assert!(!written.contains("\x1b[?1049h") && written.contains("short: load "), "{written}");
}

#[test]
fn no_color_draws_without_colors() {
    let mut run = Run::start(Terminal::new(80, 24), "30s", &[], &[("NO_COLOR", "1")]);
    run.wait_for_load();
    run.signal(Signal::INT);
    run.assert_stopped();
    let written = String::from_utf8_lossy(&run.terminal.written.lock().unwrap()).into_owned();
    let colour = |look: &str| look.split(';').any(|code| matches!(code.as_bytes(), [b'3' | b'4' | b'9', _]));
    let looks = written.split("\x1b[").filter_map(|rest| rest.split_once('m')).map(|(look, _)| look);
    let coloured: Vec<&str> =
        looks.filter(|look| look.bytes().all(|c| c.is_ascii_digit() || c == b';') && colour(look)).collect();
    assert!(coloured.is_empty(), "{coloured:?}");
}

#[test]
fn plain_lines_when_asked_for_and_where_braille_cannot_be_shown() {
    type Case<'a> = (&'a [&'a str], &'a [(&'a str, &'a str)], bool);
    let cases: [Case<'_>; 4] = [
        (&["--plain"], &[], false),
        (&[], &[("TERM", "dumb")], false),
        (&[], &[("TERM", "linux")], true),
        (&[], &[("LANG", "C")], true),
    ];
    for (arguments, variables, overwrites) in cases {
        let mut run = Run::start(Terminal::new(80, 24), "1s", arguments, variables);
        run.end();
        run.terminal.wait_for("rrul report out.rrul");
        run.terminal.assert_sane();
        let written = String::from_utf8_lossy(&run.terminal.written.lock().unwrap()).into_owned();
        let case = format!("{arguments:?} {variables:?}: {written}");
        assert!(!written.contains("\x1b[?1049h"), "{case}");
        assert_eq!(written.contains("\r\x1b[Kshort: load "), overwrites, "{case}");
        assert_eq!(written.contains("\nshort: load "), !overwrites, "{case}");
    }
}
