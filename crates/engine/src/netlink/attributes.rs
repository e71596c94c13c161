//! Attributes of netlink messages: pairs of kind and value, nested as the kernel likes.

/// Set in the kind of an attribute that contains others, and of one in network order.
const FLAGS: u16 = 0xc000;

/// A row of attributes.
#[derive(Debug, Clone, Copy)]
pub struct Attributes<'a>(&'a [u8]);

impl<'a> Attributes<'a> {
    /// Those behind a fixed structure of so many bytes.
    pub fn behind(content: &'a [u8], fixed: usize) -> Self {
        Self(content.get(fixed..).unwrap_or_default())
    }

    /// Each with its kind, up to the first that is damaged.
    pub fn iter(&self) -> impl Iterator<Item = (u16, &'a [u8])> + use<'a> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let [l0, l1, k0, k1] = *rest.first_chunk()?;
            let length = usize::from(u16::from_ne_bytes([l0, l1]));
            let value = rest.get(4..length)?;
            rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
            Some((u16::from_ne_bytes([k0, k1]) & !FLAGS, value))
        })
    }

    /// The value of this kind.
    pub fn get(&self, kind: u16) -> Option<&'a [u8]> {
        self.iter().find(|(found, _)| *found == kind).map(|(_, value)| value)
    }

    /// The attributes inside that of this kind; none if absent.
    #[must_use]
    pub fn nested(&self, kind: u16) -> Self {
        Self(self.get(kind).unwrap_or_default())
    }

    /// The number of this kind, of whatever width.
    pub fn number(&self, kind: u16) -> Option<u64> {
        self.get(kind).and_then(unsigned)
    }

    pub fn text(&self, kind: u16) -> Option<String> {
        let octets = self.get(kind)?;
        let end = octets.iter().position(|octet| *octet == 0).unwrap_or(octets.len());
        Some(String::from_utf8_lossy(&octets[..end]).into_owned())
    }
}

/// A number of 8, 16, 32 or 64 bits, in the host's order.
pub fn unsigned(value: &[u8]) -> Option<u64> {
    match *value {
        [octet] => Some(u64::from(octet)),
        [a, b] => Some(u64::from(u16::from_ne_bytes([a, b]))),
        [a, b, c, d] => Some(u64::from(u32::from_ne_bytes([a, b, c, d]))),
        _ => value.try_into().ok().map(u64::from_ne_bytes),
    }
}

pub fn append(content: &mut Vec<u8>, kind: u16, value: &[u8]) {
    content.extend_from_slice(&((4 + value.len()) as u16).to_ne_bytes());
    content.extend_from_slice(&kind.to_ne_bytes());
    content.extend_from_slice(value);
    content.resize(content.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_found_by_kind_at_any_depth_and_damage_ends_them() {
        let mut inside = Vec::new();
        append(&mut inside, 2, &0x1122_3344_5566_7788_u64.to_ne_bytes());
        let mut octets = vec![9; 8];
        append(&mut octets, 3, b"eth0\0");
        append(&mut octets, 7 | 0x8000, &inside);
        append(&mut octets, 9, &700_u16.to_ne_bytes());
        let attributes = Attributes::behind(&octets, 8);
        assert_eq!(attributes.text(3).as_deref(), Some("eth0"));
        assert_eq!(attributes.nested(7).number(2), Some(0x1122_3344_5566_7788));
        assert_eq!((attributes.number(9), attributes.number(4)), (Some(700), None));
        assert_eq!(attributes.nested(4).iter().count(), 0);
        for cut in 0..octets.len() {
            assert!(Attributes::behind(&octets[..cut], 8).iter().count() <= 3);
        }
        assert_eq!(Attributes::behind(&[0; 12], 0).iter().count(), 0, "a length of 0 would go on for ever");
    }
}
