//! The thread that draws, and what is sent to it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rrul_engine::scheduling;
use rrul_model::recording::{Frame, Header};
use rrul_model::time::TestTime;
use rustix::process::{Signal, getpid, kill_process};

use super::layout;
use super::paint::{Painter, blank};
use super::palette::Palette;
use super::state::State;
use super::terminal::{self, Candidate, Key, Screen};

/// At most five pictures a second, and as long until a new size of the window is seen.
const LOOK: Duration = Duration::from_millis(200);
/// This program stood still for longer than any look takes: somebody stopped it, and the shell had the terminal.
const STOOD_STILL: Duration = Duration::from_secs(2);
/// Frames that wait to be shown, of both ends: a quarter of a minute.
const QUEUE: usize = 30;
/// How long the last picture is waited for.
const LAST: Duration = Duration::from_millis(500);

/// The screen while it stands.
pub(crate) struct LiveScreen {
    frames: SyncSender<Frame>,
    shared: Arc<Shared>,
    drawing: JoinHandle<()>,
}

/// What the drawing thread receives beside frames.
struct Shared {
    now: AtomicI64,
    ended: AtomicBool,
}

impl LiveScreen {
    /// Takes the terminal and draws the test that begins with this header; `None` when the terminal is not available.
    pub(crate) fn begin(candidate: Candidate, label: &str, header: &Header) -> Option<Self> {
        let screen = candidate.take()?;
        let state = State::new(label, header);
        let palette = Palette::of(|name| std::env::var(name).ok());
        let (frames, to_show) = sync_channel(QUEUE);
        let shared = Arc::new(Shared { now: AtomicI64::new(i64::MIN), ended: AtomicBool::new(false) });
        let drawer = Drawer { screen, state, palette, painter: Painter::default(), shared: Arc::clone(&shared) };
        let work = move || drawer.run(&to_show);
        let thread = std::thread::Builder::new().name("screen".to_owned()).spawn(work);
        let Ok(drawing) = thread else {
            terminal::give_back();
            return None;
        };
        Some(Self { frames, shared, drawing })
    }

    /// Observations have come in. Never waits: what finds no room is not shown.
    pub(crate) fn frame(&self, frame: &Frame) {
        let _ = self.frames.try_send(frame.clone());
    }

    pub(crate) fn tick(&self, now: TestTime) {
        self.shared.now.store(now.0, Ordering::Relaxed);
    }

    pub(crate) fn end(self) {
        self.shared.ended.store(true, Ordering::Relaxed);
        let deadline = Instant::now() + LAST;
        while !self.drawing.is_finished() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(10));
        }
        terminal::give_back();
    }
}

/// What the drawing thread has.
struct Drawer {
    screen: Screen,
    state: State,
    palette: Palette,
    painter: Painter,
    shared: Arc<Shared>,
}

/// What a picture depends on; while it is the same nothing is drawn.
#[derive(Debug, Clone, PartialEq)]
struct Occasion {
    size: (u16, u16),
    second: i64,
    frames: u64,
    note: Option<String>,
}

impl Drawer {
    fn run(mut self, frames: &Receiver<Frame>) {
        scheduling::run_in_background();
        let (mut shown, mut count, mut looked) = (None, 0, Instant::now());
        while !self.shared.ended.load(Ordering::Relaxed) && terminal::stands() {
            for frame in frames.try_iter() {
                self.state.frame(&frame);
                count += 1;
            }
            if looked.elapsed() > STOOD_STILL {
                self.screen.take_again();
                self.painter.forget();
                shown = None;
            }
            looked = Instant::now();
            self.state.now = TestTime(self.shared.now.load(Ordering::Relaxed));
            self.state.note = terminal::latest_note();
            let second = self.state.now.0.div_euclid(1_000_000_000);
            let size = self.screen.size().unwrap_or((80, 24));
            let occasion = Some(Occasion { size, second, frames: count, note: self.state.note.clone() });
            if shown != occasion {
                shown = if self.draw(size) { occasion } else { None };
            }
            if self.screen.key_within(LOOK) == Some(Key::Stop) {
                // The same way as Ctrl-C: the second time gives up at once.
                let _ = kill_process(getpid(), Signal::INT);
            }
        }
    }

    fn draw(&mut self, size: (u16, u16)) -> bool {
        let mut picture = blank(size);
        layout::draw(&self.state, &self.palette, &mut picture);
        let text = self.painter.paint(picture);
        let drawn = self.screen.draw(&text);
        if !drawn {
            self.painter.forget();
        }
        drawn
    }
}
