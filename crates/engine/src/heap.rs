//! The heap of this program.

#![allow(unsafe_code, reason = "mallopt")]

/// Makes all threads share one heap, if the C library has several; to be called before the first other thread starts.
///
/// The GNU library gives each new thread the next of up to eight heaps a core, and each of them keeps the room of the
/// largest session that it ever served: a server would go on growing long after its first hundred sessions. Threads that
/// share a heap wait for each other when they allocate, but none does while packets fly.
pub fn share() {
    #[cfg(target_env = "gnu")]
    // SAFETY: it takes two numbers and touches no memory of ours. That it is refused changes nothing but the growth.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
    }
}

/// Keeps what is freed for what is allocated next; for commands that read one recording after the other.
///
/// The GNU library gives large pieces back at once and asks for them anew, and the kernel has to clear them each time.
pub fn keep() {
    #[cfg(target_env = "gnu")]
    // SAFETY: as above.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, 32 << 20);
        libc::mallopt(libc::M_TRIM_THRESHOLD, 256 << 20);
    }
}
