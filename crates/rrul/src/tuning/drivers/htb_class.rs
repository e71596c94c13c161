//! Classes of htb, as tc(8) shows and changes them.

use rrul_model::units::BitRate;

use super::token_bucket::{TokenBucket, parse_rate, parse_size};
use super::unsettable::Unsettable;

/// A class of htb with all that changing it would set anew.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HtbClass {
    pub(super) id: String,
    /// `None` for a class at the root.
    pub(super) parent: Option<String>,
    pub(super) prio: Option<u32>,
    pub(super) quantum: Option<u32>,
    pub(super) rate: TokenBucket,
    pub(super) ceil: TokenBucket,
    pub(super) overhead: u32,
    pub(super) mpu: u32,
    pub(super) atm: bool,
}

impl HtbClass {
    /// The most that it sends.
    pub(super) fn limit(&self) -> BitRate {
        self.ceil.rate.max(self.rate.rate)
    }

    /// The same at `rate / found` times its rates.
    pub(super) fn scaled(&self, rate: BitRate, found: BitRate) -> Self {
        Self { rate: self.rate.scaled(rate, found), ceil: self.ceil.scaled(rate, found), ..self.clone() }
    }

    /// The command that makes the class what it is here. `root` is the handle of its htb.
    pub(super) fn command(&self, dev: &str, root: &str) -> String {
        let parent = self.parent.as_deref().unwrap_or(root);
        let (rate, ceil) = (self.rate, self.ceil);
        let mut words = vec![format!(
            "tc class change dev {dev} parent {parent} classid {} htb rate {}bit burst {} ceil {}bit cburst {}",
            self.id,
            rate.rate.0,
            rate.burst_to_write(),
            ceil.rate.0,
            ceil.burst_to_write()
        )];
        let set = |number: u32| (number > 0).then_some(number);
        let numbers =
            [("prio", self.prio), ("quantum", self.quantum), ("overhead", set(self.overhead)), ("mpu", set(self.mpu))];
        words.extend(numbers.into_iter().filter_map(|(word, number)| Some(format!("{word} {}", number?))));
        words.extend(self.atm.then(|| "linklayer atm".to_owned()));
        words.join(" ")
    }
}

/// Reads `tc -d class show`: those at the root first, parents before their children.
pub(super) fn classes(text: &str) -> Result<Vec<HtbClass>, Unsettable> {
    let mut found = Vec::new();
    for line in text.lines().filter(|line| line.starts_with("class htb ")) {
        let class = class(line).ok_or_else(|| Unsettable::Class(line.trim().to_owned()))?;
        found.push(class);
    }
    let mut sorted: Vec<HtbClass> = Vec::new();
    while !found.is_empty() {
        let before = found.len();
        let (ready, rest): (Vec<_>, Vec<_>) = found.into_iter().partition(|class| {
            class.parent.as_ref().is_none_or(|parent| sorted.iter().any(|other| other.id == *parent))
        });
        sorted.extend(ready);
        found = rest;
        if found.len() == before {
            return Err(Unsettable::Orphans);
        }
    }
    Ok(sorted)
}

fn class(line: &str) -> Option<HtbClass> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let after =
        |word: &str| words.iter().position(|other| *other == word).and_then(|index| words.get(index + 1)).copied();
    let number = |word: &str| after(word).and_then(|text| text.parse().ok());
    let bucket = |rate: &str, burst: &str| {
        Some(TokenBucket { rate: parse_rate(after(rate)?)?, burst: parse_size(after(burst)?)? })
    };
    Some(HtbClass {
        id: (*words.get(2)?).to_owned(),
        parent: after("parent").map(str::to_owned),
        prio: number("prio"),
        quantum: number("quantum"),
        rate: bucket("rate", "burst")?,
        ceil: bucket("ceil", "cburst")?,
        overhead: number("overhead").unwrap_or(0),
        mpu: after("mpu").and_then(parse_size).and_then(|size| u32::try_from(size).ok()).unwrap_or(0),
        atm: after("linklayer") == Some("atm"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As iproute2 6.1 writes it.
    const SHOWN: &str = "\
class htb 1:11 parent 1:1 prio 1 quantum 30000 rate 2400Kbit ceil 7200Kbit linklayer ethernet burst 1999b/1 mpu 0b cburst 1598b/1 mpu 0b level 0 
class htb 1:1 root rate 7200Kbit overhead 22 ceil 7200Kbit linklayer ethernet burst 1598b/1 mpu 64b cburst 1598b/1 mpu 64b level 7 
class htb 1:12 parent 1:1 leaf 120: prio 2 quantum 1514 rate 4800Kbit ceil 7200Kbit linklayer atm burst 15Kb/1 mpu 0b cburst 1598b/1 mpu 0b level 0 
";

    #[test]
    fn classes_are_read_parents_first_and_written_with_all_that_they_have() {
        let classes = classes(SHOWN).unwrap();
        let ids: Vec<&str> = classes.iter().map(|class| class.id.as_str()).collect();
        assert_eq!(ids, ["1:1", "1:11", "1:12"]);
        assert_eq!(classes[0].limit(), BitRate(7_200_000));
        let commands: Vec<String> = classes.iter().map(|class| class.command("eth0", "1:")).collect();
        assert_eq!(
            commands[0],
            "tc class change dev eth0 parent 1: classid 1:1 htb rate 7200000bit burst 1599 ceil 7200000bit cburst 1599 \
             overhead 22 mpu 64"
        );
        assert!(commands[1].contains("parent 1:1 classid 1:11 htb rate 2400000bit burst 2000 "), "{}", commands[1]);
        assert!(commands[1].ends_with(" prio 1 quantum 30000"), "{}", commands[1]);
        assert!(commands[2].ends_with(" prio 2 quantum 1514 linklayer atm"), "{}", commands[2]);
    }

    #[test]
    fn all_classes_are_scaled_alike() {
        let classes = classes(SHOWN).unwrap();
        let rates = |class: &HtbClass| {
            let scaled = class.scaled(BitRate(3_600_000), BitRate(7_200_000));
            (scaled.rate.rate.0, scaled.ceil.rate.0)
        };
        let rates: Vec<_> = classes.iter().map(rates).collect();
        assert_eq!(rates, [(3_600_000, 3_600_000), (1_200_000, 3_600_000), (2_400_000, 3_600_000)]);
    }

    #[test]
    fn what_is_not_understood_is_an_error() {
        assert!(classes("class htb 1:1 root rate fast\n").unwrap_err().to_string().contains("1:1"));
        assert!(classes(SHOWN.lines().next().unwrap()).unwrap_err().to_string().contains("parents"));
        assert_eq!(classes("").unwrap(), []);
    }
}
