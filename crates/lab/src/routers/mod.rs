//! The routers on the path, and what they answer.

pub(crate) mod icmp;
pub(crate) mod router;
#[cfg(test)]
pub(crate) mod trace;
