//! The help of options that take tokens, and keys and tickets where this build has them.

const HAS_KEYS: bool = cfg!(feature = "tickets");

pub(super) const TOKENS: &str = if HAS_KEYS {
    "Test only for clients that this file lists [default: for all]"
} else {
    "Test only for clients with a token of this file [default: for all]"
};

pub(super) const TOKENS_LONG: &str = if HAS_KEYS {
    "Test only for clients that this file lists [default: for all]

A line is a token of 16 to 128 characters (rrul key token), a client's key ed25519:KEY, or issuer:KEY for the tickets of an \
issuer (rrul key public). Then name=NAME, expires=2026-12-31, tests-per-hour=N and data-per-day=SIZE where wanted. \
revoked:ed25519:KEY refuses a client's key and its tickets. Only its owner may read the file (mode 0600). Changes take effect \
within two seconds: sessions of a line that is removed end."
} else {
    "Test only for clients with a token of this file [default: for all]

One token a line, of 16 to 128 characters, then name=NAME and expires=2026-12-31 where wanted. Only its owner may read the \
file (mode 0600). Changes take effect within two seconds: sessions of a token that is removed end."
};

pub(super) const TOKEN_FILE: &str = if HAS_KEYS {
    "File of the token or key that servers ask for [default: none]"
} else {
    "File of the token for servers that ask for one [default: none]"
};

pub(super) const TOKEN_FILE_LONG: &str = if HAS_KEYS {
    "File of the token or key that servers ask for [default: none]

The first word of the file is the token. Or the file has a private key (rrul key new FILE) and the ticket for it, if any, in \
lines of their own. Only its owner may read the file (mode 0600). Without this option the file that the environment variable \
RRUL_TOKEN_FILE names is used."
} else {
    "File of the token for servers that ask for one [default: none]

The first word of the file is the token. Only its owner may read the file (mode 0600). Without this option the file that the \
environment variable RRUL_TOKEN_FILE names is used."
};
