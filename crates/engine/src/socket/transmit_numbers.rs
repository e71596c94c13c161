//! Which packet each numbered transmit stamp belongs to.

use std::collections::VecDeque;

/// Packets whose stamps may still come.
const OUTSTANDING: usize = 1024;

/// The packets that a socket has sent since its stamps were last asked for, in order: the kernel numbers them from 0.
#[derive(Debug)]
pub struct TransmitNumbers<T> {
    /// The number of the oldest packet that is kept.
    first: u32,
    packets: VecDeque<T>,
}

impl<T> Default for TransmitNumbers<T> {
    fn default() -> Self {
        Self { first: 0, packets: VecDeque::with_capacity(OUTSTANDING) }
    }
}

impl<T> TransmitNumbers<T> {
    /// A packet was sent; the kernel has given it the next number.
    pub fn sent(&mut self, packet: T) {
        if self.packets.len() == OUTSTANDING {
            self.packets.pop_front();
            self.first = self.first.wrapping_add(1);
        }
        self.packets.push_back(packet);
    }

    /// The packet of this number, if it is still kept.
    pub fn find(&self, number: u32) -> Option<&T> {
        self.packets.get(number.wrapping_sub(self.first) as usize)
    }

    /// Stamps have been asked for anew: the next packet is number 0.
    pub fn restart(&mut self) {
        self.first = 0;
        self.packets.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_finds_its_packet_even_after_numbers_wrapped_and_old_ones_fell_out() {
        let mut numbers = TransmitNumbers { first: u32::MAX - 1, ..TransmitNumbers::default() };
        for sequence in 100..104_u32 {
            numbers.sent(sequence);
        }
        assert_eq!(numbers.find(u32::MAX - 1), Some(&100));
        assert_eq!(numbers.find(1), Some(&103));
        assert_eq!(numbers.find(2), None);
        for sequence in 0..OUTSTANDING as u32 {
            numbers.sent(sequence);
        }
        assert_eq!(numbers.find(u32::MAX - 1), None, "it is long gone");
        assert_eq!(numbers.find(2), Some(&0));
        numbers.restart();
        assert_eq!(numbers.find(0), None);
    }
}
