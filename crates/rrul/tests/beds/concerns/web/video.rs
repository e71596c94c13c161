//! Bursty video, held against the rate of the link.

use rrul_analysis::metrics::web::video_playback::VideoPlayback;

use crate::setting::Setting;
use crate::{Bed, Runs};

const SEGMENT: f64 = 2.0;
const ROUND_TRIP: f64 = 0.02;

/// Plays a video of this rate over a link of 4 Mbit/s down.
fn play(rate: u64, seconds: f64) -> VideoPlayback {
    let link = "rtt = \"20ms\"\n[up]\nrate = \"4Mbit/s\"\n[down]\nrate = \"4Mbit/s\"\n";
    let plan = format!(
        "title = \"video\"\noverhead = \"none\"\nphases = {{ idle = \"1s\", load = \"{seconds}s\", after = \"2s\" }}\n\
         [flow.video]\ntype = \"video_bursts\"\ncomponent = \"web\"\nduring = [\"load\"]\n\
         interval = \"{SEGMENT}s\"\nbuffer = \"6s\"\nrate = \"{rate}kbit/s\"\n\
         [flow.probe]\ntype = \"udp_probe\"\ncomponent = \"realtime\"\ninterval = \"100ms\"\n"
    );
    let mut found = Setting::new(link, plan).measure().analysis.measured.video_playback;
    assert_eq!(found.len(), 1, "one video was played");
    found.remove(0)
}

/// Seconds that a segment takes over the link at its full rate: 1448 bytes of payload in packets of 1500.
fn download(rate: u64) -> f64 {
    rate as f64 * SEGMENT / 4000.0 * 1500.0 / 1448.0
}

pub(crate) const BELOW: Bed = Bed {
    name: "video_below_the_rate",
    about: "4/4 Mbit/s, and a video of 1 Mbit/s in segments of 2 s: it starts soon and never stalls.",
    runs: Runs::SideBySide,
    run: |rows| {
        let found = play(1000, 10.0);
        rows.equal("R46", "stalls", found.stalls, 0);
        rows.equal("R46", "time in stalls, ns", found.stalled.0, 0);
        // A request, the first flights of slow start, and the segment at the rate of the link.
        let least = ROUND_TRIP + download(1000);
        let soon = least..=least + 8.0 * ROUND_TRIP;
        let startup = found.startup.map(|startup| startup.0 as f64 / 1e9);
        rows.between("R46", "time until it starts, s", startup, format!("{least:.3}, and slow start"), soon.clone());
        let p50 = found.download.and_then(|download| download.p50).map(|p50| p50.0 as f64 / 1e9);
        rows.between("R46", "time of a segment P50, s", p50, format!("{least:.3}, and slow start"), soon);
    },
};

pub(crate) const ABOVE: Bed = Bed {
    name: "video_above_the_rate",
    about: "4/4 Mbit/s, and a video of 6 Mbit/s: it stalls for the time that its segments are late.",
    runs: Runs::SideBySide,
    run: |rows| {
        const PLAYED: f64 = 16.0;
        let found = play(6000, PLAYED);
        let takes = download(6000);
        let startup = found.startup.map_or(f64::NAN, |startup| startup.0 as f64 / 1e9);
        let soon = takes..=takes * 1.1 + 4.0 * ROUND_TRIP;
        rows.between("R46", "time until it starts, s", Some(startup), format!("{takes:.2}, and slow start"), soon);
        // From then on each segment plays for 2 s and the next one comes after the time of its download.
        let left = PLAYED - startup;
        let complete = (left / takes).floor();
        let truth = complete * (takes - SEGMENT) + (left - complete * takes - SEGMENT).max(0.0);
        // The end of the last download is not known better than a tenth of it, and what it plays goes with it.
        rows.near("R46", "time in stalls, s", Some(found.stalled.0 as f64 / 1e9), truth, 0.5);
        rows.between("R46", "stalls", Some(found.stalls as f64), "one a segment", 3.0..=6.0);
        let share = 1.0 - SEGMENT / takes;
        rows.near("R46", "share of the time in stalls", found.stalled_share, share, 0.08);
    },
};
