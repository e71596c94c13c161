//! Queue disciplines of Linux that shape, as tc(8) shows and changes them.

use rrul_model::shaping::DirectionCounters;
use rrul_model::units::{BitRate, ByteCount};
use serde::Deserialize;
use serde_json::Value;

use super::super::shell::quote;
use super::htb_class::{HtbClass, classes};
use super::size_table::SizeTable;
use super::token_bucket::{TokenBucket, parse_size};
use super::unsettable::Unsettable;

/// A rate that limits nothing, for disciplines that cannot do without.
pub(super) const UNLIMITED: BitRate = BitRate(10_000_000_000);

/// Bytes of the header of an Ethernet frame, which the kernel counts.
pub(super) const ETHERNET_HEADER: u32 = 14;

/// How packets are cut up on the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    Plain,
    Atm,
    Ptm,
}

/// What a discipline counts of a packet beside its own bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Overhead {
    /// Beyond the bytes of IP.
    pub(super) bytes: i64,
    /// No packet counts less.
    pub(super) least: u32,
    pub(super) framing: Framing,
}

impl Overhead {
    /// The name of this link layer, as in plans. `None` if it has none.
    pub(super) fn link_layer(self) -> Option<String> {
        const MOST: i64 = 256;
        match (self.framing, self.bytes, self.least) {
            (Framing::Plain, 38, 84) => Some("ethernet".to_owned()),
            (Framing::Plain, 18, 64) => Some("docsis".to_owned()),
            (_, bytes, _) if !(0..=MOST).contains(&bytes) => None,
            (framing, bytes, _) => {
                let name = match framing {
                    Framing::Plain => "ip",
                    Framing::Atm => "atm",
                    Framing::Ptm => "ptm",
                };
                Some(if bytes == 0 { name.to_owned() } else { format!("{name}+{bytes}") })
            }
        }
    }

    /// Estimates the bytes that the shaper counted, from those of the kernel's counters, in which every packet has `already`
    /// bytes beyond IP. The least size is left out, and a cell is half empty on average.
    fn counted(self, sent: u64, packets: u64, already: i64) -> ByteCount {
        let each = self.bytes - already;
        let bytes = sent.saturating_add_signed(each.saturating_mul(packets.cast_signed()));
        ByteCount(match self.framing {
            Framing::Plain => bytes,
            Framing::Atm => (bytes + 24 * packets) / 48 * 53,
            Framing::Ptm => bytes + bytes / 64,
        })
    }
}

/// A discipline at the root of an interface that can shape.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Shaping {
    Cake { rate: Option<BitRate>, tins: String, overhead: Overhead },
    Htb { classes: Vec<HtbClass>, leaf: Option<String>, overhead: Overhead },
    Tbf { bucket: TokenBucket, limit: u64, mpu: u32, extra: u32, atm: bool, overhead: Overhead },
}

/// What shapes an interface.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct QueueDiscipline {
    /// Its handle. A discipline that somebody else sets up has another one.
    pub(super) handle: String,
    pub(super) shaping: Shaping,
    size_table: Option<SizeTable>,
    pub(super) counters: DirectionCounters,
}

/// An entry of `tc -j -s qdisc show`.
#[derive(Debug, Deserialize)]
struct Entry {
    kind: String,
    #[serde(default)]
    handle: String,
    #[serde(default)]
    root: bool,
    #[serde(default)]
    options: Value,
    #[serde(default)]
    bytes: u64,
    #[serde(default)]
    packets: u64,
    #[serde(default)]
    drops: u64,
    #[serde(default)]
    backlog: u64,
    /// Of fq_codel, codel and others.
    #[serde(default)]
    ecn_mark: u64,
    /// Of cake.
    #[serde(default)]
    tins: Vec<Tin>,
}

#[derive(Debug, Deserialize)]
struct Tin {
    #[serde(default)]
    ecn_mark: u64,
}

/// What tc shows of an interface.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shown<'a> {
    /// `tc -j -s qdisc show`.
    pub(super) disciplines: &'a str,
    /// `tc -r -d qdisc show`: what the former leaves out or rounds.
    pub(super) raw: &'a str,
    /// `tc -d class show`, which has no JSON in many versions.
    pub(super) classes: &'a str,
    /// Bytes before IP in the kernel's counters.
    pub(super) header: u32,
}

impl QueueDiscipline {
    /// Reads what shapes an interface.
    ///
    /// # Errors
    /// The reason why nothing can be set.
    pub(super) fn read(shown: Shown<'_>) -> Result<Self, Unsettable> {
        let entries: Vec<Entry> = serde_json::from_str(shown.disciplines.trim())?;
        let Some(root) = entries.iter().find(|entry| entry.root) else {
            return Err(Unsettable::NoRoot);
        };
        let size_table = SizeTable::read(shown.raw);
        // What the kernel's counters have of each packet beyond IP.
        let already = i64::from(shown.header) + size_table.as_ref().map_or(0, |table| table.overhead);
        let shaping = match root.kind.as_str() {
            "cake" => cake(&root.options, already),
            "htb" => htb(shown.classes, already, &entries),
            "tbf" => tbf(&root.options, already, shown.raw),
            other => Err(Unsettable::Kind(other.to_owned())),
        }?;
        let marked =
            entries.iter().map(|entry| entry.ecn_mark + entry.tins.iter().map(|tin| tin.ecn_mark).sum::<u64>());
        let counters = DirectionCounters {
            sent: shaping.overhead().counted(root.bytes, root.packets, already),
            packets: root.packets,
            dropped: root.drops,
            marked: marked.sum(),
            backlog: ByteCount(root.backlog),
        };
        Ok(Self { handle: root.handle.clone(), shaping, size_table, counters })
    }

    /// Its rate; `None` limits nothing.
    pub(super) fn rate(&self) -> Option<BitRate> {
        self.set_rate().filter(|rate| *rate < UNLIMITED)
    }

    /// What it is set to, however fast.
    fn set_rate(&self) -> Option<BitRate> {
        match &self.shaping {
            Shaping::Cake { rate, .. } => *rate,
            Shaping::Htb { classes, .. } => classes.first().map(HtbClass::limit),
            Shaping::Tbf { bucket, .. } => Some(bucket.rate),
        }
    }

    /// The commands that make it what it is here.
    pub(super) fn restoring_commands(&self, interface: &str) -> Vec<String> {
        self.commands(interface, self.set_rate())
    }

    /// Its name and that of what is in it, for people.
    pub(super) fn name(&self) -> String {
        match &self.shaping {
            Shaping::Cake { tins, .. } => format!("cake {tins}"),
            Shaping::Htb { classes, leaf: Some(leaf), .. } => format!("htb with {leaf}{}", parts(classes)),
            Shaping::Htb { .. } => "htb".to_owned(),
            Shaping::Tbf { .. } => "tbf".to_owned(),
        }
    }

    /// The link layer in whose bytes it counts.
    pub(super) fn link_layer(&self) -> Option<String> {
        let overhead = self.shaping.overhead();
        let table = self.size_table.as_ref();
        let least = table.map_or(0, |table| table.mpu).max(overhead.least);
        let framing = if table.is_some_and(|table| table.atm) { Framing::Atm } else { overhead.framing };
        Overhead { least, framing, ..overhead }.link_layer()
    }

    /// The commands that make this discipline shape at a rate, everything else as it is here. They fail where it has been
    /// replaced.
    pub(super) fn commands(&self, interface: &str, rate: Option<BitRate>) -> Vec<String> {
        let dev = quote(interface);
        let table = self.size_table.as_ref().map(|table| format!(" {}", table.words())).unwrap_or_default();
        let root = format!("tc qdisc change dev {dev} root handle {}{table}", self.handle);
        match &self.shaping {
            Shaping::Cake { .. } => {
                let rate = rate.map_or_else(|| "unlimited".to_owned(), |rate| format!("bandwidth {}bit", rate.0));
                vec![format!("{root} cake {rate}")]
            }
            Shaping::Htb { classes, .. } => {
                let rate = rate.unwrap_or(UNLIMITED);
                let found = classes.first().map_or(rate, HtbClass::limit);
                let scaled = classes.iter().map(|class| class.scaled(rate, found));
                scaled.map(|class| class.command(&dev, &self.handle)).collect()
            }
            Shaping::Tbf { bucket, limit, mpu, extra, atm, .. } => {
                let bucket = bucket.scaled(rate.unwrap_or(UNLIMITED), bucket.rate);
                let mut words = vec![format!("{root} tbf rate {}bit burst {}", bucket.rate.0, bucket.burst)];
                words.push(format!("limit {limit}"));
                let numbers = [("mpu", *mpu), ("overhead", *extra)].into_iter().filter(|(_, number)| *number > 0);
                words.extend(numbers.map(|(word, number)| format!("{word} {number}")));
                words.extend(atm.then(|| "linklayer atm".to_owned()));
                vec![words.join(" ")]
            }
        }
    }
}

/// Floor and ceiling of each class in percent, the highest priority first; empty for a single class.
fn parts(classes: &[HtbClass]) -> String {
    let Some(whole) = classes.first().map(|class| class.limit().0.max(1) as f64) else { return String::new() };
    let is_leaf = |class: &&HtbClass| !classes.iter().any(|other| other.parent.as_deref() == Some(class.id.as_str()));
    let mut leaves: Vec<&HtbClass> = classes.iter().filter(is_leaf).collect();
    if leaves.len() < 2 {
        return String::new();
    }
    leaves.sort_by_key(|class| class.prio);
    let part = |rate: BitRate| rate.0 as f64 / whole * 100.0;
    let words = leaves.iter().map(|class| format!("{:.1}-{:.1}", part(class.rate.rate), part(class.limit())));
    format!(", classes {} %", words.collect::<Vec<_>>().join(" "))
}

impl Shaping {
    fn overhead(&self) -> Overhead {
        match self {
            Self::Cake { overhead, .. } | Self::Htb { overhead, .. } | Self::Tbf { overhead, .. } => *overhead,
        }
    }
}

fn cake(options: &Value, already: i64) -> Result<Shaping, Unsettable> {
    if !options["autorate"].is_null() {
        return Err(Unsettable::Autorate);
    }
    let rate = match &options["bandwidth"] {
        Value::String(word) if word == "unlimited" => None,
        // In bytes.
        number => Some(BitRate(number.as_u64().ok_or(Unsettable::Missing("bandwidth of cake"))?.saturating_mul(8))),
    };
    let least = options["mpu"].as_u64().and_then(|least| u32::try_from(least).ok()).unwrap_or(0);
    let framing = match options["atm"].as_str() {
        Some("atm") => Framing::Atm,
        Some("ptm") => Framing::Ptm,
        _ => Framing::Plain,
    };
    // Raw, it counts packets as the kernel has them.
    let raw = options["raw"].as_bool() == Some(true);
    let bytes = if raw { already } else { options["overhead"].as_i64().unwrap_or(0) };
    let tins = options["diffserv"].as_str().unwrap_or_default().to_owned();
    Ok(Shaping::Cake { rate, tins, overhead: Overhead { bytes, least, framing } })
}

fn htb(shown: &str, already: i64, entries: &[Entry]) -> Result<Shaping, Unsettable> {
    let classes = classes(shown)?;
    let [main, others @ ..] = classes.as_slice() else {
        return Err(Unsettable::NoClass);
    };
    if others.iter().any(|class| class.parent.is_none()) {
        return Err(Unsettable::SeveralClasses);
    }
    let framing = if main.atm { Framing::Atm } else { Framing::Plain };
    let bytes = already + i64::from(main.overhead);
    let overhead = Overhead { bytes, least: main.mpu, framing };
    let mut leaves = entries.iter().filter(|entry| !entry.root && entry.kind != "ingress" && entry.kind != "clsact");
    let leaf = leaves.next().map(|entry| entry.kind.clone());
    Ok(Shaping::Htb { classes, leaf, overhead })
}

fn tbf(options: &Value, already: i64, shown: &str) -> Result<Shaping, Unsettable> {
    if !options["peakrate"].is_null() {
        return Err(Unsettable::PeakRate);
    }
    // In bytes.
    let rate = BitRate(options["rate"].as_u64().ok_or(Unsettable::Missing("rate of tbf"))?.saturating_mul(8));
    let line = shown.lines().find(|line| line.starts_with("qdisc tbf")).unwrap_or_default();
    let words: Vec<&str> = line.split_whitespace().collect();
    let after =
        |word: &str| words.iter().position(|other| *other == word).and_then(|index| words.get(index + 1)).copied();
    let size = |word: &str| after(word).and_then(parse_size);
    let hexadecimal = |word: &&str| u64::from_str_radix(word.strip_prefix('[')?.strip_suffix(']')?, 16).ok();
    let ticks = words.iter().find_map(hexadecimal).ok_or(Unsettable::Missing("burst of tbf"))?;
    let limit = size("limit").ok_or(Unsettable::Missing("limit of tbf"))?;
    let mpu = size("mpu").and_then(|size| u32::try_from(size).ok()).unwrap_or(0);
    let extra = after("overhead").and_then(|text| text.parse().ok()).unwrap_or(0);
    let atm = after("linklayer") == Some("atm");
    let framing = if atm { Framing::Atm } else { Framing::Plain };
    let overhead = Overhead { bytes: already + i64::from(extra), least: mpu, framing };
    let bucket = TokenBucket::of_tbf(rate, ticks, extra, atm);
    Ok(Shaping::Tbf { bucket, limit, mpu, extra, atm, overhead })
}

#[cfg(test)]
#[path = "queue_discipline_tests.rs"]
mod tests;
