//! How to read the report, for who sees the first of its kind.

use super::markup::Markup;

/// A word, and what it means here.
const WORDS: [(&str, &str); 15] = [
    (
        "Under load",
        "The line is saturated in both directions on purpose, as by a large upload and a download at the same time. All else is measured meanwhile, and before on the idle line.",
    ),
    (
        "Round-trip delay",
        "Time of a test packet to the server and back, without the time in the server. Idle, it depends on the distance; what the load adds is queueing delay.",
    ),
    (
        "Median, P50, P95, P99",
        "Half of all packets took at most the median, 95 % at most P95. A lost packet counts as infinitely late: a percentile that falls on one reads \"lost\".",
    ),
    (
        "Increase under load",
        "Added latency: loaded median less idle median. Calls and games suffer from some tens of milliseconds on.",
    ),
    (
        "Queueing delay by direction",
        "One-way delay above that of the quickest packet. It shows in which direction packets queue.",
    ),
    ("Goodput", "Delivered bytes per time, without headers, duplicates and bytes still in flight."),
    ("Sum of streams", "Sum of all streams of a direction. Lines in charts are single streams."),
    (
        "Classes (BE, BK, CS5, EF)",
        "How packets are marked: best effort, background, signaling, expedited. Each has its color in every chart. Most lines treat them alike.",
    ),
    (
        "Bin",
        "Charts over time show one point for each short stretch of time; its width is written below them. The gray range reaches from the lowest to the highest packet in it, so no extreme is hidden.",
    ),
    ("Gray stretches", "Phases without load: before it, and after it."),
    ("Phase web", "The tinted stretch: the bulk load goes on; pages, short flows and lookups join it."),
    (
        "Probes (BE and EF)",
        "The probes behind headline figures: UDP probes marked as best effort and expedited forwarding. Background yields on purpose and has its own figures.",
    ),
    ("Red strokes", "Lost packets, at the time of sending; one stroke for all within about a pixel."),
    (
        "RRUL score",
        "Page load time idle over page load time under load, times 100: 100 is as fast as idle. Other scores are in their own table.",
    ),
    (
        "Valid, doubtful, invalid",
        "Whether the measurement deserves trust, not whether the line is good. The reasons name each issue and what to do.",
    ),
];

pub(crate) fn write(page: &mut Markup) {
    page.within("details", &[("class", "reading"), ("id", "reading"), ("data-print", "open")], |page| {
        page.within("summary", &[], |page| page.element("h2", &[], "How to read this report"));
        page.within("dl", &[], |page| {
            for (word, meaning) in WORDS {
                page.element("dt", &[], word);
                page.element("dd", &[], meaning);
            }
        });
        page.element(
            "p",
            &[],
            "Charts over time can be zoomed together: drag across one, use the buttons, or the keys + and −. Point at a chart, or press the arrow keys in it, to read every line at that moment. A name beside a chart hides and shows its line.",
        );
        page.element(
            "p",
            &[],
            "Lines are thinned to bins before they are put into this page, so zooming in shows no more than one point a bin; the recording has every packet \
             (rrul convert writes them all).",
        );
    });
}
