//! The outcome of tuning sessions in words and as charts, of results that are made up.

use std::path::Path;

use rrul_analysis::Analysis;
use rrul_analysis::by_direction::ByDirection;
use rrul_analysis::measured::{Measured, TestDescription};
use rrul_analysis::tuning::result::{
    Burst, Capacity, Caution, Chosen, Discarded, JudgedTrial, Outcome, ParetoPoint, Policer, Refusal, TunedDirection,
    TuningResult, Unfinished, UnshapedLine, VaryingRate, Verdict,
};
use rrul_analysis::tuning::trial::{HostLimit, QueueHop, Trial, TrialDelay, TrialDirection};
use rrul_model::flow::Direction;
use rrul_model::observation::ObservationPoint;
use rrul_model::shaping::{ShaperDescription, ShaperRates, StepPurpose, TuningPlan, TuningStep};
use rrul_model::time::TestTime;
use rrul_model::units::{BitRate, ByteCount, Delay};
use rrul_view::{Style, Theme, Topic, chart_named, png, short_summary, svg, text_sections};
use unicode_width::UnicodeWidthStr;

use crate::planes::{THEME, drawn};
use crate::synthetic::nothing;

fn mbit(rate: f64) -> BitRate {
    BitRate((rate * 1e6) as u64)
}

fn ms(delay: f64) -> Delay {
    Delay((delay * 1e6) as i64)
}

fn delay(p95: f64) -> TrialDelay {
    TrialDelay {
        n: 400,
        p50: ms(p95 * 0.6),
        p95: ms(p95),
        p99: ms(p95 * 1.3),
        p95_low: ms(p95 * 0.8),
        p95_high: ms(p95 * 1.25),
    }
}

fn measured(delivered: f64, p95: f64) -> TrialDirection {
    TrialDirection {
        delivered: Some(mbit(delivered)),
        goodput: Some(mbit(delivered * 0.95)),
        queueing_delay: Some(delay(p95)),
        probe_loss: Some(0.0),
        saturated: Some(true),
        ..TrialDirection::default()
    }
}

/// What a line of this capacity delivers of a rate, Mbit/s, and the delay that remains, ms.
fn line(set: Option<f64>, capacity: f64, bloat: f64) -> (f64, f64) {
    match set {
        Some(set) if set <= capacity => (set * 0.99, 1.8 + 0.4 * (set / capacity)),
        Some(set) if set < capacity * 1.02 => (capacity, 0.3 * bloat),
        _ => (capacity, bloat),
    }
}

const DOWN: f64 = 20.0;
const UP: f64 = 8.0;

struct Steps(Vec<JudgedTrial>);

impl Steps {
    fn add(&mut self, purpose: StepPurpose, direction: Option<Direction>, down: Option<f64>, up: Option<f64>) {
        let number = self.0.len() as u32;
        let at = |seconds: i64| TestTime(seconds * 1_000_000_000);
        let begin = 8 + i64::from(number) * 12;
        let step = TuningStep {
            number,
            purpose,
            direction,
            rates: ShaperRates { down: down.map(mbit), up: up.map(mbit) },
            set_at: at(begin),
            settled_at: at(begin + 2),
            ended_at: at(begin + 10),
            counters: None,
        };
        let of = |set: Option<f64>, capacity: f64, bloat: f64| {
            let (delivered, p95) = line(set, capacity, bloat);
            let holds = set.is_some_and(|set| set <= capacity);
            (measured(delivered, p95), if holds { Verdict::ShaperHolds } else { Verdict::LineHolds })
        };
        let ((up, up_verdict), (down, down_verdict)) = (of(up, UP, 310.0), of(down, DOWN, 152.0));
        let judged = |way, verdict| Some(verdict).filter(|_| direction.is_none_or(|only| only == way));
        self.0.push(JudgedTrial {
            trial: Trial { step, directions: ByDirection { up, down }, host_limit: None, stolen_from: None },
            verdicts: ByDirection {
                up: judged(Direction::Up, up_verdict),
                down: judged(Direction::Down, down_verdict),
            },
            discarded: None,
        });
    }
}

fn steps() -> Vec<JudgedTrial> {
    let (up, down) = (Some(Direction::Up), Some(Direction::Down));
    let mut steps = Steps(Vec::new());
    steps.add(StepPurpose::Reference, None, None, None);
    steps.add(StepPurpose::Knob, up, None, Some(4.0));
    steps.add(StepPurpose::Knob, down, Some(10.0), None);
    for rate in [7.6, 8.2, 7.9, 8.05] {
        steps.add(StepPurpose::Search, up, None, Some(rate));
    }
    for rate in [19.0, 20.6, 19.8, 20.2] {
        steps.add(StepPurpose::Search, down, Some(rate), Some(7.9));
    }
    steps.add(StepPurpose::Joint, None, Some(19.8), Some(7.9));
    steps.0[4].discarded = Some(Discarded::OtherTraffic);
    steps.0
}

fn tuned(rate: f64, capacity: f64, bloat: f64) -> TunedDirection {
    TunedDirection {
        limit: Some(ms(5.0)),
        chosen: Some(Chosen {
            rate: mbit(rate),
            trial: 11,
            delivered: mbit(rate * 0.99),
            p95: ms(2.2),
            cost: ((capacity - rate * 0.99) * 1e6) as i64,
            gain: ms(bloat - 2.2),
        }),
        capacity: Some(Capacity { median: mbit(capacity), low: mbit(capacity * 0.992), high: mbit(capacity * 1.008) }),
        unshaped: Some(UnshapedLine { delivered: mbit(capacity), p50: ms(bloat * 0.9), p95: ms(bloat) }),
        varying: None,
        burst: None,
        policer: None,
        pareto: vec![ParetoPoint { trial: 11, set: Some(mbit(rate)), delivered: mbit(rate * 0.99), p95: ms(2.2) }],
    }
}

fn recommended() -> TuningResult {
    let shaper = ShaperDescription {
        driver: "openwrt".to_owned(),
        target: "root@192.168.1.1: up wan, down ifb4wan".to_owned(),
        section: Some("wan".to_owned()),
        down_discipline: Some("cake besteffort".to_owned()),
        up_discipline: Some("cake diffserv4".to_owned()),
        found: Some(ShaperRates { down: Some(mbit(15.0)), up: None }),
        ..ShaperDescription::default()
    };
    TuningResult {
        outcome: Outcome::Recommended,
        recommended: ShaperRates { down: Some(mbit(19.8)), up: Some(mbit(7.9)) },
        directions: ByDirection { up: Some(tuned(7.9, UP, 310.0)), down: Some(tuned(19.8, DOWN, 152.0)) },
        trials: steps(),
        took: ms(152_000.0),
        data: ByteCount(412_000_000),
        ..TuningResult::new(&TuningPlan::new(shaper), &[], ByteCount(0))
    }
}

/// Nothing recommended in either direction.
fn without_choice(outcome: Outcome) -> TuningResult {
    let mut result = TuningResult { outcome, recommended: ShaperRates::UNSHAPED, ..recommended() };
    for direction in Direction::ALL {
        if let Some(tuned) = result.directions.get_mut(direction) {
            tuned.chosen = None;
        }
    }
    result
}

fn run(result: TuningResult) -> Analysis {
    let test = TestDescription {
        plan: "tune".to_owned(),
        server: "netperf.example.net".to_owned(),
        created: "2026-11-21T18:51:06.306Z".to_owned(),
        ..TestDescription::default()
    };
    Analysis { measured: Measured { test, ..nothing().measured }, tuning_result: Some(result), ..Analysis::default() }
}

fn summary(result: TuningResult) -> String {
    let text = short_summary(&run(result), "home.rrul", Style::Plain);
    assert!(text.lines().count() <= 24, "{} lines:\n{text}", text.lines().count());
    for line in text.lines() {
        assert!(line.width() <= 80, "{} columns: {line}", line.width());
    }
    text
}

/// Compares with `tests/golden/NAME`; `RRUL_GOLDEN=write` writes it instead.
fn assert_golden(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("RRUL_GOLDEN").is_some_and(|value| value == "write") {
        std::fs::write(&path, text).expect("the folder of golden files can be written");
    }
    let golden = std::fs::read_to_string(&path).expect("the golden file is there");
    assert_eq!(text, golden, "{name} differs; if the new text is right, run this test with RRUL_GOLDEN=write");
}

#[test]
fn the_recommended_rates_have_their_cost_their_gain_and_lines_to_paste() {
    let text = summary(recommended());
    for line in [
        "uci set sqm.wan.download=19800",
        "tc qdisc change dev ifb4wan root cake bandwidth 19800kbit",
        "max-limit=7900k/19800k",
        "{\"pipe\":{\"bandwidth\":\"19800\",\"bandwidthMetric\":\"Kbit\"}} (down)",
    ] {
        assert!(text.contains(line), "{line} is missing:\n{text}");
    }
    assert_golden("tune_recommended.txt", &text);
}

#[test]
fn lines_for_openwrt_name_the_section_that_was_tuned() {
    let lines = |driver: &str, section: Option<&str>| {
        let mut result = recommended();
        result.shaper.driver = driver.to_owned();
        result.shaper.section = section.map(str::to_owned);
        summary(result)
    };
    for (driver, section, line) in [
        ("openwrt", Some("@queue[1]"), "uci set sqm.@queue[1].download=19800"),
        ("openwrt", None, "uci set sqm.SECTION.download=19800"),
        ("tc", None, "uci set sqm.@queue[0].download=19800"),
    ] {
        let text = lines(driver, section);
        assert!(text.contains(line), "{line} is missing:\n{text}");
    }
}

#[test]
fn text_of_a_recording_does_not_become_a_command_to_paste() {
    let text = |target: &str, section: &str| {
        let mut result = recommended();
        result.shaper.target = target.to_owned();
        result.shaper.section = Some(section.to_owned());
        let sections = text_sections(&run(result.clone()), &[Topic::named("tuning").unwrap()], Style::Plain);
        summary(result) + &sections
    };
    let plain = text("here: up br-lan.2, down ifb4eth0@if:7", "wan_2");
    for line in ["dev br-lan.2 root", "dev ifb4eth0@if:7 root", "uci set sqm.wan_2.upload="] {
        assert!(plain.contains(line), "{line} is missing:\n{plain}");
    }
    let words = [
        "a;EVIL",
        "`EVIL`",
        "$(EVIL)",
        "|EVIL",
        "&EVIL",
        ">EVIL",
        "-EVIL",
        "\u{1b}[2JEVIL",
        "EVIL\nEVIL",
        "EVIL-sixteen-byte",
    ];
    for word in words {
        let section = format!("@queue[0].x=1;{word}");
        let text = text(&format!("here: up {word}, down {word}"), &section);
        let lines = text.lines().filter(|line| line.contains("tc qdisc") || line.contains("uci set"));
        for line in lines {
            assert!(!line.contains("EVIL") && !line.contains('\u{1b}'), "{word:?}: {line:?}");
        }
        for line in ["dev WAN root", "dev IFB root", "uci set sqm.SECTION.upload="] {
            assert!(text.contains(line), "{word:?}: {line} is missing:\n{text}");
        }
    }
}

#[test]
fn what_is_found_beside_the_rates_is_named_and_the_screen_is_not_left() {
    let mut result = recommended();
    if let Some(down) = &mut result.directions.down {
        down.burst = Some(Burst { rate: mbit(60.0), lasted: ms(8_000.0), excess: ByteCount(40_000_000) });
    }
    if let Some(up) = &mut result.directions.up {
        up.policer = Some(Policer { rate: mbit(8.0), bucket: Some(ByteCount(125_000)) });
    }
    result.cautions = vec![
        Caution::OtherTraffic { direction: Direction::Up, trials: 1 },
        Caution::RandomLoss { direction: Direction::Down, loss: 0.004 },
        Caution::NearLimit { direction: Direction::Down, percentile: 95, delay: ms(8.9) },
        Caution::Stolen { direction: Direction::Up, trials: 2 },
        Caution::BusyProcessors { host: ObservationPoint::Client, trials: 5 },
    ];
    assert_golden("tune_findings.txt", &summary(result.clone()));
    result.trials[4].discarded = Some(Discarded::Stolen);
    result.trials[4].trial.stolen_from = Some(ObservationPoint::Client);
    let section = text_sections(&run(result), &[Topic::named("tuning").unwrap()], Style::Plain);
    assert_golden("tune_findings_section.txt", &section);
}

#[test]
fn one_direction_that_needs_no_shaper_is_not_set() {
    let mut result = recommended();
    result.recommended.down = None;
    if let Some(down) = &mut result.directions.down {
        down.chosen = None;
        down.unshaped = Some(UnshapedLine { delivered: mbit(20.0), p50: ms(1.0), p95: ms(3.1) });
    }
    result.cautions = vec![Caution::AlreadyManaged { direction: Direction::Down }];
    result.shaper.driver = "tc".to_owned();
    result.shaper.up_discipline = Some("htb".to_owned());
    let text = summary(result);
    assert!(text.contains("max-limit=7900k/15000k"), "the download keeps what it had: {text}");
    assert_golden("tune_one_direction.txt", &text);
}

#[test]
fn a_line_that_sets_both_directions_is_left_out_while_one_is_unknown() {
    let mut result = recommended();
    result.recommended.down = None;
    for found in [Some(ShaperRates::UNSHAPED), None] {
        result.shaper.found = found;
        let text = summary(result.clone());
        assert!(text.contains("uci set sqm.wan.upload=7900") && !text.contains("max-limit"), "{text}");
        assert_eq!(text.contains("unshaped → 7.90 Mbit/s"), found.is_some(), "{text}");
    }
}

#[test]
fn only_cake_has_lines_for_linux() {
    for (discipline, is_cake) in [
        (Some("cake diffserv4"), true),
        (None, true),
        (Some("htb with fq_codel, classes 33.3-100.0 66.7-100.0 %"), false),
        (Some("tbf"), false),
    ] {
        let mut result = recommended();
        result.shaper.driver = "tc".to_owned();
        result.shaper.up_discipline = discipline.map(str::to_owned);
        let text = summary(result);
        assert_eq!(text.contains("tc qdisc change dev wan root cake bandwidth 7900kbit"), is_cake, "{text}");
        assert!(text.contains("tc qdisc change dev ifb4wan root cake bandwidth 19800kbit"), "{text}");
        assert!(!text.contains("tc class change"), "{text}");
    }
}

#[test]
fn a_line_that_varies_gets_limits_for_autorate() {
    let mut result = without_choice(Outcome::Varies);
    let varying = |scale: f64| VaryingRate { p10: mbit(scale * 0.4), p50: mbit(scale * 0.75), p90: mbit(scale * 1.05) };
    for (direction, scale) in [(Direction::Down, DOWN), (Direction::Up, UP)] {
        if let Some(tuned) = result.directions.get_mut(direction) {
            tuned.varying = Some(varying(scale));
            tuned.capacity = None;
        }
    }
    let text = summary(result);
    assert!(text.contains("base_dl_shaper_rate_kbps=15000 base_ul_shaper_rate_kbps=6000"), "{text}");
    assert_golden("tune_varies.txt", &text);
}

#[test]
fn nothing_to_gain_is_an_answer() {
    let mut result = without_choice(Outcome::NothingToGain);
    for direction in Direction::ALL {
        if let Some(tuned) = result.directions.get_mut(direction) {
            tuned.unshaped = Some(UnshapedLine { delivered: mbit(UP), p50: ms(1.2), p95: ms(2.8) });
        }
    }
    assert_golden("tune_nothing_to_gain.txt", &summary(result.clone()));
    // The line has become faster than the shaper that was set for it.
    result.shaper.found = Some(ShaperRates { down: Some(mbit(UP / 2.0)), up: Some(mbit(UP)) });
    let said = summary(result).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("the shaper keeps the download at") && said.contains("raise its rate"), "{said}");
}

#[test]
fn each_refusal_says_what_the_figures_and_what_to_do() {
    let (direction, set, delivered, limit) = (Direction::Down, mbit(10.0), mbit(19.5), ms(5.0));
    let hop = QueueHop { hop: 1, address: "192.168.1.1".parse().ok(), before_shaper: true };
    let refusals = [
        Refusal::DirectionsSwapped { direction, set, delivered, other: mbit(7.7) },
        Refusal::NotInPath { direction, set, delivered },
        Refusal::CountedTwice { direction, set, delivered: mbit(4.9) },
        Refusal::QueueElsewhere { direction, set: Some(set), p95: ms(80.0), limit, hop: Some(hop) },
        Refusal::QueueElsewhere { direction, set: None, p95: ms(80.0), limit, hop: None },
        Refusal::LossLimited { direction, delivered: mbit(2.1), loss: 0.013 },
        Refusal::HostLimited {
            direction,
            set: Some(set),
            delivered: mbit(8.0),
            limit: Some(HostLimit::RouterProcessor),
        },
        Refusal::HostLimited { direction, set: None, delivered: mbit(8.0), limit: None },
        Refusal::HostLimited { direction, set: None, delivered: mbit(8.0), limit: Some(HostLimit::ServerQuota) },
        Refusal::NotMeasured { direction },
        Refusal::Disturbed { direction },
        Refusal::NoRatePasses { direction, set: mbit(1.0), percentile: 99, delay: ms(9.3), limit },
    ];
    let told: Vec<String> = refusals
        .into_iter()
        .map(|refusal| {
            let acts = !matches!(refusal, Refusal::DirectionsSwapped { .. } | Refusal::NotInPath { .. });
            let text = summary(without_choice(Outcome::Refused { refusal }));
            assert_eq!(text.contains("Limit of the queueing delay"), acts, "{text}");
            let lines: Vec<&str> = text.lines().skip(2).take_while(|line| !line.is_empty()).collect();
            lines.join("\n") + "\n"
        })
        .collect();
    assert!(told.iter().all(|text| text.starts_with("No recommendation. ")), "{told:?}");
    assert_golden("tune_refusals.txt", &told.join("\n"));
}

#[test]
fn a_session_that_ended_early_says_what_ended_it() {
    for (reason, word) in [
        (Unfinished::Trials, "used up its trials"),
        (Unfinished::Time, "--max-time"),
        (Unfinished::Data, "--max-data"),
        (Unfinished::Interrupted, "interrupted"),
    ] {
        let text = summary(without_choice(Outcome::Unfinished { reason }));
        assert!(text.contains(word) && !text.contains("uci set"), "{text}");
    }
    let mut result = without_choice(Outcome::Unfinished { reason: Unfinished::Trials });
    result.cautions.push(Caution::Stolen { direction: Direction::Down, trials: 4 });
    let text = summary(result);
    assert!(text.contains("No recommendation. A hypervisor took processor time"), "{text}");
}

#[test]
fn a_sweep_lists_its_settings() {
    let mut result = without_choice(Outcome::Measured);
    result.directions = ByDirection::default();
    let mut steps = Steps(Vec::new());
    for rate in [4.0, 5.0, 6.0, 7.0, 8.0, 9.0] {
        steps.add(StepPurpose::Fixed, None, None, Some(rate));
    }
    result.trials = steps.0;
    assert_golden("tune_sweep.txt", &summary(result));
}

#[test]
fn the_section_has_every_trial() {
    let text = text_sections(&run(recommended()), &[Topic::named("tuning").unwrap()], Style::Plain);
    assert_golden("tune_section.txt", &text);
    for number in 1..=12 {
        assert!(
            text.lines().any(|line| line.trim_start().starts_with(&format!("{number} "))),
            "trial {number}:\n{text}"
        );
    }
}

/// Writes the chart where `RRUL_PICTURES` says, for people who look at it.
fn picture(name: &str, chart: &str, runs: &[&Analysis], theme: &Theme) {
    let Some(folder) = std::env::var_os("RRUL_PICTURES") else { return };
    let chart = chart_named(chart).expect("the chart is on the shelf");
    let drawing = svg(chart, runs, theme).expect("it takes so many runs");
    let path = Path::new(&folder).join(format!("{name}.png"));
    std::fs::write(path, png(&drawing, 1.0).expect("it can be drawn")).expect("the folder can be written");
}

#[test]
fn every_trial_is_drawn_and_the_recommended_one_is_ringed() {
    let run = run(recommended());
    picture("tune", "tune", &[&run], &Theme::LIGHT);
    picture("tune_dark", "tune", &[&run], &Theme::DARK);
    let drawing = drawn("tune", &[&run]);
    for words in [
        "Set download to 19.8 Mbit/s and upload to 7.90 Mbit/s.",
        "falls from 310 ms to 2.2 ms",
        "queue in the shaper",
        "queue on the line",
        "unshaped",
        "limit 5.0 ms",
        "set to 7.90 Mbit/s, 2.2 ms at P95",
    ] {
        assert!(drawing.says(words), "{words:?} is not in {:?}", drawing.words());
    }
    // Upload has the reference, one step of knobs, four of the search and the joint one, of which one was discarded; each is
    // in both panels, and the ringed one has a point of the same color within its ring. Download has as many.
    let points = |colour: &str| drawing.fills.iter().filter(|(fill, at)| fill == colour && at.0 < 706.0).count();
    assert_eq!(points(THEME.ink), 4, "a ring in each panel");
    assert_eq!(points(THEME.signaling), 2 * (3 + 2), "{:?}", drawing.fills);
    assert_eq!(points(THEME.best_effort), 2 * (4 + 4) + 4);
}

#[test]
fn a_point_is_where_its_rates_put_it() {
    let run = run(recommended());
    let drawing = drawn("tune", &[&run]);
    let ring: Vec<(f64, f64)> =
        drawing.fills.iter().filter(|(fill, at)| fill == THEME.ink && at.0 < 706.0).map(|(_, at)| *at).collect();
    let lowest = ring.iter().copied().fold((0.0, 0.0), |a: (f64, f64), b| if b.1 > a.1 { b } else { a });
    let rate = crate::planes::across(&drawing, (66.0, 640.0), lowest, false);
    assert!((rate - 7.9).abs() < 0.05, "the recommended upload is drawn at {rate}");
}

#[test]
fn a_run_without_a_shaper_has_no_such_chart_and_one_without_trials_says_so() {
    assert!(drawn("tune", &[&nothing()]).says("No shaper was set in this run"));
    let mut empty = without_choice(Outcome::Refused { refusal: Refusal::NotMeasured { direction: Direction::Up } });
    empty.trials.clear();
    empty.directions = ByDirection::default();
    assert!(drawn("tune", &[&run(empty)]).says("No trial was measured to its end"));
}

#[test]
fn the_front_joins_the_settings_that_no_other_beats() {
    let run = run(recommended());
    picture("pareto", "pareto", &[&run], &Theme::LIGHT);
    let drawing = drawn("pareto", &[&run]);
    for words in ["On the front", "7.90 Mbit/s", "recommended"] {
        assert!(drawing.says(words), "{words:?} is not in {:?}", drawing.words());
    }
    assert!(drawn("pareto", &[&nothing()]).says("Nothing to draw"));
}
