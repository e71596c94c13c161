//! What can go wrong with a browser.

use std::time::Duration;

/// What went wrong with a browser, in words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BrowserError {
    #[error("{0}")]
    Start(String),
    #[error("the browser has ended: {0}")]
    Gone(String),
    #[error("the browser hangs: no answer for {} s", .0.as_secs())]
    Silent(Duration),
    #[error("the browser sent an unreadable message: {0}")]
    Unreadable(String),
    #[error("the test was stopped")]
    Stopped,
}
