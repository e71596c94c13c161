//! The tables, one file each.

mod delays;
mod flows;
mod runs;

pub use delays::DelayRow;
pub use flows::FlowRow;
pub use runs::RunRow;

use crate::table::{Row, Table};

/// Every table. The rows of `runs` are written last: a run is in the archive when it is there.
pub const TABLES: [Table; 3] = [DelayRow::TABLE, FlowRow::TABLE, RunRow::TABLE];
