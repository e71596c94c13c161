//! Counters of the kernel's network stack: /proc/net/netstat, snmp and snmp6 of this thread's namespace.

use std::collections::BTreeMap;
use std::fs;

use rrul_model::environment::HOST_LISTEN_DROPS;

/// Counters of packets that this host lost or marked, as `GROUP.COUNTER`.
const TOLD: &[&str] = &[
    "Ip.InDiscards",
    "Ip.OutDiscards",
    "Ip.InHdrErrors",
    "IpExt.InNoECTPkts",
    "IpExt.InECT0Pkts",
    "IpExt.InECT1Pkts",
    "IpExt.InCEPkts",
    "Tcp.AttemptFails",
    "Tcp.InErrs",
    "Tcp.RetransSegs",
    HOST_LISTEN_DROPS,
    "TcpExt.ListenOverflows",
    "TcpExt.PruneCalled",
    "TcpExt.RcvPruned",
    "TcpExt.SyncookiesSent",
    "TcpExt.TCPBacklogDrop",
    "TcpExt.TCPMemoryPressures",
    "TcpExt.TCPRcvQDrop",
    "TcpExt.TCPReqQFullDrop",
    "TcpExt.TCPSpuriousRtxHostQueues",
    "TcpExt.TCPSynRetrans",
    "TcpExt.TCPWqueueTooBig",
    "Udp.InCsumErrors",
    "Udp.InErrors",
    "Udp.MemErrors",
    "Udp.RcvbufErrors",
    "Udp.SndbufErrors",
    "Ip6.InDiscards",
    "Ip6.OutDiscards",
    "Ip6.InHdrErrors",
    "Ip6.InNoECTPkts",
    "Ip6.InECT0Pkts",
    "Ip6.InECT1Pkts",
    "Ip6.InCEPkts",
    "Udp6.InCsumErrors",
    "Udp6.InErrors",
    "Udp6.MemErrors",
    "Udp6.RcvbufErrors",
    "Udp6.SndbufErrors",
];

/// The counters now; those that this kernel does not have are left out.
pub(super) fn read() -> BTreeMap<String, u64> {
    // /proc/net would be the namespace of the process's first thread.
    let text = |name: &str| fs::read_to_string(format!("/proc/thread-self/net/{name}")).unwrap_or_default();
    let mut found = BTreeMap::new();
    pairs_of_lines(&text("netstat"), &mut found);
    pairs_of_lines(&text("snmp"), &mut found);
    one_a_line(&text("snmp6"), &mut found);
    found
}

fn note(name: String, value: &str, found: &mut BTreeMap<String, u64>) {
    if TOLD.contains(&name.as_str())
        && let Ok(value) = value.parse()
    {
        found.insert(name, value);
    }
}

/// `Udp: InDatagrams InErrors` and below it `Udp: 12 0`.
fn pairs_of_lines(text: &str, found: &mut BTreeMap<String, u64>) {
    let mut lines = text.lines();
    while let (Some(names), Some(values)) = (lines.next(), lines.next()) {
        let (Some((group, names)), Some((_, values))) = (names.split_once(": "), values.split_once(": ")) else {
            continue;
        };
        for (name, value) in names.split_whitespace().zip(values.split_whitespace()) {
            note(format!("{group}.{name}"), value, found);
        }
    }
}

/// `Udp6InErrors      0`.
fn one_a_line(text: &str, found: &mut BTreeMap<String, u64>) {
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let (Some(name), Some(value)) = (words.next(), words.next()) else { continue };
        let Some((group, counter)) = name.split_once('6') else { continue };
        note(format!("{group}6.{counter}"), value, found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_read_from_either_form() {
        let mut found = BTreeMap::new();
        pairs_of_lines(
            "TcpExt: SyncookiesSent Unheard ListenDrops\nTcpExt: 1 2 3\nUdp: InErrors\nUdp: -1\n",
            &mut found,
        );
        one_a_line("Ip6InReceives   9\nUdp6RcvbufErrors   4\nshort\n", &mut found);
        let expected = [("TcpExt.ListenDrops", 3), ("TcpExt.SyncookiesSent", 1), ("Udp6.RcvbufErrors", 4)];
        assert_eq!(found, expected.map(|(name, value)| (name.to_owned(), value)).into());
    }

    #[test]
    fn this_kernel_counts_what_matters() {
        let found = read();
        for name in ["TcpExt.ListenDrops", "TcpExt.ListenOverflows", "Udp.RcvbufErrors", "Tcp.RetransSegs"] {
            assert!(found.contains_key(name), "{name} is not in {found:?}");
        }
    }
}
