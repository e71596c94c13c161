//! Why a flow cannot be set up.

use std::io;

use rrul_model::flow::AddressFamily;

/// Why a flow cannot be set up; its message becomes the detail of the flow's failure. It names no host and no address:
/// these are in the header, unless the user forbids it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SetupError {
    #[error("stopped by the user")]
    Stopped,
    #[error("cannot start a thread: {0}")]
    Thread(io::Error),
    #[error("setup failed; this is a defect of rrul")]
    Panicked,
    #[error("the server has no {0} address")]
    NoAddress(AddressFamily),
    #[error("{0}: {1}")]
    Socket(&'static str, io::Error),
    #[error("a socket without addresses")]
    Unconnected,
    #[error("cannot set DSCP {0}: {1}")]
    Marking(u8, io::Error),
    #[error("ICMP is not permitted ({0}); widen net.ipv4.ping_group_range or give CAP_NET_RAW")]
    IcmpNotPermitted(io::Error),
    #[error("no UDP reply from the server; let UDP port {0} through all firewalls")]
    NoUdpReply(u16),
    #[error("no page named \"{0}\"")]
    UnknownPage(String),
    #[error("{0}")]
    Parameters(String),
    #[error(transparent)]
    Resolver(#[from] crate::system_resolver::ResolverError),
    #[cfg(feature = "browser")]
    #[error(transparent)]
    BrowserProgram(#[from] crate::browser::ProgramError),
    #[cfg(feature = "browser")]
    #[error(transparent)]
    Site(#[from] crate::browser::SiteError),
}

impl SetupError {
    /// For `map_err`: what could not be done with a socket.
    pub(crate) fn socket(what: &'static str) -> impl Fn(io::Error) -> Self + Copy {
        move |error| Self::Socket(what, error)
    }
}

impl From<SetupError> for String {
    fn from(error: SetupError) -> Self {
        error.to_string()
    }
}
