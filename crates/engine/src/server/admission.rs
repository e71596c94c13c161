//! Which flows of a test the server serves.

use std::collections::HashMap;
use std::time::Duration;

use rrul_model::flow::{FlowId, FlowSpec};
use rrul_model::turns::TURNS;
use rrul_model::units::BitRate;
use rrul_proto::admission::allowed_marks::AllowedMarks;
use rrul_proto::admission::session_lease::Grant;
use rrul_proto::control::RefusedFlow;
use rrul_proto::limits::{Limits, RateCap};

use super::session::{Admission, Connections, FlowRefusal, ServerPart, Session};
use crate::flow_type::FlowType;
use crate::flow_types;
use crate::flow_types::bulk_tcp::BulkTcp;

/// Of the bytes that a test of known rate is to move, so many times as many are granted: it has two directions, and estimates
/// of what pages and connections take may be low.
const OCTETS_MARGIN: f64 = 4.0;

/// Bytes granted beside that: what is on its way, and what a connection takes to begin.
const OCTETS_BESIDE: f64 = 16e6;

/// Connections of a flow beside those of its mean rate: they come at random times, and what a path delays arrives at once.
const CONNECTIONS_BESIDE: u32 = 16;

/// A stream that is to be slower than this may rest for seconds, bits per second.
const STEADY: u64 = 10_000;

/// Returns the flows that the session serves, each with the server's part in it, and those that it refuses.
pub(super) fn admit(
    session: &Session,
    flows: Vec<FlowSpec>,
    limits: &Limits,
    marks: AllowedMarks,
) -> (Vec<(FlowSpec, &'static dyn ServerPart)>, Vec<RefusedFlow>) {
    let mut admission = session.admission(limits);
    let mut flooded = 0;
    let (mut admitted, mut refused) = (Vec::new(), Vec::new());
    for spec in flows {
        match admit_one(&spec, &mut admission, &mut flooded, limits, marks) {
            Ok(part) => admitted.push((spec, part)),
            Err(refusal) => refused.push(RefusedFlow { flow: spec.id, reason: refusal.to_string() }),
        }
    }
    (admitted, refused)
}

fn admit_one(
    spec: &FlowSpec,
    admission: &mut Admission<'_>,
    flooded: &mut u64,
    limits: &Limits,
    marks: AllowedMarks,
) -> Result<&'static dyn ServerPart, FlowRefusal> {
    let flow_type =
        flow_types::named(&spec.flow_type).ok_or_else(|| FlowRefusal::UnknownType(spec.flow_type.clone()))?;
    if let Some(rate) = flow_type.flood_rate(spec) {
        *flooded = flooded.saturating_add(rate.0);
        match limits.flood_bits_per_second {
            allowed if *flooded <= allowed => {}
            0 => return Err(FlowRefusal::NoFloods),
            allowed => return Err(FlowRefusal::Flood(BitRate(allowed))),
        }
    }
    if !marks.allows(spec.class.dscp()) {
        return Err(FlowRefusal::Mark(spec.class));
    }
    let part = flow_type.server_part();
    admission.packet_length = flow_type.length(spec);
    part.admit(spec, flow_type.packets_per_second(spec), admission)?;
    Ok(part)
}

/// Returns how often each of these flows may open connections that opens many of them and needs no turn for it.
pub(super) fn connection_caps(admitted: &[(FlowSpec, &'static dyn ServerPart)]) -> HashMap<FlowId, RateCap> {
    let cap = |(spec, part): &(FlowSpec, &'static dyn ServerPart)| {
        let flow_type = flow_types::named(&spec.flow_type)?;
        let is_capped = part.connections() == Connections::Many && flow_type.load(spec).is_some();
        is_capped.then(|| (spec.id, RateCap::declared(flow_type.connections_per_second(spec), CONNECTIONS_BESIDE)))
    };
    admitted.iter().filter_map(cap).collect()
}

/// Returns what a test of these flows is granted, with the rate that it asks for.
pub(super) fn grant(
    admitted: &[(FlowSpec, &'static dyn ServerPart)],
    length: Duration,
    rate: Option<u64>,
    heartbeat: bool,
) -> Grant {
    let octets = rate.map(|rate| (rate as f64 / 8.0 * length.as_secs_f64() * OCTETS_MARGIN + OCTETS_BESIDE) as u64);
    Grant { length, octets, load: load_window(admitted.iter().map(|(spec, _)| spec)), heartbeat }
}

/// The longest time without a pause in which streams are to load the path, after T0; `None` without any.
fn load_window<'a>(flows: impl Iterator<Item = &'a FlowSpec>) -> Option<(Duration, Duration)> {
    let is_steady = |spec: &&FlowSpec| {
        let rate = spec.parameters.rate("pacing_rate");
        BulkTcp.is_of(spec) && !spec.parameters.0.contains_key(TURNS) && rate.is_none_or(|rate| rate.0 >= STEADY)
    };
    let mut windows: Vec<(i64, i64)> =
        flows.filter(is_steady).map(|spec| (spec.window.from.nanoseconds(), spec.window.to.nanoseconds())).collect();
    windows.sort_unstable();
    let mut merged: Vec<(i64, i64)> = Vec::new();
    for (from, to) in windows {
        match merged.last_mut().filter(|(_, end)| from <= *end) {
            Some((_, end)) => *end = to.max(*end),
            None => merged.push((from, to)),
        }
    }
    let (from, to) = merged.into_iter().max_by_key(|(from, to)| to - from)?;
    let time = |nanoseconds: i64| Duration::from_nanos(nanoseconds.max(0).cast_unsigned());
    Some((time(from), time(to)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rrul_model::flow::{AddressFamily, Component, FlowId, Parameter, Parameters};
    use rrul_model::marking::ServiceClass;
    use rrul_model::time::{TestTime, Window};

    fn flow(kind: &str, from: i64, to: i64, parameters: &[(&str, &str)]) -> FlowSpec {
        let parameters =
            parameters.iter().map(|(name, value)| ((*name).to_owned(), Parameter::Text((*value).to_owned())));
        FlowSpec {
            id: FlowId(1),
            name: kind.to_owned(),
            flow_type: kind.to_owned(),
            component: Component::Load,
            direction: None,
            family: AddressFamily::Ipv4,
            class: ServiceClass::BE,
            window: Window { from: TestTime(from * 1_000_000_000), to: TestTime(to * 1_000_000_000) },
            parameters: Parameters(parameters.collect()),
        }
    }

    #[test]
    fn streams_are_to_move_while_one_follows_another_and_not_in_a_planned_pause() {
        let window = |flows: &[FlowSpec]| load_window(flows.iter());
        let seconds = |from, to| Some((Duration::from_secs(from), Duration::from_secs(to)));
        let bulk = |from, to| flow("bulk_tcp", from, to, &[]);
        assert_eq!(window(&[bulk(5, 20), bulk(18, 30), flow("udp_probe", 0, 40, &[])]), seconds(5, 30));
        assert_eq!(window(&[bulk(5, 10), bulk(30, 45)]), seconds(30, 45), "the longest");
        assert_eq!(window(&[flow("udp_probe", 0, 40, &[])]), None);
        assert_eq!(window(&[flow("bulk_tcp", 0, 40, &[("turns", "0s-1s")])]), None);
        assert_eq!(window(&[flow("bulk_tcp", 0, 40, &[("pacing_rate", "1kbit/s")])]), None);
        assert_eq!(window(&[flow("bulk_tcp", 0, 40, &[("pacing_rate", "1Mbit/s")])]), seconds(0, 40));
    }

    #[test]
    fn bytes_follow_from_the_rate_and_the_length() {
        let granted = |rate| grant(&[], Duration::from_mins(1), rate, true).octets;
        assert_eq!(granted(Some(1_000_000)), Some(46_000_000));
        assert_eq!(granted(None), None);
    }
}
