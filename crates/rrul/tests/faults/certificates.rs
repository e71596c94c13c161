//! Servers that an authority vouches for: a certificate in the place of a remembered key.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use rcgen::{BasicConstraints, Certificate, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use rrul_proto::opening::{ClientOpening, Offers, Purpose, Status};
use rrul_proto::token::Token;

use crate::client;
use crate::program::{Ended, Folder, PROGRAM, Server, end_of, rrul, wait_until};

/// An authority of certificates.
struct Authority {
    certificate: Certificate,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    fn parameters(name: &str) -> (CertificateParams, KeyPair) {
        let mut parameters = CertificateParams::default();
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        parameters.distinguished_name.push(DnType::CommonName, name);
        (parameters, KeyPair::generate().unwrap())
    }

    fn new(name: &str) -> Self {
        let (parameters, key) = Self::parameters(name);
        Self { certificate: parameters.self_signed(&key).unwrap(), issuer: Issuer::new(parameters, key) }
    }

    /// One that this one has signed.
    fn below(&self, name: &str) -> Self {
        let (parameters, key) = Self::parameters(name);
        Self { certificate: parameters.signed_by(&key, &self.issuer).unwrap(), issuer: Issuer::new(parameters, key) }
    }

    /// A certificate for these names in a year, and its key, in PEM form.
    fn certificate(&self, names: &[&str], years: std::ops::Range<i32>) -> (String, String) {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut parameters = CertificateParams::new(names).unwrap();
        parameters.not_before = date_time_ymd(years.start, 1, 1);
        parameters.not_after = date_time_ymd(years.end, 1, 1);
        let key = KeyPair::generate().unwrap();
        (parameters.signed_by(&key, &self.issuer).unwrap().pem(), key.serialize_pem())
    }
}

/// From before this test was written until after anybody runs it.
const VALID: std::ops::Range<i32> = 2020..2096;
const PAST: std::ops::Range<i32> = 2020..2021;

/// Writes a file that only its owner may read.
fn write_secret(folder: &Folder, name: &str, text: &str) {
    folder.write(name, text);
    fs::set_permissions(folder.file(name), Permissions::from_mode(0o600)).unwrap();
}

/// Writes a certificate and its key as `server.pem` and `server.key`.
fn write_certificate(folder: &Folder, (certificate, key): &(String, String)) {
    folder.write("server.pem", certificate);
    write_secret(folder, "server.key", key);
}

/// A folder with the short plan, the authority as `ca.pem`, and a certificate of it.
fn folder(authority: &Authority, names: &[&str], years: std::ops::Range<i32>) -> Folder {
    let folder = Folder::with_plan();
    folder.write("ca.pem", authority.certificate.pem());
    write_certificate(&folder, &authority.certificate(names, years));
    folder
}

fn server(folder: &Folder) -> Server {
    let path = |name: &str| folder.file(name).to_str().unwrap().to_owned();
    Server::start(&["--certificate", &path("server.pem"), "--certificate-key", &path("server.key")])
}

/// A run that remembers servers in this folder alone, and knows no authorities but those of a file where one is named.
fn run(folder: &Folder, server: &str, name: &str, more: &[&str]) -> Command {
    let mut command = rrul(folder, &["run", server, "--plan", "short.toml", "--set", "load=1s", "-o", name]);
    let none = folder.file("none");
    command.args(more).env("XDG_DATA_HOME", folder.path()).env("SSL_CERT_FILE", &none).env("SSL_CERT_DIR", &none);
    command
}

fn assert_done(ended: &Ended) {
    assert!(matches!(ended.code, Some(0 | 1)), "{ended:#?}");
}

#[test]
fn a_certificate_for_the_name_of_the_server_is_taken() {
    let authority = Authority::new("the authority of a test");
    let folder = folder(&authority, &["localhost", "127.0.0.1"], VALID);
    let mut server = server(&folder);
    for (name, host) in [("address", server.name()), ("name", format!("localhost:{}", server.port()))] {
        assert_done(&end_of(run(&folder, &host, name, &["--ca", "ca.pem"])));
        let shown = end_of(rrul(&folder, &["show", "--section", "measurement", &format!("{name}.rrul")])).stdout;
        assert!(shown.contains("TLS 1.3"), "{shown}");
    }
    assert!(!folder.file("rrul/known_servers").exists(), "nothing is remembered");
    server.assert_sound();
}

#[test]
fn a_certificate_that_an_authority_between_has_signed_is_taken() {
    let root = Authority::new("root");
    let between = root.below("between");
    let folder = Folder::with_plan();
    folder.write("ca.pem", root.certificate.pem());
    let (certificate, key) = between.certificate(&["127.0.0.1"], VALID);
    write_certificate(&folder, &(certificate + &between.certificate.pem(), key));
    let server = server(&folder);
    assert_done(&end_of(run(&folder, &server.name(), "out", &["--ca", "ca.pem"])));
}

#[test]
fn a_certificate_for_another_name_is_refused() {
    let folder = folder(&Authority::new("authority"), &["lab.example", "192.0.2.7"], VALID);
    let server = server(&folder);
    let ended = end_of(run(&folder, &server.name(), "out", &["--ca", "ca.pem"]));
    ended.complains(&[&server.name(), "is for lab.example, 192.0.2.7, not for 127.0.0.1", "--server-key"]);
    assert!(folder.recordings().is_empty(), "{:?}", folder.recordings());
}

#[test]
fn a_certificate_that_has_expired_or_is_not_valid_yet_is_refused() {
    let authority = Authority::new("authority");
    let expired = folder(&authority, &["127.0.0.1"], PAST);
    let server = server(&expired);
    let ended = end_of(run(&expired, &server.name(), "out", &["--ca", "ca.pem"]));
    ended.complains(&[&server.name(), "expired", " days ago", "operator has to renew it"]);
    // Renewed, it is shown after a hangup.
    write_certificate(&expired, &authority.certificate(&["127.0.0.1"], VALID));
    server.signal("HUP");
    wait_until("the reload", || server.log().contains("options reloaded"));
    assert_done(&end_of(run(&expired, &server.name(), "out", &["--ca", "ca.pem"])));
    let early = folder(&authority, &["127.0.0.1"], 2095..2096);
    let server = self::server(&early);
    let ended = end_of(run(&early, &server.name(), "out", &["--ca", "ca.pem"]));
    ended.complains(&["not valid before", "days from now", "check the clock"]);
}

#[test]
fn a_certificate_of_an_authority_that_is_not_known_is_refused() {
    let folder = folder(&Authority::new("authority"), &["127.0.0.1"], VALID);
    folder.write("other.pem", Authority::new("another authority").certificate.pem());
    folder.write("namesake.pem", Authority::new("authority").certificate.pem());
    let server = server(&folder);
    let ended = end_of(run(&folder, &server.name(), "out", &["--ca", "other.pem"]));
    ended.complains(&[&server.name(), "an authority that this host does not know", "--ca"]);
    let ended = end_of(run(&folder, &server.name(), "out", &["--ca", "namesake.pem"]));
    ended.complains(&[&server.name(), "another authority of the same name", "--ca"]);
    let ended = end_of(run(&folder, &server.name(), "out", &[]));
    ended.complains(&[&server.name(), "no list of authorities", "--ca"]);
    let ended = end_of(run(&folder, &server.name(), "out", &["--ca", "short.toml"]));
    ended.complains(&["short.toml", "no certificate of an authority in PEM form"]);
}

#[test]
fn a_server_with_a_certificate_of_the_hosts_authorities_has_to_show_one_from_then_on() {
    let folder = folder(&Authority::new("authority"), &["127.0.0.1"], VALID);
    let of_host = |server: &Server, name: &str| {
        let mut command = run(&folder, &server.name(), name, &[]);
        command.env("SSL_CERT_FILE", folder.file("ca.pem")).env_remove("SSL_CERT_DIR");
        end_of(command)
    };
    let certified = server(&folder);
    let port = certified.port().to_string();
    let first = of_host(&certified, "first");
    assert_done(&first);
    assert!(first.stderr.contains("first test of this server: it has a valid certificate"), "{first:#?}");
    let second = of_host(&certified, "second");
    assert!(!second.stderr.contains("first test"), "{second:#?}");
    assert_done(&second);
    drop(certified);
    // Somebody else at the same place, with a key or without.
    let again = |key: &[&str]| {
        let mut command = Command::new(PROGRAM);
        command.args(["server", "--port", &port, "--listen", "127.0.0.1", "--egress", "any"]).args(key);
        Server::spawned(command)
    };
    for key in [&["--key", folder.file("server.key").to_str().unwrap()][..], &[]] {
        let impostor = again(key);
        of_host(&impostor, "third").complains(&[
            "shows no certificate",
            "somebody may be in between",
            "remove line 1 of",
        ]);
    }
}

#[test]
fn clients_that_verify_no_certificates_recognize_the_key() {
    let folder = folder(&Authority::new("authority"), &["lab.example"], VALID);
    let own = end_of(rrul(&folder, &["key", "new", "own.key"])).stdout.trim().to_owned();
    let of_certificate = end_of(rrul(&folder, &["key", "show", "server.key"])).stdout.trim().to_owned();
    let without = server(&folder);
    let path = |name: &str| folder.file(name).to_str().unwrap().to_owned();
    let certificate = ["--certificate", &path("server.pem"), "--certificate-key", &path("server.key")];
    let with = Server::start(&[&certificate[..], &["--key", &path("own.key")]].concat());
    for (name, server, key) in [("without", &without, &of_certificate), ("with", &with, &own)] {
        assert_done(&end_of(run(&folder, &server.name(), name, &["--server-key", key])));
        let never = end_of(run(&folder, &server.name(), "never", &["--encrypt", "never"]));
        never.complains(&["encrypted connections alone"]);
        let answer = |offers| client::open(server.address(), ClientOpening::control(offers)).1.status;
        assert_eq!(answer(Offers::TLS), Status::Secure);
        assert_eq!(answer(Offers::TLS.and(Offers::CERTIFICATES)), Status::Certified);
        let plain = ClientOpening::new(Purpose::Control, Token::NONE, 0);
        assert_eq!(client::open(server.address(), plain).1.status, Status::Lacking);
    }
}

#[test]
fn files_that_do_not_belong_together_are_one_line() {
    let authority = Authority::new("authority");
    let folder = folder(&authority, &["127.0.0.1"], VALID);
    write_secret(&folder, "other.key", &authority.certificate(&["127.0.0.1"], VALID).1);
    let complains = |certificate: &str, key: &str, words: &[&str]| {
        let options = ["server", "--port", "0", "--certificate", certificate, "--certificate-key", key];
        end_of(rrul(&folder, &options)).complains(words);
    };
    complains("server.pem", "other.key", &["other.key: this is not the key of the certificate"]);
    complains("server.key", "server.key", &["server.key: no certificate in PEM form"]);
    write_secret(&folder, "none.key", "no key");
    complains("server.pem", "none.key", &["none.key: no private key in PEM form"]);
    fs::set_permissions(folder.file("server.key"), Permissions::from_mode(0o640)).unwrap();
    complains("server.pem", "server.key", &["others may read this secret (mode 0640)"]);
    let alone = |options: &[&str]| end_of(rrul(&folder, &[&["server", "--port", "0"], options].concat()));
    alone(&["--certificate", "server.pem"]).complains(&["--certificate needs --certificate-key FILE"]);
    alone(&["--certificate-key", "other.key"]).complains(&["--certificate-key needs --certificate FILE"]);
}

#[test]
fn a_check_names_the_end_of_a_certificate_and_keys_that_do_not_fit() {
    let authority = Authority::new("authority");
    let folder = folder(&authority, &["lab.example"], VALID);
    let check = |more: &[&str]| {
        let options =
            ["server", "--check", "--port", "0", "--certificate", "server.pem", "--certificate-key", "server.key"];
        end_of(rrul(&folder, &[&options[..], more].concat()))
    };
    let good = check(&[]);
    assert!(good.stdout.contains("ok       certificate: valid until 2096-01-01"), "{good:#?}");
    assert!(good.stdout.contains("ok       key: SHA256:"), "{good:#?}");
    write_certificate(&folder, &authority.certificate(&["lab.example"], PAST));
    let expired = check(&[]);
    assert_eq!(expired.code, Some(1), "{expired:#?}");
    assert!(expired.stdout.contains("problem  certificate: expired on 2021-01-01"), "{expired:#?}");
    let (certificate, _) = authority.certificate(&["lab.example"], VALID);
    folder.write("server.pem", certificate);
    let other = check(&[]);
    assert_eq!(other.code, Some(1), "{other:#?}");
    assert!(other.stdout.contains("problem  key: server.key: this is not the key of the certificate"), "{other:#?}");
}
