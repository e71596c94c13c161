//! Being asked to stop: Ctrl-C, or a polite kill.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::live_screen::terminal;

/// A flag that is raised by the first Ctrl-C, SIGTERM or SIGHUP; the second ends the program at once.
pub(crate) fn flag() -> Arc<AtomicBool> {
    let flag = Arc::new(AtomicBool::new(false));
    on_first(Arc::clone(&flag), || {
        // Whoever read this may have been stopped by the same Ctrl-C (`rrul run ... 2>&1 | tee log`).
        terminal::say("\nrrul: stopping; press again to quit at once");
    });
    flag
}

/// Leaves the first Ctrl-C, SIGTERM or SIGHUP to a command that runs in the foreground with this program, as it gets the
/// signal too and may have something to save; the second ends the program at once.
pub(crate) fn leave_to_the_command() {
    on_first(Arc::default(), || {});
}

/// Does this on the first signal, and raises the flag; the second ends the program at once.
fn on_first(raised: Arc<AtomicBool>, act: impl Fn() + Send + 'static) {
    let handler = move || {
        if raised.swap(true, Ordering::SeqCst) {
            terminal::give_back();
            std::process::exit(130);
        }
        act();
    };
    // Without the handler Ctrl-C ends the program at once, and what was recorded is still on disk.
    if let Err(error) = ctrlc::set_handler(handler) {
        let _ = writeln!(std::io::stderr(), "rrul: Ctrl-C will quit at once: {error}");
    }
}

/// Ends the program without a word when what it prints to has been closed.
pub(crate) fn end_quietly_on_broken_pipe() {
    let default = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        let text = info.payload_as_str().unwrap_or_default();
        if text.contains("failed printing to std") && text.contains("Broken pipe") {
            std::process::exit(0);
        }
        default(info);
    }));
}
