//! The lab's clock, its waiting, and the scheduling of its threads.
#![allow(unsafe_code, reason = "clock_gettime, ppoll and sched_setscheduler have no safe form in std")]

use std::num::NonZeroU64;
use std::os::fd::{AsRawFd, BorrowedFd};

use crate::time::LabTime;

/// The priority of the lab's threads under `SCHED_FIFO`: below that of measuring threads, above everything ordinary.
pub(crate) const LAB_PRIORITY: i32 = 10;

/// Now, on `CLOCK_MONOTONIC_RAW`: neither stepped nor slewed, the same in every namespace.
pub fn now() -> LabTime {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec that outlives the call; the call cannot fail for this clock since Linux 2.6.28.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC_RAW, &raw mut time) };
    LabTime(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// Gives the calling thread real-time priority (`SCHED_FIFO`) where that is allowed, and exact timers in any case.
///
/// Returns whether the priority was granted: it takes root, `CAP_SYS_NICE` or `RLIMIT_RTPRIO`.
pub fn be_realtime(priority: i32) -> bool {
    let _ = rustix::thread::set_current_timer_slack(Some(NonZeroU64::MIN));
    let parameters = libc::sched_param { sched_priority: priority };
    // SAFETY: zero means this thread, and `parameters` is valid for the length of the call.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) == 0 }
}

/// Waits until one of two files can be read or `nanoseconds` have passed; `None` waits without end.
///
/// Returns whether each can be read. A signal ends the wait early.
pub(crate) fn wait_readable(files: [BorrowedFd<'_>; 2], nanoseconds: Option<u64>) -> [bool; 2] {
    let mut polled = files.map(|file| libc::pollfd { fd: file.as_raw_fd(), events: libc::POLLIN, revents: 0 });
    let timeout = nanoseconds.map(|ns| libc::timespec {
        tv_sec: (ns / 1_000_000_000) as libc::time_t,
        tv_nsec: (ns % 1_000_000_000) as libc::c_long,
    });
    let timeout = timeout.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: `polled` has two entries whose files are open for the length of the call; the timeout is null or valid;
    // a null signal mask changes nothing.
    unsafe { libc::ppoll(polled.as_mut_ptr(), 2, timeout, std::ptr::null()) };
    polled.map(|file| file.revents != 0)
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn time_does_not_run_backwards() {
        let times: Vec<LabTime> = (0..1000).map(|_| now()).collect();
        assert!(times.is_sorted() && times[0].0 > 0);
    }

    #[test]
    fn waiting_ends_when_something_can_be_read_or_time_is_up() {
        let (first, _kept) = std::io::pipe().unwrap();
        let (second, mut into_second) = std::io::pipe().unwrap();
        let files = [first.as_fd(), second.as_fd()];
        let before = now();
        assert_eq!(wait_readable(files, Some(1_000_000)), [false, false]);
        assert!(now().since(before) >= 990_000, "MONOTONIC and MONOTONIC_RAW differ by parts per million");
        into_second.write_all(&[1]).unwrap();
        assert_eq!(wait_readable(files, None), [false, true]);
    }
}
