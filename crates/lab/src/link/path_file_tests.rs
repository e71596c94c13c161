//! What link files may say of the path, and the errors otherwise.

use super::*;
use crate::link::Link;

fn parsed(lines: &str) -> Result<Path, Error> {
    let plain = "rtt = \"18ms\"\n[up]\nrate = \"1Mbit/s\"\n[down]\nrate = \"1Mbit/s\"\n[path]\n";
    Link::from_toml("links/x.toml", &format!("{plain}{lines}\n")).map(|link| link.path.unwrap())
}

#[test]
fn routers_are_only_where_the_file_has_a_path() {
    let link = Link::builtin("cable_20_8_pfifo").unwrap();
    assert_eq!((link.path.as_ref(), link.hop_address(rrul_model::flow::AddressFamily::Ipv4, 1)), (None, None));
    assert_eq!(parsed("hops = 4").unwrap(), Path::new(4));
    let path = Path::new(4);
    assert_eq!((path.up_queue_after, path.down_queue_after, path.remark_up_at, path.remark_down_at), (1, 1, 1, 4));
}

#[test]
fn everything_about_a_router_can_be_said() {
    let said = parsed(
        "hops = 6\nup_queue_after = 2\ndown_queue_after = 3\nsilent = [3, 5]\n\
         rate_limited = [{ hop = 2, every = \"1s\" }, { hop = 4, every = \"500ms\" }]\n\
         slow = [{ hop = 2, up_to = \"30ms\" }]\nshort_quotes = [1]\ngarbage = [6]\nremark_up_at = 4\n\
         remark_down_at = 5\nmtu = { hop = 3, octets = 1400 }\nreply_path = \"other\"\naddresses = 155",
    );
    let expected = Path {
        hops: 6,
        up_queue_after: 2,
        down_queue_after: 3,
        silent: [3, 5].into(),
        rate_limited: [(2, Duration::from_secs(1)), (4, Duration::from_millis(500))].into(),
        slow: [(2, Duration::from_millis(30))].into(),
        short_quotes: [1].into(),
        garbage: [6].into(),
        remark_up_at: 4,
        remark_down_at: 5,
        mtu: Some(NarrowLink { hop: 3, octets: 1400 }),
        reply_path: ReplyPath::Other,
        addresses: 155,
    };
    assert_eq!(said.unwrap(), expected);
    assert_eq!(parsed("hops = 1\nreply_path = \"same\"").unwrap(), Path::new(1));
}

#[test]
fn complaints_are_one_line_with_file_line_key_and_what_would_be_right() {
    for (lines, expected) in [
        ("", "links/x.toml:6: path.hops: missing; write hops = 4"),
        ("hops = 0", "links/x.toml:7: path.hops: not a whole number from 1 to 30"),
        ("hops = 31", "links/x.toml:7: path.hops: not a whole number from 1 to 30"),
        ("hops = 4\nhop = 2", "links/x.toml:8: path.hop: unknown key; known here: hops, up_queue_after,"),
        ("hops = 4\nup_queue_after = 5", "links/x.toml:8: path.up_queue_after: not a whole number from 1 to 4"),
        ("hops = 4\ndown_queue_after = 0", "links/x.toml:8: path.down_queue_after: not a whole number from 1 to 4"),
        ("hops = 4\nremark_up_at = 5", "links/x.toml:8: path.remark_up_at: not a whole number from 1 to 4"),
        ("hops = 4\nsilent = 3", "links/x.toml:8: path.silent: integer found; write a list, [...]"),
        ("hops = 4\nsilent = [3, 5]", "links/x.toml:8: path.silent: not a whole number from 1 to 4"),
        ("hops = 4\ngarbage = [\"2\"]", "links/x.toml:8: path.garbage: not a whole number from 1 to 4"),
        ("hops = 4\nslow = [{ hop = 2 }]", "links/x.toml:8: path.slow.up_to: missing; write up_to = \"30ms\""),
        ("hops = 4\nslow = [2]", "links/x.toml:8: path.slow: integer found; write { hop = 2, up_to = \"30ms\" }"),
        (
            "hops = 4\nrate_limited = [{ hop = 2, every = \"1s\" }, { hop = 2, every = \"2s\" }]",
            "links/x.toml:8: path.rate_limited: router 2 is listed twice",
        ),
        ("hops = 4\nrate_limited = [{ hop = 2, every = 1 }]", "links/x.toml:8: path.rate_limited.every: integer found"),
        ("hops = 4\nmtu = 1400", "links/x.toml:8: path.mtu: integer found; write { hop = 3, octets = 1400 }"),
        ("hops = 4\nmtu = { hop = 3, octets = 1279 }", "path.mtu.octets: not a whole number from 1280 to 1500"),
        ("hops = 4\nmtu = { hop = 5, octets = 1400 }", "path.mtu.hop: not a whole number from 1 to 4"),
        ("hops = 4\nreply_path = \"far\"", "path.reply_path: unknown reply path; known: \"same\", \"other\""),
        ("hops = 4\naddresses = 156", "links/x.toml:8: path.addresses: not a whole number from 0 to 155"),
    ] {
        let said = parsed(lines).unwrap_err().to_string();
        assert!(said.contains(expected), "for {lines:?}\n     said: {said}\n expected: {expected}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
}

#[test]
fn every_key_of_a_path_is_documented_and_the_example_loads() {
    let page = include_str!("../../../../docs/lab.md");
    for key in PATH_KEYS {
        assert!(page.contains(&format!("`{key}`")), "docs/lab.md does not mention {key}");
    }
    let example = page.split("```toml\n[path]").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    assert!(parsed(example.trim_start()).is_ok(), "{:?}", parsed(example.trim_start()));
}
