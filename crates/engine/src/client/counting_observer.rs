//! How many frames of each host a recording gets, so that the loss of the last one is noticed too.

use rrul_model::observation::ObservationPoint;
use rrul_model::recording::{End, Frame, Header};
use rrul_model::time::TestTime;

use super::options::{PlaceInLine, RunObserver};

/// Hands everything on, with the counts in the end.
pub(super) struct CountingObserver<'a> {
    inner: &'a mut dyn RunObserver,
    client_frames: u32,
    server_frames: u32,
}

impl<'a> CountingObserver<'a> {
    pub(super) fn new(inner: &'a mut dyn RunObserver) -> Self {
        Self { inner, client_frames: 0, server_frames: 0 }
    }
}

impl RunObserver for CountingObserver<'_> {
    fn waiting(&mut self, place: PlaceInLine) {
        self.inner.waiting(place);
    }

    fn header(&mut self, header: &Header) {
        self.inner.header(header);
    }

    fn frame(&mut self, frame: Frame) {
        match frame.point {
            ObservationPoint::Client => self.client_frames += 1,
            ObservationPoint::Server => self.server_frames += 1,
        }
        self.inner.frame(frame);
    }

    fn tick(&mut self, now: TestTime) {
        self.inner.tick(now);
    }

    fn end(&mut self, end: &End) {
        let (client_frames, server_frames) = (Some(self.client_frames), Some(self.server_frames));
        self.inner.end(&End { client_frames, server_frames, ..end.clone() });
    }
}
