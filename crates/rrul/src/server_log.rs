//! The log of a server on stderr: a line for each event, as text or as JSON.

use std::sync::Arc;

use rrul_engine::server::Log;

#[cfg(feature = "log")]
pub(crate) use structured::log;

/// Lines of text. A server whose log has no reader goes on serving.
#[cfg(not(feature = "log"))]
pub(crate) fn log() -> Log {
    use std::io::Write;

    Arc::new(|event| {
        let now = humantime::format_rfc3339_seconds(std::time::SystemTime::now());
        let _ = writeln!(std::io::stderr(), "{now} {event}");
    })
}

#[cfg(feature = "log")]
mod structured {
    use std::fmt;
    use std::io::{self, Write};
    use std::time::SystemTime;

    use rrul_engine::server::EventKind;
    use tracing_subscriber::fmt::format::Writer;
    use tracing_subscriber::fmt::time::FormatTime;

    use super::{Arc, Log};
    use crate::arguments::LogFormat;

    /// Seconds in UTC, as RFC 3339 writes them.
    struct Seconds;

    impl FormatTime for Seconds {
        fn format_time(&self, writer: &mut Writer<'_>) -> fmt::Result {
            write!(writer, "{}", humantime::format_rfc3339_seconds(SystemTime::now()))
        }
    }

    /// stderr, whether it has a reader or not.
    struct Stderr;

    impl Write for Stderr {
        fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
            let _ = io::stderr().write_all(octets);
            Ok(octets.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// The log in this format, by `tracing`.
    pub(crate) fn log(format: LogFormat) -> Log {
        let lines = tracing_subscriber::fmt().with_timer(Seconds).with_ansi(false).with_target(false);
        let lines = lines.with_max_level(tracing::Level::INFO).with_writer(|| Stderr);
        // A process has one log; a second server in it writes to the first one's.
        let _ = match format {
            LogFormat::Text => tracing::subscriber::set_global_default(lines.finish()),
            LogFormat::Json => tracing::subscriber::set_global_default(lines.json().flatten_event(true).finish()),
        };
        Arc::new(|event| {
            let (words, sessions, left_out) = (event.what.words(), event.sessions, event.left_out);
            let client = event.client.map(tracing::field::display);
            let reason = (!event.reason.is_empty()).then_some(event.reason.as_str());
            let left_out = (left_out > 0).then_some(left_out);
            if matches!(event.what, EventKind::Refused(_)) {
                tracing::warn!(client, reason, sessions, left_out, "{words}");
            } else {
                tracing::info!(client, reason, sessions, left_out, "{words}");
            }
        })
    }
}
