//! The search for the largest packet that a path carries whole (RFC 8899), a step in every round of a path trace.

use rrul_model::time::TestTime;

/// The largest packet that is tried, octets of IP: that of Ethernet.
const LARGEST: u16 = 1500;

/// What every path is taken to carry (RFC 8200 §5).
const LEAST: u16 = 1280;

/// MTUs that links really have: Ethernet, PPPoE, IP in IP, DS-Lite and VXLAN, GRE with key, WireGuard, and round figures.
const USUAL: [u16; 14] = [1500, 1492, 1480, 1472, 1468, 1460, 1450, 1440, 1428, 1420, 1400, 1380, 1320, 1280];

/// How long an answer is waited for before a packet counts as lost.
const WAITING: i64 = 2_000_000_000;

/// Packets of one length that must be lost before it counts as too long.
const TRIES: u8 = 2;

/// What is known so far, and what is being tried.
#[derive(Debug, Default)]
pub struct PathMtuSearch {
    /// The largest that has got through.
    passed: u16,
    /// The smallest that has not; 0 when none.
    failed: u16,
    /// A length that a router has named.
    hint: u16,
    /// On its way: number, length, when it was sent.
    trying: Option<(u32, u16, TestTime)>,
    /// How often the length that is being tried was lost.
    losses: u8,
}

impl PathMtuSearch {
    /// The length to try at `now`; `None` while one is on its way, and when nothing is left to learn.
    pub fn next(&mut self, now: TestTime) -> Option<u16> {
        if let Some((_, length, sent)) = self.trying {
            if now.since(sent).0 < WAITING {
                return None;
            }
            self.trying = None;
            self.losses += 1;
            if self.losses >= TRIES {
                self.fails(length);
            } else {
                return Some(length);
            }
        }
        let top = if self.failed == 0 { LARGEST + 1 } else { self.failed };
        let open = |length: u16| length > self.passed && length < top && length >= LEAST;
        if open(self.hint) {
            return Some(self.hint);
        }
        // The largest first: most paths carry it. Then the middle of the usual ones that are still possible.
        if self.failed == 0 {
            return open(LARGEST).then_some(LARGEST);
        }
        let left = || USUAL.into_iter().filter(|length| open(*length));
        left().nth(left().count() / 2)
    }

    /// A packet of this length has left.
    pub fn sent(&mut self, sequence: u32, length: u16, now: TestTime) {
        self.trying = Some((sequence, length, now));
    }

    /// This packet has reached the destination.
    pub fn passed(&mut self, sequence: u32) {
        if let Some((_, length, _)) = self.trying.filter(|(number, ..)| *number == sequence) {
            self.passed = self.passed.max(length);
            self.trying = None;
            self.losses = 0;
            if length == self.hint {
                // A router has said that no more goes through, and that much does.
                self.fails(length + 1);
            }
        }
    }

    /// A router will not pass it on.
    pub fn too_big(&mut self, sequence: u32, mtu: u32) {
        if let Some((_, length, _)) = self.trying.filter(|(number, ..)| *number == sequence) {
            self.trying = None;
            self.fails(length);
            self.hint = u16::try_from(mtu).unwrap_or(0);
        }
    }

    fn fails(&mut self, length: u16) {
        self.losses = 0;
        self.failed = if self.failed == 0 { length } else { self.failed.min(length) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is tried over a path that carries so much and, if asked, says so; one step a second.
    fn search(mtu: u16, tells: bool) -> Vec<u16> {
        let mut search = PathMtuSearch::default();
        let mut tried = Vec::new();
        for second in 0..60 {
            let now = TestTime(second * 1_000_000_000);
            let Some(length) = search.next(now) else { continue };
            let sequence = tried.len() as u32;
            tried.push(length);
            search.sent(sequence, length, now);
            if length <= mtu {
                search.passed(sequence);
            } else if tells {
                search.too_big(sequence, u32::from(mtu));
            }
        }
        tried
    }

    #[test]
    fn a_path_of_ethernet_takes_one_packet() {
        assert_eq!(search(1500, true), [1500]);
    }

    #[test]
    fn a_router_that_reports_its_mtu_saves_the_search() {
        assert_eq!(search(1420, true), [1500, 1420]);
    }

    #[test]
    fn without_a_word_every_usual_mtu_is_found() {
        for mtu in USUAL {
            let tried = search(mtu, false);
            assert_eq!(tried.iter().filter(|length| **length <= mtu).max(), Some(&mtu), "{tried:?}");
            assert!(tried.len() <= 12, "{tried:?}");
        }
    }

    #[test]
    fn a_router_that_lies_does_not_keep_it_from_ending() {
        for mtu in [0, 1, 1500, 65_535, u32::MAX] {
            let mut search = PathMtuSearch::default();
            let mut steps = 0;
            while let Some(length) = search.next(TestTime(0)) {
                search.sent(steps, length, TestTime(0));
                search.too_big(steps, mtu);
                steps += 1;
                assert!(steps < 30);
            }
        }
    }
}
