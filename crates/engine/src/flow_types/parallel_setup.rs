//! Setting up many flows at the same time, so that sixteen connections take no longer than one.

use std::thread::{Builder, JoinHandle};

use rrul_model::flow::FlowSpec;

use crate::clock::test_clock::TestClock;
use crate::endpoint::Endpoint;
use crate::flow_type::Initiation;

/// Opens every flow, each on a thread of its own; a flow that cannot be opened is noted as failed and left out.
pub(super) fn open_all<T: Send>(
    specs: &[&FlowSpec],
    initiation: &Initiation,
    open: impl Fn(&FlowSpec, &Initiation) -> Result<T, String> + Sync,
) -> Vec<(FlowSpec, T)> {
    let open = &open;
    let outcomes: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = specs
            .iter()
            .map(|&spec| Builder::new().name(spec.name.clone()).spawn_scoped(scope, move || open(spec, initiation)))
            .collect();
        let outcome = |thread: std::io::Result<std::thread::ScopedJoinHandle<'_, Result<T, String>>>| {
            let thread = thread.map_err(|error| format!("cannot start a thread: {error}"))?;
            thread.join().unwrap_or_else(|_| Err("setting it up went wrong; this is a defect of rrul".to_owned()))
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
        let (work, flow, initiation_of_it) = (work.clone(), spec.clone(), initiation.clone());
        let spawned = Builder::new().name(spec.name.clone()).spawn(move || work(&flow, found, &initiation_of_it));
        match spawned {
            Ok(thread) => threads.push(thread),
            Err(error) => initiation.end.failed(&spec, format!("cannot start a thread: {error}")),
        }
    }
    threads
}

/// Sets up every flow and gives all of them one thread, which begins when the test does; a flow that cannot be set up is
/// noted as failed and left out.
pub(super) fn spawn_one<T: Send + 'static>(
    name: &str,
    specs: &[&FlowSpec],
    initiation: &Initiation,
    set_up: impl Fn(&FlowSpec, &Initiation) -> Result<T, String>,
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
    let spawned = Builder::new().name(name.to_owned()).spawn(move || {
        if let Some(clock) = of_thread.end.wait_for_begin() {
            run(&of_thread.end, clock, ready);
        }
    });
    match spawned {
        Ok(thread) => vec![thread],
        Err(error) => {
            for spec in specs {
                initiation.end.failed(spec, format!("cannot start a thread: {error}"));
            }
            Vec::new()
        }
    }
}
