//! Servers that authorities vouch for: the server shows a certificate (RFC 5280) in the place of its raw key, and the client verifies
//! its name, its time and its chain.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rrul_model::printable;
use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::crypto::CryptoProvider;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, Error, RootCertStore, ServerConfig};

use super::tls::{KeyError, PROTOCOL};

/// Names of a certificate that an error repeats.
const NAMES: usize = 3;

/// Whose certificates a client takes.
#[derive(Clone, Default)]
pub enum Authorities {
    /// Those that this host trusts.
    #[default]
    OfHost,
    /// These alone.
    These(Arc<RootCertStore>),
}

/// A file without any authority.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no certificate of an authority in PEM form")]
pub struct NoAuthority;

/// Why a certificate of a server is not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CertificateProblem {
    #[error("the certificate of this server expired {0} ago; its operator has to renew it")]
    Expired(String),
    #[error("the certificate of this server is not valid before {0} from now; check the clock of this host")]
    NotYetValid(String),
    #[error(
        "the certificate of this server is of an authority that this host does not know; name the authority's file with --ca, or the \
         server's key with --server-key"
    )]
    UnknownAuthority,
    #[error("the certificate of this server is for {presented}, not for {expected}; use its name, or --server-key")]
    OtherName { presented: String, expected: String },
    #[error(
        "the certificate of this server is not signed as it says: by another authority of the same name, or somebody is in between; \
         name the authority's file with --ca"
    )]
    Signature,
    #[error("this host has no list of authorities; install its package of CA certificates, or name a file with --ca")]
    NoAuthorities,
    #[error("\"{0}\" is no name that a certificate can have; name the server's key with --server-key")]
    Name(String),
    #[error("the certificate of this server is not valid: {0}")]
    Invalid(String),
}

impl Authorities {
    /// Those of a file of certificates in PEM form.
    ///
    /// # Errors
    /// When it has none.
    pub fn from_pem(text: &str) -> Result<Self, NoAuthority> {
        let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text.as_bytes()).collect();
        let store = store(read.map_err(|_| NoAuthority)?).ok_or(NoAuthority)?;
        Ok(Self::These(store))
    }

    fn store(&self) -> Option<Arc<RootCertStore>> {
        match self {
            Self::OfHost => store(rustls_native_certs::load_native_certs().certs),
            Self::These(store) => Some(Arc::clone(store)),
        }
    }
}

/// What trusts these certificates, as far as they can be read.
fn store(certificates: Vec<CertificateDer<'static>>) -> Option<Arc<RootCertStore>> {
    let mut store = RootCertStore::empty();
    store.add_parsable_certificates(certificates);
    (!store.is_empty()).then(|| Arc::new(store))
}

/// Every algorithm of certificates in use: the server's own key is of fewer kinds, and authorities are not.
fn provider() -> Arc<CryptoProvider> {
    Arc::new(default_provider())
}

/// What a client needs to meet a server that has a certificate of these authorities.
pub(super) fn client(authorities: &Authorities) -> Result<ClientConfig, CertificateProblem> {
    let invalid = |error: Error| CertificateProblem::Invalid(error.to_string());
    let roots = authorities.store().ok_or(CertificateProblem::NoAuthorities)?;
    let verifier = WebPkiServerVerifier::builder_with_provider(roots, provider()).build();
    let verifier = verifier.map_err(|error| CertificateProblem::Invalid(error.to_string()))?;
    let config = ClientConfig::builder_with_provider(provider());
    let config = config.with_protocol_versions(&[&rustls::version::TLS13]).map_err(invalid)?;
    let mut config = config.with_webpki_verifier(verifier).with_no_client_auth();
    config.alpn_protocols = vec![PROTOCOL.to_vec()];
    config.resumption = Resumption::disabled();
    // The server has one certificate.
    config.enable_sni = false;
    Ok(config)
}

/// The name of a server as certificates have it: a name of the DNS, or an address.
pub(super) fn name(server: &str) -> Result<ServerName<'static>, CertificateProblem> {
    ServerName::try_from(server.to_owned()).map_err(|_| CertificateProblem::Name(server.to_owned()))
}

/// What is wrong with a certificate, where that is why a handshake failed.
pub(super) fn problem(failure: &io::Error) -> Option<CertificateProblem> {
    let error = failure.get_ref()?.downcast_ref::<Error>()?;
    let Error::InvalidCertificate(error) = error else { return None };
    Some(match error {
        CertificateError::ExpiredContext { time, not_after } => {
            CertificateProblem::Expired(span(time.as_secs().saturating_sub(not_after.as_secs())))
        }
        CertificateError::NotValidYetContext { time, not_before } => {
            CertificateProblem::NotYetValid(span(not_before.as_secs().saturating_sub(time.as_secs())))
        }
        CertificateError::UnknownIssuer => CertificateProblem::UnknownAuthority,
        CertificateError::BadSignature => CertificateProblem::Signature,
        CertificateError::NotValidForNameContext { expected, presented } => {
            CertificateProblem::OtherName { presented: names(presented), expected: expected.to_str().into_owned() }
        }
        other => CertificateProblem::Invalid(printable::field(&other.to_string()).into_owned()),
    })
}

/// The names of a certificate, of which each is `DnsName("NAME")` or `IpAddress(ADDRESS)`.
fn names(presented: &[String]) -> String {
    let plain = |name: &String| {
        let inner = name.split_once('(').map_or(name.as_str(), |(_, rest)| rest.trim_end_matches(')'));
        inner.trim_matches('"').to_owned()
    };
    let mut shown: Vec<String> = presented.iter().take(NAMES).map(plain).collect();
    if shown.is_empty() {
        shown.push("no name".to_owned());
    }
    if presented.len() > NAMES {
        shown.push(format!("{} more", presented.len() - NAMES));
    }
    printable::field(&shown.join(", ")).into_owned()
}

/// A time for people.
fn span(seconds: u64) -> String {
    let (count, unit) = match seconds {
        0..120 => (seconds, "s"),
        120..7200 => (seconds / 60, "minutes"),
        7200..172_800 => (seconds / 3600, "hours"),
        _ => (seconds / 86_400, "days"),
    };
    format!("{count} {unit}")
}

/// The last second in which every certificate of a chain is valid, counted from 1970.
fn expiry(chain: &[CertificateDer<'_>]) -> Option<u64> {
    chain.iter().filter_map(not_after).min()
}

/// The end of a certificate's validity, as it is named when the certificate is held against a day long after it.
fn not_after(certificate: &CertificateDer<'_>) -> Option<u64> {
    let certificate = webpki::EndEntityCert::try_from(certificate).ok()?;
    let late = UnixTime::since_unix_epoch(Duration::from_secs(u64::from(u32::MAX) << 16));
    let algorithms = provider().signature_verification_algorithms.all;
    match certificate.verify_for_usage(algorithms, &[], &[], late, webpki::KeyUsage::server_auth(), None, None) {
        Err(webpki::Error::CertExpired { not_after, .. }) => Some(not_after.as_secs()),
        _ => None,
    }
}

/// What a server needs to show a certificate, and until when that is valid; `chain` begins with its own.
///
/// # Errors
/// When a file has no certificate or no key, or the key is of another certificate.
pub(super) fn server(chain: &str, key: &str) -> Result<(ServerConfig, Option<u64>), KeyError> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(chain.as_bytes()).collect();
    let chain = read.ok().filter(|chain| !chain.is_empty()).ok_or(KeyError::NoCertificate)?;
    let expiry = expiry(&chain);
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).map_err(|_| KeyError::NoPrivateKey)?;
    let config = ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(KeyError::Kind)?
        .with_no_client_auth()
        .with_single_cert(chain, key);
    let mut config = config.map_err(|error| match error {
        Error::InconsistentKeys(_) => KeyError::OtherKey,
        Error::InvalidCertificate(_) => KeyError::NoCertificate,
        error => KeyError::Kind(error),
    })?;
    config.alpn_protocols = vec![PROTOCOL.to_vec()];
    config.send_tls13_tickets = 0;
    Ok((config, expiry))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_a_certificate_are_shown_without_the_librarys_words() {
        let presented = |names: &[&str]| super::names(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        assert_eq!(presented(&["DnsName(\"lab.example\")", "IpAddress(192.0.2.7)"]), "lab.example, 192.0.2.7");
        assert_eq!(presented(&[]), "no name");
        assert_eq!(presented(&["a", "b", "c", "d", "e"]), "a, b, c, 2 more");
        assert_eq!(presented(&["DnsName(\"a\u{1b}[2Jb\")"]), "a [2Jb");
    }

    #[test]
    fn a_time_is_in_the_unit_that_people_use() {
        assert_eq!([1, 119, 120, 7200, 172_800].map(span), ["1 s", "119 s", "2 minutes", "2 hours", "2 days"]);
    }

    #[test]
    fn a_file_without_authorities_is_refused() {
        assert!(Authorities::from_pem("").is_err());
        let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        assert!(Authorities::from_pem(broken).is_err());
        assert!(matches!(server(broken, ""), Err(KeyError::NoPrivateKey)));
        assert!(matches!(server("", ""), Err(KeyError::NoCertificate)));
    }
}
