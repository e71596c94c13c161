//! What the server does for flows, one file a part.

pub(crate) mod connections;
pub(crate) mod host;
pub(crate) mod one_way;
pub(crate) mod path_trace;
pub(crate) mod reflector;
