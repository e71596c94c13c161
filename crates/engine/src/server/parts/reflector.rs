//! Flows whose test packets, or questions for names, the session's reflector answers.

use rrul_model::flow::FlowSpec;

use crate::server::session::{Admission, FlowRefusal, ServerPart};

/// The reflector answers every packet.
pub(crate) struct Reflected;

impl ServerPart for Reflected {
    fn admit(&self, spec: &FlowSpec, packets_per_second: f64, session: &mut Admission<'_>) -> Result<(), FlowRefusal> {
        session.reserve_replies(spec, packets_per_second);
        Ok(())
    }
}
