//! How urgently the kernel runs a thread. What is not permitted is done without and said in the environment.

#![allow(unsafe_code, reason = "sched_setscheduler has no safe form")]

use std::io;
use std::num::NonZeroU64;

/// Real-time priority of probe threads: above the virtual link's (10), below the kernel's own (50).
const PROBE_PRIORITY: i32 = 20;

/// Runs the calling thread ahead of every ordinary one (SCHED_FIFO), and lets its timers fire on time.
///
/// # Errors
/// Without CAP_SYS_NICE or a real-time limit. The thread then keeps its ordinary priority, with prompt timers.
pub fn run_as_probe() -> io::Result<()> {
    prompt_timers();
    // SAFETY: sched_param is plain data, for which all-zero is valid.
    let mut parameters: libc::sched_param = unsafe { std::mem::zeroed() };
    parameters.sched_priority = PROBE_PRIORITY;
    // SAFETY: `parameters` is valid; 0 is the calling thread.
    match unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, &raw const parameters) } {
        0 => Ok(()),
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
