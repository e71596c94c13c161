//! Names of the flow types that an analysis tells apart.

/// Flow type of the isochronous UDP probes.
pub(crate) const UDP_PROBE: &str = "udp_probe";
/// Flow type of the sweeps over all markings.
pub(crate) const MARKING_SWEEP: &str = "marking_sweep";
/// Flow type of ICMP echo.
pub(crate) const ICMP_ECHO: &str = "icmp_echo";
/// Means of closed-loop exchanges, which other programs recorded in the place of delays.
pub(crate) const EXCHANGE_MEAN: &str = "exchange_mean";
/// Pages in a browser.
pub(crate) const BROWSER_PAGE: &str = "browser_page";
/// Flow type of new connections.
pub(crate) const TCP_CONNECT: &str = "tcp_connect";
/// Flow type of look-ups of names.
pub(crate) const DNS_LOOKUP: &str = "dns_lookup";
/// Flow type of short transfers.
pub(crate) const SHORT_FLOW: &str = "short_flow";
/// Flow type of records in a TCP stream.
pub(crate) const TCP_RECORDS: &str = "tcp_records";

/// Flow types of probes, the preferred one first.
pub(crate) const PROBE_TYPES: [&str; 3] = [UDP_PROBE, ICMP_ECHO, EXCHANGE_MEAN];
