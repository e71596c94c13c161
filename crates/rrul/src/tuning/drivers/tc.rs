//! Queue disciplines of Linux at the root of network interfaces, here or on a host reached by ssh.
//!
//! A change sets the rate and nothing else: what waits in the queues stays there. The handle of the discipline is part of
//! each command, so one that somebody else has set up in between is left alone.

use std::thread;
use std::time::{Duration, Instant};

use rrul_model::flow::Direction;
use rrul_model::shaping::{ShaperCounters, ShaperDescription, ShaperRates};
use rrul_model::units::BitRate;

use super::super::changeable::Changeable;
use super::super::host::Host;
use super::super::restoration::Restoration;
use super::super::shaper::{ShaperError, ShaperState};
use super::super::shell::quote;
use super::queue_discipline::{ETHERNET_HEADER, QueueDiscipline, Shown, UNLIMITED};
use super::unsettable::Unsettable;

/// Where tc is, for users whose search path leaves it out.
const SEARCH_PATH: &str = "PATH=$PATH:/usr/sbin:/sbin";

/// Separates the outputs of several commands.
pub(super) const MARK: &str = "--rrul--";

/// What `ip link show` prints of interfaces whose packets have an Ethernet header.
const ETHERNET: &str = "link/ether";

/// The rate that an interface reads after a change may differ by this: tc shows the rates of classes in whole kbit/s.
const ROUNDING: u64 = 1000;

/// The same from [`GIGABIT`] on, where tc shows them in whole Mbit/s.
const FAST_ROUNDING: u64 = 1_000_000;

const GIGABIT: u64 = 1_000_000_000;

/// How long a shaper that is set up anew is waited for.
const STARTING: Duration = Duration::from_secs(15);
const LOOKING: Duration = Duration::from_millis(500);

/// One direction and its interface.
struct Side {
    direction: Direction,
    interface: String,
    found: QueueDiscipline,
}

/// Shapers at the root of interfaces.
pub(crate) struct TcShaper {
    host: Host,
    sides: Vec<Side>,
    /// The host's start: a restart undoes what a session has changed.
    boot: String,
    description: ShaperDescription,
}

impl TcShaper {
    /// Finds the shapers of these interfaces.
    pub(crate) fn find(mut host: Host, down: Option<&str>, up: Option<&str>) -> Result<Self, ShaperError> {
        let interfaces = [(Direction::Down, down), (Direction::Up, up)];
        let interfaces: Vec<(Direction, &str)> =
            interfaces.into_iter().filter_map(|(direction, name)| Some((direction, name?))).collect();
        let names: Vec<&str> = interfaces.iter().map(|(_, name)| *name).collect();
        let (boot, found) = look(&mut host, "", &names)?;
        let side = |((direction, name), found): ((Direction, &str), QueueDiscipline)| Side {
            direction,
            interface: name.to_owned(),
            found,
        };
        let sides: Vec<Side> = interfaces.into_iter().zip(found).map(side).collect();
        let of = |direction| sides.iter().find(|side| side.direction == direction).map(|side| &side.found);
        let words = |direction: Direction, name: Option<&str>| name.map(|name| format!("{} {name}", direction.name()));
        let targets: Vec<String> =
            [words(Direction::Down, down), words(Direction::Up, up)].into_iter().flatten().collect();
        let description = ShaperDescription {
            driver: "tc".to_owned(),
            target: format!("{}: {}", host.name(), targets.join(", ")),
            down_discipline: of(Direction::Down).map(QueueDiscipline::name),
            up_discipline: of(Direction::Up).map(QueueDiscipline::name),
            down_link_layer: of(Direction::Down).and_then(QueueDiscipline::link_layer),
            up_link_layer: of(Direction::Up).and_then(QueueDiscipline::link_layer),
            section: None,
            outside: false,
            on_router: host.destination().is_some(),
            found: Some(ShaperRates {
                down: of(Direction::Down).and_then(QueueDiscipline::rate),
                up: of(Direction::Up).and_then(QueueDiscipline::rate),
            }),
        };
        Ok(Self { host, sides, boot, description })
    }

    /// The host that it is on.
    pub(super) fn host(&mut self) -> &mut Host {
        &mut self.host
    }

    /// Describes it as what another driver has found, in this section of a configuration.
    pub(super) fn rename(&mut self, driver: &str, target: &str, section: &str) {
        driver.clone_into(&mut self.description.driver);
        target.clone_into(&mut self.description.target);
        self.description.section = Some(section.to_owned());
    }

    /// Looks at all interfaces, after a script.
    fn look(&mut self, before: &str) -> Result<Vec<QueueDiscipline>, ShaperError> {
        let names: Vec<&str> = self.sides.iter().map(|side| side.interface.as_str()).collect();
        Ok(look(&mut self.host, before, &names)?.1)
    }

    /// Finds the shapers anew, which have been set up with these rates. A direction without one is what it was.
    pub(super) fn find_again(&mut self, rates: ShaperRates) -> Result<(), ShaperError> {
        let end = Instant::now() + STARTING;
        let found = loop {
            match self.look("").and_then(|found| self.in_force(rates, &found, true).map(|()| found)) {
                Ok(found) => break found,
                Err(error) if Instant::now() >= end => return Err(error),
                Err(_) => thread::sleep(LOOKING),
            }
        };
        self.description.found = Some(self.rates(&found));
        for (side, found) in self.sides.iter_mut().zip(found) {
            side.found = found;
        }
        Ok(())
    }

    /// Checks that these are the rates that were set; of those that are `None` only if they were set as well.
    fn in_force(&self, rates: ShaperRates, read: &[QueueDiscipline], only_given: bool) -> Result<(), ShaperError> {
        let limit = |rate: Option<BitRate>| rate.unwrap_or(UNLIMITED);
        for (side, read) in self.sides.iter().zip(read) {
            let (set, read) = (limit(rates.direction(side.direction)), limit(read.rate()));
            if !(is_same(set, read) || only_given && rates.direction(side.direction).is_none()) {
                let place = self.description.target.clone();
                return Err(ShaperError::NotInForce { place, direction: side.direction, set, read });
            }
        }
        Ok(())
    }

    fn rates(&self, read: &[QueueDiscipline]) -> ShaperRates {
        let sides = self.sides.iter().zip(read);
        sides.fold(ShaperRates::UNSHAPED, |rates, (side, read)| rates.with(side.direction, read.rate()))
    }
}

impl Changeable for TcShaper {
    fn describe(&self) -> &ShaperDescription {
        &self.description
    }

    fn has(&self, direction: Direction) -> bool {
        self.sides.iter().any(|side| side.direction == direction)
    }

    fn read(&mut self) -> Result<ShaperState, ShaperError> {
        let read = self.look("")?;
        Ok(ShaperState { rates: Some(self.rates(&read)) })
    }

    fn change(&mut self, rates: ShaperRates) -> Result<(), ShaperError> {
        let script = self.commands(rates).join(" && ");
        let read = self.look(&script)?;
        self.in_force(rates, &read, false)
    }

    fn counters(&mut self) -> Result<Option<ShaperCounters>, ShaperError> {
        let read = self.look("")?;
        let of = |direction| {
            let mut sides = self.sides.iter().zip(&read);
            sides.find(|(side, _)| side.direction == direction).map(|(_, read)| read.counters)
        };
        Ok(Some(ShaperCounters { down: of(Direction::Down), up: of(Direction::Up) }))
    }

    fn restoration(&self) -> Restoration {
        // After a restart of the host, or when a discipline has been replaced, nothing of the session is left.
        // A host that cannot start another process knows nothing of its shaper: the script fails, and runs again later.
        let same_boot = format!(
            "boot=$(cat /proc/sys/kernel/random/boot_id) && [ -n \"$boot\" ] || exit 1; [ \"$boot\" = {} ] || exit 0",
            quote(&self.boot)
        );
        let side = |side: &Side| {
            let found = &side.found;
            let commands = found.restoring_commands(&side.interface).join(" && ");
            let there = quote(&format!(" {} root", found.handle));
            format!(
                "{{ now=$(tc qdisc show dev {} 2>&1) || case \"$now\" in *'Cannot find device'*) now= ;; *) false ;; esac; }} && \
                 case \"$now\" in *{there}*) {commands} ;; esac",
                quote(&side.interface)
            )
        };
        let sides: Vec<String> = self.sides.iter().map(side).collect();
        Restoration {
            title: self.description.target.clone(),
            host: self.host.destination(),
            script: format!("{SEARCH_PATH}; {same_boot}; ok=0; {} || ok=1; exit $ok", sides.join(" || ok=1; ")),
        }
    }

    fn restore(&mut self) -> Result<(), ShaperError> {
        let restoration = self.restoration();
        let read = self.look(&format!("( {} )", restoration.script))?;
        for (side, now) in self.sides.iter().zip(&read) {
            let replaced = now.handle != side.found.handle;
            let limit = |discipline: &QueueDiscipline| discipline.rate().unwrap_or(UNLIMITED);
            if !replaced && limit(now) != limit(&side.found) {
                return Err(ShaperError::NotInForce {
                    place: self.description.target.clone(),
                    direction: side.direction,
                    set: limit(&side.found),
                    read: limit(now),
                });
            }
        }
        Ok(())
    }

    fn arm(&mut self, restoration: &Restoration) -> Result<(), ShaperError> {
        self.host.arm(restoration)
    }

    fn disarm(&mut self) -> Result<(), ShaperError> {
        self.host.disarm()
    }

    fn commands(&self, rates: ShaperRates) -> Vec<String> {
        let commands = |side: &Side| side.found.commands(&side.interface, rates.direction(side.direction));
        self.sides.iter().flat_map(commands).collect()
    }
}

/// Whether an interface that was set to one rate reads the other one, as tc rounds it.
fn is_same(set: BitRate, read: BitRate) -> bool {
    let rounding = if set.0 >= GIGABIT { FAST_ROUNDING } else { ROUNDING };
    set.0.abs_diff(read.0) <= rounding
}

/// Runs a script and then looks at interfaces: the host's start, and what shapes each.
fn look(host: &mut Host, before: &str, interfaces: &[&str]) -> Result<(String, Vec<QueueDiscipline>), ShaperError> {
    let first = if before.is_empty() { String::new() } else { format!("{{ {before}; }} || exit 1; ") };
    let show = |name: &&str| {
        let dev = quote(name);
        format!(
            "echo {MARK}; ip link show dev {dev}; echo {MARK}; tc -j -s qdisc show dev {dev} || exit 1\n\
             echo {MARK}; tc -r -d qdisc show dev {dev}; echo {MARK}; tc -d class show dev {dev}"
        )
    };
    let show: Vec<String> = interfaces.iter().map(show).collect();
    let boot = "cat /proc/sys/kernel/random/boot_id || exit 1";
    let script = format!("{SEARCH_PATH}; {first}{boot}; {}", show.join("; "));
    let place = host.name();
    let what = if before.is_empty() { "tc qdisc show" } else { "tc qdisc change" };
    let output = host.run(what, &script)?.success(&place, what)?;
    let parts: Vec<&str> = output.split(&format!("{MARK}\n")).collect();
    let [boot, shown @ ..] = parts.as_slice() else { return Err(incomplete(place)) };
    let (of_interfaces, rest) = shown.as_chunks::<4>();
    if !rest.is_empty() || of_interfaces.len() != interfaces.len() {
        return Err(incomplete(place));
    }
    let refused = |name: &str, error: &Unsettable| ShaperError::Refused {
        place: format!("{place}, {name}"),
        reason: error.to_string(),
    };
    let mut found = Vec::new();
    for (name, &[kind, disciplines, raw, classes]) in interfaces.iter().zip(of_interfaces) {
        let header = if kind.contains(ETHERNET) { ETHERNET_HEADER } else { 0 };
        let read = QueueDiscipline::read(Shown { disciplines, raw, classes, header });
        found.push(read.map_err(|error| refused(name, &error))?);
    }
    Ok((boot.trim().to_owned(), found))
}

fn incomplete(place: String) -> ShaperError {
    let message = "parts of it are missing".to_owned();
    ShaperError::Output { place, what: "tc".to_owned(), message }
}

#[cfg(test)]
#[path = "tc_tests.rs"]
mod tests;
