//! The client of the synthetic page: asks for what a manifest says, in the order in which a browser would, and notes when
//! what happened.
//!
//! Everything of one load is new: sockets, TLS, answers of the resolver. It runs on one thread, which no measurement of
//! packets waits for.
//!
//! - [`page_load`]: one load, object by object
//! - [`host`]: the connections to one host of a page
//! - [`dial`]: a new connection, phase by phase
//! - [`exchange`]: one request and its response

pub mod dial;
pub mod exchange;
pub mod host;
mod look_up;
pub mod page_load;
mod quic_socket;

use std::cell::{Cell, RefCell};
use std::net::SocketAddr;

use rrul_model::flow::FlowSpec;
use rrul_model::observation::NameLookup;
use rrul_model::page::{HttpVersion, Page};
use rrul_proto::token::Token;

use crate::clock::test_clock::TestClock;

/// Where and how a flow loads its page.
#[derive(Debug)]
pub struct Visitor {
    pub spec: FlowSpec,
    pub page: Page,
    /// The version that all hosts are to speak; `None` for what the manifest has.
    pub version: Option<HttpVersion>,
    pub server: SocketAddr,
    pub token: Token,
    pub clock: TestClock,
    /// Connections opened so far, all loads together.
    pub connections: Cell<u32>,
    /// Names looked up so far, all loads together.
    pub lookups: Cell<u32>,
    /// What came of those of the load under way.
    pub asked: RefCell<Vec<NameLookup>>,
}

impl Visitor {
    /// The number of a new connection.
    fn next_connection(&self) -> u32 {
        self.connections.replace(self.connections.get().wrapping_add(1))
    }
}
