//! How urgently the kernel runs a thread. What is not permitted is done without and said in the environment.

#![allow(unsafe_code, reason = "sched_setscheduler has no safe form")]

use std::cell::RefCell;
use std::io;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU32, Ordering};

/// Real-time priority of probe threads: above the virtual link's (10), below the kernel's own (50).
const PROBE_PRIORITY: i32 = 20;

/// Threads of this program that may run so at one time: others would keep the host from everything else.
const MOST_PROBES: u32 = 16;

static PROBES: AtomicU32 = AtomicU32::new(0);

thread_local! {
    static PLACE: RefCell<Option<Place>> = const { RefCell::new(None) };
}

/// One of the places of threads that run so, given back when its thread ends.
struct Place;

impl Place {
    fn take() -> io::Result<Self> {
        let one_more = |count: u32| (count < MOST_PROBES).then_some(count + 1);
        match PROBES.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more) {
            Ok(_) => Ok(Self),
            Err(count) => Err(io::Error::other(format!("{count} threads of this program have it"))),
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        PROBES.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Runs the calling thread ahead of every ordinary one (SCHED_FIFO), and lets its timers fire on time.
///
/// # Errors
/// Without CAP_SYS_NICE or a real-time limit, or when enough threads run so. The thread then keeps its ordinary priority, with prompt timers.
pub fn run_as_probe() -> io::Result<()> {
    prompt_timers();
    if PLACE.with_borrow(Option::is_some) {
        return Ok(());
    }
    let place = Place::take()?;
    // SAFETY: sched_param is plain data, for which all-zero is valid.
    let mut parameters: libc::sched_param = unsafe { std::mem::zeroed() };
    parameters.sched_priority = PROBE_PRIORITY;
    // SAFETY: `parameters` is valid; 0 is the calling thread.
    match unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, &raw const parameters) } {
        0 => {
            PLACE.set(Some(place));
            Ok(())
        }
        _ => Err(io::Error::last_os_error()),
    }
}

/// Lets the calling thread's timers fire on time, at ordinary priority.
pub fn prompt_timers() {
    let _ = rustix::thread::set_current_timer_slack(Some(NonZeroU64::MIN));
}

/// Lets everything else run first: for threads that write files.
pub fn run_in_background() {
    // On Linux no process is the calling thread alone.
    let _ = rustix::process::setpriority_process(None, 10);
}

/// Whether probe threads get real-time priority here, in words for the environment.
pub fn realtime_ability() -> String {
    let tried = std::thread::Builder::new().name("ability".into()).spawn(run_as_probe);
    match tried.map(std::thread::JoinHandle::join) {
        Ok(Ok(Ok(()))) => "yes".to_owned(),
        Ok(Ok(Err(error))) => format!("no: {error}; give CAP_SYS_NICE or raise ulimit -r"),
        _ => "no: no thread to try with".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;

    #[test]
    fn no_more_than_sixteen_threads_run_ahead_of_all_others() {
        let (ask, asked) = (Barrier::new(41), Barrier::new(41));
        let granted = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..40)
                .map(|_| {
                    scope.spawn(|| {
                        ask.wait();
                        let place = Place::take();
                        asked.wait();
                        place.is_ok()
                    })
                })
                .collect();
            ask.wait();
            asked.wait();
            threads.into_iter().map(|thread| thread.join().unwrap()).filter(|granted| *granted).count()
        });
        // Other tests of this process may have some.
        assert!(granted <= MOST_PROBES as usize && granted > 0, "{granted}");
        assert!(Place::take().is_ok(), "they are given back");
    }
}
