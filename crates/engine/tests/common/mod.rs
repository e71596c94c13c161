//! A test over the loopback interface: server and client in one process.

use std::sync::atomic::AtomicBool;

use rrul_engine::client::{Families, MemoryRecorder, RunError, RunOptions, run};
use rrul_engine::privacy::Privacy;
use rrul_engine::server::{Server, ServerOptions};
use rrul_engine::vocabulary;
use rrul_model::plan::{Surroundings, TestPlan};
use rrul_model::recording::Recording;

/// A plan from its text.
pub(crate) fn plan(text: &str) -> TestPlan {
    let vocabulary = vocabulary();
    let surroundings = Surroundings { flow_types: &vocabulary, find: &|_| None };
    TestPlan::read("test", "test.toml", text, &[], &surroundings).unwrap_or_else(|error| panic!("{error}"))
}

/// A server on a free port of both loopback addresses.
pub(crate) fn server() -> Server {
    let addresses = vec![std::net::Ipv4Addr::LOCALHOST.into(), std::net::Ipv6Addr::LOCALHOST.into()];
    Server::start(ServerOptions { addresses, port: 0, ..ServerOptions::default() })
        .expect("the loopback interface has both families")
}

/// How to run `plan` against `server` over both families.
pub(crate) fn options(server: &Server, plan: TestPlan) -> RunOptions {
    RunOptions {
        server: server.addresses().iter().map(ToString::to_string).collect::<Vec<_>>().join(","),
        port: 1,
        families: Families::Both,
        plan,
        title: "a title".to_owned(),
        created: "2026-01-01T00:00:00Z".to_owned(),
        privacy: Privacy::Open,
        token: None,
        trust: rrul_engine::client::ServerTrust::default(),
        wait: true,
        seed: 1,
    }
}

/// Runs it.
pub(crate) fn record(options: &RunOptions) -> Result<Recording, RunError> {
    let mut recorder = MemoryRecorder::default();
    run(options, &mut recorder, &AtomicBool::new(false))?;
    Ok(recorder.recording().expect("a header"))
}
