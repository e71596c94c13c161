//! How much a server logs: a source that is loud is cut short, and all together stay within a rate.

use std::collections::HashMap;
use std::net::IpAddr;

use super::prefix::Prefix;

/// Lines of one network that are logged in a row, and in each second after that.
const LINES_IN_A_ROW: i64 = 20;
const LINES_PER_SECOND: i64 = 1;

/// Bytes of all lines that are logged in one second on average, and in a row.
const BYTES_PER_SECOND: i64 = 8_000;
const BYTES_IN_A_ROW: i64 = 10_000;

/// Networks that are remembered; beyond that, the others share what is left for all.
const MOST_NETWORKS: usize = 4096;

const SECOND: i64 = 1_000_000_000;

/// Something that fills at a rate and that lines are taken from.
#[derive(Debug, Clone, Copy)]
struct Bucket {
    /// Nanoseconds until which it is owed.
    full: i64,
    left_out: u64,
}

impl Bucket {
    /// Takes this much, worth so many nanoseconds, where so many nanoseconds may be owed.
    fn take(&mut self, cost: i64, most: i64, now: i64) -> bool {
        let owed = self.full.max(now).saturating_add(cost);
        let granted = owed.saturating_sub(now) <= most;
        if granted {
            self.full = owed;
        }
        granted
    }
}

/// The pace of a log. Times are nanoseconds of any monotonic clock.
#[derive(Debug)]
pub struct LogPace {
    all: Bucket,
    networks: HashMap<Prefix, Bucket>,
}

impl LogPace {
    /// A log that is empty.
    pub fn new(now: i64) -> Self {
        Self { all: Bucket { full: now, left_out: 0 }, networks: HashMap::new() }
    }

    /// Whether a line of so many bytes is logged. If so, how many lines were left out since the one before: of this
    /// source, or of all for a line of none.
    pub fn take(&mut self, source: Option<IpAddr>, bytes: usize, now: i64) -> Option<u64> {
        if self.networks.len() >= MOST_NETWORKS {
            self.networks.retain(|_, bucket| bucket.full > now || bucket.left_out > 0);
        }
        if self.networks.len() >= MOST_NETWORKS {
            self.networks.retain(|_, bucket| bucket.full > now.saturating_add(LINES_IN_A_ROW * SECOND / 2));
        }
        let cost = i64::try_from(bytes).unwrap_or(i64::MAX).saturating_mul(SECOND / BYTES_PER_SECOND);
        let most = BYTES_IN_A_ROW * (SECOND / BYTES_PER_SECOND);
        let all = &mut self.all;
        let Some(source) = source else {
            return all.take(cost, most, now).then(|| std::mem::take(&mut all.left_out));
        };
        let bucket = self.networks.entry(Prefix::party_of(source)).or_insert(Bucket { full: now, left_out: 0 });
        let per_line = SECOND / LINES_PER_SECOND;
        if bucket.take(per_line, per_line * LINES_IN_A_ROW, now) && all.take(cost, most, now) {
            return Some(std::mem::take(&mut bucket.left_out));
        }
        bucket.left_out += 1;
        all.left_out += 1;
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(number: u32) -> IpAddr {
        IpAddr::from(std::net::Ipv4Addr::from(0x0a00_0000 + number * 256))
    }

    #[test]
    fn a_loud_source_is_cut_short_and_the_others_are_heard() {
        let mut pace = LogPace::new(0);
        let logged = (0..10_000_i64).filter(|line| pace.take(Some(host(1)), 100, line * 1_000_000).is_some()).count();
        assert!((28..=31).contains(&logged), "{logged} lines in ten seconds");
        assert_eq!(pace.take(Some(host(2)), 100, 10 * SECOND), Some(0), "another source");
        let left_out = pace.take(Some(host(1)), 100, 12 * SECOND).unwrap();
        assert!(left_out > 300, "{left_out}: those since the line before");
    }

    #[test]
    fn all_together_stay_within_the_rate() {
        let mut pace = LogPace::new(0);
        let mut bytes = 0;
        for line in 0..1_000_000_u32 {
            let now = i64::from(line) * 10_000;
            bytes += if pace.take(Some(host(line)), 1000, now).is_some() { 1000 } else { 0 };
        }
        assert!((80_000..=90_000 + 1000).contains(&bytes), "{bytes} bytes in ten seconds");
        assert!(pace.networks.len() <= MOST_NETWORKS);
        assert!(pace.take(None, 100, 20 * SECOND).unwrap() > 900_000, "what was left out is counted");
    }
}
