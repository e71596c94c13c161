//! Setting up many flows at the same time, so that sixteen connections take no longer than one.

use std::thread::{Builder, JoinHandle};

use rrul_model::flow::{FlowId, FlowSpec};
use rrul_model::observation::FlowEventKind;

use crate::clock::test_clock::TestClock;
use crate::endpoint::Endpoint;
use crate::flow_type::Initiation;
use crate::setup_error::SetupError;

/// Opens every flow, each on a thread of its own; a flow that cannot be opened is noted as failed and left out.
pub(super) fn open_all<T: Send>(
    specs: &[&FlowSpec],
    initiation: &Initiation,
    open: impl Fn(&FlowSpec, &Initiation) -> Result<T, SetupError> + Sync,
) -> Vec<(FlowSpec, T)> {
    let open = &open;
    let outcomes: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = specs
            .iter()
            .map(|&spec| Builder::new().name(spec.name.clone()).spawn_scoped(scope, move || open(spec, initiation)))
            .collect();
        let outcome = |thread: std::io::Result<std::thread::ScopedJoinHandle<'_, Result<T, SetupError>>>| {
            let thread = thread.map_err(SetupError::Thread)?;
            thread.join().unwrap_or(Err(SetupError::Panicked))
        };
        threads.into_iter().map(outcome).collect()
    });
    let mut opened = Vec::new();
    for (&spec, outcome) in specs.iter().zip(outcomes) {
        match outcome {
            Ok(found) => opened.push((spec.clone(), found)),
            Err(reason) => initiation.end.failed(spec, reason),
        }
    }
    opened
}

/// Gives every opened flow a thread of its own.
pub(super) fn spawn_each<T: Send + 'static>(
    opened: Vec<(FlowSpec, T)>,
    initiation: &Initiation,
    work: impl Fn(&FlowSpec, T, &Initiation) + Clone + Send + 'static,
) -> Vec<JoinHandle<()>> {
    let mut threads = Vec::new();
    for (spec, found) in opened {
        let (work, of_thread) = (work.clone(), initiation.clone());
        threads.extend(spawn(&spec.name.clone(), vec![spec.id], initiation, move || work(&spec, found, &of_thread)));
    }
    threads
}

/// Sets up every flow and gives all of them one thread, which begins when the test does; a flow that cannot be set up is
/// noted as failed and left out.
pub(super) fn spawn_one<T: Send + 'static>(
    name: &str,
    specs: &[&FlowSpec],
    initiation: &Initiation,
    set_up: impl Fn(&FlowSpec, &Initiation) -> Result<T, SetupError>,
    run: impl FnOnce(&Endpoint, TestClock, Vec<T>) + Send + 'static,
) -> Vec<JoinHandle<()>> {
    let mut ready = Vec::new();
    for &spec in specs {
        match set_up(spec, initiation) {
            Ok(flow) => ready.push(flow),
            Err(reason) => initiation.end.failed(spec, reason),
        }
    }
    if ready.is_empty() {
        return Vec::new();
    }
    let of_thread = initiation.clone();
    spawn(name, specs.iter().map(|spec| spec.id).collect(), initiation, move || {
        if let Some(clock) = of_thread.end.wait_for_begin() {
            run(&of_thread.end, clock, ready);
        }
    })
}

/// Starts the thread of these flows, if any. Where no thread can be created, every flow has failed.
pub(super) fn spawn(
    name: &str,
    flows: Vec<FlowId>,
    initiation: &Initiation,
    work: impl FnOnce() + Send + 'static,
) -> Vec<JoinHandle<()>> {
    if flows.is_empty() {
        return Vec::new();
    }
    match Builder::new().name(name.to_owned()).spawn(work) {
        Ok(thread) => vec![thread],
        Err(error) => {
            let reason = String::from(SetupError::Thread(error));
            for flow in flows {
                initiation.end.event(flow, FlowEventKind::Failed, reason.clone());
            }
            Vec::new()
        }
    }
}

/// Returns the numbers of flows that have been opened.
pub(super) fn ids<T>(opened: &[(FlowSpec, T)]) -> Vec<FlowId> {
    opened.iter().map(|(spec, _)| spec.id).collect()
}
