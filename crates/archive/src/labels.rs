//! What the user knows of runs and recordings do not contain: where and on which line they were measured.

use std::net::IpAddr;

/// Labels of the runs that are added together. None of them may be an address or a host name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Labels {
    /// Name of the folder of the partition.
    pub site: Option<Site>,
    pub server: Option<Label>,
    pub asn: Option<u32>,
    pub isp: Option<Label>,
    pub country: Option<Country>,
    pub firmware: Option<Label>,
    pub aqm_down: Option<Label>,
    pub aqm_up: Option<Label>,
}

/// Why a label is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LabelError {
    #[error("use 1 to 60 letters, digits, spaces and . _ + & ( ) / -")]
    Characters,
    #[error("use 1 to 60 letters, digits, _ and -")]
    SiteCharacters,
    #[error("use two letters, such as DE")]
    Country,
    #[error("this is an address or a host name, which the archive does not contain; use another name")]
    Address,
}

/// A name that the user gives to something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label(String);

impl Label {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

const LONGEST: usize = 60;

impl std::str::FromStr for Label {
    type Err = LabelError;

    fn from_str(text: &str) -> Result<Self, LabelError> {
        let known = |c: char| c.is_alphanumeric() || " ._+&()/-".contains(c);
        // Addresses with colons have no known characters; they are reported for what they are.
        if text.parse::<IpAddr>().is_ok() || is_host_name(text) {
            return Err(LabelError::Address);
        }
        let fits = (1..=LONGEST).contains(&text.len()) && text.trim() == text && text.chars().all(known);
        if fits { Ok(Self(text.to_owned())) } else { Err(LabelError::Characters) }
    }
}

/// Whether this reads as a host name with its domain, or contains an address: `isp.example.net`, but no version such as `23.05.2`.
fn is_host_name(text: &str) -> bool {
    text.split([' ', '/', '(', ')']).any(|word| {
        let last = word.trim_end_matches('.').rsplit_once('.').map(|(_, last)| last);
        word.parse::<IpAddr>().is_ok()
            || last.is_some_and(|last| last.len() > 1 && last.chars().all(char::is_alphabetic))
    })
}

/// A name that is a folder's as well.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Site(String);

impl Site {
    /// The site of runs without the label.
    pub const UNKNOWN: &str = "unknown";

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for Site {
    fn default() -> Self {
        Self(Self::UNKNOWN.to_owned())
    }
}

impl std::str::FromStr for Site {
    type Err = LabelError;

    fn from_str(text: &str) -> Result<Self, LabelError> {
        let known = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if text.parse::<IpAddr>().is_ok() || is_host_name(text) {
            return Err(LabelError::Address);
        }
        let fits = (1..=LONGEST).contains(&text.len()) && text.chars().all(known);
        if fits { Ok(Self(text.to_owned())) } else { Err(LabelError::SiteCharacters) }
    }
}

/// A country by its two letters (ISO 3166).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Country(String);

impl Country {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::str::FromStr for Country {
    type Err = LabelError;

    fn from_str(text: &str) -> Result<Self, LabelError> {
        let fits = text.len() == 2 && text.chars().all(|c| c.is_ascii_alphabetic());
        if fits { Ok(Self(text.to_ascii_uppercase())) } else { Err(LabelError::Country) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_host_names_are_refused() {
        for text in ["192.0.2.7", "2001:db8::1", "router.example.net", "ISP (gw.example.com)", "at 192.0.2.7"] {
            assert_eq!(text.parse::<Label>(), Err(LabelError::Address), "{text}");
        }
        for text in ["Example Net", "OpenWrt 23.05.2", "v1.2", "cake", "AS-1 & Co."] {
            assert_eq!(text.parse::<Label>().map(|label| label.0), Ok(text.to_owned()));
        }
        for text in ["", " a", "a\nb", "a\"b", &"x".repeat(61)] {
            assert_eq!(text.parse::<Label>(), Err(LabelError::Characters), "{text:?}");
        }
    }

    #[test]
    fn a_site_is_a_folder_and_never_leads_out_of_it() {
        assert_eq!("berlin_2".parse::<Site>().map(|site| site.0), Ok("berlin_2".to_owned()));
        for text in ["", ".", "..", "a/b", "a=b", "a b"] {
            assert!(text.parse::<Site>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn countries_have_two_letters() {
        assert_eq!("de".parse::<Country>().map(|country| country.0), Ok("DE".to_owned()));
        assert_eq!("DEU".parse::<Country>(), Err(LabelError::Country));
    }
}
