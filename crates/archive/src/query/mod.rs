//! Questions to an archive in SQL, and their answers.

pub mod answer;
#[cfg(feature = "cluster")]
pub mod cluster;
mod error;
pub mod period;
pub mod place;
pub mod session;
mod tables;

pub use error::QueryError;
