//! The tables, one file each.

mod delays;
mod flows;
mod runs;
mod seconds;

pub use delays::DelayRow;
pub use flows::FlowRow;
pub use runs::RunRow;
pub use seconds::SecondRow;

use crate::table::{Row, Table};

/// Every table. The rows of `runs` are written last: a run is in the archive when it is there.
pub const TABLES: [Table; 4] = [DelayRow::TABLE, FlowRow::TABLE, SecondRow::TABLE, RunRow::TABLE];
