//! Which flows of a test the server serves.

use rrul_model::flow::FlowSpec;
use rrul_model::units::BitRate;
use rrul_proto::admission::allowed_marks::AllowedMarks;
use rrul_proto::control::RefusedFlow;
use rrul_proto::limits::Limits;

use super::session::{Admission, FlowRefusal, ServerPart, Session};
use crate::flow_types;

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
    part.admit(spec, flow_type.packets_per_second(spec), admission)?;
    Ok(part)
}
