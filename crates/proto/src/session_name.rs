//! Names and connection identifiers that carry a session, for protocols in which rrul's own octets have no place:
//! lookups (DNS), pages (HTTP, TLS) and QUIC.

use std::fmt;

use crate::token::Token;

/// The zone of all such names. `.test` is reserved (RFC 6761), so no name of it is ever somebody's.
pub const ZONE: &str = "rrul.test";

/// Octets of a QUIC connection identifier that carries a session: the token, the flow, and two at random.
pub const CONNECTION_ID_OCTETS: usize = 20;

/// `LABEL.FLOW.TOKEN.rrul.test`: something of a flow of a session. The label is the client's choice: a host of a page, or
/// random so that no cache knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionName<'a> {
    pub label: &'a str,
    pub flow: u16,
    pub token: Token,
}

impl fmt::Display for SessionName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}.{ZONE}", self.label, self.flow, self.token.hex())
    }
}

impl<'a> SessionName<'a> {
    /// Reads a name, in letters of any size, with or without a final dot.
    pub fn read(name: &'a str) -> Option<Self> {
        let name = name.strip_suffix('.').unwrap_or(name);
        let mut rest = name.splitn(4, '.');
        let (label, flow, token, zone) = (rest.next()?, rest.next()?, rest.next()?, rest.next()?);
        let plain = !label.is_empty() && label.bytes().all(|octet| octet.is_ascii_alphanumeric() || octet == b'-');
        // A number would also be read with a sign or zeros before it.
        let flow = Some(flow).filter(|flow| flow.bytes().all(|octet| octet.is_ascii_digit()))?.parse().ok()?;
        let token = Token::from_hex(token)?;
        (plain && label.len() <= 63 && zone.eq_ignore_ascii_case(ZONE)).then_some(Self { label, flow, token })
    }
}

/// The identifier that a client gives its first QUIC packets (RFC 9000, section 7.2), so that the server knows at once to
/// which session they belong and how to mark its answers.
pub fn connection_id(token: Token, flow: u16, random: u16) -> [u8; CONNECTION_ID_OCTETS] {
    let mut octets = [0; CONNECTION_ID_OCTETS];
    octets[..16].copy_from_slice(&token.0);
    octets[16..18].copy_from_slice(&flow.to_be_bytes());
    octets[18..].copy_from_slice(&random.to_be_bytes());
    octets
}

/// Session and flow of the first packets of a QUIC connection; `None` for all others.
pub fn initial_of(packet: &[u8]) -> Option<(Token, u16)> {
    // RFC 9000, section 17.2: a long header of version 1, then the destination's identifier with its length.
    let [first, 0, 0, 0, 1, length, rest @ ..] = packet else { return None };
    let identifier = rest.get(..usize::from(*length))?;
    if first & 0xc0 == 0xc0 { read_connection_id(identifier) } else { None }
}

/// Session and flow of a connection by the identifier that its client gave its first packets.
pub fn read_connection_id(octets: &[u8]) -> Option<(Token, u16)> {
    let octets: &[u8; CONNECTION_ID_OCTETS] = octets.try_into().ok()?;
    let (token, rest) = octets.split_first_chunk()?;
    Some((Token(*token), u16::from_be_bytes(*rest.first_chunk()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: Token = Token(*b"\x01\x23\x45\x67\x89\xab\xcd\xef\x01\x23\x45\x67\x89\xab\xcd\xef");

    #[test]
    fn a_name_is_written_and_read() {
        let name = SessionName { label: "www", flow: 12, token: TOKEN };
        let text = name.to_string();
        assert_eq!(text, "www.12.0123456789abcdef0123456789abcdef.rrul.test");
        for text in [text.clone(), format!("{text}."), text.to_uppercase()] {
            let read = SessionName::read(&text).unwrap();
            assert_eq!((read.flow, read.token), (12, TOKEN), "{text}");
            assert!(read.label.eq_ignore_ascii_case("www"));
        }
    }

    #[test]
    fn what_is_no_such_name_is_not_read() {
        let hex = "0123456789abcdef0123456789abcdef";
        for text in [
            String::new(),
            "www.example.com".to_owned(),
            format!("www.12.{hex}.rrul.example"),
            format!("www.12.{hex}.x.rrul.test"),
            format!("www.65536.{hex}.rrul.test"),
            format!("www.+12.{hex}.rrul.test"),
            format!(".12.{hex}.rrul.test"),
            format!("w\u{f6}w.12.{hex}.rrul.test"),
            format!("{}.12.{hex}.rrul.test", "w".repeat(64)),
            format!("www.12.{}.rrul.test", &hex[1..]),
            format!("12.{hex}.rrul.test"),
        ] {
            assert_eq!(SessionName::read(&text), None, "{text}");
        }
    }

    #[test]
    fn an_initial_names_its_session_and_nothing_else_does() {
        let mut packet = vec![0xc3, 0, 0, 0, 1, 20];
        packet.extend(connection_id(TOKEN, 0x0102, 0x0304));
        packet.extend([0; 100]);
        assert_eq!(packet[22..26], [1, 2, 3, 4]);
        assert_eq!(initial_of(&packet), Some((TOKEN, 0x0102)));
        for (place, octet) in [(0, 0x43), (0, 0x83), (4, 2), (5, 19)] {
            let mut other = packet.clone();
            other[place] = octet;
            assert_eq!(initial_of(&other), None, "{octet} at {place}");
        }
        assert_eq!(initial_of(&packet[..25]), None);
        assert_eq!(initial_of(&[]), None);
    }
}
