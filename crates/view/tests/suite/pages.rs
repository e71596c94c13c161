//! Page loads made up for runs that are, and the scores that follow from all.
#![allow(dead_code, reason = "each test file uses its own share of this")]

use std::collections::BTreeMap;

use rrul_analysis::Analysis;
use rrul_analysis::metrics::web::page_load::{Load, LoadOutcome, LoadParts};
use rrul_analysis::metrics::web::page_load_statistics::LoadStatistics;
use rrul_analysis::metrics::web::page_loads::{PageLoads, Refreshes};
use rrul_analysis::scored::{Distance, Scores};
use rrul_model::flow::{AddressFamily, Component};
use rrul_model::marking::ServiceClass;
use rrul_model::observation::WebObject;
use rrul_model::time::TestTime;
use rrul_model::units::{ByteCount, Delay};

use crate::synthetic::{MILLISECOND, SECOND, label};

/// The run with a page that takes so many milliseconds idle and under load, and with its scores.
pub(crate) fn scored(mut run: Analysis, idle: &[i64], loaded: &[i64]) -> Analysis {
    run.page_loads = vec![page(idle, loaded)];
    run.scores = Scores::compute(&run, Distance::AsSpecified);
    run
}

fn page(idle: &[i64], loaded: &[i64]) -> PageLoads {
    let seconds = |times: &[i64]| -> Vec<f64> { times.iter().map(|ms| *ms as f64 / 1e3).collect() };
    let statistics = |times: &[i64]| LoadStatistics {
        n: times.len() as u64,
        complete: times.len() as u64,
        mean_ns: Some(times.iter().sum::<i64>() * MILLISECOND / times.len() as i64),
        p50_ns: Some(times[(times.len() - 1) / 2] * MILLISECOND),
        counted: seconds(times),
        whole: seconds(times),
        ..LoadStatistics::default()
    };
    let loads = idle.iter().enumerate().map(|(number, took)| load(number as u32, number as i64 * SECOND, *took));
    let busy = loaded.iter().enumerate();
    let busy = busy.map(|(number, took)| load((idle.len() + number) as u32, (20 + 4 * number as i64) * SECOND, *took));
    let mean = |times: &[i64]| times.iter().sum::<i64>() as f64 / times.len() as f64;
    PageLoads {
        flow_type: "web_page".to_owned(),
        page: "rrul2025".to_owned(),
        version: None,
        class: ServiceClass::BE,
        family: AddressFamily::Ipv4,
        flows: vec!["web_page/BE/ipv4".to_owned()],
        protocols: vec!["h2"],
        unloaded: Some(statistics(idle)),
        loaded: Some(statistics(loaded)),
        whole_load: false,
        skipped: 0,
        slowdown: Some(mean(loaded) / mean(idle)),
        slowdown_at_least: None,
        slowdown_ci95_low: None,
        slowdown_ci95_high: None,
        failures: Vec::new(),
        refreshes: Refreshes::default(),
        series: loads.chain(busy).collect(),
    }
}

/// One load with the document and two objects: one over an existing connection, one that was refused.
fn load(number: u32, at: i64, took: i64) -> Load {
    let flow = label(900, "web_page", Component::Web, None, AddressFamily::Ipv4, ServiceClass::BE);
    let [tenth, none] = [Delay(took * MILLISECOND / 10), WebObject::NONE];
    let document = WebObject {
        flow: flow.id,
        load: number,
        object: 0,
        outcome: WebObject::COMPLETE,
        status: 200,
        protocol: 20,
        connection: 0,
        wanted: TestTime(at),
        blocked: none,
        lookup: tenth,
        connect: tenth,
        secure: tenth,
        send: Delay(0),
        wait: tenth,
        receive: tenth,
        octets: ByteCount(22_000),
    };
    let reused = WebObject {
        object: 1,
        wanted: TestTime(at + took * MILLISECOND / 2),
        blocked: tenth,
        lookup: none,
        connect: none,
        secure: none,
        ..document
    };
    let refused = WebObject {
        object: 2,
        outcome: WebObject::FAILED,
        status: 0,
        protocol: 0,
        secure: none,
        send: none,
        wait: none,
        receive: none,
        octets: ByteCount(0),
        ..document
    };
    Load {
        flow,
        number,
        started: TestTime(at),
        outcome: LoadOutcome::Complete,
        took: Delay(took * MILLISECOND),
        cap: Delay(30 * SECOND),
        fallbacks: 0,
        objects: vec![document, refused, reused],
        refreshes: Vec::new(),
        timing: None,
        parts: LoadParts::default(),
        failure: None,
        addresses: BTreeMap::new(),
    }
}
