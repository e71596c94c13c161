//! What ICMP says of one flow's packets, gathered so that a flood of messages makes few rows.

use std::net::IpAddr;

use rrul_model::flow::FlowId;
use rrul_model::observation::IcmpMessage;
use rrul_model::time::TestTime;
use rrul_model::units::Delay;
use socket2::Socket;

use crate::observer::ObservationSink;
use crate::socket::control_message::IcmpReport;

/// Messages of one kind within this are noted together.
const TOGETHER: Delay = Delay(1_000_000_000);

/// Kinds that are distinguished; what else comes is left out. A flow sees one or two.
const KINDS: usize = 8;

/// The ICMP messages of one flow.
#[derive(Debug)]
pub(super) struct IcmpWatch {
    flow: FlowId,
    server: Option<IpAddr>,
    kinds: Vec<Kind>,
}

#[derive(Debug)]
struct Kind {
    /// What is to be noted next; its count is that of the messages since the last row.
    row: IcmpMessage,
    noted: TestTime,
}

impl IcmpWatch {
    /// Creates the watch of the flow that uses this connected socket.
    pub(super) fn new(flow: FlowId, socket: &Socket) -> Self {
        let server = socket.peer_addr().ok().and_then(|peer| Some(peer.as_socket()?.ip().to_canonical()));
        Self { flow, server, kinds: Vec::with_capacity(KINDS) }
    }

    /// A message has been read.
    pub(super) fn take(&mut self, report: IcmpReport, now: TestTime, sink: &mut ObservationSink<'_>) {
        let from_server = u8::from(report.offender.is_some() && report.offender == self.server);
        let IcmpReport { kind, code, mtu, .. } = report;
        let row = IcmpMessage { flow: self.flow, at: now, kind, code, from_server, mtu, count: 1 };
        let alike =
            |entry: &&mut Kind| (entry.row.kind, entry.row.code, entry.row.from_server) == (kind, code, from_server);
        if let Some(entry) = self.kinds.iter_mut().find(alike) {
            entry.row = IcmpMessage { count: entry.row.count.saturating_add(1), ..row };
            if now.since(entry.noted) >= TOGETHER {
                entry.note(now, sink);
            }
        } else if self.kinds.len() < KINDS {
            let mut entry = Kind { row, noted: now };
            entry.note(now, sink);
            self.kinds.push(entry);
        }
    }

    /// The flow ends: what has not been noted yet is.
    pub(super) fn finish(&mut self, now: TestTime, sink: &mut ObservationSink<'_>) {
        for entry in self.kinds.iter_mut().filter(|entry| entry.row.count > 0) {
            entry.note(now, sink);
        }
    }
}

impl Kind {
    fn note(&mut self, now: TestTime, sink: &mut ObservationSink<'_>) {
        sink.note(self.row);
        self.row.count = 0;
        self.noted = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::RawTime;
    use crate::clock::test_clock::TestClock;
    use crate::observer::Observer;
    use rrul_model::observation::ObservationPoint;
    use std::net::{Ipv4Addr, SocketAddr};

    fn rows(messages: &[(i64, u8)]) -> Vec<(i64, u8, u8, u32)> {
        let server = Ipv4Addr::new(127, 0, 0, 9);
        let socket = Socket::new(socket2::Domain::IPV4, socket2::Type::DGRAM, None).unwrap();
        socket.connect(&SocketAddr::from((server, 9)).into()).unwrap();
        let observer = Observer::new(ObservationPoint::Client);
        let mut sink = observer.sink(100);
        let mut watch = IcmpWatch::new(FlowId(1), &socket);
        for (milliseconds, code) in messages {
            let offender = Some(if *code == 3 { server.into() } else { Ipv4Addr::LOCALHOST.into() });
            let report = IcmpReport { kind: 3, code: *code, mtu: 0, offender };
            watch.take(report, TestTime(milliseconds * 1_000_000), &mut sink);
        }
        watch.finish(TestTime(99_000_000_000), &mut sink);
        let frames = observer.collect(TestClock::since(RawTime(0)));
        let rows = frames.iter().flat_map(|frame| frame.tables.icmp_message.rows());
        rows.map(|row| (row.at.0 / 1_000_000, row.code, row.from_server, row.count)).collect()
    }

    #[test]
    fn the_first_message_is_noted_at_once_and_the_others_by_the_second() {
        assert_eq!(rows(&[(10, 3)]), [(10, 3, 1, 1)]);
        let many: Vec<_> = (0..250).map(|n| (10 * n, 3)).collect();
        assert_eq!(rows(&many), [(0, 3, 1, 1), (1000, 3, 1, 100), (2000, 3, 1, 100), (2490, 3, 1, 49)]);
    }

    #[test]
    fn kinds_are_distinguished_and_none_takes_room_without_end() {
        assert_eq!(rows(&[(10, 3), (11, 1), (12, 3)]), [(10, 3, 1, 1), (11, 1, 0, 1), (12, 3, 1, 1)]);
        let codes: Vec<_> = (0..200).map(|code| (10, code)).collect();
        assert_eq!(rows(&codes).len(), KINDS);
    }
}
