//! From a recording to everything that follows from it.

use foldhash::HashSet;
use rrul_model::flow::{AddressFamily, Direction, FlowId};
use rrul_model::phase::Phase;
use rrul_model::recording::Recording;
use rrul_model::time::{TestTime, Window};

use crate::analysis::Analysis;
use crate::by_direction::ByDirection;
use crate::clock_offset::ClockOffset;
use crate::comparison::competition::ClientClock;
use crate::measured::{Measured, TestDescription};
use crate::metrics::delay::exchange_delay::ExchangeDelays;
use crate::metrics::delay::queueing::Queueing;
use crate::metrics::delay::recovery;
use crate::metrics::delay::round_trip_delay::Judgement;
use crate::metrics::delay::round_trip_delay::{DelayFlow, FamilyDelays, PhaseDelays, RoundTripDelay};
use crate::metrics::delay::{delay_variation, one_way_delay, send_lateness, stream_delay, transactions};
use crate::metrics::host::{failed_flows, host_health, host_series, processor_load};
use crate::metrics::loss::packet_count::Skipped;
use crate::metrics::loss::round_trip_loss::LossReport;
use crate::metrics::loss::{icmp_messages, packet_fate, packet_fate_series};
use crate::metrics::marking::{ecn, marking_path, marking_tally};
use crate::metrics::octets::link_octets::LinkOctets;
use crate::metrics::octets::{gathering, link_octets, measurement_overhead};
use crate::metrics::path::path_trace;
use crate::metrics::rate::burst;
use crate::metrics::rate::burst::Bursts;
use crate::metrics::rate::goodput::Goodput;
use crate::metrics::rate::rate_series::LoadRate;
use crate::metrics::rate::saturation;
use crate::metrics::rate::scored_window::ScoredWindow;
use crate::metrics::rate::steadiness;
use crate::metrics::rate::{flood_delivery, goodput, start_slew, start_spread};
use crate::metrics::sharing::{class_treatment, global_synchronization, stream_sharing};
use crate::metrics::tcp::{stream_limits, tcp_ecn, tcp_loss, tcp_round_trip, tcp_series};
use crate::metrics::voice::voip;
use crate::metrics::web::{browser_load, connections, name_lookups, page_loads, short_flows, video_playback};
use crate::packets::attribution;
use crate::packets::join::ProbeFlow;
use crate::packets::one_way_flow::OneWayFlows;
use crate::packets::probe_pool::pooled;
use crate::packets::recorded_time;
use crate::packets::tcp_readings::TcpReadings;
use crate::packets::{join, one_way_flow};
use crate::scored::{Distance, Scores};
use crate::series::DelayPoint;
use crate::tuning::result::TuningResult;
use crate::tuning::trials::{load_octets, trials};
use crate::validity_rule::JudgedRun;
use crate::validity_rules;

/// Computes every number that follows from a recording.
///
/// Never fails: what is missing from the recording is `None`, empty or zero in the analysis, and
/// [`Analysis::validity`] says why. The same recording always gives the same analysis.
pub fn analyze(recording: &Recording) -> Analysis {
    let header = &recording.header;
    let partial = partial(recording);
    let nothing = Window { from: TestTime::ZERO, to: TestTime::ZERO };
    let load = recording.phase(Phase::Load).unwrap_or(nothing);
    let end = recorded_time::end(recording);

    let tcp = TcpReadings::from_recording(recording);
    let gather = |direction| goodput::Load::gather(recording, &tcp, direction, load, partial.is_some());
    let (up, down) = (gather(Direction::Up), gather(Direction::Down));
    // Another program's recording has neither the kernels' counters nor markings nor schedules: rows hold 0 there.
    let imported = header.imported.is_some();
    let link_octets = if imported {
        LinkOctets::default()
    } else {
        link_octets::link_octets(recording, &gathering::gather(recording, &tcp), end)
    };
    let rates = ByDirection::each(|direction| {
        let load = if direction == Direction::Up { &up } else { &down };
        load.window().map(|window| {
            let carried = link_octets.link_rates(direction);
            LoadRate::new(window, carried, &load.series)
        })
    });
    let history = |direction| rates.get(direction).as_ref().map(|rate: &LoadRate| burst::rate_history(&rate.steps()));
    let bursts = Bursts { down: history(Direction::Down), up: history(Direction::Up) };
    let scored = ScoredWindow::new(|direction| {
        rates.get(direction).as_ref().map(|rate| rate.window).zip(bursts.direction(direction))
    });

    let trips = RoundTrips::new(recording, scored.common, end);
    let (probes, judgement, waiting_time) = (&trips.probes, trips.judgement, trips.judgement.waiting_time);
    let round_trip_delay = trips.pooled_delays();
    let of_family = |family: &AddressFamily| {
        let flows = trips.pooled().filter(|entry| entry.flow.family == *family);
        FamilyDelays { family: *family, delays: judgement.phase_delays(flows.flat_map(|entry| &entry.series)) }
    };
    let family_delays = header.families.iter().map(of_family).collect();
    let mut packets: Vec<DelayPoint> = trips.pooled().flat_map(|entry| entry.series.iter().copied()).collect();
    packets.sort_unstable_by_key(|packet| packet.at);
    let skipped = trips.pooled().map(|entry| entry.skipped).fold(Skipped::default(), |sum, flow| Skipped {
        packets: sum.packets.saturating_add(flow.packets),
        due: sum.due.saturating_add(flow.due),
    });

    let OneWayFlows { flows: one_way_flows, sweeps } = one_way_flow::one_way_flows(recording);
    let offset =
        ClockOffset::estimate(recording, &one_way_flows, ByDirection::each(|direction| link_octets.rates(direction)));

    let tallies = if imported {
        Vec::new()
    } else {
        marking_tally::tallies(recording, &sweeps, &one_way_flows, end, waiting_time)
    };
    let (up, down) = (up.goodput(scored.up), down.goodput(scored.down));
    let scored_of = |direction| scored.direction(direction).unwrap_or(load);
    let goodput = |direction: Direction| direction.select(&up, &down);
    let start_slew = start_slew::start_slew(recording, goodput, offset.as_ref(), load);
    let attributed = attribution::attribute(recording, probes, &judgement, offset.as_ref());
    let loaded = round_trip_delay.load.as_ref().and_then(|load| load.p50).unwrap_or_default();
    let sharing = stream_sharing::sharing(recording, &tcp, goodput, scored_of);
    let global_synchronization = global_synchronization::global_synchronization(recording, &tcp, goodput, scored_of);
    let stream_limits = stream_limits::stream_limits(recording, &tcp, scored_of);
    let stream_delay =
        stream_delay::stream_delay(recording, offset.as_ref(), |direction| scored.direction(direction), end);
    let phases = scored.phases(&header.phases);
    let voip = voip::voip(recording, &one_way_flows, offset.as_ref(), &phases, waiting_time);
    let scored_load = scored.common.unwrap_or(load);
    let lateness = send_lateness::send_lateness(probes).filter(|_| !imported);
    let (absent_flows, failed_flows) = failed_flows::failed_flows(recording, probes);
    let scored_window = scored.common;
    let loss = LossReport {
        round_trips: round_trip_delay.loss(),
        skipped,
        waiting_time: waiting_time.into(),
        fates: packet_fate::packet_fates(&attributed, &judgement, loaded),
        tcp: if imported { Vec::new() } else { tcp_loss::tcp_loss(recording, &tcp) },
    };
    let mut measured = Measured {
        test: described(recording),
        goodput: Goodput { down, up },
        scored,
        bursts,
        loss,
        packet_fate_series: packet_fate_series::packet_fate_series(&attributed, &judgement),
        icmp_messages: icmp_messages::icmp_messages(recording),
        round_trip_delay: RoundTripDelay { pooled: round_trip_delay, families: family_delays, flows: trips.flows },
        one_way_delay: one_way_delay::one_way_delay(
            &one_way_flows,
            offset.as_ref(),
            &judgement,
            attribution::complete_until(recording),
        ),
        round_trip_variation: delay_variation::of_round_trips(probes, &judgement),
        tcp_round_trip: tcp_round_trip::tcp_round_trip(recording, &tcp, offset.as_ref()),
        tcp_series: tcp_series::tcp_series(recording, &tcp, offset.as_ref()),
        transaction_flows: transactions::transactions(
            recording,
            end,
            &ExchangeDelays::gather(recording, offset.as_ref(), &judgement),
        ),
        start_spread: start_spread::start_spread(recording),
        start_slew,
        connections: connections::connections(recording, &phases, end),
        name_lookups: name_lookups::name_lookups(recording, &phases),
        short_flows: short_flows::short_flows(recording, &phases, end),
        video_playback: video_playback::video_playback(recording, end),
        flood_delivery: flood_delivery::flood_deliveries(recording, &one_way_flows, end),
        stream_delay,
        sharing,
        global_synchronization,
        stream_limits,
        send_lateness: lateness.map(|lateness| lateness.statistics),
        failed_flows,
        absent_flows,
        processor: processor_load::processor_load(recording, load),
        browser: browser_load::browser_load(recording, load),
        voip,
        page_loads: page_loads::page_loads(recording, scored_window),
        markings: marking_path::markings(&tallies, &one_way_flows),
        ecn: ecn::ecn(
            &tallies,
            recording.loaded().unwrap_or(load),
            if imported { Vec::new() } else { tcp_ecn::tcp_ecn(recording, &tcp, load) },
        ),
        measurement_overhead: measurement_overhead::measurement_overhead(recording, &link_octets),
        link_octets,
        hosts: host_health::hosts(recording, &tcp),
        host_series: host_series::host_series(recording, offset.as_ref()),
        ..Measured::default()
    };
    measured.path_traces =
        path_trace::path_traces(recording, &one_way_flows, offset.as_ref(), &measured.hosts, &judgement, &rates);
    measured.class_treatment = class_treatment::class_treatment(
        recording,
        &measured.one_way_delay,
        &measured.round_trip_delay.flows,
        loaded,
        |direction| measured.goodput(direction),
        scored_load,
        end - waiting_time,
    );
    let queueing =
        Queueing { one_way: &measured.one_way_delay, round_trip: &measured.round_trip_delay.pooled, packets: &packets };
    let known =
        saturation::Known { queueing, stream_limits: &measured.stream_limits, link_octets: &measured.link_octets };
    let saturation = saturation::saturations(recording, &tcp, &known, &rates);
    let stationarity = steadiness::stationarity(
        queueing,
        &measured.scored,
        &measured.bursts,
        &measured.tcp_round_trip,
        &saturation,
        &rates,
    );
    let recovery =
        recovery::recovery(recording, queueing, &measured.scored, |direction| measured.goodput(direction), end);
    let measured = Measured { saturation, stationarity, recovery, ..measured };
    let lateness_p99_9 = lateness.map(|lateness| lateness.p99_9);
    let validity = validity_rules::judge(&JudgedRun { recording, analysis: &measured, lateness_p99_9 });
    // No score is defined of a load whose rate is changed.
    let scores =
        if header.tuning.is_some() { Scores::default() } else { Scores::compute(&measured, Distance::AsSpecified) };
    let session = header.tuning.as_ref().filter(|_| cfg!(feature = "tuning"));
    let tuning_result = session.map(|plan| TuningResult::new(plan, &trials(recording), load_octets(recording)));
    Analysis { measured, validity, scores, tuning_result }
}

/// Who, when and what: what a recording says of itself.
pub(crate) fn described(recording: &Recording) -> TestDescription {
    let header = &recording.header;
    // Another program's clock is not known.
    let clock = || ClientClock { host: header.client.host.clone(), origin: header.clocks.client_origin };
    TestDescription {
        plan: header.plan.name.clone(),
        title: header.title.clone(),
        created: header.created.clone(),
        client_clock: header.imported.is_none().then(clock),
        server: header.server_name.clone(),
        encrypted: header.imported.is_none().then_some(header.encrypted),
        families: header.families.clone(),
        absent_families: header.absent_families.clone(),
        phases: header.phases.clone(),
        partial: partial(recording),
    }
}

/// Test packets that come back, with their fates.
pub(crate) struct RoundTrips<'a> {
    probes: Vec<ProbeFlow<'a>>,
    pub(crate) judgement: Judgement<'a>,
    pub(crate) flows: Vec<DelayFlow>,
}

impl<'a> RoundTrips<'a> {
    /// Reads them from a recording with this scored window, of which the observation lasted until `end`.
    pub(crate) fn new(recording: &'a Recording, scored: Option<Window>, end: TestTime) -> Self {
        let probes = join::probe_flows(recording);
        let waiting_time = join::waiting_time(&probes, recording.phase(Phase::Idle), recording.phase(Phase::Load));
        let judgement = Judgement { phases: &recording.header.phases, scored, waiting_time, end };
        let flows = probes.iter().map(|flow| judgement.flow(flow)).collect();
        Self { probes, judgement, flows }
    }

    /// The flows whose packets are pooled.
    fn pooled(&self) -> impl Iterator<Item = &DelayFlow> {
        let pooled: HashSet<FlowId> = pooled(&self.probes).into_iter().map(|entry| entry.flow.id).collect();
        self.flows.iter().filter(move |entry| pooled.contains(&entry.flow.id))
    }

    /// Delays of all their packets.
    pub(crate) fn pooled_delays(&self) -> PhaseDelays {
        self.judgement.phase_delays(self.pooled().flat_map(|entry| &entry.series))
    }
}

/// Why the recording is not complete; `None` when it is.
pub(crate) fn partial(recording: &Recording) -> Option<String> {
    match &recording.end {
        Some(end) => end.partial.clone(),
        None => Some("the file is cut off, because rrul was killed or the disk was full".to_owned()),
    }
}
