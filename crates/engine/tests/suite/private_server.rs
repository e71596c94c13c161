//! What a server sends of its host to whom, and what it always sends.

use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};

use rrul_engine::client::{Families, RunOptions};
use rrul_engine::privacy::Privacy;
use rrul_engine::server::{
    AccessList, AccessToken, Credentials, ProfileFor, QuotaClass, Secret, Server, ServerOptions,
};
use rrul_model::flow::AddressFamily;
use rrul_model::observation::ObservationPoint;
use rrul_model::recording::Recording;

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

/// A test of [`PROBES`] against such a server.
fn recorded(more: ServerOptions, token: Option<Credentials>) -> Recording {
    let addresses = vec![Ipv4Addr::LOCALHOST.into()];
    let server = Server::start(ServerOptions { addresses, port: 0, ..more }).unwrap();
    let families = Families::Only(AddressFamily::Ipv4);
    record(&RunOptions { families, token, ..options(&server, plan(PROBES)) }).unwrap()
}

/// Asserts that a recording has what verdicts need of the server's host, and no more.
fn assert_no_profile(recording: &Recording) {
    let host = &recording.header.server;
    assert_eq!((host.kernel.as_str(), host.processor.as_str(), host.settings.len()), ("", "", 0));
    assert!(!recording.header.client.kernel.is_empty(), "or else this test shows nothing");
    let last = recording.end.as_ref().unwrap().server.as_ref().unwrap();
    for state in [&host.state, last] {
        assert!(state.load_average.is_empty(), "{:?}", state.load_average);
        let counters = state.kernel_counters.keys().map(String::as_str);
        assert!(counters.eq(["TcpExt.ListenDrops", "rrul.ListenDrops"]), "{:?}", state.kernel_counters);
    }
    assert!(host.cores > 0 && host.ticks_per_second > 0);
    let of_server = || recording.tables_of(ObservationPoint::Server);
    let processor: usize = of_server().map(|tables| tables.cpu_time.len()).sum();
    assert!(processor > 0, "the load of its processors is known");
}

#[test]
fn a_private_server_sends_no_profile_and_what_verdicts_need() {
    assert_no_profile(&recorded(ServerOptions { privacy: Privacy::Strict, ..ServerOptions::default() }, None));
}

#[test]
fn only_a_client_with_a_token_is_sent_a_profile_unless_everybody_is() {
    let profile = ProfileFor::WithToken;
    assert_no_profile(&recorded(ServerOptions { profile, ..ServerOptions::default() }, None));
    let secret = Secret::from_text("a-secret-of-this-test").unwrap();
    let (name, quota) = (String::new(), QuotaClass::default());
    let token = AccessToken { secret: secret.clone(), name, expires: None, quota };
    let access = Some(Arc::new(Mutex::new(AccessList::new(vec![token]))));
    let token = Some(Credentials::Token(secret));
    let known = recorded(ServerOptions { profile, access, ..ServerOptions::default() }, token);
    let host = &known.header.server;
    assert!(!host.kernel.is_empty() && !host.settings.is_empty() && !host.state.kernel_counters.is_empty());
    assert!(!recorded(ServerOptions::default(), None).header.server.kernel.is_empty());
}
