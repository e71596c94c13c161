//! One sampler for many tests that load nothing: it reads the clock and the host once, and each test takes the rows in its own
//! time.
//!
//! Without streams nothing is to be read on the grid of a plan.

use std::collections::VecDeque;
use std::time::Duration;

use rrul_model::observation::{
    CgroupThrottle, CpuTime, InterfaceCount, Observation, ProcessTime, QueueCount, SocketDrops, SoftnetCount,
};
use rrul_model::time::TestTime;

use super::sampler::{SLOW_INTERVAL, WallReference};
use crate::clock::test_clock::TestClock;
use crate::clock::{RawTime, wall_now};
use crate::host_health::{HostHealth, Reader};

/// How often the clock is read.
const INTERVAL: i64 = 100_000_000;

/// How long rows are kept for tests that take them late.
const KEPT: i64 = 8_000_000_000;

/// Reads for every test. What it notes is in raw time.
pub(crate) struct SharedSampler<'a> {
    health: &'a HostHealth,
    reader: Reader<'a>,
    rows: VecDeque<(RawTime, Reading)>,
    /// Number of the first row that is kept, of all that were ever read.
    first: u64,
    due: RawTime,
    slow_due: RawTime,
}

#[derive(Debug, Clone, Copy)]
enum Reading {
    /// What the wall clock shows.
    Wall(i64),
    Host(Observation),
}

/// How far one test has taken the rows.
#[derive(Debug)]
pub(crate) struct RowsTaken {
    next: u64,
    wall: WallReference,
    /// The clock is read more often than this test wants it.
    interval: i64,
    wall_due: RawTime,
}

impl<'a> SharedSampler<'a> {
    /// One that reads what is watched by `health`.
    pub(crate) fn new(health: &'a HostHealth) -> Self {
        let now = RawTime::now();
        Self { health, reader: health.reader(), rows: VecDeque::new(), first: 0, due: now, slow_due: now }
    }

    /// When the next reading is due.
    pub(crate) fn due(&self) -> RawTime {
        self.due
    }

    /// Reads if that is due. `tests` are those that take rows.
    pub(crate) fn read<'b>(&mut self, now: RawTime, tests: impl Iterator<Item = &'b HostHealth>) {
        if now < self.due {
            return;
        }
        while self.rows.front().is_some_and(|(read, _)| now.since(*read) > KEPT) {
            self.rows.pop_front();
            self.first += 1;
        }
        let rows = &mut self.rows;
        let mut note = |reading| rows.push_back((RawTime::now(), reading));
        note(Reading::Wall(wall_now()));
        let raw = TestClock::since(RawTime(0));
        if now >= self.slow_due {
            self.slow_due = now.plus(SLOW_INTERVAL);
            self.health.watch_those_of(tests);
            self.reader.each_second(raw, |row| note(Reading::Host(row)));
        }
        self.reader.often(raw, |row| note(Reading::Host(row)));
        self.due = now.plus(INTERVAL);
    }

    /// A test takes rows from now on, of the clock this often.
    pub(crate) fn join(&self, interval: Duration) -> RowsTaken {
        RowsTaken {
            next: self.first + self.rows.len() as u64,
            wall: WallReference::new(),
            // A reading a little early is as good.
            interval: i64::try_from(interval.as_nanos()).unwrap_or(i64::MAX).saturating_sub(INTERVAL / 2),
            wall_due: RawTime::now(),
        }
    }

    /// Returns the rows that a test has not taken yet, up to a time of its own.
    pub(crate) fn take(
        &self,
        taken: &mut RowsTaken,
        clock: TestClock,
        health: &HostHealth,
        until: TestTime,
    ) -> impl Iterator<Item = Observation> {
        let known = usize::try_from(taken.next.saturating_sub(self.first)).unwrap_or(usize::MAX);
        taken.next = self.first + self.rows.len() as u64;
        self.rows.iter().skip(known).filter_map(move |(read, reading)| {
            let at = clock.at(*read);
            let row = match *reading {
                Reading::Wall(_) if *read < taken.wall_due => return None,
                Reading::Wall(shown) => {
                    taken.wall_due = read.plus(taken.interval);
                    taken.wall.sample(shown, at, clock).into()
                }
                Reading::Host(row) => in_time_of(clock, row),
            };
            (at <= until && health.watches(&row)).then_some(row)
        })
    }
}

/// A row of the host, whose time is raw, in the time of a test.
fn in_time_of(clock: TestClock, mut row: Observation) -> Observation {
    match &mut row {
        Observation::CpuTime(CpuTime { at, .. })
        | Observation::ProcessTime(ProcessTime { at, .. })
        | Observation::SoftnetCount(SoftnetCount { at, .. })
        | Observation::CgroupThrottle(CgroupThrottle { at, .. })
        | Observation::SocketDrops(SocketDrops { at, .. })
        | Observation::InterfaceCount(InterfaceCount { at, .. })
        | Observation::QueueCount(QueueCount { at, .. }) => *at = clock.at(RawTime(at.0)),
        _ => {}
    }
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_test_takes_what_was_read_since_it_joined_in_its_own_time() {
        let all = HostHealth::default();
        let mut sampler = SharedSampler::new(&all);
        let begun = RawTime::now();
        let one = HostHealth::default();
        sampler.read(begun, std::iter::empty());
        let mut taken = sampler.join(Duration::from_millis(100));
        let clock = TestClock::since(begun);
        let far = TestTime(i64::MAX);
        assert_eq!(sampler.take(&mut taken, clock, &one, far).count(), 0, "before it joined");
        sampler.read(begun.plus(SLOW_INTERVAL), std::iter::once(&one));
        let rows: Vec<Observation> = sampler.take(&mut taken, clock, &one, far).collect();
        let clocks =
            rows.iter().filter_map(|row| if let Observation::ClockSample(row) = row { Some(row) } else { None });
        let [row] = clocks.collect::<Vec<_>>()[..] else { panic!("{rows:?}") };
        assert!((0..10_000_000_000).contains(&row.at.0), "{row:?}");
        assert!((row.realtime - row.at.0).abs() < 100_000_000, "{row:?}");
        let processor =
            rows.iter().find_map(|row| if let Observation::CpuTime(row) = row { Some(row.at) } else { None });
        assert!((0..10_000_000_000).contains(&processor.unwrap().0), "{processor:?}");
        assert_eq!(sampler.take(&mut taken, clock, &one, far).count(), 0, "taken once");
    }
}
