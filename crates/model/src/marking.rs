//! DSCP, ECN and the service classes that name them.
//!
//! RFC 2474 (DS field), RFC 3168 and RFC 9331 (ECN), RFC 4594 (service classes), RFC 8622 (LE), RFC 9956 (NQB).

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

use crate::unknown_name::UnknownName;

/// A differentiated services code point: the upper six bits of the traffic-class byte (RFC 2474), 0 to 63.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Hash)]
pub struct Dscp(u8);

impl Dscp {
    /// The code point with this value; `None` above 63.
    pub fn new(value: u8) -> Option<Self> {
        (value < 64).then_some(Self(value))
    }

    /// 0 to 63.
    pub fn value(self) -> u8 {
        self.0
    }
}

/// Explicit congestion notification: the lower two bits of the traffic-class byte (RFC 3168).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Hash)]
pub enum Ecn {
    /// Not ECN-capable, 00.
    #[default]
    NotEct,
    /// ECN-capable, 01: L4S by RFC 9331.
    Ect1,
    /// ECN-capable, 10.
    Ect0,
    /// Congestion experienced, 11.
    Ce,
}

impl Ecn {
    /// From the lower two bits of `octet`.
    pub fn from_bits(octet: u8) -> Self {
        match octet & 3 {
            0 => Self::NotEct,
            1 => Self::Ect1,
            2 => Self::Ect0,
            _ => Self::Ce,
        }
    }

    /// The two bits.
    pub fn bits(self) -> u8 {
        match self {
            Self::NotEct => 0,
            Self::Ect1 => 1,
            Self::Ect0 => 2,
            Self::Ce => 3,
        }
    }
}

/// The whole byte: the IPv4 TOS field or the IPv6 traffic class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Hash)]
pub struct Marking {
    /// The service class asked for.
    pub dscp: Dscp,
    /// The congestion bits.
    pub ecn: Ecn,
}

impl Marking {
    /// From the byte in the IP header.
    pub fn from_octet(octet: u8) -> Self {
        Self { dscp: Dscp(octet >> 2), ecn: Ecn::from_bits(octet) }
    }

    /// The byte in the IP header.
    pub fn octet(self) -> u8 {
        (self.dscp.0 << 2) | self.ecn.bits()
    }
}

/// The names by which code points are known, first the one we print.
const CLASSES: &[(&str, u8)] = &[
    ("BE", 0),
    ("CS0", 0),
    ("DF", 0),
    ("LE", 1),
    ("BK", 8),
    ("CS1", 8),
    ("AF11", 10),
    ("AF12", 12),
    ("AF13", 14),
    ("CS2", 16),
    ("AF21", 18),
    ("AF22", 20),
    ("AF23", 22),
    ("CS3", 24),
    ("AF31", 26),
    ("AF32", 28),
    ("AF33", 30),
    ("CS4", 32),
    ("AF41", 34),
    ("AF42", 36),
    ("AF43", 38),
    ("CS5", 40),
    ("VA", 44),
    ("NQB", 45),
    ("EF", 46),
    ("CS6", 48),
    ("CS7", 56),
];

/// A service class: a code point by the name people use for it.
///
/// `BE` is the default (CS0, DF), `BK` is CS1 as in the charts of the spec's companions; a code point without a name
/// prints as `DSCP17`. In data it is always that printed name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Hash)]
pub struct ServiceClass(Dscp);

impl ServiceClass {
    /// Best effort, DSCP 0.
    pub const BE: Self = Self(Dscp(0));
    /// Background, CS1, DSCP 8.
    pub const BK: Self = Self(Dscp(8));
    /// Class selector 5, DSCP 40.
    pub const CS5: Self = Self(Dscp(40));
    /// Expedited forwarding, DSCP 46 (RFC 3246).
    pub const EF: Self = Self(Dscp(46));

    /// The class of this code point.
    pub fn from_dscp(dscp: Dscp) -> Self {
        Self(dscp)
    }

    /// The code point.
    pub fn dscp(self) -> Dscp {
        self.0
    }

    /// The traffic-class byte of this class without ECN.
    pub fn octet(self) -> u8 {
        Marking { dscp: self.0, ecn: Ecn::NotEct }.octet()
    }

    /// Every name that is understood, for messages.
    pub fn known_names() -> String {
        let names: Vec<&str> = CLASSES.iter().map(|(name, _)| *name).collect();
        format!("{}, DSCP0 to DSCP63", names.join(", "))
    }
}

impl fmt::Display for ServiceClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match CLASSES.iter().find(|(_, value)| *value == self.0.0) {
            Some((name, _)) => f.pad(name),
            None => f.pad(&format!("DSCP{}", self.0.0)),
        }
    }
}

impl FromStr for ServiceClass {
    type Err = UnknownName;
    fn from_str(text: &str) -> Result<Self, UnknownName> {
        if let Some((_, value)) = CLASSES.iter().find(|(name, _)| *name == text) {
            return Ok(Self(Dscp(*value)));
        }
        text.strip_prefix("DSCP")
            .and_then(|number| number.parse().ok())
            .and_then(Dscp::new)
            .map(Self)
            .ok_or_else(|| UnknownName::new("class", text, Self::known_names()))
    }
}

impl JsonSchema for ServiceClass {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("ServiceClass")
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        String::json_schema(generator)
    }
}

impl Serialize for ServiceClass {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ServiceClass {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn class_names_mean_their_code_points() {
        for (name, value) in [("EF", 46), ("BE", 0), ("CS0", 0), ("CS1", 8), ("BK", 8), ("AF41", 34), ("DSCP17", 17)] {
            assert_eq!(name.parse::<ServiceClass>().unwrap().dscp().value(), value, "{name}");
        }
        assert!("EE".parse::<ServiceClass>().unwrap_err().to_string().contains("known: BE"));
        assert!("DSCP64".parse::<ServiceClass>().is_err());
    }

    #[test]
    fn every_code_point_prints_and_reads_back() {
        for value in 0..64 {
            let class = ServiceClass::from_dscp(Dscp::new(value).unwrap());
            assert_eq!(class.to_string().parse::<ServiceClass>().unwrap(), class);
        }
        assert_eq!(ServiceClass::BK.to_string(), "BK");
    }

    #[test]
    fn a_byte_splits_and_joins() {
        for octet in 0..=255 {
            assert_eq!(Marking::from_octet(octet).octet(), octet);
        }
        assert_eq!(ServiceClass::EF.octet(), 0xb8);
        assert_eq!(Marking::from_octet(0xb9).ecn, Ecn::Ect1);
    }
}
