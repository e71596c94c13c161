//! Sessions over the loopback interface, with a shaper that only notes what is asked of it.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::SystemTime;

use rrul_engine::client::Families;
use rrul_engine::privacy::Privacy;
use rrul_engine::server::{Server, ServerOptions};
use rrul_model::flow::{AddressFamily, Component};
use rrul_model::shaping::{ShaperDescription, ShaperRates};
use rrul_model::units::BitRate;

use super::super::shaper::ShaperState;
use super::super::test_router::Folder;
use super::super::{class_runs, confirmation, overhead_runs};
use super::*;
use crate::{plan_book, store};

/// What was asked of a shaper, and when.
type Calls = Arc<Mutex<Vec<(Instant, Call)>>>;

#[derive(Debug, Clone, PartialEq)]
enum Call {
    Set(ShaperRates),
    Restore,
}

struct Noted {
    description: ShaperDescription,
    calls: Calls,
    /// Settings that are taken before one fails.
    left: usize,
    /// Whether it can be restored.
    restores: bool,
}

impl Noted {
    fn failing_after(left: usize) -> (Self, Calls) {
        let calls = Calls::default();
        (Self { description: ShaperDescription::default(), calls: Arc::clone(&calls), left, restores: true }, calls)
    }

    fn note(&self, call: Call) {
        self.calls.lock().unwrap().push((Instant::now(), call));
    }
}

impl Shaper for Noted {
    fn describe(&self) -> &ShaperDescription {
        &self.description
    }

    fn has(&self, _direction: Direction) -> bool {
        true
    }

    fn read(&mut self) -> Result<ShaperState, ShaperError> {
        Ok(ShaperState { rates: None })
    }

    fn set(&mut self, rates: ShaperRates) -> Result<(), ShaperError> {
        let Some(left) = self.left.checked_sub(1) else {
            return Err(ShaperError::Refused { place: "a test".into(), reason: "full".into() });
        };
        self.left = left;
        self.note(Call::Set(rates));
        Ok(())
    }

    fn counters(&mut self) -> Result<Option<ShaperCounters>, ShaperError> {
        Ok(None)
    }

    fn restore(&mut self) -> Result<(), ShaperError> {
        self.note(Call::Restore);
        let stuck = || ShaperError::Refused { place: "a test".into(), reason: "stuck".into() };
        self.restores.then_some(()).ok_or_else(stuck)
    }

    fn is_lasting(&self) -> bool {
        false
    }

    fn apply(&mut self, rates: ShaperRates) -> Result<(), ShaperError> {
        self.set(rates)
    }
}

fn up(rate: u64) -> ShaperRates {
    ShaperRates { down: None, up: Some(BitRate(rate)) }
}

/// What a session on loopback runs, and the server.
fn on_loopback() -> (RunOptions, Server) {
    on_loopback_with(&[])
}

/// The same with more settings of the plan.
fn on_loopback_with(more: &[&str]) -> (RunOptions, Server) {
    let settings = ["survey=0s", "idle=1s", "after=1s", "after_at_most=1s", "flow.sweep.enabled=false"];
    let settings: Vec<String> = settings.iter().chain(more).map(|setting| (*setting).to_owned()).collect();
    let mut plan = plan_book::plan("tune", &settings).unwrap();
    // Loopback without a limit would measure the processors.
    for entry in plan.entries.iter_mut().filter(|entry| entry.component == Component::Load) {
        let rate = rrul_model::flow::Parameter::Text("5Mbit/s".to_owned());
        entry.parameters.iter_mut().for_each(|one| drop(one.0.insert("pacing_rate".to_owned(), rate.clone())));
    }
    let addresses = vec![Ipv4Addr::LOCALHOST.into()];
    let server = Server::start(ServerOptions { addresses, port: 0, ..ServerOptions::default() }).unwrap();
    let options = RunOptions {
        server: server.addresses()[0].to_string(),
        port: 1,
        families: Families::Only(AddressFamily::Ipv4),
        plan,
        title: String::new(),
        created: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
        privacy: Privacy::Open,
        token: None,
        trust: rrul_engine::client::ServerTrust::default(),
        wait: true,
        seed: 1,
    };
    (options, server)
}

/// Runs a session with these rates on loopback; `stop` may be raised while it goes on.
fn session(rates: &[ShaperRates], shaper: &mut Noted, stop: &AtomicBool, most_data: Option<ByteCount>) -> Session {
    let (options, _server) = on_loopback();
    let tuning = TuningPlan { fixed: rates.to_vec(), most_data, ..TuningPlan::new(ShaperDescription::default()) };
    let name = format!("rrul-session-{}-{:?}", std::process::id(), std::thread::current().id());
    let writer = store::Writer::create(&std::env::temp_dir().join(name)).unwrap();
    let conduct = Conduct { options: &options, tuning: &tuning, stop, subject: None };
    let session = conduct.run(shaper, writer).unwrap();
    let path = session.path.as_ref().unwrap();
    let read = store::read(path).unwrap();
    std::fs::remove_file(path).unwrap();
    assert_eq!(read.steps, session.recording.steps, "the file has the steps");
    assert_eq!((&read.header, &read.end), (&session.recording.header, &session.recording.end));
    assert_eq!(rrul_analysis::tuning::trials::trials(&read), session.trials, "later as while the test ran");
    session
}

/// Loads and measures, so only another program's tests of this name run beside it: see scripts/test.
mod loads {
    use super::*;

    #[test]
    fn each_setting_is_measured_and_recorded_and_then_the_load_ends_and_the_shaper_is_restored() {
        let (mut shaper, calls) = Noted::failing_after(9);
        let rates = [up(7_000_000), up(8_000_000)];
        let session = session(&rates, &mut shaper, &AtomicBool::new(false), None);
        assert!(matches!(session.ended, SessionEnd::Finished), "{:?}", session.ended);
        let calls = calls.lock().unwrap();
        let made: Vec<&Call> = calls.iter().map(|(_, call)| call).collect();
        // The queue of the load that began without a shaper drains at half of the first rate.
        assert_eq!(made, [&Call::Set(up(3_500_000)), &Call::Set(rates[0]), &Call::Set(rates[1]), &Call::Restore]);
        let recording = &session.recording;
        assert_eq!(rrul_analysis::analyze(recording).measured.test.partial, None);
        assert_eq!(recording.header.tuning.as_ref().unwrap().fixed, rates);
        let load = recording.loaded().unwrap();
        assert_eq!(
            (Some(load.to), &recording.end.as_ref().unwrap().partial),
            (recording.end.as_ref().unwrap().load_ended, &None)
        );
        for (number, (step, trial)) in (0..).zip(recording.steps.iter().zip(&session.trials)) {
            assert_eq!((step.number, step.rates), (number, rates[number as usize]));
            assert!(load.from < step.set_at && step.ended_at < load.to, "{step:?}");
            let (settled, measured) = (step.settled_at.since(step.set_at), step.ended_at.since(step.settled_at));
            // This runs on a machine that may be busy.
            assert!((2.0..4.0).contains(&(settled.milliseconds() / 1e3)), "{step:?}");
            assert!((8.0..10.0).contains(&(measured.milliseconds() / 1e3)), "{step:?}");
            // Four streams each way at 5 Mbit/s of what TCP calls its rate.
            let delivered = trial.directions.up.delivered.unwrap().megabits();
            assert!((10.0..25.0).contains(&delivered), "{delivered} Mbit/s");
            assert!(trial.directions.down.queueing_delay.is_some_and(|delay| delay.n > 300), "{trial:?}");
        }
    }
}

#[test]
fn a_shaper_that_fails_ends_the_session_with_what_was_measured() {
    let (mut shaper, calls) = Noted::failing_after(2);
    let session = session(&[up(7_000_000), up(8_000_000)], &mut shaper, &AtomicBool::new(false), None);
    assert!(matches!(session.ended, SessionEnd::Shaper(ShaperError::Refused { .. })), "{:?}", session.ended);
    assert_eq!((session.trials.len(), session.recording.steps.len()), (1, 1));
    assert_eq!(calls.lock().unwrap().last().map(|(_, call)| call.clone()), Some(Call::Restore));
    assert_eq!(session.recording.end.unwrap().partial, None, "the load was ended, and the test went on to its end");
}

#[test]
fn a_session_that_is_stopped_restores_the_shaper_at_once() {
    let (mut shaper, calls) = Noted::failing_after(9);
    let stop = AtomicBool::new(false);
    let (session, stopped) = std::thread::scope(|scope| {
        let stopping = scope.spawn(|| {
            std::thread::sleep(Duration::from_secs(5));
            stop.store(true, Ordering::Relaxed);
            Instant::now()
        });
        (session(&[up(7_000_000)], &mut shaper, &stop, None), stopping.join().unwrap())
    });
    assert!(matches!(session.ended, SessionEnd::Stopped), "{:?}", session.ended);
    let (restored, call) = calls.lock().unwrap().last().unwrap().clone();
    assert_eq!(call, Call::Restore);
    assert!(restored.saturating_duration_since(stopped) < Duration::from_secs(1));
    assert!(session.trials.is_empty() && session.recording.end.unwrap().partial.is_some());
}

#[test]
fn a_session_takes_no_more_data_than_it_may() {
    let (mut shaper, _) = Noted::failing_after(9);
    // A step of 10 s at 40 Mbit/s takes 50 MB, and draining the queue before the first 20.
    let most = Some(ByteCount(100_000_000));
    let session = session(&[up(7_000_000); 5], &mut shaper, &AtomicBool::new(false), most);
    assert!(matches!(session.ended, SessionEnd::OutOfData), "{:?}", session.ended);
    assert_eq!(session.trials.len(), 1);
}

#[test]
fn what_is_measured_after_the_search_ends_with_the_error_of_the_shaper() {
    let (options, _server) = on_loopback();
    let tuning = TuningPlan::new(ShaperDescription::default());
    let (folder, stop) = (Folder::new(), AtomicBool::new(false));
    let conduct = Conduct { options: &options, tuning: &tuning, stop: &stop, subject: None };
    let writer = || store::Writer::create_free(&folder.0.join("run").to_string_lossy());
    for (restores, reason) in [(true, "full"), (false, "stuck")] {
        let shaper = || Noted { restores, ..Noted::failing_after(0).0 };
        let classes = class_runs::run(&conduct, up(7_000_000), &mut shaper(), |_| writer()).map(drop);
        let overhead = overhead_runs::run(&conduct, AddressFamily::Ipv4, &mut shaper(), |_, _| writer()).map(drop);
        for said in [classes, overhead].map(|ended| ended.unwrap_err().to_string()) {
            assert!(said.contains(reason), "{said}");
        }
    }
}

#[test]
fn a_shaper_that_is_not_restored_matters_more_than_a_recording_that_is_not_written() {
    let mut shaper = Noted { restores: false, ..Noted::failing_after(0).0 };
    let session = session(&[up(7_000_000)], &mut shaper, &AtomicBool::new(false), None);
    let unwritten = Session { path: Err(Failure::WriterEnded), ..session };
    let said = unwritten.kept().map(drop).unwrap_err().to_string();
    assert!(said.contains("stuck"), "{said}");
}

/// What came of two tests that confirm rates.
struct Confirmed {
    outcome: Result<confirmation::Confirmation, Failure>,
    calls: Vec<Call>,
    /// Recordings that are on disk, each readable.
    kept: usize,
}

/// Confirms rates with this load; the user stops it after a time.
fn confirmed((mut shaper, calls): (Noted, Calls), load: &str, stopped: Option<Duration>) -> Confirmed {
    let (options, _server) = on_loopback_with(&[&format!("load={load}")]);
    let folder = Folder::new();
    let writers = ["before", "after"].map(|name| store::Writer::create(&folder.0.join(name)).unwrap());
    let stop = AtomicBool::new(false);
    let outcome = std::thread::scope(|scope| {
        if let Some(after) = stopped {
            let stop = &stop;
            scope.spawn(move || {
                std::thread::sleep(after);
                stop.store(true, Ordering::Relaxed);
            });
        }
        confirmation::confirm(&options, up(7_000_000), &mut shaper, writers, &stop)
    });
    let calls = calls.lock().unwrap().iter().map(|(_, call)| call.clone()).collect();
    let files = std::fs::read_dir(&folder.0).unwrap();
    let kept: Vec<_> = files.map(|file| store::read(&file.unwrap().path()).unwrap()).collect();
    Confirmed { outcome, calls, kept: kept.len() }
}

#[test]
fn a_result_is_confirmed_by_a_test_before_and_one_with_the_rates_and_the_shaper_is_restored() {
    let Confirmed { outcome, calls, kept } = confirmed(Noted::failing_after(9), "1s", None);
    let outcome = outcome.unwrap();
    let ended = |test: &crate::measurement::Measurement| test.recording.end.clone().unwrap().partial;
    assert_eq!((ended(&outcome.as_found), outcome.recommended.as_ref().map(ended)), (None, Some(None)));
    assert_eq!((calls, kept), (vec![Call::Set(up(7_000_000)), Call::Restore], 2));
}

#[test]
fn a_confirmation_that_is_stopped_sets_nothing() {
    let Confirmed { outcome, calls, kept } = confirmed(Noted::failing_after(9), "60s", Some(Duration::from_secs(5)));
    let outcome = outcome.unwrap();
    assert!(outcome.as_found.recording.end.unwrap().partial.is_some() && outcome.recommended.is_none());
    assert_eq!((calls, kept), (vec![], 1), "what was measured is kept");
}

#[test]
fn rates_that_cannot_be_set_for_the_confirmation_leave_the_first_test_and_restore() {
    let Confirmed { outcome, calls, kept } = confirmed(Noted::failing_after(0), "1s", None);
    assert!(outcome.map(drop).unwrap_err().to_string().contains("full"));
    assert_eq!((calls, kept), (vec![Call::Restore], 1));
}

#[test]
fn a_shaper_that_stays_changed_after_the_confirmation_is_reported() {
    let (shaper, calls) = Noted::failing_after(9);
    let Confirmed { outcome, calls, kept } = confirmed((Noted { restores: false, ..shaper }, calls), "1s", None);
    assert!(outcome.map(drop).unwrap_err().to_string().contains("stuck"));
    assert_eq!((calls, kept), (vec![Call::Set(up(7_000_000)), Call::Restore], 2));
}
