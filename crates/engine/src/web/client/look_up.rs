//! Looking up the hosts of a page, as the resolver of an operating system does: both kinds of address at once, and again
//! when no answer comes.

use std::io;
use std::net::UdpSocket;
use std::os::fd::AsFd;
use std::time::Duration;

use rrul_model::flow::AddressFamily;
use rrul_model::observation::NameLookup;
use tokio::io::Interest;
use tokio::time::{Instant, timeout_at};

use super::Visitor;
use crate::clock::{RawTime, WallClock};
use crate::name_lookup::{Lookup, Resolver, Which};

/// How long each question waits for its answer before it is asked again; after the last the name is unknown.
const PATIENCE: [Duration; 3] = [Duration::from_secs(1), Duration::from_secs(2), Duration::from_secs(4)];

/// Looks up a name of the session by the server's own responder, over the family of the flow, from new sockets. Only that
/// it is answered matters: the address is that of the server, which the client has had all along.
///
/// # Errors
/// When nothing helps.
pub(super) async fn look_up(visitor: &Visitor, name: &str) -> io::Result<()> {
    let resolver = Resolver { address: visitor.server, class: visitor.spec.class };
    for patience in PATIENCE {
        let which = Which {
            flow: visitor.spec.id,
            sequence: visitor.lookups.replace(visitor.lookups.get().wrapping_add(1)),
            scheduled: visitor.clock.now(),
        };
        let found = ask(visitor, which, &resolver, name, Instant::now() + patience).await?;
        if found {
            return Ok(());
        }
    }
    Err(io::ErrorKind::TimedOut.into())
}

/// Asks once; whether the address came in time.
async fn ask(visitor: &Visitor, which: Which, resolver: &Resolver, name: &str, until: Instant) -> io::Result<bool> {
    let wanted = if visitor.spec.family == AddressFamily::Ipv4 { A } else { AAAA };
    let answered = std::cell::Cell::new(false);
    let mut note = |row: NameLookup| {
        answered.set(answered.get() || row.record == wanted && row.reached == NameLookup::ANSWERED);
        visitor.asked.borrow_mut().push(row);
    };
    let asked = Lookup::ask(which, resolver, name, visitor.clock, &mut note).map_err(io::Error::other)?;
    let Some(mut lookup) = asked else { return Err(io::ErrorKind::ConnectionRefused.into()) };
    let mut wall = WallClock::new();
    wall.refresh(RawTime::now());
    // A second descriptor, by which the runtime knows when something has arrived.
    let socket = UdpSocket::from(lookup.as_fd().try_clone_to_owned()?);
    socket.set_nonblocking(true)?;
    let socket = tokio::net::UdpSocket::from_std(socket)?;
    let receiving = socket.async_io(Interest::READABLE, || {
        lookup.receive(visitor.clock, &wall, &mut note);
        // A program that asks for both kinds of address goes on when it has both answers.
        if lookup.is_done() { Ok(()) } else { Err(io::ErrorKind::WouldBlock.into()) }
    });
    // In time or not: what has come is noted.
    let _ = timeout_at(until, receiving).await;
    lookup.give_up(visitor.clock.now(), &mut note);
    Ok(answered.get())
}

/// Record types (RFC 1035, RFC 3596).
const A: u16 = 1;
const AAAA: u16 = 28;
