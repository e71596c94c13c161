//! TLS 1.3 of this program, for control connections and pages: what both use of it, and no more.
//!
//! Both ends are this program, except that a browser may load pages. So a server has a key of one of two kinds, and no other kinds
//! are known: each would make the program for routers larger.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::ring::{default_provider, kx_group, sign};
use rustls::crypto::{
    CryptoProvider, KeyProvider, WebPkiSupportedAlgorithms, verify_tls13_signature, verify_tls13_signature_with_raw_key,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, SubjectPublicKeyInfoDer, UnixTime};
use rustls::sign::SigningKey;
use rustls::{DigitallySignedStruct, Error, SignatureScheme};
use webpki::ring::{ECDSA_P256_SHA256, ED25519};

/// Signatures of servers: Ed25519 of control connections, ECDSA of pages, as browsers want it.
const SIGNATURES: WebPkiSupportedAlgorithms = WebPkiSupportedAlgorithms {
    all: &[ECDSA_P256_SHA256, ED25519],
    mapping: &[(SignatureScheme::ED25519, &[ED25519]), (SignatureScheme::ECDSA_NISTP256_SHA256, &[ECDSA_P256_SHA256])],
};

/// The algorithms.
pub(crate) fn provider() -> Arc<CryptoProvider> {
    Arc::new(CryptoProvider {
        kx_groups: vec![kx_group::X25519, kx_group::SECP256R1],
        signature_verification_algorithms: SIGNATURES,
        key_provider: &Keys,
        ..default_provider()
    })
}

/// Reads private keys.
#[derive(Debug)]
struct Keys;

impl KeyProvider for Keys {
    fn load_private_key(&self, key: PrivateKeyDer<'static>) -> Result<Arc<dyn SigningKey>, Error> {
        signing_key(&key)
    }
}

/// What signs with this key.
///
/// # Errors
/// When it is of another kind.
pub(crate) fn signing_key(key: &PrivateKeyDer<'_>) -> Result<Arc<dyn SigningKey>, Error> {
    if let PrivateKeyDer::Pkcs8(key) = key
        && let Ok(key) = sign::any_eddsa_type(key)
    {
        return Ok(key);
    }
    sign::any_ecdsa_type(key)
}

/// What a server shows that is not held against any list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shown {
    Certificate,
    /// A public key alone (RFC 7250).
    Key,
}

/// Takes whatever is shown, if its owner signs with its key. Whose it has to be is for the caller to say.
#[derive(Debug)]
pub(crate) struct AnyOwner(pub(crate) Shown);

impl ServerCertVerifier for AnyOwner {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(Error::General("TLS 1.2 is not spoken here".to_owned()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        match self.0 {
            Shown::Certificate => verify_tls13_signature(message, shown, signature, &SIGNATURES),
            Shown::Key => {
                let key = SubjectPublicKeyInfoDer::from(shown.as_ref());
                verify_tls13_signature_with_raw_key(message, &key, signature, &SIGNATURES)
            }
        }
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        SIGNATURES.supported_schemes()
    }

    fn requires_raw_public_keys(&self) -> bool {
        self.0 == Shown::Key
    }
}
