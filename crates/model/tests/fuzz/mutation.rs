//! Bytes that are nearly a valid input: one of a corpus, changed in a few places.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// Texts that readers of JSON, TOML and numbers with units stumble over.
const WORDS: &[&str] = &[
    "0",
    "-1",
    "-0",
    "1e309",
    "1e-400",
    "18446744073709551616",
    "9223372036854775807",
    "-9223372036854775808",
    "4294967296",
    "65536",
    "256",
    "0.1",
    "NaN",
    "inf",
    "null",
    "true",
    "\"\"",
    "\"",
    "\\",
    "\\u0000",
    "\\ud800",
    "{",
    "}",
    "[",
    "]",
    "[[",
    "]]",
    ",",
    ":",
    "=",
    ".",
    "#",
    "\n",
    "\r\n",
    "\t",
    " ",
    "%",
    "s",
    "ms",
    "min",
    "Mbit/s",
    "B",
    "p",
    "\u{0}",
    "\u{feff}",
    "é",
    "\u{10ffff}",
];

/// One change of a text.
#[derive(Debug, Clone)]
enum Edit {
    Flip(Index, u8),
    Set(Index, u8),
    Insert(Index, &'static str),
    Replace(Index, u8, &'static str),
    Delete(Index, u16),
    Repeat(Index, u16),
    /// What follows is that of another valid input.
    Splice(Index, Index, Index),
    Cut(Index),
}

fn edit() -> impl Strategy<Value = Edit> {
    let at = any::<Index>;
    prop_oneof![
        2 => (at(), 0..8_u8).prop_map(|(at, bit)| Edit::Flip(at, bit)),
        2 => (at(), any::<u8>()).prop_map(|(at, octet)| Edit::Set(at, octet)),
        4 => (at(), select(WORDS)).prop_map(|(at, word)| Edit::Insert(at, word)),
        6 => (at(), 0..12_u8, select(WORDS)).prop_map(|(at, length, word)| Edit::Replace(at, length, word)),
        2 => (at(), 0..200_u16).prop_map(|(at, length)| Edit::Delete(at, length)),
        2 => (at(), 0..200_u16).prop_map(|(at, length)| Edit::Repeat(at, length)),
        1 => (at(), at(), at()).prop_map(|(at, which, from)| Edit::Splice(at, which, from)),
        1 => at().prop_map(Edit::Cut),
    ]
}

impl Edit {
    fn apply(&self, octets: &mut Vec<u8>, corpus: &[Vec<u8>]) {
        let place = |at: &Index| at.index(octets.len() + 1);
        match self {
            Self::Flip(at, bit) => {
                let at = place(at);
                if let Some(octet) = octets.get_mut(at) {
                    *octet ^= 1 << bit;
                }
            }
            Self::Set(at, value) => {
                let at = place(at);
                if let Some(octet) = octets.get_mut(at) {
                    *octet = *value;
                }
            }
            Self::Insert(at, word) => {
                let at = place(at);
                octets.splice(at..at, word.bytes());
            }
            Self::Replace(at, length, word) => {
                let at = place(at);
                let end = (at + usize::from(*length)).min(octets.len());
                octets.splice(at..end, word.bytes());
            }
            Self::Delete(at, length) => {
                let at = place(at);
                let end = (at + usize::from(*length)).min(octets.len());
                octets.drain(at..end);
            }
            Self::Repeat(at, length) => {
                let at = place(at);
                let end = (at + usize::from(*length)).min(octets.len());
                let piece = octets[at..end].to_vec();
                octets.splice(at..at, piece);
            }
            Self::Splice(at, which, from) => {
                octets.truncate(place(at));
                let other = &corpus[which.index(corpus.len())];
                octets.extend(&other[from.index(other.len() + 1)..]);
            }
            Self::Cut(at) => octets.truncate(place(at)),
        }
    }
}

/// Bytes that a failure shows as text.
#[derive(Clone)]
pub(crate) struct Octets(pub(crate) Vec<u8>);

impl std::fmt::Debug for Octets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "\"{}\"", self.0.escape_ascii())
    }
}

impl std::ops::Deref for Octets {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

/// Inputs of the corpus with up to six changes each, and now and then none.
pub(crate) fn mutated(corpus: Vec<Vec<u8>>) -> impl Strategy<Value = Octets> {
    (any::<Index>(), vec(edit(), 0..7)).prop_map(move |(which, edits)| {
        let mut octets = corpus[which.index(corpus.len())].clone();
        for edit in &edits {
            edit.apply(&mut octets, &corpus);
        }
        Octets(octets)
    })
}
