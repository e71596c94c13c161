//! What each core took from devices, and what it dropped (/proc/net/softnet_stat).

use rrul_model::observation::SoftnetCount;
use rrul_model::time::TestTime;

/// One row a core; none if the file is missing.
pub(super) fn cores(at: TestTime) -> Vec<SoftnetCount> {
    std::fs::read_to_string("/proc/net/softnet_stat").map(|text| parse(&text, at)).unwrap_or_default()
}

/// Hexadecimal columns: processed, dropped, squeezed; the number of the core is the 13th since Linux 5.10. Before that
/// cores that are switched off have no line, and only the number of the line is known.
fn parse(text: &str, at: TestTime) -> Vec<SoftnetCount> {
    let row = |(line_number, line): (usize, &str)| {
        let columns: Vec<&str> = line.split_ascii_whitespace().collect();
        let column = |place: usize| u32::from_str_radix(columns.get(place)?, 16).ok();
        let core = column(12).unwrap_or(line_number as u32);
        let (processed, dropped, squeezed) = (column(0)?, column(1)?, column(2)?);
        Some(SoftnetCount { at, core: u16::try_from(core).ok()?, processed, dropped, squeezed })
    };
    text.lines().enumerate().filter_map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_a_core_by_its_number_where_that_is_reported() {
        let new = "0000001a 00000002 00000003 0 0 0 0 0 0 0 0 0 00000005 0 0\n";
        let expected = SoftnetCount { at: TestTime(7), core: 5, processed: 26, dropped: 2, squeezed: 3 };
        assert_eq!(parse(new, TestTime(7)), [expected]);
        let old = "00000001 0 0 0\nffffffff 0 0 0\ndamaged\n";
        let rows: Vec<_> = parse(old, TestTime(7)).iter().map(|row| (row.core, row.processed)).collect();
        assert_eq!(rows, [(0, 1), (1, u32::MAX)]);
    }

    #[test]
    fn this_kernel_reports_every_core() {
        let cores = std::thread::available_parallelism().unwrap().get();
        assert!(super::cores(TestTime(0)).len() >= cores);
    }
}
