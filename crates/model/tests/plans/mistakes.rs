//! Every mistake in a plan or a setting is named with file, line and key, and with what would be right.

use crate::shelf::{read_shipped, read_text, with_flow};

/// What the reader says of a plan with this mistake.
fn complaint(text: &str) -> String {
    read_text(text, &[], &[]).expect_err("the mistake was not noticed").to_string()
}

fn assert_complaint(text: &str, place: &str, words: &[&str]) {
    let said = complaint(text);
    assert!(said.starts_with(&format!("{place}: ")), "expected it at {place}, it says: {said}");
    for word in words {
        assert!(said.contains(word), "expected {word:?} in: {said}");
    }
}

#[test]
fn a_message_is_one_line_whatever_is_quoted_in_it() {
    let said = read_shipped("rrul", &["mo\nad=30s"]).expect_err("no such setting").to_string();
    assert!(said.starts_with("--set mo\\nad=30s: mo\\nad: unknown setting") && !said.contains('\n'), "{said}");
    let said = complaint("title = \"t\"\nphases = { load = \"10s\" }\n[flow.\"a\\nb\"]\ntype = \"nothing\"\n");
    assert!(said.starts_with("x.toml:") && !said.contains('\n'), "{said}");
}

#[test]
fn a_wrong_setting_is_named_with_what_would_be_right() {
    let wrong: &[(&str, &[&str])] = &[
        ("stream=2", &["unknown setting", "streams", "idle", "flow.bulk.count"]),
        ("streams=0", &["flow.bulk.count", "from 1 to 64"]),
        ("streams=65", &["flow.bulk.count", "from 1 to 64"]),
        ("streams=many", &["flow.bulk.count", "from 1 to 64"]),
        ("load=60", &["phases.load", "\"5s\""]),
        ("load=60x", &["phases.load", "60x"]),
        ("load", &["KEY=VALUE"]),
        ("=5", &["KEY=VALUE"]),
        ("flow.blk.count=8", &["no flow \"blk\"", "bulk, probe"]),
        ("flow.bulk.cuont=8", &["flow.bulk.cuont", "unknown key", "count"]),
        ("flow.bulk.class=BE", &["each.class of plans/rrul.toml:", "use each.class"]),
        ("flow.bulk.each.class=BEE", &["unknown class \"BEE\"", "BE"]),
        ("flw.bulk.count=8", &["unknown key", "flow"]),
        ("sample_interval=5s", &["between 10ms and 1s"]),
        ("link_layer=adsl", &["unknown link layer \"adsl\"", "atm/pppoe-llcsnap"]),
        ("extends=ping", &["cannot be set", "--plan"]),
        ("idle.x=1", &["idle", "unknown key"]),
    ];
    for (setting, words) in wrong {
        let said = read_shipped("rrul", &[setting]).expect_err(setting).to_string();
        assert!(said.starts_with(&format!("--set {setting}: ")), "--set {setting} is not the place of: {said}");
        for word in *words {
            assert!(said.contains(word), "expected {word:?} in: {said}");
        }
    }
}

#[test]
fn no_phase_left_is_an_error() {
    let said = read_shipped("ping", &["idle=0s"]).unwrap_err().to_string();
    assert!(said.starts_with("plans/ping.toml:") && said.contains("all phases are empty"), "{said}");
}

#[test]
fn a_mistyped_key_is_named_with_file_line_and_the_known_ones() {
    assert_complaint("titel = \"t\"\n", "x.toml:1", &["titel", "unknown key; known: title"]);
    assert_complaint(&with_flow("clas = \"EF\"\n"), "x.toml:6", &["flow.a.clas", "unknown key", "class", "interval"]);
    assert_complaint(&with_flow("each.clas = [\"EF\"]\n"), "x.toml:6", &["flow.a.each.clas", "class", "interval"]);
    assert_complaint("title = \"t\"\nphases = { laod = \"1s\" }\n[flow]\n", "x.toml:2", &["phases.laod", "load"]);
}

#[test]
fn a_missing_key_is_named() {
    assert_complaint("phases = { load = \"1s\" }\n[flow]\n", "x.toml:1", &["title: missing"]);
    assert_complaint("title = \"t\"\n[flow]\n", "x.toml:1", &["phases: missing"]);
    assert_complaint("title = \"t\"\nphases = { load = \"1s\" }\n", "x.toml:1", &["flow: missing"]);
    assert_complaint("title = \"t\"\nphases = { load = \"1s\" }\n[flow]\n", "x.toml:3", &["at least one [flow.NAME]"]);
    let top = "title = \"t\"\nphases = { load = \"1s\" }\n";
    assert_complaint(&format!("{top}[flow.a]\ncomponent = \"load\"\n"), "x.toml:3", &["flow.a.type: missing"]);
    assert_complaint(&format!("{top}[flow.a]\ntype = \"udp_probe\"\n"), "x.toml:3", &["flow.a.component: missing"]);
    let bulk = format!("{top}[flow.a]\ntype = \"bulk_tcp\"\ncomponent = \"load\"\n");
    assert_complaint(&bulk, "x.toml:3", &["flow.a.direction: missing", "each.direction"]);
}

#[test]
fn an_unknown_word_is_named_with_the_known_ones() {
    assert_complaint(&with_flow("class = \"EE\"\n"), "x.toml:6", &["flow.a.class", "unknown class \"EE\"; known: BE"]);
    assert_complaint(&with_flow("family = \"ipv5\"\n"), "x.toml:6", &["unknown family \"ipv5\"", "ipv4, ipv6"]);
    assert_complaint(
        &with_flow("during = [\"lode\"]\n"),
        "x.toml:6",
        &["unknown phase \"lode\"", "survey, idle, load, web, after"],
    );
    let top = "title = \"t\"\nphases = { load = \"1s\" }\n[flow.a]\n";
    assert_complaint(&format!("{top}type = \"udp\"\n"), "x.toml:4", &["unknown flow type \"udp\"", "udp_probe"]);
    let unknown_part = format!("{top}type = \"udp_probe\"\ncomponent = \"lode\"\n");
    assert_complaint(&unknown_part, "x.toml:5", &["unknown component \"lode\"", "load, realtime"]);
    let sideways = format!("{top}type = \"bulk_tcp\"\ncomponent = \"load\"\ndirection = \"left\"\n");
    assert_complaint(&sideways, "x.toml:6", &["unknown direction \"left\"", "up, down"]);
}

#[test]
fn a_value_of_the_wrong_kind_is_named() {
    assert_complaint(&with_flow("interval = \"20\"\n"), "x.toml:6", &["flow.a.interval", "\"20\"", "\"20ms\""]);
    assert_complaint(&with_flow("interval = 20\n"), "x.toml:6", &["flow.a.interval", "with its unit", "\"20ms\""]);
    assert_complaint(&with_flow("length = \"72\"\n"), "x.toml:6", &["flow.a.length", "is not a valid size"]);
    assert_complaint(&with_flow("length = 72\n"), "x.toml:6", &["flow.a.length", "with its unit", "\"200B\""]);
    assert_complaint(&with_flow("start = \"-1s\"\n"), "x.toml:6", &["flow.a.start", "a valid duration"]);
    assert_complaint(&with_flow("count = \"4\"\n"), "x.toml:6", &["flow.a.count", "from 1 to 64"]);
    assert_complaint(&with_flow("count_alone = 0\n"), "x.toml:6", &["flow.a.count_alone", "from 1 to 64"]);
    assert_complaint(&with_flow("enabled = 1\n"), "x.toml:6", &["flow.a.enabled", "true or false"]);
    assert_complaint(&with_flow("needs = \"url\"\n"), "x.toml:6", &["flow.a.needs", "no \"url\"", "interval"]);
    assert_complaint(&with_flow("each = 1\n"), "x.toml:6", &["flow.a.each", "must be a table"]);
    assert_complaint(&with_flow("class = 1979-05-27\n"), "x.toml:6", &["a date is not allowed here"]);
    let site = |url: &str| {
        let head =
            "title = \"t\"\nphases = { load = \"1s\" }\n[flow.a]\ntype = \"browser_page\"\ncomponent = \"web\"\n";
        format!("{head}url = \"{url}\"\n")
    };
    let long = format!("http://a/{}", "b".repeat(1500));
    for url in ["example.com", "ftp://example.com", "https://", "http://a b/", &long] {
        assert_complaint(&site(url), "x.toml:6", &["flow.a.url", "like https://example.com/"]);
    }
    let bulk = "title = \"t\"\nphases = { load = \"1s\" }\n[flow.a]\ntype = \"bulk_tcp\"\ncomponent = \"load\"\n";
    assert_complaint(
        &format!("{bulk}direction = \"up\"\npacing_rate = \"5MB/s\"\n"),
        "x.toml:7",
        &["is not a valid bit rate"],
    );
    assert_complaint(&format!("{bulk}direction = \"up\"\ncongestion_control = \"\"\n"), "x.toml:7", &["not be empty"]);
}

#[test]
fn what_would_be_passed_over_in_silence_is_an_error() {
    assert_complaint(&with_flow("each.class = []\n"), "x.toml:6", &["flow.a.each.class", "must not be empty"]);
    assert_complaint(&with_flow("each.interval = []\n"), "x.toml:6", &["flow.a.each.interval", "must not be empty"]);
    assert_complaint(&with_flow("direction = \"up\"\n"), "x.toml:6", &["udp_probe runs in both directions"]);
    assert_complaint(&with_flow("each.direction = [\"up\"]\n"), "x.toml:6", &["udp_probe runs in both directions"]);
    let twice = with_flow("interval = \"5ms\"\neach.interval = [\"5ms\", \"20ms\"]\n");
    assert_complaint(&twice, "x.toml:6", &["flow.a.interval", "conflicts with each.interval of x.toml:7"]);
}

#[test]
fn phases_with_a_gap_or_out_of_order_are_an_error() {
    for during in ["[]", "[\"idle\", \"after\"]", "[\"load\", \"idle\"]", "[\"load\", \"load\"]"] {
        assert_complaint(
            &with_flow(&format!("during = {during}\n")),
            "x.toml:6",
            &["flow.a.during", "follow each other"],
        );
    }
}

#[test]
fn a_short_name_for_nothing_is_an_error() {
    let text = with_flow("[parameters]\nn = [\"flow.b.count\"]\n");
    assert_complaint(&text, "x.toml:7", &["parameters.n", "no flow \"b\"; known: a"]);
    let text = with_flow("[parameters]\nn = [\"count\"]\n");
    assert_complaint(&text, "x.toml:7", &["parameters.n", "[\"flow.bulk.count\"]"]);
    let text = with_flow("[parameters]\nn = 5\n");
    assert_complaint(&text, "x.toml:7", &["parameters.n", "text in quotes"]);
}

#[test]
fn broken_toml_is_named_with_its_line() {
    assert_complaint("title = \"t\"\nphases = {\n\n", "x.toml:2", &[]);
    assert_complaint("title = \"t\"\ntitle = \"u\"\n", "x.toml:2", &["duplicate key"]);
}

#[test]
fn extending_in_a_cycle_or_nothing_is_an_error() {
    let others = [("a", "extends = \"b\"\n"), ("b", "extends = \"a\"\n")];
    let said = read_text("extends = \"a\"\n", &others, &[]).unwrap_err().to_string();
    assert!(said.contains("extends: ") && said.contains("cycle"), "{said}");
    let said = read_text("title = \"t\"\nextends = \"zzz\"\n", &[], &[]).unwrap_err().to_string();
    assert_eq!(said, "x.toml:2: extends: unknown plan \"zzz\"; see rrul list plans");
}

#[test]
fn a_mistake_in_the_extended_plan_is_named_in_its_own_file() {
    let said = read_text("extends = \"a\"\n", &[("a", "title = \"t\"\nfoo = 1\n")], &[]).unwrap_err().to_string();
    assert!(said.starts_with("a.toml:2: foo: unknown key"), "{said}");
}
