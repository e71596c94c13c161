//! Which shaper is to be tuned, as people write it: `openwrt:root@192.168.1.1`, `tc:down=ifb4eth0,up=eth0`, `lab:NAME`,
//! `command:'./set.sh {down} {up}'`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The driver of a shaper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ShaperKind {
    /// Queue disciplines of Linux, here or on a host reached by ssh.
    Tc,
    /// SQM of OpenWrt, reached by ssh.
    Openwrt,
    /// A command of the user.
    Command,
    /// A link of `rrul lab`.
    Lab,
}

impl ShaperKind {
    /// The name used in data and on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Tc => "tc",
            Self::Openwrt => "openwrt",
            Self::Command => "command",
            Self::Lab => "lab",
        }
    }
}

/// A destination of ssh: `root@192.168.1.1`, a host of ssh_config(5), or `ssh://root@router:2222`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct SshDestination(String);

impl SshDestination {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SshDestination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for SshDestination {
    type Err = ShaperAddressError;

    fn from_str(text: &str) -> Result<Self, ShaperAddressError> {
        // What begins with a dash would be an option of ssh.
        let plain = |c: char| !c.is_whitespace() && !c.is_control() && !"'\"\\$`;&|<>(){}*?!".contains(c);
        if text.is_empty() || text.starts_with('-') || !text.chars().all(plain) {
            return Err(ShaperAddressError::Destination(text.to_owned()));
        }
        Ok(Self(text.to_owned()))
    }
}

/// Which shaper is to be tuned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ShaperAddress {
    /// The root queue disciplines of network interfaces. At least one direction is given.
    Tc { host: Option<SshDestination>, down: Option<String>, up: Option<String> },
    /// SQM on a router; without an interface, the only one that SQM has.
    Openwrt { host: SshDestination, interface: Option<String> },
    /// A shell command; `{down}` and `{up}` are replaced by rates in bit/s.
    Command { script: String },
    /// The shapers of a standing `rrul lab`.
    Lab { name: String },
}

impl ShaperAddress {
    pub(crate) fn kind(&self) -> ShaperKind {
        match self {
            Self::Tc { .. } => ShaperKind::Tc,
            Self::Openwrt { .. } => ShaperKind::Openwrt,
            Self::Command { .. } => ShaperKind::Command,
            Self::Lab { .. } => ShaperKind::Lab,
        }
    }
}

/// Why `--shaper` is not understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ShaperAddressError {
    #[error(
        "unknown shaper \"{0}\"; use openwrt:root@192.168.1.1, tc:down=ifb4eth0,up=eth0, lab:NAME or \
         command:'./set.sh {{down}} {{up}}'"
    )]
    Kind(String),
    #[error("\"{0}\" is no destination of ssh; write it like root@192.168.1.1")]
    Destination(String),
    #[error("\"{0}\" is no name of a network interface")]
    Interface(String),
    #[error("{kind}: unknown setting \"{key}\"; known: {known}")]
    Setting { kind: &'static str, key: String, known: &'static str },
    #[error("{kind}: {key} is given twice")]
    Twice { kind: &'static str, key: String },
    #[error("tc: give the network interface of a direction: tc:down=ifb4eth0,up=eth0")]
    NoInterface,
    #[error("tc: {0} is given for both directions; each needs its own interface, such as down=ifb4{0},up={0}")]
    SameInterface(String),
    #[error("command: \"{0}\" contains neither {{down}} nor {{up}}")]
    NoRate(String),
    #[error("\"{0}\" is no name for a lab; use letters, digits, - and _")]
    Lab(String),
}

impl FromStr for ShaperAddress {
    type Err = ShaperAddressError;

    fn from_str(text: &str) -> Result<Self, ShaperAddressError> {
        let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
        match kind {
            "tc" => tc(rest),
            "openwrt" => openwrt(rest),
            "command" if rest.contains("{down}") || rest.contains("{up}") => {
                Ok(Self::Command { script: rest.to_owned() })
            }
            "command" => Err(ShaperAddressError::NoRate(rest.to_owned())),
            "lab" => lab(rest),
            _ => Err(ShaperAddressError::Kind(text.to_owned())),
        }
    }
}

fn tc(text: &str) -> Result<ShaperAddress, ShaperAddressError> {
    let [down, up, host] = settings("tc", text, ["down", "up", "host"], "down, up, host")?;
    let down = down.map(interface).transpose()?;
    let up = up.map(interface).transpose()?;
    let host = host.map(str::parse).transpose()?;
    match (&down, &up) {
        (None, None) => Err(ShaperAddressError::NoInterface),
        (Some(one), Some(other)) if one == other => Err(ShaperAddressError::SameInterface(one.clone())),
        _ => Ok(ShaperAddress::Tc { host, down, up }),
    }
}

fn openwrt(text: &str) -> Result<ShaperAddress, ShaperAddressError> {
    let (host, rest) = text.split_once(',').unwrap_or((text, ""));
    let [iface] = settings("openwrt", rest, ["iface"], "iface")?;
    Ok(ShaperAddress::Openwrt { host: host.parse()?, interface: iface.map(interface).transpose()? })
}

fn lab(name: &str) -> Result<ShaperAddress, ShaperAddressError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.is_empty() || !name.chars().all(plain) {
        return Err(ShaperAddressError::Lab(name.to_owned()));
    }
    Ok(ShaperAddress::Lab { name: name.to_owned() })
}

/// The values of these keys in `key=value,key=value`.
fn settings<'a, const N: usize>(
    kind: &'static str,
    text: &'a str,
    keys: [&str; N],
    known: &'static str,
) -> Result<[Option<&'a str>; N], ShaperAddressError> {
    let mut values = [None; N];
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (key, value) = part.split_once('=').unwrap_or((part, ""));
        let index = keys.iter().position(|name| *name == key);
        let index = index.ok_or_else(|| ShaperAddressError::Setting { kind, key: key.to_owned(), known })?;
        if values[index].replace(value).is_some() {
            return Err(ShaperAddressError::Twice { kind, key: key.to_owned() });
        }
    }
    Ok(values)
}

/// A name that the kernel takes for an interface, without what a shell or tc would read otherwise.
fn interface(name: &str) -> Result<String, ShaperAddressError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.@:".contains(c);
    if name.is_empty() || name.starts_with('-') || !name.chars().all(plain) {
        return Err(ShaperAddressError::Interface(name.to_owned()));
    }
    Ok(name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ssh(text: &str) -> SshDestination {
        text.parse().unwrap()
    }

    #[test]
    fn every_kind_of_shaper_is_read() {
        let read = |text: &str| text.parse::<ShaperAddress>().unwrap();
        let (ifb, eth) = (Some("ifb4eth0".to_owned()), Some("eth0".to_owned()));
        assert_eq!(read("tc:down=ifb4eth0,up=eth0"), ShaperAddress::Tc { host: None, down: ifb, up: eth.clone() });
        assert_eq!(
            read("tc:up=eth0,host=ssh://me@router:2222"),
            ShaperAddress::Tc { host: Some(ssh("ssh://me@router:2222")), down: None, up: eth }
        );
        assert_eq!(
            read("openwrt:root@192.168.1.1"),
            ShaperAddress::Openwrt { host: ssh("root@192.168.1.1"), interface: None }
        );
        assert_eq!(
            read("openwrt:root@fd00::1,iface=wan"),
            ShaperAddress::Openwrt { host: ssh("root@fd00::1"), interface: Some("wan".to_owned()) }
        );
        assert_eq!(read("lab:home-1"), ShaperAddress::Lab { name: "home-1".to_owned() });
        let script = "./set.sh {down} {up}";
        assert_eq!(read(&format!("command:{script}")), ShaperAddress::Command { script: script.to_owned() });
    }

    #[test]
    fn what_is_not_understood_is_refused_with_what_would_be() {
        for (text, part) in [
            ("", "openwrt:root@192.168.1.1"),
            ("cake", "tc:down=ifb4eth0,up=eth0"),
            ("tc:", "tc:down=ifb4eth0,up=eth0"),
            ("tc:eth0", "known: down, up, host"),
            ("tc:up=eth0,up=eth1", "twice"),
            ("tc:up=eth0,down=eth0", "both directions"),
            ("tc:up=eth0;reboot", "network interface"),
            ("tc:up=-s", "network interface"),
            ("tc:up=eth0,host=-oProxyCommand=x", "destination"),
            ("openwrt:", "destination"),
            ("openwrt:root@router,wan", "known: iface"),
            ("command:./set.sh", "{down}"),
            ("lab:../x", "lab"),
        ] {
            let said = text.parse::<ShaperAddress>().unwrap_err().to_string();
            assert!(said.contains(part), "{text}: {said}");
        }
    }
}
