//! The wireless link of an interface (nl80211). Silent without one.

use std::io;

use rrul_model::environment::{Interface, Wireless};

use crate::netlink::attributes::{Attributes, append};
use crate::netlink::{self, DUMP, Netlink, ONE};

/// Bytes of `struct genlmsghdr`.
const FIXED: usize = 4;

// genetlink.h.
const GENL_ID_CTRL: u16 = 16;
const CTRL_CMD_GETFAMILY: u8 = 3;
const CTRL_ATTR_FAMILY_ID: u16 = 1;
const CTRL_ATTR_FAMILY_NAME: u16 = 2;

// nl80211.h.
const GET_INTERFACE: u8 = 5;
const GET_STATION: u8 = 17;
const IFINDEX: u16 = 3;
const IFTYPE: u16 = 5;
const STA_INFO: u16 = 21;
const WIPHY_FREQ: u16 = 38;
const CHANNEL_WIDTH: u16 = 159;
const CENTER_FREQ1: u16 = 160;
const IFTYPE_STATION: u64 = 2;
/// MHz, by the numbers of `enum nl80211_chan_width`.
const WIDTHS: [u32; 14] = [20, 20, 40, 80, 160, 160, 5, 10, 1, 2, 4, 8, 16, 320];

/// Fills in the wireless link of every interface that has one.
pub(super) fn fill(interfaces: &mut [&mut Interface]) {
    let Ok(mut netlink) = Netlink::open(netlink::GENERIC) else { return };
    let Some(family) = family(&mut netlink) else { return };
    for interface in interfaces {
        // An interface without radio is refused.
        if let Ok(wireless) = read(&mut netlink, family, interface.index) {
            "wireless".clone_into(&mut interface.kind);
            interface.wireless = Some(wireless);
        }
    }
}

fn content(command: u8) -> Vec<u8> {
    vec![command, 0, 0, 0]
}

fn family(netlink: &mut Netlink) -> Option<u16> {
    let mut question = content(CTRL_CMD_GETFAMILY);
    append(&mut question, CTRL_ATTR_FAMILY_NAME, b"nl80211\0");
    let mut found = None;
    let asked = netlink.ask(GENL_ID_CTRL, ONE, &question, &mut |_, content| {
        found = Attributes::behind(content, FIXED).number(CTRL_ATTR_FAMILY_ID);
    });
    asked.ok().and(found).and_then(|id| u16::try_from(id).ok())
}

fn read(netlink: &mut Netlink, family: u16, index: u32) -> io::Result<Wireless> {
    let mut wireless = Wireless::default();
    let mut is_station = false;
    let mut question = content(GET_INTERFACE);
    append(&mut question, IFINDEX, &index.to_ne_bytes());
    netlink.ask(family, ONE, &question, &mut |_, content| {
        is_station = channel(content, &mut wireless);
    })?;
    let mut question = content(GET_STATION);
    append(&mut question, IFINDEX, &index.to_ne_bytes());
    let asked = netlink.ask(family, DUMP, &question, &mut |_, content| {
        wireless.stations += 1;
        if is_station {
            station(content, &mut wireless);
        }
    });
    // The channel is known all the same.
    drop(asked);
    Ok(wireless)
}

/// Takes in the attributes of the interface; whether it is that of a station.
fn channel(content: &[u8], wireless: &mut Wireless) -> bool {
    let attributes = Attributes::behind(content, FIXED);
    let frequency = attributes.number(CENTER_FREQ1).or(attributes.number(WIPHY_FREQ));
    wireless.frequency = frequency.and_then(|frequency| u32::try_from(frequency).ok());
    let width = attributes.number(CHANNEL_WIDTH).and_then(|width| usize::try_from(width).ok());
    wireless.width = width.and_then(|width| WIDTHS.get(width).copied());
    attributes.number(IFTYPE) == Some(IFTYPE_STATION)
}

/// Takes in the attributes of the access point that a station talks to.
fn station(content: &[u8], wireless: &mut Wireless) {
    // nl80211.h, `enum nl80211_sta_info`.
    const SIGNAL: u16 = 7;
    const TX_BITRATE: u16 = 8;
    const TX_PACKETS: u16 = 10;
    const TX_RETRIES: u16 = 11;
    const TX_FAILED: u16 = 12;
    const SIGNAL_AVG: u16 = 13;
    const RX_BITRATE: u16 = 14;
    const BEACON_LOSS: u16 = 18;
    const RX_DROP_MISC: u16 = 28;
    let facts = Attributes::behind(content, FIXED).nested(STA_INFO);
    let signal = |kind| facts.number(kind).map(|value| i32::from((value as u8).cast_signed()));
    wireless.signal = signal(SIGNAL);
    wireless.signal_average = signal(SIGNAL_AVG);
    wireless.transmit_rate = rate(facts.nested(TX_BITRATE));
    wireless.receive_rate = rate(facts.nested(RX_BITRATE));
    wireless.sent_packets = facts.number(TX_PACKETS);
    wireless.sent_retries = facts.number(TX_RETRIES);
    wireless.sent_failed = facts.number(TX_FAILED);
    wireless.received_dropped = facts.number(RX_DROP_MISC);
    wireless.beacons_lost = facts.number(BEACON_LOSS);
}

/// `enum nl80211_rate_info`: units of 100 kbit/s, in 16 bits or in 32.
fn rate(attributes: Attributes<'_>) -> Option<u64> {
    const BITRATE: u16 = 1;
    const BITRATE32: u16 = 5;
    attributes.number(BITRATE32).or(attributes.number(BITRATE)).map(|rate| rate.saturating_mul(100_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_station_reports_channel_signal_rates_and_retries() {
        let mut wireless = Wireless::default();
        let mut interface = content(7);
        append(&mut interface, IFTYPE, &2_u32.to_ne_bytes());
        append(&mut interface, WIPHY_FREQ, &5180_u32.to_ne_bytes());
        append(&mut interface, CENTER_FREQ1, &5210_u32.to_ne_bytes());
        append(&mut interface, CHANNEL_WIDTH, &3_u32.to_ne_bytes());
        assert!(channel(&interface, &mut wireless));
        let (mut sending, mut receiving, mut facts) = (Vec::new(), Vec::new(), Vec::new());
        append(&mut sending, 1, &8667_u16.to_ne_bytes());
        append(&mut sending, 5, &8667_u32.to_ne_bytes());
        append(&mut receiving, 1, &540_u16.to_ne_bytes());
        append(&mut facts, 7, &[(-61_i8).cast_unsigned()]);
        append(&mut facts, 13, &[(-63_i8).cast_unsigned()]);
        append(&mut facts, 8, &sending);
        append(&mut facts, 14, &receiving);
        append(&mut facts, 10, &1000_u32.to_ne_bytes());
        append(&mut facts, 11, &57_u32.to_ne_bytes());
        append(&mut facts, 28, &9_u64.to_ne_bytes());
        let mut message = content(17);
        append(&mut message, STA_INFO, &facts);
        station(&message, &mut wireless);
        let expected = Wireless {
            frequency: Some(5210),
            width: Some(80),
            stations: 0,
            signal: Some(-61),
            signal_average: Some(-63),
            transmit_rate: Some(866_700_000),
            receive_rate: Some(54_000_000),
            sent_packets: Some(1000),
            sent_retries: Some(57),
            sent_failed: None,
            received_dropped: Some(9),
            beacons_lost: None,
        };
        assert_eq!(wireless, expected);
    }

    #[test]
    fn an_interface_without_radio_stays_as_it_is() {
        let mut interface = Interface { index: 1, kind: "loopback".to_owned(), ..Interface::default() };
        fill(&mut [&mut interface]);
        assert_eq!((interface.kind.as_str(), interface.wireless), ("loopback", None));
    }
}
