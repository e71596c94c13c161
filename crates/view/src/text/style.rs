//! What all text for people shares: color, and words for what is not there.

use rrul_model::printable;
use rrul_model::units::Delay;

/// Whether a summary may use color.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Characters only: files, pipes, and whoever asks for no color.
    Plain,
    /// ANSI escape sequences (ECMA-48 SGR): headings bold, doubts red.
    Ansi,
}

impl Style {
    pub(crate) fn heading(self, text: &str) -> String {
        self.wrapped(text, "1")
    }

    pub(crate) fn alarm(self, text: &str) -> String {
        self.wrapped(text, "31")
    }

    pub(crate) fn green(self, text: &str) -> String {
        self.wrapped(text, "32")
    }

    pub(crate) fn amber(self, text: &str) -> String {
        self.wrapped(text, "33")
    }

    fn wrapped(self, text: &str, code: &str) -> String {
        match self {
            Self::Plain => text.to_owned(),
            Self::Ansi => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
        }
    }
}

pub(crate) fn finished(lines: &[String]) -> String {
    lines.join("\n") + "\n"
}

pub(crate) fn unknown() -> String {
    "–".to_owned()
}

/// A figure from the distribution of delays; none means that it falls on a lost packet.
pub(crate) fn quantile(delay: Option<Delay>) -> String {
    delay.map_or_else(|| "lost".to_owned(), |delay| delay.to_string())
}

/// A line that contains text of others, without what could steer the terminal.
pub(crate) fn printable(text: &str) -> String {
    printable::line(text).into_owned()
}
