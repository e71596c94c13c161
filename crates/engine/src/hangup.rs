//! SIGHUP, by which the operator of a service asks it to read its options anew.

#![allow(unsafe_code, reason = "signal has no safe form")]

use std::sync::atomic::{AtomicBool, Ordering};

static ASKED: AtomicBool = AtomicBool::new(false);

extern "C" fn note(_: libc::c_int) {
    ASKED.store(true, Ordering::Relaxed);
}

/// From now on SIGHUP ends nothing: [`taken`] reports it.
pub fn watch() {
    let handler: extern "C" fn(libc::c_int) = note;
    // SAFETY: the handler does nothing but store to an atomic, which a signal may interrupt anything for.
    unsafe { libc::signal(libc::SIGHUP, handler as libc::sighandler_t) };
}

/// Whether SIGHUP has come since the last call.
pub fn taken() -> bool {
    ASKED.swap(false, Ordering::Relaxed)
}
