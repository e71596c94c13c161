//! Which packets of a flow have been taken already: whoever repeats one changes no figure but the number of copies.
//!
//! A tag shows who has made a packet, and not how often it was sent. The network doubles packets, too, and copies are counted; so a
//! copy is taken, but no more copies than packets, and never in the place of a packet.

/// Numbers that are remembered below the highest. Older ones may be copies, and are taken for them.
pub const NUMBERS: u32 = 1024;

/// One word more than the numbers fill: that of the highest is full only when the next begins (RFC 6479).
const WORDS: usize = (NUMBERS / u64::BITS) as usize + 1;

/// Copies that are taken in a row.
pub const COPIES_IN_A_ROW: u32 = 64;

/// The numbers that were taken.
#[derive(Debug, Clone)]
pub struct ReplayWindow {
    highest: u32,
    taken: [u64; WORDS],
    /// Copies that may still be taken; one more with each packet.
    copies: u32,
}

/// How a packet is to be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Freshness {
    /// No other of this number was taken.
    New,
    /// One of this number was taken, or too many newer ones to know it.
    Copy,
    /// The same, beyond what is taken of copies.
    Excess,
}

impl Default for ReplayWindow {
    fn default() -> Self {
        Self { highest: 0, taken: [0; WORDS], copies: COPIES_IN_A_ROW }
    }
}

impl ReplayWindow {
    /// Takes the packet of this number, which must be genuine.
    pub fn take(&mut self, number: u32) -> Freshness {
        if self.is_new(number) {
            self.copies = (self.copies + 1).min(COPIES_IN_A_ROW);
            Freshness::New
        } else if let Some(left) = self.copies.checked_sub(1) {
            self.copies = left;
            Freshness::Copy
        } else {
            Freshness::Excess
        }
    }

    fn is_new(&mut self, number: u32) -> bool {
        let word = |number: u32| number / u64::BITS;
        if number > self.highest {
            let begun = (word(self.highest) + 1..=word(number)).take(WORDS);
            for word in begun {
                self.taken[word as usize % WORDS] = 0;
            }
            self.highest = number;
        } else if self.highest - number >= NUMBERS {
            return false;
        }
        let place = &mut self.taken[word(number) as usize % WORDS];
        let bit = 1 << (number % u64::BITS);
        let is_new = *place & bit == 0;
        *place |= bit;
        is_new
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rrul_model::random::Random;
    use std::collections::BTreeSet;

    #[test]
    fn a_number_is_new_once() {
        let mut window = ReplayWindow::default();
        for number in [0, 1, 5, 3, 63, 64, 2, 1000, 999, u32::MAX, u32::MAX - 1023] {
            assert_eq!(window.take(number), Freshness::New, "{number}");
            assert_eq!(window.take(number), Freshness::Copy, "{number}");
        }
        assert_eq!(window.take(u32::MAX - 1024), Freshness::Copy, "what is too old to know is no new one");
        assert_eq!(window.take(0), Freshness::Copy);
    }

    #[test]
    fn whatever_the_order_what_is_new_has_not_been_taken_before() {
        let mut random = Random(1);
        for spread in [10, 100, 1000, 3000, 100_000] {
            let (mut window, mut taken) = (ReplayWindow::default(), BTreeSet::new());
            let mut highest = 0_u32;
            for _ in 0..20_000 {
                let number = highest.saturating_add(20).saturating_sub(random.up_to(spread) as u32);
                let is_known = highest < number || highest - number < NUMBERS;
                highest = highest.max(number);
                assert_eq!(window.is_new(number), is_known && taken.insert(number), "{number} of {highest}");
            }
        }
    }

    #[test]
    fn copies_are_taken_as_long_as_packets_come() {
        let mut window = ReplayWindow::default();
        for number in 0..10_000 {
            assert_eq!([window.take(number), window.take(number)], [Freshness::New, Freshness::Copy], "{number}");
        }
        let copies = (0..10_000).filter(|_| window.take(9_000) == Freshness::Copy).count();
        assert_eq!(copies as u32, COPIES_IN_A_ROW - 1, "one of them was of the last packet");
        assert_eq!(window.take(9_999), Freshness::Excess);
        assert_eq!(window.take(10_000), Freshness::New, "which keeps out no packet");
    }
}
