//! The screen of `rrul run`: rates, delays and the equalizer while the test runs, on the terminal at stderr.
//!
//! - [`state`]: what it shows, fed with frames; pure
//! - [`layout`], [`head`], [`rates`], [`delays`], [`equalizer`], [`panel`], [`palette`]: how it looks; pure
//! - [`paint`]: from a picture to what the terminal is sent; pure
//! - [`drawing`]: the thread that draws; `no_drawing` in a program without the feature `screen`
//! - [`terminal`], [`settings`], [`guard`]: taking the terminal, and giving it back whatever happens
//!
//! Drawing never waits for measuring and is never waited for: a thread of its own at low priority takes frames from a
//! queue. When the terminal stands still the queue runs full and frames are left out of the screen, not of the recording.
//! No signal handler is installed for it: none interrupts a measuring thread when a window changes its size.

#[cfg(feature = "screen")]
mod delays;
#[cfg(feature = "screen")]
mod drawing;
#[cfg(feature = "screen")]
mod equalizer;
pub(crate) mod guard;
#[cfg(feature = "screen")]
mod head;
#[cfg(feature = "screen")]
mod layout;
#[cfg(not(feature = "screen"))]
mod no_drawing;
#[cfg(feature = "screen")]
mod paint;
#[cfg(feature = "screen")]
mod palette;
#[cfg(feature = "screen")]
mod panel;
#[cfg(feature = "screen")]
mod rates;
mod settings;
#[cfg(feature = "screen")]
mod state;
#[cfg_attr(not(feature = "screen"), allow(dead_code, reason = "nothing is drawn on it"))]
pub(crate) mod terminal;

#[cfg(all(test, feature = "screen"))]
mod tests;

#[cfg(feature = "screen")]
pub(crate) use drawing::LiveScreen;
#[cfg(not(feature = "screen"))]
pub(crate) use no_drawing::LiveScreen;

use terminal::Candidate;

/// Whether a terminal shows the characters of the screen, by its name and the locale.
pub(crate) fn shows_braille(variable: impl Fn(&str) -> Option<String>) -> bool {
    let set = |name| variable(name).filter(|value| !value.is_empty());
    // The console of Linux has a few hundred glyphs, and no Braille among them.
    let able = set("TERM").is_some_and(|name| !matches!(name.as_str(), "dumb" | "linux" | "unknown"));
    let locale = set("LC_ALL").or_else(|| set("LC_CTYPE")).or_else(|| set("LANG")).unwrap_or_default();
    let locale = locale.to_ascii_lowercase();
    able && (locale.contains("utf-8") || locale.contains("utf8"))
}

/// A terminal on which the screen can be drawn; `None` without one, or if it lacks something.
pub(crate) fn candidate() -> Option<Candidate> {
    let able = cfg!(feature = "screen") && shows_braille(|name| std::env::var(name).ok());
    able.then(Candidate::find).flatten()
}
