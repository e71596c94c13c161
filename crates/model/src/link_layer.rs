//! Link layers: what an IP packet takes on the wire, beyond its own bytes.
//!
//! Numbers and most names are those of tc-cake(8), so that a value from here can be used in a shaper. A link layer is
//! written as a framing, and behind it what packets are wrapped in on the way: `docsis`, `atm/pppoe-llcsnap`,
//! `ethernet+vlan`, `ptm/pppoe+ds-lite`, `ip+18`.

use std::fmt;
use std::str::FromStr;

use crate::flow::AddressFamily;
use crate::unknown_name::UnknownName;

/// Most bytes that `+N` may add.
const MOST_EXTRA: u64 = 256;
/// WireGuard fills its payload up to whole multiples of this.
const WIREGUARD_BLOCK: u64 = 16;

/// How frames are cut up for the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Coding {
    Plain,
    /// ATM cells of 53 bytes with 48 of payload each, the last one filled up (AAL5).
    Atm,
    /// PTM: 65 bytes for 64 (ITU-T G.992.3 Annex N, 64B/65B).
    Ptm,
}

struct Framing {
    name: &'static str,
    about: &'static str,
    overhead: u64,
    /// Frames shorter than this are filled up to it (minimum packet unit).
    least: u64,
    coding: Coding,
}

const fn framing(name: &'static str, overhead: u64, least: u64, coding: Coding, about: &'static str) -> Framing {
    Framing { name, about, overhead, least, coding }
}

const FRAMINGS: &[Framing] = &[
    framing("ip", 0, 0, Coding::Plain, "nothing: the bytes of IP packets"),
    framing("ethernet", 38, 84, Coding::Plain, "Ethernet cable: header, FCS, preamble, gap between frames"),
    framing("ethernet-frame", 18, 64, Coding::Plain, "Ethernet frames as switches count them: header and FCS"),
    framing("docsis", 18, 64, Coding::Plain, "cable modems, as the head end counts: Ethernet header and FCS"),
    framing("ptm", 0, 0, Coding::Ptm, "VDSL2 without anything else; add +N"),
    framing("ptm/bridged", 22, 0, Coding::Ptm, "VDSL2, bridged Ethernet"),
    framing("ptm/pppoe", 30, 0, Coding::Ptm, "VDSL2 with PPPoE"),
    framing("atm", 0, 0, Coding::Atm, "ADSL cells without anything else; add +N"),
    framing("atm/ipoa-vcmux", 8, 0, Coding::Atm, "ADSL, IPoA, VC-MUX"),
    framing("atm/ipoa-llcsnap", 16, 0, Coding::Atm, "ADSL, IPoA, LLC/SNAP"),
    framing("atm/pppoa-vcmux", 10, 0, Coding::Atm, "ADSL, PPPoA, VC-MUX"),
    framing("atm/pppoa-llc", 14, 0, Coding::Atm, "ADSL, PPPoA, LLC"),
    framing("atm/bridged-vcmux", 24, 0, Coding::Atm, "ADSL, bridged Ethernet, VC-MUX"),
    framing("atm/bridged-llcsnap", 32, 0, Coding::Atm, "ADSL, bridged Ethernet, LLC/SNAP"),
    framing("atm/pppoe-vcmux", 32, 0, Coding::Atm, "ADSL with PPPoE, VC-MUX"),
    framing("atm/pppoe-llcsnap", 40, 0, Coding::Atm, "ADSL with PPPoE, LLC/SNAP"),
    framing("atm/conservative", 48, 0, Coding::Atm, "ADSL of an unknown kind: more than any takes"),
];

/// What a packet is wrapped in beside its framing.
struct Wrapping {
    name: &'static str,
    about: &'static str,
    overhead: u64,
    /// Only packets of this family.
    family: Option<AddressFamily>,
    /// Filled up to a multiple of this first.
    block: u64,
}

const fn wrapping(name: &'static str, overhead: u64, family: Option<AddressFamily>, about: &'static str) -> Wrapping {
    Wrapping { name, about, overhead, family, block: 1 }
}

const IPV4: Option<AddressFamily> = Some(AddressFamily::Ipv4);
const IPV6: Option<AddressFamily> = Some(AddressFamily::Ipv6);

const WRAPPINGS: &[Wrapping] = &[
    wrapping("vlan", 4, None, "IEEE 802.1Q tag; may be repeated"),
    wrapping("pppoe", 8, None, "PPPoE over Ethernet (RFC 2516)"),
    wrapping("6in4", 20, IPV6, "IPv6 in IPv4: 6in4, 6rd (RFC 4213, RFC 5969)"),
    wrapping("ds-lite", 40, IPV4, "IPv4 in IPv6: DS-Lite, MAP-E (RFC 6333, RFC 7597)"),
    wrapping("464xlat", 20, IPV4, "IPv4 translated to IPv6: 464XLAT, MAP-T (RFC 6877, RFC 7599)"),
    wrapping("gre", 24, None, "GRE over IPv4 (RFC 2784)"),
    wrapping("gre6", 44, None, "GRE over IPv6"),
    wrapping("vxlan", 50, None, "VXLAN over IPv4, with the inner Ethernet header (RFC 7348)"),
    Wrapping { block: WIREGUARD_BLOCK, ..wrapping("wireguard", 60, None, "WireGuard over IPv4") },
    Wrapping { block: WIREGUARD_BLOCK, ..wrapping("wireguard6", 80, None, "WireGuard over IPv6") },
];

/// A link layer: from the bytes of an IP packet to those that it takes on the wire.
#[derive(Clone)]
pub struct LinkLayer {
    framing: &'static Framing,
    wrappings: Vec<Wrap>,
}

#[derive(Clone)]
enum Wrap {
    Named(&'static Wrapping),
    Octets(u64),
}

impl LinkLayer {
    /// Bytes on the wire of one IP packet of this family with so many bytes, IP header included.
    pub fn octets(&self, family: AddressFamily, packet: u64) -> u64 {
        let mut octets = packet;
        for wrap in &self.wrappings {
            octets = match wrap {
                Wrap::Octets(more) => octets.saturating_add(*more),
                Wrap::Named(Wrapping { family: Some(only), .. }) if *only != family => octets,
                Wrap::Named(Wrapping { overhead, block, .. }) => {
                    octets.div_ceil(*block).saturating_mul(*block).saturating_add(*overhead)
                }
            };
        }
        let frame = octets.saturating_add(self.framing.overhead).max(self.framing.least);
        match self.framing.coding {
            Coding::Plain => frame,
            Coding::Atm => frame.div_ceil(48).saturating_mul(53),
            Coding::Ptm => frame.saturating_add(frame.div_ceil(64)),
        }
    }

    /// What may be written, and what each stands for: framings first, then what may follow behind a plus sign.
    pub fn words() -> impl Iterator<Item = (String, &'static str)> {
        let framings = FRAMINGS.iter().map(|entry| (entry.name.to_owned(), entry.about));
        let wrappings = WRAPPINGS.iter().map(|entry| (format!("+{}", entry.name), entry.about));
        framings.chain(wrappings).chain([("+N".to_owned(), "N bytes more for each packet")])
    }
}

impl FromStr for LinkLayer {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        let mut parts = text.split('+').map(str::trim);
        let name = parts.next().unwrap_or_default();
        let framing = FRAMINGS.iter().find(|entry| entry.name == name).ok_or_else(|| {
            let known: Vec<&str> = FRAMINGS.iter().map(|entry| entry.name).collect();
            UnknownName::new("link layer", name, known.join(", "))
        })?;
        let wrap = |name: &str| {
            if let Some(entry) = WRAPPINGS.iter().find(|entry| entry.name == name) {
                return Ok(Wrap::Named(entry));
            }
            name.parse().ok().filter(|octets| *octets <= MOST_EXTRA).map(Wrap::Octets).ok_or_else(|| {
                let known: Vec<&str> = WRAPPINGS.iter().map(|entry| entry.name).collect();
                let known = format!("{}, or up to {MOST_EXTRA} bytes as a number", known.join(", "));
                UnknownName::new("link layer", &format!("+{name}"), known)
            })
        };
        Ok(Self { framing, wrappings: parts.map(wrap).collect::<Result<_, _>>()? })
    }
}

impl fmt::Display for LinkLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.framing.name)?;
        for wrap in &self.wrappings {
            match wrap {
                Wrap::Named(entry) => write!(f, "+{}", entry.name)?,
                Wrap::Octets(octets) => write!(f, "+{octets}")?,
            }
        }
        Ok(())
    }
}

impl fmt::Debug for LinkLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LinkLayer({self})")
    }
}

impl PartialEq for LinkLayer {
    fn eq(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
    }
}

impl Eq for LinkLayer {}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn octets(layer: &str, family: AddressFamily, packet: u64) -> u64 {
        layer.parse::<LinkLayer>().unwrap_or_else(|error| panic!("{layer}: {error}")).octets(family, packet)
    }

    /// Worked by hand from tc-cake(8) and the RFCs.
    #[test]
    fn a_packet_takes_on_each_link_layer_what_the_standards_say() {
        use AddressFamily::{Ipv4, Ipv6};
        for (layer, family, packet, expected) in [
            ("ip", Ipv4, 1500, 1500),
            ("ethernet", Ipv4, 1500, 1538),
            ("ethernet", Ipv4, 40, 84),
            ("ethernet-frame", Ipv4, 52, 70),
            ("docsis", Ipv4, 40, 64),
            ("docsis", Ipv4, 1500, 1518),
            // 1500 + 30 = 1530, and one byte for every 64: 24.
            ("ptm/pppoe", Ipv4, 1500, 1554),
            ("ptm/bridged", Ipv4, 52, 76),
            // 52 + 40 = 92: two cells. 56 + 40 = 96: two cells, full. 57 + 40: three.
            ("atm/pppoe-llcsnap", Ipv4, 52, 106),
            ("atm/pppoe-llcsnap", Ipv4, 56, 106),
            ("atm/pppoe-llcsnap", Ipv4, 57, 159),
            // 1492 + 40 = 1532: 32 cells.
            ("atm/pppoe-llcsnap", Ipv4, 1492, 1696),
            ("atm/pppoa-vcmux", Ipv4, 1478, 1643),
            ("ethernet+vlan+vlan", Ipv4, 1500, 1546),
            ("ethernet+pppoe", Ipv4, 1492, 1538),
            ("ip+6in4", Ipv6, 1480, 1500),
            ("ip+6in4", Ipv4, 1480, 1480),
            ("docsis+ds-lite", Ipv4, 1460, 1518),
            ("docsis+ds-lite", Ipv6, 1460, 1478),
            ("ip+464xlat", Ipv4, 1480, 1500),
            ("ip+gre", Ipv6, 1476, 1500),
            // 52 is filled up to 64.
            ("ip+wireguard", Ipv4, 52, 124),
            ("ip+wireguard6", Ipv4, 1408, 1488),
            ("atm+44", Ipv4, 52, 106),
        ] {
            assert_eq!(octets(layer, family, packet), expected, "{layer}, {packet} bytes");
        }
    }

    #[test]
    fn a_link_layer_is_written_as_it_is_read() {
        for text in ["ip", "atm/pppoe-llcsnap+vlan", "ptm/pppoe+ds-lite+12"] {
            assert_eq!(text.parse::<LinkLayer>().unwrap().to_string(), text);
        }
        for bad in ["", "adsl", "ip+", "ip+257", "ip+-1", "ip+unknown", "vlan"] {
            assert!(bad.parse::<LinkLayer>().is_err(), "{bad:?} was read as a link layer");
        }
    }

    #[test]
    fn a_longer_packet_never_takes_less_and_none_overflows() {
        for (name, _) in LinkLayer::words().filter(|(name, _)| !name.starts_with('+')) {
            let layer: LinkLayer = format!("{name}+vlan+wireguard").parse().unwrap();
            let lengths = (0..2000).map(|packet| layer.octets(AddressFamily::Ipv4, packet));
            assert!(lengths.collect::<Vec<_>>().is_sorted(), "{name}");
            assert!(layer.octets(AddressFamily::Ipv4, u64::MAX) >= u64::MAX / 65 * 64, "{name}");
        }
    }
}
