//! With which code points a server marks packets at a stranger's request.

use std::fmt;
use std::str::FromStr;

use rrul_model::marking::{Dscp, Marking, ServiceClass};

/// CS6 and CS7: what networks send among themselves (RFC 4594, section 3.2), which no test should look like.
const NETWORK_CONTROL: [u8; 2] = [48, 56];

/// A set of code points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AllowedMarks(u64);

impl AllowedMarks {
    /// Every code point.
    pub const ALL: Self = Self(u64::MAX);

    /// Whether packets may be marked so. The default class is no mark.
    pub fn allows(self, dscp: Dscp) -> bool {
        dscp.value() == 0 || self.0 >> dscp.value() & 1 == 1
    }

    /// This traffic-class octet, without a code point that is not allowed.
    pub fn octet(self, octet: u8) -> u8 {
        let Marking { dscp, ecn } = Marking::from_octet(octet);
        if self.allows(dscp) { octet } else { ecn.bits() }
    }

    /// The names of those that are not allowed, separated by commas; empty when all are.
    pub fn refused(self) -> String {
        let refused = (0..64).filter_map(Dscp::new).filter(|dscp| !self.allows(*dscp));
        let names: Vec<String> = refused.map(|dscp| ServiceClass::from_dscp(dscp).to_string()).collect();
        names.join(",")
    }

    fn without(self, dscp: u8) -> Self {
        Self(self.0 & !(1 << dscp))
    }
}

impl Default for AllowedMarks {
    /// All but what networks send among themselves.
    fn default() -> Self {
        NETWORK_CONTROL.into_iter().fold(Self::ALL, Self::without)
    }
}

/// A list of code points that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("\"{0}\" is no class; write all, or classes such as BE,EF,AF41, of {names}", names = ServiceClass::known_names())]
pub struct NoMarks(String);

impl FromStr for AllowedMarks {
    type Err = NoMarks;

    fn from_str(text: &str) -> Result<Self, NoMarks> {
        if text == "all" {
            return Ok(Self::ALL);
        }
        text.split(',').try_fold(Self(0), |marks, name| {
            let class: ServiceClass = name.trim().parse().map_err(|_| NoMarks(name.to_owned()))?;
            Ok(Self(marks.0 | 1 << class.dscp().value()))
        })
    }
}

impl fmt::Display for AllowedMarks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::ALL {
            return f.write_str("all");
        }
        let allowed = (0..64).filter_map(Dscp::new).filter(|dscp| self.allows(*dscp));
        let names: Vec<String> = allowed.map(|dscp| ServiceClass::from_dscp(dscp).to_string()).collect();
        f.write_str(&names.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dscp(value: u8) -> Dscp {
        Dscp::new(value).unwrap()
    }

    #[test]
    fn what_networks_send_among_themselves_is_off_by_default() {
        let marks = AllowedMarks::default();
        assert_eq!(marks.refused(), "CS6,CS7");
        assert_eq!((0..64).filter(|value| marks.allows(dscp(*value))).count(), 62);
        // The ECN bits are no mark.
        assert_eq!((marks.octet(48 << 2 | 3), marks.octet(46 << 2 | 1)), (3, 46 << 2 | 1));
    }

    #[test]
    fn a_list_reads_back_and_always_has_the_default_class() {
        let marks: AllowedMarks = "EF,AF41, DSCP5".parse().unwrap();
        assert!(marks.allows(dscp(0)) && marks.allows(dscp(46)) && marks.allows(dscp(5)) && !marks.allows(dscp(8)));
        assert_eq!(marks.to_string(), "BE,DSCP5,AF41,EF");
        assert_eq!("all".parse::<AllowedMarks>().unwrap(), AllowedMarks::ALL);
        assert_eq!(AllowedMarks::ALL.to_string(), "all");
        for bad in ["", "EF,", "XX", "DSCP64"] {
            assert!(bad.parse::<AllowedMarks>().is_err(), "{bad}");
        }
    }
}
