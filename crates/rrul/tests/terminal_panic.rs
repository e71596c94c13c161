//! A panic while the screen stands: the terminal is given back before the panic is reported, and the program goes on.
//!
//! The program has no panic to offer, so this one is its own: it takes the terminal as `rrul run` does, with the very
//! modules of it, and panics in another thread. Its own harness, as it is started three times over: as the test, as the
//! program in the pseudo-terminal, and as that one's guard.
#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![allow(dead_code, reason = "modules of the program and of another test, of which this one uses a part")]

#[path = "terminal/pseudo_terminal.rs"]
mod pseudo_terminal;

/// As much of the program's own module as owns the terminal.
#[path = "../src/live_screen"]
mod live_screen {
    pub(crate) mod guard;
    mod settings;
    pub(crate) mod terminal;

    /// Takes the terminal, and panics in another thread.
    pub(crate) fn panic_while_it_stands() {
        let candidate = terminal::Candidate::find().expect("stderr is a terminal, and this program is in front of it");
        let screen = candidate.take().expect("the terminal can be taken");
        assert!(screen.draw("a picture"));
        terminal::say("something to say");
        let thread = std::thread::Builder::new().name("unlucky".to_owned());
        assert!(thread.spawn(|| panic!("on purpose")).unwrap().join().is_err());
        assert!(!terminal::stands() && !screen.draw("too late"));
        eprintln!("and the rest goes on");
    }
}

use std::process::Command;

use pseudo_terminal::Terminal;

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some(live_screen::guard::COMMAND) => live_screen::guard::watch(),
        Some("panic-in-the-terminal") => live_screen::panic_while_it_stands(),
        // As the standard harness does when it is asked for its list of tests.
        Some("--list") => println!("a_panic_is_told_on_a_terminal_that_was_given_back: test"),
        _ => a_panic_is_told_on_a_terminal_that_was_given_back(),
    }
}

fn a_panic_is_told_on_a_terminal_that_was_given_back() {
    let terminal = Terminal::new(80, 24);
    let mut command = Command::new("setsid");
    command.arg("--ctty").arg(std::env::current_exe().unwrap()).arg("panic-in-the-terminal");
    let status = command.stdin(terminal.end()).stdout(terminal.end()).stderr(terminal.end()).status().unwrap();
    terminal.wait_for("and the rest goes on");
    terminal.assert_sane();
    let said = terminal.said();
    assert!(status.success(), "{said}");
    for words in ["something to say", "thread 'unlucky'", "on purpose"] {
        assert!(said.contains(words), "no \"{words}\" in: {said}");
    }
    assert!(!said.contains("a picture") && !said.contains("too late"), "{said}");
    println!("test a_panic_is_told_on_a_terminal_that_was_given_back ... ok");
}
