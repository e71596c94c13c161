//! What a privacy switch takes out of a host's description: everything that identifies it or its location.

use std::collections::BTreeMap;

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

    /// The same host without what it runs on and how it is set up. What figures are computed with stays.
    #[must_use]
    pub fn without_profile(self) -> Self {
        Self {
            kernel: String::new(),
            processor: String::new(),
            virtualisation: String::new(),
            governors: BTreeMap::new(),
            settings: BTreeMap::new(),
            state: self.state.without_profile(),
            ..self
        }
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

    /// The same state without counters of the whole host.
    ///
    /// Interfaces stay, with their counters and queues: without them the host's own queue is taken for one of the path.
    #[must_use]
    pub fn without_profile(self) -> Self {
        let kernel_counters = BTreeMap::new();
        Self { load_average: Vec::new(), core_frequencies: Vec::new(), kernel_counters, ..self }
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

    #[test]
    fn what_a_host_runs_on_is_left_out_and_what_figures_need_is_kept() {
        let text = "profile".to_owned();
        let state = HostState {
            load_average: vec![1],
            core_frequencies: vec![2],
            kernel_counters: BTreeMap::from([(text.clone(), 3)]),
            interfaces: vec![Interface { in_use: true, ..Interface::default() }],
            ..HostState::default()
        };
        let host = Environment {
            kernel: text.clone(),
            processor: text.clone(),
            virtualisation: text.clone(),
            governors: BTreeMap::from([(text.clone(), 4)]),
            settings: BTreeMap::from([(text.clone(), text)]),
            cores: 4,
            ticks_per_second: 100,
            state,
            ..Environment::default()
        };
        let left = host.without_profile();
        let interfaces = vec![Interface { in_use: true, ..Interface::default() }];
        let state = HostState { interfaces, ..HostState::default() };
        assert_eq!(left, Environment { cores: 4, ticks_per_second: 100, state, ..Environment::default() });
    }
}
