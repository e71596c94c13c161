//! What others send on the line, by the counters of its interface.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use rrul_engine::environment::{Carried, InterfaceMeter};
use rrul_model::units::{BitRate, ByteCount};

/// The rate now is the mean of this time.
const RATE_TIME: Duration = Duration::from_secs(1);

/// Counters of the interface to the server, over a while.
pub(super) struct LineTraffic {
    meter: InterfaceMeter,
    kept: Duration,
    readings: VecDeque<(Instant, Carried)>,
}

/// The mean rates of a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rates {
    pub(super) received: BitRate,
    pub(super) sent: BitRate,
    pub(super) over: Duration,
}

impl LineTraffic {
    /// For the way to these addresses; readings are kept for `kept`.
    pub(super) fn towards(addresses: &[SocketAddr], kept: Duration) -> std::io::Result<Self> {
        Ok(Self { meter: InterfaceMeter::towards(addresses)?, kept, readings: VecDeque::new() })
    }

    pub(super) fn interface(&self) -> &str {
        self.meter.names()
    }

    /// Takes a reading.
    pub(super) fn read(&mut self, now: Instant) -> std::io::Result<Carried> {
        let carried = self.meter.read()?;
        self.readings.push_back((now, carried));
        // The last one that is older stays, so that the whole time is covered.
        while self.readings.get(1).is_some_and(|(at, _)| now.duration_since(*at) >= self.kept.max(RATE_TIME)) {
            self.readings.pop_front();
        }
        Ok(carried)
    }

    /// Forgets what was read: it contains a test of one's own, which is not what others send.
    pub(super) fn forget(&mut self) {
        self.readings.clear();
    }

    /// The mean rates of the whole time that readings are kept for; `None` until it has passed.
    pub(super) fn rates(&self) -> Option<Rates> {
        self.rates_over(self.kept)
    }

    /// The rate of both directions together in the last second.
    pub(super) fn rate_now(&self) -> BitRate {
        self.rates_over(RATE_TIME).map_or(BitRate(0), |rates| BitRate(rates.received.0 + rates.sent.0))
    }

    fn rates_over(&self, time: Duration) -> Option<Rates> {
        let (now, last) = *self.readings.back()?;
        let (at, first) = *self.readings.iter().rev().find(|(at, _)| now.duration_since(*at) >= time)?;
        let over = now.duration_since(at);
        let rate = |first: ByteCount, last: ByteCount| ByteCount(last.0.saturating_sub(first.0)).per(over);
        Some(Rates { received: rate(first.received, last.received), sent: rate(first.sent, last.sent), over })
    }
}

/// What was carried in both directions together between two readings.
pub(super) fn between(before: Carried, after: Carried) -> ByteCount {
    let moved = |before: ByteCount, after: ByteCount| after.0.saturating_sub(before.0);
    ByteCount(moved(before.received, after.received) + moved(before.sent, after.sent))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_unknown_until_their_time_has_passed_without_a_test_of_ones_own() {
        let second = Duration::from_secs(1);
        let loopback = SocketAddr::from(([127, 0, 0, 1], 9));
        let mut traffic = LineTraffic::towards(&[loopback], 2 * second).unwrap();
        let begin = Instant::now();
        let known = [0, 1, 2, 3].map(|after| {
            traffic.read(begin + second * after).unwrap();
            traffic.rates().is_some()
        });
        assert_eq!(known, [false, false, true, true]);
        traffic.forget();
        let known = [4, 5, 6].map(|after| {
            traffic.read(begin + second * after).unwrap();
            traffic.rates().is_some()
        });
        assert_eq!(known, [false, false, true]);
    }
}
