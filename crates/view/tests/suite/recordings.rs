//! Recordings around analyses that were made up, and the reports of both.
#![allow(dead_code, reason = "each test file uses its own share of this")]

use rrul_analysis::Analysis;
use rrul_model::environment::Environment;
use rrul_model::plan::TestPlan;
use rrul_model::recording::{Header, Recording};
use rrul_view::report::{ReportedRun, report};

/// What stands around an analysis that was made up.
pub(crate) fn recording(run: &Analysis) -> Recording {
    let plan = TestPlan {
        name: run.test.plan.clone(),
        title: "a test".to_owned(),
        sample_interval: std::time::Duration::from_millis(100),
        ..TestPlan::default()
    };
    let header = Header {
        format: "rrul-recording/1".to_owned(),
        title: run.test.title.clone(),
        created: run.test.created.clone(),
        plan,
        phases: run.test.phases.clone(),
        families: run.test.families.clone(),
        absent_families: run.test.absent_families.clone(),
        server_name: run.test.server.clone(),
        client: Environment { host: run.test.title.clone(), cores: 4, ..Environment::default() },
        ..Header::default()
    };
    Recording { header, frames: Vec::new(), steps: Vec::new(), end: None, digest: None }
}

/// The report of these runs.
pub(crate) fn page(runs: &[Analysis]) -> String {
    let recordings: Vec<Recording> = runs.iter().map(recording).collect();
    let runs: Vec<ReportedRun<'_>> =
        runs.iter().zip(&recordings).map(|(analysis, recording)| ReportedRun { recording, analysis }).collect();
    report(&runs).expect("a report can be written")
}
