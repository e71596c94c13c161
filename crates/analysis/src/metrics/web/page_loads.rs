//! How long pages take on the idle line and under load (spec: Web Component).

use std::collections::{BTreeMap, BTreeSet};

use foldhash::{HashMap, HashMapExt};
use rrul_model::flow::{AddressFamily, FlowId, FlowSpec, Parameter};
use rrul_model::flow_kind::FlowKind;
use rrul_model::marking::ServiceClass;
use rrul_model::observation::{BrowserTiming, FlowEvent, FlowEventKind, ObservationPoint, PageLoad, WebObject};
use rrul_model::page::Page;
use rrul_model::phase::{Phase, PhaseWindow};
use rrul_model::recording::Recording;
use rrul_model::time::{TestTime, Window};
use rrul_model::units::Delay;
use schemars::JsonSchema;
use serde::Serialize;

use crate::metrics::delay::unloaded::loaded_phases;
use crate::metrics::web::page_load::{CAP, Load, LoadOutcome, object_took};
use crate::metrics::web::page_load_statistics::{LoadStatistics, Spread};
use crate::statistics::bootstrap::{interval, mean};

/// The loads of one page.
///
/// Page load time, always with empty caches, idle and under load (spec, Web Component). One entry for each page,
/// loading method, service class and address family: the same page loaded before and under load by two flows of the
/// plan is one entry. Unloaded: loads begun in the phases survey and idle. Loaded: loads begun in phase web; without
/// any, in the [scored window](#scored-window); without any, in the whole load phase.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "Page loads")]
pub struct PageLoads {
    /// Flow type: `web_page` (synthetic) or `browser_page` (a real browser).
    #[serde(rename = "type")]
    pub flow_type: String,
    /// Name or address of the page.
    pub page: String,
    /// Version of HTTP that was requested from every host. Null where each host used its own.
    pub version: Option<String>,
    /// Service class.
    pub class: ServiceClass,
    /// Address family.
    pub family: AddressFamily,
    /// The flows of the plan that loaded it.
    pub flows: Vec<String>,
    /// Versions of HTTP over which objects came: `http/1.1`, `h2`, `h3`.
    pub protocols: Vec<&'static str>,
    /// Loads on the idle line. Null without any.
    ///
    /// Source: spec, Web Component.
    pub unloaded: Option<LoadStatistics>,
    /// Loads under load. Null without any.
    ///
    /// Source: spec, Web Component.
    pub loaded: Option<LoadStatistics>,
    /// No load was begun in phase web or the scored window, so `loaded` is of the whole load phase.
    pub whole_load: bool,
    /// Loads that were due but not begun, in all phases: the one before took too long, or less time was left than the
    /// shortest complete load took.
    ///
    /// Unit: count.
    pub skipped: u64,
    /// Mean page load time under load over that of complete idle loads. Null if either is unknown, or if more idle
    /// loads failed than completed.
    ///
    /// Unit: factor. Source: spec, Web Component.
    pub slowdown: Option<f64>,
    /// Lower bound if every load under load was cut off: their mean time until then, over the idle mean. Null below 1,
    /// which would be inconclusive.
    ///
    /// Unit: factor.
    pub slowdown_at_least: Option<f64>,
    /// Lower end of its 95 % interval, by bootstrap over the loads of both.
    ///
    /// Unit: factor. Source: Efron 1979.
    pub slowdown_ci95_low: Option<f64>,
    /// Upper end of its 95 % interval.
    ///
    /// Unit: factor.
    pub slowdown_ci95_high: Option<f64>,
    /// Why loads failed or broke, in all phases, where the flow says so.
    pub failures: Vec<LoadFailure>,
    /// Requests that a page makes after it is complete. A failed one never came. One under way when the next load began
    /// never came if it had taken longer than the mean of those answered; otherwise it is left out.
    pub refreshes: Refreshes,
    /// Every load of every phase with its objects, for waterfalls and export.
    #[serde(skip)]
    pub series: Vec<Load>,
}

impl PageLoads {
    pub fn in_browser(&self) -> bool {
        FlowKind::named(&self.flow_type) == FlowKind::BrowserPage
    }

    pub fn begun_within(&self, window: Window) -> Vec<&Load> {
        self.series.iter().filter(|load| window.contains(load.started)).collect()
    }

    /// The loads begun under load that count: in phase `web`, where none was in the part of `load` that is `scored`, where none
    /// was either in all of `load`. And whether it is the last.
    pub fn under_load(&self, phases: &[PhaseWindow], scored: Option<Window>) -> (Vec<&Load>, bool) {
        let phase = |wanted| phases.iter().find(|entry| entry.phase == wanted).map(|entry| entry.window);
        let begun = |window: Option<Window>| window.map(|window| self.begun_within(window)).unwrap_or_default();
        for window in [phase(Phase::Web), scored] {
            let loads = begun(window);
            if !loads.is_empty() {
                return (loads, false);
            }
        }
        let loads = begun(phase(Phase::Load));
        let whole_load = !loads.is_empty() && scored.is_some();
        (loads, whole_load)
    }
}

/// Why loads failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LoadFailure {
    /// The reason.
    pub reason: String,
    /// Loads with this reason.
    ///
    /// Unit: count.
    pub loads: u64,
}

/// Requests that pages go on making.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct Refreshes {
    /// On the idle line. Null without any.
    ///
    /// Source: spec, Rationale.
    pub unloaded: Option<Spread>,
    /// Under load. Null without any.
    ///
    /// Source: spec, Rationale.
    pub loaded: Option<Spread>,
}

/// The name of a version of HTTP by its number in the recording.
pub fn protocol_name(code: u8) -> Option<&'static str> {
    rrul_model::page::HttpVersion::ALL
        .into_iter()
        .find(|version| version.code() == code)
        .map(rrul_model::page::HttpVersion::name)
}

/// Rows of one flow.
#[derive(Default)]
struct Rows {
    loads: HashMap<u32, PageLoad>,
    objects: HashMap<u32, Vec<WebObject>>,
    timings: HashMap<u32, BrowserTiming>,
    failures: HashMap<u32, String>,
    addresses: HashMap<u32, BTreeMap<u16, String>>,
    /// SHA-256 of the manifest that was loaded.
    manifest: Option<String>,
    skipped: u64,
}

/// The loads of every page of the plan, in its order; nothing of a page that was never loaded.
pub(crate) fn page_loads(recording: &Recording, scored: Option<Window>) -> Vec<PageLoads> {
    let mut rows: HashMap<FlowId, Rows> = HashMap::new();
    for tables in recording.tables_of(ObservationPoint::Client) {
        for row in tables.page_load.rows() {
            rows.entry(row.flow).or_default().loads.entry(row.load).or_insert(row);
        }
        for row in tables.web_object.rows() {
            rows.entry(row.flow).or_default().objects.entry(row.load).or_default().push(row);
        }
        for row in tables.browser_timing.rows() {
            rows.entry(row.flow).or_default().timings.entry(row.load).or_insert(row);
        }
        for row in tables.probes_skipped.rows() {
            let skipped = &mut rows.entry(row.flow).or_default().skipped;
            *skipped = skipped.saturating_add(u64::from(row.count));
        }
    }
    for (_, event) in recording.events().filter(|(point, _)| *point == ObservationPoint::Client) {
        rows.entry(event.flow).or_default().hear(event);
    }
    let mut pages: Vec<PageLoads> = Vec::new();
    for flow in recording.header.flows.iter().filter(|flow| flow.kind().loads_pages()) {
        let own = rows.remove(&flow.id).unwrap_or_default();
        let (skipped, loads) = (own.skipped, own.loads(flow));
        let entry = empty(flow);
        let same = |page: &&mut PageLoads| {
            (&page.flow_type, &page.page, &page.version, page.class, page.family)
                == (&entry.flow_type, &entry.page, &entry.version, entry.class, entry.family)
        };
        match pages.iter_mut().find(same) {
            Some(page) => {
                page.flows.push(flow.name.clone());
                page.series.extend(loads);
                page.skipped = page.skipped.saturating_add(skipped);
            }
            None => pages.push(PageLoads { series: loads, skipped, ..entry }),
        }
    }
    pages.retain(|page| !page.series.is_empty());
    let phase = |phase: Phase| recording.phase(phase);
    let idle =
        |at: TestTime| [Phase::Survey, Phase::Idle].into_iter().any(|name| phase(name).is_some_and(|w| w.contains(at)));
    for page in &mut pages {
        page.series.sort_by_key(|load| load.started);
        page.compute_statistics(idle, &recording.header.phases, scored);
    }
    pages
}

/// An entry for the page that this flow loads, without a load.
fn empty(flow: &FlowSpec) -> PageLoads {
    let text = |name: &str| match flow.parameters.0.get(name) {
        Some(Parameter::Text(text)) => Some(text.clone()),
        _ => None,
    };
    PageLoads {
        flow_type: flow.flow_type.clone(),
        page: text("url").or_else(|| text("page")).unwrap_or_else(|| Page::DEFAULT.to_owned()),
        version: text("version").filter(|version| version != "page"),
        class: flow.class,
        family: flow.family,
        flows: vec![flow.name.clone()],
        protocols: Vec::new(),
        unloaded: None,
        loaded: None,
        whole_load: false,
        skipped: 0,
        slowdown: None,
        slowdown_at_least: None,
        slowdown_ci95_low: None,
        slowdown_ci95_high: None,
        failures: Vec::new(),
        refreshes: Refreshes::default(),
        series: Vec::new(),
    }
}

impl Rows {
    /// Takes note of what an event says of the page or of one load.
    fn hear(&mut self, event: &FlowEvent) {
        if event.event == FlowEventKind::Uses {
            self.manifest =
                event.detail.split_once("sha256:").map(|(_, hash)| hash.to_owned()).or(self.manifest.take());
            return;
        }
        let Some((load, rest)) = event.detail.split_once(' ') else { return };
        let Ok(load) = load.parse::<u32>() else { return };
        match event.event {
            FlowEventKind::LoadFailed => {
                self.failures.entry(load).or_insert_with(|| rest.to_owned());
            }
            FlowEventKind::Resource => {
                let Some((object, address)) = rest.split_once(' ') else { return };
                let Ok(object) = object.parse::<u16>() else { return };
                self.addresses.entry(load).or_default().entry(object).or_insert_with(|| address.to_owned());
            }
            _ => {}
        }
    }

    fn loads(mut self, flow: &FlowSpec) -> Vec<Load> {
        let page = (flow.kind() == FlowKind::WebPage)
            .then(|| Page::named(flow.parameters.text("page").unwrap_or(Page::DEFAULT)))
            .flatten()
            .map(|page| match &self.manifest {
                // What this version calls by that name is another page: of its objects nothing is known here.
                Some(hash) if *hash != page.hash => Page { objects: Vec::new(), ..page },
                _ => page,
            });
        let cap = Delay::from(flow.parameters.duration("cap", CAP));
        let load = |row: &PageLoad| {
            let objects = self.objects.remove(&row.load).unwrap_or_default();
            Load {
                failure: self.failures.remove(&row.load),
                addresses: self.addresses.remove(&row.load).unwrap_or_default(),
                ..Load::new(flow.into(), cap, row, objects, self.timings.remove(&row.load), page.as_ref())
            }
        };
        self.loads.values().map(load).collect()
    }
}

/// How long requests took that a page goes on making; those without an answer never came.
///
/// One that was under way at the end counts when it had taken longer than the mean of the others: to leave it out would flatter
/// the line, and to count one that had no time would blame it.
fn answers<'a>(requests: &(impl Iterator<Item = &'a WebObject> + Clone)) -> Option<Spread> {
    let with = |outcome: u8| requests.clone().filter(move |object| object.outcome == outcome).map(object_took);
    let failed = with(WebObject::FAILED).count() as u64;
    let mean = Spread::from_times(with(WebObject::COMPLETE), 0).and_then(|answered| answered.mean_ns);
    let waited = with(WebObject::INCOMPLETE).filter(|took| mean.is_none_or(|mean| took.0 > mean)).count() as u64;
    Spread::from_times(with(WebObject::COMPLETE), failed + waited)
}

impl PageLoads {
    fn compute_statistics(&mut self, idle: impl Fn(TestTime) -> bool, phases: &[PhaseWindow], scored: Option<Window>) {
        let under_load = loaded_phases(phases);
        let unloaded: Vec<&Load> = self.series.iter().filter(|load| idle(load.started)).collect();
        let (loaded, whole_load) = self.under_load(phases, scored);
        let unloaded = LoadStatistics::from_loads(&unloaded, under_load.map(|window| window.from));
        let loaded = LoadStatistics::from_loads(&loaded, under_load.map(|window| window.to));
        let quiet = unloaded.as_ref().and_then(LoadStatistics::baseline).unwrap_or_default();
        let busy = loaded.as_ref().map_or(&[][..], |loaded| &loaded.counted);
        let factor = |busy: &[f64], quiet: &[f64]| Some(mean(busy)? / mean(quiet).filter(|mean| *mean > 0.0)?);
        let confidence = interval(&[busy, quiet], |drawn| factor(&drawn[0], &drawn[1]).unwrap_or(f64::NAN));
        let refreshed = |wanted: &dyn Fn(TestTime) -> bool| {
            answers(&self.series.iter().flat_map(|load| &load.refreshes).filter(|object| wanted(object.wanted)))
        };
        let phase = |wanted| phases.iter().find(|entry| entry.phase == wanted).map(|entry| entry.window);
        let counted = phase(Phase::Web).or(scored).or_else(|| phase(Phase::Load));
        let counts = |at: TestTime| counted.is_some_and(|window| window.contains(at));
        let refreshes = Refreshes { unloaded: refreshed(&|at| idle(at)), loaded: refreshed(&counts) };
        let codes: BTreeSet<u8> =
            self.series.iter().flat_map(|load| &load.objects).map(|object| object.protocol).collect();
        self.protocols = codes.into_iter().filter_map(protocol_name).collect();
        for reason in self.series.iter().filter_map(|load| load.failure.as_ref()) {
            match self.failures.iter_mut().find(|known| known.reason == *reason) {
                Some(known) => known.loads += 1,
                None => self.failures.push(LoadFailure { reason: reason.clone(), loads: 1 }),
            }
        }
        self.slowdown = factor(busy, quiet);
        self.slowdown_at_least = loaded.as_ref().filter(|_| busy.is_empty()).and_then(|loaded| {
            let cut_off = loaded.samples.iter().filter(|load| load.outcome == LoadOutcome::CutShort);
            let waited: Vec<f64> = cut_off.map(|load| load.took_ns as f64 / 1e9).collect();
            factor(&waited, quiet).filter(|factor| *factor >= 1.0)
        });
        self.slowdown_ci95_low = confidence.map(|interval| interval.low);
        self.slowdown_ci95_high = confidence.map(|interval| interval.high);
        (self.unloaded, self.loaded, self.whole_load, self.refreshes) = (unloaded, loaded, whole_load, refreshes);
    }
}
