//! Whether the control connection is to be encrypted, and by which key or certificate the server is recognized.

use std::fmt;
use std::sync::Arc;

use crate::control_link::Fingerprint;
#[cfg(feature = "certificates")]
use crate::control_link::{Authorities, CertificateProblem};

/// Whether the control connection is encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Encryption {
    /// When the server has a key.
    #[default]
    Offered,
    Required,
    Never,
}

/// The key that a server has to have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpectedKey {
    pub fingerprint: Fingerprint,
    /// What to do about another one, for the user.
    pub remedy: String,
}

/// By what a server was recognized.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Met {
    Key(Fingerprint),
    /// A valid one, for the name of the server.
    Certificate,
}

/// Takes by what a server is to be recognized that is met for the first time.
pub type FirstMeeting = Arc<dyn Fn(&Met) + Send + Sync>;

/// What the user knows of a server.
#[derive(Clone, Default)]
pub struct ServerTrust {
    pub encryption: Encryption,
    /// Absent for a server that is met for the first time: any key is taken then.
    pub expected: Option<ExpectedKey>,
    /// Where the server has to show a certificate: what to do for a test without one, for the user.
    pub certificate: Option<String>,
    /// Whose certificates are taken, where no key is expected.
    #[cfg(feature = "certificates")]
    pub authorities: Authorities,
    pub first_met: Option<FirstMeeting>,
}

impl fmt::Debug for ServerTrust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerTrust")
            .field("encryption", &self.encryption)
            .field("expected", &self.expected)
            .field("certificate", &self.certificate)
            .finish_non_exhaustive()
    }
}

/// Why a server is not trusted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TrustError {
    #[error(
        "the key of this server is {met} and was {expected}: somebody may be in between. If its operator has changed it, {remedy}"
    )]
    OtherKey { met: Fingerprint, expected: Fingerprint, remedy: String },
    #[error(
        "this server does not encrypt, and its key was {0}: somebody may be in between. If its operator has given that up, use \
         --encrypt never"
    )]
    NoKey(Fingerprint),
    #[error(
        "this server shows no certificate, which is expected of it: somebody may be in between. If its operator has given that up, {0}"
    )]
    NoCertificate(String),
    #[cfg(feature = "certificates")]
    #[error(transparent)]
    Certificate(#[from] CertificateProblem),
    #[error("this server does not encrypt; its operator may, with --key")]
    Plain,
    #[error("this server tests over encrypted connections alone; run without --encrypt never")]
    EncryptedOnly,
    #[error("the connection cannot be encrypted: {0}")]
    Handshake(String),
}

impl ServerTrust {
    /// Whether a certificate of the server would be verified: a key that is known says as much.
    pub(super) fn verifies_certificates(&self) -> bool {
        cfg!(feature = "certificates") && self.encryption != Encryption::Never && self.expected.is_none()
    }

    /// Whether a server with this key, or with a certificate, is the one that is expected; one that is met for the first time is from
    /// now on.
    ///
    /// # Errors
    /// When another one is expected.
    pub(super) fn meet(&self, met: &Met) -> Result<(), TrustError> {
        match (met, &self.expected, &self.certificate) {
            (Met::Key(met), Some(ExpectedKey { fingerprint, remedy }), _) if fingerprint != met => {
                Err(TrustError::OtherKey { met: met.clone(), expected: fingerprint.clone(), remedy: remedy.clone() })
            }
            (Met::Key(_), None, Some(remedy)) => Err(TrustError::NoCertificate(remedy.clone())),
            (Met::Key(_), Some(_), _) | (Met::Certificate, _, Some(_)) => Ok(()),
            (_, None, None) | (Met::Certificate, Some(_), None) => {
                self.first_met.iter().for_each(|first_met| first_met(met));
                Ok(())
            }
        }
    }

    /// Whether a server that does not encrypt may be tested.
    ///
    /// # Errors
    /// When encryption is required, or the server has had a key or a certificate.
    pub(super) fn meet_plain(&self) -> Result<(), TrustError> {
        match (self.encryption, &self.expected, &self.certificate) {
            (Encryption::Never, ..) | (Encryption::Offered, None, None) => Ok(()),
            (_, Some(expected), _) => Err(TrustError::NoKey(expected.fingerprint.clone())),
            (_, None, Some(remedy)) => Err(TrustError::NoCertificate(remedy.clone())),
            (Encryption::Required, None, None) => Err(TrustError::Plain),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control_link::ServerKey;
    use std::sync::Mutex;

    fn fingerprint() -> Fingerprint {
        ServerKey::from_pem(&ServerKey::generate().unwrap()).unwrap().fingerprint().clone()
    }

    #[test]
    fn a_key_is_taken_the_first_time_and_no_other_after_that() {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let taken = Arc::clone(&seen);
        let (one, other) = (fingerprint(), fingerprint());
        let first_met: FirstMeeting = Arc::new(move |met| taken.lock().unwrap().push(met.clone()));
        let first = ServerTrust { first_met: Some(first_met), ..ServerTrust::default() };
        let key = |key: &Fingerprint| Met::Key(key.clone());
        assert_eq!(first.meet(&key(&one)), Ok(()));
        let expected = Some(ExpectedKey { fingerprint: one.clone(), remedy: "remove line 3".to_owned() });
        let second = ServerTrust { expected, ..first };
        assert_eq!(second.meet(&key(&one)), Ok(()));
        let error = second.meet(&key(&other)).unwrap_err().to_string();
        assert!(
            error.contains(&one.to_string()) && error.ends_with("remove line 3") && !error.contains('\n'),
            "{error}"
        );
        assert_eq!(*seen.lock().unwrap(), [Met::Key(one)]);
    }

    #[test]
    fn a_server_that_had_a_certificate_is_not_tested_without_one() {
        let known = ServerTrust { certificate: Some("remove line 3".to_owned()), ..ServerTrust::default() };
        assert_eq!(known.meet(&Met::Certificate), Ok(()));
        for refused in [known.meet(&Met::Key(fingerprint())), known.meet_plain()] {
            assert_eq!(refused, Err(TrustError::NoCertificate("remove line 3".to_owned())));
        }
        assert!(known.verifies_certificates() && ServerTrust::default().verifies_certificates());
        let expected = Some(ExpectedKey { fingerprint: fingerprint(), remedy: String::new() });
        assert!(!ServerTrust { expected, ..known }.verifies_certificates(), "a key that is known says as much");
    }

    #[test]
    fn a_server_that_had_a_key_is_not_tested_without_one() {
        let known = Some(ExpectedKey { fingerprint: fingerprint(), remedy: String::new() });
        let trust = |encryption, expected| ServerTrust { encryption, expected, ..ServerTrust::default() };
        assert_eq!(trust(Encryption::Offered, None).meet_plain(), Ok(()));
        assert_eq!(trust(Encryption::Never, known.clone()).meet_plain(), Ok(()));
        assert_eq!(trust(Encryption::Required, None).meet_plain(), Err(TrustError::Plain));
        assert!(matches!(trust(Encryption::Offered, known).meet_plain(), Err(TrustError::NoKey(_))));
    }
}
