//! Whatever an analysis contains, a chart and a summary come out, and nothing in them is not a number.

use crate::pages;
use crate::recordings;
use crate::synthetic;
use std::time::Duration;

use crate::over_time::furnished;
use crate::synthetic::{by_phase, delay_flow, direction_goodput, goodput_flow, label, nothing};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use rrul_analysis::Analysis;
use rrul_analysis::comparison::Comparison;
use rrul_analysis::comparison::run::ComparedRun;
use rrul_analysis::comparison::workload::Workload;
use rrul_analysis::metrics::web::page_load::LoadOutcome;
use rrul_analysis::series::{DelayPoint, RatePoint};
use rrul_model::flow::{AddressFamily, Component, Direction};
use rrul_model::marking::{Dscp, ServiceClass};
use rrul_model::phase::{Phase, PhaseWindow};
use rrul_model::time::{TestTime, Window};
use rrul_model::units::{BitRate, Delay};
use rrul_view::charts::CHARTS;
use rrul_view::drawing::svg::{Renderer, with_renderer};
use rrul_view::short_summary;
use rrul_view::{Chart, Style, Theme, ViewError, text_comparison, text_summary};
use unicode_width::UnicodeWidthStr;

/// Times from the usual to the edge of what fits.
fn time() -> impl Strategy<Value = TestTime> {
    prop_oneof![4 => -5_000_000_000_i64..90_000_000_000, 1 => any::<i64>()].prop_map(TestTime)
}

fn delay() -> impl Strategy<Value = Option<Delay>> {
    let some =
        prop_oneof![2 => 0_i64..400_000_000, 1 => 0_i64..2_000, 1 => any::<i64>()].prop_map(|delay| Some(Delay(delay)));
    prop_oneof![4 => some, 1 => Just(None)]
}

fn rates() -> impl Strategy<Value = Vec<RatePoint>> {
    let rate = prop_oneof![4 => 0_u64..5_000_000_000, 1 => any::<u64>().prop_map(|rate| rate / 100)];
    let over = prop_oneof![4 => Just(Duration::from_millis(100)), 1 => any::<u32>().prop_map(|s| Duration::from_secs(u64::from(s))), 1 => Just(Duration::ZERO)];
    let point = (time(), over, rate).prop_map(|(at, over, rate)| RatePoint { at, over, rate: BitRate(rate) });
    prop::collection::vec(point, 3)
}

fn class() -> impl Strategy<Value = ServiceClass> {
    (0_u8..64).prop_map(|value| ServiceClass::from_dscp(Dscp::new(value).expect("the range ends at 63")))
}

fn family() -> impl Strategy<Value = AddressFamily> {
    prop_oneof![Just(AddressFamily::Ipv4), Just(AddressFamily::Ipv6)]
}

fn window() -> impl Strategy<Value = PhaseWindow> {
    let phase = prop_oneof![Just(Phase::Idle), Just(Phase::Load), Just(Phase::After)];
    (phase, time(), time()).prop_map(|(phase, from, to)| PhaseWindow { phase, window: Window { from, to } })
}

fn analysis() -> impl Strategy<Value = Analysis> {
    let loads = || prop::collection::vec((class(), family(), rates()), 0..40);
    let packets = prop::collection::vec((time(), delay()).prop_map(|(at, delay)| DelayPoint { at, delay }), 0..20);
    let probes = prop::collection::vec((class(), family(), ".{0,12}", packets), 0..30);
    let phases = prop::collection::vec(window(), 0..4);
    (loads(), loads(), probes, phases, ".{0,300}").prop_map(|(down, up, probes, phases, title)| {
        let goodput = |flows: Vec<(ServiceClass, AddressFamily, Vec<RatePoint>)>, direction| {
            let flow = |(class, family, series)| {
                goodput_flow(label(0, "bulk_tcp", Component::Load, Some(direction), family, class), series)
            };
            direction_goodput(flows.into_iter().map(flow).collect())
        };
        let all: Vec<DelayPoint> = probes.iter().flat_map(|probe| probe.3.iter().copied()).collect();
        let delay_flows = probes
            .into_iter()
            .map(|(class, family, kind, series)| {
                delay_flow(label(1, &kind, Component::Realtime, None, family, class), series, &phases)
            })
            .collect();
        let mut run = nothing();
        run.test.title = title;
        run.goodput.down = goodput(down, Direction::Down);
        run.goodput.up = goodput(up, Direction::Up);
        run.round_trip_delay.pooled = by_phase(&all, &phases);
        run.round_trip_delay.flows = delay_flows;
        run.test.phases = phases;
        run
    })
}

/// The run with what charts over time show beside that, at these times, and with extreme values.
///
/// Of few flows: what breaks a chart is not their number, which the other test varies.
fn over_time(mut run: Analysis) -> Analysis {
    for goodput in [&mut run.measured.goodput.down, &mut run.measured.goodput.up] {
        goodput.flows.truncate(FEW);
    }
    run.round_trip_delay.flows.truncate(FEW);
    let times: Vec<TestTime> =
        run.round_trip_delay.flows.iter().flat_map(|flow| &flow.series).map(|point| point.at).collect();
    let (mut run, some) = (furnished(run), times.clone());
    let at = |index: usize, at: TestTime| times.get(index).copied().unwrap_or(at);
    for stream in &mut run.tcp_series {
        for (index, reading) in stream.sender.iter_mut().enumerate() {
            reading.at = at(index, reading.at);
            reading.retransmitted = u32::MAX - index as u32 * 7;
            reading.delivery_rate = Some(BitRate(u64::MAX));
            reading.round_trip = Some(Delay(at(index, TestTime(-1)).0));
        }
    }
    for host in &mut run.host_series {
        host.send_lateness = some.iter().map(|at| (*at, Delay(at.0))).collect();
        for point in host.cores.iter_mut().flat_map(|core| &mut core.series) {
            point.busy = f64::NAN;
        }
        for kind in &mut host.drops {
            kind.series = some.iter().map(|at| (*at, u64::MAX)).collect();
        }
    }
    for direction in
        [&mut run.measured.packet_fate_series.up, &mut run.measured.packet_fate_series.down].into_iter().flatten()
    {
        (direction.lost, direction.unattributed, direction.reordered) = (some.clone(), some.clone(), None);
    }
    for sharing in [&mut run.measured.sharing.up, &mut run.measured.sharing.down].into_iter().flatten() {
        sharing.interval_ns = at(0, TestTime(0)).0;
        sharing.jain_series = some.iter().map(|at| (*at, f64::NAN)).chain([(TestTime(0), 7.0)]).collect();
    }
    for slew in [&mut run.measured.start_slew.up, &mut run.measured.start_slew.down].into_iter().flatten() {
        for (index, stream) in slew.streams.iter_mut().enumerate() {
            stream.planned = at(index, TestTime(0));
            (stream.first_received_ns, stream.half_rate_ns) = (Some(stream.planned.0), Some(stream.planned.0));
        }
    }
    run
}

fn named(name: &str) -> &'static Chart {
    rrul_view::chart_named(name).unwrap()
}

fn assert_drawn(renderer: &Renderer<'_>, chart: &Chart, runs: &[&Analysis]) -> Result<(), TestCaseError> {
    let drawing = match chart.draw(runs, &Theme::LIGHT) {
        Err(ViewError::Runs { .. }) => return Ok(()),
        drawing => drawing.map_err(|error| TestCaseError::fail(error.to_string()))?,
    };
    let svg = renderer.svg(&drawing).map_err(|error| TestCaseError::fail(error.to_string()))?;
    resvg::usvg::roxmltree::Document::parse(&svg).map_err(|error| TestCaseError::fail(error.to_string()))?;
    // Titles and names are free text; numbers are in attributes.
    let attributes = svg.split('>').filter_map(|piece| piece.split_once('<')).map(|(_, tag)| tag);
    for tag in attributes {
        prop_assert!(!tag.contains("NaN") && !tag.contains("Infinity") && !tag.contains("undefined"), "{}", tag);
    }
    Ok(())
}

/// Flows of each kind.
const FEW: usize = 4;

#[test]
fn extreme_runs_are_drawn_in_every_chart() {
    let config = Config { cases: 6, failure_persistence: None, ..Config::default() };
    let seed = proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha);
    let outcome = with_renderer(|renderer| {
        let mut runner = TestRunner::new_with_rng(config, seed);
        Ok(runner.run(&(analysis().prop_map(over_time), analysis().prop_map(over_time)), |(first, second)| {
            for chart in CHARTS {
                for runs in [&[&first][..], &[&first, &second]] {
                    assert_drawn(renderer, chart, runs)?;
                }
            }
            Ok(())
        }))
    });
    outcome.expect("the renderer starts").expect("every case passes");
}

#[test]
fn extreme_runs_are_drawn_and_printed_and_printed_without_a_word_that_is_no_number() {
    let config = Config { cases: 48, failure_persistence: None, ..Config::default() };
    let seed = proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha);
    let outcome = with_renderer(|renderer| {
        let mut runner = TestRunner::new_with_rng(config, seed);
        Ok(runner.run(&(analysis(), analysis()), |(first, second)| {
            const DRAWN: [&str; 9] =
                ["overview", "comparison", "ecdf", "ccdf", "box", "totals", "bars", "ellipse", "qq"];
            for chart in CHARTS.iter().filter(|chart| DRAWN.contains(&chart.name)) {
                for runs in [&[&first][..], &[&first, &second]] {
                    assert_drawn(renderer, chart, runs)?;
                }
            }
            let run = |file, analysis| ComparedRun::new(file, Workload::default(), analysis);
            let comparison = Comparison::new(vec![run("a", &first), run("b", &second)], None);
            let short = short_summary(&first, &first.test.title, Style::Plain);
            prop_assert!(short.lines().count() <= 24 && short.lines().all(|line| line.width() <= 80), "{}", short);
            for text in [text_summary(&first, Style::Plain), short, text_comparison(&comparison, Style::Plain)] {
                prop_assert!(!text.contains("NaN") && !text.chars().any(|c| c.is_control() && c != '\n'), "{}", text);
            }
            Ok(())
        }))
    });
    outcome.expect("the renderer starts").expect("every case passes");
}

#[test]
fn extreme_runs_have_a_report_without_a_figure_that_is_no_number() {
    let config = Config { cases: 12, failure_persistence: None, ..Config::default() };
    let seed = proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(config, seed);
    let outcome = runner.run(&(analysis().prop_map(over_time), analysis().prop_map(over_time)), |(first, second)| {
        for runs in [vec![first.clone()], vec![first, second]] {
            let page = recordings::page(&runs);
            let (words, rest) = page.split_once("id=\"data\">").unwrap();
            let (data, _) = rest.split_once("</script>").unwrap();
            let (_, words) = words.split_once("</style>").unwrap();
            for text in [words, data] {
                for word in ["NaN", "inf,", "inf\"", ">inf"] {
                    prop_assert!(!text.contains(word), "{} in {}", word, &text[text.find(word).unwrap_or(0)..][..80]);
                }
            }
            prop_assert!(serde_json::from_str::<serde_json::Value>(data).is_ok());
        }
        Ok(())
    });
    outcome.unwrap();
}

#[test]
fn extreme_page_loads_are_drawn() {
    let times = prop::collection::vec((time(), any::<i64>(), any::<[i64; 7]>(), 0..5_u8, any::<u16>()), 6);
    let config = Config { cases: 48, failure_persistence: None, ..Config::default() };
    let seed = proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha);
    let outcome = with_renderer(|renderer| {
        let mut runner = TestRunner::new_with_rng(config, seed);
        Ok(runner.run(&times, |times| {
            let mut run =
                pages::scored(synthetic::Made::fq_codel().analysis(), &[1000, 1100, 1200], &[2000, 2100, 2200]);
            for (load, (wanted, took, stretches, outcome, number)) in run.page_loads[0].series.iter_mut().zip(times) {
                load.took = Delay(took);
                load.outcome = match outcome {
                    0 => LoadOutcome::Failed,
                    1 => LoadOutcome::Capped,
                    2 => LoadOutcome::CutShort,
                    3 => LoadOutcome::Broken,
                    _ => LoadOutcome::Complete,
                };
                let object = &mut load.objects[0];
                (object.wanted, object.object) = (wanted, number);
                let [blocked, lookup, connect, secure, send, wait, receive] = stretches.map(Delay);
                (object.blocked, object.lookup, object.connect, object.secure) = (blocked, lookup, connect, secure);
                (object.send, object.wait, object.receive) = (send, wait, receive);
            }
            assert_drawn(renderer, named("page_waterfall"), &[&run])?;
            assert_drawn(renderer, named("page_ecdf"), &[&run])?;
            assert_drawn(renderer, named("page_ecdf"), &[&run, &run])
        }))
    });
    outcome.expect("the renderer starts").expect("every case passes");
}
