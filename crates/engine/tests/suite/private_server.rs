//! What a private server sends of its host, and what it still sends.

use std::net::Ipv4Addr;

use rrul_engine::client::Families;
use rrul_engine::privacy::Privacy;
use rrul_engine::server::{Server, ServerOptions};
use rrul_model::flow::AddressFamily;
use rrul_model::observation::ObservationPoint;

use crate::common::{options, plan, record};

const PROBES: &str = r#"
title = "probes"
[phases]
idle = "1200ms"
[flow.probe]
type = "udp_probe"
component = "realtime"
interval = "10ms"
"#;

#[test]
fn a_private_server_sends_no_profile_and_what_verdicts_need() {
    let addresses = vec![Ipv4Addr::LOCALHOST.into()];
    let server =
        Server::start(ServerOptions { addresses, port: 0, privacy: Privacy::Strict, ..ServerOptions::default() });
    let server = server.unwrap();
    let mut options = options(&server, plan(PROBES));
    options.families = Families::Only(AddressFamily::Ipv4);
    let recording = record(&options).unwrap();
    let host = &recording.header.server;
    assert_eq!((host.kernel.as_str(), host.processor.as_str(), host.settings.len()), ("", "", 0));
    assert!(!recording.header.client.kernel.is_empty(), "or else this test shows nothing");
    let counters = host.state.kernel_counters.keys().map(String::as_str);
    assert!(counters.eq(["rrul.ListenDrops"]), "{:?}", host.state.kernel_counters);
    assert!(host.cores > 0 && host.ticks_per_second > 0);
    let of_server = || recording.tables_of(ObservationPoint::Server);
    let processor: usize = of_server().map(|tables| tables.cpu_time.len()).sum();
    assert!(processor > 0, "the load of its processors is known");
}
