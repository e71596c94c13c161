//! The plan book: the plans that come with the program, and those in files.

use std::path::Path;
use std::sync::LazyLock;

use rrul_engine::vocabulary;
use rrul_model::plan::{Surroundings, TestPlan};

use crate::failure::Failure;

/// Name and text of each plan that comes with the program, by name.
static PLANS: LazyLock<Vec<(String, String)>> = LazyLock::new(|| {
    let all = zstd::decode_all(&include_bytes!(concat!(env!("OUT_DIR"), "/plans.zst"))[..]).unwrap_or_default();
    let all = String::from_utf8(all).unwrap_or_default();
    let mut parts = all.split_terminator('\0').map(str::to_owned);
    std::iter::from_fn(|| Some((parts.next()?, parts.next()?))).collect()
});

/// The names of the plans that come with the program.
pub(crate) fn names() -> Vec<&'static str> {
    PLANS.iter().map(|(name, _)| name.as_str()).collect()
}

/// The plan of this name, or in this file, with the user's settings.
pub(crate) fn plan(name: &str, settings: &[String]) -> Result<TestPlan, Failure> {
    let words = vocabulary();
    let surroundings = Surroundings { flow_types: &words, find: &shipped };
    if let Some((file, text)) = shipped(name) {
        return Ok(TestPlan::read(name, &file, &text, settings, &surroundings)?);
    }
    let path = Path::new(name);
    if path.extension().is_none() {
        return Err(Failure::NotFound {
            what: "plan",
            name: name.to_owned(),
            known: format!("{}, or a file that ends in .toml", names().join(", ")),
        });
    }
    let text = std::fs::read_to_string(path).map_err(Failure::file(path))?;
    let stem = path.file_stem().map_or_else(|| name.into(), std::ffi::OsStr::to_string_lossy);
    Ok(TestPlan::read(&stem, name, &text, settings, &surroundings)?)
}

fn shipped(name: &str) -> Option<(String, String)> {
    let (_, text) = PLANS.iter().find(|(known, _)| known == name)?;
    Some((format!("plans/{name}.toml"), text.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_plan_that_comes_with_the_program_is_understood_by_its_own_flow_types() {
        assert!(names().len() >= 10, "{:?}", names());
        for name in names() {
            let plan = plan(name, &[]).unwrap_or_else(|error| panic!("{error}"));
            assert!(!plan.flows(&rrul_model::flow::AddressFamily::ALL).is_empty(), "{name} has no flows");
        }
    }

    #[test]
    fn an_unknown_plan_is_answered_with_those_that_are() {
        let error = plan("rrull", &[]).unwrap_err().to_string();
        assert!(error.contains("\"rrull\"") && error.contains("rrul2013"), "{error}");
        let error = plan("missing.toml", &[]).unwrap_err().to_string();
        assert!(error.starts_with("missing.toml: "), "{error}");
    }
}
