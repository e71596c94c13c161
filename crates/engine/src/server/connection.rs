//! A TCP connection at the server: its opening, and where it belongs.

use std::io::Write;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rrul_model::flow::FlowId;
use rrul_proto::admission::session_lease::SILENCE_TIME;
use rrul_proto::limits::OPENING_TIME;
use rrul_proto::opening::{CLIENT_OCTETS, ClientOpening, OpeningError, Purpose, ServerOpening, Status, agreed_version};

use super::client_quota::{CountedConnection, HeldPlace};
use super::event::{EventKind, Refusal};
use super::session::Attached;
use super::shared::{STACK, Shared};
use super::{client_quota, entrance, pages};
use crate::control_link::read_exact_until;
use crate::endpoint::test_course::PATIENCE;
use crate::socket::options;
use crate::socket::stream::wake_after;
use crate::socket::wait::{self, WaitSet};

/// Takes connections until the server stops.
pub(super) fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    let mut waiting = WaitSet::new([listener]);
    while !shared.is_stopped() {
        waiting.wait_or_pause(PATIENCE);
        loop {
            match listener.accept() {
                Ok((stream, peer)) => take(stream, peer, shared),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => break,
                // Out of descriptors, or the peer was gone before it was accepted: others may fare better later.
                Err(_) => {
                    std::thread::sleep(Duration::from_millis(20));
                    break;
                }
            }
        }
    }
}

/// Of all connections, one source may have this share: one in so many.
const SHARE_OF_A_SOURCE: u32 = 2;

/// A connection within the limits; it counts for as long as it lives.
pub(super) struct Admitted {
    pub(super) shared: Arc<Shared>,
    counted: CountedConnection,
    /// Held until it names a session; nothing where it has come with the name of one.
    pub(super) unnamed: Option<HeldPlace>,
}

/// Counts one more connection, if room is left for it and its source has not taken its share.
pub(super) fn admit(shared: &Arc<Shared>, source: IpAddr) -> Option<Admitted> {
    let most = shared.in_force().rules.limits.connections;
    let held = client_quota::take(&shared.connection_quotas, source, most.div_ceil(SHARE_OF_A_SOURCE))?;
    let (counted, before) = CountedConnection::new(&shared.connections, held);
    (before < most).then(|| Admitted { shared: Arc::clone(shared), counted, unnamed: None })
}

/// The same for a connection that has said nothing yet.
fn admit_unnamed(shared: &Arc<Shared>, source: IpAddr) -> Option<Admitted> {
    let unnamed = shared.unnamed.take(source, shared.sessions.knows(source))?;
    admit(shared, source).map(|admitted| Admitted { unnamed: Some(unnamed), ..admitted })
}

fn take(mut stream: TcpStream, peer: SocketAddr, shared: &Arc<Shared>) {
    if stream.set_nonblocking(false).is_err() {
        return;
    }
    let Some(admitted) = admit_unnamed(shared, peer.ip()) else {
        shared.report(EventKind::Refused(Refusal::NoConnection), Some(peer), "no connection is free for this client");
        // Refused without waiting for its request: no thread is left to wait with.
        let _ = stream.write(&ServerOpening::answer(Status::Busy, 0).encode());
        return;
    };
    let handed = Arc::new(Mutex::new(Some((stream, admitted))));
    let take_over = Arc::clone(&handed);
    let work = move || {
        let taken = take_over.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some((stream, admitted)) = taken else { return };
        let deadline = Instant::now() + OPENING_TIME;
        if let Some(protocol) = page_protocol(&stream, deadline) {
            pages::take(stream, protocol, admitted);
        } else {
            serve(stream, peer, admitted, deadline);
        }
    };
    let thread = std::thread::Builder::new().name("connection".to_owned()).stack_size(STACK).spawn(work);
    if thread.is_err()
        && let Some((mut stream, _)) = handed.lock().unwrap_or_else(PoisonError::into_inner).take()
    {
        shared.report(EventKind::Refused(Refusal::NoConnection), Some(peer), "no thread is left for this client");
        let _ = stream.write(&ServerOpening::answer(Status::Busy, 0).encode());
    }
}

/// What a connection speaks that has come for a page; `None` for one that speaks rrul's own protocol, or says nothing in time.
fn page_protocol(stream: &TcpStream, deadline: Instant) -> Option<pages::Protocol> {
    let mut first = [0; 4];
    // Woken once, when all of them are there: who sends one byte at a time must not keep this thread busy.
    wake_after(stream, first.len()).ok()?;
    let said = wait::readable(&[stream], deadline.saturating_duration_since(Instant::now()));
    wake_after(stream, 1).ok()?;
    let whole = said.ok()? && stream.peek(&mut first).ok()? == first.len();
    if whole { pages::Protocol::from_octets(first) } else { None }
}

fn serve(mut stream: TcpStream, peer: SocketAddr, admitted: Admitted, deadline: Instant) {
    let Admitted { shared, counted, unnamed } = admitted;
    let mut octets = [0; CLIENT_OCTETS];
    if read_exact_until(&mut stream, &mut octets, deadline).is_err() {
        return;
    }
    // What does not speak the protocol gets no answer: it would not understand one.
    let opening = match ClientOpening::decode(&octets) {
        Ok(opening) => opening,
        Err(OpeningError::UnknownPurpose(_)) => {
            let _ = stream.write_all(&ServerOpening::answer(Status::Unknown, 0).encode());
            return;
        }
        Err(_) => return,
    };
    let Some(version) = agreed_version(&opening) else {
        let _ = stream.write_all(&ServerOpening::answer(Status::Version, 0).encode());
        return;
    };
    let _ = stream.set_nodelay(true);
    // A client whose host has vanished acknowledges nothing: its kernel's silence ends the connection.
    let _ = socket2::SockRef::from(&stream).set_tcp_user_timeout(Some(SILENCE_TIME));
    let _ = stream.set_write_timeout(Some(SILENCE_TIME));
    let answer = |mut stream: &TcpStream, status| {
        let version = if status == Status::Accepted { version } else { 0 };
        stream.write_all(&ServerOpening::answer(status, version).encode()).is_ok()
    };
    match opening.purpose {
        Purpose::Control => {
            options::insist(&stream);
            entrance::enter(stream, (peer, counted, unnamed), (&opening, &octets), version, &shared);
        }
        Purpose::Presence => match shared.sessions.find_for(&opening) {
            Some(session) => {
                session.prove(peer.ip());
                session.ways.prove(&stream);
                answer(&stream, Status::Accepted);
            }
            None => {
                answer(&stream, Status::Unknown);
            }
        },
        Purpose::Stream => {
            let test = shared.sessions.find_for(&opening).and_then(|session| {
                session.prove(peer.ip());
                session.attach(FlowId(opening.flow))
            });
            match test {
                Some(Attached::Flow(flow)) => {
                    drop(unnamed);
                    flow.serve(stream, &ServerOpening::answer(Status::Accepted, version).encode());
                }
                Some(Attached::TooMany) => {
                    answer(&stream, Status::Busy);
                }
                None => {
                    answer(&stream, Status::Unknown);
                }
            }
        }
    }
}
