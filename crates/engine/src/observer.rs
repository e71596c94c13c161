//! From the measuring threads to the collector: rings for observations, a list for the rare events of flows.

pub mod row_room;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rrul_model::flow::FlowId;
use rrul_model::observation::{FlowEvent, FlowEventKind, Observation, ObservationPoint};
use rrul_model::recording::Frame;
use rrul_proto::limits::EVENTS_OF_A_FLOW;
use rtrb::{Consumer, Producer, RingBuffer};

use crate::clock::RawTime;
use crate::clock::test_clock::TestClock;
use row_room::{RowRoom, Taken};

/// Rows in one frame, so that it fits a control frame even when every row is one of `TCP_INFO`.
const FRAME_ROWS: usize = 1000;

/// Where one end of a test gathers what its threads observe.
#[derive(Debug)]
pub struct Observer {
    point: ObservationPoint,
    rings: Mutex<Vec<Ring>>,
    events: Mutex<Events>,
    room: RowRoom,
    dropped: AtomicU64,
    frames: AtomicU32,
}

/// The collector's end of a ring, and the room that it takes.
#[derive(Debug)]
struct Ring {
    rows: Consumer<Observation>,
    _room: Taken,
}

/// What happened to flows.
#[derive(Debug, Default)]
struct Events {
    noted: Vec<(RawTime, FlowId, FlowEventKind, String)>,
    /// How many of each flow, where a stranger has chosen what happens.
    of_flow: HashMap<FlowId, u32>,
}

/// Longest detail of an event that a server notes, bytes: it may repeat what a client has said.
const DETAIL_OCTETS: usize = 256;

/// A measuring thread's end of a ring. Pushing neither waits nor allocates; rows that are not fetched are counted as
/// dropped.
#[derive(Debug)]
pub struct ObservationSink<'a> {
    ring: Producer<Observation>,
    observer: &'a Observer,
}

impl ObservationSink<'_> {
    pub fn note(&mut self, observation: impl Into<Observation>) {
        if self.ring.push(observation.into()).is_err() {
            self.observer.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Observer {
    pub fn new(point: ObservationPoint) -> Self {
        Self::within(point, RowRoom::default())
    }

    /// One whose rings take their room from this.
    pub fn within(point: ObservationPoint, room: RowRoom) -> Self {
        Self {
            point,
            room,
            rings: Mutex::default(),
            events: Mutex::default(),
            dropped: AtomicU64::new(0),
            frames: AtomicU32::new(0),
        }
    }

    pub fn point(&self) -> ObservationPoint {
        self.point
    }

    /// A ring for one thread, with room for so many observations between two collections.
    pub fn sink(&self, capacity: usize) -> ObservationSink<'_> {
        ObservationSink { ring: self.ring(capacity), observer: self }
    }

    /// The same for a caller that cannot borrow this observer; what does not fit is not counted.
    pub fn ring(&self, capacity: usize) -> Producer<Observation> {
        let room = self.room.take(capacity);
        let (ring, rows) = RingBuffer::new(room.rows());
        self.rings.lock().unwrap_or_else(PoisonError::into_inner).push(Ring { rows, _room: room });
        ring
    }

    /// Notes what happened to a flow. Not for threads that must not wait. A server notes only the first few of each flow.
    pub fn event(&self, at: RawTime, flow: FlowId, event: FlowEventKind, detail: impl Into<String>) {
        let mut detail = detail.into();
        let mut events = self.events();
        // Hosts on the way are counted by the trace that meets them.
        if self.point == ObservationPoint::Server && event != FlowEventKind::HopAddress {
            let count = events.of_flow.entry(flow).or_default();
            if *count >= EVENTS_OF_A_FLOW {
                self.dropped(1);
                return;
            }
            *count += 1;
            detail.truncate(detail.floor_char_boundary(DETAIL_OCTETS));
        }
        events.noted.push((at, flow, event, detail));
    }

    fn events(&self) -> MutexGuard<'_, Events> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Observations that could not be noted.
    pub fn dropped(&self, count: u64) {
        self.dropped.fetch_add(count, Ordering::Relaxed);
    }

    /// Makes a frame of everything noted since the last one, or several if they are many.
    pub fn collect(&self, clock: TestClock) -> Vec<Frame> {
        self.collect_with(clock, std::iter::empty())
    }

    /// The same, and what was noted elsewhere.
    pub fn collect_with(&self, clock: TestClock, elsewhere: impl Iterator<Item = Observation>) -> Vec<Frame> {
        let mut observations: Vec<Observation> = elsewhere.collect();
        self.rings.lock().unwrap_or_else(PoisonError::into_inner).retain_mut(|ring| {
            // Read before draining: a thread that ends in between has pushed its last row before that.
            let ended = ring.rows.is_abandoned();
            while let Ok(observation) = ring.rows.pop() {
                observations.push(observation);
            }
            !ended
        });
        // Rows of one flow stand together, where their differences are small.
        observations.sort_by_key(Observation::flow);
        let events = std::mem::take(&mut self.events().noted);
        let events =
            events.into_iter().map(|(at, flow, event, detail)| FlowEvent { flow, at: clock.at(at), event, detail });
        let mut first = self.empty_frame();
        first.dropped = self.dropped.swap(0, Ordering::Relaxed);
        first.events = events.collect();
        let mut frames = vec![first];
        for rows in observations.chunks(FRAME_ROWS) {
            let mut frame = if frames[0].tables.is_empty() { frames.swap_remove(0) } else { self.empty_frame() };
            for row in rows {
                frame.tables.push(*row);
            }
            frames.push(frame);
        }
        frames
    }

    fn empty_frame(&self) -> Frame {
        let number = self.frames.fetch_add(1, Ordering::Relaxed);
        let tables = rrul_model::observation::Tables::default();
        Frame { point: self.point, number, dropped: 0, tables, events: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rrul_model::observation::OctetsReceived;
    use rrul_model::time::TestTime;
    use rrul_model::units::ByteCount;

    use crate::clock::host_clock::HostClock;

    const CLOCK: TestClock = TestClock { origin: RawTime(0), host: HostClock::TRUE };

    fn row(flow: u16) -> OctetsReceived {
        OctetsReceived { flow: FlowId(flow), at: TestTime(1), octets: ByteCount(2) }
    }

    #[test]
    fn what_is_noted_is_collected_once_and_in_order_of_flows() {
        let observer = Observer::new(ObservationPoint::Client);
        let mut sink = observer.sink(8);
        sink.note(row(2));
        sink.note(row(1));
        observer.event(RawTime(5), FlowId(1), FlowEventKind::Stopped, "");
        let frames = observer.collect(CLOCK);
        let [frame] = frames.as_slice() else { panic!("{frames:?}") };
        let flows: Vec<_> = frame.tables.octets_received.rows().map(|row| row.flow.0).collect();
        assert_eq!((flows, frame.events.len(), frame.number), (vec![1, 2], 1, 0));
        let next = &observer.collect(CLOCK)[0];
        assert!(next.tables.is_empty() && next.events.is_empty() && next.number == 1);
    }

    #[test]
    fn many_rows_make_several_frames_and_none_is_lost() {
        let observer = Observer::new(ObservationPoint::Client);
        let mut sink = observer.sink(FRAME_ROWS * 2 + 1);
        (0..=FRAME_ROWS * 2).for_each(|flow| sink.note(row(flow as u16)));
        observer.event(RawTime(5), FlowId(1), FlowEventKind::Stopped, "");
        let frames = observer.collect(CLOCK);
        let rows: Vec<_> = frames.iter().map(|frame| frame.tables.len()).collect();
        assert_eq!(rows, [FRAME_ROWS, FRAME_ROWS, 1]);
        assert_eq!(frames.iter().map(|frame| frame.number).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(frames.iter().map(|frame| frame.events.len()).sum::<usize>(), 1);
    }

    #[test]
    fn a_server_notes_the_first_events_of_each_flow_and_none_at_length() {
        for (point, noted) in
            [(ObservationPoint::Server, 2 * EVENTS_OF_A_FLOW as usize), (ObservationPoint::Client, 200)]
        {
            let observer = Observer::new(point);
            for number in 0..200 {
                let detail = "é".repeat(40_000);
                observer.event(RawTime(number), FlowId((number % 2) as u16), FlowEventKind::Marked, detail);
            }
            let frame = &observer.collect(CLOCK)[0];
            assert_eq!((frame.events.len(), frame.dropped), (noted, 200 - noted as u64), "{point:?}");
            let longest = frame.events.iter().map(|event| event.detail.len()).max();
            assert_eq!(longest, Some(if point == ObservationPoint::Server { 256 } else { 80_000 }));
            observer.event(RawTime(7), FlowId(1), FlowEventKind::Marked, "");
            let later = observer.collect(CLOCK)[0].events.len();
            assert_eq!(later, usize::from(point == ObservationPoint::Client), "fetching begins no new count");
        }
    }

    #[test]
    fn rings_take_no_more_than_their_room_and_give_it_back() {
        let all = RowRoom::of(100);
        let observer = Observer::within(ObservationPoint::Server, all.part(60));
        let mut sink = observer.sink(usize::MAX);
        (0..100).for_each(|flow| sink.note(row(flow)));
        let frames = observer.collect(CLOCK);
        assert_eq!((frames[0].tables.len(), frames[0].dropped), (60, 40));
        assert_eq!(all.part(60).take(60).rows(), 40, "what is left of all");
        drop(sink);
        observer.collect(CLOCK);
        assert_eq!(all.part(60).take(60).rows(), 60);
    }

    #[test]
    fn rows_that_are_not_fetched_are_counted_as_dropped() {
        let observer = Observer::new(ObservationPoint::Server);
        let mut sink = observer.sink(2);
        (0..5).for_each(|flow| sink.note(row(flow)));
        assert_eq!(observer.collect(CLOCK)[0].dropped, 3);
        assert_eq!(observer.collect(CLOCK)[0].dropped, 0);
    }

    #[test]
    fn the_last_rows_of_a_thread_that_has_ended_are_collected() {
        let observer = Observer::new(ObservationPoint::Server);
        std::thread::scope(|scope| {
            scope.spawn(|| observer.sink(4).note(row(1)));
        });
        assert_eq!(observer.collect(CLOCK)[0].tables.len(), 1);
        assert_eq!(observer.rings.lock().unwrap().len(), 0, "the ring of an ended thread is let go");
    }
}
