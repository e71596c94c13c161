//! TLS as pages use it: version 1.3, a certificate that the server makes as it starts, and nothing remembered from one
//! load to the next.
//!
//! Its handshakes and bytes are part of what a page costs; it keeps no secret here. The certificate is therefore not
//! held against anybody's list, but the handshake's signature is checked, as that takes time too.

use std::sync::Arc;

use rcgen::{CertificateParams, KeyPair};
use rrul_proto::session_name::ZONE;
use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, ServerConfig, SignatureScheme};

/// Why TLS is not used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error(transparent)]
    Certificate(#[from] rcgen::Error),
    #[error("{0}")]
    Key(&'static str),
    #[error(transparent)]
    Settings(#[from] rustls::Error),
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// What a server needs: a new key and a certificate of its own making.
///
/// # Errors
/// When the host has no randomness, or the like.
pub fn server(protocols: &[&[u8]]) -> Result<ServerConfig, TlsError> {
    let key = KeyPair::generate()?;
    let names = vec![ZONE.to_owned(), format!("*.{ZONE}")];
    let certificate = CertificateParams::new(names).and_then(|params| params.self_signed(&key));
    let certificate = certificate?.der().clone();
    let key = PrivateKeyDer::try_from(key.serialize_der()).map_err(TlsError::Key)?;
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
    let provider = provider();
    let config = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&[&rustls::version::TLS13])?;
    let mut config =
        config.dangerous().with_custom_certificate_verifier(Arc::new(Anybody(provider))).with_no_client_auth();
    config.alpn_protocols = vec![protocol.to_vec()];
    config.resumption = Resumption::disabled();
    Ok(config)
}

/// Takes any certificate whose owner has its key.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Err(rustls::Error::General("TLS 1.2 is not spoken here".to_owned()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
