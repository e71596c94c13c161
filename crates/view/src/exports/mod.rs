//! A run in the forms of other programs.

pub mod flent_export;
pub mod har;
pub mod tidy_export;
