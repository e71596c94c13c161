//! The words for delay by direction.

use crate::metric_word::{MetricGroup, MetricWord};

/// The words for these numbers.
pub(crate) const GROUP: MetricGroup = MetricGroup {
    title: "Delay by direction",
    path: "one_way_delay",
    about: "From UDP probes, stamped where they leave and where they arrive, by two clocks that nobody has matched. Their \
        drift is the slope of the line beneath the delays of the idle line before and after the load, both directions \
        together (Moon, Skelly and Towsley 1999; Zhang, Liu and Xia 2002), never of the load: a queue that grows and a \
        clock that drifts look the same until the queue has drained.\n\n\
        **Queueing delay** is how far a packet lies above that line. No assumption is in it. It is slightly negative for a \
        packet that was faster than all of the idle line. **One-way delay** assumes that the smallest round trip splits \
        half and half, which two hosts cannot know: it is off by up to `clocks.bound_ns`, all packets of a direction \
        alike.\n\n\
        Where a clock stepped or a route changed by 2 ms or more, the test is split there and each part has a line of its \
        own. A floor that rises under load or after it is a queue, unless other hops answer path traces, or the line is as \
        quiet after the load as before it and carries at most half of its loaded rate: then the route changed. A route that \
        changed and a queue that stands, both under load only, cannot be told apart.",
    words: &[
        MetricWord {
            name: "clocks.skew_uncertain",
            about: "why the queueing delay is unknown in both directions: no idle stretch before the load, too few packets, \
                too unsteady a line, queues that had not drained, or delays that contradict the line. Then one-way delay has \
                the drift in it, and only the round trip is reliable. `null` when it is known in one direction or both",
            unit: "",
            source: "",
        },
        MetricWord {
            name: "clocks.queueing_unknown.{up,down}",
            about: "why the queueing delay of the direction is unknown: `clocks.queueing_error_ns` is above 2 ms and above 10 % \
                of the loaded median. `null` when it is known",
            unit: "",
            source: "",
        },
        MetricWord {
            name: "clocks.queueing_error_ns",
            about: "by how much drift may shift queueing delays by the end of the load: the error of the skew times the time. \
                Where no drained idle stretch follows the load, the skew lies in an interval: what the idle line before the \
                load gives, at most 100 ppm unless that line shows more, and such that no later packet is faster than the \
                idle line. `null` when nothing bounds it",
            unit: "ns",
            source: "",
        },
        MetricWord {
            name: "clocks.skew_ppm",
            about: "how much the server's clock gains on the client's",
            unit: "ppm",
            source: "RFC 2330 section 10",
        },
        MetricWord {
            name: "clocks.skew_error_ppm",
            about: "standard deviation of the skews that four interleaved quarters of the idle packets give; the skew of \
                all is nearer to the truth than these. `null` when there are too few",
            unit: "ppm",
            source: "",
        },
        MetricWord {
            name: "clocks.floor_spread_ns",
            about: "how far the median idle packet lies above the fastest of its kind: the noise of hosts and idle line",
            unit: "ns",
            source: "",
        },
        MetricWord {
            name: "clocks.bound_ns",
            about: "by how much absolute one-way delays may be off: half the smallest round trip, the most of all segments, \
                and what drift may add where it is uncertain",
            unit: "ns",
            source: "RFC 7679 section 3.7.1",
        },
        MetricWord {
            name: "clocks.segments[].from_ns",
            about: "where a segment begins, from T0 on the client's clock; `null` of the first",
            unit: "ns",
            source: "",
        },
        MetricWord {
            name: "clocks.segments[].changes[].what",
            about: "why it begins: `client_clock`, `server_clock` (it stepped) or `route`",
            unit: "",
            source: "",
        },
        MetricWord {
            name: "clocks.segments[].changes[].{direction,family}",
            about: "of a route: which way and of which family; `null` of a clock",
            unit: "",
            source: "",
        },
        MetricWord {
            name: "clocks.segments[].changes[].by_ns",
            about: "how far forward the clock stepped, or how much longer the route became",
            unit: "ns",
            source: "",
        },
        MetricWord {
            name: "clocks.segments[].offset_ns, clocks.segments[].bound_ns",
            about: "the server's clock less the client's where the segment begins, or at T0, and by how much that may be off",
            unit: "ns",
            source: "RFC 2330 section 10",
        },
        MetricWord {
            name: "clocks.wall_clock_steps",
            about: "how often a wall clock stepped by more than 0.5 ms. Kernel stamps pass through it; packets with stamps \
                from around a step are in no statistics",
            unit: "count",
            source: "",
        },
        MetricWord {
            name: "check.n",
            about: "probes of which both ways are known and lie in one segment",
            unit: "count",
            source: "",
        },
        MetricWord {
            name: "check.median_error_ns, check.max_error_ns",
            about: "magnitude of (queueing up + queueing down) - (round trip - smallest round trip), which needs no common \
                clock",
            unit: "ns",
            source: "",
        },
        MetricWord {
            name: "check.consistent",
            about: "whether the median error is within twice the noise of the idle line and 0.1 ms",
            unit: "",
            source: "",
        },
        MetricWord {
            name: "{up,down}.{queueing_delay,one_way_delay}",
            about: "of the UDP probes of best effort and expedited forwarding in that direction (of all classes where neither was sent), \
                [by phase](#delay-by-phase)",
            unit: "",
            source: "RFC 7679; spec, Variables Under Test",
        },
        MetricWord {
            name: "legs[].flow, legs[].direction",
            about: "a probe flow, which is of one class and family, and a direction",
            unit: "",
            source: "",
        },
        MetricWord {
            name: "legs[].{queueing_delay,one_way_delay}",
            about: "of this flow in this direction, [by phase](#delay-by-phase)",
            unit: "",
            source: "RFC 7679",
        },
        MetricWord {
            name: "legs[].delay_variation.{idle,load,after}",
            about: "[variation](#delay-variation) of its one-way delay",
            unit: "",
            source: "RFC 5481",
        },
        MetricWord {
            name: "legs[].unattributed",
            about: "lost packets of which is not known in which direction, as the server's records did not come through; in \
                no statistics of a direction",
            unit: "count",
            source: "",
        },
        MetricWord {
            name: "legs[].misstamped",
            about: "packets with a stamp from around a step of that host's wall clock; in no statistics",
            unit: "count",
            source: "",
        },
    ],
};
