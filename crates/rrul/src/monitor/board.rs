//! What the threads of a monitor share.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rrul_monitor::exposition::Figures;

/// What the threads of a monitor share.
#[derive(Debug)]
pub(super) struct Board {
    figures: Mutex<Figures>,
    /// Whether probes are being sent.
    pub(super) probing: AtomicBool,
    /// Whether the budget has room for probes.
    pub(super) may_probe: AtomicBool,
    /// Whether a full test loads the line: probes are then not counted.
    pub(super) loaded: AtomicBool,
    /// Raised to end the monitor.
    pub(super) stop: Arc<AtomicBool>,
}

impl Board {
    pub(super) fn new(figures: Figures, stop: Arc<AtomicBool>) -> Self {
        Self {
            figures: Mutex::new(figures),
            probing: AtomicBool::new(false),
            may_probe: AtomicBool::new(true),
            loaded: AtomicBool::new(false),
            stop,
        }
    }

    pub(super) fn figures(&self) -> MutexGuard<'_, Figures> {
        self.figures.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}
