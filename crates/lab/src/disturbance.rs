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
use crate::requirement::{lab_available_for, note_again};
use crate::truth::percentile;

/// How many times a measurement is made at most.
const ATTEMPTS: u32 = 3;

/// How long the witness sleeps at a time.
const NAP: Duration = Duration::from_millis(2);

/// Percentiles of the lateness of a thread of the lab's own priority, and their limit on an undisturbed machine. What
/// tests allow is several times as much.
const CALM: [(f64, Duration); 3] =
    [(50.0, Duration::from_micros(150)), (95.0, Duration::from_micros(300)), (99.0, Duration::from_millis(1))];

/// The share of the processors' time that a machine's owner may take for others.
const TAKEN: f64 = 0.005;

/// Runs `body` where there can be a lab, as [`lab_available_for`] says; again, up to twice, when it panics and this machine
/// was disturbed meanwhile.
///
/// What fails on a machine that was not disturbed has failed, and so has what fails three times. That something was
/// measured again, and why, is noted as what was skipped is: in the file that `RRUL_AGAIN` names.
///
/// # Panics
///
/// As `body` does the last time, and as [`lab_available_for`] does.
pub fn on_a_lab(test: &str, mut body: impl FnMut()) {
    if !lab_available_for(test) {
        return;
    }
    for attempt in 1.. {
        let witness = Witness::start();
        let result = catch_unwind(AssertUnwindSafe(&mut body));
        let disturbance = witness.finish();
        let Err(panic) = result else { return };
        match disturbance {
            Some(disturbance) if attempt < ATTEMPTS => note_again(test, &disturbance),
            _ => resume_unwind(panic),
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
    fn what_fails_on_a_calm_machine_or_three_times_has_failed() {
        // Whatever this machine does, the body panics at most three times, and its panic comes through.
        let mut times = 0;
        let result = catch_unwind(AssertUnwindSafe(|| {
            on_a_lab("what_fails_on_a_calm_machine_or_three_times_has_failed", || {
                times += 1;
                panic!("measured wrong");
            });
        }));
        if times == 0 {
            // No lab here; that it was skipped has been said.
            assert!(result.is_ok());
        } else {
            assert_eq!(*result.unwrap_err().downcast::<&str>().unwrap(), "measured wrong");
            assert!(times <= ATTEMPTS);
        }
    }
}
