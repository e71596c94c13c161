//! What a user notices on the loaded line, in one sentence, by rules from the figures.
//!
//! Pages come first, then added latency by direction, then loss and voice calls. What is not known is left out.

use rrul_model::flow::Direction;
use schemars::JsonSchema;
use serde::Serialize;

use crate::by_direction::ByDirection;
use crate::measured::Measured;
use crate::metrics::web::page_loads::PageLoads;
use crate::scores::score_cell::counts;
use crate::scores::voip_mos::VoipMos;

/// From here on a page is noticeably slower.
const SLOWER: f64 = 1.3;
/// Added latency that most users notice, milliseconds: by ITU-T G.114 conversations suffer from 150 ms, part of which is the
/// path's own.
const NOTICED_MS: f64 = 30.0;
/// The other direction is named too when it adds at least this share of the larger latency.
const AS_WELL: f64 = 0.5;
/// Loss that users notice.
const LOSSY: f64 = 0.01;
/// Many users are dissatisfied (G.107 annex B), and nearly all are.
const MANY_DISSATISFIED: f64 = 3.6;
const NEARLY_ALL_DISSATISFIED: f64 = 2.6;

/// The direction that adds the latency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Fault {
    /// Client to server.
    Up,
    /// Server to client.
    Down,
    /// Both directions.
    Both,
    /// Neither: added latency is below 30 ms.
    None,
}

/// The figures behind the sentence; `None` is not measured.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct VerdictText {
    /// Page load time under load over that on the idle line.
    pub slowdown: Option<f64>,
    /// Whether that is only a lower bound, as loads were cut off.
    pub at_least: bool,
    /// Whether no page at all came to its end under load.
    pub no_page: bool,
    /// Median wait added in each direction's queue, milliseconds; infinite when most packets are lost.
    pub wait_ms: ByDirection<Option<f64>>,
    /// What the load adds to the median round trip, milliseconds, where the directions cannot be separated.
    pub round_trip_ms: Option<f64>,
    /// Share of packets lost under load.
    pub loss: ByDirection<Option<f64>>,
    /// The worst opinion score of a call under load, and on the idle line.
    pub call: Option<(f64, f64)>,
}

impl VerdictText {
    /// Gathers the figures of a run, given whether it has a web score, and its opinion scores of voice.
    pub(crate) fn from_measured(analysis: &Measured, has_web_score: bool, voice: Option<&VoipMos>) -> Self {
        let pages = crate::scores::web::scored_pages(analysis);
        // What does not load on the idle line either is not the load's doing.
        let loads_idle = |page: &&&PageLoads| page.unloaded.as_ref().is_some_and(|idle| idle.baseline().is_some());
        let loaded =
            || pages.iter().filter(loads_idle).filter_map(|page| page.loaded.as_ref()).filter(|loaded| loaded.n > 0);
        let wait = |direction| {
            let delays = &analysis.one_way_delay.direction(direction).queueing_delay;
            let idle = delays.idle?.p50?;
            Some(delays.load?.p50.map_or(f64::INFINITY, |load| (load - idle).milliseconds()))
        };
        let round_trip = || {
            let delays = &analysis.round_trip_delay.pooled;
            let idle = delays.idle?.p50?;
            Some(delays.load?.p50.map_or(f64::INFINITY, |load| (load - idle).milliseconds()))
        };
        // Of the same classes as the worst under load.
        let calls = analysis.voip.iter().flat_map(|voip| &voip.flows).filter(|entry| counts(entry.flow.class));
        let worst_idle = calls.filter_map(|entry| entry.idle?.mos_plc);
        Self {
            slowdown: {
                let factor = |page: &&PageLoads| page.slowdown.or(page.slowdown_at_least);
                let factors: Vec<f64> = pages.iter().filter_map(factor).collect();
                crate::statistics::bootstrap::mean(&factors)
            },
            at_least: !has_web_score,
            // One that the end of the test cut off might have succeeded.
            no_page: loaded().next().is_some()
                && loaded().all(|loaded| loaded.complete == 0 && loaded.failed + loaded.capped > 0),
            wait_ms: ByDirection::each(wait),
            round_trip_ms: round_trip(),
            loss: ByDirection::each(|direction| Some(analysis.loss.fates.pooled(direction)?.load?.share_least)),
            call: voice.and_then(|mos| mos.worst).zip(worst_idle.min_by(f64::total_cmp)),
        }
    }

    /// The direction whose queue is to blame; `None` when the ways are not known.
    pub fn fault(&self) -> Option<Fault> {
        let (up, down) = (self.wait_ms.up?, self.wait_ms.down?);
        let worst = up.max(down);
        let to_blame = |wait: f64| wait >= NOTICED_MS && (wait.is_infinite() || wait >= AS_WELL * worst);
        Some(match (to_blame(up), to_blame(down)) {
            (true, true) => Fault::Both,
            (true, false) => Fault::Up,
            (false, true) => Fault::Down,
            (false, false) => Fault::None,
        })
    }

    /// Returns the sentence; `None` when neither pages nor waits are known.
    pub fn sentence(&self) -> Option<String> {
        let clauses: Vec<String> =
            [self.pages(), self.waits(), self.losses(), self.calls()].into_iter().flatten().collect();
        let known = self.pages().or_else(|| self.waits()).is_some();
        known.then(|| format!("Under load: {}.", clauses.join("; ")))
    }

    fn pages(&self) -> Option<String> {
        if self.no_page {
            return Some("no page loads completely".to_owned());
        }
        let slowdown = self.slowdown.filter(|slowdown| slowdown.is_finite())?;
        let over = if self.at_least { "over " } else { "" };
        Some(match slowdown {
            // A lower bound that is small is no praise.
            s if s < SLOWER && self.at_least => return None,
            s if s < SLOWER => "pages load about as fast as idle".to_owned(),
            s if s < 9.95 => format!("pages take {over}{s:.1} times as long"),
            s => format!("pages take {over}{s:.0} times as long"),
        })
    }

    fn waits(&self) -> Option<String> {
        let Some(fault) = self.fault() else {
            return Some(match self.round_trip_ms? {
                ms if ms.is_infinite() => "most packets are lost".to_owned(),
                ms if ms < NOTICED_MS => format!("median latency {}, good", added(ms)),
                ms => format!("median latency {}", added(ms)),
            });
        };
        let (up, down) = (self.wait_ms.up?, self.wait_ms.down?);
        Some(match fault {
            Fault::Up => format!("upload latency {}", added(up)),
            Fault::Down => format!("download latency {}", added(down)),
            Fault::Both if up >= down => format!("upload latency {}, download {}", added(up), added(down)),
            Fault::Both => format!("download latency {}, upload {}", added(down), added(up)),
            Fault::None => format!("median latency {}, good", added(up.max(down))),
        })
    }

    fn losses(&self) -> Option<String> {
        let lossy = |direction| (*self.loss.get(direction)).filter(|loss| *loss >= LOSSY);
        let percent = |loss: f64| format!("{:.0} %", 100.0 * loss);
        match (lossy(Direction::Up), lossy(Direction::Down)) {
            (Some(up), Some(down)) => Some(format!("upload loss {}, download loss {}", percent(up), percent(down))),
            (Some(up), None) => Some(format!("upload loss {}", percent(up))),
            (None, Some(down)) => Some(format!("download loss {}", percent(down))),
            (None, None) => None,
        }
    }

    fn calls(&self) -> Option<String> {
        let (loaded, _) = self.call.filter(|(_, idle)| *idle >= MANY_DISSATISFIED)?;
        match loaded {
            score if score < NEARLY_ALL_DISSATISFIED => Some("voice calls bad".to_owned()),
            score if score < MANY_DISSATISFIED => Some("voice calls poor".to_owned()),
            _ => None,
        }
    }
}

/// Added latency with its sign.
fn added(ms: f64) -> String {
    match ms.max(0.0) {
        ms if ms.is_infinite() => "unknown (most packets lost)".to_owned(),
        ms if ms < 995.0 => format!("+{ms:.0} ms"),
        ms => format!("+{:.1} s", ms / 1000.0),
    }
}
