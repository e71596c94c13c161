//! SQM of OpenWrt, reached by ssh.
//!
//! While a search goes on only tc sets rates, so a restart of the router undoes everything. Only [`Changeable::apply`]
//! writes the configuration.

use rrul_model::flow::Direction;
use rrul_model::shaping::{ShaperCounters, ShaperDescription, ShaperRates};
use rrul_model::units::BitRate;

use super::super::changeable::Changeable;
use super::super::host::Host;
use super::super::restoration::Restoration;
use super::super::shaper::{ShaperError, ShaperState};
use super::super::shell::quote;
use super::tc::{MARK, TcShaper};

const COMMIT: &str = "uci commit sqm";
const RELOAD: &str = "/etc/init.d/sqm reload";

/// Most characters of the name of an interface.
const NAME: usize = 15;

/// SQM on one interface of a router.
pub(crate) struct OpenwrtShaper {
    shaper: TcShaper,
    section: String,
}

/// A section of /etc/config/sqm.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Queue {
    /// As uci names it: `eth1` or `@queue[0]`.
    section: String,
    interface: String,
    enabled: bool,
    /// In kbit/s; 0 is not shaped.
    download: u64,
    upload: u64,
}

impl OpenwrtShaper {
    /// Finds SQM on this interface; without one on the only interface that has it.
    pub(crate) fn find(mut host: Host, interface: Option<&str>) -> Result<Self, ShaperError> {
        let place = host.name();
        let refused = |unfit: Unfit| ShaperError::Refused { place: place.clone(), reason: unfit.to_string() };
        let shown = ask(&mut host)?;
        refuse_others(&shown).map_err(refused)?;
        let queue = choose(&queues(&shown.sqm), interface).map_err(refused)?;
        let ifb = if queue.download > 0 { Some(ingress_interface(&mut host, &queue.interface)?) } else { None };
        let up = (queue.upload > 0).then_some(queue.interface.as_str());
        let mut shaper = TcShaper::find(host, ifb.as_deref(), up).map_err(|error| match error {
            ShaperError::Refused { place, reason } => {
                let reason = format!("{reason}; is SQM running? Start it with: /etc/init.d/sqm start");
                ShaperError::Refused { place, reason }
            }
            other => other,
        })?;
        shaper.rename("openwrt", &format!("{place}: SQM on {}", queue.interface), &queue.section);
        Ok(Self { shaper, section: queue.section })
    }

    fn settings(&self, rates: ShaperRates) -> Vec<String> {
        let setting = |direction: Direction| {
            let rate = rates.direction(direction)?;
            let key = direction.select("upload", "download");
            // Rounded down: a little too fast is what a shaper must not be.
            Some(format!("uci set {}", quote(&format!("sqm.{}.{key}={}", self.section, rate.0 / 1000))))
        };
        Direction::ALL.into_iter().filter_map(setting).collect()
    }
}

impl Changeable for OpenwrtShaper {
    fn describe(&self) -> &ShaperDescription {
        self.shaper.describe()
    }

    fn has(&self, direction: Direction) -> bool {
        self.shaper.has(direction)
    }

    fn read(&mut self) -> Result<ShaperState, ShaperError> {
        self.shaper.read()
    }

    fn change(&mut self, rates: ShaperRates) -> Result<(), ShaperError> {
        self.shaper.change(rates)
    }

    fn counters(&mut self) -> Result<Option<ShaperCounters>, ShaperError> {
        self.shaper.counters()
    }

    fn restoration(&self) -> Restoration {
        self.shaper.restoration()
    }

    fn restore(&mut self) -> Result<(), ShaperError> {
        self.shaper.restore()
    }

    fn arm(&mut self, restoration: &Restoration) -> Result<(), ShaperError> {
        self.shaper.arm(restoration)
    }

    fn disarm(&mut self) -> Result<(), ShaperError> {
        self.shaper.disarm()
    }

    fn commands(&self, rates: ShaperRates) -> Vec<String> {
        self.shaper.commands(rates)
    }

    fn lasting_commands(&self, rates: ShaperRates) -> Vec<String> {
        let mut commands = self.settings(rates);
        commands.extend([COMMIT.to_owned(), RELOAD.to_owned()]);
        commands
    }

    fn is_lasting(&self) -> bool {
        true
    }

    fn apply(&mut self, rates: ShaperRates) -> Result<(), ShaperError> {
        let place = self.shaper.describe().target.clone();
        let host = self.shaper.host();
        let shown = ask(host)?;
        refuse_others(&shown)
            .map_err(|unfit| ShaperError::Refused { place: place.clone(), reason: unfit.to_string() })?;
        // What cannot be committed must not stay for the next one who commits.
        let settings = self.settings(rates).join(" && ");
        let script = format!("{settings} && {COMMIT} || {{ uci revert sqm; exit 1; }}");
        self.shaper.host().run(COMMIT, &script)?.success(&place, COMMIT)?;
        self.shaper.host().run(RELOAD, RELOAD)?.success(&place, RELOAD)?;
        let kept = |rate: Option<BitRate>| rate.map(|rate| BitRate(rate.0 / 1000 * 1000));
        self.shaper.find_again(ShaperRates { down: kept(rates.down), up: kept(rates.up) })
    }
}

/// What a router shows of its configuration.
#[derive(Debug, Default)]
struct Configuration {
    /// `uci changes`.
    pending: String,
    /// `uci show sqm`.
    sqm: String,
    /// Programs that set the rates of SQM themselves.
    automatic: String,
    /// `uci show firewall` about flow offloading.
    offloading: String,
}

fn ask(host: &mut Host) -> Result<Configuration, ShaperError> {
    let script = format!(
        "command -v uci >/dev/null || {{ echo 'uci is missing: this is no OpenWrt' >&2; exit 1; }}; \
         uci -q changes; echo {MARK}; uci -q show sqm; echo {MARK}; \
         ps w 2>/dev/null | grep '[c]ake-autorate'; echo {MARK}; \
         uci -q show firewall | grep -i 'flow_offloading'; exit 0"
    );
    let place = host.name();
    let output = host.run("uci", &script)?.success(&place, "uci")?;
    let mark = format!("{MARK}\n");
    let mut parts = output.split(mark.as_str()).map(|part| part.trim().to_owned());
    let mut next = || parts.next().unwrap_or_default();
    Ok(Configuration { pending: next(), sqm: next(), automatic: next(), offloading: next() })
}

/// Why SQM of a router cannot be tuned.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum Unfit {
    #[error("changes of its configuration are not committed yet ({0}); run uci commit or uci revert there first")]
    Pending(String),
    #[error("cake-autorate runs and sets the rates itself; stop it first")]
    Automatic,
    #[error(
        "flow offloading is on ({0}), which leads packets past SQM; turn it off with: uci set {0}=0, uci commit firewall, \
         /etc/init.d/firewall reload"
    )]
    Offloading(String),
    #[error(
        "SQM is not set up or not enabled; enable it for the interface to the Internet, with the rates that your provider \
         promises"
    )]
    Disabled,
    #[error("SQM is not enabled on {wanted}; it is on {enabled}")]
    Elsewhere { wanted: String, enabled: String },
    #[error("SQM is enabled on {0}; choose one with iface=")]
    Several(String),
    #[error("SQM shapes neither direction of {0}; set its rates above 0")]
    NoRate(String),
}

/// Refuses what would be disturbed by a search, or would disturb it.
fn refuse_others(shown: &Configuration) -> Result<(), Unfit> {
    if let Some(first) = shown.pending.lines().next() {
        return Err(Unfit::Pending(first.to_owned()));
    }
    if !shown.automatic.is_empty() {
        return Err(Unfit::Automatic);
    }
    let on = |line: &&str| line.split_once('=').is_some_and(|(_, value)| value.trim_matches('\'') == "1");
    match shown.offloading.lines().find(on) {
        Some(line) => Err(Unfit::Offloading(line.split('=').next().unwrap_or(line).to_owned())),
        None => Ok(()),
    }
}

/// Reads `uci show sqm`.
fn queues(text: &str) -> Vec<Queue> {
    let mut queues: Vec<Queue> = Vec::new();
    for line in text.lines().filter_map(|line| line.trim().strip_prefix("sqm.")) {
        let Some((key, value)) = line.split_once('=') else { continue };
        let value = value.trim_matches('\'');
        let Some((section, option)) = key.rsplit_once('.') else {
            if value == "queue" {
                queues.push(Queue { section: key.to_owned(), ..Queue::default() });
            }
            continue;
        };
        let Some(queue) = queues.iter_mut().find(|queue| queue.section == section) else { continue };
        match option {
            "interface" => value.clone_into(&mut queue.interface),
            "enabled" => queue.enabled = value == "1",
            "download" => queue.download = value.parse().unwrap_or(0),
            "upload" => queue.upload = value.parse().unwrap_or(0),
            _ => {}
        }
    }
    queues
}

/// The one that is meant.
fn choose(queues: &[Queue], interface: Option<&str>) -> Result<Queue, Unfit> {
    let enabled: Vec<&Queue> = queues.iter().filter(|queue| queue.enabled).collect();
    let names = || enabled.iter().map(|queue| queue.interface.as_str()).collect::<Vec<&str>>().join(", ");
    let chosen = match (enabled.as_slice(), interface) {
        ([], _) => return Err(Unfit::Disabled),
        (_, Some(wanted)) => {
            let elsewhere = || Unfit::Elsewhere { wanted: wanted.to_owned(), enabled: names() };
            enabled.iter().find(|queue| queue.interface == wanted).ok_or_else(elsewhere)?
        }
        ([only], None) => only,
        (_, None) => return Err(Unfit::Several(names())),
    };
    if chosen.download == 0 && chosen.upload == 0 {
        return Err(Unfit::NoRate(chosen.interface.clone()));
    }
    Ok((*chosen).clone())
}

/// The interface that SQM leads incoming packets through, so that they can be shaped.
fn ingress_interface(host: &mut Host, interface: &str) -> Result<String, ShaperError> {
    let usual: String = format!("ifb4{interface}").chars().take(NAME).collect();
    let script = format!(
        "[ -e /sys/class/net/{} ] && {{ echo {}; exit 0; }}; PATH=$PATH:/usr/sbin:/sbin; \
         tc filter show dev {} parent ffff: | sed -n 's/.*[Rr]edirect to device \\([^) ]*\\).*/\\1/p' | head -n 1",
        quote(&usual),
        quote(&usual),
        quote(interface)
    );
    let place = host.name();
    let name = host.run("tc filter show", &script)?.success(&place, "tc filter show")?.trim().to_owned();
    if name.is_empty() {
        let reason = format!(
            "SQM does not lead incoming packets of {interface} through {usual}; start it with: /etc/init.d/sqm start"
        );
        return Err(ShaperError::Refused { place, reason });
    }
    Ok(name)
}

#[cfg(test)]
#[path = "openwrt_tests.rs"]
mod tests;
