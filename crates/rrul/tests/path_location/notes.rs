//! The recording of a run: its header, and the rows that both ends write.

use std::time::Duration;

use rrul_model::flow::{AddressFamily, Component, Direction, FlowId, FlowSpec, Parameters};
use rrul_model::marking::ServiceClass;
use rrul_model::observation::{FlowEvent, FlowEventKind, Observation, ObservationPoint, Tables};
use rrul_model::phase::Phase;
use rrul_model::plan::{PhaseLength, TestPlan};
use rrul_model::recording::{End, FORMAT, Frame, Header, Recording};
use rrul_model::time::{TestTime, Window};

use crate::{ALL, LOAD, SECOND};

/// What both ends write down.
#[derive(Debug)]
pub(crate) struct Notes {
    recording: Recording,
}

impl Notes {
    /// Nothing yet, of a test of these phases.
    pub(crate) fn new() -> Self {
        let seconds =
            [LOAD.from.0, LOAD.to.0 - LOAD.from.0, ALL.to.0 - LOAD.to.0].map(|length| (length / SECOND) as u64);
        let phases = [Phase::Idle, Phase::Load, Phase::After].into_iter().zip(seconds);
        let plan = TestPlan {
            name: "rrul".to_owned(),
            title: "a run in virtual time".to_owned(),
            phases: phases
                .map(|(phase, seconds)| PhaseLength { phase, length: Duration::from_secs(seconds) })
                .collect(),
            sample_interval: Duration::from_millis(100),
            ..TestPlan::default()
        };
        let header = Header {
            format: FORMAT.to_owned(),
            created: "2026-01-02T03:04:05Z".to_owned(),
            phases: plan.phase_windows(),
            plan,
            families: AddressFamily::ALL.to_vec(),
            server_name: "server.example".to_owned(),
            ..Header::default()
        };
        let frame = |point, number| Frame { point, number, dropped: 0, tables: Tables::default(), events: Vec::new() };
        let points = [ObservationPoint::Client, ObservationPoint::Server];
        let frames = (0..frames()).flat_map(|number| points.map(|point| frame(point, number as u32))).collect();
        Self {
            recording: Recording {
                header,
                frames,
                steps: Vec::new(),
                end: Some(End { at: ALL.to, ..End::default() }),
                digest: None,
            },
        }
    }

    /// A flow that runs all the time.
    pub(crate) fn flow(
        &mut self,
        flow_type: &str,
        component: Component,
        direction: Option<Direction>,
        family: AddressFamily,
    ) -> FlowId {
        let flows = &mut self.recording.header.flows;
        let id = FlowId(flows.len() as u16);
        flows.push(FlowSpec {
            id,
            name: format!("{flow_type}/BE/{family}#{id}"),
            flow_type: flow_type.to_owned(),
            component,
            direction,
            family,
            class: ServiceClass::BE,
            window: Window { from: ALL.from, to: ALL.to },
            parameters: Parameters::default(),
        });
        id
    }

    pub(crate) fn observe(&mut self, point: ObservationPoint, at: TestTime, row: impl Into<Observation>) {
        self.frame(point, at).tables.push(row.into());
    }

    pub(crate) fn event(
        &mut self,
        point: ObservationPoint,
        flow: FlowId,
        at: TestTime,
        event: FlowEventKind,
        detail: String,
    ) {
        self.frame(point, at).events.push(FlowEvent { flow, at, event, detail });
    }

    /// Frames are in the order of their seconds, the client's before the server's.
    fn frame(&mut self, point: ObservationPoint, at: TestTime) -> &mut Frame {
        let second = ((at.0 / SECOND) as usize).min(frames() - 1);
        &mut self.recording.frames[2 * second + usize::from(point == ObservationPoint::Server)]
    }

    pub(crate) fn recording(self) -> Recording {
        self.recording
    }
}

fn frames() -> usize {
    (ALL.to.0 / SECOND) as usize + 1
}
