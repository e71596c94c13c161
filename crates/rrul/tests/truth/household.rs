//! Bursty video, held against the rate of the link.

use rrul_analysis::metrics::web::video_playback::VideoPlayback;
use rrul_engine::client::Families;
use rrul_lab::Link;
use rrul_model::flow::AddressFamily;

use crate::over_a_link::measure_over;

const PLAYED: f64 = 16.0;
const SEGMENT: f64 = 2.0;
const ROUND_TRIP: f64 = 0.02;

/// Plays a video of this rate over a link of 4 Mbit/s down.
fn play(rate: u64) -> VideoPlayback {
    let text = "# A link of the test\nrtt = \"20ms\"\n[up]\nrate = \"4Mbit/s\"\n[down]\nrate = \"4Mbit/s\"\n";
    let link = Link::from_toml("video.toml", text).expect("a link file");
    let plan = format!(
        "title = \"video\"\noverhead = \"none\"\nphases = {{ idle = \"1s\", load = \"{PLAYED}s\", after = \"2s\" }}\n\
         [flow.video]\ntype = \"video_bursts\"\ncomponent = \"web\"\nduring = [\"load\"]\n\
         interval = \"{SEGMENT}s\"\nbuffer = \"6s\"\nrate = \"{rate}kbit/s\"\n\
         [flow.probe]\ntype = \"udp_probe\"\ncomponent = \"realtime\"\ninterval = \"100ms\"\n"
    );
    let measured = measure_over(&link, &plan, Families::Only(AddressFamily::Ipv4), "video");
    let mut found = rrul_analysis::analyze(&measured.recording).measured.video_playback;
    assert_eq!(found.len(), 1, "one video was played");
    found.remove(0)
}

/// Seconds that a segment takes over the link at its full rate: 1448 octets of payload in packets of 1500.
fn download(rate: u64) -> f64 {
    rate as f64 * SEGMENT / 4000.0 * 1500.0 / 1448.0
}

#[test]
fn a_video_below_the_rate_of_the_link_starts_soon_and_never_stalls() {
    rrul_lab::on_a_lab("a video below the rate of the link", || {
        let found = play(1000);
        assert_eq!((found.stalls, found.stalled.0), (0, 0), "{found:?}");
        let startup = found.startup.expect("it started").0 as f64 / 1e9;
        // A request, the first flights of slow start, and the segment at the rate of the link.
        let least = ROUND_TRIP + download(1000);
        assert!((least..least + 8.0 * ROUND_TRIP).contains(&startup), "{startup} s, at least {least} s");
        let p50 = found.download.expect("segments were fetched").p50.expect("and came").0 as f64 / 1e9;
        assert!((least..least + 8.0 * ROUND_TRIP).contains(&p50), "{p50} s, at least {least} s");
    });
}

#[test]
fn a_video_above_the_rate_of_the_link_stalls_for_the_time_that_its_segments_are_late() {
    rrul_lab::on_a_lab("a video above the rate of the link", || {
        let found = play(6000);
        let takes = download(6000);
        let startup = found.startup.expect("it started").0 as f64 / 1e9;
        assert!((takes..takes * 1.1 + 4.0 * ROUND_TRIP).contains(&startup), "{startup} s, about {takes} s");
        // From then on each segment plays for 2 s and the next one comes after the time of its download.
        let left = PLAYED - startup;
        let share = 1.0 - SEGMENT / takes;
        let complete = (left / takes).floor();
        let truth = complete * (takes - SEGMENT) + (left - complete * takes - SEGMENT).max(0.0);
        let stalled = found.stalled.0 as f64 / 1e9;
        // The end of the last download is not known better than a tenth of it, and what it plays goes with it.
        assert!((stalled - truth).abs() < 0.5, "{stalled} s in stalls, {truth} s by the rate of the link ({found:?})");
        assert!((3..=6).contains(&found.stalls), "{} stalls", found.stalls);
        let told = found.stalled_share.expect("it started");
        assert!((told - share).abs() < 0.08, "{told} of the time, {share} in the long run");
    });
}
