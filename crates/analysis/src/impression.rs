//! What a person would feel on the loaded line, in one sentence, by rules from the numbers.
//!
//! First the thing that most people wait for, pages; then the wait in queues, by direction; then what is lost, and calls.
//! It says what was measured and no more: what is not known is not in it.

use rrul_model::flow::Direction;
use serde::Serialize;

use crate::analysis::Analysis;
use crate::by_direction::ByDirection;
use crate::metrics::page_loads::PageLoads;
use crate::score::Scores;
use crate::score_cell::counts;

/// From here on a page is noticeably slower.
const SLOWER: f64 = 1.3;
/// A wait that most people begin to notice in what they do, milliseconds: ITU-T G.114 has conversations suffer from 150 ms, of
/// which the path itself has a good part.
const NOTICED_MS: f64 = 30.0;
/// A direction waits as well when its wait is at least this part of the other's.
const AS_WELL: f64 = 0.5;
/// Loss that is heard and seen.
const LOSSY: f64 = 0.01;
/// Many users are dissatisfied (G.107 annex B), and nearly all are.
const MANY_DISSATISFIED: f64 = 3.6;
const NEARLY_ALL_DISSATISFIED: f64 = 2.6;

/// Which direction is to blame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Fault {
    /// Client to server.
    Up,
    /// Server to client.
    Down,
    /// Both.
    Both,
    /// Neither: packets hardly wait.
    None,
}

/// What the sentence is made from; `None` is not measured.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Impression {
    /// Page load time under load over that on the idle line.
    pub slowdown: Option<f64>,
    /// Whether that is only a lower bound, as loads were cut off.
    pub at_least: bool,
    /// Whether no page at all came to its end under load.
    pub no_page: bool,
    /// Median wait added in each direction's queue, milliseconds; infinite when most packets are lost.
    pub wait_ms: ByDirection<Option<f64>>,
    /// What the load adds to the median round trip, milliseconds, where the ways cannot be told apart.
    pub round_trip_ms: Option<f64>,
    /// Share of packets lost under load.
    pub loss: ByDirection<Option<f64>>,
    /// The worst opinion score of a call under load, and on the idle line.
    pub call: Option<(f64, f64)>,
}

impl Impression {
    /// Of a run with its scores.
    pub(crate) fn of(analysis: &Analysis, scores: &Scores) -> Self {
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
            let delays = &analysis.round_trip_delay;
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
            at_least: scores.web.is_none(),
            // One that was cut off by the end of the test might have come to its end.
            no_page: loaded().next().is_some()
                && loaded().all(|loaded| loaded.complete == 0 && loaded.failed + loaded.capped > 0),
            wait_ms: ByDirection::each(wait),
            round_trip_ms: round_trip(),
            loss: ByDirection::each(|direction| Some(analysis.packet_fates.pooled(direction)?.load?.share_least)),
            call: scores.voip_mos.as_ref().and_then(|mos| mos.worst).zip(worst_idle.min_by(f64::total_cmp)),
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

    /// The sentence; `None` when neither pages nor waits are known.
    pub fn in_words(&self) -> Option<String> {
        let clauses: Vec<String> =
            [self.pages(), self.waits(), self.losses(), self.calls()].into_iter().flatten().collect();
        let known = self.pages().or_else(|| self.waits()).is_some();
        known.then(|| format!("While the line is full, {}.", clauses.join("; ")))
    }

    fn pages(&self) -> Option<String> {
        if self.no_page {
            return Some("no page loads to its end".to_owned());
        }
        let slowdown = self.slowdown.filter(|slowdown| slowdown.is_finite())?;
        let over = if self.at_least { "over " } else { "" };
        Some(match slowdown {
            // A lower bound that is small is no praise.
            s if s < SLOWER && self.at_least => return None,
            s if s < SLOWER => "pages load about as fast as ever".to_owned(),
            s if s < 9.95 => format!("pages take {over}{s:.1} times as long"),
            s => format!("pages take {over}{s:.0} times as long"),
        })
    }

    fn waits(&self) -> Option<String> {
        let wait = |ms: f64| {
            if ms.is_infinite() { "are mostly lost".to_owned() } else { format!("wait {}", milliseconds(ms)) }
        };
        let Some(fault) = self.fault() else {
            let added = self.round_trip_ms?;
            return Some(match added {
                ms if ms.is_infinite() => "most packets are lost".to_owned(),
                ms if ms < NOTICED_MS => format!("packets hardly wait ({} at the median)", milliseconds(ms)),
                ms => format!("packets wait {} in queues", milliseconds(ms)),
            });
        };
        let (up, down) = (self.wait_ms.up?, self.wait_ms.down?);
        Some(match fault {
            Fault::Up => format!("packets {} in the upload queue", wait(up)),
            Fault::Down => format!("packets {} in the download queue", wait(down)),
            Fault::Both if up >= down => {
                format!("packets {} in the upload queue and {} in the download queue", wait(up), bare(down))
            }
            Fault::Both => {
                format!("packets {} in the download queue and {} in the upload queue", wait(down), bare(up))
            }
            Fault::None => format!("packets hardly wait ({} at the median)", milliseconds(up.max(down))),
        })
    }

    fn losses(&self) -> Option<String> {
        let lossy = |direction| (*self.loss.of(direction)).filter(|loss| *loss >= LOSSY);
        let percent = |loss: f64| format!("{:.0} %", 100.0 * loss);
        match (lossy(Direction::Up), lossy(Direction::Down)) {
            (Some(up), Some(down)) => {
                Some(format!("{} are lost on the way up and {} on the way down", percent(up), percent(down)))
            }
            (Some(up), None) => Some(format!("{} are lost on the way up", percent(up))),
            (None, Some(down)) => Some(format!("{} are lost on the way down", percent(down))),
            (None, None) => None,
        }
    }

    fn calls(&self) -> Option<String> {
        let (loaded, idle) = self.call.filter(|(_, idle)| *idle >= MANY_DISSATISFIED)?;
        let _ = idle;
        match loaded {
            score if score < NEARLY_ALL_DISSATISFIED => Some("calls are hard to understand".to_owned()),
            score if score < MANY_DISSATISFIED => Some("calls suffer".to_owned()),
            _ => None,
        }
    }
}

fn bare(ms: f64) -> String {
    if ms.is_infinite() { "are mostly lost".to_owned() } else { milliseconds(ms) }
}

/// Milliseconds as people say them.
fn milliseconds(ms: f64) -> String {
    match ms.max(0.0) {
        ms if ms < 1.0 => "under 1 ms".to_owned(),
        ms if ms < 995.0 => format!("{ms:.0} ms"),
        ms => format!("{:.1} s", ms / 1000.0),
    }
}
