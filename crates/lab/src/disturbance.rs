//! Whether this machine disturbed a measurement: its threads woke late, or its processors were taken away.
//!
//! The truth about a link is in its log; what a shared machine does to the threads of a test is in none of them. A
//! witness beside the measurement distinguishes a machine that was not there from a program that measures wrong.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::clock;
use crate::requirement::{give_up, lab_available_for, note_again};
use crate::truth::percentile;

/// How many times a measurement is made at most.
pub const ATTEMPTS: u32 = 3;

/// How long the witness sleeps at a time.
const NAP: Duration = Duration::from_millis(2);

/// Percentiles of the lateness of a thread of the lab's own priority, and their limit on an undisturbed machine. What
/// tests allow is several times as much.
const CALM: [(f64, Duration); 3] =
    [(50.0, Duration::from_micros(150)), (95.0, Duration::from_micros(300)), (99.0, Duration::from_millis(1))];

/// The share of the processors' time that a machine's owner may take for others.
const TAKEN: f64 = 0.005;

/// How long a machine is given to become calm before a measurement is made again, and how long it is watched at a time.
const PATIENCE: Duration = Duration::from_secs(20);
const WATCH: Duration = Duration::from_secs(2);

/// Runs `body` where there can be a lab, as [`lab_available_for`] says; again, up to twice, when it panics and this machine
/// was disturbed meanwhile. That something was measured again, and why, is noted as what was skipped is: in the file that
/// `RRUL_AGAIN` names.
///
/// What fails on a machine that was not disturbed has failed. What fails three times while it is disturbed could not be
/// measured here; [`give_up`] says what comes of it.
///
/// # Panics
///
/// As `body` does on a machine that was not disturbed, and as [`lab_available_for`] and [`give_up`] do.
pub fn on_a_lab(test: &str, mut body: impl FnMut()) {
    for attempt in 1..=ATTEMPTS {
        if once_on_a_lab(test, &mut body).is_ok() {
            return;
        }
        if attempt < ATTEMPTS {
            await_calm();
        }
    }
    give_up(test);
}

/// Runs `body` where there can be a lab, once.
///
/// # Errors
///
/// [`Disturbed`] when it panics and this machine was disturbed meanwhile: it is to be measured again, later or where less runs
/// beside it. This is noted as [`on_a_lab`] does.
///
/// # Panics
///
/// As `body` does on a machine that was not disturbed, and as [`lab_available_for`] does.
pub fn once_on_a_lab(test: &str, body: impl FnOnce()) -> Result<(), Disturbed> {
    if !lab_available_for(test) {
        return Ok(());
    }
    let witness = Witness::start();
    let result = catch_unwind(AssertUnwindSafe(body));
    let disturbance = witness.finish();
    let Err(panic) = result else { return Ok(()) };
    let Some(disturbance) = disturbance else { resume_unwind(panic) };
    note_again(test, &disturbance);
    Err(Disturbed)
}

/// A measurement failed, and this machine was disturbed while it was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Disturbed;

/// Waits until this machine is calm, but no longer than 20 s.
pub fn await_calm() {
    let begun = clock::now();
    while clock::now().since(begun) < PATIENCE.as_nanos() as u64 {
        let witness = Witness::start();
        std::thread::sleep(WATCH);
        if witness.finish().is_none() {
            break;
        }
    }
}

/// What a machine did.
#[derive(Debug, PartialEq)]
enum Disturbance {
    /// Of its threads' wakes, this percentile was so late.
    Late { percent: f64, late: Duration },
    /// This share of its processors' time went to others.
    Taken { share: f64 },
}

impl fmt::Display for Disturbance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Late { percent, late } => write!(f, "P{percent} of its threads' lateness was {late:.2?}"),
            Self::Taken { share } => write!(f, "{:.1} % of its processors' time was taken away", 100.0 * share),
        }
    }
}

/// Sleeps, and sees how late it wakes.
struct Witness {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Vec<u64>>,
    /// Ticks of all processors and of those taken away, before.
    before: Option<(u64, u64)>,
}

impl Witness {
    fn start() -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            clock::be_realtime(clock::LAB_PRIORITY);
            let mut late = Vec::new();
            while !stopped.load(Ordering::Relaxed) {
                let begun = clock::now();
                std::thread::sleep(NAP);
                late.push(clock::now().since(begun).saturating_sub(NAP.as_nanos() as u64));
            }
            late
        });
        Self { stop, thread, before: processor_ticks() }
    }

    fn finish(self) -> Option<Disturbance> {
        self.stop.store(true, Ordering::Relaxed);
        let mut late = self.thread.join().unwrap_or_default();
        late.sort_unstable();
        disturbance(&late, self.before.zip(processor_ticks()))
    }
}

/// Judges a machine by these wakes, nanoseconds ascending, and by these readings of its processors' time.
fn disturbance(late: &[u64], ticks: Option<((u64, u64), (u64, u64))>) -> Option<Disturbance> {
    let late = CALM.iter().find_map(|(percent, calm)| {
        let late = Duration::from_nanos(percentile(late, *percent)?);
        (late > *calm).then_some(Disturbance::Late { percent: *percent, late })
    });
    late.or_else(|| {
        let ((all, taken), (all_after, taken_after)) = ticks?;
        let share = taken_after.saturating_sub(taken) as f64 / all_after.saturating_sub(all).max(1) as f64;
        (share > TAKEN).then_some(Disturbance::Taken { share })
    })
}

/// Ticks of all processors since the machine began, and of these the stolen ones.
fn processor_ticks() -> Option<(u64, u64)> {
    ticks_of(&std::fs::read_to_string("/proc/stat").ok()?)
}

/// The first line of /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal; guests' time is in the first two.
fn ticks_of(stat: &str) -> Option<(u64, u64)> {
    let mut words = stat.lines().next()?.split_whitespace();
    let of_all = words.next()? == "cpu";
    let ticks: Vec<u64> = words.take(8).map_while(|word| word.parse().ok()).collect();
    (of_all && ticks.len() == 8).then(|| (ticks.iter().sum(), ticks[7]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALM_WAKES: [u64; 100] = [60_000; 100];

    #[test]
    fn a_machine_whose_threads_wake_in_time_and_that_keeps_its_processors_is_calm() {
        assert_eq!(disturbance(&CALM_WAKES, Some(((1000, 3), (3000, 4)))), None);
        assert_eq!(disturbance(&[], None), None);
    }

    #[test]
    fn late_wakes_and_stolen_time_are_reported() {
        let mut late = CALM_WAKES;
        late[90..].fill(400_000);
        let found = disturbance(&late, None).unwrap();
        assert_eq!(found, Disturbance::Late { percent: 95.0, late: Duration::from_micros(400) });
        assert_eq!(found.to_string(), "P95 of its threads' lateness was 400.00µs");
        let found = disturbance(&CALM_WAKES, Some(((1000, 3), (3000, 43)))).unwrap();
        assert_eq!(found.to_string(), "2.0 % of its processors' time was taken away");
    }

    #[test]
    fn stolen_ticks_are_the_eighth_number_of_the_first_line() {
        assert_eq!(ticks_of("cpu  10 20 30 40 50 60 70 8 9 9\ncpu0 1 1 1 1 1 1 1 1 1 1\n"), Some((288, 8)));
        assert_eq!(ticks_of("cpu0 10 20 30 40 50 60 70 8 9 9\n"), None);
        assert_eq!(ticks_of("cpu 10 20\n"), None);
        let (all, stolen) = processor_ticks().unwrap();
        assert!(stolen < all);
    }

    #[test]
    fn what_fails_on_a_calm_machine_has_failed_and_is_not_repeated() {
        let mut times = 0;
        let result = catch_unwind(AssertUnwindSafe(|| {
            once_on_a_lab("what_fails_on_a_calm_machine_has_failed_and_is_not_repeated", || {
                times += 1;
                panic!("measured wrong");
            })
        }));
        match result {
            Err(panic) => assert_eq!(*panic.downcast::<&str>().unwrap(), "measured wrong"),
            Ok(Err(Disturbed)) => {}
            // No lab here; that it was skipped has been said.
            Ok(Ok(())) => assert_eq!(times, 0),
        }
        assert!(times <= 1);
    }
}
