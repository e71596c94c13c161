//! The options of `rrul server`.

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use clap::Args;

#[cfg(feature = "log")]
use super::LogFormat;
use super::access_help;

#[allow(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
#[derive(Debug, Clone, Args)]
pub(crate) struct ServerArguments {
    /// Listen on this address only (repeatable) [default: all addresses]
    ///
    /// A server that a socket unit of systemd starts listens on the sockets of that unit; leave out --listen and --port there.
    #[arg(long, value_name = "ADDRESS", help_heading = "Network")]
    pub(crate) listen: Vec<IpAddr>,
    /// Listen on this TCP and UDP port
    #[arg(long, value_name = "PORT", default_value_t = rrul_engine::PORT, help_heading = "Network")]
    pub(crate) port: u16,
    /// Limit the number of concurrent sessions
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..), help_heading = "Limits")]
    pub(crate) max_sessions: u32,
    /// Limit the length of a test
    #[arg(long, value_name = "TIME", default_value = "10min", value_parser = rrul_model::units::parse_duration, help_heading = "Limits")]
    pub(crate) max_length: std::time::Duration,
    /// Let tests load at once within this rate, or any [default: in turns]
    ///
    /// EGRESS is any, or bits per second such as 500Mbit/s: tests that together ask for no more load the line at once, and a test
    /// that names no rate has it to itself. Without it tests that load take turns. Tests of probes alone run at any time.
    #[arg(long, value_name = "EGRESS", help_heading = "Limits")]
    pub(crate) egress: Option<rrul_engine::server::LoadPolicy>,
    /// Time an hour that a network may load while others wait
    ///
    /// A test of a network (/24 of IPv4, /48 of IPv6) that has loaded for longer within the last hour ends once another network, which has
    /// not, has waited for 60 s. Its recording is incomplete and says that the server ended the test.
    #[arg(long, value_name = "TIME", default_value = "2min", value_parser = rrul_model::units::parse_duration, help_heading = "Limits")]
    pub(crate) share: std::time::Duration,
    /// Mark packets with these classes only [default: all but CS6,CS7]
    ///
    /// CLASSES are names such as BE,EF,AF41, or all. A flow of another class is refused alone; replies that ask for one leave unmarked.
    #[arg(long, value_name = "CLASSES", help_heading = "Limits")]
    pub(crate) dscp: Option<rrul_engine::server::AllowedMarks>,
    /// Allow UDP floods up to this total rate per session
    ///
    /// A flood (flow type udp_flood) sends UDP packets at a fixed rate, such as 20Mbit/s, without congestion control.
    /// 0bit/s refuses floods.
    #[arg(long, value_name = "RATE", default_value = "0bit/s", help_heading = "Limits")]
    pub(crate) allow_flood: rrul_model::units::BitRate,
    /// Send kernel, processor and settings of this host to every client
    ///
    /// Without it kernel, processor, kernel settings and counters of the whole host are sent only to clients with a token (--tokens).
    #[arg(long, conflicts_with = "private", help_heading = "Privacy")]
    pub(crate) tell_host: bool,
    /// Send names, addresses, versions and settings of this host to no client
    ///
    /// Left out are host name, addresses, interface names, kernel, processor, kernel settings and counters of the whole host. Load of
    /// the processors, drops of the server's sockets and the interfaces of the test are still sent: verdicts need them.
    #[arg(long, help_heading = "Privacy")]
    pub(crate) private: bool,
    #[arg(long, value_name = "FILE", help_heading = "Access", help = access_help::TOKENS, long_help = access_help::TOKENS_LONG)]
    pub(crate) tokens: Option<PathBuf>,
    /// Encrypt control connections with this key [default: plain]
    ///
    /// TLS 1.3. `rrul key new FILE` makes the file; only its owner may read it (mode 0600). Clients remember the key and refuse
    /// another one later. Clients that do not encrypt are refused. On SIGHUP the key is read anew.
    #[arg(long, value_name = "FILE", help_heading = "Access")]
    pub(crate) key: Option<PathBuf>,
    #[cfg(feature = "certificates")]
    /// Encrypt, and show the certificate of this file [default: none]
    ///
    /// FILE has the server's certificate and then those of the authorities between, in PEM form (fullchain.pem). Clients verify that
    /// an authority that they trust has signed it for the name by which they call the server, and remember no key. Clients that
    /// verify no certificates recognize the server by --key, or without --key by the key of the certificate. On SIGHUP the files are
    /// read anew.
    #[arg(long, value_name = "FILE", help_heading = "Access")]
    pub(crate) certificate: Option<PathBuf>,
    #[cfg(feature = "certificates")]
    /// With --certificate: its private key [default: none]
    ///
    /// In PEM form. Only its owner may read the file (mode 0600).
    #[arg(long, value_name = "FILE", help_heading = "Access")]
    pub(crate) certificate_key: Option<PathBuf>,
    /// With a key: also test for clients that do not encrypt
    #[arg(long, help_heading = "Access")]
    pub(crate) allow_plain: bool,
    /// Tests an hour of one network; 0 is no limit
    ///
    /// A network is a /24 of IPv4 or a /48 of IPv6. Private and loopback addresses are not counted without --count-private.
    #[arg(long, value_name = "N", default_value_t = 16, help_heading = "Quotas")]
    pub(crate) tests_per_hour: u32,
    /// Data a day of one network; 0B is no limit
    ///
    /// All bytes in both directions: streams, pages, UDP packets with their headers, and control connections.
    #[arg(long, value_name = "SIZE", default_value = "50GB", help_heading = "Quotas")]
    pub(crate) data_per_day: rrul_model::units::ByteCount,
    /// Tests an hour of all networks; 0 is no limit
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Quotas")]
    pub(crate) all_tests_per_hour: u32,
    /// Data a day of all networks; 0B is no limit
    #[arg(long, value_name = "SIZE", default_value = "0B", help_heading = "Quotas")]
    pub(crate) all_data_per_day: rrul_model::units::ByteCount,
    /// Count private and loopback addresses too
    #[arg(long, help_heading = "Quotas")]
    pub(crate) count_private: bool,
    /// Keep what was used in a file [default: none]
    ///
    /// Without it a server that starts anew has forgotten what each network has had.
    #[arg(long, value_name = "FILE", help_heading = "Quotas")]
    pub(crate) state: Option<PathBuf>,
    /// Read options from a TOML file [default: none]
    ///
    /// Options given here replace those of the file. Each key is the name of an option without its dashes: max-sessions = 8, private = true.
    #[arg(long, value_name = "FILE", help_heading = "Operation")]
    pub(crate) config: Option<PathBuf>,
    #[cfg(feature = "check")]
    /// Print what this host lacks for a server with these options, and end
    #[arg(long, help_heading = "Operation")]
    pub(crate) check: bool,
    /// Time for running tests to end on SIGTERM or Ctrl-C
    ///
    /// No other test begins meanwhile. A second signal ends the server at once.
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = rrul_model::units::parse_duration, help_heading = "Operation")]
    pub(crate) drain: std::time::Duration,
    #[cfg(feature = "metrics")]
    /// Serve metrics for Prometheus here [default: none]
    ///
    /// ADDRESS is an address and a port of this host alone (127.0.0.1:9785), or the path of a Unix socket
    /// (/run/rrul-server/metrics). Metrics are at /metrics.
    #[arg(long, value_name = "ADDRESS", help_heading = "Operation")]
    pub(crate) metrics: Option<String>,
    #[cfg(feature = "log")]
    /// Format of the log
    #[arg(long, value_name = "FORMAT", default_value = "text", help_heading = "Operation")]
    pub(crate) log_format: LogFormat,
}

impl ServerArguments {
    /// The files by which clients recognize the server.
    pub(crate) fn identity_files(&self) -> impl Iterator<Item = &Path> {
        #[cfg(feature = "certificates")]
        let certificate = [self.certificate.as_deref(), self.certificate_key.as_deref()];
        #[cfg(not(feature = "certificates"))]
        let certificate = [None; 0];
        [self.key.as_deref()].into_iter().chain(certificate).flatten()
    }
}
