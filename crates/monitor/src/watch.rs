//! The state machine of a monitor: what it does next, and what it knows after a restart.

use std::time::Duration;

use rrul_model::random::Random;
use rrul_model::units::{BitRate, ByteCount};
use serde::{Deserialize, Serialize};

use crate::budget::Budget;
use crate::grant::{Grant, RunData, STOPPING, in_time};
use crate::ledger::Ledger;
use crate::outcome::{FailReason, RunOutcome, SkipReason};
use crate::quiet_hours::QuietHours;
use crate::schedule::{Schedule, later};
use crate::watch_clock::{Reading, WatchClock};
use crate::watch_time::WatchTime;

/// How often the state is to be written while nothing but probes is sent. While a full test goes on: twice a second.
pub const SAVING: Duration = Duration::from_mins(1);

/// The budget's ledger goes by whole hours.
const LEDGER_HOUR: Duration = Duration::from_hours(1);

/// A test without a forecast begins while more than one part in so many of the budget is left.
const UNKNOWN_SHARE: u64 = 4;

/// What a monitor is to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rules {
    pub schedule: Schedule,
    pub budget: Option<Budget>,
    /// What light probing takes in a second, both directions together, at most.
    pub probe_octets: ByteCount,
    /// How long a full test takes at most.
    pub run_length: Duration,
    /// The mean time until a test that could not be run is tried again,
    pub retry: Duration,
    /// and how often it is, until the next one is due.
    pub retries: u32,
}

/// Why a monitor cannot keep its rules.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RulesError {
    #[error("{budget} is less than light probing takes ({}); use a larger budget", crate::budget::data(*.probing))]
    BudgetForProbes { budget: Budget, probing: ByteCount },
    #[error("quiet_hours leave no time for a full test of {} s; use fewer quiet hours", .0.as_secs())]
    NoTime(Duration),
}

/// What a monitor does next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Nothing for this long, or less.
    Wait(Duration),
    /// Run a full test now. [`Watch::progress`] and [`Watch::conclude`] follow.
    Run(Grant),
    /// A test was due and is not run.
    Skip(RunOutcome),
}

/// What a monitor knows: it is written to disk and read after a restart.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    clock: WatchClock,
    random: u64,
    /// When the next full test is due.
    due: WatchTime,
    /// How often the test that is due was tried.
    tries: u32,
    /// When a full test last loaded the line.
    loaded: Option<WatchTime>,
    runs: Ledger,
    probes: Ledger,
    /// All that was ever booked, bytes.
    booked: u64,
    /// Up to when probes are booked, while they are sent.
    probing: Option<WatchTime>,
    going: Option<Going>,
    last: Option<RunData>,
}

/// A full test that goes on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Going {
    begun: WatchTime,
    second_of_day: u32,
    counted: ByteCount,
    rate: BitRate,
}

/// A monitor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Watch {
    rules: Rules,
    /// When no test may begin.
    closed: QuietHours,
    state: State,
}

impl Watch {
    /// Starts, with what a monitor before this one has saved; the first test of one that knows nothing is due at once.
    ///
    /// Also returns how a test ended in the middle of which the other stopped.
    ///
    /// # Errors
    /// When the rules cannot be kept.
    pub fn start(
        rules: Rules,
        saved: Option<State>,
        reading: Reading,
        seed: u64,
    ) -> Result<(Self, Option<RunOutcome>), RulesError> {
        let closed = rules.schedule.quiet.before(rules.run_length).ok_or(RulesError::NoTime(rules.run_length))?;
        if let Some(budget) = rules.budget {
            let probing = reserved(&rules, budget);
            if probing >= budget.octets {
                return Err(RulesError::BudgetForProbes { budget, probing });
            }
        }
        let is_fresh = saved.is_none();
        let state = saved.unwrap_or_else(|| State {
            clock: WatchClock::new(reading.clone()),
            random: seed,
            due: WatchTime::default(),
            tries: 0,
            loaded: None,
            runs: Ledger::default(),
            probes: Ledger::default(),
            booked: 0,
            probing: None,
            going: None,
            last: None,
        });
        let mut watch = Self { rules, closed, state };
        let saved_at = watch.state.clock.now();
        let now = watch.state.clock.read(reading);
        if let Some(from) = watch.state.probing.take() {
            // What was sent after the state was last written.
            watch.book_probes(from, now.min(saved_at + SAVING));
        }
        let mut outcome = None;
        if let Some(going) = &mut watch.state.going {
            let unseen = in_time(going.rate, Duration::from_secs(1) + STOPPING);
            going.counted = ByteCount(going.counted.0.saturating_add(unseen.0));
            let failed = RunOutcome::Failed(FailReason::Interrupted);
            watch.close(now, &failed, None);
            outcome = Some(failed);
        } else if !is_fresh && watch.state.due < now {
            // Monitors that a power failure has stopped do not all test when it is over.
            watch.draw_again(now);
        }
        Ok((watch, outcome))
    }

    /// Returns what to do now.
    pub fn step(&mut self, reading: Reading) -> Step {
        let now = self.state.clock.read(reading);
        self.forget(now);
        if now < self.state.due {
            return Step::Wait(self.state.due.since(now));
        }
        // By the wall clock and the time zone as they are now.
        if !self.closed.is_open(self.second_of_day()) {
            self.draw_again(now);
            return Step::Wait(self.state.due.since(now));
        }
        let grant = match self.grant() {
            Ok(grant) => grant,
            Err(reason) => {
                let skipped = RunOutcome::Skipped(reason);
                self.close(now, &skipped, None);
                return Step::Skip(skipped);
            }
        };
        let going = Going { begun: now, second_of_day: self.second_of_day(), counted: ByteCount(0), rate: BitRate(0) };
        self.state.going = Some(going);
        Step::Run(grant)
    }

    /// The full test that goes on has taken this much so far, and takes it at this rate now. The state is to be saved.
    pub fn progress(&mut self, reading: Reading, counted: ByteCount, rate: BitRate) {
        let now = self.state.clock.read(reading);
        if let Some(going) = &mut self.state.going {
            going.counted = going.counted.max(counted);
            going.rate = going.rate.max(rate);
            self.state.loaded = Some(now);
        }
    }

    /// The full test has ended, and has taken this much. The state is to be saved.
    pub fn conclude(&mut self, reading: Reading, outcome: &RunOutcome, data: Option<RunData>) {
        let now = self.state.clock.read(reading);
        self.close(now, outcome, data);
    }

    /// Light probing goes on, or does not. To be called once in [`SAVING`] at least.
    pub fn probing(&mut self, reading: Reading, goes_on: bool) {
        let now = self.state.clock.read(reading);
        if let Some(from) = self.state.probing.take() {
            self.book_probes(from, now);
        }
        self.state.probing = goes_on.then_some(now);
    }

    /// Whether the budget has room for light probing.
    pub fn may_probe(&self) -> bool {
        let now = self.state.clock.now();
        self.rules.budget.is_none_or(|budget| {
            let used = |ledger: &Ledger| ledger.used(now, budget.period.length()).0;
            used(&self.state.runs) + used(&self.state.probes) < budget.octets.0
        })
    }

    /// Returns what is to be saved.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Returns all that was booked since the first start.
    pub fn booked(&self) -> ByteCount {
        ByteCount(self.state.booked)
    }

    /// Returns what is left of the budget for full tests now; `None` without a budget.
    pub fn left(&self) -> Option<ByteCount> {
        let budget = self.rules.budget?;
        let (now, period) = (self.state.clock.now(), budget.period.length());
        let reserved = reserved(&self.rules, budget).max(self.state.probes.used(now, period));
        let left = budget.octets.0.saturating_sub(reserved.0);
        Some(ByteCount(left.saturating_sub(self.state.runs.used(now, period).0)))
    }

    fn second_of_day(&self) -> u32 {
        self.state.clock.last().second_of_day()
    }

    fn grant(&self) -> Result<Grant, SkipReason> {
        let forecast = self.state.last.map(|last| last.forecast(self.rules.run_length));
        let (Some(left), Some(budget)) = (self.left(), self.rules.budget) else {
            return Ok(Grant { most: None, forecast });
        };
        // Before the first test nothing is known: it has a good part of the budget, and is stopped where that ends.
        let whole = ByteCount(budget.octets.0.saturating_sub(reserved(&self.rules, budget).0));
        // One that would not even fit into an unused budget is stopped where that ends, too.
        let least = forecast.unwrap_or(ByteCount(budget.octets.0 / UNKNOWN_SHARE)).min(whole);
        if left.0 == 0 || least > left {
            return Err(SkipReason::Budget { forecast, left, budget });
        }
        Ok(Grant { most: Some(left), forecast })
    }

    /// Ends the test that was due: books what it took, and sets the time of the next.
    fn close(&mut self, now: WatchTime, outcome: &RunOutcome, data: Option<RunData>) {
        let going = self.state.going.take();
        let (begun, second) = match &going {
            Some(going) => (going.begun, going.second_of_day),
            None => (now, self.second_of_day()),
        };
        let counted = going.as_ref().map_or(ByteCount(0), |going| going.counted);
        let octets = data.map_or(counted, |data| data.octets.max(counted));
        self.state.runs.book(now, octets);
        self.state.booked = self.state.booked.saturating_add(octets.0);
        if *outcome == RunOutcome::Ran {
            self.state.last = data.filter(|data| !data.length.is_zero()).or(self.state.last);
        }
        let tries_again = match outcome {
            RunOutcome::Ran => false,
            RunOutcome::Skipped(reason) => reason.is_brief(),
            RunOutcome::Failed(reason) => {
                matches!(reason, FailReason::Unreachable { .. } | FailReason::Interrupted)
            }
        };
        let mut random = Random(self.state.random);
        self.state.due = if tries_again && self.state.tries < self.rules.retries {
            self.state.tries += 1;
            let again = self.rules.retry.mul_f64(0.5 + random.unit());
            let earliest = self.state.loaded.map_or(now, |loaded| loaded + self.rules.schedule.least);
            (now + again).max(earliest)
        } else {
            self.state.tries = 0;
            let second = if begun == now { self.second_of_day() } else { second };
            now.max(begun + self.rules.schedule.gap(second, &mut random))
        };
        self.state.random = random.0;
    }

    /// A test is due at another time, as it cannot begin now or should have begun long ago.
    fn draw_again(&mut self, now: WatchTime) {
        let mut random = Random(self.state.random);
        let open = Schedule { quiet: self.closed.clone(), ..self.rules.schedule.clone() };
        let earliest = self.state.loaded.map_or(now, |loaded| now.max(loaded + self.rules.schedule.least));
        let second = later(self.second_of_day(), earliest.since(now));
        self.state.due = earliest + open.again(second, &mut random);
        self.state.random = random.0;
    }

    fn book_probes(&mut self, from: WatchTime, to: WatchTime) {
        let octets = (self.rules.probe_octets.0 as f64 * to.since(from).as_secs_f64()).ceil() as u64;
        self.state.probes.book(to, ByteCount(octets));
        self.state.booked = self.state.booked.saturating_add(octets);
    }

    fn forget(&mut self, now: WatchTime) {
        let period = self.rules.budget.map_or(LEDGER_HOUR, |budget| budget.period.length());
        self.state.runs.forget(now, period);
        self.state.probes.forget(now, period);
    }
}

/// What of the budget is kept for probes of a whole period.
fn reserved(rules: &Rules, budget: Budget) -> ByteCount {
    let seconds = (budget.period.length() + LEDGER_HOUR).as_secs();
    ByteCount(rules.probe_octets.0.saturating_mul(seconds))
}
