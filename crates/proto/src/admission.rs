//! Who may use a server, how much and how long: rules without sockets, with the time passed in.
//!
//! - [`access`]: tokens, keys and tickets that open sessions
//! - [`prefix`]: the networks that an address belongs to
//! - [`fair_shares`]: how many sessions each network has
//! - [`load_queue`]: whose load is next, so that tests do not disturb each other
//! - [`consent`]: whether the client still wants the packets that it is sent
//! - [`log_pace`]: how much is logged
//! - [`allowed_marks`]: how packets may be marked at its request
//! - [`message_pace`]: how many control messages a client may send
//! - [`quota`]: how many tests and how much data in an hour and a day
//! - [`quota_class`]: what the bearer of a token, key or ticket may use
//! - [`session_lease`]: how long a session lasts

pub mod access;
pub mod allowed_marks;
pub mod consent;
pub mod fair_shares;
pub(crate) mod hexadecimal;
pub mod load_queue;
pub mod log_pace;
pub mod message_pace;
pub mod prefix;
pub mod quota;
pub mod quota_class;
pub mod session_lease;
