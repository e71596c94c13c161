//! The panel of what the link carried in one direction by traffic type: pages and short flows below the bulk load.

use rrul_analysis::Analysis;
use rrul_analysis::metrics::octets::octet_account::Account;
use rrul_analysis::series::RatePoint;
use rrul_model::flow::Direction;
use rrul_model::phase::Phase;
use rrul_model::units::BitRate;

use crate::drawing::figure::{Dash, Fill};
use crate::panels::time_chart::Scene;
use crate::panels::time_panel::{Area, Quantity, TimeLine, TimePanel};
use crate::text::style::unknown;
use crate::text::words;
use crate::text::words::direction_word;

/// Pixels.
const HEIGHT: f64 = 132.0;
/// Bytes on the link are known this often, seconds.
const FINEST: f64 = 0.5;

/// How to read the panel.
pub(crate) const NOTE: &str = "By traffic type: IP packets as they arrived, headers included. Between the stack and the line of all traffic: acknowledgments, probes, exchanges, voice and lookups.";

/// A traffic type in the stack.
struct Layer<'a> {
    name: String,
    rates: &'a [RatePoint],
    octets: fn(&Account) -> u64,
    fill: Fill,
    line: &'static str,
}

/// Returns the panel and the width of its bins in seconds; `None` for a run without phase `web`, or whose bytes on the link
/// are unknown.
pub(crate) fn panel(run: &Analysis, direction: Direction, scene: &Scene<'_>) -> Option<(TimePanel, f64)> {
    let has_web = run.test.phases.iter().any(|entry| entry.phase == Phase::Web);
    let everything = run.link_octets.rates(direction);
    if !has_web || everything.is_empty() {
        return None;
    }
    let bins = scene.bins(FINEST);
    let account = run.link_octets.web.as_ref().map(|web| &web.direction(direction).all);
    let mut panel =
        TimePanel::new(format!("{} by traffic type", direction_word(direction)), Quantity::Rate, "link", HEIGHT);
    panel.how = "IP packets on the link, stacked".into();
    panel.headline = account.map(|all| ("everything in web, mean".to_owned(), BitRate(all.carried_bps).to_string()));
    panel.heads = vec!["share in web"];
    let share = |octets: u64| {
        let all = account.map(|all| all.carried_octets).filter(|all| *all > 0);
        all.map_or_else(unknown, |all| words::percent(octets as f64 / all as f64))
    };
    let mut below: Vec<f64> = Vec::new();
    for layer in layers(run, direction, scene) {
        let rates = bins.rates(layer.rates);
        below.resize(rates.len(), 0.0);
        let stacked = |((at, rate), below): ((f64, Option<f64>), &mut f64)| {
            let low = *below;
            *below += rate.unwrap_or_default();
            (at, rate.map(|_| (low, *below)))
        };
        let range: Vec<_> = rates.into_iter().zip(&mut below).map(stacked).collect();
        panel.lines.push(TimeLine {
            name: layer.name,
            points: range.iter().map(|(at, ends)| (*at, ends.map(|ends| ends.1))).collect(),
            colour: layer.line,
            width: 1.2,
            dash: Dash::Solid,
            figures: vec![share(account.map_or(0, layer.octets))],
        });
        panel.areas.push(Area { range, fill: layer.fill });
    }
    panel.lines.push(TimeLine {
        name: "everything on the link".to_owned(),
        points: bins.rates(everything),
        colour: scene.theme.ink,
        width: 1.6,
        dash: Dash::Solid,
        figures: vec![share(account.map_or(0, |all| all.carried_octets))],
    });
    Some((panel, bins.width))
}

/// The traffic types that carried something, from the bottom of the stack.
fn layers<'a>(run: &'a Analysis, direction: Direction, scene: &Scene<'_>) -> impl Iterator<Item = Layer<'a>> {
    let theme = scene.theme;
    let parts = run.link_octets.part_rates(direction);
    let streams = run.goodput(direction).flows.len();
    let [_, pages, _, short_flows, _] = theme.variants;
    let solid = |colour| Fill { colour, opacity: 0.85 };
    let layers = [
        Layer {
            name: "pages".to_owned(),
            rates: &parts.web,
            octets: |all| all.parts_octets.web,
            fill: solid(pages),
            line: pages,
        },
        Layer {
            name: "short flows".to_owned(),
            rates: &parts.short_flows,
            octets: |all| all.parts_octets.short_flows,
            fill: solid(short_flows),
            line: short_flows,
        },
        Layer {
            name: format!("bulk, sum of {}", words::counted(streams, "stream")),
            rates: &parts.load_data,
            octets: |all| all.parts_octets.load_data,
            fill: Fill { colour: theme.range, opacity: 0.7 },
            line: theme.muted,
        },
    ];
    layers.into_iter().filter(|layer| layer.rates.iter().any(|point| point.rate.0 > 0))
}
