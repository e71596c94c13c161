//! The certificate of the server's pages: X.509 version 3 (RFC 5280) for one key of ECDSA with P-256, signed by itself.
//!
//! It differs from server to server in the key alone, so it is written here in DER (X.690): a library for certificates brings
//! every kind of key with it, which is a hundredth of the program for routers.

use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair};
use rrul_proto::session_name::ZONE;

/// No certificate was made, because the host has no randomness.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this host has no randomness")]
pub struct CertificateError;

impl From<ring::error::Unspecified> for CertificateError {
    fn from(_: ring::error::Unspecified) -> Self {
        Self
    }
}

impl From<ring::error::KeyRejected> for CertificateError {
    fn from(_: ring::error::KeyRejected) -> Self {
        Self
    }
}

/// A certificate and its private key, both in DER.
pub(super) struct OwnCertificate {
    pub(super) certificate: Vec<u8>,
    /// PKCS#8 (RFC 5958).
    pub(super) key: Vec<u8>,
}

/// Tags of DER.
const INTEGER: u8 = 0x02;
const BITS: u8 = 0x03;
const OCTETS: u8 = 0x04;
const UTF8: u8 = 0x0c;
const TIME: u8 = 0x18;
const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const VERSION: u8 = 0xa0;
const EXTENSIONS: u8 = 0xa3;
const DNS_NAME: u8 = 0x82;

/// Object identifiers, with their tag: ecdsa-with-SHA256, commonName, id-ecPublicKey, prime256v1, subjectAltName.
const SIGNATURE: &[u8] = &[0x06, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02];
const COMMON_NAME: &[u8] = &[0x06, 3, 0x55, 0x04, 0x03];
const PUBLIC_KEY: &[u8] = &[0x06, 7, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];
const CURVE: &[u8] = &[0x06, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07];
const NAMES: &[u8] = &[0x06, 3, 0x55, 0x1d, 0x11];

/// A value of DER: its tag, its length and its parts.
fn value(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let content = parts.concat();
    let length = content.len();
    let mut whole = match length {
        0..0x80 => vec![tag, length as u8],
        0x80..0x100 => vec![tag, 0x81, length as u8],
        _ => vec![tag, 0x82, (length >> 8) as u8, length as u8],
    };
    whole.extend(content);
    whole
}

impl OwnCertificate {
    /// Makes a key and its certificate, for all names of pages, valid always.
    ///
    /// # Errors
    /// When the host has no randomness.
    pub(super) fn generate() -> Result<Self, CertificateError> {
        let random = SystemRandom::new();
        let key = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &random)?;
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, key.as_ref(), &random)?;
        let public = pair.public_key().as_ref();

        let algorithm = value(SEQUENCE, &[SIGNATURE]);
        let name = value(SEQUENCE, &[COMMON_NAME, &value(UTF8, &[ZONE.as_bytes()])]);
        let name = value(SEQUENCE, &[&value(SET, &[&name])]);
        let always = value(SEQUENCE, &[&value(TIME, &[b"20000101000000Z"]), &value(TIME, &[b"40960101000000Z"])]);
        let public_key = value(SEQUENCE, &[&value(SEQUENCE, &[PUBLIC_KEY, CURVE]), &value(BITS, &[&[0], public])]);
        let names = [value(DNS_NAME, &[ZONE.as_bytes()]), value(DNS_NAME, &[b"*.", ZONE.as_bytes()])];
        let names = value(OCTETS, &[&value(SEQUENCE, &[&names[0], &names[1]])]);
        let extension = value(SEQUENCE, &[NAMES, &names]);
        // Positive, and another one for each key: the point's first bytes.
        let serial = value(INTEGER, &[&[1], &public[1..9]]);
        let signed = value(
            SEQUENCE,
            &[
                &value(VERSION, &[&value(INTEGER, &[&[2]])]),
                &serial,
                &algorithm,
                &name,
                &always,
                &name,
                &public_key,
                &value(EXTENSIONS, &[&value(SEQUENCE, &[&extension])]),
            ],
        );
        let signature = pair.sign(&random, &signed)?;
        let certificate = value(SEQUENCE, &[&signed, &algorithm, &value(BITS, &[&[0], signature.as_ref()])]);
        Ok(Self { certificate, key: key.as_ref().to_vec() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustls::pki_types::{CertificateDer, ServerName};
    use webpki::EndEntityCert;

    #[test]
    fn it_is_read_as_a_certificate_of_the_pages_names_and_of_no_others() {
        let own = OwnCertificate::generate().unwrap();
        let der = CertificateDer::from(own.certificate);
        let read = EndEntityCert::try_from(&der).unwrap();
        let is_for =
            |name: &str| read.verify_is_valid_for_subject_name(&ServerName::try_from(name.to_owned()).unwrap()).is_ok();
        assert!(is_for(ZONE) && is_for(&format!("a.{ZONE}")));
        assert!(!is_for("example.net") && !is_for(&format!("b.a.{ZONE}")));
    }

    #[test]
    fn it_is_signed_by_its_own_key() {
        let own = OwnCertificate::generate().unwrap();
        let der = CertificateDer::from(own.certificate.clone());
        let read = EndEntityCert::try_from(&der).unwrap();
        // Head and content of a value, and what follows it.
        let split = |octets: &[u8]| {
            let (head, length) = match octets[1] {
                0x81 => (3, usize::from(octets[2])),
                0x82 => (4, usize::from(octets[2]) << 8 | usize::from(octets[3])),
                short => (2, usize::from(short)),
            };
            let (one, rest) = octets.split_at(head + length);
            (one.to_vec(), one[head..].to_vec(), rest.to_vec())
        };
        let (_, content, _) = split(&own.certificate);
        let (signed, _, rest) = split(&content);
        let (_, _, rest) = split(&rest);
        let (_, signature, _) = split(&rest);
        // The first byte of a string of bits counts those that are unused.
        let (signed, signature) = (&signed[..], &signature[1..]);
        assert!(read.verify_signature(webpki::ring::ECDSA_P256_SHA256, signed, signature).is_ok());
        let mut changed = signed.to_vec();
        *changed.last_mut().unwrap() ^= 1;
        assert!(read.verify_signature(webpki::ring::ECDSA_P256_SHA256, &changed, signature).is_err());
    }

    #[test]
    fn lengths_are_those_of_der() {
        for (content, head) in
            [(5, vec![4, 5]), (0x7f, vec![4, 0x7f]), (0x80, vec![4, 0x81, 0x80]), (300, vec![4, 0x82, 1, 44])]
        {
            assert_eq!(value(OCTETS, &[&vec![0; content]])[..head.len()], head);
        }
    }
}
