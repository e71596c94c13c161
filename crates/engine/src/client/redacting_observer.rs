//! What must not be in a recording without names: addresses of hosts on the way, whichever end has seen them.

use rrul_model::observation::FlowEventKind;
use rrul_model::recording::{End, Frame, Header};
use rrul_model::time::TestTime;

use super::options::{PlaceInLine, RunObserver};

/// Hands everything on, without these addresses. Their numbers stay: that hosts differ is no name.
pub(super) struct RedactingObserver<'a>(pub(super) &'a mut dyn RunObserver);

impl RunObserver for RedactingObserver<'_> {
    fn waiting(&mut self, place: PlaceInLine) {
        self.0.waiting(place);
    }

    fn header(&mut self, header: &Header) {
        self.0.header(header);
    }

    fn frame(&mut self, mut frame: Frame) {
        for event in frame.events.iter_mut().filter(|event| event.event == FlowEventKind::HopAddress) {
            let number = event.detail.find(' ').unwrap_or(event.detail.len());
            event.detail.truncate(number);
        }
        self.0.frame(frame);
    }

    fn tick(&mut self, now: TestTime) {
        self.0.tick(now);
    }

    fn end(&mut self, end: &End) {
        self.0.end(end);
    }
}
