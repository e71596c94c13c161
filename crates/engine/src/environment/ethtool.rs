//! What the driver of an interface says of it (ethtool(8), linux/ethtool.h): every kernel answers these to everybody.

#![allow(unsafe_code, reason = "ioctl")]

use std::collections::BTreeMap;
use std::os::fd::AsRawFd;

use rrul_model::environment::{Interface, Rings};
use socket2::{Domain, Socket, Type};

use crate::netlink::message::number;

const SIOCETHTOOL: libc::Ioctl = 0x8946;

const ETHTOOL_GSET: u32 = 0x01;
const ETHTOOL_GDRVINFO: u32 = 0x03;
const ETHTOOL_GRINGPARAM: u32 = 0x10;
const ETHTOOL_GFLAGS: u32 = 0x25;
/// Among the flags.
const ETH_FLAG_LRO: u32 = 1 << 15;

/// Switches, by ethtool's short names.
const OFFLOADS: [(&str, u32); 6] =
    [("rx", 0x14), ("tx", 0x16), ("sg", 0x18), ("tso", 0x1e), ("gso", 0x23), ("gro", 0x2b)];

/// The longest structure asked for is that of the driver, 196 bytes.
const OCTETS: usize = 256;

/// Fills in what the driver says. What it does not say stays unknown.
pub(super) fn fill(interface: &mut Interface) {
    let Ok(socket) = Socket::new(Domain::IPV4, Type::DGRAM, None) else { return };
    let name = interface.name.clone();
    let ask = |question: u32| ask(&socket, &name, question);
    if let Some(octets) = ask(ETHTOOL_GDRVINFO) {
        let text = &octets[4..36];
        let end = text.iter().position(|octet| *octet == 0).unwrap_or(text.len());
        interface.driver = String::from_utf8_lossy(&text[..end]).into_owned();
    }
    if let Some(octets) = ask(ETHTOOL_GSET) {
        (interface.speed, interface.duplex) = line(&octets);
    }
    if let Some(octets) = ask(ETHTOOL_GRINGPARAM) {
        let at = |place: usize| number(&octets, place * 4).unwrap_or_default();
        interface.rings = Some(Rings { receive_limit: at(1), transmit_limit: at(4), receive: at(5), transmit: at(8) });
    }
    let switch = |question| ask(question).and_then(|octets| number(&octets, 4));
    let mut offloads: BTreeMap<String, bool> =
        OFFLOADS.into_iter().filter_map(|(name, question)| Some((name.to_owned(), switch(question)? != 0))).collect();
    offloads.extend(switch(ETHTOOL_GFLAGS).map(|flags| ("lro".to_owned(), flags & ETH_FLAG_LRO != 0)));
    interface.offloads = offloads;
}

/// Speed and duplex from `struct ethtool_cmd`; the speed is unknown without a signal.
fn line(octets: &[u8; OCTETS]) -> (Option<u32>, String) {
    let half = |at: usize| u32::from(u16::from_ne_bytes([octets[at], octets[at + 1]]));
    let speed = half(28) << 16 | half(12);
    let known = speed != 0 && speed != u32::MAX && speed != u32::from(u16::MAX);
    let duplex = match octets[14] {
        0 if known => "half",
        1 => "full",
        _ => "",
    };
    (known.then_some(speed), duplex.to_owned())
}

fn ask(socket: &Socket, name: &str, question: u32) -> Option<[u8; OCTETS]> {
    let mut octets = [0; OCTETS];
    octets[..4].copy_from_slice(&question.to_ne_bytes());
    // SAFETY: ifreq is plain data, for which all-zero is valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    // The last byte stays 0.
    let room = request.ifr_name.len() - 1;
    for (place, octet) in request.ifr_name[..room].iter_mut().zip(name.bytes()) {
        *place = octet.cast_signed() as libc::c_char;
    }
    request.ifr_ifru.ifru_data = octets.as_mut_ptr().cast();
    // SAFETY: the kernel reads the question from `octets` and writes back the structure that belongs to it, each shorter
    // than `octets`; both it and the request outlive the call.
    let status = unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL, &raw mut request) };
    (status == 0).then_some(octets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_driver_reports_its_offloads_and_no_line_speed() {
        let mut interface = Interface { name: "lo".to_owned(), ..Interface::default() };
        fill(&mut interface);
        assert!(interface.offloads.contains_key("gso") && interface.offloads.contains_key("lro"), "{interface:?}");
        assert_eq!((interface.speed, interface.rings), (None, None));
        let mut nothing = Interface { name: "no such name".to_owned(), ..Interface::default() };
        fill(&mut nothing);
        assert!(nothing.offloads.is_empty() && nothing.driver.is_empty());
    }

    #[test]
    fn a_line_of_ten_gigabits_is_read_from_both_halves_of_its_speed() {
        let mut octets = [0; OCTETS];
        octets[12..14].copy_from_slice(&10_000_u16.to_ne_bytes());
        octets[14] = 1;
        assert_eq!(line(&octets), (Some(10_000), "full".to_owned()));
        octets[28..30].copy_from_slice(&1_u16.to_ne_bytes());
        assert_eq!(line(&octets), (Some(65_536 + 10_000), "full".to_owned()));
        octets[12..14].copy_from_slice(&[255; 2]);
        octets[28..30].copy_from_slice(&[255; 2]);
        octets[14] = 255;
        assert_eq!(line(&octets), (None, String::new()), "no signal");
    }
}
