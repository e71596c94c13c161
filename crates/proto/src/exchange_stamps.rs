//! The server's stamps of an exchange over TCP, which the response carries in place of the request's first octets.

/// Octets that they take; a shorter response carries none.
pub const STAMP_OCTETS: usize = 16;

/// When a request was read whole and when its response was written, nanoseconds from the server's T0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExchangeStamps {
    /// Just after the request was read whole.
    pub received: i64,
    /// Just before the response is written.
    pub sent: i64,
}

impl ExchangeStamps {
    /// Writes the stamps over the first octets of a response, if they fit.
    pub fn write(self, octets: &mut [u8]) {
        if let Some(octets) = octets.first_chunk_mut::<STAMP_OCTETS>() {
            octets[..8].copy_from_slice(&self.received.to_be_bytes());
            octets[8..].copy_from_slice(&self.sent.to_be_bytes());
        }
    }

    /// Clears their place in a request, so that a server that returns it unchanged is recognized.
    pub fn clear(octets: &mut [u8]) {
        let place = octets.len().min(STAMP_OCTETS);
        octets[..place].fill(0);
    }

    /// Reads the stamps of a response; `None` when it carries none.
    pub fn read(octets: &[u8]) -> Option<Self> {
        let octets = octets.first_chunk::<STAMP_OCTETS>()?;
        let [received, sent] =
            [0, 8].map(|at| octets[at..].first_chunk().map_or(0, |stamp| i64::from_be_bytes(*stamp)));
        (received != 0 || sent != 0).then_some(Self { received, sent })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_are_these_octets() {
        let stamps = ExchangeStamps { received: 0x0102_0304_0506_0708, sent: -2 };
        let mut octets = [0xee; 18];
        stamps.write(&mut octets);
        assert_eq!(octets, [1, 2, 3, 4, 5, 6, 7, 8, 255, 255, 255, 255, 255, 255, 255, 254, 0xee, 0xee]);
        assert_eq!(ExchangeStamps::read(&octets), Some(stamps));
    }

    #[test]
    fn a_response_that_is_too_short_or_a_mere_echo_carries_none() {
        let mut octets = [7; 15];
        ExchangeStamps { received: 1, sent: 2 }.write(&mut octets);
        assert_eq!((octets, ExchangeStamps::read(&octets)), ([7; 15], None));
        let mut echo = [7; 20];
        ExchangeStamps::clear(&mut echo);
        assert_eq!((echo[16..].to_vec(), ExchangeStamps::read(&echo)), (vec![7; 4], None));
    }
}
