//! TLS 1.3 of the control connection: the server shows a raw public key (RFC 7250) that its operator made, and the client
//! compares its fingerprint. No names, no authorities, no expiry; where those are wanted it shows a certificate instead.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use ring::digest;
use ring::rand::SystemRandom;
use ring::signature::Ed25519KeyPair;
#[cfg(feature = "tickets")]
use rrul_proto::admission::access::{SigningKey, SigningKeyError};
use rustls::client::Resumption;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::AlwaysResolvesServerRawPublicKeys;
use rustls::sign::CertifiedKey;
use rustls::{ClientConfig, ServerConfig, SignatureScheme};

use crate::tls::{AnyOwner, Shown, provider, signing_key};

/// The protocol within TLS, so that nothing else that speaks TLS at this port is taken for it.
pub(super) const PROTOCOL: &[u8] = b"rrul/1";

/// Signatures that every client knows.
const KNOWN: [SignatureScheme; 2] = [SignatureScheme::ED25519, SignatureScheme::ECDSA_NISTP256_SHA256];

/// Characters of a line of base64 in a PEM file (RFC 7468).
const PEM_LINE: usize = 64;

/// Why a key is not used.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    #[error("no private key in PEM form; `rrul key new FILE` makes one")]
    Form,
    #[error("no key for signatures that this program knows: {0}")]
    Kind(rustls::Error),
    #[error("clients recognize keys of Ed25519 and ECDSA with P-256 alone; `rrul key new FILE` makes one, for --key")]
    Unusual,
    #[cfg(feature = "certificates")]
    #[error("no certificate in PEM form")]
    NoCertificate,
    #[cfg(feature = "certificates")]
    #[error("no private key in PEM form")]
    NoPrivateKey,
    #[cfg(feature = "certificates")]
    #[error("this is not the key of the certificate")]
    OtherKey,
    #[error("this host has no randomness")]
    Randomness,
}

/// SHA-256 of a public key, as ssh writes it.
#[derive(Clone, PartialEq, Eq)]
pub struct Fingerprint(String);

impl Fingerprint {
    const PREFIX: &'static str = "SHA256:";
    /// Digits of base64 for 32 bytes, without padding.
    const DIGITS: usize = 43;

    fn from_public_key(public: &[u8]) -> Self {
        let text = base64(digest::digest(&digest::SHA256, public).as_ref());
        Self(format!("{}{}", Self::PREFIX, text.trim_end_matches('=')))
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why a text is no fingerprint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a fingerprint is SHA256: and 43 characters, as `rrul key show FILE` prints it at the server")]
pub struct FingerprintError;

impl FromStr for Fingerprint {
    type Err = FingerprintError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits = text.strip_prefix(Self::PREFIX).ok_or(FingerprintError)?;
        let is_digit = |c: u8| c.is_ascii_alphanumeric() || c == b'+' || c == b'/';
        let is_one = digits.len() == Self::DIGITS && digits.bytes().all(is_digit);
        is_one.then(|| Self(text.to_owned())).ok_or(FingerprintError)
    }
}

/// The key by which clients recognize a server, and its certificate where it has one.
#[derive(Clone)]
pub struct ServerKey {
    config: Arc<ServerConfig>,
    fingerprint: Fingerprint,
    #[cfg(feature = "certificates")]
    certified: Option<Certified>,
}

/// A certificate that a server shows.
#[cfg(feature = "certificates")]
#[derive(Clone)]
struct Certified {
    config: Arc<ServerConfig>,
    /// Until when it and those above it are valid, seconds since 1970.
    expiry: Option<u64>,
}

impl ServerKey {
    /// Makes a new key, as the text of a file.
    ///
    /// # Errors
    /// When the host has no randomness.
    pub fn generate() -> Result<String, KeyError> {
        let key = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).map_err(|_| KeyError::Randomness)?;
        let digits = base64(key.as_ref());
        let mut text = "-----BEGIN PRIVATE KEY-----\n".to_owned();
        for line in digits.as_bytes().chunks(PEM_LINE) {
            text.extend(line.iter().copied().map(char::from));
            text.push('\n');
        }
        Ok(text + "-----END PRIVATE KEY-----\n")
    }

    /// Reads a key from the text of a file, as this program or openssl made it.
    ///
    /// # Errors
    /// When it has none, or one of a kind that is not known.
    pub fn from_pem(text: &str) -> Result<Self, KeyError> {
        let key = PrivateKeyDer::from_pem_slice(text.as_bytes()).map_err(|_| KeyError::Form)?;
        let key = signing_key(&key).map_err(KeyError::Kind)?;
        key.choose_scheme(&KNOWN).ok_or(KeyError::Unusual)?;
        let public = key.public_key().ok_or(KeyError::Form)?.to_vec();
        let fingerprint = Fingerprint::from_public_key(&public);
        let key = CertifiedKey::new(vec![CertificateDer::from(public)], key);
        let config = ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(KeyError::Kind)?;
        let resolver = Arc::new(AlwaysResolvesServerRawPublicKeys::new(Arc::new(key)));
        let mut config = config.with_no_client_auth().with_cert_resolver(resolver);
        config.alpn_protocols = vec![PROTOCOL.to_vec()];
        // A session is opened once.
        config.send_tls13_tickets = 0;
        Ok(Self {
            config: Arc::new(config),
            fingerprint,
            #[cfg(feature = "certificates")]
            certified: None,
        })
    }

    /// Returns a server that has a certificate as well; `chain` begins with its own. Clients that verify none recognize the server by
    /// `own`, or else by the key of the certificate.
    ///
    /// # Errors
    /// When the texts have none, or clients would not know the key.
    #[cfg(feature = "certificates")]
    pub fn certified(chain: &str, key: &str, own: Option<Self>) -> Result<Self, KeyError> {
        let (config, expiry) = super::authorities::server(chain, key)?;
        let own = own.map_or_else(|| Self::from_pem(key), Ok)?;
        Ok(Self { certified: Some(Certified { config: Arc::new(config), expiry }), ..own })
    }

    /// Until when its certificate and those above it are valid, seconds since 1970. Absent without a certificate.
    #[cfg(feature = "certificates")]
    pub fn certificate_expiry(&self) -> Option<u64> {
        self.certified.as_ref()?.expiry
    }

    pub fn fingerprint(&self) -> &Fingerprint {
        &self.fingerprint
    }

    /// Whether it has a certificate of an authority.
    pub fn is_certified(&self) -> bool {
        #[cfg(feature = "certificates")]
        return self.certified.is_some();
        #[cfg(not(feature = "certificates"))]
        false
    }

    /// What it shows to a client: the certificate, where it has one and the client is to see it, or the key.
    pub(super) fn config(&self, shown: Shown) -> &Arc<ServerConfig> {
        match shown {
            #[cfg(feature = "certificates")]
            Shown::Certificate => self.certified.as_ref().map_or(&self.config, |certified| &certified.config),
            _ => &self.config,
        }
    }
}

/// Reads the key of a client or of an issuer of tickets from the text of a file, as this program or openssl made it.
///
/// # Errors
/// When it has none, or one of a kind other than Ed25519.
#[cfg(feature = "tickets")]
pub fn client_key(text: &str) -> Result<SigningKey, SigningKeyError> {
    match PrivateKeyDer::from_pem_slice(text.as_bytes()) {
        Ok(PrivateKeyDer::Pkcs8(key)) => SigningKey::from_pkcs8(key.secret_pkcs8_der()),
        _ => Err(SigningKeyError),
    }
}

/// What a client needs to meet any server; which one it is shows in [`met`] afterwards.
///
/// # Errors
/// When TLS 1.3 is not there.
pub(super) fn client() -> Result<ClientConfig, rustls::Error> {
    let config = ClientConfig::builder_with_provider(provider()).with_protocol_versions(&[&rustls::version::TLS13])?;
    let verifier = Arc::new(AnyOwner(Shown::Key));
    let mut config = config.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth();
    config.alpn_protocols = vec![PROTOCOL.to_vec()];
    config.resumption = Resumption::disabled();
    config.enable_sni = false;
    Ok(config)
}

/// The fingerprint of the key that the other end has shown and signed with.
pub(super) fn met(connection: &rustls::ClientConnection) -> Option<Fingerprint> {
    let key = connection.peer_certificates()?.first()?;
    Some(Fingerprint::from_public_key(key))
}

/// Base64 with padding (RFC 4648, section 4). What a library has for it, for every base and alphabet, makes the program for routers
/// 50 kB larger.
fn base64(octets: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(octets.len().div_ceil(3) * 4);
    for group in octets.chunks(3) {
        let at = |index: usize| group.get(index).copied().map_or(0, u32::from);
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for place in 0..4 {
            let digit = char::from(DIGITS[(bits >> (18 - 6 * place) & 63) as usize]);
            text.push(if place <= group.len() { digit } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_the_rfc() {
        // RFC 4648, section 10.
        for (octets, text) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")] {
            assert_eq!(base64(octets.as_bytes()), text);
        }
    }

    #[test]
    fn a_fingerprint_is_as_ssh_writes_it() {
        // printf abc | openssl dgst -sha256 -binary | base64
        let fingerprint = Fingerprint::from_public_key(b"abc");
        assert_eq!(fingerprint.to_string(), "SHA256:ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0");
    }

    #[test]
    fn a_new_key_reads_back_and_has_a_fingerprint_of_its_own() {
        let (one, other) = (ServerKey::generate().unwrap(), ServerKey::generate().unwrap());
        let fingerprint = |text: &str| ServerKey::from_pem(text).unwrap().fingerprint().clone();
        assert_eq!(fingerprint(&one), fingerprint(&one));
        assert_ne!(fingerprint(&one), fingerprint(&other));
        let text = fingerprint(&one).to_string();
        assert_eq!(text.parse(), Ok(fingerprint(&one)));
        for bad in ["", "SHA256:", &text[..49], &text.replace("SHA256", "MD5"), &format!("{text}=")] {
            assert_eq!(bad.parse::<Fingerprint>(), Err(FingerprintError), "{bad}");
        }
    }

    #[cfg(feature = "tickets")]
    #[test]
    fn a_new_key_is_one_for_clients_too() {
        let text = ServerKey::generate().unwrap();
        let key = client_key(&format!("# of the laptop\n{text}\nticket:AAAA\n")).unwrap();
        assert_eq!(client_key(&text).unwrap().public(), key.public());
        assert!(client_key("ssh-ed25519 AAAA").is_err());
    }

    #[test]
    fn what_is_no_key_is_refused() {
        assert!(matches!(ServerKey::from_pem("ssh-ed25519 AAAA"), Err(KeyError::Form)));
        let broken = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
        assert!(matches!(ServerKey::from_pem(broken), Err(KeyError::Kind(_))));
    }
}
