//! How many files and sockets this process may have open.

use rustix::process::{Resource, getrlimit, setrlimit};

/// Raises the limit to as many as the administrator allows.
///
/// Most systems begin with 1024, for the sake of programs that use select(2): fewer than the connections that a server
/// grants take. For programs that start no others: those would inherit it. Where it is refused everything stays as it was.
pub fn raise_limit() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    let _ = setrlimit(Resource::Nofile, limit);
}
