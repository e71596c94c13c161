//! A monitor over 30 days and more, in virtual time.

#![allow(clippy::unwrap_used, reason = "what helps a test may panic as the test may")]

use std::time::Duration;

use rrul_model::random::Random;
use rrul_model::units::{BitRate, ByteCount};
use rrul_monitor::budget::{Budget, Period};
use rrul_monitor::grant::{Grant, RunData};
use rrul_monitor::outcome::{FailReason, RunOutcome, SkipReason};
use rrul_monitor::quiet_hours::QuietHours;
use rrul_monitor::schedule::Schedule;
use rrul_monitor::watch::{Rules, Step, Watch};
use rrul_monitor::watch_clock::Reading;

const DAY: u64 = 86_400_000;
const RUN: Duration = Duration::from_secs(100);

fn rules(budget: Option<&str>, quiet: &[&str]) -> Rules {
    let hours = quiet.iter().map(|text| text.parse().unwrap()).collect();
    Rules {
        schedule: Schedule {
            mean: Duration::from_hours(3),
            least: Duration::from_mins(30),
            most: Duration::from_hours(1000),
            quiet: QuietHours::new(hours).unwrap(),
        },
        budget: budget.map(|text| text.parse().unwrap()),
        probe_octets: ByteCount(500),
        run_length: RUN,
        retry: Duration::from_mins(10),
        retries: 3,
    }
}

/// The world of a monitor: true time, the clocks that it reads, and what passes its line.
struct World {
    /// True time, milliseconds.
    now: u64,
    /// The wall clock less true time.
    wall_error: i64,
    started: u64,
    boots: u32,
    random: Random,
    /// True time and bytes.
    used: Vec<(u64, u64)>,
    began: Vec<u64>,
    outcomes: Vec<RunOutcome>,
}

impl World {
    fn new(seed: u64) -> Self {
        Self {
            now: 0,
            wall_error: 1_795_000_000_000,
            started: 0,
            boots: 0,
            random: Random::new(seed, "world"),
            used: Vec::new(),
            began: Vec::new(),
            outcomes: Vec::new(),
        }
    }

    fn reading(&self) -> Reading {
        Reading {
            wall_ms: self.now as i64 + self.wall_error,
            utc_offset_s: 3600,
            uptime: Duration::from_millis(self.now - self.started),
            boot: self.boots.to_string(),
        }
    }

    /// A full test on a line that, run by run, carries between half and twice of `usual`. Returns what it took.
    fn run(&mut self, watch: &mut Watch, grant: Grant, usual: f64) -> RunData {
        self.began.push(self.now);
        let rate = BitRate((usual * (0.5 + 1.5 * self.random.unit())) as u64);
        let each_second = rate.0 / 8;
        let (mut counted, mut seconds) = (0, 0);
        while seconds < RUN.as_secs() {
            seconds += 1;
            self.now += 1000;
            counted += each_second;
            watch.progress(self.reading(), ByteCount(counted), rate);
            // Ten looks a second: this is the last of one second, after which the next may pass unseen in part.
            if grant.is_spent(ByteCount(counted + each_second), rate) {
                // What queues hold arrives all the same.
                counted += 2 * each_second;
                break;
            }
        }
        self.used.push((self.now, counted));
        RunData { octets: ByteCount(counted), length: Duration::from_secs(seconds) }
    }

    /// The most that was used within any stretch of this length.
    fn most_used(&self, period: Period) -> u64 {
        let length = period.length().as_millis() as u64;
        let (mut first, mut sum, mut most) = (0, 0, 0);
        for (end, octets) in &self.used {
            sum += octets;
            while self.used[first].0 + length <= *end {
                sum -= self.used[first].1;
                first += 1;
            }
            most = most.max(sum);
        }
        most
    }
}

/// Light probes alone, for this time or a minute.
fn wait(world: &mut World, watch: &mut Watch, time: Duration) {
    let time = (time.as_millis() as u64).clamp(1, 60_000);
    world.now += time;
    watch.probing(world.reading(), true);
    world.used.push((world.now, 500 * time / 1000));
}

/// Lets a monitor work until `end`. `disturb` is called after each step and may change the world and the monitor.
fn live(world: &mut World, watch: &mut Watch, end: u64, usual: f64, mut disturb: impl FnMut(&mut World, &mut Watch)) {
    while world.now < end {
        match watch.step(world.reading()) {
            Step::Wait(time) => wait(world, watch, time),
            Step::Run(grant) => {
                let data = world.run(watch, grant, usual);
                watch.conclude(world.reading(), &RunOutcome::Ran, Some(data));
                world.outcomes.push(RunOutcome::Ran);
            }
            Step::Skip(outcome) => world.outcomes.push(outcome),
        }
        disturb(world, watch);
    }
}

fn start(world: &World, rules: Rules, seed: u64) -> Watch {
    Watch::start(rules, None, world.reading(), seed).unwrap().0
}

/// The probability of samples as far from the standard exponential distribution as these (Kolmogorov-Smirnov, the asymptotic
/// distribution with Stephens' correction for n, 1970).
fn kolmogorov_smirnov(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    let n = samples.len() as f64;
    let distance = samples.iter().enumerate().fold(0.0_f64, |most, (i, x)| {
        let expected = 1.0 - (-x).exp();
        most.max((expected - i as f64 / n).abs()).max(((i + 1) as f64 / n - expected).abs())
    });
    let lambda = (n.sqrt() + 0.12 + 0.11 / n.sqrt()) * distance;
    let term = |k: i32| f64::from(if k % 2 == 1 { 2 } else { -2 }) * (-2.0 * f64::from(k * k) * lambda * lambda).exp();
    (1..100).map(term).sum::<f64>().clamp(0.0, 1.0)
}

/// Gaps between beginnings, seconds.
fn gaps(world: &World) -> Vec<f64> {
    world.began.windows(2).map(|pair| (pair[1] - pair[0]) as f64 / 1000.0).collect()
}

#[test]
fn gaps_are_exponential_beyond_the_least_gap() {
    for seed in 1..=10 {
        let mut world = World::new(seed);
        let mut watch = start(&world, rules(None, &[]), seed);
        live(&mut world, &mut watch, 30 * DAY, 1e8, |_, _| {});
        let gaps = gaps(&world);
        assert!((180..300).contains(&gaps.len()), "seed {seed}: {} gaps in 30 days, 240 expected", gaps.len());
        assert!(gaps.iter().all(|gap| *gap >= 1800.0), "seed {seed}: a gap below the least one");
        let beyond = gaps.iter().map(|gap| (gap - 1800.0) / 9000.0).collect();
        let p = kolmogorov_smirnov(beyond);
        assert!(p > 0.01, "seed {seed}: Kolmogorov-Smirnov p = {p}");
    }
}

#[test]
fn the_test_of_exponential_gaps_finds_others() {
    let uniform = (0..240).map(|i| f64::from(i) / 120.0).collect();
    assert!(kolmogorov_smirnov(uniform) < 0.001);
    let mut random = Random::new(3, "ks");
    let halved = (0..240).map(|_| -(1.0 - random.unit()).ln() / 2.0).collect();
    assert!(kolmogorov_smirnov(halved) < 0.001);
}

#[test]
fn no_test_is_in_quiet_hours_and_open_hours_are_used_evenly() {
    let (mut early, mut late) = (0, 0);
    for seed in 1..=10 {
        let mut world = World::new(seed);
        let mut watch = start(&world, rules(None, &["18:00-23:00", "02:00-04:00"]), seed);
        live(&mut world, &mut watch, 30 * DAY, 1e8, |_, _| {});
        for began in &world.began {
            let second = |at: u64| ((at as i64 + world.wall_error) / 1000 + 3600).rem_euclid(86_400);
            for at in [*began, began + RUN.as_millis() as u64] {
                let hour = second(at) / 3600;
                assert!(!(18..23).contains(&hour) && !(2..4).contains(&hour), "seed {seed}: a test at {hour} h");
            }
            early += u32::from(second(*began) / 3600 == 4);
            late += u32::from(second(*began) / 3600 == 12);
        }
    }
    // The hour after quiet hours is no rush hour: both have about 100 tests, with a standard deviation of 10.
    assert!(early.abs_diff(late) < 60, "{early} in the hour after quiet hours, {late} at noon");
}

#[test]
fn the_budget_is_never_exceeded_though_tests_take_more_than_forecast() {
    for (text, usual) in [("12GB/day", 1e8), ("60GB/week", 1e8), ("200GB/month", 2e8), ("3GB/day", 3e8)] {
        let budget: Budget = text.parse().unwrap();
        for seed in 1..=5 {
            let mut world = World::new(seed);
            let mut watch = start(&world, rules(Some(text), &[]), seed);
            live(&mut world, &mut watch, 62 * DAY, usual, |_, _| {});
            let used = world.most_used(budget.period);
            assert!(used <= budget.octets.0, "{text}, seed {seed}: {used} bytes");
            let skipped = world.outcomes.iter().filter(|outcome| outcome.reason() == "budget").count();
            let ran = world.outcomes.iter().filter(|outcome| **outcome == RunOutcome::Ran).count();
            assert!(skipped > 0 && ran > 5, "{text}, seed {seed}: {ran} ran, {skipped} skipped");
            let share = used as f64 / budget.octets.0 as f64;
            assert!(share > 0.6, "{text}, seed {seed}: the budget is of use, {share}");
        }
    }
}

#[test]
fn a_budget_survives_clock_steps_restarts_and_kills() {
    let text = "12GB/day";
    let budget: Budget = text.parse().unwrap();
    for seed in 1..=10 {
        let mut world = World::new(seed);
        let mut watch = start(&world, rules(Some(text), &["18:00-23:00"]), seed);
        let mut saved = serde_json::to_string(watch.state()).unwrap();
        let (mut saved_at, mut concluded) = (0, 0);
        let mut failures = 0;
        live(&mut world, &mut watch, 30 * DAY, 1e8, |world, watch| {
            if world.now >= saved_at + 60_000 || world.outcomes.len() > concluded {
                saved = serde_json::to_string(watch.state()).unwrap();
                (saved_at, concluded) = (world.now, world.outcomes.len());
            }
            match world.random.up_to(2000) {
                // A step of years in either direction.
                0 => world.wall_error += (world.random.up_to(200 * DAY) as i64) - 100 * DAY as i64,
                // Killed at any time since the state was last saved.
                1 => {
                    let state = serde_json::from_str(&saved).unwrap();
                    *watch =
                        Watch::start(rules(Some(text), &["18:00-23:00"]), Some(state), world.reading(), 0).unwrap().0;
                }
                // The host restarts, hours later or with a clock that begins in 1970.
                2 => {
                    world.now += world.random.up_to(DAY / 4);
                    world.started = world.now;
                    world.boots += 1;
                    if world.random.up_to(1) == 0 {
                        world.wall_error = -(world.now as i64);
                    }
                    let state = serde_json::from_str(&saved).unwrap();
                    *watch =
                        Watch::start(rules(Some(text), &["18:00-23:00"]), Some(state), world.reading(), 0).unwrap().0;
                }
                // Killed in the middle of a test.
                3 => {
                    if let Step::Run(grant) = force(world, watch) {
                        let data = world.run(watch, grant, 1e8);
                        assert!(data.octets.0 > 0);
                        let state = serde_json::from_str(&serde_json::to_string(watch.state()).unwrap()).unwrap();
                        let (again, outcome) =
                            Watch::start(rules(Some(text), &["18:00-23:00"]), Some(state), world.reading(), 0).unwrap();
                        assert_eq!(outcome, Some(RunOutcome::Failed(FailReason::Interrupted)));
                        failures += 1;
                        *watch = again;
                        saved = serde_json::to_string(watch.state()).unwrap();
                    }
                }
                _ => {}
            }
        });
        let used = world.most_used(budget.period);
        assert!(used <= budget.octets.0, "seed {seed}: {used} bytes");
        assert!(gaps(&world).iter().all(|gap| *gap >= 1800.0), "seed {seed}: a gap below the least one");
        assert!(world.began.len() > 20 && failures > 0, "seed {seed}: {} tests, {failures} killed", world.began.len());
    }
}

/// Waits until a test is due.
fn force(world: &mut World, watch: &mut Watch) -> Step {
    loop {
        match watch.step(world.reading()) {
            Step::Wait(time) => wait(world, watch, time),
            other => return other,
        }
    }
}

#[test]
fn a_test_that_could_not_run_is_tried_again_and_then_left_until_the_next() {
    let mut world = World::new(1);
    let mut watch = start(&world, rules(None, &[]), 1);
    let mut tried = Vec::new();
    for _ in 0..8 {
        assert!(matches!(force(&mut world, &mut watch), Step::Run(_)));
        tried.push(world.now);
        let dead = RunOutcome::Failed(FailReason::Unreachable { reason: "no route".to_owned() });
        watch.conclude(world.reading(), &dead, None);
    }
    let gaps: Vec<u64> = tried.windows(2).map(|pair| (pair[1] - pair[0]) / 1000).collect();
    for (index, gap) in gaps.iter().enumerate() {
        let brief = (300..=901).contains(gap);
        assert!(if index == 3 { *gap >= 1800 } else { brief }, "{gaps:?}");
    }
    let refused = RunOutcome::Failed(FailReason::Refused { reason: "no token".to_owned() });
    assert!(matches!(force(&mut world, &mut watch), Step::Run(_)));
    let at = world.now;
    watch.conclude(world.reading(), &refused, None);
    force(&mut world, &mut watch);
    assert!(world.now - at >= 1_800_000, "what a server refuses it refuses in ten minutes too");
}

#[test]
fn hosts_that_were_off_do_not_test_at_the_moment_they_start() {
    let mut at_once = 0;
    for seed in 0..100 {
        let mut world = World::new(seed);
        let mut watch = start(&world, rules(None, &[]), seed);
        live(&mut world, &mut watch, DAY, 1e8, |_, _| {});
        world.now += 2 * DAY;
        world.boots += 1;
        world.started = world.now;
        let state = watch.state().clone();
        let mut watch = Watch::start(rules(None, &[]), Some(state), world.reading(), 0).unwrap().0;
        let wait = match watch.step(world.reading()) {
            Step::Wait(time) => time,
            _ => Duration::ZERO,
        };
        at_once += u32::from(wait < Duration::from_mins(5));
    }
    // 300 s of a mean of 9000 s: 3 of 100.
    assert!(at_once < 12, "{at_once} of 100 tested within five minutes");
}

#[test]
fn rules_that_cannot_be_kept_are_refused() {
    let world = World::new(1);
    let error = Watch::start(rules(Some("1GB/month"), &[]), None, world.reading(), 1).unwrap_err().to_string();
    assert_eq!(error, "1 GB/month is less than light probing takes (1.34 GB); use a larger budget");
    let error = Watch::start(rules(None, &["00:00-23:59"]), None, world.reading(), 1).unwrap_err().to_string();
    assert!(error.starts_with("quiet_hours leave no time for a full test of 100 s"), "{error}");
}

#[test]
fn a_skip_names_what_is_left_and_what_it_would_take() {
    let skipped = RunOutcome::Skipped(SkipReason::Budget {
        forecast: Some(ByteCount(1_250_000_000)),
        left: ByteCount(800_000_000),
        budget: "30GB/month".parse().unwrap(),
    });
    assert_eq!(skipped.to_string(), "skipped (budget): it would take 1.25 GB, and 800 MB of 30 GB/month are left");
}
