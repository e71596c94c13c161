//! Names that are not known.

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown {what} \"{text}\"; known: {known}")]
pub struct UnknownName {
    what: &'static str,
    text: String,
    known: String,
}

impl UnknownName {
    /// `what` is named so; `known` lists the names that are known.
    pub fn new(what: &'static str, text: &str, known: impl Into<String>) -> Self {
        Self { what, text: text.to_owned(), known: known.into() }
    }
}
