//! Pages beside a load: what they take of it is their bytes, and no more.

use rrul_lab::{LabTime, Record};
use rrul_model::flow::Direction;
use rrul_model::observation::{ObservationPoint, PageLoad};
use rrul_model::phase::Phase;
use rrul_model::time::Window;

use crate::plans::{BOTH_WAYS, plan};
use crate::rows::Rows;
use crate::setting::{Measured, Setting};
use crate::{Bed, Runs};

/// The class of pages in this bed, which nothing else has.
const PAGES: u8 = 46 << 2;

/// Bytes of a line per second of time.
const LINE: [(Direction, f64); 2] = [(Direction::Down, 20e6 / 8.0), (Direction::Up, 8e6 / 8.0)];

pub(crate) const BESIDE_LOAD: Bed = Bed {
    name: "pages",
    about: "20/8 Mbit/s, 18 ms, FQ-CoDel: a page of 78 objects every 4 s, idle and beside four streams each way.",
    // When a load ends is known by a thread of ordinary priority, which waits up to 12 ms for those of other beds.
    runs: Runs::Alone,
    run: |rows| {
        let link = "rtt = \"18ms\"\n[up]\nrate = \"8Mbit/s\"\nqueue = \"fq_codel\"\n\
            [down]\nrate = \"20Mbit/s\"\nqueue = \"fq_codel\"\n";
        let load = format!("count = 4\n{BOTH_WAYS}");
        let page = "class = \"EF\"\ninterval = \"4s\"\nduring = ";
        let (before, loaded) = (format!("{page}[\"before\"]"), format!("{page}[\"load\"]"));
        let flows = [("bulk_tcp", &*load), ("udp_probe", ""), ("web_page", &*before), ("web_page", &*loaded)];
        let plan = plan("before = \"13s\", idle = \"2s\", load = \"24s\", after = \"3500ms\"", &flows);
        let measured = Setting::new(link, plan).measure();
        octets(rows, &measured);
        times(rows, &measured);
    },
};

/// What the load delivered, what pages brought, and what the line carried in all: each is the link's, and together they
/// fill it.
fn octets(rows: &mut Rows, measured: &Measured) {
    let load = measured.window(Phase::Load);
    let seconds = (load.end.0 - load.start.0) as f64 / 1e9;
    for (direction, line) in LINE {
        let delivered = |ours: &dyn Fn(&Record) -> bool| -> f64 {
            let log = measured.truth.direction(direction);
            let there = |record: &&Record| record.delivery().is_some_and(|at| load.contains(&at)) && ours(record);
            log.records().filter(there).map(|record| f64::from(record.length)).sum()
        };
        let account = |part: &str| measured.number(&format!("/link_octets/load/{direction}/all/{part}"));
        let pages = delivered(&|record| record.tos_in & 0xfc == PAGES);
        rows.near(
            "R28",
            format!("bytes of pages, {direction}, share of the line"),
            account("parts_octets/web").map(|octets| octets / (line * seconds)),
            pages / (line * seconds),
            0.01,
        );
        let all = delivered(&|_| true);
        let carried = account("carried_octets").map(|octets| octets / all);
        rows.near("R7", format!("bytes of everything, {direction}, over those of the link"), carried, 1.0, 0.01);
        let filled = account("carried_octets").map(|octets| octets / (line * seconds));
        rows.near("R28", format!("load and pages together, {direction}, share of the line"), filled, 1.0, 0.03);
        let most = measured.busiest_second(direction, measured.recording.phase(Phase::Load).unwrap()) / (8.0 * line);
        let what = format!("the most bytes in any second, {direction}, over those that the line carries");
        rows.between("R7", what, Some(most), "at most 1", 0.9..=1.02);
    }
}

/// A load ends with the last byte that the page waits for, and takes longer beside the load.
fn times(rows: &mut Rows, measured: &Measured) {
    let tables = measured.recording.tables_of(ObservationPoint::Client);
    let loads: Vec<PageLoad> = tables.flat_map(|tables| tables.page_load.rows()).collect();
    let whole = loads.iter().filter(|load| load.outcome == PageLoad::COMPLETE);
    let origin = measured.recording.header.clocks.client_origin;
    let at = |time: i64| LabTime((origin + time).cast_unsigned());
    let late = whole.clone().filter_map(|load| {
        let end = at(load.started.0 + load.took.0);
        let log = measured.truth.direction(Direction::Down);
        let arrived = log.records().filter(|record| record.tos_in & 0xfc == PAGES).filter_map(Record::delivery);
        let last = arrived.filter(|arrived| *arrived <= end).max()?;
        Some((end.0 - last.0) as f64 / 1e6)
    });
    let late = late.fold(0.0, f64::max);
    rows.between("R28", "loads end after the last byte on the link by at most, ms", Some(late), "0", 0.0..=10.0);
    let mean = |window: Window| {
        let within = whole.clone().filter(|load| window.contains(load.started));
        let took: Vec<f64> = within.map(|load| load.took.0 as f64).collect();
        took.iter().sum::<f64>() / took.len() as f64
    };
    let (before, scored) = (measured.recording.phase(Phase::Survey).unwrap(), measured.analysis.scored.common.unwrap());
    // The longest chain has some twenty round trips of 18 ms, and thinks and waits for 150 ms; most of it beside the bytes.
    let octets = 2_680_000.0 * 1.06 / LINE[0].1 * 1e3;
    let idle = mean(before) / 1e6;
    rows.between(
        "R28",
        "page load time on the idle line, ms",
        Some(idle),
        "its bytes at the rate of the line; round trips, thinking and waiting beside",
        octets..=octets + 1000.0,
    );
    rows.near(
        "R39",
        "idle over loaded page load time",
        measured.number("/scores/web/score").map(|score| score / 100.0),
        mean(before) / mean(scored),
        0.02,
    );
}
