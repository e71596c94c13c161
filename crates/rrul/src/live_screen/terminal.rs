//! The terminal that the screen is drawn on: taken once, given back whatever happens.
//!
//! The whole process has one terminal, and whoever ends the process must be able to give it back: a second
//! Ctrl-C, a panic in any thread. So it is a static, and giving it back twice does nothing.

use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, Once, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use rrul_model::printable;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::getpgrp;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetpgrp, tcgetwinsize, tcsetattr};

use super::guard::Guard;
use super::settings::{ENTER, LEAVE, quiet, set_back};

/// How long is waited for a frame that is being written when the terminal is given back.
const PATIENCE: Duration = Duration::from_millis(300);

/// What is known of the terminal while the screen stands.
struct Held {
    terminal: OwnedFd,
    before: Termios,
    guard: Guard,
    /// What the program had to say meanwhile.
    notes: Vec<String>,
}

static HELD: Mutex<Option<Held>> = Mutex::new(None);
/// Held while a frame is written.
static WRITING: Mutex<()> = Mutex::new(());

fn held() -> MutexGuard<'static, Option<Held>> {
    // A thread that panicked while it held this has changed nothing by halves.
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A terminal that could be drawn on, with its guard: not taken yet.
#[derive(Debug)]
pub(crate) struct Candidate {
    terminal: OwnedFd,
    guard: Guard,
}

impl Candidate {
    /// The terminal on stderr; `None` without a terminal, in the background, or when no guard can be started.
    pub(super) fn find() -> Option<Self> {
        let terminal = std::io::stderr().as_fd().try_clone_to_owned().ok()?;
        if !in_foreground(&terminal) {
            return None;
        }
        let guard = Guard::start(&terminal)?;
        Some(Self { terminal, guard })
    }

    pub(super) fn take(self) -> Option<Screen> {
        give_back_on_panic();
        let Self { terminal, mut guard } = self;
        let (Ok(before), Ok(own)) = (tcgetattr(&terminal), terminal.try_clone()) else {
            guard.dismiss();
            return None;
        };
        let mut place = held();
        if !guard.is_told() || tcsetattr(&terminal, OptionalActions::Now, &quiet(&before)).is_err() {
            guard.dismiss();
            return None;
        }
        let _ = write_all(&terminal, ENTER);
        *place = Some(Held { terminal, before, guard, notes: Vec::new() });
        Some(Screen { terminal: own })
    }

    /// It is not needed after all.
    pub(crate) fn dismiss(self) {
        self.guard.dismiss();
    }
}

/// What the drawing thread has of the terminal.
#[derive(Debug)]
pub(super) struct Screen {
    terminal: OwnedFd,
}

/// What a key asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    Stop,
}

impl Screen {
    /// Columns and rows; `None` when the terminal does not say, or is gone.
    pub(super) fn size(&self) -> Option<(u16, u16)> {
        let size = tcgetwinsize(&self.terminal).ok()?;
        (size.ws_col > 0 && size.ws_row > 0).then_some((size.ws_col, size.ws_row))
    }

    /// Waits this long, or until a key is pressed.
    pub(super) fn key_within(&self, time: Duration) -> Option<Key> {
        // Whoever reads in the background is stopped.
        if !in_foreground(&self.terminal) {
            std::thread::sleep(time);
            return None;
        }
        let mut wait = [PollFd::new(&self.terminal, PollFlags::IN)];
        let limit = Timespec { tv_sec: 0, tv_nsec: i64::from(time.subsec_nanos()) };
        match poll(&mut wait, Some(&limit)) {
            Ok(0) => return None,
            Ok(_) if wait[0].revents().contains(PollFlags::IN) => {}
            // The terminal is gone.
            _ => {
                std::thread::sleep(time);
                return None;
            }
        }
        let mut typed = [0; 64];
        let Ok(count @ 1..) = rustix::io::read(&self.terminal, &mut typed) else {
            std::thread::sleep(time);
            return None;
        };
        // A key alone: what is pasted, or was typed ahead of the screen, is meant for the shell.
        (typed[..count] == *b"q").then_some(Key::Stop)
    }

    /// Draws, unless the terminal has been given back meanwhile, is not ready, or belongs to another program.
    pub(super) fn draw(&self, text: &str) -> bool {
        let _writing = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
        if !stands() || !in_foreground(&self.terminal) || !is_ready(&self.terminal) {
            return false;
        }
        write_all(&self.terminal, text).is_ok()
    }

    /// Takes the terminal again after this program stood still: the shell had it meanwhile.
    pub(super) fn take_again(&self) {
        let _writing = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
        let place = held();
        let Some(held) = &*place else { return };
        if in_foreground(&self.terminal) && is_ready(&self.terminal) {
            let _ = tcsetattr(&self.terminal, OptionalActions::Now, &quiet(&held.before));
            let _ = write_all(&self.terminal, ENTER);
        }
    }
}

pub(crate) fn stands() -> bool {
    held().is_some()
}

/// Says something to whoever watches: on the screen while it stands, and again on stderr when it has gone.
pub(crate) fn say(words: &str) {
    let words = &*printable::in_lines(words);
    if let Some(held) = &mut *held() {
        held.notes.push(words.trim_start().to_owned());
        return;
    }
    // It may be unread, and the program goes on all the same.
    let _ = writeln!(std::io::stderr(), "{words}");
}

/// The latest thing that was said.
pub(super) fn latest_note() -> Option<String> {
    held().as_ref().and_then(|held| held.notes.last().cloned())
}

/// Gives the terminal back as it was, with what was said meanwhile; does nothing when it is not taken.
pub(crate) fn give_back() {
    let Some(Held { terminal, before, guard, notes }) = held().take() else { return };
    let writing = writing_within(PATIENCE);
    let _ = set_back(&terminal, &before);
    // A terminal that takes nothing would hold this thread, and with it the end of the program.
    if writing.is_none() || !is_ready(&terminal) || write_all(&terminal, LEAVE).is_err() {
        guard.leave_to_it();
        return;
    }
    guard.dismiss();
    for note in notes {
        let _ = writeln!(std::io::stderr(), "{note}");
    }
}

fn writing_within(time: Duration) -> Option<MutexGuard<'static, ()>> {
    let deadline = Instant::now() + time;
    loop {
        match WRITING.try_lock() {
            Ok(writing) => return Some(writing),
            Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) if Instant::now() >= deadline => return None,
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(5)),
        }
    }
}

/// Gives the terminal back before a panic is printed, so that its text can be read.
fn give_back_on_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let told = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            give_back();
            told(info);
        }));
    });
}

/// Whether this program is the one that the terminal listens to.
fn in_foreground(terminal: &OwnedFd) -> bool {
    tcgetpgrp(terminal).is_ok_and(|group| group == getpgrp())
}

/// Whether the terminal takes something without waiting.
fn is_ready(terminal: &OwnedFd) -> bool {
    let mut wait = [PollFd::new(terminal, PollFlags::OUT)];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut wait, Some(&at_once)).is_ok() && wait[0].revents().contains(PollFlags::OUT)
}

fn write_all(terminal: &OwnedFd, text: &str) -> rustix::io::Result<()> {
    let mut rest = text.as_bytes();
    while !rest.is_empty() {
        match rustix::io::write(terminal, rest) {
            Ok(count) => rest = &rest[count..],
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
