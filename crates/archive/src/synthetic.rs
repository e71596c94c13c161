//! Runs made from a seed, without measuring: for tests and benches of archives larger than can be stored.

use std::collections::BTreeMap;
use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};

use rrul_model::calendar::date_of_day;
use rrul_model::random::Random;
use rrul_model::units::Delay;

use crate::columns::Columns;
use crate::compaction::LargeFiles;
use crate::error::ArchiveError;
use crate::folder::Archive;
use crate::labels::Site;
use crate::run_id::run_key;
use crate::run_rows::RunRows;
use crate::sketch::{LOST, bin_of};
use crate::table::Row;
use crate::tables::{DelayRow, FlowRow, RunRow};
use crate::writing::columns;

/// Day of the first runs, counted from 1970: 2026-01-01.
const FIRST_DAY: i64 = 20_454;
/// Days over which runs are spread.
const DAYS: u64 = 30;
const PROVIDERS: u64 = 20;
const COUNTRIES: [&str; 5] = ["DE", "FR", "JP", "SE", "US"];
const SITES: u64 = 2;

/// Where and when a run was, and what the rest of it is drawn from.
struct Beginning {
    id: String,
    provider: u64,
    day: i64,
    site: Site,
    numbers: Random,
}

fn beginning(seed: u64, index: u64) -> Beginning {
    let mut numbers = Random(seed ^ index.wrapping_mul(0xd134_2543_de82_ef95));
    let id = format!("{:016x}{:016x}", numbers.next(), numbers.next());
    let provider = numbers.next() % PROVIDERS;
    let day = FIRST_DAY + (numbers.next() % DAYS) as i64;
    let site = format!("site{}", provider % SITES).parse().unwrap_or_default();
    Beginning { id, provider, day, site, numbers }
}

/// Writes an archive of so many runs as if they had been added and compacted. It must not exist.
///
/// # Errors
/// When a file cannot be written.
pub fn write(archive: &Archive, seed: u64, runs: u64) -> Result<(), ArchiveError> {
    let mut places: BTreeMap<(i64, Site), Vec<u64>> = BTreeMap::new();
    for index in 0..runs {
        let Beginning { day, site, .. } = beginning(seed, index);
        places.entry((day, site)).or_default().push(index);
    }
    let places: Vec<_> = places.into_iter().collect();
    let next = AtomicUsize::new(0);
    let work = || -> Result<(), ArchiveError> {
        while let Some(((day, site), indices)) = places.get(next.fetch_add(1, Ordering::Relaxed)) {
            write_partition(archive, seed, *day, site, indices)?;
        }
        Ok(())
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut ended = vec![work()];
        ended.extend(
            others.into_iter().map(|other| other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))),
        );
        ended.into_iter().collect()
    })
}

fn write_partition(archive: &Archive, seed: u64, day: i64, site: &Site, indices: &[u64]) -> Result<(), ArchiveError> {
    let folder = |table| {
        let folder = archive.partition_folder(table, &date_of_day(day), site.as_str());
        fs::create_dir_all(&folder).map_err(ArchiveError::file(&folder))?;
        Ok(folder)
    };
    let folders = [folder(DelayRow::TABLE.name)?, folder(FlowRow::TABLE.name)?, folder(RunRow::TABLE.name)?];
    let stem = || format!("compact-{seed:016x}");
    let mut delays = LargeFiles::new(DelayRow::TABLE, &folders[0], stem());
    let mut flows = LargeFiles::new(FlowRow::TABLE, &folders[1], stem());
    let mut rows = LargeFiles::new(RunRow::TABLE, &folders[2], stem());
    for index in indices {
        let run = figures(seed, *index);
        let mut all = Columns::new(DelayRow::TABLE);
        for sketch in &run.sketches {
            all.push_alike(&sketch.row.values(), [("bin", &sketch.bins), ("n", &sketch.counts)]);
        }
        delays.append(all)?;
        flows.append(columns(&run.flows))?;
        rows.append(columns(std::slice::from_ref(&run.run)))?;
    }
    delays.finish()?;
    flows.finish()?;
    rows.finish()?;
    Ok(())
}

/// The rows of one sketch.
struct SketchRows {
    /// What they have in common.
    row: DelayRow,
    bins: Vec<i64>,
    /// Packets in each bin.
    counts: Vec<i64>,
}

/// What a run measured. Its sketches are as many as those of a plan with four probe flows.
struct Figures {
    date: String,
    site: Site,
    run: RunRow,
    flows: [FlowRow; 2],
    sketches: Vec<SketchRows>,
}

/// Run number `index` of the runs of a seed; always the same.
pub fn run(seed: u64, index: u64) -> RunRows {
    let Figures { date, site, run, flows, sketches } = figures(seed, index);
    let rows = |sketch: SketchRows| -> Vec<DelayRow> {
        let each = sketch.bins.into_iter().zip(sketch.counts);
        each.map(|(bin, n)| DelayRow { bin: Some(bin), n: Some(n), ..sketch.row.clone() }).collect()
    };
    let delays = sketches.into_iter().flat_map(rows).collect();
    RunRows { date, site, run, flows: flows.to_vec(), delays, seconds: Vec::new() }
}

fn figures(seed: u64, index: u64) -> Figures {
    let Beginning { id, provider, day, site, mut numbers } = beginning(seed, index);
    let key = run_key(&id);
    let second = (numbers.next() % 86_400) as i64;
    let managed = numbers.next() % 2 == 1;
    let hour = second / 3600;
    // Busy evenings, providers that differ, and a queue where none is managed.
    let idle = 5_000_000 + provider as i64 * 1_000_000;
    let evening = if (18..23).contains(&hour) { 2 } else { 1 };
    let loaded = idle + evening * if managed { 4_000_000 } else { 80_000_000 + provider as i64 * 5_000_000 };
    let mut sketches = Vec::new();
    for class in ["BE", "EF"] {
        for family in ["ipv4", "ipv6"] {
            for (phase, delay, packets) in [("idle", idle, 250), ("load", loaded, 3000), ("after", idle, 250)] {
                let row = |kind: &str, direction: &str| DelayRow {
                    run_key: key,
                    phase: Some(phase.to_owned()),
                    class: Some(class.to_owned()),
                    family: Some(family.to_owned()),
                    direction: Some(direction.to_owned()),
                    kind: Some(kind.to_owned()),
                    headline: Some(1),
                    ..DelayRow::default()
                };
                sketches.push(sketch(row("round_trip", "both"), delay, packets, &mut numbers));
                if phase != "after" {
                    let waited = (delay - idle).max(500_000);
                    sketches.push(sketch(row("queueing", "down"), waited, packets, &mut numbers));
                    sketches.push(sketch(row("queueing", "up"), waited / 2, packets, &mut numbers));
                }
            }
        }
    }
    let flows = ["down", "up"].map(|direction| FlowRow {
        run_key: key,
        phase: Some("load".to_owned()),
        flow: Some(format!("bulk_tcp/BE/{direction}/ipv4")),
        flow_type: Some("bulk_tcp".to_owned()),
        class: Some("BE".to_owned()),
        family: Some("ipv4".to_owned()),
        direction: Some(direction.to_owned()),
        goodput_bps: Some(20_000_000),
        octets: Some(150_000_000),
        ..FlowRow::default()
    });
    let bleached = |numbers: &mut Random| if numbers.next() % 10 < provider % 5 { "bleached" } else { "preserved" };
    let run = RunRow {
        run_key: key,
        run_id: Some(id),
        started_at: Some((day * 86_400 + second) * 1_000_000),
        hour_utc: Some(hour),
        tool: Some("rrul".to_owned()),
        plan: Some("rrul".to_owned()),
        asn: Some(64_496 + provider as i64 % 16),
        isp: Some(format!("Provider {provider}")),
        country: Some(COUNTRIES[provider as usize % COUNTRIES.len()].to_owned()),
        firmware: Some(if day < FIRST_DAY + 15 { "24.10" } else { "25.12" }.to_owned()),
        aqm_down: Some(if managed { "cake" } else { "none" }.to_owned()),
        aqm_up: Some(if managed { "cake" } else { "none" }.to_owned()),
        families: Some("both".to_owned()),
        validity: Some(if numbers.next().is_multiple_of(20) { "invalid" } else { "valid" }.to_owned()),
        confidence: Some("high".to_owned()),
        partial: Some(0),
        idle_p50_ns: Some(idle),
        load_p95_ns: Some(loaded),
        bufferbloat: Some(if managed { "A+" } else { "C" }.to_owned()),
        ef_down: Some(bleached(&mut numbers).to_owned()),
        ef_up: Some(bleached(&mut numbers).to_owned()),
        flow_rows: Some(2),
        delay_rows: Some(sketches.iter().map(|sketch| sketch.bins.len() as i64).sum()),
        second_rows: Some(0),
        ..RunRow::default()
    };
    Figures { date: date_of_day(day), site, run, flows, sketches }
}

/// Bins around that of a delay, most packets in the middle, and a few lost packets.
fn sketch(row: DelayRow, delay: i64, packets: i64, numbers: &mut Random) -> SketchRows {
    let spread: i64 = if packets > 1000 { 18 } else { 8 };
    let middle = bin_of(Delay(delay)) + (numbers.next() % 9) as i64 - 4;
    let mut left = packets;
    let (mut bins, mut counts) = (Vec::new(), Vec::new());
    for offset in -spread..=spread {
        let share = (spread + 1 - offset.abs()) * packets / ((spread + 1) * (spread + 1));
        let n = (share + (numbers.next() % 5) as i64).min(left);
        left -= n;
        if n > 0 {
            bins.push(middle + offset);
            counts.push(n);
        }
    }
    if left > 0 {
        bins.push(LOST);
        counts.push(left.min(2));
    }
    SketchRows { row, bins, counts }
}
