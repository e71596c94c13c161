//! What a privacy switch takes out of a host's description: everything that identifies it or its location.

use super::{Environment, HostState};

impl Environment {
    /// The same host without its name, its addresses and the names of its interfaces.
    ///
    /// What is left describes it and does not name it: versions, kinds, speeds, settings, counters.
    #[must_use]
    pub fn without_names(mut self) -> Self {
        self.host.clear();
        self.state = self.state.without_names().without_peer();
        self
    }
}

impl HostState {
    /// The same state without the host's own addresses; interfaces are named by their kind and index.
    ///
    /// Names of interfaces can hold hardware addresses (`enx525400123456`), the names of networks and of customers.
    #[must_use]
    pub fn without_names(mut self) -> Self {
        for route in &mut self.routes {
            route.source = None;
        }
        for interface in &mut self.interfaces {
            interface.name = format!("{}{}", interface.kind, interface.index);
        }
        self
    }

    /// The same state without the other host's addresses.
    #[must_use]
    pub fn without_peer(mut self) -> Self {
        for route in &mut self.routes {
            route.destination = None;
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Interface, Route};
    use super::*;
    use crate::flow::AddressFamily;

    #[test]
    fn nothing_that_names_a_host_is_left() {
        let address = |text: &str| Some(text.parse().unwrap());
        let route = Route {
            family: AddressFamily::Ipv6,
            interface: 3,
            source: address("2001:db8::1"),
            destination: address("2001:db8::2"),
            gateway: true,
            mtu: Some(1480),
            translated: Some(false),
        };
        let interface =
            Interface { index: 3, name: "enx525400123456".into(), kind: "ethernet".into(), ..Interface::default() };
        let state = HostState { routes: vec![route], interfaces: vec![interface], ..HostState::default() };
        let host = Environment { host: "laptop-of-ann".into(), cores: 4, state, ..Environment::default() };
        let text = serde_json::to_string(&host.clone().without_names()).unwrap();
        for name in ["2001:db8", "525400", "ann"] {
            assert!(serde_json::to_string(&host).unwrap().contains(name), "{name} was there");
            assert!(!text.contains(name), "{name} is left: {text}");
        }
        let left = host.without_names();
        assert_eq!((left.cores, left.state.interfaces[0].name.as_str()), (4, "ethernet3"));
        assert_eq!((left.state.routes[0].mtu, left.state.routes[0].translated), (Some(1480), Some(false)));
    }
}
