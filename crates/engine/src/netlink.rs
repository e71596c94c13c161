//! Asking the kernel over netlink (netlink(7), RFC 3549): one request, its answers.
//!
//! As little as rrul needs of it. Where a system lets no program ask (a strict container, another kernel), every question
//! ends in an error, and what would have been learned stays unknown.

pub mod attributes;
pub mod message;

use std::io::{self, Read};
use std::time::Duration;

use socket2::{Domain, Protocol, Socket, Type};

use message::{Message, messages};

/// Links, routes, queue disciplines.
pub const ROUTE: i32 = libc::NETLINK_ROUTE;
/// Families that are found by name.
pub const GENERIC: i32 = libc::NETLINK_GENERIC;

/// Everything. The kernel marks the end of the list.
pub const DUMP: u16 = libc::NLM_F_DUMP as u16;
/// One thing. The kernel is to acknowledge the question: about some things it says nothing else.
pub const ONE: u16 = libc::NLM_F_ACK as u16;

/// The kernel answers at once; longer than this it is not waited for.
const PATIENCE: Duration = Duration::from_millis(500);

/// The kernel puts at most 32 KiB into one answer of many.
const ANSWER_OCTETS: usize = 64 << 10;

/// A socket to the kernel, in the network namespace of the thread that opened it.
#[derive(Debug)]
pub struct Netlink {
    socket: Socket,
    sequence: u32,
    octets: Vec<u8>,
}

impl Netlink {
    /// Opens one for [`ROUTE`] or [`GENERIC`].
    ///
    /// # Errors
    /// Where the system has or allows none.
    pub fn open(protocol: i32) -> io::Result<Self> {
        let socket = Socket::new(Domain::from(libc::AF_NETLINK), Type::RAW, Some(Protocol::from(protocol)))?;
        socket.set_read_timeout(Some(PATIENCE))?;
        Ok(Self { socket, sequence: 0, octets: vec![0; ANSWER_OCTETS] })
    }

    /// Asks, and hands the kind and the content of every answer to `take`.
    ///
    /// # Errors
    /// What the kernel says instead of an answer, or that it says nothing in time.
    pub fn ask(
        &mut self,
        kind: u16,
        how_many: u16,
        content: &[u8],
        take: &mut dyn FnMut(u16, &[u8]),
    ) -> io::Result<()> {
        self.sequence = self.sequence.wrapping_add(1);
        // Without an address a request goes to the kernel.
        self.socket.send(&message::request(kind, how_many, self.sequence, content))?;
        loop {
            let length = (&self.socket).read(&mut self.octets)?;
            for message in messages(&self.octets[..length]) {
                if message.sequence() != self.sequence {
                    // An answer to a question that was given up.
                    continue;
                }
                match message {
                    Message::Error { code: 0, .. } | Message::Done { .. } => return Ok(()),
                    Message::Error { code, .. } => return Err(io::Error::from_raw_os_error(-code)),
                    Message::Answer { kind, content, .. } => take(kind, content),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_lists_its_links_and_refuses_what_is_missing() {
        let mut netlink = Netlink::open(ROUTE).unwrap();
        let mut links = 0;
        netlink
            .ask(libc::RTM_GETLINK, DUMP, &[0; 16], &mut |kind, _| links += u32::from(kind == libc::RTM_NEWLINK))
            .unwrap();
        assert!(links >= 1, "a loopback interface always exists");
        let mut nowhere = [0; 16];
        nowhere[4..8].copy_from_slice(&i32::MAX.to_ne_bytes());
        let refused = netlink.ask(libc::RTM_GETLINK, ONE, &nowhere, &mut |_, _| panic!("an answer")).unwrap_err();
        assert_eq!(refused.raw_os_error(), Some(libc::ENODEV));
    }
}
