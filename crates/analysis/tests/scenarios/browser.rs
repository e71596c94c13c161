//! What a browser takes of the client's processors, and what that does to what is believed.

use rrul_analysis::validity::Severity;
use rrul_model::flow::{AddressFamily, FlowId};
use rrul_model::observation::{BrowserTime, CpuTime, CpuTimeTable, FlowEventKind, PageLoad};
use rrul_model::time::TestTime;
use rrul_model::units::Delay;

use crate::builder::{Client, MS, SECOND, Scenario};

fn browser_flow(scenario: &mut Scenario) -> FlowId {
    let flow = scenario.udp_probe(AddressFamily::Ipv4);
    let spec = scenario.recording.header.flows.iter_mut().find(|spec| spec.id == flow).unwrap();
    spec.flow_type = "browser_page".into();
    spec.name = format!("browser_page/BE/ipv4@{}", flow.0);
    flow
}

/// Loads of 2 s each from these seconds on, while the browser takes so many milliseconds of processor time a second and the
/// client's two cores are busy for so many percent of each.
fn loads(from: &[i64], browser: i64, busy: [u64; 2]) -> Scenario {
    let mut scenario = Scenario::healthy();
    let flow = browser_flow(&mut scenario);
    for frame in scenario.recording.frames.iter_mut().filter(|frame| frame.point == Client) {
        frame.tables.cpu_time = CpuTimeTable::default();
    }
    for second in 0..=20 {
        let at = TestTime(second * SECOND);
        let user = Delay(second * browser * MS);
        scenario.observe(Client, at.0, BrowserTime { flow, at, user, system: Delay(0) });
        for (core, busy) in (0..).zip(busy) {
            let (user, idle) = (second as u64 * busy, second as u64 * (100 - busy));
            let ticks = CpuTime { at, core, user, nice: 0, system: 0, idle, iowait: 0, irq: 0, softirq: 0, steal: 0 };
            scenario.observe(Client, at.0, ticks);
        }
    }
    for (load, second) in (0..).zip(from) {
        let started = TestTime(second * SECOND);
        let (scheduled, took) = (started, Delay(2 * SECOND));
        let row = PageLoad { flow, load, scheduled, started, outcome: PageLoad::COMPLETE, took, fallbacks: 0 };
        scenario.observe(Client, started.0, row);
    }
    scenario
}

fn contended(scenario: &Scenario) -> Option<String> {
    let analysis = scenario.analyze();
    let found = analysis.validity.reasons.iter().find(|reason| reason.code == "browser_contended");
    assert!(found.is_none_or(|reason| reason.severity == Severity::Doubt));
    found.map(|reason| reason.text.clone())
}

#[test]
fn a_browser_on_a_full_processor_is_reported_of_in_the_load_only() {
    let full = [100, 60];
    let text = contended(&loads(&[6, 9], 400, full)).unwrap();
    assert!(text.contains("in 100 % of 4 s of page loads (limit 10 %)"), "{text}");
    let browser = loads(&[6, 9], 400, full).analyze().browser.unwrap();
    assert_eq!((browser.seconds, browser.process), (4, Delay(4 * SECOND)));
    assert_eq!(loads(&[1], 400, full).analyze().browser, None, "no page was loaded under the load");
}

#[test]
fn a_processor_with_room_or_a_browser_that_waits_is_no_contention() {
    assert_eq!(contended(&loads(&[6, 9], 400, [100, 40])), None, "another core is free");
    assert_eq!(contended(&loads(&[6, 9], 400, [90, 60])), None, "no core is full");
    assert_eq!(contended(&loads(&[6, 9], 40, [100, 60])), None, "the browser waits for the network");
    assert!(loads(&[6, 9], 40, [100, 60]).analyze().browser.is_some_and(|browser| browser.seconds == 4));
}

#[test]
fn a_missing_browser_is_reported_once_and_is_no_failure() {
    let mut scenario = Scenario::healthy();
    for flow in [browser_flow(&mut scenario), browser_flow(&mut scenario)] {
        scenario.event(Client, flow, 0, FlowEventKind::Failed, "no browser on the PATH");
    }
    let analysis = scenario.analyze();
    assert_eq!((analysis.failed_flows.len(), analysis.absent_flows.len()), (0, 2));
    let absent: Vec<_> = analysis.validity.reasons.iter().filter(|reason| reason.code == "flow_absent").collect();
    assert_eq!(absent.len(), 1);
    assert!(absent[0].text.ends_with("did not run: no browser on the PATH."), "{}", absent[0].text);
    // One that broke down after its first load has failed.
    let mut broken = loads(&[6], 400, [20, 20]);
    let flow = broken.recording.header.flows.last().unwrap().id;
    broken.event(Client, flow, 0, FlowEventKind::Failed, "given up");
    assert_eq!(broken.analyze().failed_flows.len(), 1);
}
