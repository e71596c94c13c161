//! Shapers and the search for their rates.
//!
//! - [`class_runs`]: what the shaper gives to each class
//! - [`conductor`]: a session: one test whose load goes on while the shaper is set in steps
//! - [`confirmation`]: two whole tests, as found and as recommended
//! - [`shaper`]: what a shaper is and can do
//! - [`shaper_address`]: which shaper, as people write it after `--shaper`
//! - [`driver`]: opens a shaper; [`drivers`] has one file a kind, [`changeable`] what each can do
//! - [`guarded`]: restores a shaper whatever happens, by the [`journal`], the [`guard`] and a [`restoration`]
//! - [`dry_run`]: a shaper that is only read
//! - [`host`]: where a shaper is: here, or reached by ssh
//! - [`shell`]: programs that end within a time limit
//! - [`estimate`]: how long a session takes at most, and how much data
//! - [`outside`]: a shaper seen from its Internet side
//! - [`overhead_runs`]: what the line adds to each packet
//! - [`rate_list`]: the rates of a sweep, as people write them
//! - [`result_words`]: what class runs, overhead runs and confirmation show
//! - [`session_folder`]: where recordings, charts and report go

pub(crate) mod changeable;
pub(crate) mod class_runs;
pub(crate) mod conductor;
pub(crate) mod confirmation;
pub(crate) mod driver;
pub(crate) mod drivers;
pub(crate) mod dry_run;
pub(crate) mod estimate;
pub(crate) mod guard;
pub(crate) mod guarded;
pub(crate) mod host;
pub(crate) mod journal;
pub(crate) mod outside;
pub(crate) mod overhead_runs;
mod progress;
pub(crate) mod rate_list;
pub(crate) mod restoration;
pub(crate) mod result_words;
pub(crate) mod session_folder;
pub(crate) mod shaper;
pub(crate) mod shaper_address;
pub(crate) mod shell;
#[cfg(test)]
pub(crate) mod test_router;
