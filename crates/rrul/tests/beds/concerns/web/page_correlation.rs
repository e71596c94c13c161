//! The synthetic page beside Chromium, which loads the same manifest from the same server.

use rrul_model::observation::{ObservationPoint, PageLoad};

use crate::rows::Rows;
use crate::setting::{Measured, Setting};
use crate::{Bed, Runs};

/// Round trips in milliseconds and rates in Mbit/s, every one with every other.
const ROUND_TRIPS: [u32; 4] = [10, 50, 100, 200];
const RATES: [u32; 4] = [1, 5, 20, 100];

/// The 2.7 MB of the page take 22 s at 1 Mbit/s.
const CAP: u32 = 60;

pub(crate) const CORRELATION: Bed = Bed {
    name: "page_correlation",
    about: "Links of 10 to 200 ms and 1 to 100 Mbit/s, nothing else on them: the page rrul2025 as web_page loads it, beside headless \
        Chromium with the same objects from the same server, one after the other. Medians of two loads or more. \
        Not asked for is the same time, but times that order and grow alike.",
    runs: Runs::InAccuracy,
    run: correlation,
};

/// Chromium first, then the synthetic page, each for so many seconds.
fn plan(seconds: u32) -> String {
    let flow = |name: &str, kind: &str, more: &str| {
        format!(
            "[flow.{name}]\ntype = \"{kind}\"\ncomponent = \"web\"\npage = \"rrul2025\"\ncap = \"{CAP}s\"\n{more}\n"
        )
    };
    let probe = "[flow.probe]\ntype = \"udp_probe\"\ncomponent = \"realtime\"\ninterval = \"100ms\"\n";
    let browser = flow("browser", "browser_page", &format!("interval = \"3s\"\nduration = \"{seconds}s\""));
    let page = flow("page", "web_page", &format!("interval = \"1s\"\nstart = \"{seconds}s\""));
    format!(
        "title = \"a bed\"\noverhead = \"none\"\nphases = {{ idle = \"{}s\" }}\n{probe}{browser}{page}",
        2 * seconds
    )
}

/// The median time of complete loads by flows of this type, in seconds.
fn median(measured: &Measured, kind: &str) -> Option<f64> {
    let tables = measured.recording.tables_of(ObservationPoint::Client);
    let rows = tables.flat_map(|tables| tables.page_load.rows()).filter(|row| row.outcome == PageLoad::COMPLETE);
    let of_kind = rows.filter(|row| measured.recording.flow(row.flow).is_some_and(|flow| flow.flow_type == kind));
    let mut times: Vec<i64> = of_kind.map(|row| row.took.0).collect();
    times.sort_unstable();
    let middle = times.get(times.len() / 2)?;
    let other = times.get(times.len().saturating_sub(1) / 2)?;
    Some((middle + other) as f64 / 2e9)
}

fn correlation(rows: &mut Rows) {
    let mut pairs = Vec::new();
    for rate in RATES {
        for round_trip in ROUND_TRIPS {
            let link =
                format!("rtt = \"{round_trip}ms\"\n[down]\nrate = \"{rate}Mbit/s\"\n[up]\nrate = \"{rate}Mbit/s\"\n");
            let seconds = match rate {
                1 => 75,
                5 => 30,
                _ => 20,
            };
            let measured = Setting::new(link, plan(seconds)).measure();
            let (browser, page) = (median(&measured, "browser_page"), median(&measured, "web_page"));
            let what = format!("{round_trip} ms, {rate} Mbit/s: page load time in s, Chromium's as truth");
            let truth = browser.unwrap_or(0.0);
            rows.near("R30", what, page, truth, truth / 2.0);
            pairs.extend(browser.zip(page));
        }
    }
    let links = ROUND_TRIPS.len() * RATES.len();
    let whole = pairs.len() == links;
    rows.equal("R30", "links with a time of both", pairs.len(), links);
    rows.between(
        "R30",
        "rank correlation of both (Spearman)",
        whole.then(|| rank_correlation(&pairs)),
        "1",
        0.95..=1.0,
    );
    rows.between(
        "R30",
        "slope of the synthetic page over Chromium, both logarithmic",
        whole.then(|| slope(&pairs)),
        "1",
        0.8..=1.2,
    );
}

/// Spearman's coefficient: the correlation of ranks. Times are never equal here.
fn rank_correlation(pairs: &[(f64, f64)]) -> f64 {
    let rank = |value: f64, of: fn(&(f64, f64)) -> f64| pairs.iter().filter(|pair| of(pair) < value).count() as f64;
    let ranks: Vec<(f64, f64)> =
        pairs.iter().map(|pair| (rank(pair.0, |pair| pair.0), rank(pair.1, |pair| pair.1))).collect();
    let n = pairs.len() as f64;
    let apart: f64 = ranks.iter().map(|(one, other)| (one - other).powi(2)).sum();
    1.0 - 6.0 * apart / (n * (n * n - 1.0))
}

/// The slope of the least-squares line through the logarithms.
fn slope(pairs: &[(f64, f64)]) -> f64 {
    let logarithms: Vec<(f64, f64)> = pairs.iter().map(|(x, y)| (x.ln(), y.ln())).collect();
    let n = logarithms.len() as f64;
    let mean_x = logarithms.iter().map(|(x, _)| x).sum::<f64>() / n;
    let mean_y = logarithms.iter().map(|(_, y)| y).sum::<f64>() / n;
    let together: f64 = logarithms.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    together / logarithms.iter().map(|(x, _)| (x - mean_x).powi(2)).sum::<f64>()
}
