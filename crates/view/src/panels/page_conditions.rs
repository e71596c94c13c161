//! The loads of a page on the idle line and under load, as the analysis distinguishes them.

use rrul_analysis::Analysis;
use rrul_analysis::metrics::web::page_load::Load;
use rrul_analysis::metrics::web::page_loads::PageLoads;
use rrul_model::flow::AddressFamily;
use rrul_model::marking::ServiceClass;
use rrul_model::phase::Phase;

/// Loads that were begun before the load.
pub(crate) fn idle_loads<'p>(run: &Analysis, page: &'p PageLoads) -> Vec<&'p Load> {
    let idle = |load: &&Load| {
        let mut quiet = run.test.phases.iter().filter(|entry| matches!(entry.phase, Phase::Survey | Phase::Idle));
        quiet.any(|entry| entry.window.contains(load.started))
    };
    page.series.iter().filter(idle).collect()
}

/// The loads under load that count, as the analysis chooses them.
pub(crate) fn busy_loads<'p>(run: &Analysis, page: &'p PageLoads) -> Vec<&'p Load> {
    page.under_load(&run.test.phases, run.scored.common).0
}

/// The short name of a page and how it was loaded: `rrul2025 h2 IPv4`.
pub(crate) fn page_name(run: &Analysis, page: &PageLoads) -> String {
    let mut words = Vec::new();
    if page.in_browser() {
        words.push("browser".to_owned());
    }
    words.push(page.page.clone());
    words.push(match &page.version {
        Some(version) => version.clone(),
        None => page
            .protocols
            .iter()
            .map(|name| if *name == "http/1.1" { "h1" } else { name })
            .collect::<Vec<_>>()
            .join("+"),
    });
    if page.class != ServiceClass::BE {
        words.push(page.class.to_string());
    }
    if AddressFamily::ALL.iter().all(|family| run.page_loads.iter().any(|page| page.family == *family)) {
        words.push(crate::text::words::family_name(page.family).to_owned());
    }
    words.retain(|word| !word.is_empty());
    words.join(" ")
}
