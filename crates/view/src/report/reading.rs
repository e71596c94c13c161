//! How to read the report, for who sees the first of its kind.

use super::markup::Markup;

/// A word, and what it means here.
const WORDS: [(&str, &str); 15] = [
    (
        "Under load",
        "The line is filled in both directions on purpose, as by a large upload and a download at one time. Everything else is measured \
         while that goes on, and before it on the idle line.",
    ),
    (
        "Round-trip delay",
        "Time of a test packet to the server and back, without the time that the server held it. On the idle line it is about the \
         distance; what the load adds is waiting in queues.",
    ),
    (
        "Median, P50, P95, P99",
        "Half of all packets took at most the median, 95 of 100 at most P95. A lost packet counts as infinitely late: a figure that falls on one \
         reads \"lost\".",
    ),
    (
        "Increase under load",
        "Loaded median less idle median. Calls and games suffer from some tens of milliseconds on.",
    ),
    (
        "Queueing delay by direction",
        "One-way delay above that of the quickest packet. It shows in which direction packets queue.",
    ),
    (
        "Goodput",
        "Octets that the receiver was handed, per time, without headers, repetitions and what was still on its way.",
    ),
    (
        "Sum of streams",
        "All streams of a direction added up. Lines in charts are single streams; nothing has to be multiplied.",
    ),
    (
        "Classes (BE, BK, CS5, EF)",
        "How packets are marked: best effort, background, signaling, expedited. Each has its colour in every chart. Most lines treat them alike.",
    ),
    (
        "Bin",
        "Charts over time show one point for each short stretch of time; its width is written below them. The grey range reaches from the lowest to the highest packet in it, so no extreme is hidden.",
    ),
    ("Gray stretches", "Phases without load: before it, and after it."),
    ("Phase web", "The tinted stretch: the bulk load goes on; pages, short flows and lookups join it."),
    (
        "Probes (BE and EF)",
        "The probes behind headline figures: UDP probes marked as best effort and expedited forwarding. Background yields on purpose and has figures of its own.",
    ),
    ("Red strokes", "Lost packets, each where it was sent; one stroke stands for all within about a pixel."),
    (
        "RRUL score",
        "How much of its speed a web page keeps while the line is full: 100 is as fast as on the idle line. Other scores stand in their own table.",
    ),
    (
        "Valid, doubtful, invalid",
        "Whether the measurement deserves trust, not whether the line is good. Reasons say what speaks against it, and what can be done.",
    ),
];

/// Writes it.
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
            "Charts over time can be zoomed together: drag across one, use the buttons, or the keys + and −. Move over a chart, or press the arrow \
             keys in it, and every line is read at that moment. A name beside a chart hides and shows its line.",
        );
        page.element(
            "p",
            &[],
            "Lines are thinned to bins before they are put into this page, so zooming in shows no more than one point a bin; the recording has every packet \
             (rrul convert writes them all).",
        );
    });
}
