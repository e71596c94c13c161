//! Which of the latest 64 packets have arrived: what every reply says of the packets before the one that it answers.

/// One bit for each of the latest 64 numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReceiveWindow {
    /// Highest number that has arrived; bit 0 stands for it.
    pub highest: u32,
    /// Bit n is set when the packet numbered `highest` less n has arrived; 0 when none has.
    pub bits: u64,
}

impl ReceiveWindow {
    /// A packet has arrived, perhaps again.
    pub fn note(&mut self, sequence: u32) {
        if self.bits == 0 {
            *self = Self { highest: sequence, bits: 1 };
        } else if let Some(behind) = self.highest.checked_sub(sequence) {
            self.bits |= bit(behind);
        } else {
            self.bits = shifted(self.bits, sequence - self.highest) | 1;
            self.highest = sequence;
        }
    }

    /// The bits that stand for a number: none exists below 0.
    fn numbers(self) -> u64 {
        if self.highest < 63 { bit(self.highest + 1) - 1 } else { u64::MAX }
    }

    /// Whether a reflector can have said this in its reply to `answered`, when so many packets had been sent.
    fn is_sound(self, answered: u32, sent: u32) -> bool {
        let Some(behind) = self.highest.checked_sub(answered) else { return false };
        let of_answered = bit(behind);
        self.highest < sent
            && self.bits & 1 == 1
            && self.bits & !self.numbers() == 0
            && self.bits & of_answered == of_answered
    }
}

/// What a sender knows of its latest 64 packets, so that of all the windows in replies it notes those that are news.
#[derive(Debug, Clone, Copy, Default)]
pub struct KnownArrivals {
    /// Bit 0 stands for this packet.
    highest: u32,
    arrived: u64,
    /// Said to be missing; a packet that comes late is first missing and then arrived.
    missing: u64,
}

impl KnownArrivals {
    /// Takes the window in the reply to `answered`, when so many packets had been sent; whether it says anything that
    /// neither a reply nor a window before it has said.
    pub fn take(&mut self, answered: u32, window: ReceiveWindow, sent: u32) -> bool {
        if !window.is_sound(answered, sent) {
            return false;
        }
        let Some(ahead) = window.highest.checked_sub(self.highest) else {
            // The reply was overtaken. Its window reaches farther back than those seen since, so it is kept.
            return true;
        };
        self.highest = window.highest;
        self.arrived = shifted(self.arrived, ahead) | bit(window.highest - answered);
        self.missing = shifted(self.missing, ahead);
        let arrived = window.bits & !self.arrived;
        let missing = !window.bits & window.numbers() & !self.missing;
        self.arrived |= arrived;
        self.missing |= missing;
        arrived | missing != 0
    }
}

fn bit(place: u32) -> u64 {
    1_u64.checked_shl(place).unwrap_or(0)
}

fn shifted(bits: u64, places: u32) -> u64 {
    bits.checked_shl(places).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window_of(sequences: &[u32]) -> ReceiveWindow {
        let mut window = ReceiveWindow::default();
        for sequence in sequences {
            window.note(*sequence);
        }
        window
    }

    #[test]
    fn a_window_shows_what_has_arrived_of_the_latest_64() {
        assert_eq!(window_of(&[]), ReceiveWindow { highest: 0, bits: 0 });
        assert_eq!(window_of(&[0, 1, 3]), ReceiveWindow { highest: 3, bits: 0b1101 });
        assert_eq!(window_of(&[3, 0, 1]), window_of(&[0, 1, 3]), "the order of arrival does not matter");
        assert_eq!(window_of(&[0, 1, 3, 3, 0]), window_of(&[0, 1, 3]), "nor do copies");
        assert_eq!(window_of(&[0, 63]).bits, 1 | 1 << 63);
        assert_eq!(window_of(&[0, 64]).bits, 1, "65 numbers do not fit");
        assert_eq!(window_of(&[5, 5000]), ReceiveWindow { highest: 5000, bits: 1 });
        assert_eq!(window_of(&[5000, 5]), ReceiveWindow { highest: 5000, bits: 1 });
        assert_eq!(window_of(&[u32::MAX, 0]), ReceiveWindow { highest: u32::MAX, bits: 1 });
    }

    /// Which of the replies, each to the highest packet of its window, are noted.
    fn news(windows: &[(u32, ReceiveWindow)]) -> Vec<bool> {
        let mut known = KnownArrivals::default();
        windows.iter().map(|(answered, window)| known.take(*answered, *window, 1000)).collect()
    }

    #[test]
    fn while_nothing_is_lost_no_window_is_news() {
        let numbers: Vec<u32> = (0..200).collect();
        let windows: Vec<_> = (0..200).map(|last| (last, window_of(&numbers[..=last as usize]))).collect();
        assert_eq!(news(&windows), vec![false; 200]);
    }

    #[test]
    fn a_packet_lost_on_the_way_up_is_news_once() {
        let windows = [(0, window_of(&[0])), (2, window_of(&[0, 2])), (3, window_of(&[0, 2, 3]))];
        assert_eq!(news(&windows), [false, true, false]);
        let late = (4, window_of(&[0, 2, 3, 1, 4]));
        assert_eq!(news(&[windows[0], windows[1], windows[2], late]), [false, true, false, true], "and when it comes");
    }

    #[test]
    fn a_reply_lost_on_the_way_down_is_news_once() {
        let windows = [(0, window_of(&[0])), (2, window_of(&[0, 1, 2])), (3, window_of(&[0, 1, 2, 3]))];
        assert_eq!(news(&windows), [false, true, false]);
    }

    #[test]
    fn the_first_reply_reports_those_before_it() {
        assert_eq!(news(&[(2, window_of(&[0, 2]))]), [true]);
    }

    #[test]
    fn what_no_reflector_can_say_is_no_news() {
        for (answered, highest, bits) in [
            (5, 5, 0),
            (5, 5, 0b10),
            (5, 4, 1),
            (5, 1000, 1),
            (5, 6, 0b101),
            (5, 5, 1 | 1 << 6),
            (0, u32::MAX, u64::MAX),
        ] {
            assert_eq!(news(&[(answered, ReceiveWindow { highest, bits })]), [false], "{answered} {highest} {bits:b}");
        }
    }
}
