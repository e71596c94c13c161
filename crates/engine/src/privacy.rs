//! What a recording may say of its hosts.

/// Whether what names a host may be in a recording: its name, its addresses, names of its interfaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Privacy {
    #[default]
    Open,
    Strict,
}
