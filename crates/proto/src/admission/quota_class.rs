//! What the bearer of a token, key or ticket may use of a server, in place of what its network may.

use super::hexadecimal::octets;

octets! {
    /// Names a bearer: SHA-256 of a token, or a public key.
    BearerId
}

/// What one bearer may use. Absent is as much as a network may; 0 is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QuotaClass {
    pub tests_per_hour: Option<u32>,
    pub octets_per_day: Option<u64>,
}

impl QuotaClass {
    /// Of each figure the smaller one. What this has no figure for, `most` grants.
    #[must_use]
    pub fn capped(self, most: Self) -> Self {
        Self {
            tests_per_hour: smaller(self.tests_per_hour, most.tests_per_hour),
            octets_per_day: smaller(self.octets_per_day, most.octets_per_day),
        }
    }

    /// These figures, and those of `others` for what this has none for.
    #[must_use]
    pub fn or(self, others: Self) -> Self {
        Self {
            tests_per_hour: self.tests_per_hour.or(others.tests_per_hour),
            octets_per_day: self.octets_per_day.or(others.octets_per_day),
        }
    }
}

fn smaller<T: Copy + Ord + Default>(own: Option<T>, most: Option<T>) -> Option<T> {
    let is_limit = |figure: &T| *figure != T::default();
    match (own, most.filter(is_limit)) {
        (own, None) => own.or(most),
        (own, Some(most)) => Some(own.filter(is_limit).map_or(most, |own| own.min(most))),
    }
}

/// A quota that is counted for its bearer.
#[cfg(feature = "tickets")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnQuota {
    pub(super) bearer: BearerId,
    /// What its line of the list grants: that of its token or key, or of the issuer of its ticket.
    line: QuotaClass,
    /// What its ticket asks for; no figure of a token or a key.
    ticket: QuotaClass,
}

#[cfg(feature = "tickets")]
impl OwnQuota {
    /// The quota of a token or a key whose line has these figures; `None` where it has none.
    pub fn new(bearer: BearerId, line: QuotaClass) -> Option<Self> {
        Self::with_ticket(bearer, line, QuotaClass::default())
    }

    /// The same with a ticket of the issuer whose line it is. `None` where neither has a figure.
    pub fn with_ticket(bearer: BearerId, line: QuotaClass, ticket: QuotaClass) -> Option<Self> {
        let has_figure = line != QuotaClass::default() || ticket != QuotaClass::default();
        has_figure.then_some(Self { bearer, line, ticket })
    }

    /// What it may use where a network may use this much. A ticket never exceeds the issuer's line, which grants as much as a network
    /// may where it has no figure: only the operator can grant more.
    pub fn granted(self, network: QuotaClass) -> QuotaClass {
        self.ticket.capped(self.line.or(network))
    }
}

/// None without the feature: bearers are counted by their networks.
#[cfg(not(feature = "tickets"))]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnQuota {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_is_capped_figure_by_figure() {
        let class = |tests_per_hour| QuotaClass { tests_per_hour, octets_per_day: tests_per_hour.map(u64::from) };
        for (own, most, granted) in [
            (None, None, None),
            (None, Some(5), Some(5)),
            (None, Some(0), Some(0)),
            (Some(3), None, Some(3)),
            (Some(3), Some(0), Some(3)),
            (Some(3), Some(5), Some(3)),
            (Some(9), Some(5), Some(5)),
            // No limit is more than any.
            (Some(0), Some(5), Some(5)),
            (Some(0), None, Some(0)),
        ] {
            assert_eq!(class(own).capped(class(most)), class(granted), "{own:?} {most:?}");
        }
    }
}
