//! The seconds of a run as rows of table `seconds`.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use rrul_analysis::Analysis;
use rrul_analysis::flow_label::FlowLabel;
use rrul_analysis::series::{DelayPoint, RatePoint};
use rrul_analysis::statistics::percentile::percentile;
use rrul_model::flow::Direction;
use rrul_model::time::TestTime;
use rrul_model::units::Delay;

use crate::delay_rows::phase_name;
use crate::tables::SecondRow;
use crate::vocabulary::flow_type;

const SECOND: i64 = 1_000_000_000;

/// Rows of the streams of the load, then of the probes, each flow from its first second to its last. `names` has a name for each
/// flow by that in the recording.
pub(crate) fn second_rows(
    run_key: Option<i64>,
    analysis: &Analysis,
    names: &HashMap<String, String>,
) -> Vec<SecondRow> {
    let row = |flow: &FlowLabel, second: i64| SecondRow {
        run_key,
        second: Some(second),
        phase: phase_name(analysis, TestTime(second * SECOND + SECOND / 2)).map(str::to_owned),
        flow: names.get(&flow.name).cloned(),
        flow_type: Some(flow_type(flow.kind(), &flow.flow_type).to_owned()),
        class: Some(flow.class.to_string()),
        family: Some(flow.family.to_string()),
        direction: flow.direction.map(|direction| direction.name().to_owned()),
        ..SecondRow::default()
    };
    let mut rows = Vec::new();
    for entry in Direction::ALL.into_iter().flat_map(|direction| &analysis.goodput(direction).flows) {
        let seconds = by_second(&entry.series, |point| point.at);
        rows.extend(
            seconds
                .into_iter()
                .map(|(second, points)| SecondRow { goodput_bps: mean_rate(&points), ..row(&entry.flow, second) }),
        );
    }
    for entry in &analysis.round_trip_delay.flows {
        let seconds = by_second(&entry.series, |point| point.at);
        rows.extend(seconds.into_iter().map(|(second, points)| with_delays(row(&entry.flow, second), &points)));
    }
    rows
}

/// The points of each whole second.
fn by_second<P: Copy>(series: &[P], at: impl Fn(&P) -> TestTime) -> BTreeMap<i64, Vec<P>> {
    let mut seconds: BTreeMap<i64, Vec<P>> = BTreeMap::new();
    for point in series {
        seconds.entry(at(point).0.div_euclid(SECOND)).or_default().push(*point);
    }
    seconds
}

fn mean_rate(points: &[RatePoint]) -> Option<i64> {
    let over: Duration = points.iter().map(|point| point.over).sum();
    let bits: f64 = points.iter().map(|point| point.rate.0 as f64 * point.over.as_secs_f64()).sum();
    (!over.is_zero()).then(|| (bits / over.as_secs_f64()).round() as i64)
}

fn with_delays(row: SecondRow, points: &[DelayPoint]) -> SecondRow {
    let mut delays: Vec<Delay> = points.iter().filter_map(|point| point.delay).collect();
    delays.sort_unstable();
    let lost = points.len() - delays.len();
    SecondRow {
        packets: i64::try_from(points.len()).ok(),
        lost: i64::try_from(lost).ok(),
        p50_ns: percentile(&delays, lost as u64, 500).map(|delay| delay.0),
        max_ns: delays.last().map(|delay| delay.0),
        ..row
    }
}

#[cfg(test)]
mod tests {
    use rrul_model::units::BitRate;

    use super::*;

    #[test]
    fn rates_are_weighted_by_their_time() {
        let point = |millis: i64, over, rate| RatePoint {
            at: TestTime(millis * 1_000_000),
            over: Duration::from_millis(over),
            rate: BitRate(rate),
        };
        let series =
            [point(-100, 200, 7), point(100, 200, 4_000_000), point(600, 800, 1_000_000), point(1500, 1000, 3)];
        let seconds = by_second(&series, |point| point.at);
        let rates: Vec<(i64, Option<i64>)> =
            seconds.iter().map(|(second, points)| (*second, mean_rate(points))).collect();
        assert_eq!(rates, [(-1, Some(7)), (0, Some(1_600_000)), (1, Some(3))]);
        assert_eq!(mean_rate(&[]), None);
    }

    #[test]
    fn a_lost_packet_is_later_than_all_others() {
        let point = |delay: Option<i64>| DelayPoint { at: TestTime(0), delay: delay.map(Delay) };
        let row = |delays: &[Option<i64>]| {
            let points: Vec<_> = delays.iter().copied().map(point).collect();
            let row = with_delays(SecondRow::default(), &points);
            (row.packets, row.lost, row.p50_ns, row.max_ns)
        };
        assert_eq!(row(&[Some(30), None, Some(10), Some(20)]), (Some(4), Some(1), Some(20), Some(30)));
        assert_eq!(row(&[None, None, Some(10)]), (Some(3), Some(2), None, Some(10)));
        assert_eq!(row(&[None]), (Some(1), Some(1), None, None));
    }
}
