//! The section of a link file that describes the routers on the path.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::time::Duration;

use crate::error::Error;
use crate::link::path::{MOST_ADDRESSES, MOST_HOPS, NarrowLink, Path, ReplyPath};
use crate::link::toml_section::{Entry, Section};
use crate::queue::MTU;

pub(crate) const PATH_KEYS: &[&str] = &[
    "hops",
    "up_queue_after",
    "down_queue_after",
    "silent",
    "rate_limited",
    "slow",
    "short_quotes",
    "garbage",
    "remark_up_at",
    "remark_down_at",
    "mtu",
    "reply_path",
    "addresses",
];

/// What a link carries: IPv6 asks for no less (RFC 8200 section 5), and the lab's own links for no more.
const NARROW: RangeInclusive<u64> = 1280..=MTU as u64;

pub(crate) fn parse(entry: &Entry<'_>) -> Result<Path, Error> {
    let section = entry.section("a table, [path]", PATH_KEYS)?;
    let hops = section.require("hops", "4")?.integer(1..=u64::from(MOST_HOPS))?;
    let routers = 1..=hops;
    let mut path = Path::new(hops as u8);
    for (key, setting) in [
        ("up_queue_after", &mut path.up_queue_after),
        ("down_queue_after", &mut path.down_queue_after),
        ("remark_up_at", &mut path.remark_up_at),
        ("remark_down_at", &mut path.remark_down_at),
    ] {
        if let Some(entry) = section.get(key) {
            *setting = entry.integer(routers.clone())? as u8;
        }
    }
    path.silent = set(&section, "silent", &routers)?;
    path.short_quotes = set(&section, "short_quotes", &routers)?;
    path.garbage = set(&section, "garbage", &routers)?;
    path.rate_limited = times(&section, "rate_limited", "every", &routers)?;
    path.slow = times(&section, "slow", "up_to", &routers)?;
    if let Some(entry) = section.get("mtu") {
        let section = entry.section("{ hop = 3, octets = 1400 }", &["hop", "octets"])?;
        let hop = section.require("hop", "3")?.integer(routers)? as u8;
        path.mtu = Some(NarrowLink { hop, octets: section.require("octets", "1400")?.integer(NARROW)? as u16 });
    }
    if let Some(entry) = section.get("reply_path") {
        path.reply_path = match entry.as_text() {
            Some("same") => ReplyPath::Same,
            Some("other") => ReplyPath::Other,
            _ => return Err(entry.fail("unknown reply path; known: \"same\", \"other\"")),
        };
    }
    if let Some(entry) = section.get("addresses") {
        path.addresses = entry.integer(0..=u64::from(MOST_ADDRESSES))? as u8;
    }
    Ok(path)
}

/// `[1, 3]`
fn set(section: &Section<'_>, key: &str, routers: &RangeInclusive<u64>) -> Result<BTreeSet<u8>, Error> {
    let Some(entry) = section.get(key) else { return Ok(BTreeSet::new()) };
    entry.list()?.iter().map(|hop| hop.integer(routers.clone()).map(|hop| hop as u8)).collect()
}

/// `[{ hop = 2, every = "1s" }]`, where `time` is the name of the time.
fn times(
    section: &Section<'_>,
    key: &str,
    time: &str,
    routers: &RangeInclusive<u64>,
) -> Result<BTreeMap<u8, Duration>, Error> {
    let mut times = BTreeMap::new();
    let Some(entry) = section.get(key) else { return Ok(times) };
    for entry in entry.list()? {
        let one = entry.section(&format!("{{ hop = 2, {time} = \"30ms\" }}"), &["hop", time])?;
        let hop = one.require("hop", "2")?.integer(routers.clone())?;
        if times.insert(hop as u8, one.require(time, "\"30ms\"")?.duration()?).is_some() {
            return Err(entry.fail(format!("router {hop} is listed twice")));
        }
    }
    Ok(times)
}

#[cfg(test)]
#[path = "path_file_tests.rs"]
mod tests;
