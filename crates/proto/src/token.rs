//! The session token: what binds streams and test packets to a session.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::admission::hexadecimal::{self, Hexadecimal};

/// 16 octets from the server's cryptographic random source, sent to the client on its control connection.
///
/// Whoever has it speaks for the session. Sixteen octets cannot be guessed by trying, so it needs no other secret.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Token(pub [u8; 16]);

impl Token {
    /// All zero: the token of a connection that has no session yet.
    pub const NONE: Self = Self([0; 16]);

    /// 32 hexadecimal digits.
    pub(crate) fn hex(self) -> String {
        Hexadecimal(&self.0).to_string()
    }

    pub(crate) fn from_hex(text: &str) -> Option<Self> {
        hexadecimal::read(text).map(Self)
    }
}

impl fmt::Debug for Token {
    /// Never shown: logs are read by people who must not speak for the session.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

impl Serialize for Token {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.hex())
    }
}

impl<'de> Deserialize<'de> for Token {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::from_hex(&text).ok_or_else(|| serde::de::Error::custom("a token is 32 hexadecimal digits"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_reads_back_and_does_not_show_itself() {
        let token = Token(*b"0123456789abcdef");
        let text = serde_json::to_string(&token).unwrap();
        assert_eq!(serde_json::from_str::<Token>(&text).unwrap(), token);
        assert_eq!(format!("{token:?}"), "Token(..)");
        let signs = format!("\"{}\"", "+1".repeat(16));
        // Of 32 octets, with a letter of two at an odd place.
        let split = "\"0é23456789abcdef0123456789abcde\"";
        for bad in ["\"\"", "\"zz\"", split, &signs, "5"] {
            assert!(serde_json::from_str::<Token>(bad).is_err(), "{bad}");
        }
    }
}
