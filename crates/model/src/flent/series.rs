//! What the name of a series says: `TCP upload BE`, `Ping (ms) UDP EF`, `TCP download::3`, `Ping (ms) UDP6 BK`.

use crate::flow::{AddressFamily, Direction};
use crate::marking::ServiceClass;

/// What a series is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// A TCP stream of the load.
    Stream(Direction),
    /// Round trips over UDP: of irtt, or of netperf's exchanges.
    UdpPing,
    /// Round trips of ICMP echo.
    IcmpPing,
    Voice,
}

/// A series that becomes a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Series {
    pub(super) kind: Kind,
    /// As far as the name says it.
    pub(super) class: Option<ServiceClass>,
    /// As far as the name says it.
    pub(super) family: Option<AddressFamily>,
}

/// What ends the name of a series that is computed from others.
const COMPUTED: [&str; 5] = ["avg", "sum", "totals", "fairness", "total"];

impl Series {
    /// What this name says; `None` for series that are computed from others, or that become no flow.
    pub(super) fn parse(name: &str) -> Option<Self> {
        let parts: Vec<&str> = name.split("::").collect();
        // `TCP upload BE::tcp_cwnd` is among the raw values of its parent, `TCP upload::1` is a series.
        if parts.iter().skip(1).any(|part| part.starts_with(|first: char| first.is_ascii_lowercase())) {
            return None;
        }
        let words: Vec<&str> = parts.iter().flat_map(|part| part.split_whitespace()).collect();
        if words.last().is_some_and(|last| COMPUTED.contains(last)) {
            return None;
        }
        let (kind, rest) = match words.as_slice() {
            ["TCP", "upload", rest @ ..] => (Kind::Stream(Direction::Up), rest),
            ["TCP", "download", rest @ ..] => (Kind::Stream(Direction::Down), rest),
            ["Ping", "(ms)", rest @ ..] if rest.iter().any(|word| word.starts_with("UDP")) => (Kind::UdpPing, rest),
            ["Ping", "(ms)", rest @ ..] => (Kind::IcmpPing, rest),
            ["VoIP", rest @ ..] => (Kind::Voice, rest),
            _ => return None,
        };
        let (mut class, mut family) = (None, None);
        for word in rest {
            if *word == "UDP6" || word.strip_prefix('6').is_some_and(|word| class_in(word).is_some()) {
                family = Some(AddressFamily::Ipv6);
            }
            class = class.or(class_in(word)).or(word.strip_prefix('6').and_then(class_in));
        }
        Some(Self { kind, class, family })
    }
}

/// The class that a word names, a running number behind it or not: `EF`, `CS5`, `BE3`.
fn class_in(word: &str) -> Option<ServiceClass> {
    let word = word.trim_matches(['(', ')', ',']);
    let named = |word: &str| word.parse().ok();
    named(word).or_else(|| named(word.trim_end_matches(|last: char| last.is_ascii_digit())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(name: &str) -> Option<(Kind, Option<&'static str>, bool)> {
        let classes = ["BE", "BK", "CS5", "EF", "CS7"];
        Series::parse(name).map(|series| {
            let class = series.class.and_then(|class| classes.into_iter().find(|name| *name == class.to_string()));
            (series.kind, class, series.family == Some(AddressFamily::Ipv6))
        })
    }

    #[test]
    fn names_say_kind_class_and_family() {
        let (up, down) = (Kind::Stream(Direction::Up), Kind::Stream(Direction::Down));
        for (name, expected) in [
            ("TCP upload BE", (up, Some("BE"), false)),
            ("TCP download CS5", (down, Some("CS5"), false)),
            ("TCP upload BE4", (up, Some("BE"), false)),
            ("TCP upload 6BK", (up, Some("BK"), true)),
            ("TCP upload", (up, None, false)),
            ("TCP download::12", (down, None, false)),
            ("TCP upload BE::2", (up, Some("BE"), false)),
            ("Ping (ms) UDP EF", (Kind::UdpPing, Some("EF"), false)),
            ("Ping (ms) UDP BE1", (Kind::UdpPing, Some("BE"), false)),
            ("Ping (ms) UDP 6BK", (Kind::UdpPing, Some("BK"), true)),
            ("Ping (ms) UDP6 BE", (Kind::UdpPing, Some("BE"), true)),
            ("Ping (ms) UDP CS1", (Kind::UdpPing, Some("BK"), false)),
            ("Ping (ms) ICMP", (Kind::IcmpPing, None, false)),
            ("Ping (ms)::UDP 1 (EF)", (Kind::UdpPing, Some("EF"), false)),
            ("VoIP", (Kind::Voice, None, false)),
        ] {
            assert_eq!(parsed(name), Some(expected), "{name}");
        }
    }

    #[test]
    fn what_is_computed_or_no_flow_is_passed_over() {
        for name in [
            "TCP upload avg",
            "TCP download sum",
            "TCP totals",
            "TCP upload fairness",
            "Ping (ms) avg",
            "TCP upload BE::tcp_cwnd",
            "TCP upload::1::tcp_rtt",
            "VoIP::delay",
            "cpu_stats_host::load",
            "qdisc_stats_router",
            "",
        ] {
            assert_eq!(parsed(name), None, "{name}");
        }
    }
}
