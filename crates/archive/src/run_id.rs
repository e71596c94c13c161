//! The name of a run: derived from what was measured, so that the same run has the same name wherever it is added.
//!
//! Of the name's beginning a number is made, the key. Two of a million runs have the same one with a probability of 4 in ten
//! million; `check` would say so.

use rrul_model::observation::ObservationPoint;
use rrul_model::recording::Recording;
use sha2::{Digest, Sha256};

/// Digits of a name.
pub(crate) const LENGTH: usize = 32;

/// Digits of its beginning that are a number of 64 bits, whatever they are.
const KEY_LENGTH: usize = 15;

/// The first 128 bits of a SHA-256 of the recording's times as hexadecimal digits.
///
/// Neither names nor addresses are hashed, so they cannot be found by trying. Times of packets on clocks of nanoseconds are unique.
pub(crate) fn run_id(recording: &Recording) -> String {
    let header = &recording.header;
    let mut hash = Sha256::new();
    hash.update(header.created.as_bytes());
    let mut number = |value: i64| hash.update(value.to_le_bytes());
    number(header.clocks.client_origin);
    number(header.clocks.exchange_round_trip);
    for point in [ObservationPoint::Client, ObservationPoint::Server] {
        for tables in recording.tables_of(point) {
            for row in tables.probe_sent.rows() {
                number(i64::from(row.flow.0));
                number(i64::from(row.sequence));
                number(row.sent.0);
            }
            for row in tables.probe_received.rows() {
                number(i64::from(row.flow.0));
                number(row.received.0);
            }
            for row in tables.octets_received.rows() {
                number(i64::from(row.flow.0));
                number(row.at.0);
                number(row.octets.0.cast_signed());
            }
        }
    }
    hash.finalize().iter().take(LENGTH / 2).fold(String::new(), |name, octet| name + &format!("{octet:02x}"))
}

/// The first 60 bits of the name.
pub(crate) fn run_key(name: &str) -> Option<i64> {
    i64::from_str_radix(name.get(..KEY_LENGTH)?, 16).ok()
}

/// How the name of a run with this key begins.
pub(crate) fn run_name_begins(key: i64) -> String {
    format!("{key:0KEY_LENGTH$x}")
}

/// Whether this can be the name of a run.
pub(crate) fn is_run_id(name: &str) -> bool {
    name.len() == LENGTH && name.bytes().all(|c| c.is_ascii_digit() || (b'a'..=b'f').contains(&c))
}
