//! What can go wrong with a browser.

use std::time::Duration;

/// What went wrong with a browser, in words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BrowserError {
    /// It could not be started.
    #[error("{0}")]
    Start(String),
    /// Its process has ended, or has closed the pipe.
    #[error("the browser has ended: {0}")]
    Gone(String),
    /// It does not answer.
    #[error("the browser hangs: no answer for {} s", .0.as_secs())]
    Silent(Duration),
    /// It says what it cannot mean.
    #[error("the browser sent an unreadable message: {0}")]
    Unreadable(String),
    /// The test has been stopped.
    #[error("the test was stopped")]
    Stopped,
}
