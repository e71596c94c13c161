//! `rrul run` in a terminal: a real pseudo-terminal, with an emulator behind it that knows what is on the screen.
//!
//! What counts is what a user sees while it runs, and has afterwards: the terminal set as before, its cursor, the screen
//! that was there, the summary below it, and the recording on disk.
#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of test functions, and a test may panic")]

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::num::NonZeroU16;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{Termios, Winsize, tcgetattr, tcsetwinsize};

const PROGRAM: &str = env!("CARGO_BIN_EXE_rrul");

/// Longer than anything here takes on a busy machine; what is not over by then hangs.
const HANGS: Duration = Duration::from_mins(1);

/// One paced stream each way and one probe flow, with as long a load as a test wants.
fn plan(load: &str) -> String {
    format!(
        "title = \"a short test\"
phases = {{ idle = \"1s\", load = \"{load}\", after = \"500ms\" }}
[flow.bulk]
type = \"bulk_tcp\"
component = \"load\"
during = [\"load\"]
pacing_rate = \"20Mbit/s\"
each.direction = [\"up\", \"down\"]
[flow.probe]
type = \"udp_probe\"
component = \"realtime\"
each.class = [\"BE\", \"EF\"]
"
    )
}

/// A folder of its own for a test, gone with the value.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("rrul-terminal-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A server on a free port of 127.0.0.1, killed with the value.
struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn start() -> Self {
        let mut command = Command::new(PROGRAM);
        command.args(["server", "--port", "0", "--listen", "127.0.0.1"]);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.strip_prefix("listening on ").and_then(|rest| rest.split(',').next());
        Self { child, address: address.expect("the server listens").to_owned() }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A pseudo-terminal whose far end is read by an emulator.
struct Terminal {
    near: OwnedFd,
    far: OwnedFd,
    before: Termios,
    emulator: Arc<Mutex<vt100::Parser>>,
    /// Everything that was written to it.
    written: Arc<Mutex<Vec<u8>>>,
}

fn cells(count: u16) -> NonZeroU16 {
    NonZeroU16::new(count).unwrap()
}

impl Terminal {
    fn new(columns: u16, rows: u16) -> Self {
        let near = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&near).unwrap();
        unlockpt(&near).unwrap();
        let far = ioctl_tiocgptpeer(&near, OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        let before = tcgetattr(&far).unwrap();
        let emulator = Arc::new(Mutex::new(vt100::Parser::new(cells(rows), cells(columns), 1000)));
        let written = Arc::new(Mutex::new(Vec::new()));
        let mut output = File::from(near.try_clone().unwrap());
        let (shown, kept) = (Arc::clone(&emulator), Arc::clone(&written));
        // Ends with the far end: a read fails when nobody has it open any more.
        std::thread::spawn(move || {
            let mut octets = [0; 65536];
            while let Ok(count @ 1..) = output.read(&mut octets) {
                kept.lock().unwrap().extend_from_slice(&octets[..count]);
                shown.lock().unwrap().process(&octets[..count]);
            }
        });
        let terminal = Self { near, far, before, emulator, written };
        terminal.resize(columns, rows);
        terminal
    }

    /// The emulator first, as a window does: its program hears of it afterwards.
    fn resize(&self, columns: u16, rows: u16) {
        self.emulator.lock().unwrap().screen_mut().set_size(cells(rows), cells(columns));
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&self.far, size).unwrap();
    }

    fn lines(&self) -> Vec<String> {
        let emulator = self.emulator.lock().unwrap();
        let (_, columns) = emulator.screen().size();
        emulator.screen().rows(0, columns.into()).map(|row| row.trim_end().to_owned()).collect()
    }

    fn has(&self, words: &str) -> bool {
        self.lines().iter().any(|line| line.contains(words))
    }

    fn wait_for(&self, words: &str) {
        self.wait_until(&format!("\"{words}\""), || self.has(words));
    }

    fn wait_until(&self, what: &str, condition: impl Fn() -> bool) {
        let deadline = Instant::now() + HANGS;
        while !condition() {
            assert!(Instant::now() < deadline, "waited in vain for {what}:\n{}", self.lines().join("\n"));
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn type_keys(&self, keys: &str) {
        File::from(self.near.try_clone().unwrap()).write_all(keys.as_bytes()).unwrap();
    }

    /// What came in that was not said on the alternate screen, scroll-back included.
    fn said(&self) -> String {
        let written = self.written.lock().unwrap();
        let text = String::from_utf8_lossy(&written).into_owned();
        let mut said = String::new();
        for part in text.split("\x1b[?1049h") {
            match part.split_once("\x1b[?1049l") {
                Some((_, after)) => said.push_str(after),
                None if said.is_empty() => said.push_str(part),
                None => {}
            }
        }
        said
    }

    /// Asserts that the terminal is as it was before the program.
    fn assert_sane(&self) {
        // The guard of a killed program needs a moment.
        self.wait_until("the screen to be left", || !self.emulator.lock().unwrap().screen().alternate_screen());
        self.wait_until("the settings to be set back", || {
            format!("{:?}", tcgetattr(&self.far).unwrap()) == format!("{:?}", self.before)
        });
        let emulator = self.emulator.lock().unwrap();
        assert!(!emulator.screen().hide_cursor(), "the cursor is hidden");
        assert!(!emulator.screen().bold() && emulator.screen().fgcolor() == vt100::Color::Default, "in the last style");
    }
}

/// A run in a terminal.
struct Run {
    terminal: Terminal,
    child: Child,
    folder: Folder,
    _server: Server,
}

impl Run {
    /// Starts a run of so much load in a session of its own, whose terminal this is.
    fn start(terminal: Terminal, load: &str, more: &[&str], variables: &[(&str, &str)]) -> Self {
        let (server, folder) = (Server::start(), Folder::new());
        fs::write(folder.0.join("short.toml"), plan(load)).unwrap();
        let mut command = Command::new("setsid");
        command.args(["--ctty", PROGRAM, "run", &server.address, "--plan", "short.toml", "-o", "out"]).args(more);
        command.current_dir(&folder.0).env_remove("NO_COLOR").env_remove("LC_ALL").env_remove("COLORTERM");
        command.env("TERM", "xterm-256color").env("LANG", "C.UTF-8").envs(variables.iter().copied());
        let end = || Stdio::from(terminal.far.as_fd().try_clone_to_owned().unwrap());
        let child = command.stdin(end()).stdout(end()).stderr(end()).spawn().unwrap();
        Self { terminal, child, folder, _server: server }
    }

    /// Waits until the load is on the screen.
    fn wait_for_load(&self) {
        self.terminal.wait_until("rates of the load", || {
            self.terminal.has("load, ") && self.terminal.has("Download 2") && self.terminal.has("Upload 2")
        });
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    fn end(&mut self) -> ExitStatus {
        let mut status = None;
        let deadline = Instant::now() + HANGS;
        while status.is_none() {
            status = self.child.try_wait().unwrap();
            assert!(Instant::now() < deadline, "it does not end:\n{}", self.terminal.lines().join("\n"));
            std::thread::sleep(Duration::from_millis(10));
        }
        status.unwrap()
    }

    fn recording(&self) -> PathBuf {
        self.folder.0.join("out.rrul")
    }

    /// Asserts that the run was stopped politely: its summary below what was there, its recording kept, exit code 1.
    fn assert_stopped(&mut self) {
        let status = self.end();
        assert_eq!(status.code(), Some(1), "{}", self.terminal.said());
        self.terminal.assert_sane();
        let deadline = Instant::now() + HANGS;
        while !self.terminal.said().contains("recording: out.rrul") {
            assert!(Instant::now() < deadline, "no summary: {}", self.terminal.said());
            std::thread::sleep(Duration::from_millis(10));
        }
        let said = self.terminal.said();
        assert!(said.contains("stopped by the user") && said.contains("Goodput under load"), "{said}");
        assert!(self.recording().exists());
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Every part of the screen is where a terminal of this size has room for it.
fn assert_whole_screen(terminal: &Terminal, columns: usize, rows: usize) {
    let lines = terminal.lines();
    let text = lines.join("\n");
    for words in ["short to 127.0.0.1", "Download ", "Upload ", "Round-trip delay ", "Equaliser", "variation", "loss"] {
        assert!(text.contains(words), "no \"{words}\" in:\n{text}");
    }
    assert_eq!(lines.len(), rows);
    assert!(lines[rows - 1].contains("Busiest core") && lines[rows - 1].ends_with("what was measured"), "{text}");
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
    run.terminal.wait_for("recording: out.rrul");
    let said = run.terminal.said();
    assert!(matches!(ended.code(), Some(0 | 1)), "{said}");
    assert!(said.starts_with("short: 4 flows over ipv4, 6 s"), "{said}");
    assert!(said.contains("Goodput under load") && !said.contains("Equaliser"), "{said}");
    assert!(run.recording().exists());
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
            run.terminal.lines()[last].chars().count() == usize::from(columns) && run.terminal.has("Equaliser")
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
    assert!(run.terminal.said().contains("rrul: stopping; once more to give up at once"), "said again below the screen");
}

#[test]
fn q_stops_as_control_c_does_and_other_keys_leave_no_trace() {
    let mut run = Run::start(Terminal::new(80, 24), "30s", &[], &[]);
    run.wait_for_load();
    // Neither Ctrl-Z nor Ctrl-S may stop a measurement half-way.
    run.terminal.type_keys("xyz\x1a\x13\x1b[A");
    std::thread::sleep(Duration::from_millis(1500));
    assert_whole_screen(&run.terminal, 80, 24);
    assert!(!run.terminal.has("xyz") && !run.terminal.has("^Z"), "{}", run.terminal.lines().join("\n"));
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
        run.terminal.has("once more to give up") || !run.terminal.emulator.lock().unwrap().screen().alternate_screen()
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
        assert!(Path::new(&run.folder.0.join("out.rrul.part")).exists());
        assert!(run.terminal.said().contains("short: 4 flows"), "what was there is there again");
    }
}

#[test]
fn a_run_that_is_killed_before_it_drew_leaves_the_terminal_alone() {
    let terminal = Terminal::new(80, 24);
    let folder = Folder::new();
    // Nobody answers there: it waits for its connection.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap().to_string();
    let mut command = Command::new("setsid");
    command.args(["--ctty", PROGRAM, "run", &address, "-o", "out"]).current_dir(&folder.0);
    command.env("TERM", "xterm").env("LANG", "C.UTF-8");
    let end = || Stdio::from(terminal.far.as_fd().try_clone_to_owned().unwrap());
    let mut child = command.stdin(end()).stdout(end()).stderr(end()).spawn().unwrap();
    let (_connection, _) = silent.accept().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    std::thread::sleep(Duration::from_millis(500));
    terminal.assert_sane();
    assert_eq!(terminal.said(), "");
}

#[test]
fn a_terminal_that_takes_nothing_holds_neither_the_test_nor_its_end() {
    let mut run = Run::start(Terminal::new(80, 24), "3s", &[], &[]);
    run.wait_for_load();
    // As an emulator that hangs: nobody reads what comes.
    let emulator = Arc::clone(&run.terminal.emulator);
    let hanging = emulator.lock().unwrap();
    for _ in 0..100 {
        std::thread::sleep(Duration::from_millis(100));
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
fn no_color_draws_without_colours() {
    let mut run = Run::start(Terminal::new(80, 24), "30s", &[], &[("NO_COLOR", "1")]);
    run.wait_for_load();
    run.signal(Signal::INT);
    run.assert_stopped();
    let written = String::from_utf8_lossy(&run.terminal.written.lock().unwrap()).into_owned();
    let colour = |look: &str| look.split(';').any(|code| matches!(code.as_bytes(), [b'3' | b'4' | b'9', _] | b"38" | b"48"));
    let looks = written.split("\x1b[").filter_map(|rest| rest.split_once('m')).map(|(look, _)| look);
    let coloured: Vec<&str> = looks.filter(|look| look.bytes().all(|c| c.is_ascii_digit() || c == b';') && colour(look)).collect();
    assert!(coloured.is_empty(), "{coloured:?}");
}

#[test]
fn plain_lines_when_asked_for_and_where_braille_cannot_be_shown() {
    let cases: [(&[&str], &[(&str, &str)], bool); 4] = [
        (&["--plain"], &[], false),
        (&[], &[("TERM", "dumb")], false),
        (&[], &[("TERM", "linux")], true),
        (&[], &[("LANG", "C")], true),
    ];
    for (arguments, variables, overwrites) in cases {
        let mut run = Run::start(Terminal::new(80, 24), "1s", arguments, variables);
        run.end();
        run.terminal.wait_for("recording: out.rrul");
        run.terminal.assert_sane();
        let written = String::from_utf8_lossy(&run.terminal.written.lock().unwrap()).into_owned();
        let case = format!("{arguments:?} {variables:?}: {written}");
        assert!(!written.contains("\x1b[?1049h"), "{case}");
        assert_eq!(written.contains("\r\x1b[Kshort: load "), overwrites, "{case}");
        assert_eq!(written.contains("\nshort: load "), !overwrites, "{case}");
    }
}
