//! TLS as pages use it: version 1.3, a certificate that the server makes as it starts, and nothing remembered from one
//! load to the next.
//!
//! Its handshakes and bytes are part of what a page costs; it keeps no secret here. The certificate is therefore not
//! held against anybody's list, but the handshake's signature is checked, as that takes time too.

use std::sync::Arc;

use rustls::client::Resumption;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use rustls::{ClientConfig, ServerConfig};

use super::certificate::{CertificateError, OwnCertificate};
use crate::tls::{AnyOwner, Shown, provider};

/// Why TLS is not used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    #[error(transparent)]
    Settings(#[from] rustls::Error),
}

/// What a server needs: a new key and a certificate of its own making.
///
/// # Errors
/// When the host has no randomness, or the like.
pub fn server(protocols: &[&[u8]]) -> Result<ServerConfig, TlsError> {
    let OwnCertificate { certificate, key } = OwnCertificate::generate()?;
    let (certificate, key) = (CertificateDer::from(certificate), PrivatePkcs8KeyDer::from(key).into());
    let config = ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(vec![certificate], key));
    let mut config = config?;
    config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
    Ok(config)
}

/// What a client needs for one load of a page; it has never met the server before.
///
/// # Errors
/// When TLS 1.3 is not there.
pub fn client(protocol: &[u8]) -> Result<ClientConfig, TlsError> {
    let config = ClientConfig::builder_with_provider(provider()).with_protocol_versions(&[&rustls::version::TLS13])?;
    let verifier = Arc::new(AnyOwner(Shown::Certificate));
    let mut config = config.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth();
    config.alpn_protocols = vec![protocol.to_vec()];
    config.resumption = Resumption::disabled();
    Ok(config)
}
