//! Runs against each other: synthetic ones whose difference is known, and scenarios.

use rrul_analysis::comparison::Comparison;
use rrul_analysis::comparison::difference::{Bound, Difference, Why};
use rrul_analysis::comparison::finding::Finding;
use rrul_analysis::comparison::group::GroupKey;
use rrul_analysis::comparison::metric::{Better, ComparedMetric, Quantity};
use rrul_analysis::comparison::run::ComparedRun;
use rrul_analysis::comparison::span::Basis;
use rrul_analysis::comparison::workload::Workload;
use rrul_analysis::metrics::rate::goodput::DirectionGoodput;
use rrul_model::flow::AddressFamily;
use rrul_model::random::Random;
use rrul_model::recording::Recording;
use rrul_model::time::{TestTime, Window};

use crate::builder::{SECOND, Scenario};
use crate::made_runs::{MADE, Made, normal};
use crate::summary::check;

fn pair_of(first: Made, second: Made) -> Comparison {
    Comparison::new(vec![first.run("a.rrul"), second.run("b.rrul")], None)
}

fn found(comparison: &Comparison, metric: ComparedMetric) -> &Difference {
    comparison.pairs[0].metric(metric).unwrap()
}

fn verdicts(comparison: &Comparison) -> Vec<Finding> {
    comparison.pairs[0].metrics.iter().map(|found| found.verdict).collect()
}

#[test]
fn a_run_against_itself_is_the_same_in_everything_and_its_factors_are_one() {
    let comparison = pair_of(MADE, MADE);
    for found in &comparison.pairs[0].metrics {
        assert!(matches!(found.verdict, Finding::Same | Finding::NotMeasured), "{found:?}");
        let is_one = |factor: f64| (factor - 1.0).abs() < 1e-12;
        assert!(
            found.factor.is_none_or(|factor| is_one(factor.value) && factor.ci95_low.is_some_and(is_one)),
            "{found:?}"
        );
    }
    assert_eq!(verdicts(&comparison).iter().filter(|verdict| **verdict == Finding::Same).count(), 7);
    assert_eq!(comparison.notes, ["a.rrul and b.rrul: the same recording"]);
    let overall = comparison.pairs[0].overall;
    assert_eq!((overall.delay, overall.download, overall.upload), (Finding::Same, Finding::Same, Finding::NotMeasured));
}

#[test]
fn a_whole_recording_against_itself_is_the_same_in_everything() {
    let recording = Scenario::healthy().recording;
    let run = || ComparedRun::from_recording("x.rrul", &recording, &rrul_analysis::analyze(&recording));
    let comparison = Comparison::new(vec![run(), run()], None);
    let verdicts = verdicts(&comparison);
    assert!(verdicts.iter().all(|verdict| matches!(verdict, Finding::Same | Finding::NotMeasured)), "{verdicts:?}");
    assert!(verdicts.iter().filter(|verdict| **verdict == Finding::Same).count() >= 8, "{verdicts:?}");
}

#[test]
fn a_managed_queue_is_better_by_the_factor_that_it_was_made_with() {
    let comparison = pair_of(
        Made { loaded_ms: 220.0, ..MADE },
        Made { seed: 2, loaded_ms: 28.0, spread_ms: 1.0, down_mbit: 21.5, ..MADE },
    );
    let added = found(&comparison, ComparedMetric::AddedDelayP50);
    let factor = added.factor.unwrap();
    assert_eq!((added.verdict, added.basis, factor.bound), (Finding::Better, Some(Basis::OneRun), None));
    // 200 ms against 8 ms: the specification's own 25 times.
    assert!((factor.value - 25.0).abs() < 1.5, "{factor:?}");
    assert!(factor.ci95_low.unwrap() > 22.0 && factor.ci95_high.unwrap() < 28.0, "{factor:?}");
    assert!((added.difference.unwrap() / 1e6 + 192.0).abs() < 3.0, "{added:?}");
    assert_eq!(found(&comparison, ComparedMetric::Download).verdict, Finding::Better);
    assert_eq!(found(&comparison, ComparedMetric::Upload).why, Some(Why::Nowhere));
    assert_eq!(comparison.pairs[0].overall.delay, Finding::Better);
}

#[test]
fn no_factor_divides_by_what_cannot_be_distinguished_from_none() {
    let without = Made { loaded_ms: 20.0, spread_ms: 0.2, ..MADE };
    let comparison = pair_of(Made { loaded_ms: 220.0, ..MADE }, Made { seed: 5, ..without });
    let factor = found(&comparison, ComparedMetric::AddedDelayP50).factor.unwrap();
    assert_eq!(factor.bound, Some(Bound::AtLeast));
    // 200 ms over 0.1 ms.
    assert!((factor.value - 2000.0).abs() < 50.0, "{factor:?}");
    let comparison = pair_of(Made { seed: 6, ..without }, Made { seed: 5, ..without });
    let factor = found(&comparison, ComparedMetric::AddedDelayP50).factor.unwrap();
    assert!(factor.bound == Some(Bound::BothNone) && (factor.value - 1.0).abs() < 1e-9, "{factor:?}");
}

#[test]
fn a_short_stretch_still_shows_what_is_far_apart_and_nothing_else() {
    let of = |made: Made, seconds: i64| {
        let mut analysis = made.analysis();
        let to = TestTime(70 * SECOND);
        analysis.scored.common = Some(Window { from: TestTime((70 - seconds) * SECOND), to });
        ComparedRun::new("x.rrul", Workload::default(), &analysis)
    };
    let compared = |other: Made, seconds: i64| {
        let comparison =
            Comparison::new(vec![of(Made { loaded_ms: 620.0, ..MADE }, seconds), of(other, seconds)], None);
        found(&comparison, ComparedMetric::LoadedDelayP50).clone()
    };
    // Four round trips are 2.5 s.
    let (far, near) = (Made { seed: 2, ..MADE }, Made { seed: 2, loaded_ms: 618.0, ..MADE });
    assert_eq!(compared(far, 5).verdict, Finding::Better);
    assert!(matches!(compared(near, 5).verdict, Finding::Same | Finding::Inconclusive));
    assert_eq!(compared(far, 2).why, Some(Why::NoInterval));
}

#[test]
fn to_swap_the_sides_swaps_the_verdicts_and_turns_differences_and_factors_around() {
    for (loaded, down, lost) in [(220.0, 20.0, 0), (41.0, 20.3, 0), (60.0, 12.0, 50), (38.0, 26.0, 700)] {
        let (a, b) = (MADE, Made { seed: 9, loaded_ms: loaded, down_mbit: down, lost_one_in: lost, ..MADE });
        let (there, back) = (pair_of(a, b), pair_of(b, a));
        for (one, other) in there.pairs[0].metrics.iter().zip(&back.pairs[0].metrics) {
            let swapped = match one.verdict {
                Finding::Better => Finding::Worse,
                Finding::Worse => Finding::Better,
                verdict => verdict,
            };
            assert_eq!(other.verdict, swapped, "{one:?}\n{other:?}");
            let near = |a: Option<f64>, b: Option<f64>| match (a, b) {
                (Some(a), Some(b)) if a.is_infinite() => a.total_cmp(&b).is_eq(),
                (Some(a), Some(b)) => (a - b).abs() <= 1e-9 * a.abs().max(b.abs()),
                (a, b) => a.is_none() && b.is_none(),
            };
            let turned = |value: Option<f64>| value.map(|value| -value);
            assert!(near(one.difference, turned(other.difference)), "{one:?}\n{other:?}");
            assert!(near(one.ci95_low, turned(other.ci95_high)), "{one:?}\n{other:?}");
            let (factor, inverse) = (one.factor.map(|f| f.value), other.factor.map(|f| 1.0 / f.value));
            assert!(near(factor, inverse), "{one:?}\n{other:?}");
            let (low, inverse) =
                (one.factor.and_then(|f| f.ci95_low), other.factor.and_then(|f| Some(1.0 / f.ci95_high?)));
            assert!(near(low, inverse), "{one:?}\n{other:?}");
        }
    }
}

#[test]
fn a_shift_is_within_the_interval_in_nineteen_of_twenty_comparisons() {
    const TRIALS: u64 = 150;
    // The added delay of the second is 3 ms more, and both have the same queue otherwise.
    let (mut p50, mut p95) = (0, 0);
    for trial in 0..TRIALS {
        let comparison =
            pair_of(Made { seed: 2 * trial + 1, ..MADE }, Made { seed: 2 * trial + 2, loaded_ms: 43.0, ..MADE });
        let holds = |metric| {
            let found = found(&comparison, metric);
            found.ci95_low.unwrap() <= 3e6 && 3e6 <= found.ci95_high.unwrap()
        };
        p50 += u64::from(holds(ComparedMetric::LoadedDelayP50));
        p95 += u64::from(holds(ComparedMetric::AddedDelayP95));
    }
    assert!(p50 * 100 >= 93 * TRIALS && p95 * 100 >= 93 * TRIALS, "P50 in {p50}, P95 in {p95} of {TRIALS}");
}

#[test]
fn repetitions_are_compared_by_ranks_and_cover_their_shift() {
    const TRIALS: u64 = 30;
    let titled = |title: &str, day: u64, made: Made| {
        let mut run = made.run(&format!("{title}{day}.rrul"));
        title.clone_into(&mut run.title);
        run.created = format!("2026-01-{day:02}T03:04:05Z");
        run
    };
    let mut held = 0;
    for trial in 0..TRIALS {
        let mut random = Random(trial);
        let mut runs = Vec::new();
        for day in 0..5 {
            // Runs differ among themselves by far more than one run shows.
            let mut run = |title, mean: f64, seed| {
                let made = Made { seed: 100 * trial + seed, loaded_ms: mean + 10.0 * normal(&mut random), ..MADE };
                runs.push(titled(title, 2 * day + 1 + seed % 2, made));
            };
            run("a", 100.0, 2 * day + 10);
            run("b", 70.0, 2 * day + 11);
        }
        let comparison = Comparison::new(runs, Some(GroupKey::Title));
        assert_eq!(comparison.groups.iter().map(|group| group.runs.len()).collect::<Vec<_>>(), [5, 5]);
        assert_eq!(comparison.pairs[0].interleaved, Some(true));
        let delay = found(&comparison, ComparedMetric::LoadedDelayP50);
        assert_eq!((delay.basis, delay.reference_runs, delay.other_runs), (Some(Basis::Ranks), 5, 5));
        assert!(delay.p_holm.unwrap() >= delay.p.unwrap());
        held += u64::from(delay.ci95_low.unwrap() <= -30e6 && -30e6 <= delay.ci95_high.unwrap());
    }
    // 95 % of 30 is 28.5; the exact level for five and five is 96.8 %.
    assert!(held >= 27, "{held} of {TRIALS}");
}

#[test]
fn few_runs_claim_no_more_than_any_two_of_them() {
    let run = |title: &str, seed: u64, loaded_ms: f64| {
        let mut run = Made { seed, loaded_ms, ..MADE }.run(&format!("{seed}.rrul"));
        title.clone_into(&mut run.title);
        run.created = format!("2026-01-02T03:04:{seed:02}Z");
        run
    };
    let runs = vec![run("a", 1, 100.0), run("a", 2, 140.0), run("b", 3, 60.0), run("b", 4, 110.0)];
    let comparison = Comparison::new(runs, Some(GroupKey::Title));
    assert_eq!(comparison.pairs[0].interleaved, Some(false));
    let delay = found(&comparison, ComparedMetric::LoadedDelayP50);
    assert_eq!((delay.basis, delay.verdict), (Some(Basis::FewRuns), Finding::Inconclusive));
    // From 60 - 140 to 110 - 100.
    assert!(delay.ci95_low.unwrap() <= -77e6 && delay.ci95_high.unwrap() >= 7e6, "{delay:?}");
    assert_eq!(delay.p, None);
}

#[test]
fn loss_that_was_not_seen_may_be_there() {
    // 3 of 3000 packets: one in a thousand may be lost of either run, and one in a thousand does not matter.
    let comparison = pair_of(MADE, Made { seed: 2, ..MADE });
    let loss = found(&comparison, ComparedMetric::Loss);
    assert_eq!((loss.ci95_low, loss.ci95_high), (Some(-0.001), Some(0.001)));
    assert_eq!(loss.verdict, Finding::Same);
    let comparison = pair_of(MADE, Made { seed: 2, lost_one_in: 50, ..MADE });
    assert_eq!(found(&comparison, ComparedMetric::Loss).verdict, Finding::Worse);
}

#[test]
fn a_percentile_that_is_lost_is_worse_than_any_and_two_of_them_say_nothing() {
    let lossy = Made { lost_one_in: 10, ..MADE };
    let comparison = pair_of(MADE, Made { seed: 2, ..lossy });
    let p99 = found(&comparison, ComparedMetric::LoadedDelayP99);
    assert_eq!((p99.other, p99.verdict, p99.factor), (Some(f64::INFINITY), Finding::Worse, None));
    let comparison = pair_of(lossy, Made { seed: 2, ..lossy });
    let p99 = found(&comparison, ComparedMetric::LoadedDelayP99);
    assert_eq!((p99.verdict, p99.why), (Finding::Inconclusive, Some(Why::BothLost)));
}

#[test]
fn what_one_side_did_not_measure_is_not_compared() {
    let mut analysis = MADE.analysis();
    analysis.goodput.down = DirectionGoodput::default();
    let without = ComparedRun::new("b.rrul", Workload::default(), &analysis);
    let comparison = Comparison::new(vec![MADE.run("a.rrul"), without], None);
    let down = found(&comparison, ComparedMetric::Download);
    assert_eq!((down.verdict, down.why, down.other), (Finding::NotMeasured, Some(Why::OneSide), None));
    assert_eq!((down.difference, down.ci95_low), (None, None));
}

#[test]
fn the_first_group_is_the_reference_of_all_others() {
    let runs = [100.0, 60.0, 140.0]
        .into_iter()
        .zip(1..)
        .map(|(loaded_ms, seed)| Made { seed, loaded_ms, ..MADE }.run(&format!("folder/{seed}.rrul")));
    let comparison = Comparison::new(runs.collect(), None);
    let names: Vec<&str> = comparison.groups.iter().map(|group| &*group.name).collect();
    assert_eq!(names, ["1", "2", "3"]);
    let delays = comparison.pairs.iter().map(|pair| (pair.group, pair.overall.delay));
    assert_eq!(delays.collect::<Vec<_>>(), [(1, Finding::Better), (2, Finding::Worse)]);
    assert!(comparison.pairs.iter().all(|pair| pair.interleaved.is_none()));
}

#[test]
fn other_workloads_conflict_and_name_their_files() {
    let of = |change: fn(&mut Recording)| {
        let mut recording = Scenario::healthy().recording;
        change(&mut recording);
        ComparedRun::from_recording("b.rrul", &recording, &rrul_analysis::analyze(&recording))
    };
    let first =
        || ComparedRun::from_recording("a.rrul", &Scenario::healthy().recording, &Scenario::healthy().analyze());
    let compared = |other| Comparison::new(vec![first(), other], None);
    let plan = compared(of(|recording| "quick".clone_into(&mut recording.header.plan.name)));
    assert_eq!(plan.conflicts, ["a.rrul and b.rrul: plan rrul against quick"]);
    assert!(plan.is_doubtful());
    let family = compared(of(|recording| recording.header.families.push(AddressFamily::Ipv6)));
    assert!(family.conflicts.is_empty());
    assert_eq!(family.notes[0], "a.rrul and b.rrul: families: ipv4 against ipv4 and ipv6");
}

#[test]
fn a_comparison_as_json_keeps_to_its_schema_and_every_figure_is_explained() {
    let schema: serde_json::Value =
        serde_json::from_str(include_str!("../../../../docs/comparison.schema.json")).unwrap();
    let document = include_str!("../../../../docs/comparison.md");
    let lossy = Made { seed: 4, lost_one_in: 10, ..MADE };
    let mut runs =
        vec![MADE.run("a.rrul"), MADE.run("b.rrul"), Made { seed: 3, ..lossy }.run("c.rrul"), lossy.run("d.rrul")];
    let whole = Scenario::healthy().recording;
    runs.push(ComparedRun::from_recording("e.rrul", &whole, &rrul_analysis::analyze(&whole)));
    for by in [None, Some(GroupKey::Plan), Some(GroupKey::Day)] {
        let json = serde_json::to_value(Comparison::new(runs.clone(), by)).unwrap();
        check(&schema, &schema, &json, "comparison").unwrap();
    }
    for metric in ComparedMetric::ALL {
        let margin = metric.margin();
        let row = document.lines().find(|line| line.starts_with(&format!("| `{}` |", metric.name())));
        let row = row.unwrap_or_else(|| panic!("docs/comparison.md has no row for {}", metric.name()));
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let relative =
            if margin.relative > 0.0 { format!(" or {:.0} %", 100.0 * margin.relative) } else { String::new() };
        let (unit, one) = match metric.quantity() {
            Quantity::Delay => (" ms", 1e6),
            Quantity::Rate => (" Mbit/s", 1e6),
            Quantity::Share => (" %", 0.01),
            Quantity::Evenness | Quantity::Points | Quantity::Opinion | Quantity::PerMinute => ("", 1.0),
        };
        assert_eq!(cells[4], format!("{}{unit}{relative}", margin.absolute / one), "{row}");
        let better = if metric.better() == Better::Higher { "higher" } else { "lower" };
        assert_eq!(cells[3], better, "{row}");
    }
}
