//! The two hosts as the recording has them: before the test, after it, and without names where those are not wanted.

use std::net::SocketAddr;

use rrul_model::environment::{Environment, FORGED_PACKETS, HostState, Route};
use rrul_proto::packet_seal::PacketSeal;

use crate::environment;
use crate::environment::{AddressPair, Extent};
use crate::privacy::Privacy;

/// The client's host and its server's, and what may be said of them.
pub(super) struct HostDescriptions {
    privacy: Privacy,
    pairs: Vec<AddressPair>,
    /// What counts forged packets.
    seal: PacketSeal,
    /// The server host before the test.
    pub(super) server: Environment,
}

impl HostDescriptions {
    /// Towards these addresses of a server that describes itself so.
    pub(super) fn new(privacy: Privacy, servers: &[SocketAddr], seal: PacketSeal, server: Environment) -> Self {
        let pairs = servers.iter().map(|&to| AddressPair { from: None, to }).collect();
        Self { privacy, pairs, seal, server }
    }

    pub(super) fn client_state(&self) -> HostState {
        environment::read_state(&self.pairs, Extent::Whole)
    }

    /// Both hosts before the test, as they may be recorded; `state` is this one's.
    pub(super) fn before(&self, state: HostState) -> (Environment, Environment) {
        let mut client = Environment { state, ..environment::read(self.privacy) };
        // What has been forged before counts too: nothing else is compared with it.
        client.state.kernel_counters.extend(self.seal.forged().map(|_| (FORGED_PACKETS.to_owned(), 0)));
        let mut server = self.server.clone();
        find_translation(&mut client.state.routes, &mut server.state.routes);
        match self.privacy {
            Privacy::Open => (client, server),
            Privacy::Strict => (client.without_names(), server.without_names()),
        }
    }

    /// Both hosts after the test, as they may be recorded.
    pub(super) fn after(&self, server: Option<Box<HostState>>) -> (Option<Box<HostState>>, Option<Box<HostState>>) {
        let mut client = self.client_state();
        client.kernel_counters.extend(self.seal.forged().map(|count| (FORGED_PACKETS.to_owned(), count)));
        let mut server = server.map(|state| *state);
        let of_server: &mut [Route] = server.as_mut().map_or(&mut [], |state| &mut state.routes);
        find_translation(&mut client.routes, of_server);
        let recorded = |state: HostState| {
            Box::new(match self.privacy {
                Privacy::Open => state,
                Privacy::Strict => state.without_names().without_peer(),
            })
        };
        (Some(recorded(client)), server.map(recorded))
    }
}

/// Compares what each host sees of the other: where its address is another than it knows itself by, something on the way
/// translates.
fn find_translation(client: &mut [Route], server: &mut [Route]) {
    for own in client {
        for other in server.iter_mut().filter(|other| other.family == own.family) {
            own.translated = own.source.zip(other.destination).map(|(known, seen)| known != seen);
            other.translated = other.source.zip(own.destination).map(|(known, seen)| known != seen);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rrul_model::flow::AddressFamily;

    fn route(source: Option<&str>, destination: &str) -> Route {
        let destination = Some(destination.parse().unwrap());
        Route {
            family: AddressFamily::Ipv4,
            interface: 2,
            source: source.map(|text| text.parse().unwrap()),
            destination,
            gateway: true,
            mtu: None,
            translated: None,
        }
    }

    #[test]
    fn a_client_behind_a_translator_is_distinguished_from_one_that_is_not() {
        let mut server = [route(Some("198.51.100.4"), "203.0.113.9")];
        let mut behind = [route(Some("192.168.1.2"), "198.51.100.4")];
        find_translation(&mut behind, &mut server);
        assert_eq!((behind[0].translated, server[0].translated), (Some(true), Some(false)));
        let mut beside = [route(Some("203.0.113.9"), "198.51.100.4")];
        find_translation(&mut beside, &mut server);
        assert_eq!(beside[0].translated, Some(false));
        let mut private = [route(None, "203.0.113.9")];
        find_translation(&mut beside, &mut private);
        assert_eq!(
            (beside[0].translated, private[0].translated),
            (Some(false), None),
            "a server keeps its own address"
        );
    }

    #[test]
    fn a_server_that_does_not_report_it_leaves_the_question_open() {
        let mut client = [route(Some("192.168.1.2"), "198.51.100.4")];
        find_translation(&mut client, &mut []);
        assert_eq!(client[0].translated, None);
    }
}
