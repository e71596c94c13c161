//! Link files: a link as TOML, in the units people use.

use std::path::Path;
use std::time::Duration;

use rrul_model::marking::{Ecn, ServiceClass};
use rrul_model::units::BitRate;
use rrul_model::unknown_name::UnknownName;

use crate::error::Error;
use crate::link::filter::{PacketFilter, Segment};
use crate::link::path_file;
use crate::link::rate_schedule::RateSchedule;
use crate::link::remark::{DscpRewrite, EcnRewrite};
use crate::link::selection::Selection;
use crate::link::shaper::Shaper;
use crate::link::token_bucket::{BurstAllowance, Policer};
use crate::link::toml_section::{Entry, Section, Source};
use crate::link::{Link, LinkDirection, Reorder, no_link_layer};
use crate::packet::protocol;
use crate::queue::{QueueOptions, QueueSpec};

/// In a map of code points: every one that is not named.
const ANY: &str = "any";
const LINK_KEYS: &[&str] = &["rtt", "up", "down", "path"];
const DIRECTION_KEYS: &[&str] = &[
    "rate",
    "burst",
    "overhead",
    "link_layer",
    "delay",
    "delay_variation",
    "queue",
    "shaper",
    "only",
    "loss",
    "duplicate",
    "reorder",
    "police",
    "dscp",
    "ecn",
];
pub(crate) const SHAPER_KEYS: &[&str] = &["rate", "link_layer", "queue"];
const SELECTION_KEYS: &[&str] = &["probability", "every", "packets"];

impl Link {
    /// Reads a link file. `file_name` appears in errors and, without folder and `.toml`, becomes the link's name.
    ///
    /// Errors name file, line and key; unknown keys are refused with the known ones named.
    ///
    /// ```
    /// let text = "# My line\nrtt = \"18ms\"\n[up]\nrate = \"8Mbit/s\"\n[down]\nrate = \"20Mbit/s\"\nqueue = \"fq_codel\"\n";
    /// let link = rrul_lab::Link::from_toml("my_line.toml", text)?;
    /// assert_eq!(link.name, "my_line");
    /// assert_eq!(link.idle_round_trip(), std::time::Duration::from_millis(18));
    /// # Ok::<(), rrul_lab::Error>(())
    /// ```
    pub fn from_toml(file_name: &str, text: &str) -> Result<Self, Error> {
        parse(file_name, text)
    }
}

/// Reads a link file; see [`Link::from_toml`].
fn parse(file: &str, text: &str) -> Result<Link, Error> {
    let source = Source { file, text };
    let document = source.parse()?;
    let root = source.root(&document, LINK_KEYS)?;
    let section = |name| root.require(name, "{ rate = \"20Mbit/s\" }")?.section("a table", DIRECTION_KEYS);
    let (up, down) = (section("up")?, section("down")?);
    let (up_delay, down_delay) = delays(&root, &up, &down)?;
    Ok(Link {
        name: Path::new(file).file_stem().map_or_else(|| file.to_owned(), |stem| stem.to_string_lossy().into_owned()),
        about: text.lines().next().and_then(|line| line.strip_prefix('#')).unwrap_or("").trim().to_owned(),
        up: direction(&up, up_delay)?,
        down: direction(&down, down_delay)?,
        path: root.get("path").map(|entry| path_file::parse(&entry)).transpose()?,
    })
}

/// The propagation delays: given, or what the round trip leaves for them.
fn delays(root: &Section<'_>, up: &Section<'_>, down: &Section<'_>) -> Result<(Duration, Duration), Error> {
    let rtt = root.get("rtt").map(|entry| entry.duration()).transpose()?;
    let given = |section: &Section<'_>| section.get("delay").map(|entry| entry.duration()).transpose();
    let rest = |entry: Option<Entry<'_>>, rtt: Duration, given: Duration| {
        let entry = entry.expect("the delay was read from it");
        rtt.checked_sub(given).ok_or_else(|| entry.fail("longer than rtt; use a delay of at most rtt"))
    };
    match (rtt, given(up)?, given(down)?) {
        (None, Some(up), Some(down)) => Ok((up, down)),
        (Some(rtt), None, None) => Ok((rtt / 2, rtt.saturating_sub(rtt / 2))),
        (Some(rtt), Some(given), None) => Ok((given, rest(up.get("delay"), rtt, given)?)),
        (Some(rtt), None, Some(given)) => Ok((rest(down.get("delay"), rtt, given)?, given)),
        (Some(_), Some(_), Some(_)) => {
            let rtt = root.get("rtt").expect("it was read");
            Err(rtt.fail("rtt conflicts with the delays of both directions; remove rtt or one delay"))
        }
        (None, None, _) => {
            Err(up.fail("missing delay; set delay here, or rtt at the top of the file, like rtt = \"18ms\""))
        }
        (None, _, None) => {
            Err(down.fail("missing delay; set delay here, or rtt at the top of the file, like rtt = \"18ms\""))
        }
    }
}

fn direction(section: &Section<'_>, delay: Duration) -> Result<LinkDirection, Error> {
    let mut settings = LinkDirection::ideal();
    settings.rate = rate(&section.require("rate", "\"20Mbit/s\"")?)?;
    settings.delay = delay;
    if let Some(entry) = section.get("burst") {
        settings.burst = Some(burst(&entry)?);
        if !settings.rate.is_constant() {
            return Err(entry.fail("a burst needs one constant rate; remove the rate steps or the burst"));
        }
    }
    if let Some(entry) = section.get("overhead") {
        settings.overhead = entry.parse("\"38B\"")?;
    }
    if let Some(entry) = section.get("link_layer") {
        settings.link_layer = entry.parse("\"docsis\"")?;
    }
    if let Some(entry) = section.get("delay_variation") {
        settings.delay_variation = entry.duration()?;
    }
    if let Some(entry) = section.get("queue") {
        settings.queue = queue(&entry)?;
    }
    if let Some(entry) = section.get("shaper") {
        let section = entry.section("{ rate = \"9Mbit/s\", queue = \"cake\" }", SHAPER_KEYS)?;
        section.require("rate", "\"9Mbit/s\"")?;
        let mut shaper = default_shaper(BitRate(1));
        change_shaper(&mut shaper, &section)?;
        settings.shaper = Some(shaper);
    }
    if let Some(entry) = section.get("only") {
        settings.only = filter(&entry)?;
    }
    if let Some(entry) = section.get("loss") {
        settings.loss = selection(&entry)?;
    }
    if let Some(entry) = section.get("duplicate") {
        settings.duplicate = selection(&entry)?;
    }
    if let Some(entry) = section.get("reorder") {
        settings.reorder = reorder(&entry)?;
    }
    if let Some(entry) = section.get("police") {
        settings.police = Some(police(&entry)?);
    }
    if let Some(entry) = section.get("dscp") {
        settings.dscp = dscp(&entry)?;
    }
    if let Some(entry) = section.get("ecn") {
        settings.ecn = ecn(&entry)?;
    }
    Ok(settings)
}

/// A shaper at this rate, with CAKE.
pub(crate) fn default_shaper(rate: BitRate) -> Shaper {
    let queue = QueueSpec::new("cake", QueueOptions::default()).expect("cake is on the shelf");
    Shaper { rate, link_layer: no_link_layer(), queue }
}

/// Takes over those settings of a shaper that the section has.
pub(crate) fn change_shaper(shaper: &mut Shaper, section: &Section<'_>) -> Result<(), Error> {
    if let Some(entry) = section.get("rate") {
        shaper.rate = entry.parse("\"9Mbit/s\"")?;
        if shaper.rate.0 == 0 {
            return Err(entry.fail("a shaper's rate must be more than zero"));
        }
    }
    if let Some(entry) = section.get("link_layer") {
        shaper.link_layer = entry.parse("\"docsis\"")?;
    }
    if let Some(entry) = section.get("queue") {
        shaper.queue = queue(&entry)?;
    }
    Ok(())
}

fn rate(entry: &Entry<'_>) -> Result<RateSchedule, Error> {
    if !entry.is_list() {
        let rate: BitRate = entry.parse("\"20Mbit/s\"")?;
        return RateSchedule::steps(vec![(Duration::ZERO, rate)]).map_err(|problem| entry.fail(problem.to_string()));
    }
    let mut steps = Vec::new();
    for step in entry.list()? {
        match &step.list()?[..] {
            [at, rate] => steps.push((at.duration()?, rate.parse("\"20Mbit/s\"")?)),
            _ => return Err(step.fail("a step is a time and a rate, like [\"10s\", \"20Mbit/s\"]")),
        }
    }
    RateSchedule::steps(steps).map_err(|problem| entry.fail(problem.to_string()))
}

fn burst(entry: &Entry<'_>) -> Result<BurstAllowance, Error> {
    let section = entry.section("{ size = \"12.5MB\", peak = \"40Mbit/s\" }", &["size", "peak"])?;
    let size = section.require("size", "\"12.5MB\"")?.parse("\"12.5MB\"")?;
    Ok(BurstAllowance { size, peak: section.require("peak", "\"40Mbit/s\"")?.parse("\"40Mbit/s\"")? })
}

fn police(entry: &Entry<'_>) -> Result<Policer, Error> {
    let section = entry.section("{ rate = \"10Mbit/s\", size = \"60kB\" }", &["rate", "size"])?;
    let rate = section.require("rate", "\"10Mbit/s\"")?.parse("\"10Mbit/s\"")?;
    Ok(Policer { rate, size: section.require("size", "\"60kB\"")?.parse("\"60kB\"")? })
}

fn queue(entry: &Entry<'_>) -> Result<QueueSpec, Error> {
    if let Some(name) = entry.as_text() {
        return QueueSpec::new(name, QueueOptions::default()).map_err(|problem| entry.fail(problem.to_string()));
    }
    let discipline = entry.member("discipline", "\"pfifo\" or { discipline = \"pfifo\", limit = \"1000p\" }")?;
    let name: String = discipline.parse("\"pfifo\"")?;
    let known =
        QueueSpec::new(&name, QueueOptions::default()).map_err(|problem| discipline.fail(problem.to_string()))?;
    let keys: Vec<&str> = ["discipline"].iter().chain(known.discipline().options).copied().collect();
    let section = entry.section("a table", &keys)?;
    let options = QueueOptions {
        limit: section.get("limit").map(|entry| entry.parse("\"1000p\" or \"256kB\"")).transpose()?,
        target: section.get("target").map(|entry| entry.duration()).transpose()?,
        interval: section.get("interval").map(|entry| entry.duration()).transpose()?,
        ecn: section.get("ecn").map(|entry| entry.flag()).transpose()?,
        flows: section.get("flows").map(|entry| entry.integer(1..=65_536)).transpose()?.map(|flows| flows as usize),
        quantum: section.get("quantum").map(|entry| entry.parse("\"1514B\"")).transpose()?,
        tupdate: section.get("tupdate").map(|entry| entry.duration()).transpose()?,
        alpha: section.get("alpha").map(|entry| entry.integer(0..=32)).transpose()?.map(|gain| gain as u32),
        beta: section.get("beta").map(|entry| entry.integer(0..=32)).transpose()?.map(|gain| gain as u32),
        bytemode: section.get("bytemode").map(|entry| entry.flag()).transpose()?,
        burst: section.get("burst").map(|entry| entry.duration()).transpose()?,
        tins: section.get("tins").map(|entry| entry.parse("\"diffserv4\"")).transpose()?,
        flow_isolation: section.get("flow_isolation").map(|entry| entry.parse("\"dual-srchost\"")).transpose()?,
        rtt: section.get("rtt").map(|entry| entry.duration()).transpose()?,
        ingress: section.get("ingress").map(|entry| entry.flag()).transpose()?,
    };
    QueueSpec::new(&name, options).map_err(|problem| entry.fail(problem.to_string()))
}

fn filter(entry: &Entry<'_>) -> Result<PacketFilter, Error> {
    let example = "{ protocol = \"udp\", port = 53 }";
    let section = entry.section(example, &["protocol", "port", "family", "class", "ecn", "tcp", "longer_than"])?;
    let class = |entry: Entry<'_>| entry.parse::<ServiceClass>("\"EF\"");
    Ok(PacketFilter {
        protocol: section.get("protocol").map(|entry| protocol_number(&entry)).transpose()?,
        port: section.get("port").map(|entry| entry.integer(0..=65_535)).transpose()?.map(|port| port as u16),
        family: section.get("family").map(|entry| entry.parse("\"ipv4\"")).transpose()?,
        class: section.get("class").map(class).transpose()?,
        ecn: section.get("ecn").map(|entry| ecn_value(&entry)).transpose()?,
        tcp: section.get("tcp").map(|entry| segment(&entry)).transpose()?,
        longer_than: section
            .get("longer_than")
            .map(|entry| entry.integer(0..=65_535))
            .transpose()?
            .map(|most| most as u16),
    })
}

fn ecn_value(entry: &Entry<'_>) -> Result<Ecn, Error> {
    match entry.as_text() {
        Some("not_ect") => Ok(Ecn::NotEct),
        Some("ect0") => Ok(Ecn::Ect0),
        Some("ect1") => Ok(Ecn::Ect1),
        Some("ce") => Ok(Ecn::Ce),
        _ => Err(entry.fail("unknown ECN value; known: \"not_ect\", \"ect0\", \"ect1\", \"ce\"")),
    }
}

fn segment(entry: &Entry<'_>) -> Result<Segment, Error> {
    let found = Segment::ALL.iter().find(|(name, _)| entry.as_text() == Some(name));
    found
        .map(|(_, segment)| *segment)
        .ok_or_else(|| entry.fail("unknown segment type; known: \"syn\", \"syn_ack\", \"ack\", \"data\""))
}

fn protocol_number(entry: &Entry<'_>) -> Result<u8, Error> {
    match entry.as_text() {
        Some("icmp") => Ok(protocol::ICMP),
        Some("tcp") => Ok(protocol::TCP),
        Some("udp") => Ok(protocol::UDP),
        Some("icmpv6") => Ok(protocol::ICMPV6),
        _ => Err(entry.fail("unknown protocol; known: \"icmp\", \"icmpv6\", \"tcp\", \"udp\"")),
    }
}

/// `"1%"`, `{ every = 100 }` or `{ packets = [1, 7] }`.
fn selection(entry: &Entry<'_>) -> Result<Selection, Error> {
    if entry.as_text().is_some() {
        return entry.probability().map(Selection::Probability);
    }
    let section = entry.section("\"1%\", { every = 100 } or { packets = [1, 7] }", SELECTION_KEYS)?;
    selection_in(&section)
}

fn selection_in(section: &Section<'_>) -> Result<Selection, Error> {
    match (section.get("probability"), section.get("every"), section.get("packets")) {
        (Some(entry), None, None) => entry.probability().map(Selection::Probability),
        (None, Some(entry), None) => entry.integer(1..=u64::MAX).map(Selection::Every),
        (None, None, Some(entry)) => {
            let numbers = entry.list()?.iter().map(|number| number.integer(1..=u64::MAX)).collect::<Result<_, _>>()?;
            Ok(Selection::Numbers(numbers))
        }
        _ => Err(section.fail("give exactly one of probability, every, packets")),
    }
}

fn reorder(entry: &Entry<'_>) -> Result<Reorder, Error> {
    let known: Vec<&str> = SELECTION_KEYS.iter().chain(&["displacement", "extra_delay"]).copied().collect();
    let section = entry.section("{ probability = \"1%\", displacement = 3, extra_delay = \"10ms\" }", &known)?;
    let displacement = section.get("displacement").map(|entry| entry.integer(1..=1_000_000)).transpose()?;
    Ok(Reorder {
        packets: selection_in(&section)?,
        displacement: displacement.map(|packets| packets as u32),
        extra_delay: section.require("extra_delay", "\"10ms\"")?.duration()?,
    })
}

fn dscp(entry: &Entry<'_>) -> Result<DscpRewrite, Error> {
    match entry.as_text() {
        Some("bleach") => return Ok(DscpRewrite::bleach()),
        Some("clear_precedence") => return Ok(DscpRewrite::clear_precedence()),
        Some(other) => {
            let known = "known: \"bleach\", \"clear_precedence\", { EF = \"CS1\" }";
            return Err(entry.fail(format!("unknown rewrite \"{other}\"; {known}")));
        }
        None => {}
    }
    let mut rewrite = DscpRewrite::default();
    let pairs = entry.pairs("\"bleach\", \"clear_precedence\" or { EF = \"CS1\" }")?;
    if let Some((_, to)) = pairs.iter().find(|(from, _)| *from == ANY) {
        rewrite = DscpRewrite::constant(to.parse::<ServiceClass>("\"CS1\"")?.dscp().value());
    }
    for (from, to) in pairs.iter().filter(|(from, _)| *from != ANY) {
        let from: ServiceClass = from.parse().map_err(|problem: UnknownName| to.fail(problem.to_string()))?;
        let to: ServiceClass = to.parse("\"CS1\"")?;
        rewrite = rewrite.mapping(from.dscp().value(), to.dscp().value());
    }
    Ok(rewrite)
}

fn ecn(entry: &Entry<'_>) -> Result<EcnRewrite, Error> {
    match entry.as_text() {
        Some("clear") => return Ok(EcnRewrite::Clear),
        Some("ect1_to_ect0") => return Ok(EcnRewrite::Ect1ToEct0),
        Some(other) => {
            let known = "known: \"clear\", \"ect1_to_ect0\", { mark_ce = \"10%\" }";
            return Err(entry.fail(format!("unknown rewrite \"{other}\"; {known}")));
        }
        None => {}
    }
    let section = entry.section("\"clear\", \"ect1_to_ect0\" or { mark_ce = \"10%\" }", &["mark_ce"])?;
    selection(&section.require("mark_ce", "\"10%\"")?).map(EcnRewrite::MarkCe)
}

#[cfg(test)]
#[path = "link_file_tests.rs"]
mod tests;
