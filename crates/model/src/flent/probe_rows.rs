//! Packets of pings and voice as rows of a recording.

use super::packet::{Fate, Packet, Packets, seen_there};
use super::timeline::Timeline;
use crate::flow::FlowId;
use crate::observation::{EchoReceived, PacketReceived, ProbeReceived, ProbeSent, ReflectorWindow, Tables};
use crate::time::TestTime;

/// Longest delay of a voice packet that is taken for one of matched clocks, milliseconds.
const MATCHED: f64 = 3000.0;

fn delay(milliseconds: f64) -> i64 {
    (milliseconds * 1e6).round() as i64
}

fn after(at: TestTime, milliseconds: f64) -> TestTime {
    TestTime(at.0.saturating_add(delay(milliseconds)))
}

fn push_sent(tables: &mut Tables, flow: FlowId, sequence: u32, sent: TestTime) {
    tables.push(ProbeSent { flow, sequence, scheduled: sent, sent }.into());
}

/// How far the server's clock is ahead of the client's, milliseconds, by the fastest of these packets.
///
/// As between two ends of rrul, the clocks are placed so that the smallest round trip is the same both ways. `None`
/// when no packet shows it.
pub(super) fn clock_offset<'a>(packets: impl Iterator<Item = &'a Packet>) -> Option<f64> {
    let both = packets.filter_map(|packet| match packet.fate {
        Fate::Answered { took, there: Some(there) } => Some((took, there)),
        _ => None,
    });
    both.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(took, there)| there - took / 2.0)
}

/// Packets that were answered one by one, some with the time at which they reached the server.
pub(super) fn probes(tables: &mut Tables, flow: FlowId, packets: &Packets, offset: f64, timeline: &Timeline) {
    let mut replies: Vec<ProbeReceived> = Vec::new();
    let mut echoes: Vec<EchoReceived> = Vec::new();
    let mut arrived = 0_u32;
    for packet in &packets.packets {
        let Some(sent) = timeline.at(packet.sent) else { continue };
        push_sent(tables, flow, packet.sequence, sent);
        let Fate::Answered { took, there } = packet.fate else {
            arrived = arrived.saturating_add(u32::from(packet.fate == Fate::Lost(super::document::LostWhere::Down)));
            continue;
        };
        let received = after(sent, took);
        arrived = arrived.saturating_add(1);
        let Some(there) = there else {
            echoes.push(EchoReceived { flow, sequence: packet.sequence, received, read: received });
            continue;
        };
        // The time at the server is already taken out of the round trip.
        let reflected = after(sent, there - offset);
        replies.push(ProbeReceived {
            flow,
            sequence: packet.sequence,
            received,
            read: received,
            reflector_received: reflected,
            reflector_sent: reflected,
            reflector_octet: 0,
            octet: 0,
            reflector_count: arrived,
        });
    }
    // Rows are in the order in which replies came.
    replies.sort_by_key(|row| row.received);
    echoes.sort_by_key(|row| row.received);
    for row in replies {
        tables.push(row.into());
    }
    for row in echoes {
        tables.push(row.into());
    }
    for seen in seen_there(&packets.packets) {
        let (sequence, window) = (seen.sequence, seen.window);
        tables.push(ReflectorWindow { flow, sequence, highest: sequence, window }.into());
    }
}

/// Packets of which each value is the one-way delay; whether these are of matched clocks.
pub(super) fn voice(
    sent_at: &mut Tables,
    received_at: &mut Tables,
    flow: FlowId,
    packets: &Packets,
    timeline: &Timeline,
) -> bool {
    let delays = packets.packets.iter().filter_map(|packet| match packet.fate {
        Fate::Answered { took, .. } => Some(took),
        Fate::Lost(_) => None,
    });
    let (least, most) =
        delays.fold((f64::MAX, 0.0), |(least, most), took| (f64::min(least, took), f64::max(most, took)));
    let matched = most <= MATCHED;
    let shift = if matched { 0.0 } else { least };
    let mut arrivals: Vec<PacketReceived> = Vec::new();
    for packet in &packets.packets {
        let took = match packet.fate {
            Fate::Answered { took, .. } => Some(took),
            Fate::Lost(_) => None,
        };
        let left = packet.sent + if took.is_some() { shift / 1e3 } else { 0.0 };
        let Some(sent) = timeline.at(left) else { continue };
        push_sent(sent_at, flow, packet.sequence, sent);
        if let Some(took) = took {
            let received = after(sent, took - shift);
            arrivals.push(PacketReceived { flow, sequence: packet.sequence, received, octet: 0 });
        }
    }
    arrivals.sort_by_key(|row| row.received);
    for row in arrivals {
        received_at.push(row.into());
    }
    matched
}

/// Means of exchanges: each is drawn where its time ends. Gives how many were of a stalled exchange and left out.
pub(super) fn exchanges(
    tables: &mut Tables,
    flow: FlowId,
    means: impl Iterator<Item = (f64, f64)>,
    timeline: &Timeline,
) -> usize {
    /// Longer than this no exchange took, milliseconds: the one that did lost its packet and waited.
    const STALLED: f64 = 2000.0;
    let mut means: Vec<(f64, f64)> = means.collect();
    means.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut stalled = 0;
    let mut sequence = 0;
    for (sent, took) in means {
        if !(0.0..=STALLED).contains(&took) {
            stalled += usize::from(took > STALLED);
            continue;
        }
        let Some(sent) = timeline.at(sent) else { continue };
        let received = after(sent, took);
        push_sent(tables, flow, sequence, sent);
        tables.push(EchoReceived { flow, sequence, received, read: received }.into());
        sequence += 1;
    }
    stalled
}
