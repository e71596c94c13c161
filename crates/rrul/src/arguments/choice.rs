//! Options whose value is one of a few words.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

/// A word, its line of help, and what it stands for.
pub(super) type Word<T> = (&'static str, &'static str, T);

/// Reads one of these words.
pub(super) fn choice<T: Copy + Send + Sync + 'static>(words: &'static [Word<T>]) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(words.iter().map(|(name, help, _)| PossibleValue::new(*name).help(*help))).map(
        move |text: String| {
            let (.., value) =
                words.iter().find(|(name, ..)| *name == text).expect("the parser knows these words alone");
            *value
        },
    )
}
