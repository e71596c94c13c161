//! DNS lookup times and flow completion times in the printed summary.

use rrul_analysis::Analysis;
use rrul_analysis::metrics::delay::unloaded::ByLoad;
use rrul_analysis::metrics::web::name_lookups::{LookupGroup, LookupKind, LookupStatistics, RecordType};
use rrul_analysis::metrics::web::short_flows::{TransferGroup, TransferKind, TransferStatistics};
use rrul_analysis::statistics::percentile::DelayStatistics;
use rrul_model::flow::AddressFamily;
use rrul_model::marking::ServiceClass;
use rrul_model::units::Delay;

use crate::text::octet_lines::size;
use crate::text::style::unknown;
use crate::text::table::{SectionBody, Table};
use crate::text::words;
use crate::text::words::direction_word;

pub(crate) fn lookups(run: &Analysis) -> SectionBody {
    let groups = &run.name_lookups.groups;
    let told = |group: &&LookupGroup| !group.times.is_empty();
    let mut table = Table::default();
    table.row(["", "idle P50", "loaded P50", "loaded P95", "ratio", "no answer"]);
    let mut found = false;
    for group in groups.iter().filter(told) {
        found = true;
        let of = |statistics: &LookupStatistics| statistics.time;
        table.named_row(
            &lookup_name(group, groups),
            cells(&group.times, of, group.loaded_over_unloaded, None, "no answer"),
        );
    }
    if found { table.into() } else { SectionBody::default() }
}

/// How long short flows took.
pub(crate) fn short_flows(run: &Analysis) -> SectionBody {
    let groups = &run.short_flows.groups;
    let told = |group: &&TransferGroup| !group.transfers.is_empty();
    let mut table = Table::default();
    table.row(["", "idle P50", "loaded P50", "loaded P95", "ratio", "rate loaded", "failed"]);
    let mut found = false;
    for group in groups.iter().filter(told) {
        found = true;
        let of = |statistics: &TransferStatistics| statistics.completion;
        let rate = group.transfers.load.and_then(|load| load.rate_p50_bps);
        let rate = rate.map_or_else(unknown, |rate| rate.to_string());
        table.named_row(
            &transfer_name(group, groups),
            cells(&group.transfers, of, group.loaded_over_unloaded, Some(rate), "failed"),
        );
    }
    if found { table.into() } else { SectionBody::default() }
}

/// The name of a group of lookups among the others: `server, random, A, IPv4`.
pub(crate) fn lookup_name(group: &LookupGroup, groups: &[LookupGroup]) -> String {
    let shape = Shape::of(&groups.iter().map(|group| (group.kind.class, group.kind.family)));
    let LookupKind { resolver, names, class, family, record } = &group.kind;
    let record = match record {
        RecordType::A => "A",
        RecordType::Aaaa => "AAAA",
    };
    format!("{resolver}, {names}, {record}{}", shape.suffix(*class, *family))
}

/// The name of a group of short flows among the others: `Download 100 kB`.
pub(crate) fn transfer_name(group: &TransferGroup, groups: &[TransferGroup]) -> String {
    let shape = Shape::of(&groups.iter().map(|group| (group.kind.class, group.kind.family)));
    let TransferKind { direction, size: octets, class, family } = group.kind;
    format!("{} {}{}", direction_word(direction), size(octets.0), shape.suffix(class, family))
}

fn cells<T>(
    of_load: &ByLoad<T>,
    of: impl Fn(&T) -> DelayStatistics,
    ratio: Option<f64>,
    rate: Option<String>,
    failed: &str,
) -> impl Iterator<Item = String> {
    let time = |phase: &Option<T>, percentile: &Percentile| {
        phase.as_ref().map_or_else(unknown, |phase| percentile.words(&of(phase), failed))
    };
    let load = of_load.load.as_ref().map(&of);
    let failures = load.map_or_else(unknown, |load| words::percent(load.lost as f64 / load.n as f64));
    let times = [time(&of_load.unloaded, &P50), time(&of_load.load, &P50), time(&of_load.load, &P95)];
    let ratio = ratio.map_or_else(unknown, |ratio| format!("{ratio:.1}"));
    times.into_iter().chain([ratio]).chain(rate).chain([failures])
}

/// A percentile of times of which some were cut off before they ended.
struct Percentile {
    per_mille: u64,
    pick: fn(&DelayStatistics) -> Option<Delay>,
}

const P50: Percentile = Percentile { per_mille: 500, pick: |statistics| statistics.p50 };
const P95: Percentile = Percentile { per_mille: 950, pick: |statistics| statistics.p95 };

impl Percentile {
    /// Returns its value, `failed` where it falls on what never ended, or its lower bound where it falls on what was cut off.
    fn words(&self, statistics: &DelayStatistics, failed: &str) -> String {
        let DelayStatistics { n, lost, max, .. } = *statistics;
        // It falls on what never ended only where it did even if everything that was cut off had ended.
        let rank = n.saturating_mul(self.per_mille).div_ceil(1000);
        match (self.pick)(statistics) {
            Some(time) => time.to_string(),
            None if rank > n - lost.min(n) => failed.to_owned(),
            None => max.map_or_else(|| "incomplete".to_owned(), |longest| format!("above {longest}")),
        }
    }
}

/// What distinguishes rows beside their kind.
pub(crate) struct Shape {
    classes: bool,
    families: bool,
}

impl Shape {
    pub(crate) fn of<'a>(kinds: &(impl Iterator<Item = (ServiceClass, AddressFamily)> + Clone + 'a)) -> Self {
        let first = kinds.clone().next();
        let differs = |other: &dyn Fn((ServiceClass, AddressFamily), (ServiceClass, AddressFamily)) -> bool| {
            first.is_some_and(|first| kinds.clone().any(|kind| other(first, kind)))
        };
        Self {
            classes: differs(&|(one, _), (other, _)| one != other),
            families: differs(&|(_, one), (_, other)| one != other),
        }
    }

    pub(crate) fn suffix(&self, class: ServiceClass, family: AddressFamily) -> String {
        let class = if self.classes { format!(", {class}") } else { String::new() };
        let family = if self.families { format!(", {}", words::family_name(family)) } else { String::new() };
        class + &family
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rrul_model::flow::Direction;
    use rrul_model::units::{BitRate, ByteCount};

    fn delays(answered: &[i64], lost: u64) -> DelayStatistics {
        DelayStatistics::from_delays(answered.iter().map(|ms| Delay(ms * 1_000_000)).collect(), lost).unwrap()
    }

    #[test]
    fn lookups_are_distinguished_by_resolver_names_record_and_family() {
        let statistics = |time: DelayStatistics| {
            let (answered, unanswered) = (time.n - time.lost, time.lost);
            Some(LookupStatistics { time, answered, unanswered, cut_short: 0, refused: 0, impossible: 0 })
        };
        let group = |resolver: &str, names: &str, family, record| LookupGroup {
            kind: LookupKind {
                resolver: resolver.into(),
                names: names.into(),
                class: ServiceClass::BE,
                family,
                record,
            },
            times: ByLoad {
                unloaded: statistics(delays(&[20, 20, 21], 0)),
                load: statistics(delays(&[50, 50, 60], 1)),
                after: None,
            },
            loaded_over_unloaded: Some(2.5),
        };
        let mut run = Analysis::default();
        assert!(lookups(&run).is_empty());
        run.name_lookups.groups = vec![
            group("server", "random", AddressFamily::Ipv4, RecordType::A),
            group("system", "cached", AddressFamily::Ipv6, RecordType::Aaaa),
        ];
        run.name_lookups.groups[1].times.load = None;
        run.name_lookups.groups[1].loaded_over_unloaded = None;
        assert_eq!(
            lookups(&run).lines(),
            [
                "                              idle P50  loaded P50  loaded P95  ratio  no answer",
                "  server, random, A, IPv4      20.0 ms     50.0 ms   no answer    2.5       25 %",
                "  system, cached, AAAA, IPv6   20.0 ms           –           –      –          –",
            ]
        );
    }

    #[test]
    fn a_percentile_that_falls_on_what_was_cut_off_is_a_bound() {
        let ms = |ms: i64| Delay(ms * 1_000_000);
        let of = |answered: &[i64], lost, cut_off: &[i64]| {
            let [answered, cut_off] = [answered, cut_off].map(|times| times.iter().map(|time| ms(*time)).collect());
            let cut_off: Vec<Delay> = cut_off;
            DelayStatistics::with_cut_off(answered, lost, &cut_off).unwrap()
        };
        let words = |statistics: &DelayStatistics| [&P50, &P95].map(|one| one.words(statistics, "failed"));
        assert_eq!(words(&of(&[20, 30, 1200], 0, &[1300])), ["30.0 ms", "above 1200 ms"]);
        assert_eq!(words(&of(&[20], 0, &[900, 900])), ["above 20.0 ms"; 2]);
        assert_eq!(words(&of(&[], 0, &[900, 900])), ["incomplete"; 2]);
        // One of 21 never ended, ten were cut off: whether P95, the 20th, ever ended is not known.
        assert_eq!(words(&of(&[20; 10], 1, &[900; 10])), ["above 20.0 ms"; 2]);
        assert_eq!(words(&of(&[20, 20], 1, &[900])), ["20.0 ms", "failed"]);
    }

    #[test]
    fn short_flows_are_distinguished_by_direction_and_size() {
        let statistics = |completion: DelayStatistics, rate| {
            Some(TransferStatistics {
                completion,
                rate_p50_bps: Some(BitRate(rate)),
                rate_p5_bps: None,
                cut_short: 0,
                retried: 0,
                unanswered: 0,
                broken: completion.lost,
                refused: 0,
                impossible: 0,
            })
        };
        let kind = TransferKind {
            direction: Direction::Down,
            size: ByteCount(100_000),
            class: ServiceClass::BE,
            family: AddressFamily::Ipv4,
        };
        let transfers = ByLoad {
            unloaded: statistics(delays(&[100], 0), 8_000_000),
            load: statistics(delays(&[800; 9], 1), 1_000_000),
            after: None,
        };
        let mut run = Analysis::default();
        assert!(short_flows(&run).is_empty());
        run.short_flows.groups = vec![TransferGroup { kind, transfers, loaded_over_unloaded: Some(8.0) }];
        assert_eq!(
            short_flows(&run).lines(),
            [
                "                   idle P50  loaded P50  loaded P95  ratio  rate loaded  failed",
                "  Download 100 kB    100 ms      800 ms      failed    8.0  1.00 Mbit/s    10 %",
            ]
        );
    }
}
