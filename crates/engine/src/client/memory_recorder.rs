//! An audience that keeps everything in memory.

use rrul_model::recording::{End, Frame, Header, Recording};
use rrul_model::time::TestTime;

use super::options::RunObserver;

/// What a test has brought forth so far.
#[derive(Debug, Default)]
pub struct MemoryRecorder {
    header: Option<Header>,
    frames: Vec<Frame>,
    end: Option<End>,
}

impl MemoryRecorder {
    /// The recording; `None` when the test has not begun.
    pub fn recording(self) -> Option<Recording> {
        Some(Recording::new(self.header?, self.frames, self.end))
    }
}

impl RunObserver for MemoryRecorder {
    fn header(&mut self, header: &Header) {
        self.header = Some(header.clone());
    }

    fn frame(&mut self, frame: Frame) {
        self.frames.push(frame);
    }

    fn tick(&mut self, _now: TestTime) {}

    fn end(&mut self, end: &End) {
        self.end = Some(end.clone());
    }
}
