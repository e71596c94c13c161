//! Rates as people list them for a sweep: `4M:10M:0.5M`, `4M,6M,8M`.

use std::str::FromStr;

use rrul_model::shaping::ShaperRates;
use rrul_model::units::BitRate;

/// Most rates of a list: more than any session has time for.
const MOST: usize = 500;

/// Rates in the order in which they are set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RateList(pub(crate) Vec<BitRate>);

/// Why a list of rates is not understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RateListError {
    #[error("\"{0}\" is no rate; write it like 8M, 512k or 8.5Mbit/s")]
    Rate(String),
    #[error("\"{0}\" is no range; write FROM:TO:STEP, such as 4M:10M:0.5M")]
    Range(String),
    #[error("rate 0 would stop all traffic; begin at 1M or more")]
    Zero,
    #[error("{0} rates are more than a session measures; use a larger step")]
    Many(usize),
    #[error("{up} upload rates and {down} download rates; give as many of each, or one")]
    Counts { up: usize, down: usize },
}

impl FromStr for RateList {
    type Err = RateListError;

    fn from_str(text: &str) -> Result<Self, RateListError> {
        let rates =
            if text.contains(':') { range(text)? } else { text.split(',').map(rate).collect::<Result<_, _>>()? };
        if rates.iter().any(|rate| rate.0 == 0) {
            return Err(RateListError::Zero);
        }
        if rates.len() > MOST {
            return Err(RateListError::Many(rates.len()));
        }
        Ok(Self(rates))
    }
}

/// `8M`, `512k`, `1.5G`, or with its unit: `8Mbit/s`.
fn rate(text: &str) -> Result<BitRate, RateListError> {
    let text = text.trim();
    let long = if text.ends_with(['k', 'K', 'M', 'G']) { format!("{text}bit/s") } else { text.to_owned() };
    long.parse().map_err(|_| RateListError::Rate(text.to_owned()))
}

/// `FROM:TO:STEP`; the end is the last one where a whole number of steps leads to it.
fn range(text: &str) -> Result<Vec<BitRate>, RateListError> {
    let no_range = || RateListError::Range(text.to_owned());
    let [from, to, step] = text.split(':').collect::<Vec<_>>()[..] else { return Err(no_range()) };
    let (from, to, step) = (rate(from)?.0, rate(to)?.0, rate(step)?.0);
    if step == 0 || from == 0 {
        return Err(RateListError::Zero);
    }
    let count = (from.abs_diff(to) / step) as usize + 1;
    if count > MOST {
        return Err(RateListError::Many(count));
    }
    let at = |index: u64| if to >= from { from + index * step } else { from - index * step };
    Ok((0..count as u64).map(at).map(BitRate).collect())
}

/// The settings of a sweep: rates of both directions paired; one rate is held while the other direction's change.
pub(crate) fn paired(up: Option<&RateList>, down: Option<&RateList>) -> Result<Vec<ShaperRates>, RateListError> {
    let of = |list: Option<&RateList>| list.map_or_else(Vec::new, |list| list.0.clone());
    let (up, down) = (of(up), of(down));
    let count = up.len().max(down.len());
    if [&up, &down].iter().any(|list| list.len() > 1 && list.len() != count) {
        return Err(RateListError::Counts { up: up.len(), down: down.len() });
    }
    let at = |list: &[BitRate], index: usize| list.get(index).or(list.first()).copied();
    Ok((0..count).map(|index| ShaperRates { down: at(&down, index), up: at(&up, index) }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> Vec<f64> {
        text.parse::<RateList>().unwrap().0.iter().map(|rate| rate.megabits()).collect()
    }

    #[test]
    fn ranges_and_lists_are_read_in_their_order() {
        assert_eq!(list("4M:6M:0.5M"), [4.0, 4.5, 5.0, 5.5, 6.0]);
        assert_eq!(list("6M:4M:1M"), [6.0, 5.0, 4.0]);
        assert_eq!(list("4M:6M:1.5M"), [4.0, 5.5]);
        assert_eq!(list("8Mbit/s,512k, 1G"), [8.0, 0.512, 1000.0]);
    }

    #[test]
    fn what_is_not_understood_is_refused_with_what_would_be() {
        for (text, part) in [
            ("", "no rate"),
            ("8", "8M"),
            ("4M:6M", "FROM:TO:STEP"),
            ("4M:6M:0M", "rate 0"),
            ("0M,4M", "rate 0"),
            ("1M:1G:1k", "larger step"),
        ] {
            let said = text.parse::<RateList>().unwrap_err().to_string();
            assert!(said.contains(part), "{text}: {said}");
        }
    }

    #[test]
    fn one_rate_is_held_while_the_others_change() {
        let up: RateList = "4M,5M".parse().unwrap();
        let down: RateList = "20M".parse().unwrap();
        let rates = paired(Some(&up), Some(&down)).unwrap();
        assert_eq!(rates.len(), 2);
        assert!(rates.iter().all(|rates| rates.down == Some(BitRate(20_000_000))), "{rates:?}");
        assert_eq!(rates[1].up, Some(BitRate(5_000_000)));
        assert_eq!(paired(Some(&up), None).unwrap()[0], ShaperRates { down: None, up: Some(BitRate(4_000_000)) });
        let three: RateList = "1M,2M,3M".parse().unwrap();
        assert_eq!(paired(Some(&up), Some(&three)), Err(RateListError::Counts { up: 2, down: 3 }));
    }
}
