//! Builds recordings whose truth is known.

use std::time::Duration;

use rrul_analysis::Analysis;
use rrul_model::flow::{AddressFamily, Component, Direction, FlowId, FlowSpec, Parameters};
use rrul_model::marking::ServiceClass;
use rrul_model::observation::{
    CpuTime, FlowEvent, FlowEventKind, Observation, ObservationPoint, OctetsReceived, PathAnswer, PathProbe,
    ProbeReceived, ProbeSent, Tables, TcpInfo,
};
use rrul_model::phase::{Phase, PhaseWindow};
use rrul_model::plan::{PhaseLength, TestPlan};
use rrul_model::recording::{End, FORMAT, Frame, Header, Recording};
use rrul_model::time::{TestTime, Window};
use rrul_model::units::{ByteCount, Delay};

pub(crate) use rrul_model::observation::ObservationPoint::{Client, Server};

pub(crate) const SECOND: i64 = 1_000_000_000;
pub(crate) const MS: i64 = 1_000_000;
/// How long the reflector of these scenarios keeps each packet.
pub(crate) const HELD: i64 = 300_000;
/// How far the server's clock is off. No delay may depend on it.
pub(crate) const CLOCK_OFFSET: i64 = 7_654_321;
/// Payload of a data segment.
pub(crate) const SEGMENT: u64 = 1448;

/// A recording of 5 s idle, 10 s load, 5 s after, counters read every 100 ms.
pub(crate) struct Scenario {
    pub(crate) recording: Recording,
}

impl Scenario {
    pub(crate) const LOAD: Window = Window { from: TestTime(5 * SECOND), to: TestTime(15 * SECOND) };
    pub(crate) const ALL: Window = Window { from: TestTime(0), to: TestTime(20 * SECOND) };

    /// Complete, with idle processors, but without a flow.
    pub(crate) fn new() -> Self {
        let length = |phase, seconds| PhaseLength { phase, length: Duration::from_secs(seconds) };
        let plan = TestPlan {
            name: "rrul".to_owned(),
            title: "a scenario".to_owned(),
            phases: vec![length(Phase::Idle, 5), length(Phase::Load, 10), length(Phase::After, 5)],
            sample_interval: Duration::from_millis(100),
            ..TestPlan::default()
        };
        let header = Header {
            format: FORMAT.to_owned(),
            created: "2026-01-02T03:04:05Z".to_owned(),
            phases: plan.phase_windows(),
            plan,
            families: vec![AddressFamily::Ipv4],
            server_name: "server.example".to_owned(),
            ..Header::default()
        };
        let frame = |point, number| Frame { point, number, dropped: 0, tables: Tables::default(), events: Vec::new() };
        let frames = (0..=20).flat_map(|number| [frame(Client, number), frame(Server, number)]).collect();
        let end = Some(End { at: TestTime(20 * SECOND), partial: None, ..End::default() });
        let mut scenario = Self { recording: Recording { header, frames, steps: Vec::new(), end, digest: None } };
        scenario.processor(Client, |_| (10, 0));
        scenario.processor(Server, |_| (10, 0));
        scenario
    }

    /// Gives the last 8 of 13 s of load to phase `web`.
    pub(crate) fn web_phase(&mut self) {
        let phase = |phase, from: i64, to: i64| PhaseWindow {
            phase,
            window: Window { from: TestTime(from * SECOND), to: TestTime(to * SECOND) },
        };
        self.recording.header.phases = vec![
            phase(Phase::Idle, 0, 5),
            phase(Phase::Load, 5, 10),
            phase(Phase::Web, 10, 18),
            phase(Phase::After, 18, 20),
        ];
    }

    /// A probe flow and one stream each way over a line of 20 Mbit/s down and 8 Mbit/s up, 20 ms away.
    pub(crate) fn healthy() -> Self {
        let mut scenario = Self::new();
        let probe = scenario.udp_probe(AddressFamily::Ipv4);
        scenario.probes(probe, |_| Some(20 * MS));
        for (direction, rate) in [(Direction::Down, 20_000_000), (Direction::Up, 8_000_000)] {
            let flow = scenario.bulk(direction);
            scenario.stream(flow, rate);
        }
        scenario
    }

    pub(crate) fn flow(
        &mut self,
        flow_type: &str,
        component: Component,
        direction: Option<Direction>,
        family: AddressFamily,
        window: Window,
    ) -> FlowId {
        let id = FlowId(u16::try_from(self.recording.header.flows.len()).unwrap());
        let name = format!("{flow_type}/BE/{family}#{id}");
        let (class, parameters) = (ServiceClass::BE, Parameters::default());
        let flow_type = flow_type.to_owned();
        self.recording.header.flows.push(FlowSpec {
            id,
            name,
            flow_type,
            component,
            direction,
            family,
            class,
            window,
            parameters,
        });
        id
    }

    pub(crate) fn udp_probe(&mut self, family: AddressFamily) -> FlowId {
        self.flow("udp_probe", Component::Realtime, None, family, Self::ALL)
    }

    pub(crate) fn bulk(&mut self, direction: Direction) -> FlowId {
        self.flow("bulk_tcp", Component::Load, Some(direction), AddressFamily::Ipv4, Self::LOAD)
    }

    /// A stream of the load from one second to another.
    pub(crate) fn bulk_within(&mut self, direction: Direction, from: i64, to: i64) -> FlowId {
        let window = Window { from: TestTime(from * SECOND), to: TestTime(to * SECOND) };
        self.flow("bulk_tcp", Component::Load, Some(direction), AddressFamily::Ipv4, window)
    }

    /// A path trace of the client.
    pub(crate) fn path_trace(&mut self, direction: Direction) -> FlowId {
        self.flow("path_trace", Component::Analysis, Some(direction), AddressFamily::Ipv4, Self::ALL)
    }

    /// A packet of a trace that expires at the second hop, where `host` answers it.
    pub(crate) fn hop_answered(&mut self, flow: FlowId, second: i64, host: u16) {
        let (sequence, at) = (u32::try_from(second).unwrap(), second * SECOND + 30 * MS);
        let probe = PathProbe { flow, sequence, sent: TestTime(at), hop_limit: 2, octet: 0, length: 60 };
        self.observe(Client, at, probe);
        let answer = PathAnswer {
            flow,
            sequence,
            received: TestTime(at + 4 * MS),
            source: host,
            kind: 11,
            code: 0,
            mtu: 0,
            held: Delay(0),
            left: 0,
        };
        self.observe(Client, at, answer);
    }

    /// Puts a row into the frame of the second in which it was observed.
    pub(crate) fn observe(&mut self, point: ObservationPoint, at: i64, row: impl Into<Observation>) {
        self.frame(point, at).tables.push(row.into());
    }

    pub(crate) fn event(&mut self, point: ObservationPoint, flow: FlowId, at: i64, event: FlowEventKind, detail: &str) {
        let event = FlowEvent { flow, at: TestTime(at), event, detail: detail.to_owned() };
        self.frame(point, at).events.push(event);
    }

    pub(crate) fn frame(&mut self, point: ObservationPoint, at: i64) -> &mut Frame {
        let number = u32::try_from((at / SECOND).clamp(0, 20)).unwrap();
        self.recording.frames.iter_mut().find(|frame| frame.point == point && frame.number == number).unwrap()
    }

    pub(crate) fn sent(&mut self, flow: FlowId, sequence: u32, at: i64) {
        self.observe(Client, at, ProbeSent { flow, sequence, scheduled: TestTime(at), sent: TestTime(at) });
    }

    /// The reply to a packet sent at `sent` after a round-trip delay, the time in the reflector not counted.
    pub(crate) fn received(&mut self, flow: FlowId, sequence: u32, sent: i64, delay: i64) {
        self.received_with_delays(flow, sequence, sent, (delay / 2, delay - delay / 2));
    }

    /// The same with the delay of each direction.
    pub(crate) fn received_with_delays(&mut self, flow: FlowId, sequence: u32, sent: i64, (up, down): (i64, i64)) {
        let received = sent + up + down + HELD;
        let reflector_received = TestTime(sent + up + CLOCK_OFFSET);
        let row = ProbeReceived {
            flow,
            sequence,
            received: TestTime(received),
            read: TestTime(received + 50_000),
            reflector_received,
            reflector_sent: TestTime(reflector_received.0 + HELD),
            reflector_octet: 0,
            octet: 0,
            reflector_count: sequence + 1,
        };
        self.observe(Client, received, row);
    }

    /// A packet every 20 ms over the whole test, from 10 ms on; `delay` of its send time is `None` for a lost one.
    pub(crate) fn probes(&mut self, flow: FlowId, delay: impl Fn(i64) -> Option<i64>) {
        for sequence in 0..1000 {
            let at = 10 * MS + i64::from(sequence) * 20 * MS;
            self.sent(flow, sequence, at);
            if let Some(delay) = delay(at) {
                self.received(flow, sequence, at, delay);
            }
        }
    }

    /// A stream that arrives at a steady rate (bits per second) during its window.
    pub(crate) fn stream(&mut self, flow: FlowId, rate: u64) {
        self.stream_with(flow, |at| at, |at, from| u64::try_from(at - from).unwrap() * rate / 8 / SECOND as u64);
    }

    /// A stream of which `octets(at, from)` are in order at each reading; the readings are taken at `when(at)`.
    pub(crate) fn stream_with(&mut self, flow: FlowId, when: impl Fn(i64) -> i64, octets: impl Fn(i64, i64) -> u64) {
        let spec = self.recording.flow(flow).unwrap();
        let (window, receiver) = (spec.window, if spec.direction == Some(Direction::Down) { Client } else { Server });
        let mut planned = window.from.0;
        while planned <= window.to.0 + 500 * MS {
            let at = when(planned);
            let octets = octets(at.min(window.to.0), window.from.0);
            self.observe(receiver, at, OctetsReceived { flow, at: TestTime(at), octets: ByteCount(octets) });
            planned += 100 * MS;
        }
    }

    pub(crate) fn segments(&mut self, point: ObservationPoint, flow: FlowId, at: i64, data_segs_in: u32) {
        let row = TcpInfo { data_segs_in, ..tcp_info(flow, at) };
        self.observe(point, at, row);
    }

    /// Processor time of one host with two cores, the second idle. `ticks` of a second is (busy, stolen) in percent.
    pub(crate) fn processor(&mut self, point: ObservationPoint, ticks: impl Fn(i64) -> (u64, u64)) {
        for frame in self.recording.frames.iter_mut().filter(|frame| frame.point == point) {
            frame.tables.cpu_time = rrul_model::observation::CpuTimeTable::default();
        }
        let mut row = |core, at, user, idle, steal| {
            let zero = CpuTime {
                at: TestTime(at),
                core,
                user,
                nice: 0,
                system: 0,
                idle,
                iowait: 0,
                irq: 0,
                softirq: 0,
                steal,
            };
            self.observe(point, at, zero);
        };
        let (mut user, mut idle, mut steal) = (1000, 5000, 10);
        for second in 0..=20 {
            let at = second * SECOND + 3 * MS;
            row(0, at, user, idle, steal);
            row(1, at, 77, 900 + 100 * second as u64, 0);
            let (busy, stolen) = ticks(second);
            (user, idle, steal) = (user + busy, idle + 100 - busy - stolen, steal + stolen);
        }
    }

    pub(crate) fn analyze(&self) -> Analysis {
        rrul_analysis::analyze(&self.recording)
    }
}

/// A reading of `TCP_INFO` with nothing in it.
pub(crate) fn tcp_info(flow: FlowId, at: i64) -> TcpInfo {
    TcpInfo {
        flow,
        at: TestTime(at),
        state: 1,
        ca_state: 0,
        options: 0,
        rtt: 0,
        rttvar: 0,
        min_rtt: 0,
        rto: 0,
        snd_mss: 0,
        rcv_mss: 0,
        pmtu: 0,
        snd_cwnd: 0,
        snd_ssthresh: 0,
        unacked: 0,
        lost: 0,
        total_retrans: 0,
        notsent_bytes: 0,
        snd_wnd: 0,
        rcv_wnd: 0,
        bytes_acked: 0,
        bytes_received: 0,
        bytes_sent: 0,
        bytes_retrans: 0,
        segs_out: 0,
        segs_in: 0,
        data_segs_in: 0,
        data_segs_out: 0,
        delivered: 0,
        delivered_ce: 0,
        dsack_dups: 0,
        reord_seen: 0,
        rcv_ooopack: 0,
        delivery_rate: 0,
        pacing_rate: 0,
        busy_time: 0,
        rwnd_limited: 0,
        sndbuf_limited: 0,
        total_rto: 0,
        received_ce_bytes: 0,
        received_e0_bytes: 0,
        received_e1_bytes: 0,
        app_limited: 0,
    }
}

/// A known delay, as statistics hold it.
#[expect(clippy::unnecessary_wraps, reason = "it is compared with what may be a loss")]
pub(crate) fn ms(milliseconds: i64) -> Option<Delay> {
    Some(Delay(milliseconds * MS))
}
