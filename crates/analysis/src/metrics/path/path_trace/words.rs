//! What the numbers of path traces mean.

use crate::metric_word::{MetricGroup, MetricWord};

/// The words for these numbers.
pub(crate) const GROUP: MetricGroup = MetricGroup {
    title: "Path traces",
    path: "path_traces[]",
    about: "One for each family and direction: UDP packets that expire at each router on the way, one a second to each, less \
        often on a slow line, all through the test, and what the routers answer. Addresses and ports stay the same, so that \
        load balancers treat the packets alike. \
        Routers answer when they please, seldom more than once a second and not with priority: a hop that does not answer, or \
        late, says nothing of what it forwards. Where the queue is follows from all hops together: a packet leaves a queue \
        behind the test packets that came to it earlier and ahead of those that came later, so that their waits \
        (`one_way_delay`) bound its own, on its way out and, by when it arrives, on its way back. The answers of hosts behind \
        the queue show that wait, those of hosts before it do not. The way back of an answer may add the other direction's \
        wait or not; both are tried for every hop.",
    words: &[
        MetricWord {
            name: "flow, direction, family",
            about: "which trace; `up` is sent by the client",
            unit: "",
            source: "",
        },
        MetricWord {
            name: "sees_quoted_headers",
            about: "whether the sender may open raw sockets (CAP_NET_RAW) and so sees the headers that routers quote: without \
                them nothing is known of markings at each hop",
            unit: "",
            source: "RFC 792, RFC 4443",
        },
        MetricWord {
            name: "routers",
            about: "routers on the way, from the hop limit with which packets reach the far end; `null` when it did not tell",
            unit: "count",
            source: "",
        },
        MetricWord {
            name: "route_changes[].{at_ns,routers}",
            about: "when that number changed, from T0, and to what",
            unit: "ns, count",
            source: "",
        },
        MetricWord {
            name: "bottleneck.place",
            about: "`path`: the queue lies between two hops; `host`: in the sender itself; `none`: less than 5 ms; `unknown`",
            unit: "",
            source: "spec: identify the bottleneck source",
        },
        MetricWord {
            name: "bottleneck.queue_ns",
            about: "median wait under load of test packets of the same direction, family and marking",
            unit: "ns",
            source: "",
        },
        MetricWord {
            name: "bottleneck.host_queue_ns",
            about: "median time that test packets lay in the sender's own queues under load: hop 0",
            unit: "ns",
            source: "",
        },
        MetricWord {
            name: "bottleneck.{after_hop,before_hop}",
            about: "the last hop before the queue, 0 for the sender, and the first behind it; when they are not neighbours, it is \
                somewhere between them",
            unit: "",
            source: "",
        },
        MetricWord {
            name: "bottleneck.agreeing",
            about: "of the routers whose answers tell, the share that agrees; the others answered late, or were late on the idle line",
            unit: "share",
            source: "",
        },
        MetricWord { name: "bottleneck.words", about: "the verdict as a sentence", unit: "", source: "" },
        MetricWord {
            name: "hops[].{hop,far_end,addresses[]}",
            about: "counted from the sender; the far end is the other host of the test; who answered, most frequent first",
            unit: "",
            source: "",
        },
        MetricWord {
            name: "hops[].phases.{idle,load,after}.{sent,answered}",
            about: "packets to that hop, and answers",
            unit: "count",
            source: "",
        },
        MetricWord {
            name: "hops[].phases.{idle,load,after}.round_trip",
            about: "round trips of the answers alone, between kernel stamps; of the far end without the time it held them",
            unit: "ns",
            source: "RFC 2681",
        },
        MetricWord {
            name: "hops[].queueing_ns",
            about: "median under load less 5th percentile of the idle line, of answers from one address",
            unit: "ns",
            source: "",
        },
        MetricWord {
            name: "hops[].side",
            about: "`before` or `behind` the queue of the trace's direction; `null` where the answers do not tell: fewer than \
                four, fewer than three on the idle line, or than two that agree, or one explanation misses more than three quarters of \
                what the other misses, or more than half of the wait, or is not 400 times as likely. For `behind` the wait must be known to \
                within itself, and no more than a tenth of it be missed, or a quarter where the answers follow it better \
                than they follow any constant lateness",
            unit: "",
            source: "",
        },
        MetricWord {
            name: "remarkings[].{what,from,to,after_hop,seen_at_hop}",
            about: "what was rewritten (`dscp`, `ecn`), from what to what, the last hop that saw it as it was and the first that \
                saw it rewritten, on the idle line",
            unit: "",
            source: "",
        },
        MetricWord {
            name: "path_mtu.{passed_octets,failed_octets}",
            about: "the longest packet that reached the far end whole, and the shortest that did not",
            unit: "octets",
            source: "RFC 8899",
        },
        MetricWord {
            name: "path_mtu.{told_by,told_octets,hint}",
            about: "who said that a packet was too big, `sender` where it is the sending host's own link that carries no more; the \
                MTU that was named; what links with that MTU mostly are",
            unit: "octets",
            source: "RFC 1191, RFC 8201",
        },
        MetricWord {
            name: "messages[].{message,address,count}",
            about: "what else hosts on the way said: in words, who, how often",
            unit: "count",
            source: "RFC 792, RFC 4443",
        },
        MetricWord {
            name: "strays",
            about: "answers about no packet of the trace, or about one that was answered before",
            unit: "count",
            source: "",
        },
    ],
};
