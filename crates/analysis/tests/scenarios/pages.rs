//! Pages whose every object's times are known, and what the analysis and the web score make of them.

use proptest::prelude::*;
use rrul_analysis::metrics::web::page_load::LoadOutcome;
use rrul_analysis::metrics::web::page_loads::PageLoads;
use rrul_model::flow::{AddressFamily, Component, FlowId, Parameter};
use rrul_model::marking::ServiceClass;
use rrul_model::observation::{BrowserTiming, FlowEventKind, PageLoad, ProbesSkipped, WebObject};
use rrul_model::page::Page;
use rrul_model::time::TestTime;
use rrul_model::units::{ByteCount, Delay};

use crate::builder::{Client, MS, SECOND, Scenario};

impl Scenario {
    /// A flow that loads the page of 2025 all through the test.
    pub(crate) fn page(&mut self, class: ServiceClass, family: AddressFamily) -> FlowId {
        let id = self.flow("web_page", Component::Web, None, family, Self::ALL);
        let flow = self.recording.header.flows.last_mut().unwrap();
        flow.class = class;
        flow.name = format!("web_page/{class}/{family}#{id}");
        flow.parameters.0.insert("page".to_owned(), Parameter::Text("rrul2025".to_owned()));
        id
    }

    /// One load.
    pub(crate) fn load(&mut self, flow: FlowId, load: u32, at: i64, took: i64, outcome: u8) {
        let (scheduled, started) = (TestTime(at), TestTime(at));
        let row = PageLoad { flow, load, scheduled, started, outcome, took: Delay(took), fallbacks: 0 };
        self.observe(Client, at, row);
    }

    /// Complete loads one after the other, a pause of 50 ms between them.
    fn loads(&mut self, flow: FlowId, first: u32, from: i64, took: &[i64]) {
        let mut at = from;
        for (number, took) in took.iter().enumerate() {
            self.load(flow, first + number as u32, at, took * MS, PageLoad::COMPLETE);
            at += (took + 50) * MS;
        }
    }
}

/// An object that takes 10 ms of each stretch but `secure`, which did not occur.
pub(crate) fn object(flow: FlowId, load: u32, object: u16, wanted: i64) -> WebObject {
    let ten = Delay(10 * MS);
    WebObject {
        flow,
        load,
        object,
        outcome: WebObject::COMPLETE,
        status: 200,
        protocol: 20,
        connection: 0,
        wanted: TestTime(wanted),
        blocked: ten,
        lookup: ten,
        connect: ten,
        secure: WebObject::NONE,
        send: ten,
        wait: ten,
        receive: ten,
        octets: ByteCount(1000),
    }
}

fn only(scenario: &Scenario) -> PageLoads {
    let mut pages = scenario.analyze().measured.page_loads;
    assert_eq!(pages.len(), 1);
    pages.remove(0)
}

#[test]
fn page_load_times_are_reported_idle_and_loaded_with_every_sample() {
    let mut scenario = Scenario::new();
    let flow = scenario.page(ServiceClass::BE, AddressFamily::Ipv4);
    scenario.loads(flow, 0, 100 * MS, &[200, 400, 300]);
    scenario.loads(flow, 3, 6 * SECOND, &[1000, 1200, 800, 1000]);
    // After the load: neither idle nor loaded.
    scenario.loads(flow, 7, 16 * SECOND, &[9]);
    let page = only(&scenario);
    let (quiet, busy) = (page.unloaded.unwrap(), page.loaded.unwrap());
    assert_eq!((quiet.n, quiet.mean_ns, quiet.sd_ns), (3, Some(300 * MS), Some(100 * MS)));
    assert_eq!((quiet.p50_ns, quiet.p95_ns), (Some(300 * MS), Some(400 * MS)));
    assert_eq!(quiet.samples.iter().map(|sample| sample.took_ns / MS).collect::<Vec<_>>(), [200, 400, 300]);
    assert_eq!((busy.n, busy.complete, busy.mean_ns), (4, 4, Some(1000 * MS)));
    assert!((page.slowdown.unwrap() - 10.0 / 3.0).abs() < 1e-9);
    let (low, high) = (page.slowdown_ci95_low.unwrap(), page.slowdown_ci95_high.unwrap());
    assert!(low < 10.0 / 3.0 && 10.0 / 3.0 < high && low > 2.0 && high < 6.0, "{low} to {high}");
    assert!(busy.mean_ci95_low_ns.unwrap() < 1000 * MS && busy.mean_ci95_high_ns.unwrap() > 1000 * MS);
    assert_eq!(page.series.len(), 8);
}

#[test]
fn the_example_of_the_specification_gives_fourteen() {
    let mut scenario = Scenario::new();
    let flow = scenario.page(ServiceClass::BE, AddressFamily::Ipv4);
    scenario.loads(flow, 0, 100 * MS, &[20, 20, 20, 20]);
    scenario.loads(flow, 4, 6 * SECOND, &[139, 139, 139, 139]);
    let web = scenario.analyze().scores.web.unwrap();
    assert_eq!((web.score, web.of_medians, web.failures), (14, Some(14), 0));
    assert_eq!((web.ci95_low.map(f64::round), web.ci95_high.map(f64::round)), (Some(14.0), Some(14.0)));
}

#[test]
fn loads_that_fail_count_as_their_cap_and_those_of_a_broken_browser_not_at_all() {
    let mut scenario = Scenario::new();
    let flow = scenario.page(ServiceClass::BE, AddressFamily::Ipv4);
    scenario.loads(flow, 0, 100 * MS, &[1000, 1000]);
    // Refused at once, which is not quick; given up at the cap; broken at the host.
    scenario.load(flow, 2, 6 * SECOND, 3 * MS, PageLoad::FAILED);
    scenario.load(flow, 3, 7 * SECOND, 30 * SECOND, PageLoad::CAPPED);
    scenario.load(flow, 4, 8 * SECOND, 100 * MS, PageLoad::BROKEN);
    let analysis = scenario.analyze();
    let busy = analysis.page_loads[0].loaded.as_ref().unwrap();
    assert_eq!((busy.n, busy.complete, busy.failed, busy.capped, busy.broken), (2, 0, 1, 1, 1));
    assert_eq!((busy.mean_ns, busy.p50_ns), (Some(30 * SECOND), None));
    // Without a complete load no score is given, only what it would be at most: 1 s over 30 s.
    assert_eq!((&analysis.scores.web, analysis.scores.web_at_most), (&None, Some(4)));
    assert_eq!(analysis.scores.web_missing, ["rrul2025, BE, ipv4: no page finished under load (2 begun)"]);
    assert_eq!(analysis.scores.in_words.unwrap(), "Under load: no page loads completely.");
}

#[test]
fn a_page_that_never_loads_has_no_score_and_the_reason_is_reported() {
    let analysis = |outcomes: [u8; 5], took: i64| {
        let mut scenario = Scenario::new();
        let flow = scenario.page(ServiceClass::BE, AddressFamily::Ipv4);
        for (load, outcome) in (0..).zip(outcomes) {
            let took = if outcome == PageLoad::COMPLETE { 100 * MS } else { 30 * SECOND };
            scenario.load(flow, load, i64::from(load) * 900 * MS, took, outcome);
        }
        let outcome = if took < 30 * SECOND { PageLoad::COMPLETE } else { PageLoad::CAPPED };
        scenario.load(flow, 5, 8 * SECOND, took, outcome);
        // Something of the composite, so that it is there.
        let probe = scenario.udp_probe(AddressFamily::Ipv4);
        scenario.probes(probe, |_| Some(20 * MS));
        scenario.analyze()
    };
    let (whole, failed, capped) = (PageLoad::COMPLETE, PageLoad::FAILED, PageLoad::CAPPED);
    let never = analysis([failed, failed, failed, failed, capped], 30 * SECOND);
    assert_eq!((&never.scores.web, never.page_loads[0].slowdown), (&None, None));
    let expected = ["rrul2025, BE, ipv4: 5 of 5 loads on the idle line failed or timed out"];
    assert_eq!(never.scores.web_missing, expected);
    let composite = never.scores.composite.unwrap();
    assert_eq!((composite.parts.web, composite.missing.contains(&"web")), (None, true));
    assert!(!never.scores.in_words.unwrap().contains("page"), "it is not the load's doing");
    assert!(never.scores.equalizer.unwrap().web.0.iter().all(Option::is_none));
    // Three failures of five are no baseline; two are none of the two complete ones' business.
    let most = analysis([failed, whole, capped, whole, failed], 15 * SECOND);
    assert_eq!((most.scores.web, most.scores.web_missing.len()), (None, 1));
    let few = analysis([failed, whole, whole, whole, capped], 400 * MS);
    let web = few.scores.web.as_ref().unwrap();
    assert_eq!((web.score, web.of_medians, web.failures), (25, Some(25), 2));
    assert_eq!(web.pages[0].unloaded_mean_ns, 100 * MS);
    assert!((few.page_loads[0].slowdown.unwrap() - 4.0).abs() < 1e-9);
    assert!(few.scores.web_missing.is_empty());
}

#[test]
fn a_load_that_was_cut_off_counts_by_the_product_limit_estimate() {
    let outcome = |took: i64| {
        let mut scenario = Scenario::new();
        let flow = scenario.page(ServiceClass::BE, AddressFamily::Ipv4);
        scenario.loads(flow, 0, 6 * SECOND, &[1000, 2000, 3000]);
        scenario.load(flow, 3, 13 * SECOND, took, PageLoad::CUT);
        scenario.observe(Client, SECOND, ProbesSkipped { flow, at: TestTime(SECOND), count: 2 });
        assert_eq!(only(&scenario).skipped, 2);
        let busy = only(&scenario).loaded.unwrap();
        assert_eq!((busy.complete, busy.capped, busy.cut_short), (3, 0, 1));
        (busy.n, busy.mean_ns)
    };
    // Masses 1/4 at 1 s, 3/8 at 2 and 3 s.
    assert_eq!(outcome(1900 * MS), (4, Some(2125 * MS)), "it would have taken as long as those that took longer");
    assert_eq!(outcome(100 * MS), (4, Some(2 * SECOND)), "it says nothing");
    // Beyond the longest the rest ends at a constant rate.
    let beyond = outcome(6 * SECOND).1.unwrap();
    assert!((3 * SECOND..5 * SECOND).contains(&beyond), "{beyond}");
}

#[test]
fn loads_that_were_all_cut_off_give_a_bound_or_nothing_and_never_a_score() {
    let scores = |cut_off: &[i64]| {
        let mut scenario = Scenario::new();
        let flow = scenario.page(ServiceClass::BE, AddressFamily::Ipv4);
        scenario.loads(flow, 0, SECOND, &[1000]);
        for (load, took) in (1..).zip(cut_off) {
            scenario.load(flow, load, 8 * SECOND, *took, PageLoad::CUT);
        }
        let probe = scenario.udp_probe(AddressFamily::Ipv4);
        scenario.probes(probe, |_| Some(20 * MS));
        scenario.analyze().scores
    };
    let bounded = scores(&[6 * SECOND]);
    assert_eq!((&bounded.web, bounded.web_at_most), (&None, Some(17)));
    assert!(bounded.in_words.unwrap().contains("pages take over 6.0 times as long"));
    assert_eq!(bounded.web_missing, ["rrul2025, BE, ipv4: no page finished under load (1 begun)"]);
    assert!(bounded.composite.unwrap().missing.contains(&"web"));
    // A tenth of the idle mean: nothing is known, and nothing is praised.
    let nothing = scores(&[100 * MS]);
    assert_eq!((&nothing.web, nothing.web_at_most), (&None, None));
    assert!(!nothing.in_words.unwrap().contains("page"));
    assert!(nothing.web_missing[0].contains("cut off before the idle mean"), "{:?}", nothing.web_missing);
    let small = scores(&[1100 * MS]);
    assert_eq!((&small.web, small.web_at_most), (&None, Some(91)));
    assert!(!small.in_words.unwrap().contains("page"), "a lower bound of 1.1 is no praise");
}

#[test]
fn a_page_with_only_a_bound_withholds_the_score_of_the_others() {
    let mut scenario = Scenario::new();
    for (family, outcome) in [(AddressFamily::Ipv4, PageLoad::COMPLETE), (AddressFamily::Ipv6, PageLoad::CUT)] {
        let flow = scenario.page(ServiceClass::BE, family);
        scenario.load(flow, 0, SECOND, SECOND, PageLoad::COMPLETE);
        let took = if outcome == PageLoad::CUT { 5 * SECOND } else { SECOND };
        scenario.load(flow, 1, 8 * SECOND, took, outcome);
    }
    let scores = scenario.analyze().scores;
    // The mean of 1 and at most a fifth.
    assert_eq!((&scores.web, scores.web_at_most), (&None, Some(60)));
    assert_eq!(scores.web_missing, ["rrul2025, BE, ipv6: no page finished under load (1 begun)"]);
}

#[test]
fn pages_are_scored_over_the_loads_that_began_in_phase_web() {
    let mut scenario = Scenario::new();
    scenario.web_phase();
    let flow = scenario.page(ServiceClass::BE, AddressFamily::Ipv4);
    scenario.load(flow, 0, SECOND, SECOND, PageLoad::COMPLETE);
    // In phase load, not scored; in phase web, scored; begun in web and complete when the load is over: cut off after 2 s.
    scenario.load(flow, 1, 6 * SECOND, SECOND, PageLoad::COMPLETE);
    scenario.load(flow, 2, 11 * SECOND, 4 * SECOND, PageLoad::COMPLETE);
    scenario.load(flow, 3, 16 * SECOND, 3 * SECOND, PageLoad::COMPLETE);
    let analysis = scenario.analyze();
    let busy = analysis.page_loads[0].loaded.as_ref().unwrap();
    assert_eq!((busy.n, busy.complete, busy.cut_short, busy.mean_ns), (2, 1, 1, Some(4 * SECOND)));
    assert_eq!(busy.samples[1].took_ns, 2 * SECOND);
    let web = analysis.scores.web.as_ref().unwrap();
    assert_eq!((web.score, web.cut_short, web.at_most), (25, 1, false));
    assert!(!analysis.page_loads[0].whole_load);
}

/// What a link does to pages: idle seconds of one, how many times as long it takes under load, factors of single loads, when
/// the test is stopped, and how long the pause between loads is.
fn link() -> impl Strategy<Value = (f64, f64, Vec<f64>, f64, f64)> {
    (0.05..1.2_f64, 0.9..25.0_f64, prop::collection::vec(0.8..1.2_f64, 400), 10.02..18.0_f64, 0.05..1.0_f64)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn a_line_on_which_pages_take_twice_as_long_never_scores_eighty_and_none_scores_without_a_complete_page(
        (idle, slowdown, factors, stopped, pause) in link(), is_stopped in any::<bool>()
    ) {
        let mut scenario = Scenario::new();
        scenario.web_phase();
        let flow = scenario.page(ServiceClass::BE, AddressFamily::Ipv4);
        let end = if is_stopped { stopped } else { 18.0 };
        let nanoseconds = |seconds: f64| (seconds * 1e9).round() as i64;
        let (mut number, mut complete) = (0, 0);
        let (mut quiet, mut busy) = (Vec::new(), Vec::new());
        for (from, until, slowdown, times) in [(0.0, 4.9, 1.0, &mut quiet), (10.0, end, slowdown, &mut busy)] {
            let mut at = from;
            while at < until {
                let takes = idle * slowdown * factors[number as usize];
                let cut_off = at + takes > until;
                let (took, outcome) =
                    if cut_off { (until - at, PageLoad::CUT) } else { (takes, PageLoad::COMPLETE) };
                scenario.load(flow, number, nanoseconds(at), nanoseconds(took), outcome);
                if from > 0.0 {
                    complete += u32::from(!cut_off);
                    times.push(takes);
                } else if !cut_off {
                    times.push(takes);
                }
                number += 1;
                at += took + pause;
            }
        }
        let mean = |times: &[f64]| times.iter().sum::<f64>() / times.len() as f64;
        let truth = mean(&busy) / mean(&quiet);
        let scores = scenario.analyze().scores;
        let score = scores.web.as_ref().map(|web| web.score);
        prop_assert_eq!(score.is_some(), complete > 0, "{} complete, {:?}", complete, score);
        if truth >= 2.0 {
            prop_assert!(score.is_none_or(|score| score < 80), "{:?} for {} times as long", score, truth);
        }
        if let Some(highest) = scores.web_at_most {
            prop_assert!(f64::from(highest) >= 100.0 / truth, "at most {} for {} times as long", highest, truth);
            prop_assert!(score.is_none());
        }
        // Nor is a good line slandered.
        if truth <= 1.05 {
            prop_assert!(score.is_none_or(|score| score >= 75), "{:?} for {} times as long", score, truth);
        }
    }
}

#[test]
fn the_timing_breakdown_is_read_from_the_objects_and_the_manifest() {
    let page = Page::named("rrul2025").unwrap();
    let critical: Vec<u16> = (0..page.objects.len()).filter(|n| page.objects[*n].critical).map(|n| n as u16).collect();
    let hero = page.objects.iter().position(|object| object.hero).unwrap() as u16;
    let later = page.objects.iter().position(|object| object.later).unwrap() as u16;
    let mut scenario = Scenario::new();
    let flow = scenario.page(ServiceClass::BE, AddressFamily::Ipv4);
    scenario.load(flow, 0, 0, 2 * SECOND, PageLoad::COMPLETE);
    // Each takes 60 ms. The document at once, the others of the critical ones a second later, then the hero; between them
    // nothing but thinking.
    scenario.observe(Client, 0, object(flow, 0, 0, 5 * MS));
    for number in critical.iter().filter(|number| **number > 0) {
        scenario.observe(Client, 0, object(flow, 0, *number, SECOND));
    }
    let secure = WebObject { secure: Delay(25 * MS), protocol: 11, ..object(flow, 0, hero, 1500 * MS) };
    scenario.observe(Client, 0, secure);
    // The load event does not wait for this one, nor is it in the network's time.
    scenario.observe(Client, 0, object(flow, 0, later, 1900 * MS));
    scenario.observe(Client, 0, object(flow, 0, Page::REFRESH + 1, 3 * SECOND));
    let page = only(&scenario);
    let quiet = page.unloaded.unwrap();
    let mean = |spread: Option<rrul_analysis::metrics::web::page_load_statistics::Spread>| {
        spread.and_then(|s| Some(s.mean_ns? / MS))
    };
    // 5 ms until it was wanted, five stretches of 10 ms.
    assert_eq!(mean(quiet.first_byte), Some(55));
    assert_eq!(mean(quiet.critical), Some(1060));
    assert_eq!(mean(quiet.hero), Some(1585));
    assert_eq!(mean(quiet.network), Some(60 + 60 + 85));
    let objects = critical.len() as i64 + 2;
    assert_eq!((mean(quiet.lookup_sum), mean(quiet.lookup_most)), (Some(10 * objects), Some(10)));
    assert_eq!((mean(quiet.connect_sum), mean(quiet.secure_sum)), (Some(10 * objects), Some(25)));
    assert_eq!(page.protocols, ["http/1.1", "h2"]);
    assert_eq!(mean(page.refreshes.unloaded), Some(60));
    assert_eq!(page.refreshes.loaded, None);
    assert_eq!((page.series[0].objects.len(), page.series[0].refreshes.len()), (objects as usize, 1));
}

#[test]
fn a_document_that_was_asked_for_and_never_answered_has_no_first_byte() {
    let mut scenario = Scenario::new();
    let flow = scenario.page(ServiceClass::BE, AddressFamily::Ipv4);
    scenario.load(flow, 0, 4900 * MS, 80 * MS, PageLoad::CUT);
    let waiting = WebObject { outcome: WebObject::INCOMPLETE, wait: Delay(80 * MS), ..object(flow, 0, 0, 4900 * MS) };
    scenario.observe(Client, 0, WebObject { receive: WebObject::NONE, ..waiting });
    assert_eq!(only(&scenario).unloaded.unwrap().first_byte, None);
    // Answered and cut off within the body, it has one.
    scenario.load(flow, 1, 4900 * MS, 80 * MS, PageLoad::CUT);
    scenario.observe(Client, 0, WebObject { load: 1, ..waiting });
    assert_eq!(only(&scenario).unloaded.unwrap().first_byte.unwrap().n, 1);
}

#[test]
fn requests_of_a_page_that_got_no_answer_are_counted_and_infinitely_late() {
    let mut scenario = Scenario::new();
    let flow = scenario.page(ServiceClass::BE, AddressFamily::Ipv4);
    scenario.load(flow, 0, 0, 100 * MS, PageLoad::COMPLETE);
    let (failed, pending) = (WebObject::FAILED, WebObject::INCOMPLETE);
    // Idle: two answered in 60 ms, one under way for 10 ms at the end. Loaded: one answered in 60 ms, one failed, one under
    // way for 2 s.
    let complete = WebObject::COMPLETE;
    let requests = [
        (SECOND, complete, 10),
        (2 * SECOND, complete, 10),
        (3 * SECOND, pending, -1),
        (8 * SECOND, complete, 10),
        (9 * SECOND, failed, 10),
        (10 * SECOND, pending, 2000),
    ];
    for (number, (wanted, outcome, wait)) in (0..).zip(requests) {
        let none = WebObject::NONE;
        let row = WebObject { outcome, wait: Delay(wait * MS), ..object(flow, 0, Page::REFRESH + number, wanted) };
        let row = if wait < 0 { WebObject { lookup: none, connect: none, send: none, wait: none, ..row } } else { row };
        let row = if outcome == pending { WebObject { receive: none, ..row } } else { row };
        scenario.observe(Client, wanted, row);
    }
    let refreshes = only(&scenario).refreshes;
    let (quiet, busy) = (refreshes.unloaded.unwrap(), refreshes.loaded.unwrap());
    assert_eq!((quiet.n, quiet.never, quiet.p95_ns), (2, 0, Some(60 * MS)), "it had no time");
    assert_eq!((busy.n, busy.never, busy.mean_ns, busy.p50_ns), (3, 2, Some(60 * MS), None));
}

#[test]
fn a_critical_object_that_never_came_is_no_reason_to_tell_of_the_others_alone() {
    let mut scenario = Scenario::new();
    let flow = scenario.page(ServiceClass::BE, AddressFamily::Ipv4);
    scenario.load(flow, 0, 0, 2 * SECOND, PageLoad::COMPLETE);
    scenario.observe(Client, 0, object(flow, 0, 0, 5 * MS));
    let quiet = only(&scenario).unloaded.unwrap();
    assert_eq!(quiet.first_byte.map(|spread| (spread.n, spread.never)), Some((1, 0)));
    for part in [quiet.critical, quiet.hero].map(Option::unwrap) {
        assert_eq!((part.n, part.never, part.mean_ns, part.p50_ns), (1, 1, None, None));
    }
    // A whole load, one whose largest object could not be had, one that was given up, and one that was cut off.
    let page = Page::named("rrul2025").unwrap();
    let hero = page.objects.iter().position(|object| object.hero).unwrap() as u16;
    for (load, outcome) in [(1, PageLoad::COMPLETE), (2, PageLoad::COMPLETE), (3, PageLoad::CAPPED), (4, PageLoad::CUT)]
    {
        let at = i64::from(load) + 7;
        scenario.load(flow, load, at * SECOND, 200 * MS, outcome);
        let outcome = if load == 1 { WebObject::COMPLETE } else { WebObject::FAILED };
        scenario.observe(Client, 0, WebObject { outcome, ..object(flow, load, hero, at * SECOND + 30 * MS) });
    }
    let busy = only(&scenario).loaded.unwrap();
    assert_eq!(busy.failed_objects, 3);
    let hero = busy.hero.unwrap();
    assert_eq!((hero.n, hero.never, hero.mean_ns, hero.p50_ns), (3, 2, Some(90 * MS), None));
}

#[test]
fn the_objects_of_another_manifest_are_not_taken_for_those_of_this_one() {
    let page = Page::named("rrul2025").unwrap();
    for (hash, known) in [(page.hash.as_str(), true), ("00ff", false)] {
        let mut scenario = Scenario::new();
        let flow = scenario.page(ServiceClass::BE, AddressFamily::Ipv4);
        scenario.event(Client, flow, -1, FlowEventKind::Uses, &format!("page rrul2025 sha256:{hash}"));
        scenario.load(flow, 0, 100 * MS, 900 * MS, PageLoad::COMPLETE);
        for (number, entry) in page.objects.iter().enumerate().filter(|(_, entry)| entry.critical) {
            assert!(!entry.later);
            scenario.observe(Client, 100 * MS, object(flow, 0, number as u16, 100 * MS));
        }
        let critical = only(&scenario).unloaded.unwrap().critical;
        assert_eq!(critical.is_some(), known, "{hash}");
    }
}

#[test]
fn why_loads_failed_and_what_a_browser_asked_for_is_read_from_the_events() {
    let mut scenario = Scenario::new();
    let flow = scenario.flow("browser_page", Component::Web, None, AddressFamily::Ipv4, Scenario::ALL);
    for (load, outcome) in (0..).zip([PageLoad::FAILED, PageLoad::FAILED, PageLoad::BROKEN, PageLoad::COMPLETE]) {
        let at = i64::from(load + 8) * SECOND;
        scenario.load(flow, load, at, SECOND, outcome);
    }
    let mut event = |kind, detail: &str| scenario.event(Client, flow, 8 * SECOND, kind, detail);
    let (failed, resource) = (FlowEventKind::LoadFailed, FlowEventKind::Resource);
    for detail in
        ["0 no address", "1 no address", "2 the browser crashed", "no number", "9", "9 of a load that is not there"]
    {
        event(failed, detail);
    }
    for detail in ["3 0 https://www.example.net/", "3 1 https://www.example.net/a b", "3 x y", "3 70000 z", "3"] {
        event(resource, detail);
    }
    let page = only(&scenario);
    let failures: Vec<_> = page.failures.iter().map(|failure| (failure.reason.as_str(), failure.loads)).collect();
    assert_eq!(failures, [("no address", 2), ("the browser crashed", 1)]);
    let addresses: Vec<_> =
        page.series[3].addresses.iter().map(|(object, address)| (*object, address.as_str())).collect();
    assert_eq!(addresses, [(0, "https://www.example.net/"), (1, "https://www.example.net/a b")]);
}

#[test]
fn flows_that_load_the_same_page_are_one_entry_and_families_and_classes_are_apart() {
    let mut scenario = Scenario::new();
    for (class, family) in [
        (ServiceClass::BE, AddressFamily::Ipv4),
        (ServiceClass::BE, AddressFamily::Ipv4),
        (ServiceClass::BE, AddressFamily::Ipv6),
        (ServiceClass::BK, AddressFamily::Ipv4),
    ] {
        let flow = scenario.page(class, family);
        let slow = if family == AddressFamily::Ipv6 { 400 } else { 200 };
        let slow = if class == ServiceClass::BK { 9000 } else { slow };
        scenario.load(flow, 0, SECOND, 100 * MS, PageLoad::COMPLETE);
        scenario.load(flow, 1, 8 * SECOND, slow * MS, PageLoad::COMPLETE);
    }
    let analysis = scenario.analyze();
    let found: Vec<_> =
        analysis.page_loads.iter().map(|page| (page.class, page.family, page.flows.len(), page.series.len())).collect();
    let expected = [
        (ServiceClass::BE, AddressFamily::Ipv4, 2, 4),
        (ServiceClass::BE, AddressFamily::Ipv6, 1, 2),
        (ServiceClass::BK, AddressFamily::Ipv4, 1, 2),
    ];
    assert_eq!(found, expected);
    // Background is meant to wait: the mean of a half and a quarter, 37.5.
    let web = analysis.scores.web.unwrap();
    assert_eq!((web.score, web.pages.len()), (38, 2));
    assert_eq!((web.pages[0].score, web.pages[1].score), (50, 25));
}

#[test]
fn a_browser_shows_its_own_times_and_is_scored_where_no_other_page_is() {
    let mut scenario = Scenario::new();
    let family = AddressFamily::Ipv4;
    let flow = scenario.flow("browser_page", Component::Web, None, family, Scenario::ALL);
    let url = Parameter::Text("https://www.example.net/".to_owned());
    scenario.recording.header.flows.last_mut().unwrap().parameters.0.insert("url".to_owned(), url);
    for (load, at, took) in [(0, SECOND, 1000), (1, 8 * SECOND, 4000)] {
        scenario.load(flow, load, at, took * MS, PageLoad::COMPLETE);
        let timing = BrowserTiming {
            flow,
            load,
            first_byte: Delay(took * MS / 10),
            commit: Delay(took * MS / 8),
            first_contentful_paint: Delay(took * MS / 4),
            largest_contentful_paint: WebObject::NONE,
            dom_content_loaded: Delay(took * MS / 2),
            load_event: Delay(took * MS),
        };
        scenario.observe(Client, at, timing);
    }
    let page = only(&scenario);
    assert!(page.in_browser() && page.page == "https://www.example.net/");
    let busy = page.loaded.unwrap();
    assert_eq!(busy.first_byte.and_then(|spread| spread.mean_ns), Some(400 * MS));
    assert_eq!(busy.first_contentful_paint.and_then(|spread| spread.p50_ns), Some(1000 * MS));
    assert_eq!(busy.largest_contentful_paint, None);
    assert_eq!(page.series[0].outcome, LoadOutcome::Complete);
    assert_eq!(scenario.analyze().scores.web.unwrap().score, 25);
}
