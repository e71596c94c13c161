//! The links that come with rrul.

use crate::error::Error;
use crate::link::Link;

/// Every built-in link: the one place where they are listed.
macro_rules! builtin {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../../../links/", $name, ".toml")))),*]
    };
}

const BUILTIN: &[(&str, &str)] = builtin![
    "cable_20_8_codel",
    "cable_20_8_fq_codel",
    "cable_20_8_pfifo",
    "cable_38_8_bloated",
    "clean_100_100",
    "dsl_5_1_pfifo",
    "dsl_8_2_bloated",
    "fiber_100_40_fq_codel",
    "fiber_100_40_pfifo",
    "fios_25_25_pfifo",
    "lossy_20_8",
];

/// The names of the built-in links, sorted.
pub fn link_names() -> impl Iterator<Item = &'static str> {
    BUILTIN.iter().map(|(name, _)| *name)
}

impl Link {
    /// The built-in link of this name; the error names the known ones.
    pub fn builtin(name: &str) -> Result<Self, Error> {
        let found = BUILTIN.iter().find(|(known, _)| *known == name);
        let (name, text) = found.ok_or_else(|| Error::UnknownLink {
            name: name.to_owned(),
            known: link_names().collect::<Vec<&str>>().join(", "),
        })?;
        Self::from_toml(&format!("links/{name}.toml"), text)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_builtin_link_loads_and_says_what_it_stands_for() {
        for name in link_names() {
            let link = Link::builtin(name).unwrap();
            assert_eq!(link.name, name);
            assert!(link.about.len() > 20, "{name}: the first line must say what the link stands for");
        }
        assert!(link_names().is_sorted());
    }

    #[test]
    fn every_link_file_is_listed() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../links");
        let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let files: BTreeSet<String> = names.filter_map(|name| name.strip_suffix(".toml").map(str::to_owned)).collect();
        assert_eq!(files, link_names().map(str::to_owned).collect());
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_known_ones() {
        let said = Link::builtin("dsl").unwrap_err().to_string();
        assert!(said.starts_with("unknown link \"dsl\"; known: cable_20_8_codel, "), "{said}");
    }
}
