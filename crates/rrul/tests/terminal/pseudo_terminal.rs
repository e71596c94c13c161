//! A pseudo-terminal with an emulator behind it.

use std::fs::File;
use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::os::fd::OwnedFd;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{Termios, Winsize, tcgetattr, tcsetwinsize};

/// Longer than anything here takes on a busy machine; what is not over by then hangs.
pub(crate) const HANGS: Duration = Duration::from_secs(30);

/// A pseudo-terminal whose other end is read by an emulator.
pub(crate) struct Terminal {
    pub(crate) near: OwnedFd,
    pub(crate) far: OwnedFd,
    pub(crate) before: Termios,
    pub(crate) emulator: Arc<Mutex<vt100::Parser>>,
    /// Everything that was written to it.
    pub(crate) written: Arc<Mutex<Vec<u8>>>,
}

pub(crate) fn cells(count: u16) -> NonZeroU16 {
    NonZeroU16::new(count).unwrap()
}

impl Terminal {
    pub(crate) fn new(columns: u16, rows: u16) -> Self {
        let near = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&near).unwrap();
        unlockpt(&near).unwrap();
        let far = ioctl_tiocgptpeer(&near, OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        let before = tcgetattr(&far).unwrap();
        let emulator = Arc::new(Mutex::new(vt100::Parser::new(cells(rows), cells(columns), 1000)));
        let written = Arc::new(Mutex::new(Vec::new()));
        let mut output = File::from(near.try_clone().unwrap());
        let (shown, kept) = (Arc::clone(&emulator), Arc::clone(&written));
        // Ends with the other end: a read fails when no process has it open any more.
        std::thread::spawn(move || {
            let mut octets = [0; 8192];
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
    pub(crate) fn resize(&self, columns: u16, rows: u16) {
        self.emulator.lock().unwrap().screen_mut().set_size(cells(rows), cells(columns));
        self.tell_size(columns, rows);
    }

    /// The programs only.
    pub(crate) fn tell_size(&self, columns: u16, rows: u16) {
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&self.far, size).unwrap();
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        let emulator = self.emulator.lock().unwrap();
        let (_, columns) = emulator.screen().size();
        emulator.screen().rows(0, columns.into()).map(|row| row.trim_end().to_owned()).collect()
    }

    pub(crate) fn has(&self, words: &str) -> bool {
        self.lines().iter().any(|line| line.contains(words))
    }

    pub(crate) fn wait_for(&self, words: &str) {
        self.wait_until(&format!("\"{words}\""), || self.has(words));
    }

    pub(crate) fn wait_until(&self, what: &str, condition: impl Fn() -> bool) {
        let deadline = Instant::now() + HANGS;
        while !condition() {
            assert!(Instant::now() < deadline, "waited in vain for {what}:\n{}", self.lines().join("\n"));
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Writes what another program might.
    pub(crate) fn show(&self, text: &str) {
        File::from(self.far.try_clone().unwrap()).write_all(text.as_bytes()).unwrap();
    }

    /// One end of a program that runs in it.
    pub(crate) fn end(&self) -> Stdio {
        Stdio::from(self.far.try_clone().unwrap())
    }

    pub(crate) fn type_keys(&self, keys: &str) {
        File::from(self.near.try_clone().unwrap()).write_all(keys.as_bytes()).unwrap();
    }

    /// What came in that was not said on the alternate screen, scroll-back included.
    pub(crate) fn said(&self) -> String {
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
    pub(crate) fn assert_sane(&self) {
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
