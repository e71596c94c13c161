//! Scores and page loads as people and other programs see them.

use std::collections::HashSet;

use crate::pages::scored;
use crate::synthetic::Made;
use rrul_analysis::Analysis;
use rrul_analysis::metrics::web::page_load::LoadOutcome;
use rrul_analysis::metrics::web::page_load_statistics::Spread;
use rrul_analysis::metrics::web::page_loads::{LoadFailure, PageLoads};
use rrul_model::observation::{BrowserTiming, WebObject};
use rrul_model::page::Page;
use rrul_model::units::Delay;
use rrul_view::exports::har::archive;
use rrul_view::{Style, text_equalizer, text_summary};
use serde_json::Value;

fn bloated() -> Analysis {
    scored(Made::pfifo().analysis(), &[900, 1000, 1100], &[5800, 6000, 6200, 6100])
}

fn managed() -> Analysis {
    scored(Made::fq_codel().analysis(), &[900, 1000, 1100], &[1050, 1150, 1200, 1100])
}

#[test]
fn the_summary_leads_with_the_score_and_a_sentence() {
    let text = text_summary(&bloated(), Style::Plain);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[2].starts_with("RRUL score 17 of 100"), "{}", lines[2]);
    assert!(lines[2].ends_with("a page takes 1.0 s idle and 6.0 s under load."), "{}", lines[2]);
    let sentence = "Under load: pages take 6.0 times as long; upload latency +";
    assert!(lines[3].starts_with(sentence), "{}", lines[3]);
}

#[test]
fn a_score_that_is_withheld_says_why_and_how_to_have_it() {
    let far = Made { base_ms: 120.0, ..Made::fq_codel() };
    let run = scored(far.analysis(), &[900], &[1000]);
    let text = text_summary(&run, Style::Plain);
    let line = text.lines().nth(2).unwrap();
    assert!(line.starts_with("RRUL score: none, the server is 120 ms away over IPv4"), "{line}");
    assert!(line.contains("--score-anyway") && !text.contains("\nScores\n"), "{text}");
    assert!(text_equalizer(&run, Style::Plain).starts_with("No equalizer: the server is 120 ms away"));
}

#[test]
fn without_pages_that_is_reported_and_the_rest_is_scored() {
    let mut run = managed();
    run.page_loads.clear();
    run.scores = rrul_analysis::scored::Scores::compute(&run, rrul_analysis::scored::Distance::AsSpecified);
    let text = text_summary(&run, Style::Plain);
    assert_eq!(text.lines().nth(2), Some("RRUL score: none, no page loaded both idle and under load."));
    assert!(text.contains(" of 60, not measured: web, slew"), "{text}");
}

/// The same with a favorite site, of which some loads failed.
fn with_site() -> Analysis {
    let mut run = bloated();
    let mut site = PageLoads {
        flow_type: "browser_page".to_owned(),
        page: "https://www.example.net/".to_owned(),
        ..run.page_loads[0].clone()
    };
    let spread = |ms: i64| {
        let time = Some(ms * 1_000_000);
        Spread { n: 3, never: 0, mean_ns: time, p50_ns: time, p95_ns: time }
    };
    if let (Some(idle), Some(loaded)) = (&mut site.unloaded, &mut site.loaded) {
        idle.first_byte = Some(spread(80));
        idle.first_contentful_paint = Some(spread(400));
        idle.largest_contentful_paint = Some(spread(650));
        loaded.first_byte = Some(Spread { never: 2, p50_ns: None, ..spread(90) });
        (loaded.failed, loaded.cut_short) = (2, 1);
    }
    site.failures = vec![LoadFailure { reason: "net::ERR_TIMED_OUT\u{1b}[31m".to_owned(), loads: 2 }];
    run.page_loads.push(site);
    run
}

#[test]
fn pages_are_reported_idle_and_loaded_with_what_failed_and_why() {
    let text = text_summary(&with_site(), Style::Plain);
    let section = text.split("\n\n").find(|section| section.starts_with("Page load time")).unwrap();
    let lines: Vec<&str> = section.lines().skip(1).collect();
    assert_eq!(
        lines,
        [
            "                                         load time  vs idle  TTFB P50  first paint P50  largest paint P50  loads  failed  cut off",
            "  rrul2025",
            "    idle                                     1.0 s                  –                –                  –      3       0        0",
            "    loaded                                   6.0 s     6.0x         –                –                  –      4       0        0",
            "  https://www.example.net/ in a browser",
            "    idle                                     1.0 s            80.0 ms           400 ms             650 ms      3       0        0",
            "    loaded                                   6.0 s     6.0x     never                –                  –      4       2        1",
            "  Under load, loads that failed or timed out count with their time limit.",
            "  https://www.example.net/ in a browser, 2 loads: net::ERR_TIMED_OUT [31m",
        ]
    );
    let mut without = with_site();
    without.page_loads.clear();
    assert!(!text_summary(&without, Style::Plain).contains("Page load time"));
}

#[test]
fn a_page_that_has_no_score_says_why_and_names_cannot_steer_the_terminal() {
    let mut run = bloated();
    let idle = run.page_loads[0].unloaded.as_mut().unwrap();
    (idle.complete, idle.failed, idle.whole) = (0, 3, Vec::new());
    "\u{1b}[2J".clone_into(&mut run.page_loads[0].page);
    run.scores = rrul_analysis::scored::Scores::compute(&run, rrul_analysis::scored::Distance::AsSpecified);
    let text = text_summary(&run, Style::Plain);
    let expected = "RRUL score: none.  [2J, BE, ipv4: 3 of 3 loads on the idle line failed or timed out.";
    assert_eq!(text.lines().nth(2), Some(expected));
    assert!(!text.contains('\u{1b}'));
}

/// The blocks of the row with this name.
fn row(text: &str, name: &str) -> Vec<char> {
    let line =
        text.lines().find(|line| line.trim_start().starts_with(name)).unwrap_or_else(|| panic!("{name} in {text}"));
    line.trim_start()[name.len()..].trim_start().chars().collect()
}

#[test]
fn the_equalizer_is_full_on_the_idle_line_and_empties_under_load() {
    let text = text_equalizer(&bloated(), Style::Plain);
    assert!(!text.contains('\u{1b}'), "no color was asked for");
    let delay = row(&text, "BE IPv4 delay");
    assert_eq!(delay.len(), 70, "{text}");
    assert!(delay[..5].iter().all(|block| *block == '█'), "{text}");
    assert!(delay[20..60].iter().all(|block| *block <= '▃'), "{text}");
    let managed = text_equalizer(&managed(), Style::Plain);
    assert!(row(&managed, "BE IPv4 delay")[20..60].iter().all(|block| *block >= '▇'), "{managed}");
    assert!(text.lines().nth(1).is_some_and(|line| line.contains("─ load ─")), "{text}");
    assert!(text.lines().all(|line| line.chars().count() < 120), "{text}");
}

#[test]
fn color_only_where_it_is_asked_for_and_the_blocks_stay_the_same() {
    let (plain, ansi) = (text_equalizer(&bloated(), Style::Plain), text_equalizer(&bloated(), Style::Ansi));
    assert!(ansi.contains("\u{1b}[32m█") && ansi.contains("\u{1b}[31m"));
    let stripped = ["\u{1b}[1m", "\u{1b}[31m", "\u{1b}[32m", "\u{1b}[33m", "\u{1b}[0m"];
    let stripped = stripped.into_iter().fold(ansi, |text, code| text.replace(code, ""));
    assert_eq!(stripped, plain);
}

fn member<'a>(value: &'a Value, name: &str) -> &'a Value {
    value.get(name).unwrap_or_else(|| panic!("{name} is missing in {value}"))
}

#[test]
fn the_archive_has_what_har_1_2_requires() {
    let archive = serde_json::to_value(archive(&bloated())).unwrap();
    let log = member(&archive, "log");
    assert_eq!(member(log, "version"), "1.2");
    member(member(log, "creator"), "version");
    let pages = member(log, "pages").as_array().unwrap();
    assert_eq!(pages.len(), 7);
    for page in pages {
        for name in ["startedDateTime", "id", "title"] {
            assert!(member(page, name).is_string());
        }
        assert!(member(member(page, "pageTimings"), "onLoad").as_f64().unwrap() > 0.0);
    }
    let ids: HashSet<&str> = pages.iter().map(|page| page["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), pages.len(), "each once");
    let entries = member(log, "entries").as_array().unwrap();
    assert_eq!(entries.len(), 3 * pages.len());
    for entry in entries {
        assert!(ids.contains(member(entry, "pageref").as_str().unwrap()));
        assert!(member(entry, "cache").is_object());
        let request = member(entry, "request");
        for name in ["method", "url", "httpVersion", "cookies", "headers", "queryString", "headersSize", "bodySize"] {
            member(request, name);
        }
        let response = member(entry, "response");
        for name in
            ["status", "statusText", "httpVersion", "cookies", "headers", "redirectURL", "headersSize", "bodySize"]
        {
            member(response, name);
        }
        for name in ["size", "mimeType"] {
            member(member(response, "content"), name);
        }
        let timings = member(entry, "timings");
        let time = |name: &str| member(timings, name).as_f64().unwrap();
        for name in ["send", "wait", "receive"] {
            assert!(time(name) >= 0.0, "{name} is never missing: {timings}");
        }
        let parts = ["blocked", "dns", "connect", "send", "wait", "receive"].map(time);
        let sum: f64 = parts.iter().filter(|part| **part >= 0.0).sum();
        assert!((sum - member(entry, "time").as_f64().unwrap()).abs() < 1e-6, "{entry}");
        assert!(time("ssl") < 0.0 || time("ssl") <= time("connect"), "TLS is within connect: {timings}");
    }
}

#[test]
fn the_archive_has_the_addresses_and_the_paints_of_a_browser() {
    let mut run = with_site();
    let load = &mut run.page_loads[1].series[0];
    load.addresses =
        [(0, "https://www.example.net/".to_owned()), (1, "https://cdn.example.net/a.css?b".to_owned())].into();
    let ms = |ms: i64| Delay(ms * 1_000_000);
    load.timing = Some(BrowserTiming {
        flow: load.flow.id,
        load: load.number,
        first_byte: ms(80),
        commit: ms(90),
        first_contentful_paint: ms(400),
        largest_contentful_paint: WebObject::NONE,
        dom_content_loaded: ms(700),
        load_event: ms(900),
    });
    (load.outcome, load.failure) = (LoadOutcome::Failed, Some("HTTP status 500".to_owned()));
    let refresh = WebObject { object: Page::REFRESH + 1, ..load.objects[0] };
    run.page_loads[0].series[0].refreshes.push(refresh);
    let archive = serde_json::to_value(archive(&run)).unwrap();
    let log = &archive["log"];
    let urls: Vec<&str> =
        log["entries"].as_array().unwrap().iter().map(|e| e["request"]["url"].as_str().unwrap()).collect();
    assert_eq!(urls[3], "https://api/rrul2025/refresh");
    let site: Vec<&&str> = urls.iter().filter(|url| url.contains("example.net")).take(3).collect();
    let expected = ["https://www.example.net/", "https://www.example.net/#2", "https://cdn.example.net/a.css?b"];
    assert!(site.iter().zip(expected).all(|(found, expected)| **found == expected), "{site:?}");
    let page = &log["pages"].as_array().unwrap()[7];
    assert_eq!(page["pageTimings"]["_firstContentfulPaint"], 400.0);
    assert_eq!(page["pageTimings"]["_largestContentfulPaint"], Value::Null, "it never was");
    assert!(page["comment"].as_str().unwrap().ends_with("failed: HTTP status 500"), "{page}");
    assert!(log["pages"][0]["pageTimings"].get("_firstContentfulPaint").is_none(), "no browser");
}

#[test]
fn what_did_not_occur_is_minus_one_in_the_archive_and_dates_follow_the_test() {
    let archive = serde_json::to_value(archive(&bloated())).unwrap();
    let entries = archive["log"]["entries"].as_array().unwrap();
    let [document, refused, reused] = &entries[..3] else { panic!("three objects") };
    assert_eq!(document["request"]["url"], "https://www/rrul2025/0");
    assert_eq!(
        (&document["timings"]["blocked"], &document["timings"]["ssl"]),
        (&Value::from(-1.0), &Value::from(90.0))
    );
    assert_eq!(document["timings"]["connect"], 180.0, "TLS is reported within connect, too");
    for name in ["dns", "connect", "ssl"] {
        assert_eq!(reused["timings"][name], -1.0, "{name} over a connection that was there");
    }
    assert_eq!((&refused["response"]["status"], &refused["timings"]["wait"]), (&Value::from(0), &Value::from(0.0)));
    // The test began at 18:51:06.306; the second object is wanted 450 ms after that.
    assert_eq!(document["startedDateTime"], "2026-11-21T18:51:06.306Z");
    assert_eq!(reused["startedDateTime"], "2026-11-21T18:51:06.756Z");
}
