//! The lab itself: two hosts and the link between them.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use rrul_model::flow::Direction;

use crate::clock;
use crate::emulator::{Lane, LaneReport};
use crate::error::Error;
use crate::host::Host;
use crate::line::counters::LinkCounters;
use crate::link::Link;
use crate::link::shaper::Shaper;
use crate::truth::{DirectionTruth, Truth};

/// The client's addresses; the server's are next to them, on the same link.
const CLIENT: (Ipv4Addr, Ipv6Addr) = (Ipv4Addr::new(10, 78, 0, 1), Ipv6Addr::new(0xfd78, 0, 0, 0, 0, 0, 0, 1));
const SERVER: (Ipv4Addr, Ipv6Addr) = (Ipv4Addr::new(10, 78, 0, 2), Ipv6Addr::new(0xfd78, 0, 0, 0, 0, 0, 0, 2));

/// A virtual link between two hosts, up and running. Dropping it takes everything away.
///
/// Several labs can be up at once; they do not see each other.
///
/// ```no_run
/// use rrul_lab::{Lab, Link};
/// let lab = Lab::up(&Link::builtin("cable_20_8_fq_codel")?, 1)?;
/// let listener = lab.server().run(|| std::net::TcpListener::bind("10.78.0.2:7785"))?;
/// let stream = lab.client().run(|| std::net::TcpStream::connect("10.78.0.2:7785"))?;
/// let packets_up = lab.truth()?.up.records().count();
/// # Ok::<(), rrul_lab::Error>(())
/// ```
#[derive(Debug)]
pub struct Lab {
    // The lanes are dropped, and their threads ended, before the hosts that they serve.
    up: Lane,
    down: Lane,
    client: Host,
    server: Host,
}

impl Lab {
    /// Brings up two hosts with `link` between them. The seed decides every draw of chance; see [`Link`].
    ///
    /// Needs what [`available`] asks for.
    pub fn up(link: &Link, seed: u64) -> Result<Self, Error> {
        let (client, client_tun) = Host::start("client", CLIENT.0, CLIENT.1)?;
        let (server, server_tun) = Host::start("server", SERVER.0, SERVER.1)?;
        let (client_tun, server_tun) = (Arc::new(client_tun), Arc::new(server_tun));
        let (up, down) = Lane::pair(link, seed, &client_tun, &server_tun)?;
        Ok(Self { up, down, client, server })
    }

    /// The host at the user's end.
    pub fn client(&self) -> &Host {
        &self.client
    }

    /// The server host.
    pub fn server(&self) -> &Host {
        &self.server
    }

    /// Changes the link while it runs; see [`crate::line::pipe::Pipe::set`]. Both directions are changed when this returns,
    /// the upward one first.
    pub fn set(&self, link: &Link) -> Result<(), Error> {
        self.up.set(link)?;
        self.down.set(link)
    }

    /// Changes, adds or removes the shaper of one direction while it runs; see [`crate::line::pipe::Pipe::set_shaper`]. It is
    /// in force when this returns.
    pub fn set_shaper(&self, direction: Direction, shaper: Option<&Shaper>) -> Result<(), Error> {
        match direction {
            Direction::Up => self.up.set_shaper(shaper),
            Direction::Down => self.down.set_shaper(shaper),
        }
    }

    /// Counters of the queues, the upward ones taken first.
    pub fn counters(&self) -> Result<LinkCounters, Error> {
        Ok(LinkCounters { up: self.up.counters()?, down: self.down.counters()? })
    }

    /// What was logged so far; what is still under way is not in it. May be taken again and again.
    pub fn truth(&self) -> Result<Truth, Error> {
        let (up, down) = (self.up.report()?, self.down.report()?);
        let realtime = up.realtime && down.realtime;
        let taken = clock::now();
        Ok(Truth { up: truth_of(up, &self.client)?, down: truth_of(down, &self.server)?, taken, realtime })
    }
}

fn truth_of(report: LaneReport, sender: &Host) -> Result<DirectionTruth, Error> {
    let LaneReport { chunks, forgotten, refused, .. } = report;
    Ok(DirectionTruth { chunks, forgotten, missed: sender.missed()?, refused })
}

/// Whether a lab can be brought up by this process; if not, the reason and what to do about it.
///
/// It takes `/dev/net/tun` and the right to make a network namespace: root, or [`crate::enter_user_namespace`] and a
/// `/dev/net/tun` that users may open. It is found out by trying: a host is made and taken away again.
pub fn available() -> Result<(), Error> {
    Host::start("trial", CLIENT.0, CLIENT.1).map(|_| ())
}
