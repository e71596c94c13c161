//! What tc of Linux has printed, and what is read from it.

use super::*;

/// cake on an Ethernet interface: `bandwidth 7200kbit diffserv4 docsis nat`, kernel 6.1, after some traffic.
const CAKE: &str = r#"[{"kind":"cake","handle":"8002:","root":true,"refcnt":2,"options":{"bandwidth":900000,
"diffserv":"diffserv4","flowmode":"triple-isolate","nat":true,"wash":false,"ingress":false,"ack-filter":"disabled",
"split_gso":true,"rtt":100000,"raw":false,"atm":"noatm","overhead":18,"mpu":64,"fwmark":"0"},"bytes":151400,"packets":100,
"drops":7,"overlimits":0,"requeues":0,"backlog":3028,"qlen":2,"memory_used":2304,"capacity_estimate":900000,
"tins":[{"threshold_rate":56250,"sent_bytes":0,"drops":0,"ecn_mark":1},{"threshold_rate":900000,"sent_bytes":151400,
"drops":7,"ecn_mark":4}]},{"kind":"ingress","handle":"ffff:","parent":"ffff:fff1","options":{},"bytes":156,"packets":1,
"drops":0,"overlimits":0,"requeues":0,"backlog":0,"qlen":0}]"#;

/// htb with fq_codel, as simple.qos has it.
const HTB: &str = r#"[{"kind":"htb","handle":"1:","root":true,"refcnt":2,"options":{"r2q":10,"default":"0x1",
"direct_packets_stat":0,"direct_qlen":1000},"bytes":9000,"packets":10,"drops":2,"overlimits":0,"requeues":0,"backlog":0,
"qlen":0},{"kind":"fq_codel","handle":"8002:","parent":"1:1","options":{"limit":10240,"flows":1024,"quantum":1514,
"target":4999,"interval":99999,"memory_limit":33554432,"ecn":true,"drop_batch":64},"bytes":0,"packets":0,"drops":0,
"overlimits":0,"requeues":0,"backlog":0,"qlen":0,"maxpacket":0,"ecn_mark":5}]"#;
const HTB_CLASS: &str = "class htb 1:1 root leaf 8002: prio 0 quantum 1514 rate 7200Kbit ceil 7200Kbit linklayer ethernet \
                         burst 3026b/1 mpu 0b cburst 3026b/1 mpu 0b level 0 \n Sent 0 bytes 0 pkt\n";

const TBF: &str = r#"[{"kind":"tbf","handle":"8001:","root":true,"refcnt":3,"options":{"rate":890432,"burst":"5021b/1",
"mpu":64,"lat":49975,"overhead":22,"linklayer":"ethernet"},"bytes":0,"packets":0,"drops":0,"overlimits":0,"requeues":0,
"backlog":0,"qlen":0}]"#;
const TBF_RAW: &str = "qdisc tbf 8001:[80010000] root refcnt 3 rate 7123Kbit burst 5021b/1 mpu 64b [0001583c] lat 50ms limit \
                       49521b overhead 22 linklayer ethernet \n";

fn shown<'a>(disciplines: &'a str, raw: &'a str, classes: &'a str) -> Shown<'a> {
    Shown { disciplines, raw, classes, header: ETHERNET_HEADER }
}

fn read(disciplines: &str, raw: &str, classes: &str) -> QueueDiscipline {
    QueueDiscipline::read(shown(disciplines, raw, classes)).unwrap()
}

#[test]
fn cake_is_read_with_its_counters_in_the_bytes_that_it_counts() {
    let cake = read(CAKE, "", "");
    assert_eq!((cake.name().as_str(), cake.rate()), ("cake diffserv4", Some(BitRate(7_200_000))));
    assert_eq!(cake.link_layer().as_deref(), Some("docsis"));
    // 18 bytes beyond IP where the kernel counted 14: 4 more a packet.
    let expected =
        DirectionCounters { sent: ByteCount(151_800), packets: 100, dropped: 7, marked: 5, backlog: ByteCount(3028) };
    assert_eq!(cake.counters, expected);
    assert_eq!(
        cake.commands("wan0", Some(BitRate(9_123_456))),
        ["tc qdisc change dev wan0 root handle 8002: cake bandwidth 9123456bit"]
    );
    assert_eq!(cake.commands("wan0", None), ["tc qdisc change dev wan0 root handle 8002: cake unlimited"]);
    assert_eq!(cake.restoring_commands("wan0"), cake.commands("wan0", cake.rate()));
}

#[test]
fn each_overhead_of_cake_is_a_link_layer() {
    for (old, new, layer) in [
        (r#""atm":"noatm","overhead":18,"mpu":64"#, r#""atm":"atm","overhead":44"#, Some("atm+44")),
        (r#""atm":"noatm","overhead":18,"mpu":64"#, r#""atm":"ptm","overhead":22"#, Some("ptm+22")),
        (r#""atm":"noatm","overhead":18,"mpu":64"#, r#""atm":"noatm","overhead":38,"mpu":84"#, Some("ethernet")),
        (r#""atm":"noatm","overhead":18,"mpu":64"#, r#""atm":"noatm","overhead":0"#, Some("ip")),
        (r#""atm":"noatm","overhead":18,"mpu":64"#, r#""atm":"noatm","overhead":-4"#, None),
        (r#""raw":false,"atm":"noatm","overhead":18"#, r#""raw":true,"overhead":0"#, Some("ip+14")),
    ] {
        let text = CAKE.replace(old, new);
        assert_ne!(text, CAKE);
        let found = read(&text, "", "").link_layer();
        assert_eq!(found.as_deref(), layer);
        let known = found.is_none_or(|words| words.parse::<rrul_model::link_layer::LinkLayer>().is_ok());
        assert!(known, "plans read {layer:?}");
    }
}

#[test]
fn cake_without_a_limit_has_no_rate_and_gets_none_back() {
    let cake = read(&CAKE.replace("\"bandwidth\":900000,", "\"bandwidth\":\"unlimited\","), "", "");
    assert_eq!(cake.rate(), None);
    assert_eq!(cake.restoring_commands("wan0"), ["tc qdisc change dev wan0 root handle 8002: cake unlimited"]);
}

#[test]
fn htb_is_set_by_its_classes() {
    let htb = read(HTB, "", HTB_CLASS);
    assert_eq!((htb.name().as_str(), htb.rate()), ("htb with fq_codel", Some(BitRate(7_200_000))));
    assert_eq!((htb.link_layer().as_deref(), htb.counters.marked, htb.counters.dropped), (Some("ip+14"), 5, 2));
    assert_eq!(
        htb.commands("wan0", Some(BitRate(14_400_000))),
        [
            "tc class change dev wan0 parent 1: classid 1:1 htb rate 14400000bit burst 6056 ceil 14400000bit cburst 6056 \
          prio 0 quantum 1514"
        ]
    );
    let unlimited = htb.commands("wan0", None).concat();
    assert!(unlimited.contains(" rate 10000000000bit ") && unlimited.contains(" ceil 10000000000bit "), "{unlimited}");
}

#[test]
fn tbf_keeps_its_queue_and_its_overhead() {
    let tbf = read(TBF, TBF_RAW, "");
    assert_eq!((tbf.rate(), tbf.link_layer().as_deref()), (Some(BitRate(7_123_456)), Some("ip+36")));
    let restoring = tbf.restoring_commands("v1").concat();
    assert_eq!(
        restoring,
        "tc qdisc change dev v1 root handle 8001: tbf rate 7123456bit burst 5000 limit 49521 mpu 64 overhead 22"
    );
}

#[test]
fn what_does_not_shape_is_refused_with_the_reason() {
    let two_roots = format!("{HTB_CLASS}{}", HTB_CLASS.replace("1:1", "1:2"));
    let peak = TBF.replace("\"lat\"", "\"peakrate\":1000000,\"lat\"");
    let autorate = CAKE.replace("\"diffserv\"", "\"autorate\":\"ingress\",\"diffserv\"");
    for (disciplines, raw, classes, reason) in [
        (autorate.as_str(), "", "", "autorate-ingress"),
        ("[]", "", "", "no root queue discipline"),
        (r#"[{"kind":"fq_codel","handle":"0:","root":true,"options":{}}]"#, "", "", "fq_codel, which does not shape"),
        ("Cannot find device", "", "", "not understood"),
        (HTB, "", "", "no class"),
        (HTB, "", two_roots.as_str(), "several classes"),
        (peak.as_str(), TBF_RAW, "", "peak rate"),
        (TBF, "", "", "no burst"),
    ] {
        let said = QueueDiscipline::read(shown(disciplines, raw, classes)).unwrap_err().to_string();
        assert!(said.contains(reason), "{said}");
    }
}

#[test]
fn the_name_of_htb_has_the_floors_and_ceilings_of_several_classes() {
    let leaf = |id, prio, rate, ceil| {
        format!(
            "class htb 1:{id} parent 1:1 leaf 1{id}: prio {prio} quantum 1514 rate {rate}Kbit ceil {ceil}Kbit linklayer \
             ethernet burst 1598b/1 mpu 0b cburst 1598b/1 mpu 0b level 0 \n"
        )
    };
    let inner = HTB_CLASS.replace("root leaf 8002: prio 0 quantum 1514", "root");
    let classes = [inner, leaf(13, 3, 1200, 6000), leaf(11, 1, 2400, 2400), leaf(12, 2, 1200, 6000)];
    let name = read(HTB, "", &classes.join("\n")).name();
    assert_eq!(name, "htb with fq_codel, classes 33.3-33.3 16.7-83.3 16.7-83.3 %");
}
