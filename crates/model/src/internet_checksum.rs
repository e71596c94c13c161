//! The Internet checksum (RFC 1071).

/// Returns the checksum of these bytes, whose checksum field is zero. Over bytes whose checksum is right it is zero.
pub fn checksum(octets: &[u8]) -> u16 {
    !folded(sum(octets))
}

/// Returns the sum of the 16-bit words before it is folded; an odd byte at the end is a word with a zero.
pub fn sum(octets: &[u8]) -> u64 {
    octets.chunks(2).map(|two| u64::from(two[0]) << 8 | u64::from(two.get(1).copied().unwrap_or(0))).sum()
}

/// Returns a sum with its carries added in.
pub fn folded(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_that_of_rfc_1071() {
        // RFC 1071 §3: the sum of these words is ddf2, the checksum its complement.
        assert_eq!(checksum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), !0xddf2);
        assert_eq!(checksum(&[0xff]), 0x00ff);
        // ff01 + 0200 + 0300 = 10401, and with the carry 0402.
        assert_eq!(checksum(&[0xff, 0x01, 0x02, 0x00, 0x03]), !0x0402);
        // ffff + ffff + 0001 = 1ffff, whose carry makes another: 0001.
        assert_eq!(checksum(&[0xff, 0xff, 0xff, 0xff, 0x00, 0x01]), !0x0001);
        // The header of an IPv4 packet with its checksum, b861, in place.
        let header = [
            0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0xb8, 0x61, 0xc0, 0xa8, 0x00, 0x01, 0xc0, 0xa8,
            0x00, 0xc7,
        ];
        assert_eq!(checksum(&header), 0);
    }
}
