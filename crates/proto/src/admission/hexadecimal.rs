//! 32 octets, written as 64 hexadecimal digits.

use std::fmt;

/// Shows 32 octets in hexadecimal.
pub(crate) struct Hexadecimal<'a>(pub(crate) &'a [u8; 32]);

impl fmt::Display for Hexadecimal<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|octet| write!(f, "{octet:02x}"))
    }
}

/// Reads 64 digits.
pub(crate) fn read(text: &str) -> Option<[u8; 32]> {
    let digits = text.as_bytes();
    if digits.len() != 64 {
        return None;
    }
    let mut octets = [0; 32];
    for (octet, pair) in octets.iter_mut().zip(digits.chunks_exact(2)) {
        let digit = |at: usize| char::from(pair[at]).to_digit(16);
        *octet = (digit(0)? << 4 | digit(1)?) as u8;
    }
    Some(octets)
}

/// A type of 32 octets, in JSON 64 hexadecimal digits.
macro_rules! octets {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub struct $name(pub [u8; 32]);

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(&$crate::admission::hexadecimal::Hexadecimal(&self.0))
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                let octets = $crate::admission::hexadecimal::read(&text);
                octets.map(Self).ok_or_else(|| serde::de::Error::custom("not 64 hexadecimal digits"))
            }
        }
    };
}

pub(crate) use octets;
