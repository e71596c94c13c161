//! Keys of clients and of issuers of tickets: Ed25519 (RFC 8032).

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use data_encoding::BASE64;
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::admission::quota_class::BearerId;

/// Octets of a signature.
pub(super) const SIGNATURE_OCTETS: usize = 64;

/// A public key, written as `ed25519:` and base64.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PublicKey(pub [u8; 32]);

/// Why a text is no public key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a public key is ed25519: and 44 characters of base64, as `rrul key public FILE` prints it")]
pub struct PublicKeyError;

impl PublicKey {
    /// What is in front of its base64.
    pub const PREFIX: &'static str = "ed25519:";

    /// Reads its base64 alone.
    ///
    /// # Errors
    /// When it is none of 32 octets.
    pub fn from_base64(digits: &str) -> Result<Self, PublicKeyError> {
        octets(digits).map(Self).ok_or(PublicKeyError)
    }

    /// Its base64 alone.
    pub fn to_base64(self) -> String {
        BASE64.encode(&self.0)
    }

    pub(super) fn has_signed(&self, message: &[u8], signature: &Signature) -> bool {
        UnparsedPublicKey::new(&ED25519, self.0).verify(message, &signature.0).is_ok()
    }

    /// Names who has the private key.
    pub(super) fn id(&self) -> BearerId {
        BearerId(self.0)
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", Self::PREFIX, self.to_base64())
    }
}

impl FromStr for PublicKey {
    type Err = PublicKeyError;

    fn from_str(text: &str) -> Result<Self, PublicKeyError> {
        Self::from_base64(text.strip_prefix(Self::PREFIX).ok_or(PublicKeyError)?)
    }
}

impl Serialize for PublicKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for PublicKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// A signature, in JSON base64.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signature(pub [u8; SIGNATURE_OCTETS]);

impl Serialize for Signature {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&BASE64.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Signature {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        octets(&text).map(Self).ok_or_else(|| serde::de::Error::custom("no signature of 64 octets in base64"))
    }
}

/// Reads base64 of exactly so many octets.
fn octets<const N: usize>(digits: &str) -> Option<[u8; N]> {
    // Before anything is decoded: a stranger may send more.
    (digits.len() == N.div_ceil(3) * 4).then(|| BASE64.decode(digits.as_bytes()).ok()?.try_into().ok())?
}

/// Why octets are no private key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no private key of Ed25519 in PEM form; `rrul key new FILE` makes one")]
pub struct SigningKeyError;

/// A private key. Never shown.
#[derive(Clone)]
pub struct SigningKey(Arc<Ed25519KeyPair>);

impl SigningKey {
    /// Reads PKCS #8 (RFC 8410), with the public key or without.
    ///
    /// # Errors
    /// When it is of another kind.
    pub fn from_pkcs8(octets: &[u8]) -> Result<Self, SigningKeyError> {
        let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(octets).map_err(|_| SigningKeyError)?;
        Ok(Self(Arc::new(pair)))
    }

    pub fn public(&self) -> PublicKey {
        let mut octets = [0; 32];
        octets.copy_from_slice(self.0.public_key().as_ref());
        PublicKey(octets)
    }

    pub(super) fn sign(&self, message: &[u8]) -> Signature {
        let mut octets = [0; SIGNATURE_OCTETS];
        octets.copy_from_slice(self.0.sign(message).as_ref());
        Signature(octets)
    }

    /// A key for tests: the same for the same number.
    #[cfg(test)]
    pub(crate) fn numbered(number: u8) -> Self {
        Self(Arc::new(Ed25519KeyPair::from_seed_unchecked(&[number; 32]).unwrap()))
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigningKey(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_signatures_are_those_of_the_rfc() {
        // RFC 8032, section 7.1, test 1: an empty message.
        let hex = |digits: &str| -> Vec<u8> {
            digits
                .as_bytes()
                .chunks(2)
                .map(|two| u8::from_str_radix(str::from_utf8(two).unwrap(), 16).unwrap())
                .collect()
        };
        let seed = hex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60");
        // RFC 8410, section 7: PKCS #8 without the public key, as openssl writes it.
        let key = [&hex("302e020100300506032b657004220420"), &seed[..]].concat();
        let key = SigningKey::from_pkcs8(&key).unwrap();
        assert_eq!(key.public().0[..], hex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"));
        let signature = key.sign(b"");
        let (r, s) = signature.0.split_at(32);
        assert_eq!(r, hex("e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155"));
        assert_eq!(s, hex("5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"));
        assert!(key.public().has_signed(b"", &signature) && !key.public().has_signed(b"x", &signature));
        assert!(SigningKey::from_pkcs8(b"").is_err());
    }

    #[test]
    fn a_public_key_has_one_form() {
        let key = SigningKey::numbered(1).public();
        let text = key.to_string();
        assert_eq!(text.parse(), Ok(key));
        assert_eq!(serde_json::from_str::<PublicKey>(&serde_json::to_string(&key).unwrap()).unwrap(), key);
        // The last digit before the padding has two bits that mean nothing and must be zero.
        let other = text.replace("w=", "x=");
        assert_ne!(other, text);
        for bad in ["", "ed25519:", &text[8..], text.trim_end_matches('='), &format!("{text}="), &other, &text[..50]] {
            assert_eq!(bad.parse::<PublicKey>(), Err(PublicKeyError), "{bad}");
        }
    }

    #[test]
    fn a_private_key_is_not_shown() {
        assert_eq!(format!("{:?}", SigningKey::numbered(1)), "SigningKey(..)");
    }
}
