//! What the screen knows: the test as far as it has come.

use rrul_analysis::live::{Course, DelayCell, DelaySecond, Live};
use rrul_model::flow::{AddressFamily, Direction};
use rrul_model::phase::PhaseWindow;
use rrul_model::recording::{Frame, Header};
use rrul_model::time::TestTime;

use crate::progress_line::{line, phase_name};

/// The state of the screen: fed with frames and the time, drawn by [`super::layout`].
#[derive(Debug)]
pub(super) struct State {
    /// What is run against whom.
    pub(super) title: String,
    pub(super) about: String,
    /// When each phase takes place.
    pub(super) phases: Vec<PhaseWindow>,
    pub(super) now: TestTime,
    /// The last full second.
    pub(super) live: Live,
    /// Every second.
    pub(super) course: Course,
    pub(super) families: Vec<AddressFamily>,
    /// The latest thing that the program had to say.
    pub(super) note: Option<String>,
}

impl State {
    /// Of the test that begins with this header.
    pub(super) fn new(label: &str, header: &Header) -> Self {
        let families: Vec<_> = header.families.iter().map(|family| family.name()).collect();
        let title = if header.title.is_empty() { String::new() } else { format!("  {}", header.title) };
        Self {
            title: format!("{label} to {}{title}", header.server_name),
            about: format!("{} flows over {}", header.flows.len(), families.join(" and ")),
            phases: header.phases.clone(),
            now: TestTime(i64::MIN),
            live: Live::new(header),
            course: Course::new(header),
            families: header.families.clone(),
            note: None,
        }
    }

    pub(super) fn frame(&mut self, frame: &Frame) {
        self.live.push(frame);
        self.course.push(frame);
    }

    /// The one line of a terminal that has no room for more.
    pub(super) fn line(&self) -> String {
        line(self.now, &self.phases, &self.live.snapshot())
    }

    /// Name of a phase, or what is before and after all of them.
    pub(super) fn phase(&self) -> &'static str {
        phase_name(self.now, &self.phases)
    }

    /// The end of the last phase, seconds.
    pub(super) fn length(&self) -> f64 {
        self.phases.last().map_or(1.0, |phase| phase.window.to.seconds()).max(1.0)
    }

    /// Streams of the load in one direction.
    pub(super) fn streams(&self, direction: Direction) -> usize {
        self.course.rates().iter().filter(|rate| rate.direction == direction).map(|rate| rate.streams).sum()
    }

    /// A cell's name: its class, and its family, of two.
    pub(super) fn name(&self, cell: &DelayCell) -> String {
        match (self.families.len(), cell.family) {
            (0 | 1, _) => cell.class.to_string(),
            (_, AddressFamily::Ipv4) => format!("{} v4", cell.class),
            (_, AddressFamily::Ipv6) => format!("{} v6", cell.class),
        }
    }
}

/// The latest second of a cell whose median is known, among the last few; `None` when replies have stayed away.
pub(super) fn latest(cell: &DelayCell) -> Option<&DelaySecond> {
    cell.seconds().iter().rev().take(5).find(|second| second.median.is_some())
}
