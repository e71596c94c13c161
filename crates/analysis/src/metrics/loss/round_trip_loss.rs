//! Loss of test packets, both ways together (RFC 6673, with the loss threshold of RFC 7680).

use crate::metric_word::{MetricGroup, MetricWord};

/// The words for these numbers.
pub(crate) const GROUP: MetricGroup = MetricGroup {
    title: "Loss",
    path: "loss",
    about: "The fate of a packet is known when the client listened for the whole waiting time after it was sent. A run \
        that comes to its planned end listens until every packet of the last 3 s is answered or 3 s have passed since the \
        last one was sent, so there the last losses count too. The end of listening is the `end` of a complete \
        recording, and otherwise the client's last observation (or the `end`, where that is earlier). Of the packets that \
        were sent later than the waiting time before it, **all of a flow count when all of them were answered, and none \
        of them otherwise**, answered or not: they are left out of counts, percentiles and charts. Were answers counted \
        and the rest left out, a run that is cut off would seem to lose less than it did.",
    words: &[
        MetricWord {
            name: "sent",
            about: "packets of the pooled flows, over all phases, whose fate is known",
            unit: "count",
            source: "",
        },
        MetricWord {
            name: "lost",
            about: "of those, not answered within the waiting time; which way they were lost is told below. A later \
                reply does not count, a duplicate counts once (the first)",
            unit: "count",
            source: "RFC 6673; RFC 7680 section 2",
        },
        MetricWord {
            name: "skipped",
            about: "packets of the pooled flows that were due and were not sent, because the client stalled and they \
                would have been a burst. They are neither sent nor lost: the sample has a gap there",
            unit: "count",
            source: "RFC 3432",
        },
        MetricWord {
            name: "waiting_time_ns",
            about: "3 s, or 10 idle median round trips where that is longer",
            unit: "ns",
            source: "RFC 7680 (loss threshold)",
        },
        MetricWord {
            name: "{up,down}.evidence, flows[].{up,down}.evidence",
            about: "by what losses were attributed to a direction: `exact`, `window`, `none`; of several flows the weakest",
            unit: "",
            source: "",
        },
        MetricWord {
            name: "{up,down}.{idle,load,after,all}",
            about: "[fate](#fate-of-packets-by-direction) of the packets of the pooled UDP probe flows together, best effort \
                and expedited forwarding as of [round-trip delay](#round-trip-delay); `all` is from the baseline to the end",
            unit: "",
            source: "spec, Variables under Test",
        },
        MetricWord {
            name: "flows[].flow",
            about: "name of a flow of UDP probes or of exchanges over UDP",
            unit: "",
            source: "",
        },
        MetricWord {
            name: "flows[].{up,down}.{idle,load,after,all}",
            about: "the same of this flow alone",
            unit: "",
            source: "",
        },
    ],
};
