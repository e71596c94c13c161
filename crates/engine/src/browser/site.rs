//! A site: its address as the user writes it, and how a browser is brought to load it in one family.

use std::net::{IpAddr, ToSocketAddrs};
use std::sync::mpsc::channel;
use std::time::Duration;

use rrul_model::flow::AddressFamily;

use crate::clock::RawTime;
use crate::endpoint::Endpoint;
use crate::endpoint::test_course::PATIENCE;

/// How long the lookup of its name is waited for before the test. The browser looks it up again, and is measured at it.
const LOOKING_UP: Duration = Duration::from_secs(10);

/// Characters of an address; a longer command could fill the pipe to a browser that hangs.
const MOST_CHARACTERS: usize = 1500;

/// Why a browser cannot load a site.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SiteError {
    #[error("url \"{0}\" is not a URL; write it like https://example.com/")]
    NoUrl(String),
    #[error("the site's address is no {0} address")]
    OtherFamily(AddressFamily),
    #[error("the site's host has no {0} address")]
    NoAddress(AddressFamily),
}

impl From<SiteError> for String {
    fn from(error: SiteError) -> Self {
        error.to_string()
    }
}

/// A web page that anybody can have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Site {
    url: String,
    host: String,
    port: u16,
}

impl Site {
    /// Reads an address.
    ///
    /// # Errors
    /// When it is not one of the web.
    pub(crate) fn from_url(url: &str) -> Result<Self, SiteError> {
        let complaint = || SiteError::NoUrl(url.to_owned());
        let (rest, default_port) = match (url.strip_prefix("https://"), url.strip_prefix("http://")) {
            (Some(rest), _) => (rest, 443),
            (None, Some(rest)) => (rest, 80),
            (None, None) => return Err(complaint()),
        };
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let (host, port) = match authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((address, after)) => (address, after.strip_prefix(':')),
            None => authority.split_once(':').map_or((authority, None), |(host, port)| (host, Some(port))),
        };
        let port = port.map_or(Ok(default_port), str::parse).map_err(|_| complaint())?;
        let is_name = |c: char| c.is_alphanumeric() || "-._:".contains(c);
        let readable = url.len() <= MOST_CHARACTERS && !url.chars().any(|c| c.is_control() || c.is_whitespace());
        if host.is_empty() || !host.chars().all(is_name) || !readable {
            return Err(complaint());
        }
        Ok(Self { url: url.to_owned(), host: host.to_owned(), port })
    }

    /// As the user wrote it.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// The option with which a browser loads the document over this family, by `--host-resolver-rules`; `None` when it
    /// has no choice.
    ///
    /// Only a host with addresses of both families is mapped, as the browser does not look up a name that is. Whatever else
    /// the page asks for lies on hosts of others, and comes over the family that the browser chooses (RFC 8305).
    ///
    /// # Errors
    /// When the host has no address in this family.
    pub(crate) fn resolver_rules(&self, family: AddressFamily, end: &Endpoint) -> Result<Option<String>, SiteError> {
        if let Ok(address) = self.host.parse::<IpAddr>() {
            let of_family = AddressFamily::from_address(address) == family;
            return if of_family { Ok(None) } else { Err(SiteError::OtherFamily(family)) };
        }
        rules(&self.host, family, &self.addresses(end))
    }

    /// The host's addresses; none when they are unavailable, which the browser will find, too.
    fn addresses(&self, end: &Endpoint) -> Vec<IpAddr> {
        let (sender, results) = channel();
        let (host, port) = (self.host.clone(), self.port);
        // The system's resolver cannot be interrupted.
        let looking_up = std::thread::Builder::new().name("site lookup".to_owned()).spawn(move || {
            let found = (host.as_str(), port).to_socket_addrs();
            let _ = sender.send(found.map(|found| found.map(|address| address.ip()).collect()).unwrap_or_default());
        });
        let until = RawTime::now().plus(i64::try_from(LOOKING_UP.as_nanos()).unwrap_or(0));
        while looking_up.is_ok() && RawTime::now() < until && !end.is_stopped() {
            if let Ok(found) = results.recv_timeout(PATIENCE) {
                return found;
            }
        }
        Vec::new()
    }
}

fn rules(host: &str, family: AddressFamily, addresses: &[IpAddr]) -> Result<Option<String>, SiteError> {
    let of = |family| addresses.iter().find(|address| AddressFamily::from_address(**address) == family);
    let other = AddressFamily::ALL.into_iter().find(|other| *other != family).and_then(of);
    match (of(family), other) {
        (None, Some(_)) => Err(SiteError::NoAddress(family)),
        (Some(IpAddr::V6(address)), Some(_)) => Ok(Some(format!("MAP {host} [{address}]"))),
        (Some(address), Some(_)) => Ok(Some(format!("MAP {host} {address}"))),
        (_, None) => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_the_web_are_read_and_others_are_not() {
        let read = |url: &str| Site::from_url(url).map(|site| (site.host, site.port));
        assert_eq!(read("https://example.com"), Ok(("example.com".into(), 443)));
        assert_eq!(read("http://example.com/a?b:c"), Ok(("example.com".into(), 80)));
        assert_eq!(read("http://[2001:db8::1]:8080/"), Ok(("2001:db8::1".into(), 8080)));
        for wrong in ["", "example.com", "ftp://example.com/", "http://", "http://a b/", "http://a:b/", "http://u@h/"] {
            assert!(read(wrong).is_err_and(|error| error.to_string().contains("https://example.com/")), "{wrong:?}");
        }
        assert!(read(&format!("http://a/{}", "b".repeat(2000))).is_err());
    }

    #[test]
    fn a_host_is_mapped_only_where_the_browser_would_have_a_choice() {
        let addresses = ["192.0.2.1".parse().unwrap(), "2001:db8::1".parse().unwrap()];
        let [four, six] = AddressFamily::ALL;
        assert_eq!(rules("a", four, &addresses), Ok(Some("MAP a 192.0.2.1".into())));
        assert_eq!(rules("a", six, &addresses), Ok(Some("MAP a [2001:db8::1]".into())));
        assert_eq!(rules("a", four, &addresses[..1]), Ok(None));
        assert_eq!(rules("a", six, &addresses[..1]), Err(SiteError::NoAddress(six)));
        assert_eq!(rules("a", six, &[]), Ok(None), "what cannot be looked up here, the browser cannot either");
    }
}
