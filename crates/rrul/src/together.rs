//! Several recordings at once: a few at a time are read and analyzed, and of each only what is asked for is kept.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::failure::Failure;

/// Most recordings that are in memory at one time.
const MOST_AT_ONCE: usize = 4;

/// What `of` makes of each file, in their order.
///
/// # Errors
/// That of the first file, in their order, of which one was found.
pub(crate) fn of_each<T: Send>(
    files: &[PathBuf],
    of: impl Fn(&Path) -> Result<T, Failure> + Sync,
) -> Result<Vec<T>, Failure> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    let work = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(file) = files.get(index) else { break };
            let made = of(file);
            if made.is_err() {
                // One that cannot be read is enough; those before it are in hand already.
                next.store(files.len(), Ordering::Relaxed);
            }
            done.lock().unwrap_or_else(PoisonError::into_inner).push((index, made));
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(files.len()).min(MOST_AT_ONCE);
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(work);
        }
        work();
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, made)| made).collect()
}
