//! Voice-like streams: a small packet in every frame interval, one way, never answered (spec: VoIP Component).
//!
//! A flow is one direction of a call.

use std::thread::JoinHandle;

use rrul_model::flow::{FlowSpec, FlowTypeWords, ParameterKind, ParameterWord};
use rrul_model::turns::TURNS;

use super::{one_way, udp_probe};
use crate::flow_type::{FlowType, Footprint, Initiation, Pacing};
use crate::one_way_sending;
use crate::server::parts::one_way::OneWay;
use crate::server::session::ServerPart;

pub(crate) const NAME: &str = "voip";

/// The parameter that says how the streams of one direction share the line.
pub(crate) const SCHEDULE: &str = "schedule";
/// As the line allows.
pub(crate) const AUTO: &str = "auto";
/// All at once.
pub(crate) const FULL: &str = "full";
/// One class after another.
pub(crate) const CLASSES: &str = "classes";
/// One stream after another.
pub(crate) const ONE: &str = "one";

const PARAMETERS: &[ParameterWord] = &[
    one_way_sending::INTERVAL,
    one_way_sending::LENGTH,
    ParameterWord {
        name: SCHEDULE,
        kind: ParameterKind::Choice(&[AUTO, FULL, CLASSES, ONE]),
        about: "full: all streams at once; classes, one: one class, one stream after another; default auto: what the \
            measurement budget leaves for voice",
    },
    ParameterWord {
        name: TURNS,
        kind: ParameterKind::Name,
        about: "when it sends, such as 5s-8s,15s-25s; default as the schedule says",
    },
];

pub(crate) struct Voip;

impl FlowType for Voip {
    fn descriptor(&self) -> &'static FlowTypeWords {
        &FlowTypeWords {
            name: NAME,
            about: "one direction of a voice call (G.711): delay, its variation and loss, one way",
            directed: true,
            parameters: PARAMETERS,
        }
    }

    fn server_part(&self) -> &'static dyn ServerPart {
        &OneWay
    }

    fn packets_per_second(&self, spec: &FlowSpec) -> f64 {
        one_way_sending::interval(spec).as_secs_f64().recip()
    }

    fn length(&self, spec: &FlowSpec) -> Option<usize> {
        Some(one_way_sending::length(spec))
    }

    fn footprint(&self, spec: &FlowSpec) -> Footprint {
        let rate = self.packets_per_second(spec) * udp_probe::packet_bits(spec, one_way_sending::length(spec) as u64);
        Footprint::towards(spec.direction, rate, 0.0)
    }

    fn pacing(&self) -> Pacing {
        Pacing::Turns
    }

    fn initiate(&self, specs: &[&FlowSpec], initiation: &Initiation) -> Vec<JoinHandle<()>> {
        one_way::initiate(NAME, specs, initiation)
    }
}
