//! Every single packet, one row each.

use std::collections::HashMap;

use rrul_analysis::Analysis;
use rrul_analysis::metrics::delay::one_way_delay::LegDelay;
use rrul_analysis::series::DelayPoint;
use rrul_model::flow::{Direction, FlowId};
use rrul_model::time::TestTime;
use rrul_model::units::Delay;

use crate::exports::tidy_export::{Table, Value, who};

pub const COLUMNS: &[&str] = &[
    "sent_s",
    "flow",
    "flow_type",
    "class",
    "family",
    "direction",
    "round_trip_delay_ms",
    "one_way_delay_up_ms",
    "one_way_delay_down_ms",
    "queueing_delay_up_ms",
    "lost",
    "lost_on_way",
];

/// Packets of one flow on one way, by the time at which they were sent; `None` when they were lost there.
type Way = HashMap<TestTime, Option<Delay>>;

pub(super) fn table(run: &Analysis) -> Table {
    let mut rows = Vec::new();
    for entry in &run.round_trip_delay.flows {
        let there = way_there(run, entry.flow.id, |leg| &leg.series);
        let queueing = way_there(run, entry.flow.id, |leg| &leg.queueing_series);
        for point in &entry.series {
            let up = there.get(&point.at).copied();
            let arrived = up.flatten();
            let down = point.delay.zip(arrived).map(|(round_trip, up)| round_trip - up);
            let lost_on = match (point.delay, up) {
                (None, Some(None)) => Value::Text("up".to_owned()),
                (None, Some(Some(_))) => Value::Text("down".to_owned()),
                _ => Value::Nothing,
            };
            let mut row = vec![Value::seconds(point.at)];
            row.extend(who(&entry.flow));
            row.extend([
                Value::milliseconds(point.delay),
                Value::milliseconds(arrived),
                Value::milliseconds(down),
                Value::milliseconds(queueing.get(&point.at).copied().flatten()),
                Value::Count(u64::from(point.delay.is_none())),
                lost_on,
            ]);
            rows.push(row);
        }
    }
    for entry in run.voip.iter().flat_map(|voip| &voip.flows) {
        for point in &entry.series {
            let of = |direction| if entry.flow.direction == Some(direction) { point.delay } else { None };
            let way = entry.flow.direction.filter(|_| point.delay.is_none());
            let mut row = vec![Value::seconds(point.at)];
            row.extend(who(&entry.flow));
            row.extend([
                Value::Nothing,
                Value::milliseconds(of(Direction::Up)),
                Value::milliseconds(of(Direction::Down)),
                Value::Nothing,
                Value::Count(u64::from(point.delay.is_none())),
                way.map_or(Value::Nothing, |way| Value::Text(way.to_string())),
            ]);
            rows.push(row);
        }
    }
    Table { columns: COLUMNS, rows }
}

fn way_there(run: &Analysis, flow: FlowId, of: fn(&LegDelay) -> &Vec<DelayPoint>) -> Way {
    let up = |leg: &&LegDelay| leg.flow.id == flow && leg.direction == Direction::Up;
    let points = run.one_way_delay.legs.iter().filter(up).flat_map(of);
    points.map(|point| (point.at, point.delay)).collect()
}
