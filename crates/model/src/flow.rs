//! Flows: one stream of traffic each, distinguished by type, class, direction and address family.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::marking::ServiceClass;
use crate::time::Window;
use crate::units::{BitRate, ByteCount, parse_duration};
use crate::unknown_name::UnknownName;

/// The direction in which the payload travels, seen from the client: its user's upload and download.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Direction {
    /// Client to server.
    Up,
    /// Server to client.
    Down,
}

impl Direction {
    /// Both, in the order in which charts stack them.
    pub const ALL: [Self; 2] = [Self::Down, Self::Up];

    /// The name used in data.
    pub fn name(self) -> &'static str {
        self.select("up", "down")
    }

    /// Returns the one of two values that belongs to this direction.
    pub fn select<T>(self, up: T, down: T) -> T {
        match self {
            Self::Up => up,
            Self::Down => down,
        }
    }

    #[must_use]
    pub fn opposite(self) -> Self {
        self.select(Self::Down, Self::Up)
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Direction {
    type Err = UnknownName;
    fn from_str(text: &str) -> Result<Self, UnknownName> {
        match text {
            "up" => Ok(Self::Up),
            "down" => Ok(Self::Down),
            _ => Err(UnknownName::new("direction", text, "up, down")),
        }
    }
}

/// IPv4 or IPv6: always one of them by force, never whichever answers first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum AddressFamily {
    /// IPv4.
    Ipv4,
    /// IPv6.
    Ipv6,
}

impl AddressFamily {
    pub const ALL: [Self; 2] = [Self::Ipv4, Self::Ipv6];

    /// The name used in data.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ipv4 => "ipv4",
            Self::Ipv6 => "ipv6",
        }
    }

    /// Bytes of an IP header, without options or extension headers.
    pub const fn ip_header_octets(self) -> u16 {
        match self {
            Self::Ipv4 => 20,
            Self::Ipv6 => 40,
        }
    }

    /// Bytes of IP and UDP header. An ICMP header is as long as that of UDP.
    pub const fn udp_header_octets(self) -> u16 {
        self.ip_header_octets() + 8
    }

    /// Bytes of IP and TCP header, without options.
    pub const fn tcp_header_octets(self) -> u16 {
        self.ip_header_octets() + 20
    }

    /// The family of this address; an IPv4 address in IPv6 clothing counts as IPv4.
    pub fn from_address(address: std::net::IpAddr) -> Self {
        match address.to_canonical() {
            std::net::IpAddr::V4(_) => Self::Ipv4,
            std::net::IpAddr::V6(_) => Self::Ipv6,
        }
    }
}

impl fmt::Display for AddressFamily {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for AddressFamily {
    type Err = UnknownName;
    fn from_str(text: &str) -> Result<Self, UnknownName> {
        match text {
            "ipv4" => Ok(Self::Ipv4),
            "ipv6" => Ok(Self::Ipv6),
            _ => Err(UnknownName::new("family", text, "ipv4, ipv6")),
        }
    }
}

/// The part of the spec that a flow belongs to; analysis and charts choose flows by it, never by type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Component {
    /// Load Generation Component: saturates the link.
    Load,
    /// Realtime Component: sparse exchanges that should not notice the load.
    Realtime,
    Voip,
    Web,
    /// Analysis Component: path traces, marking sweeps.
    Analysis,
}

impl Component {
    const ALL: [(&'static str, Self); 5] = [
        ("load", Self::Load),
        ("realtime", Self::Realtime),
        ("voip", Self::Voip),
        ("web", Self::Web),
        ("analysis", Self::Analysis),
    ];
}

impl FromStr for Component {
    type Err = UnknownName;
    fn from_str(text: &str) -> Result<Self, UnknownName> {
        Self::ALL.iter().find(|(name, _)| *name == text).map(|(_, component)| *component).ok_or_else(|| {
            let known: Vec<&str> = Self::ALL.iter().map(|(name, _)| *name).collect();
            UnknownName::new("component", text, known.join(", "))
        })
    }
}

/// A flow's number within one test; both ends and the recording refer to a flow by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FlowId(pub u16);

impl FlowId {
    /// No flow of the plan: the control connection, whose bytes travel on the same link.
    pub const CONTROL: Self = Self(u16::MAX);
}

impl fmt::Display for FlowId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A value that only the flow type itself understands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Parameter {
    /// `true` or `false`.
    Flag(bool),
    Integer(i64),
    Number(f64),
    /// A name or a quantity with its unit.
    Text(String),
}

/// The parameters of one flow, by name. The plan reader has checked names and kinds against [`FlowTypeWords`].
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Parameters(pub BTreeMap<String, Parameter>);

impl Parameters {
    /// A length of time, or `default` where absent or unreadable.
    pub fn duration(&self, name: &str, default: Duration) -> Duration {
        self.text(name).and_then(|text| parse_duration(text).ok()).unwrap_or(default)
    }

    /// A size in bytes, or `default`.
    pub fn size(&self, name: &str, default: ByteCount) -> ByteCount {
        self.text(name).and_then(|text| text.parse().ok()).unwrap_or(default)
    }

    /// A count, or `default` where absent or negative.
    pub fn count(&self, name: &str, default: u32) -> u32 {
        match self.0.get(name) {
            Some(Parameter::Integer(count)) => u32::try_from(*count).unwrap_or(default),
            _ => default,
        }
    }

    /// A bit rate, if any.
    pub fn rate(&self, name: &str) -> Option<BitRate> {
        self.text(name).and_then(|text| text.parse().ok())
    }

    pub fn text(&self, name: &str) -> Option<&str> {
        match self.0.get(name) {
            Some(Parameter::Text(text)) => Some(text),
            _ => None,
        }
    }
}

/// One flow of a test, as both hosts receive it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FlowSpec {
    pub id: FlowId,
    /// Its name, unique in the test: `bulk_tcp/BE/down/ipv4`, `udp_probe/EF/ipv6`, `bulk_tcp/BE/up/ipv4#2`.
    pub name: String,
    /// The flow type, a name from `rrul list flows`.
    #[serde(rename = "type")]
    pub flow_type: String,
    /// The part of the spec it belongs to.
    pub component: Component,
    /// The direction in which it loads; `None` for exchanges that go both ways.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direction: Option<Direction>,
    /// IPv4 or IPv6, forced.
    pub family: AddressFamily,
    /// The class that every packet is marked with, in both directions.
    pub class: ServiceClass,
    #[serde(flatten)]
    pub window: Window,
    /// What only its type understands.
    #[serde(default)]
    pub parameters: Parameters,
}

/// What a parameter of a flow type may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParameterKind {
    /// A length of time, `"20ms"`.
    Duration,
    /// Bytes, `"200B"`.
    Size,
    /// Bits per second, `"20Mbit/s"`.
    Rate,
    /// A name, such as `"cubic"`.
    Name,
    Choice(&'static [&'static str]),
    /// One of these names, or an IP address.
    ChoiceOrAddress(&'static [&'static str]),
    /// An address of the web, such as `"https://example.com/"`.
    Url,
    /// A number of things, from 0 to 10 000.
    Count,
}

/// One parameter that a flow type understands.
#[derive(Debug, Clone, Copy)]
pub struct ParameterWord {
    /// The key in the plan.
    pub name: &'static str,
    pub kind: ParameterKind,
    /// What it means, with its default.
    pub about: &'static str,
}

/// What plans may say of a flow type: the vocabulary that the plan reader checks against.
#[derive(Debug, Clone, Copy)]
pub struct FlowTypeWords {
    /// The name in plans and recordings.
    pub name: &'static str,
    /// One line for `rrul list flows`.
    pub about: &'static str,
    /// Whether a flow of this type has a direction (up or down) or exchanges both ways.
    pub directed: bool,
    pub parameters: &'static [ParameterWord],
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapped_address_counts_as_ipv4() {
        assert_eq!(AddressFamily::from_address("::ffff:192.0.2.1".parse().unwrap()), AddressFamily::Ipv4);
        assert_eq!(AddressFamily::from_address("2001:db8::1".parse().unwrap()), AddressFamily::Ipv6);
    }

    #[test]
    fn parameters_fall_back_to_their_default() {
        let mut parameters = Parameters::default();
        assert_eq!(parameters.duration("interval", Duration::from_millis(20)), Duration::from_millis(20));
        parameters.0.insert("interval".into(), Parameter::Text("5ms".into()));
        assert_eq!(parameters.duration("interval", Duration::from_millis(20)), Duration::from_millis(5));
    }
}
