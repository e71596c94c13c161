//! What the user calls the server, as addresses.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs};

use rrul_model::flow::AddressFamily;

use super::options::{Families, NameError, RunError};

/// Every address of the server: `name`, `name:port`, `[v6]:port`, or several of these joined by commas.
///
/// # Errors
/// When a name has no address now.
pub(super) fn resolve(server: &str, port: u16) -> Result<Vec<SocketAddr>, RunError> {
    let mut addresses = Vec::new();
    for part in server.split(',').map(str::trim) {
        for address in resolve_one(part, port).map_err(|reason| RunError::Name { server: part.to_owned(), reason })? {
            if !addresses.contains(&address) {
                addresses.push(address);
            }
        }
    }
    Ok(addresses)
}

/// The same, of the families under test.
///
/// # Errors
/// When a name has no address now.
pub fn addresses_under_test(server: &str, port: u16, families: Families) -> Result<Vec<SocketAddr>, RunError> {
    let mut addresses = resolve(server, port)?;
    if let Families::Only(family) = families {
        addresses.retain(|address| AddressFamily::from_address(address.ip()) == family);
    }
    Ok(addresses)
}

/// What the user calls the server that has this address, as certificates have it: this address if that was given, or the first name.
#[cfg(feature = "certificates")]
pub(super) fn name_of(server: &str, address: SocketAddr) -> String {
    let own = address.ip().to_string();
    let mut names = server.split(',').map(str::trim).map(|part| {
        let bare = part.trim_start_matches('[').trim_end_matches(']');
        if bare.parse::<IpAddr>().is_ok() {
            return bare;
        }
        let host = part.rsplit_once(':').map_or(part, |(host, _)| host);
        host.trim_start_matches('[').trim_end_matches(']')
    });
    let is_name = |part: &&str| part.parse::<IpAddr>().map_or(true, |ip| ip == address.ip());
    names.find(is_name).map_or(own, str::to_owned)
}

fn resolve_one(server: &str, port: u16) -> Result<Vec<SocketAddr>, NameError> {
    if let Ok(ip) = server.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(ip, port)]);
    }
    if let Ok(address) = server.parse::<SocketAddr>() {
        return Ok(vec![address]);
    }
    let (host, port) = match server.rsplit_once(':') {
        Some((host, number)) => (host, number.parse().map_err(|_| NameError::NoPort(number.to_owned()))?),
        None => (server, port),
    };
    if host.is_empty() {
        return Err(NameError::NoHost);
    }
    let found = (host, port).to_socket_addrs().map_err(|error| NameError::Unknown(reason(&error)))?;
    let addresses: Vec<SocketAddr> = found.collect();
    if addresses.is_empty() { Err(NameError::Unknown("no address".to_owned())) } else { Ok(addresses) }
}

/// The resolver's own words, without the library's preface.
fn reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.rsplit(": ").next().unwrap_or(&text).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_with_and_without_ports_are_understood() {
        let all = |server| resolve(server, 7785).unwrap().iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(all("192.0.2.1"), ["192.0.2.1:7785"]);
        assert_eq!(all("192.0.2.1:80,2001:db8::1"), ["192.0.2.1:80", "[2001:db8::1]:7785"]);
        assert_eq!(all("[2001:db8::1]:80"), ["[2001:db8::1]:80"]);
    }

    #[cfg(feature = "certificates")]
    #[test]
    fn a_certificate_is_for_the_name_or_the_address_that_was_given() {
        let name = |server, address: &str| name_of(server, address.parse().unwrap());
        for server in ["lab.example", "lab.example:80", "lab.example,192.0.2.1", "192.0.2.1,lab.example"] {
            assert_eq!(name(server, "198.51.100.1:80"), "lab.example", "{server}");
        }
        assert_eq!(name("192.0.2.1,[2001:db8::1]:80", "[2001:db8::1]:80"), "2001:db8::1");
        assert_eq!(name("2001:db8::1", "[2001:db8::1]:80"), "2001:db8::1");
        assert_eq!(name("[2001:db8::1]", "[2001:db8::1]:80"), "2001:db8::1");
        assert_eq!(name("192.0.2.1:80", "192.0.2.1:80"), "192.0.2.1");
    }

    #[test]
    fn what_is_no_server_is_reported_in_one_line() {
        let error = resolve("nowhere.invalid", 7785).unwrap_err().to_string();
        assert!(error.starts_with("nowhere.invalid: unknown host ("), "{error}");
        assert!(!error.contains('\n'));
        assert!(resolve("host:notaport", 1).unwrap_err().to_string().contains("no port"));
        assert!(resolve("", 1).is_err());
    }
}
