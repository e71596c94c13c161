//! Processor time: of every core of this host, and of this program.

#![allow(unsafe_code, reason = "getrusage and sysconf")]

use rrul_model::observation::{CpuTime, ProcessTime};
use rrul_model::time::TestTime;
use rrul_model::units::Delay;

/// Reads /proc/stat into one row a core; empty if the file is missing.
pub fn cores(at: TestTime) -> Vec<CpuTime> {
    std::fs::read_to_string("/proc/stat").map(|text| parse(&text, at)).unwrap_or_default()
}

fn parse(text: &str, at: TestTime) -> Vec<CpuTime> {
    let row = |line: &str| {
        let mut fields = line.split_ascii_whitespace();
        let core = fields.next()?.strip_prefix("cpu")?.parse().ok()?;
        let mut next = || fields.next().and_then(|field| field.parse().ok()).unwrap_or(0);
        Some(CpuTime {
            at,
            core,
            user: next(),
            nice: next(),
            system: next(),
            idle: next(),
            iowait: next(),
            irq: next(),
            softirq: next(),
            steal: next(),
        })
    };
    text.lines().filter_map(row).collect()
}

/// Processor time of this process, all threads.
pub fn process(at: TestTime) -> ProcessTime {
    // SAFETY: rusage is plain data, for which all-zero is valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is valid to write to; RUSAGE_SELF always exists.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &raw mut usage) };
    let delay = |time: libc::timeval| Delay(time.tv_sec * 1_000_000_000 + time.tv_usec * 1000);
    ProcessTime { at, user: delay(usage.ru_utime), system: delay(usage.ru_stime) }
}

/// Ticks per second of the rows of [`cores`].
pub fn ticks_per_second() -> u64 {
    // SAFETY: a plain query.
    u64::try_from(unsafe { libc::sysconf(libc::_SC_CLK_TCK) }).unwrap_or(100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proc_stat_gives_one_row_a_core() {
        let text = "cpu  10 0 10 80 0 0 0 0 0 0\ncpu0 1 2 3 4 5 6 7 8 9 10\ncpu1 1 0 0 0\nintr 5\n";
        let rows = parse(text, TestTime(7));
        assert_eq!(rows.len(), 2);
        assert_eq!((rows[0].core, rows[0].softirq, rows[0].steal), (0, 7, 8));
        assert_eq!((rows[1].core, rows[1].user, rows[1].steal), (1, 1, 0));
    }
}
