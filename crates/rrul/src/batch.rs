//! A batch: many runs from one file, every combination of what varies, again and again.
//!
//! - [`document`]: what the file may say
//! - [`setting`]: the result: one combination, filled in
//! - [`journal`]: what has been run, on disk as soon as it is known
//! - [`execution`]: one setting, run once

pub(crate) mod document;
pub(crate) mod error;
pub(crate) mod execution;
pub(crate) mod journal;
pub(crate) mod setting;

use setting::Setting;

/// One run of one setting.
#[derive(Debug, Clone)]
pub(crate) struct Turn<'a> {
    pub(crate) setting: &'a Setting,
    /// The name of its files: the setting and the repetition.
    pub(crate) name: String,
    /// Which repetition, from 1.
    pub(crate) repetition: u32,
}

/// All turns in the order in which they are run: every setting once, then every setting again.
///
/// Each repetition begins one setting later than the one before, so that none always follows the same.
pub(crate) fn turns(settings: &[Setting], repetitions: u32) -> Vec<Turn<'_>> {
    let digits = repetitions.to_string().len();
    let of = |repetition: u32| {
        let first = (repetition as usize - 1) % settings.len().max(1);
        let rotated = settings[first..].iter().chain(&settings[..first]);
        rotated.map(move |setting| {
            let number = format!("{repetition:0digits$}");
            let name = if setting.name.is_empty() { number } else { format!("{}-{number}", setting.name) };
            Turn { setting, name, repetition }
        })
    };
    (1..=repetitions).flat_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repetitions_are_interleaved_and_begin_with_another_setting() {
        let text =
            "repetitions = 3\nserver = \"a\"\n[each]\nplan = [\"quick\", \"ping\"]\n[run.one]\nplan = \"{plan}\"\n";
        let document = document::Document::read("b.toml", text).unwrap();
        let settings = Setting::all(&document, std::path::Path::new("")).unwrap();
        let names: Vec<String> = turns(&settings, document.repetitions).into_iter().map(|turn| turn.name).collect();
        assert_eq!(names, ["quick-1", "ping-1", "ping-2", "quick-2", "quick-3", "ping-3"]);
    }
}
