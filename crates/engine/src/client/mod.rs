//! The client: leads a test from its plan to its last frame.

mod budget;
mod clock_sync;
mod connecting;
mod control_client;
mod counting_observer;
mod drain_watch;
mod host_description;
mod line_rate;
mod memory_recorder;
mod options;
mod redacting_observer;
mod report_budget;
mod run_loop;
mod server_names;
mod server_silence;
mod server_trust;
mod trace_rate;
mod waiting_line;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rrul_model::flow::{AddressFamily, FlowSpec, Parameters};
use rrul_model::observation::ObservationPoint;
use rrul_model::phase::{Phase, loaded};
use rrul_model::printable;
use rrul_model::random::Random;
use rrul_model::recording::{Clocks, End, FORMAT, Header};
use rrul_model::time::TestTime;
use rrul_proto::control::{ClientMessage, ControlError, ServerMessage};
use rrul_proto::limits::{FRAME_OCTETS, Limits, STRING_OCTETS};
use rrul_proto::packet_seal::PacketSeal;
use rrul_proto::stream_key::StreamKey;
use rrul_proto::token::Token;

use crate::clock::test_clock::TestClock;
use crate::control_link::LinkError;
use crate::endpoint::Endpoint;
use crate::flow_type::Initiation;
use crate::flow_types;
use crate::privacy::Privacy;
use connecting::Connected;
use control_client::{listen, send};
use counting_observer::CountingObserver;
use drain_watch::DrainWatch;
use host_description::HostDescriptions;
pub use memory_recorder::MemoryRecorder;
pub use options::{Families, NameError, PlaceInLine, RunError, RunObserver, RunOptions};
use redacting_observer::RedactingObserver;
use report_budget::ReportBudget;
use run_loop::{Ending, OpenLoad};
pub use server_names::addresses_under_test;
pub use server_trust::{Encryption, ExpectedKey, FirstMeeting, Met, ServerTrust, TrustError};

/// From the agreement to T0, beside two round trips: time for the message to arrive and every thread to get ready.
const LEAD: Duration = Duration::from_millis(400);

/// How often it is looked for a user who stops the test while flows are being set up.
const STOP_INTERVAL: Duration = Duration::from_millis(10);

/// Runs a test. `stop` ends it early, with everything observed until then.
///
/// # Errors
/// When it cannot begin.
pub fn run(options: &RunOptions, audience: &mut dyn RunObserver, stop: &AtomicBool) -> Result<(), RunError> {
    run_until(options, audience, stop, &AtomicBool::new(false))
}

/// Runs a test whose load ends when `end_load` is set, or at its planned end if that comes first; phase `after` follows.
///
/// A server that cannot end the load is stopped instead, and the recording says so.
///
/// # Errors
/// When it cannot begin.
pub fn run_until(
    options: &RunOptions,
    audience: &mut dyn RunObserver,
    stop: &AtomicBool,
    end_load: &AtomicBool,
) -> Result<(), RunError> {
    let mut counting = CountingObserver::new(audience);
    match options.privacy {
        Privacy::Open => run_for(options, &mut counting, stop, end_load),
        Privacy::Strict => run_for(options, &mut RedactingObserver(&mut counting), stop, end_load),
    }
}

fn run_for(
    options: &RunOptions,
    audience: &mut dyn RunObserver,
    stop: &AtomicBool,
    end_load: &AtomicBool,
) -> Result<(), RunError> {
    let names = server_names::resolve(&options.server, options.port)?;
    let Connected { mut control, token, seal, stream_key, limits, server, proven, absent, mut heartbeat } =
        waiting_line::connected(options, audience, stop, || connecting::connect(options, &names, stop))?;
    // At once: what the server grants depends on it.
    heartbeat.beat(&mut control);
    let mut hosts = HostDescriptions::new(options.privacy, &proven, seal.clone(), *server);
    let families: Vec<AddressFamily> = proven.iter().map(|address| AddressFamily::from_address(address.ip())).collect();
    let mut flows = flow_types::with_effective_parameters(options.plan.flows(&families));
    let refused = |reason| RunError::Refused { server: options.server.clone(), reason };
    // Before it waits for its turn in vain.
    if let Some(reason) = limits.refusal(&flows_for_server(&without_sites(&flows)), options.plan.length()) {
        return Err(refused(reason));
    }
    // Before anything is measured: what others send now is none of this test's.
    let load = flow_types::load_of(&flows);
    waiting_line::take_turn(&mut control, &mut heartbeat, load, options, audience, stop)?;
    let line_rate = match proven.first() {
        Some(server)
            if options.plan.overhead.is_some() && budget::depends_on_line(&flows)
                || trace_rate::depends_on_line(&flows) =>
        {
            line_rate::estimate(*server, &seal, stop)
        }
        _ => None,
    };
    trace_rate::settle(&mut flows, line_rate.as_ref());
    let budget = budget::settle(&mut flows, line_rate.as_ref(), &options.plan.phase_windows(), options.plan.overhead);
    let flows = flows;
    let lost = |source| {
        if stop.load(Ordering::Relaxed) {
            return RunError::Stopped;
        }
        RunError::Lost { server: options.server.clone(), source }
    };

    let length = options.plan.length();
    // The server would say the same, but what asks for too much may not even fit into a frame.
    let too_much = || too_many_packets(&flows, &limits).or_else(|| too_many_connections(&flows, &limits));
    // Which sites a browser loads is no business of the server's.
    let public_flows = without_sites(&flows);
    let shown = flows_for_server(&public_flows);
    if let Some(reason) = limits.refusal(&shown, length).or_else(too_much) {
        return Err(refused(reason));
    }
    let interval = options.plan.sample_interval;
    let end = Arc::new(Endpoint::new(ObservationPoint::Client, interval, TestTime::ZERO + length));
    let _stopped_whatever_happens = StopOnDrop(Arc::clone(&end));
    send(&mut control, &ClientMessage::Open { flows: shown, length, sample_interval: interval }).map_err(|error| {
        match error {
            LinkError::Message(ControlError::TooLong(octets)) => refused(format!(
                "its {} flows take {octets} bytes to describe, and a control frame has room for {FRAME_OCTETS}",
                flows.len()
            )),
            error => lost(error),
        }
    })?;
    let (not_served, server_ends_it) = match listen(&mut control, stop).map_err(lost)? {
        ServerMessage::Opened { refused, state, ends_load } => {
            hosts.server.state = *state.unwrap_or_default();
            (refused, ends_load)
        }
        ServerMessage::Refused { reason, retry_after } => {
            let reason = printable::field(&reason).into_owned();
            return Err(match retry_after {
                Some(_) => RunError::Busy { server: options.server.clone(), reason, waits: options.wait },
                None => refused(reason),
            });
        }
        _ => return Err(lost(LinkError::Closed)),
    };
    let mut standing: Vec<&FlowSpec> = flows.iter().collect();
    for refusal in not_served {
        if let Some(place) = standing.iter().position(|spec| spec.id == refusal.flow) {
            end.failed(standing.remove(place), printable::field(&refusal.reason).into_owned());
        }
    }
    let threads = std::thread::scope(|scope| {
        let initiating = scope.spawn(|| initiate(&standing, &proven, (token, seal, stream_key), options, &end));
        while !initiating.is_finished() {
            if stop.load(Ordering::Relaxed) {
                end.stop();
            }
            heartbeat.beat(&mut control);
            std::thread::sleep(STOP_INTERVAL);
        }
        // Its panic has been printed on stderr; without flows the test shows no data.
        initiating.join().unwrap_or_default()
    });
    if stop.load(Ordering::Relaxed) {
        return Err(RunError::Stopped);
    }
    let state = hosts.client_state();
    end.health.watch_interfaces(&state);
    let (client, server) = hosts.before(state);
    let matched = clock_sync::match_clocks(&mut control, stop).map_err(lost)?;
    let lead = i64::try_from(LEAD.as_nanos()).unwrap_or(0) + 2 * matched.round_trip;
    let clock = TestClock::since(matched.read_at.plus(lead));
    let server_origin = matched.server_time(clock.origin);
    let mut plan = options.plan.clone();
    if options.privacy == Privacy::Strict {
        plan.entries.iter_mut().flat_map(|entry| &mut entry.parameters).for_each(forget_site);
    }
    let header = Header {
        format: FORMAT.to_owned(),
        title: options.title.clone(),
        created: options.created.clone(),
        plan,
        phases: options.plan.phase_windows(),
        families,
        absent_families: absent,
        encrypted: control.is_encrypted(),
        server_name: if_open(options.privacy, options.server.clone()),
        server_addresses: if_open(options.privacy, proven.iter().map(SocketAddr::ip).collect()),
        line_rate,
        budget,
        clocks: Clocks { client_origin: clock.origin.0, exchange_round_trip: matched.round_trip },
        client,
        server,
        imported: None,
        tuning: None,
        flows: if options.privacy == Privacy::Open { flows.clone() } else { public_flows },
    };
    audience.header(&header);
    send(&mut control, &ClientMessage::Begin { origin: server_origin }).map_err(lost)?;
    end.begin(clock, server_origin);
    let watch = options.plan.after_at_most.and_then(|_| {
        let least = options.plan.phases.iter().find(|entry| entry.phase == Phase::After)?.length;
        DrainWatch::new(&options.plan.phase_windows(), least)
    });
    let open_load = OpenLoad { ended: end_load, window: loaded(&options.plan.phase_windows()), server_ends_it };
    let reports = ReportBudget::new(&flows, length, interval);
    let Ending { partial, phases_ended, load_ended, server } =
        run_loop::measure(control, heartbeat, &end, clock, audience, stop, &threads, watch, open_load, reports);
    for thread in threads {
        // A thread that panicked has said so, and its flow shows no data.
        let _ = thread.join();
    }
    end.observer.collect(clock).into_iter().for_each(|frame| audience.frame(frame));
    let at = clock.now();
    let (client, server) = hosts.after(server);
    audience.end(&End { at, partial, phases_ended, load_ended, client, server, ..End::default() });
    Ok(())
}

/// Why these flows send more test packets than the server answers; beyond that they would look lost.
fn too_many_packets(flows: &[FlowSpec], limits: &Limits) -> Option<String> {
    let rate = |spec: &FlowSpec| flow_types::named(&spec.flow_type).map_or(0.0, |kind| kind.packets_per_second(spec));
    let sum: f64 = flows.iter().map(rate).sum();
    (sum > f64::from(limits.packets_per_second)).then(|| {
        format!(
            "its probes send up to {sum:.0} packets a second, this server answers {}; raise their interval or min_interval",
            limits.packets_per_second
        )
    })
}

/// Why these flows open more connections than the server answers; beyond that they would look refused.
fn too_many_connections(flows: &[FlowSpec], limits: &Limits) -> Option<String> {
    let rate =
        |spec: &FlowSpec| flow_types::named(&spec.flow_type).map_or(0.0, |kind| kind.connections_per_second(spec));
    let sum: f64 = flows.iter().map(rate).sum();
    (sum > f64::from(limits.connections_per_second)).then(|| {
        format!(
            "its flows open {sum:.0} connections a second, this server answers {}; raise the interval of tcp_connect or short_flow",
            limits.connections_per_second
        )
    })
}

/// Ends the flows' threads when a test ends early.
struct StopOnDrop(Arc<Endpoint>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.stop();
    }
}

fn if_open<T: Default>(privacy: Privacy, value: T) -> T {
    if privacy == Privacy::Open { value } else { T::default() }
}

/// These flows without the addresses of sites.
fn without_sites(flows: &[FlowSpec]) -> Vec<FlowSpec> {
    let mut flows = flows.to_vec();
    flows.iter_mut().map(|flow| &mut flow.parameters).for_each(forget_site);
    flows
}

/// These flows with names as short as a server takes them: it goes by their numbers.
fn flows_for_server(flows: &[FlowSpec]) -> Vec<FlowSpec> {
    let mut flows = flows.to_vec();
    for flow in &mut flows {
        flow.name.truncate(flow.name.floor_char_boundary(STRING_OCTETS));
    }
    flows
}

fn forget_site(parameters: &mut Parameters) {
    parameters.0.remove(flow_types::browser_page::URL);
}

/// Sets up every flow, type by type.
fn initiate(
    flows: &[&FlowSpec],
    servers: &[SocketAddr],
    (token, seal, stream_key): (Token, PacketSeal, Option<StreamKey>),
    options: &RunOptions,
    end: &Arc<Endpoint>,
) -> Vec<std::thread::JoinHandle<()>> {
    let initiation = Initiation {
        end: Arc::clone(end),
        token,
        seal,
        stream_key,
        servers: servers.to_vec(),
        seed: Random(options.seed).next(),
        privacy: options.privacy,
        page_turn: Arc::default(),
        phases: options.plan.phase_windows(),
    };
    let mut threads = Vec::new();
    for flow_type in flow_types::FLOW_TYPES {
        let of_type: Vec<&FlowSpec> = flows.iter().copied().filter(|spec| flow_type.is_of(spec)).collect();
        threads.extend(flow_type.initiate(&of_type, &initiation));
    }
    threads
}
