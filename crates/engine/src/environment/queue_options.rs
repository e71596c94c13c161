//! Options and counters that only one kind of queue discipline has (linux/pkt_sched.h), by tc(8)'s names.
//!
//! A kind that is not here is reported with the counters that all have.

mod words;

use std::collections::BTreeMap;

use crate::netlink::attributes::{Attributes, unsigned};
use crate::netlink::message::{long_number, number};
use words::{Field, Form, Word};

/// The options of a queue discipline of this kind.
pub(super) fn options(kind: &str, octets: &[u8]) -> BTreeMap<String, i64> {
    let attributes = Attributes::behind(octets, 0);
    match kind {
        "fq_codel" => named(attributes, words::FQ_CODEL),
        "codel" => named(attributes, words::CODEL),
        "cake" | "cake_mq" => named(attributes, words::CAKE),
        "fq" => named(attributes, words::FQ),
        "pie" => named(attributes, words::PIE),
        "fq_pie" => named(attributes, words::FQ_PIE),
        "dualpi2" => named(attributes, words::DUALPI2),
        "pfifo" | "pfifo_head_drop" => at(octets, &[(0, 4, "limit_packets")]),
        "bfifo" => at(octets, &[(0, 4, "limit_octets")]),
        "pfifo_fast" | "prio" => at(octets, &[(0, 4, "bands")]),
        "sfq" => at(octets, &[(0, 4, "quantum_octets"), (8, 4, "limit_packets"), (12, 4, "divisor"), (16, 4, "flows")]),
        "red" => {
            let parameters = attributes.get(1).unwrap_or_default();
            let mut options = at(parameters, &[(0, 4, "limit_octets"), (4, 4, "min_octets"), (8, 4, "max_octets")]);
            options.extend(parameters.get(15).map(|flags| ("ecn".to_owned(), i64::from(flags & 1))));
            options
        }
        "tbf" => token_bucket(attributes),
        "htb" => at(attributes.get(2).unwrap_or_default(), &[(4, 4, "rate_to_quantum"), (8, 4, "default_class")]),
        "netem" => emulator(octets),
        _ => BTreeMap::new(),
    }
}

/// Counters that some kinds report among their options.
pub(super) fn counted_among_options(kind: &str, octets: &[u8]) -> Option<(String, u64)> {
    let init = Attributes::behind(octets, 0).get(2).filter(|_| kind == "htb")?;
    Some(("direct_packets".to_owned(), u64::from(number(init, 16)?)))
}

/// The counters and gauges that only a queue discipline of this kind has.
pub(super) fn details(kind: &str, octets: &[u8]) -> BTreeMap<String, u64> {
    let fields = match kind {
        // Of its two forms the one of the whole discipline.
        "fq_codel" if number(octets, 0) == Some(0) => words::FQ_CODEL_DETAILS,
        "codel" => words::CODEL_DETAILS,
        "fq" => words::FQ_DETAILS,
        "pie" => words::PIE_DETAILS,
        "fq_pie" => words::FQ_PIE_DETAILS,
        "red" => words::RED_DETAILS,
        "dualpi2" => words::DUALPI2_DETAILS,
        "cake" | "cake_mq" => return cake(Attributes::behind(octets, 0)),
        _ => &[],
    };
    counters(octets, fields)
}

pub(super) fn class_options(kind: &str, octets: &[u8]) -> BTreeMap<String, i64> {
    let attributes = Attributes::behind(octets, 0);
    let Some(parameters) = attributes.get(1).filter(|_| kind == "htb") else { return BTreeMap::new() };
    let rate = rate(parameters, 0, attributes.number(6));
    let ceil = self::rate(parameters, 12, attributes.number(7));
    let mut options = at(parameters, &[(32, 4, "quantum_octets"), (40, 4, "prio")]);
    options.insert("rate_bps".to_owned(), bits(rate));
    options.insert("ceil_bps".to_owned(), bits(ceil));
    options.insert("burst_octets".to_owned(), burst(number(parameters, 24), rate));
    options.insert("cburst_octets".to_owned(), burst(number(parameters, 28), ceil));
    options
}

/// The counters that only a class of this kind has.
pub(super) fn class_details(kind: &str, octets: &[u8]) -> BTreeMap<String, u64> {
    counters(octets, if kind == "htb" { words::HTB_CLASS_DETAILS } else { &[] })
}

fn named(attributes: Attributes<'_>, words: &[Word]) -> BTreeMap<String, i64> {
    let value = |octets: &[u8], form: Form| {
        let value = unsigned(octets)?;
        let unlimited = value == u64::MAX || octets.len() == 4 && value == u64::from(u32::MAX);
        match form {
            Form::Limit | Form::RateLimit if unlimited => None,
            Form::Presence => Some(1),
            Form::Signed => Some(i64::from((value as u32).cast_signed())),
            Form::Rate | Form::RateLimit => Some(bits(value)),
            Form::Plain | Form::Limit => i64::try_from(value).ok(),
        }
    };
    let pair = |(kind, name, form): &Word| Some(((*name).to_owned(), value(attributes.get(*kind)?, *form)?));
    words.iter().filter_map(pair).collect()
}

fn counters(octets: &[u8], fields: &[Field]) -> BTreeMap<String, u64> {
    let value = |place: usize, width: usize| unsigned(octets.get(place..place + width)?);
    fields.iter().filter_map(|(place, width, name)| Some(((*name).to_owned(), value(*place, *width)?))).collect()
}

fn at(octets: &[u8], fields: &[Field]) -> BTreeMap<String, i64> {
    counters(octets, fields).into_iter().filter_map(|(name, value)| Some((name, i64::try_from(value).ok()?))).collect()
}

fn cake(attributes: Attributes<'_>) -> BTreeMap<String, u64> {
    let counters = |attributes, words, prefix: &str| -> Vec<(String, u64)> {
        let values = named(attributes, words).into_iter();
        values.map(|(name, value)| (format!("{prefix}{name}"), value.cast_unsigned())).collect()
    };
    let mut found = counters(attributes, words::CAKE_DETAILS, "");
    // Tins are numbered from 1 among the attributes, and from 0 by tc.
    for (number, tin) in attributes.nested(words::CAKE_TINS).iter() {
        let prefix = format!("tin{}.", number.saturating_sub(1));
        found.extend(counters(Attributes::behind(tin, 0), words::CAKE_TIN, &prefix));
    }
    found.into_iter().collect()
}

/// Bytes per second of a `struct tc_ratespec` at this place; rates beyond 32 bits are in an attribute of their own.
fn rate(parameters: &[u8], place: usize, long: Option<u64>) -> u64 {
    long.unwrap_or_else(|| number(parameters, place + 8).map_or(0, u64::from))
}

fn bits(octets: u64) -> i64 {
    i64::try_from(octets.saturating_mul(8)).unwrap_or(i64::MAX)
}

/// Bytes of a bucket that the kernel keeps as time: ticks of 64 ns (net/pkt_sched.h: PSCHED_SHIFT) at a rate.
fn burst(ticks: Option<u32>, rate: u64) -> i64 {
    let nanoseconds = u128::from(ticks.unwrap_or_default()) * 64;
    i64::try_from(nanoseconds * u128::from(rate) / 1_000_000_000).unwrap_or(i64::MAX)
}

fn token_bucket(attributes: Attributes<'_>) -> BTreeMap<String, i64> {
    let Some(parameters) = attributes.get(1) else { return BTreeMap::new() };
    let rate = rate(parameters, 0, attributes.number(4));
    let peak = self::rate(parameters, 12, attributes.number(5));
    let mut options = at(parameters, &[(24, 4, "limit_octets")]);
    options.insert("rate_bps".to_owned(), bits(rate));
    options.insert("burst_octets".to_owned(), burst(number(parameters, 28), rate));
    if peak > 0 {
        options.insert("peakrate_bps".to_owned(), bits(peak));
    }
    options
}

/// netem: a fixed structure, with attributes behind it.
fn emulator(octets: &[u8]) -> BTreeMap<String, i64> {
    const FIXED: usize = 24;
    const RATE: u16 = 6;
    const RATE64: u16 = 8;
    const LATENCY64: u16 = 10;
    const JITTER64: u16 = 11;
    let attributes = Attributes::behind(octets, FIXED);
    let ppm = |place| number(octets, place).map(|share| i64::from(share) * 1_000_000 / i64::from(u32::MAX));
    let microseconds = |attribute: u16, place: usize| {
        let nanoseconds = attributes.get(attribute).and_then(|value| long_number(value, 0));
        let ticks = || number(octets, place).map(|ticks| u64::from(ticks) * 64);
        nanoseconds.or_else(ticks).and_then(|nanoseconds| i64::try_from(nanoseconds / 1000).ok())
    };
    let long_rate = attributes.number(RATE64);
    let rate = long_rate.or_else(|| attributes.get(RATE).and_then(|rate| number(rate, 0)).map(u64::from));
    let found = [
        ("delay_us", microseconds(LATENCY64, 0)),
        ("jitter_us", microseconds(JITTER64, 20)),
        ("limit_packets", number(octets, 4).map(i64::from)),
        ("loss_ppm", ppm(8)),
        ("duplicate_ppm", ppm(16)),
        ("rate_bps", rate.filter(|rate| *rate > 0).map(bits)),
    ];
    found.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}
