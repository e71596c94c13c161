//! What changes over time, one row a value.

use std::collections::BTreeMap;

use rrul_analysis::Analysis;
use rrul_analysis::flow_label::FlowLabel;
use rrul_analysis::metrics::delay::round_trip_delay::DelayFlow;
use rrul_analysis::series::{DelayPoint, RatePoint};
use rrul_model::flow::Direction;
use rrul_model::time::TestTime;
use rrul_model::units::Delay;

use crate::exports::tidy_export::{Table, Value, who};

pub const COLUMNS: &[&str] =
    &["time_s", "length_s", "flow", "flow_type", "class", "family", "direction", "quantity", "value"];

/// How long the intervals are in which delays are summed up.
const INTERVAL: i64 = 200_000_000;

pub(super) fn table(run: &Analysis) -> Table {
    let mut rows = Vec::new();
    for direction in Direction::ALL {
        let goodput = run.goodput(direction);
        for entry in &goodput.flows {
            rows.extend(entry.series.iter().map(|point| rate(who(&entry.flow), point)));
        }
        let all = [
            Value::Text(format!("sum of {} streams", goodput.flows.len())),
            Value::Nothing,
            Value::Nothing,
            Value::Nothing,
            Value::Text(direction.to_string()),
        ];
        rows.extend(goodput.sum_series.iter().map(|point| rate(all.clone(), point)));
    }
    for flow in &run.round_trip_delay.flows {
        delays(flow, &mut rows);
    }
    for direction in Direction::ALL {
        for stream in &run.stream_limits.direction(direction).streams {
            for point in &stream.series {
                let threshold = point.slow_start_threshold.map_or(Value::Nothing, |value| Value::Count(value.into()));
                let rtt = Value::Number { value: f64::from(point.round_trip_us) / 1e3, decimals: 3 };
                let mut push = |quantity, value| rows.push(at_once(&stream.flow, point.at, quantity, value));
                push("congestion_window_segments", Value::Count(point.congestion_window.into()));
                push("slow_start_threshold_segments", threshold);
                push("tcp_round_trip_ms", rtt);
                push("retransmitted_segments", Value::Count(point.retransmitted.into()));
            }
        }
    }
    Table { columns: COLUMNS, rows }
}

fn row(time: TestTime, length: Value, who: [Value; 5], quantity: &str, value: Value) -> Vec<Value> {
    let mut row = vec![Value::seconds(time), length];
    row.extend(who);
    row.extend([Value::Text(quantity.to_owned()), value]);
    row
}

fn at_once(flow: &FlowLabel, at: TestTime, quantity: &str, value: Value) -> Vec<Value> {
    row(at, Value::Nothing, who(flow), quantity, value)
}

fn rate(who: [Value; 5], point: &RatePoint) -> Vec<Value> {
    let length = Value::Number { value: point.over.as_secs_f64(), decimals: 6 };
    // The point is in the middle of its interval, the table has the beginning of the interval.
    let begins = TestTime(point.at.0.saturating_sub(i64::try_from(point.over.as_nanos() / 2).unwrap_or(i64::MAX)));
    row(begins, length, who, "goodput_mbps", Value::Number { value: point.rate.megabits(), decimals: 6 })
}

/// The delays of a flow in intervals of an even length from T0 on; an interval without a packet has no row.
fn delays(flow: &DelayFlow, rows: &mut Vec<Vec<Value>>) {
    let mut intervals: BTreeMap<i64, Vec<&DelayPoint>> = BTreeMap::new();
    for point in &flow.series {
        intervals.entry(point.at.0.div_euclid(INTERVAL)).or_default().push(point);
    }
    for (number, points) in intervals {
        let begins = TestTime(number.saturating_mul(INTERVAL));
        let mut answered: Vec<Delay> = points.iter().filter_map(|point| point.delay).collect();
        answered.sort_unstable();
        let lost = points.len() - answered.len();
        let median = answered.get(answered.len().saturating_sub(1) / 2).copied();
        for (quantity, value) in [
            ("packets_sent", Value::Count(points.len() as u64)),
            ("packets_lost", Value::Count(lost as u64)),
            ("round_trip_delay_median_ms", Value::milliseconds(median)),
            ("round_trip_delay_max_ms", Value::milliseconds(answered.last().copied())),
        ] {
            let length = Value::Number { value: INTERVAL as f64 / 1e9, decimals: 6 };
            rows.push(row(begins, length, who(&flow.flow), quantity, value));
        }
    }
}
