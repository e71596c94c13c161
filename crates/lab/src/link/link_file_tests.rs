//! What link files may contain, and the errors otherwise.

use rrul_model::flow::AddressFamily;
use rrul_model::units::ByteCount;

use super::*;

/// A link whose `up` has these lines and whose `down` is plain.
fn with_up(lines: &str) -> Result<Link, Error> {
    parse("links/x.toml", &format!("# A line\nrtt = \"18ms\"\n[down]\nrate = \"1Mbit/s\"\n[up]\n{lines}\n"))
}

fn up(lines: &str) -> LinkDirection {
    with_up(&format!("rate = \"8Mbit/s\"\n{lines}")).unwrap().up
}

fn complaint(lines: &str) -> String {
    with_up(lines).unwrap_err().to_string()
}

#[test]
fn the_round_trip_is_split_in_half_unless_a_direction_has_its_own_delay() {
    let link = with_up("rate = \"8Mbit/s\"").unwrap();
    assert_eq!((link.name.as_str(), link.about.as_str()), ("x", "A line"));
    assert_eq!((link.up.delay, link.down.delay), (Duration::from_millis(9), Duration::from_millis(9)));
    let link = with_up("rate = \"8Mbit/s\"\ndelay = \"3ms\"").unwrap();
    assert_eq!((link.up.delay, link.down.delay), (Duration::from_millis(3), Duration::from_millis(15)));
    let text = "[up]\nrate = \"1Mbit/s\"\ndelay = \"1ms\"\n[down]\nrate = \"1Mbit/s\"\ndelay = \"2ms\"";
    assert_eq!(parse("x", text).unwrap().idle_round_trip(), Duration::from_millis(3));
}

#[test]
fn queues_are_named_or_described() {
    assert_eq!(up("queue = \"codel\"").queue.discipline().name, "codel");
    let described = up("queue = { discipline = \"bfifo\", limit = \"256kB\" }").queue;
    assert_eq!(described.options().limit, Some(crate::queue::Limit::Octets(ByteCount(256_000))));
    let fq = up("queue = { discipline = \"fq_codel\", flows = 8, quantum = \"300B\", target = \"15ms\", ecn = false }");
    let options = fq.queue.options();
    assert_eq!((options.flows, options.quantum), (Some(8), Some(ByteCount(300))));
    assert_eq!((options.target, options.ecn), (Some(Duration::from_millis(15)), Some(false)));
}

#[test]
fn impairments_are_chances_or_counts() {
    assert_eq!(up("loss = \"1%\"").loss, Selection::Probability(0.01));
    assert_eq!(up("loss = { every = 100 }").loss, Selection::Every(100));
    assert_eq!(up("duplicate = { packets = [1, 7] }").duplicate, Selection::Numbers(vec![1, 7]));
    let reorder = up("reorder = { probability = \"2%\", displacement = 3, extra_delay = \"10ms\" }").reorder;
    let expected = Reorder {
        packets: Selection::Probability(0.02),
        displacement: Some(3),
        extra_delay: Duration::from_millis(10),
    };
    assert_eq!(reorder, expected);
}

#[test]
fn rates_may_change_and_headers_may_count() {
    let settings = up("overhead = \"38B\"\ndelay_variation = \"2ms\"");
    assert_eq!((settings.overhead, settings.delay_variation), (ByteCount(38), Duration::from_millis(2)));
    let boosted = with_up("rate = [[\"0s\", \"40Mbit/s\"], [\"10s\", \"20Mbit/s\"]]").unwrap().up.rate;
    assert_eq!(boosted.at(Duration::from_secs(9)), BitRate(40_000_000));
    assert_eq!(boosted.at(Duration::from_secs(10)), BitRate(20_000_000));
}

#[test]
fn bursts_and_policers_have_a_size_and_a_rate() {
    let settings =
        up("burst = { size = \"2MB\", peak = \"16Mbit/s\" }\npolice = { rate = \"4Mbit/s\", size = \"60kB\" }");
    assert_eq!(settings.burst, Some(BurstAllowance { size: ByteCount(2_000_000), peak: BitRate(16_000_000) }));
    assert_eq!(settings.police, Some(Policer { rate: BitRate(4_000_000), size: ByteCount(60_000) }));
    let stepped =
        "rate = [[\"0s\", \"4Mbit/s\"], [\"1s\", \"2Mbit/s\"]]\nburst = { size = \"2MB\", peak = \"9Mbit/s\" }";
    assert!(with_up(stepped).unwrap_err().to_string().contains("a burst needs one constant rate"));
    assert_eq!(up("only = { tcp = \"ack\" }").only.tcp, Some(Segment::Ack));
    assert!(complaint("rate = \"1Mbit/s\"\nonly = { tcp = \"fin\" }").contains("known: \"syn\""));
}

#[test]
fn markings_are_rewritten_by_name() {
    assert_eq!(up("dscp = \"bleach\"").dscp.apply(46), 0);
    assert_eq!(up("dscp = \"clear_precedence\"").dscp.apply(46), 6);
    let but_best_effort = up("dscp = { any = \"AF11\", BE = \"BE\" }").dscp;
    assert_eq!([0, 8, 46].map(|dscp| but_best_effort.apply(dscp)), [0, 10, 10]);
    assert_eq!(up("only = { ecn = \"ect1\" }").only.ecn, Some(rrul_model::marking::Ecn::Ect1));
    let mapped = up("dscp = { EF = \"CS1\" }").dscp;
    assert_eq!((mapped.apply(46), mapped.apply(40)), (8, 40));
    assert_eq!(up("ecn = \"clear\"").ecn, EcnRewrite::Clear);
    assert_eq!(up("ecn = \"ect1_to_ect0\"").ecn, EcnRewrite::Ect1ToEct0);
    assert_eq!(up("ecn = { mark_ce = \"10%\" }").ecn, EcnRewrite::MarkCe(Selection::Probability(0.1)));
}

#[test]
fn a_filter_narrows_the_impairments() {
    let keys = "protocol = \"udp\", port = 53, family = \"ipv6\", class = \"EF\", longer_than = 1200";
    let only = up(&format!("only = {{ {keys} }}")).only;
    let expected = PacketFilter {
        protocol: Some(17),
        port: Some(53),
        family: Some(AddressFamily::Ipv6),
        class: Some(ServiceClass::EF),
        longer_than: Some(1200),
        ..PacketFilter::default()
    };
    assert_eq!(only, expected);
}

#[test]
fn complaints_name_file_line_key_and_what_would_be_right() {
    for (lines, expected) in [
        ("rate = \"20MB/s\"", "links/x.toml:6: up.rate: \"20MB/s\" is not a valid bit rate; write it like"),
        ("rate = 20", "links/x.toml:6: up.rate: integer found; write \"20Mbit/s\""),
        ("rate = \"0Mbit/s\"", "links/x.toml:6: up.rate: a rate must be more than zero"),
        ("delay = \"1ms\"", "links/x.toml:5: up.rate: missing; write rate = \"20Mbit/s\""),
        ("rate = \"1Mbit/s\"\nlimt = 3", "links/x.toml:7: up.limt: unknown key; known here: rate, burst, overhead,"),
        (
            "rate = \"1Mbit/s\"\nqueue = \"red\"",
            "up.queue: unknown queue \"red\"; known: pfifo, bfifo, prio, codel, fq_codel",
        ),
        (
            "rate = \"1Mbit/s\"\nqueue = { discipline = \"pfifo\", target = \"5ms\" }",
            "links/x.toml:7: up.queue.target: unknown key; known here: discipline, limit",
        ),
        (
            "rate = \"1Mbit/s\"\nqueue = { discipline = \"pfifo\", limit = \"9kB\" }",
            "links/x.toml:7: up.queue: this queue counts packets; write its limit like \"1000p\"",
        ),
        ("rate = \"1Mbit/s\"\nloss = \"101%\"", "up.loss: not a probability; write a share"),
        ("rate = \"1Mbit/s\"\nloss = {}", "up.loss: give exactly one of probability, every, packets"),
        ("rate = \"1Mbit/s\"\ndelay = \"19ms\"", "links/x.toml:7: up.delay: longer than rtt"),
        ("rate = \"1Mbit/s\"\ndscp = { EE = \"CS1\" }", "links/x.toml:7: up.dscp.EE: unknown"),
        ("rate = ", "links/x.toml:6: "),
    ] {
        let said = complaint(lines);
        assert!(said.contains(expected), "for {lines:?}\n     said: {said}\n expected: {expected}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
    assert!(parse("y.toml", "rtt = \"1ms\"").unwrap_err().to_string().contains("up: missing"));
}

#[test]
fn the_example_in_the_documentation_loads() {
    let page = include_str!("../../../../docs/lab.md");
    let example = page.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let link = parse("docs/lab.md", example).unwrap();
    assert_eq!(link.up.loss, Selection::Probability(0.05));
    assert_eq!(link.down.rate.highest(), BitRate(40_000_000));
}

#[test]
fn every_key_option_and_queue_is_documented() {
    let page = include_str!("../../../../docs/lab.md");
    let disciplines = crate::queues::DISCIPLINES;
    let names = disciplines.iter().map(|discipline| discipline.name);
    let options = disciplines.iter().flat_map(|discipline| discipline.options).copied();
    for word in LINK_KEYS.iter().chain(DIRECTION_KEYS).copied().chain(names).chain(options) {
        assert!(page.contains(&format!("`{word}`")), "docs/lab.md does not mention {word}");
    }
}
