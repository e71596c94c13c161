//! DNS lookups: a name in every interval, whatever becomes of those before (spec: DNS Lookup Speed).
//!
//! A and AAAA are asked for together, as programs do, from a new socket each time. Asked are rrul's own server for
//! names that no cache contains, so that the path alone is measured, or the resolver of the host, for a name in its
//! cache or for one that is not. Nothing is asked twice: what is lost shows. One thread drives all flows.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::thread::JoinHandle;
use std::time::Duration;

use rrul_model::flow::{AddressFamily, FlowSpec, FlowTypeWords, ParameterKind, ParameterWord};
use rrul_model::observation::{FlowEventKind, ProbesSkipped};
use rrul_model::time::TestTime;
use rrul_model::units::Delay;
use rrul_proto::name_question::{Question, RecordKind};
use rrul_proto::schedule::send_schedule::SendSchedule;
use rrul_proto::session_name::SessionName;
use rrul_proto::token::Token;

use super::{WAITING, parallel_setup, udp_probe};
use crate::clock::test_clock::TestClock;
use crate::clock::{RawTime, WallClock};
use crate::endpoint::Endpoint;
use crate::endpoint::test_course::PATIENCE;
use crate::flow_type::{FlowType, Footprint, Initiation, Pacing};
use crate::name_lookup::{Lookup, Resolver, Which, random_label};
use crate::observer::ObservationSink;
use crate::privacy::Privacy;
use crate::scheduling;
use crate::server::parts::reflector::Reflected;
use crate::server::session::ServerPart;
use crate::setup_error::SetupError;
use crate::socket::{options, wait::WaitSet};
use crate::system_resolver;

const DEFAULT_INTERVAL: Duration = Duration::from_millis(500);
const SHORTEST_INTERVAL: Duration = Duration::from_millis(50);

/// When a lookup is given up: the time that a resolver library waits for the first answer (resolv.conf(5), `timeout`).
const LONGEST: Duration = Duration::from_secs(5);

/// Rows between two collections, and lookups that wait at the same time.
const ROWS: usize = 1024;

/// Reserved for documentation (RFC 2606), and answered all over the world.
const DEFAULT_NAME: &str = "example.com";

pub(crate) struct DnsLookup;

impl FlowType for DnsLookup {
    fn descriptor(&self) -> &'static FlowTypeWords {
        &FlowTypeWords {
            name: "dns_lookup",
            about: "a name looked up in every interval, A and AAAA together: lookup time, lookups without an answer",
            directed: false,
            parameters: &[
                ParameterWord {
                    name: "resolver",
                    kind: ParameterKind::ChoiceOrAddress(&["server", "system"]),
                    about: "resolver: rrul's server, the first resolver of /etc/resolv.conf in the flow's family, or the \
                        one at this address; default server",
                },
                ParameterWord {
                    name: "names",
                    kind: ParameterKind::Choice(&["random", "cached", "uncached"]),
                    about: "random: new names of the server's own, each time; of other resolvers, cached: the same name \
                        again and again, or uncached: a new one below it each time; default random, of others cached",
                },
                ParameterWord {
                    name: "name",
                    kind: ParameterKind::Name,
                    about: "name that other resolvers are asked for; default example.com",
                },
                ParameterWord {
                    name: "interval",
                    kind: ParameterKind::Duration,
                    about: "one lookup in each, at a random phase; default 500ms, least 50ms",
                },
            ],
        }
    }

    fn server_part(&self) -> &'static dyn ServerPart {
        &Reflected
    }

    fn packets_per_second(&self, spec: &FlowSpec) -> f64 {
        if resolver_of(spec) == "server" { 2.0 / interval_of(spec).as_secs_f64() } else { 0.0 }
    }

    fn footprint(&self, spec: &FlowSpec) -> Footprint {
        let questions = 2.0 / interval_of(spec).as_secs_f64();
        let bits = |octets| udp_probe::packet_bits(spec, octets);
        Footprint { up: questions * bits(USUAL_QUESTION), down: questions * bits(USUAL_ANSWER) }
    }

    fn pacing(&self) -> Pacing {
        let longest = Duration::from_secs(4);
        Pacing::Interval { parameter: "interval", default: DEFAULT_INTERVAL, longest, yields: 1.0 }
    }

    fn effective_parameters(&self, spec: &FlowSpec) -> BTreeMap<&'static str, String> {
        BTreeMap::from([("resolver", resolver_of(spec).to_owned()), ("names", names_of(spec).to_owned())])
    }

    fn initiate(&self, specs: &[&FlowSpec], initiation: &Initiation) -> Vec<JoinHandle<()>> {
        parallel_setup::spawn_one("dns_lookup", specs, initiation, Asker::new, run)
    }
}

fn interval_of(spec: &FlowSpec) -> Duration {
    spec.parameters.duration("interval", DEFAULT_INTERVAL).max(SHORTEST_INTERVAL)
}

fn resolver_of(spec: &FlowSpec) -> &str {
    spec.parameters.text("resolver").unwrap_or("server")
}

fn names_of(spec: &FlowSpec) -> &str {
    spec.parameters.text("names").unwrap_or(if resolver_of(spec) == "server" { "random" } else { "cached" })
}

/// Bytes of UDP payload of a question for a name of the server's own, and of its answer.
const USUAL_QUESTION: u64 = 105;
const USUAL_ANSWER: u64 = 125;

/// Which names are asked for.
#[derive(Debug)]
enum Names {
    /// New ones of the session.
    OfSession(Token),
    Cached(String),
    Below(String),
}

/// What asks the questions of one flow.
struct Asker {
    spec: FlowSpec,
    resolver: Resolver,
    names: Names,
    interval: Duration,
    schedule: std::iter::Peekable<SendSchedule>,
    sequence: u32,
}

impl Asker {
    fn new(spec: &FlowSpec, initiation: &Initiation) -> Result<Self, SetupError> {
        let resolver = Resolver { address: address_of(spec, initiation)?, class: spec.class };
        let interval = interval_of(spec);
        let asker = Self {
            spec: spec.clone(),
            resolver,
            names: Names::asked_for(spec, initiation)?,
            interval,
            schedule: SendSchedule::new(spec.window, interval, initiation.schedule_seed_for(spec)).peekable(),
            sequence: 0,
        };
        let longest = asker.name();
        Question::new(0, &longest, RecordKind::A)
            .map_err(|error| SetupError::Parameters(format!("{longest}: {error}; correct its name")))?;
        // Whether this host marks such sockets, and has a way to the resolver at all, shows before the test.
        let socket = resolver.socket().map_err(SetupError::socket("cannot ask the resolver"))?;
        let octet = options::marked(&socket, spec.family).unwrap_or(u32::from(spec.class.octet()));
        initiation.end.event(spec.id, FlowEventKind::Marked, octet.to_string());
        Ok(asker)
    }

    /// The name to be looked up next.
    fn name(&self) -> String {
        match &self.names {
            Names::OfSession(token) => {
                SessionName { label: &random_label(), flow: self.spec.id.0, token: *token }.to_string()
            }
            Names::Cached(name) => name.clone(),
            Names::Below(name) => format!("{}.{name}", random_label()),
        }
    }

    fn due(&mut self, ends: TestTime) -> Option<TestTime> {
        self.schedule.peek().copied().filter(|due| *due < ends)
    }

    /// Asks everything that is due.
    fn ask_due(
        &mut self,
        (clock, ends): (TestClock, TestTime),
        pending: &mut Vec<Lookup>,
        sink: &mut ObservationSink<'_>,
    ) {
        while let Some(scheduled) = self.due(ends).filter(|due| *due <= clock.now()) {
            self.schedule.next();
            let now = clock.now();
            // As with test packets: what became due while the host stalled would be a burst.
            if now.since(scheduled) > Delay::from(self.interval) {
                sink.note(ProbesSkipped { flow: self.spec.id, at: now, count: 1 });
                continue;
            }
            let which = Which { flow: self.spec.id, sequence: self.sequence, scheduled };
            self.sequence = self.sequence.wrapping_add(1);
            let mut note = |row| sink.note(row);
            if let Ok(Some(lookup)) = Lookup::ask(which, &self.resolver, &self.name(), clock, &mut note) {
                pending.push(lookup);
            }
        }
    }
}

impl Names {
    fn asked_for(spec: &FlowSpec, initiation: &Initiation) -> Result<Self, SetupError> {
        let name = spec.parameters.text("name").unwrap_or(DEFAULT_NAME).to_owned();
        match (resolver_of(spec), names_of(spec)) {
            ("server", "random") => Ok(Self::OfSession(initiation.token)),
            ("server", other) => {
                Err(SetupError::Parameters(format!("the server answers for no name that is {other}; leave out names")))
            }
            (_, "cached") => Ok(Self::Cached(name)),
            (_, "uncached") => Ok(Self::Below(name)),
            (_, other) => Err(SetupError::Parameters(format!(
                "only the server answers for names that are {other}; choose cached or uncached"
            ))),
        }
    }
}

/// Where the resolver of a flow listens.
fn address_of(spec: &FlowSpec, initiation: &Initiation) -> Result<SocketAddr, SetupError> {
    let address = match resolver_of(spec) {
        "server" => {
            return initiation.server_for(spec);
        }
        "system" => system_resolver::find(spec.family)?,
        text => {
            let address: IpAddr =
                text.parse().map_err(|_| SetupError::Parameters(format!("resolver {text}: no IP address")))?;
            SocketAddr::new(address, system_resolver::PORT)
        }
    };
    if AddressFamily::from_address(address.ip()) != spec.family {
        let advice = format!("its resolver has no address of {}; give the flow a family", spec.family);
        return Err(SetupError::Parameters(advice));
    }
    if resolver_of(spec) == "system" && initiation.privacy == Privacy::Open {
        initiation.end.event(spec.id, FlowEventKind::Uses, format!("resolver {}", address.ip()));
    }
    Ok(address)
}

/// Asks and listens until every lookup has ended or timed out. The thread's whole life.
fn run(end: &Endpoint, clock: TestClock, mut askers: Vec<Asker>) {
    // Without permission questions leave a little later on a busy host; the environment says so.
    let _ = scheduling::run_as_probe();
    scheduling::prompt_timers();
    let mut sink = end.observer.sink(ROWS);
    let mut wall = WallClock::new();
    let last = end.length() + WAITING;
    let mut pending: Vec<Lookup> = Vec::with_capacity(ROWS);
    let mut waiting = WaitSet::default();
    loop {
        let now = clock.now();
        let due = askers.iter_mut().filter_map(|asker| asker.due(end.length())).min();
        if end.is_stopped() || now >= last || due.is_none() && pending.is_empty() {
            break;
        }
        waiting.clear();
        for lookup in &pending {
            waiting.add_readable(lookup);
        }
        let until = pending.iter().map(|lookup| lookup.started() + LONGEST).chain(due).min().unwrap_or(last);
        let patience = u64::try_from(until.since(now).0).map_or(Duration::ZERO, Duration::from_nanos);
        waiting.wait_or_pause(patience.min(PATIENCE));
        wall.refresh(RawTime::now());
        let now = clock.now();
        let mut note = |row| sink.note(row);
        // From the last to the first, so that the one that takes the place of a finished one has been looked at.
        for place in (0..pending.len()).rev() {
            let lookup = &mut pending[place];
            if waiting.ready(place) {
                lookup.receive(clock, &wall, &mut note);
            }
            if now >= lookup.started() + LONGEST {
                lookup.give_up(now, &mut note);
            }
            if lookup.is_done() {
                pending.swap_remove(place);
            }
        }
        for asker in &mut askers {
            asker.ask_due((clock, end.length()), &mut pending, &mut sink);
        }
    }
    let now = clock.now();
    for lookup in &mut pending {
        lookup.give_up(now, &mut |row| sink.note(row));
    }
}
