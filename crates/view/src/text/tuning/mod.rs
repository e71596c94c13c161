//! The outcome of a tuning session in words and figures.

pub(crate) mod figures_table;
pub(crate) mod findings;
pub(crate) mod outcome_words;
pub(crate) mod refusal_words;
pub(crate) mod settings;
pub(crate) mod summary;
pub(crate) mod trial_table;
