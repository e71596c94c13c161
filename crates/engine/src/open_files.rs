//! How many files and sockets this process may have open.

#![allow(unsafe_code, reason = "getrlimit and setrlimit")]

/// Raises the limit to as many as the administrator allows.
///
/// Most systems begin with 1024, for the sake of programs that use select(2): fewer than the connections that a server
/// grants take. For programs that start no others: those would inherit it. Where it is refused everything stays as it was.
pub fn raise_limit() {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the kernel writes one rlimit, which is valid and outlives the call.
    if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) } == 0 {
        limit.rlim_cur = limit.rlim_max;
        // SAFETY: the kernel reads one rlimit.
        unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) };
    }
}
