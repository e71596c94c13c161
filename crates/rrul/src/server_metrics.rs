//! Metrics of a server for Prometheus.

use std::sync::Arc;

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;
use rrul_engine::server::{Refusal, Server, ServerCounts};

use crate::failure::Failure;
use crate::service::metrics_http::{self, OPEN_METRICS};

/// Serves them on a thread of its own until the server has gone.
pub(crate) fn serve(place: &str, server: &Arc<Server>) -> Result<(), Failure> {
    let server = Arc::downgrade(server);
    metrics_http::serve("--metrics", place, OPEN_METRICS, move || {
        let server = server.upgrade()?;
        #[cfg(feature = "certificates")]
        let expiry = server.certificate_expiry();
        #[cfg(not(feature = "certificates"))]
        let expiry = None;
        Some(text(&server.counts(), expiry))
    })
}

/// The counts as OpenMetrics has them. `expiry` is when the certificate ends, seconds since 1970.
fn text(counts: &ServerCounts, expiry: Option<u64>) -> String {
    let mut registry = Registry::with_prefix("rrul");
    let gauges = [
        ("sessions", "Sessions that are open", counts.sessions),
        ("connections", "Connections that are open", counts.connections),
        ("queue_tests", "Tests that wait for their turn", counts.waits.now),
    ];
    for (name, about, value) in gauges {
        registry.register(name, about, ConstGauge::new(value as i64));
    }
    if let Some(expiry) = expiry {
        let about = "When the certificate ends, seconds since 1970";
        registry.register("certificate_expiry_timestamp_seconds", about, ConstGauge::new(expiry as i64));
    }
    let counters = [
        ("sessions_opened", "Sessions that were opened", counts.opened),
        ("test_bytes", "Bytes that sessions have moved over TCP and UDP, both directions", counts.octets),
        ("log_events_left_out", "Events that were left out of the log", counts.not_logged),
        ("listen_drops", "Connection attempts that the listeners had no room for", counts.listen_drops),
        ("queue_waits", "Tests that had their turn after waiting", counts.waits.over),
        ("packets_forged", "Test packets without the tag of the session that they name", counts.forged),
        ("packets_replayed", "Test packets repeated more often than the network doubles them", counts.replayed),
        ("packets_unsent", "Packets that this host had no room for (EAGAIN, ENOBUFS)", counts.unsent),
    ];
    for (name, about, value) in counters {
        registry.register(name, about, ConstCounter::new(value));
    }
    let waited = ConstCounter::new(counts.waits.time.as_secs_f64());
    registry.register("queue_wait_seconds", "Time that these tests have waited, together", waited);
    let refusals = Family::<Vec<(&'static str, &'static str)>, Counter>::default();
    for (why, count) in Refusal::ALL.into_iter().zip(counts.refused) {
        refusals.get_or_create(&vec![("cause", why.word())]).inc_by(count);
    }
    registry.register("refusals", "Clients that did not get what they asked for", refusals);
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = encode(&mut text, &registry);
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    use rrul_engine::server::Waits;

    #[test]
    fn every_count_is_in_the_text() {
        let counts = ServerCounts {
            sessions: 1,
            connections: 2,
            opened: 3,
            refused: [4, 5, 11, 6, 7],
            octets: 8,
            not_logged: 9,
            listen_drops: 10,
            waits: Waits { now: 15, over: 16, time: Duration::from_millis(1500) },
            forged: 12,
            replayed: 13,
            unsent: 14,
        };
        let text = text(&counts, Some(18));
        for line in [
            "rrul_sessions 1",
            "rrul_certificate_expiry_timestamp_seconds 18",
            "rrul_connections 2",
            "rrul_sessions_opened_total 3",
            "rrul_refusals_total{cause=\"no_connection\"} 4",
            "rrul_refusals_total{cause=\"quota\"} 7",
            "rrul_test_bytes_total 8",
            "rrul_log_events_left_out_total 9",
            "rrul_listen_drops_total 10",
            "rrul_queue_tests 15",
            "rrul_queue_waits_total 16",
            "rrul_queue_wait_seconds_total 1.5",
            "rrul_packets_forged_total 12",
            "rrul_packets_replayed_total 13",
            "rrul_packets_unsent_total 14",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
        }
        assert!(text.ends_with("# EOF\n"));
    }
}
