//! The bytes of connections that are opened one after another and carry something: short flows, pages.
//!
//! Each end has read, as a connection ended, what its kernel had counted of it. What arrived is counted by the receiver, and
//! spread over the time in which the connection stood: evenly between the available readings, by what each had counted.

use std::collections::BTreeMap;

use rrul_model::flow::{Component, Direction, FlowSpec};
use rrul_model::observation::{ConnectionTotals, ObservationPoint, receiver, sender};
use rrul_model::time::TestTime;

use crate::metrics::octets::tcp_octets::{
    TIMESTAMPS, USUAL_MTU, data_header_octets, datagram_header_octets, header_octets,
};
use crate::metrics::octets::traffic::{Basis, Loose, Packets, Part, Traffic};
use crate::statistics::counter::{Counter, nanoseconds};

/// Options of a SYN segment beside timestamps: maximum segment size, SACK permitted, window scale.
const SYN_OPTIONS: u64 = 8;
/// What a segment that arrives out of order adds to an acknowledgment, the mean over many links: 4 bytes with padding,
/// and 8 for each block, in most of the acknowledgments that such segments get.
const SELECTIVE: u64 = 16;
/// IP protocol number of UDP.
const UDP: u8 = 17;

/// The readings of one connection at both ends, each end's in order of time.
#[derive(Debug, Clone, Default)]
struct Ends([Vec<ConnectionTotals>; 2]);

impl Ends {
    fn at(&self, point: ObservationPoint) -> Option<&ConnectionTotals> {
        self.0[point as usize].last()
    }

    /// How what travelled in one direction is spread over time: by what the end with most readings had counted.
    fn shape(&self, flow: &FlowSpec, direction: Direction) -> Vec<Share> {
        let [client, server] = &self.0;
        let (point, rows) = if server.len() > client.len() {
            (ObservationPoint::Server, server)
        } else {
            (ObservationPoint::Client, client)
        };
        let Some(last) = rows.last() else { return Vec::new() };
        let came = point == receiver(direction);
        let counted = |row: &ConnectionTotals| octets_by(flow, row, last, came);
        let total = counted(last).max(1.0);
        let (mut from, mut before) = (last.started, 0.0);
        let mut shares = Vec::with_capacity(rows.len());
        for row in rows {
            let part = (counted(row) - before).max(0.0) / total;
            shares.push(Share { from, to: row.ended, part });
            (from, before) = (row.ended, counted(row).max(before));
        }
        shares
    }
}

/// Bytes that had travelled by a reading, as far as its counters say: those without data are short, and a connection begins
/// with them. Segments with data are as long as the mean of all; bytes in order would stand still behind a hole.
fn octets_by(flow: &FlowSpec, row: &ConnectionTotals, last: &ConnectionTotals, came: bool) -> f64 {
    let counts = |row: &ConnectionTotals| {
        if came {
            (row.received_segments, row.received_data_segments, row.received_octets)
        } else {
            (row.sent_segments, row.sent_data_segments, row.sent_octets)
        }
    };
    let (segments, data, octets) = counts(row);
    let (_, all_data, all_octets) = counts(last);
    if row.transport == UDP {
        return octets as f64 + f64::from(segments) * datagram_header_octets(flow.family) as f64;
    }
    let headers = f64::from(segments) * (header_octets(flow.family) + TIMESTAMPS) as f64;
    headers + f64::from(data) * all_octets as f64 / f64::from(all_data.max(1))
}

/// A stretch of time and the share of a connection's bytes that travelled in it.
#[derive(Debug, Clone, Copy)]
struct Share {
    from: TestTime,
    to: TestTime,
    part: f64,
}

/// Something that travelled while a connection stood.
#[derive(Debug, Clone)]
struct Piece {
    shape: Vec<Share>,
    count: u64,
    octets: u64,
}

/// Puts the connections of one flow into the traffic; `totals` are what each end noted.
pub(crate) fn count(flow: &FlowSpec, totals: &[Vec<ConnectionTotals>; 2], traffic: &mut Traffic<'_>) {
    // The ends of pages number connections each for itself: of them one end's numbers say nothing of the other's.
    let paired = flow.component != Component::Web;
    let mut connections: BTreeMap<(u32, usize), Ends> = BTreeMap::new();
    for point in [ObservationPoint::Client, ObservationPoint::Server].map(|point| point as usize) {
        for row in &totals[point] {
            let key = (row.connection, if paired { 0 } else { point });
            connections.entry(key).or_default().0[point].push(*row);
        }
    }
    for ends in connections.values_mut() {
        ends.0.iter_mut().for_each(|rows| rows.sort_by_key(|row| row.ended));
    }
    for direction in Direction::ALL {
        let (here, there) = (receiver(direction), sender(direction));
        let mut counted = Vec::new();
        let mut estimated = Vec::new();
        let mut offered = Vec::new();
        let reported = |point: ObservationPoint| !totals[point as usize].is_empty();
        for ends in connections.values() {
            let shape = ends.shape(flow, direction);
            let left = ends.at(there).map(|row| sent(flow, row, ends.at(here), shape.clone()));
            let arrived = ends.at(here).map(|row| received(flow, row, ends.at(there), shape));
            // Where the other end's counters are missing but it has answered: each retransmission stands for a loss.
            let answered = ends.at(there).filter(|row| row.received_segments > 0);
            let alone = arrived.is_none() && (paired || !reported(here));
            let once = |row: &ConnectionTotals| sent_once(flow, row, left.clone());
            estimated.extend(answered.filter(|_| alone).and_then(once));
            offered.extend(left.or_else(|| arrived.clone().filter(|_| paired || !reported(there))));
            counted.extend(arrived);
        }
        let part = Part::in_direction(flow, direction);
        let packets = |basis, pieces: &[Piece]| Packets {
            part,
            family: flow.family,
            direction,
            basis,
            count: spread(pieces, |piece| piece.count),
            octets: spread(pieces, |piece| piece.octets),
        };
        let stretches = counted.iter().chain(&estimated).flat_map(|piece| {
            let loose = |share: &Share| Loose {
                part,
                direction,
                from: share.from,
                to: share.to,
                octets: piece.octets as f64 * share.part,
            };
            piece.shape.iter().map(loose).collect::<Vec<Loose>>()
        });
        traffic.loose.extend(stretches);
        traffic.carried.push(packets(Basis::Counted, &counted));
        if !estimated.is_empty() {
            traffic.carried.push(packets(Basis::Estimated, &estimated));
        }
        traffic.offered.push(packets(Basis::Counted, &offered));
    }
}

/// What arrived at this end.
fn received(flow: &FlowSpec, row: &ConnectionTotals, peer: Option<&ConnectionTotals>, shape: Vec<Share>) -> Piece {
    let count = u64::from(row.received_segments);
    let payload = peer.map_or(row.received_octets, |peer| payload_received(flow, row, peer));
    let octets = octets(flow, row, peer, count, payload, peer.map_or(0, |peer| peer.out_of_order));
    Piece { shape, count, octets }
}

/// Returns the payload that arrived, duplicates included.
///
/// The receiver counts bytes in order and segments. When no more segments arrived than were sent for the first time, none
/// is a duplicate. Otherwise they are as long as the mean of all that were sent.
fn payload_received(flow: &FlowSpec, row: &ConnectionTotals, peer: &ConnectionTotals) -> u64 {
    if peer.transport == UDP || peer.retransmitted_octets == 0 {
        return row.received_octets;
    }
    let (arrived, sent) = (u64::from(row.received_data_segments), u64::from(peer.sent_data_segments).max(1));
    let first = sent.saturating_sub(retransmitted_segments(flow, peer)).max(1);
    // Behind a segment that is missing for good, bytes in order stand still.
    let by_count = if arrived <= first {
        arrived.saturating_mul(first_octets(peer)) / first
    } else {
        arrived.saturating_mul(peer.sent_octets) / sent
    };
    row.received_octets.max(by_count)
}

fn first_octets(row: &ConnectionTotals) -> u64 {
    row.sent_octets.saturating_sub(row.retransmitted_octets)
}

/// What this end sent, without retransmissions.
fn sent_once(flow: &FlowSpec, row: &ConnectionTotals, sent: Option<Piece>) -> Option<Piece> {
    let segments = retransmitted_segments(flow, row);
    let octets =
        row.retransmitted_octets.saturating_add(segments.saturating_mul(header_octets(flow.family) + TIMESTAMPS));
    let piece = sent?;
    let (count, octets) = (piece.count.saturating_sub(segments), piece.octets.saturating_sub(octets));
    Some(Piece { count, octets, ..piece })
}

/// Returns how many segments were retransmitted: as many full ones as their bytes make, and of the rest as many as the last
/// segment of the stream is short.
fn retransmitted_segments(flow: &FlowSpec, row: &ConnectionTotals) -> u64 {
    let full = USUAL_MTU - header_octets(flow.family) - TIMESTAMPS;
    let short = match first_octets(row) % full {
        0 => full,
        rest => rest,
    };
    let (whole, rest) = (row.retransmitted_octets / full, row.retransmitted_octets % full);
    let least = first_octets(row).div_ceil(full);
    (whole + (rest + short / 2) / short).min(u64::from(row.sent_data_segments).saturating_sub(least))
}

fn sent(flow: &FlowSpec, row: &ConnectionTotals, peer: Option<&ConnectionTotals>, shape: Vec<Share>) -> Piece {
    let count = u64::from(row.sent_segments);
    Piece { shape, count, octets: octets(flow, row, peer, count, row.sent_octets, row.out_of_order) }
}

/// Bytes of so many segments with this payload, headers and all.
fn octets(
    flow: &FlowSpec,
    row: &ConnectionTotals,
    peer: Option<&ConnectionTotals>,
    count: u64,
    payload: u64,
    out_of_order: u32,
) -> u64 {
    let headers = if row.transport == UDP {
        count.saturating_mul(datagram_header_octets(flow.family))
    } else {
        let either = row.options | peer.map_or(0, |peer| peer.options);
        let selective = u64::from(out_of_order).saturating_mul(SELECTIVE);
        let syn = if count > 0 { SYN_OPTIONS } else { 0 };
        count.saturating_mul(data_header_octets(flow.family, either)).saturating_add(selective).saturating_add(syn)
    };
    payload.saturating_add(headers)
}

/// How much of these there has been, over time.
fn spread(pieces: &[Piece], of: impl Fn(&Piece) -> u64) -> Counter {
    // Where the pace changes, and by how much; what takes no time is taken to take a nanosecond.
    let mut edges: Vec<(TestTime, f64)> = Vec::new();
    for piece in pieces {
        for Share { from, to, part } in piece.shape.iter().copied().filter(|share| share.part > 0.0) {
            let to = to.max(TestTime(from.0.saturating_add(1)));
            let pace = of(piece) as f64 * part / nanoseconds(from, to).max(1.0);
            edges.extend([(from, pace), (to, -pace)]);
        }
    }
    edges.sort_by_key(|(at, _)| *at);
    let (mut sum, mut pace) = (0.0_f64, 0.0_f64);
    let mut last: Option<TestTime> = None;
    let readings = edges.into_iter().map(|(at, change)| {
        sum += last.map_or(0.0, |last| nanoseconds(last, at)) * pace.max(0.0);
        pace += change;
        last = Some(at);
        (at, sum.round() as u64)
    });
    Counter::new(readings.collect())
}

#[cfg(test)]
mod tests {
    use rrul_model::flow::{AddressFamily, FlowId, Parameters};
    use rrul_model::marking::ServiceClass;
    use rrul_model::time::Window;

    use super::*;

    fn flow(family: AddressFamily, flow_type: &str) -> FlowSpec {
        FlowSpec {
            id: FlowId(0),
            name: String::new(),
            flow_type: flow_type.to_owned(),
            component: Component::Realtime,
            direction: None,
            family,
            class: ServiceClass::BE,
            window: Window { from: TestTime(0), to: TestTime(30) },
            parameters: Parameters::default(),
        }
    }

    fn nothing(flow: &FlowSpec) -> ConnectionTotals {
        ConnectionTotals {
            flow: flow.id,
            connection: 0,
            started: TestTime(0),
            ended: TestTime(30),
            transport: 6,
            options: 1,
            sent_octets: 0,
            retransmitted_octets: 0,
            received_octets: 0,
            sent_segments: 0,
            received_segments: 0,
            sent_data_segments: 0,
            received_data_segments: 0,
            out_of_order: 0,
        }
    }

    #[test]
    fn duplicates_are_as_long_as_the_mean_of_what_was_sent() {
        // 32 bytes open the connection, 10 000 follow in eight segments; full ones have 1428 bytes over IPv6.
        let flow = flow(AddressFamily::Ipv6, "short_flow");
        let end = nothing(&flow);
        let payload = |retransmitted: u32, segments: u32, in_order: u64| {
            let octets = u64::from(retransmitted) * 1428;
            let sender = ConnectionTotals {
                sent_octets: 10_032 + octets,
                retransmitted_octets: octets,
                sent_data_segments: 9 + retransmitted,
                ..end
            };
            let receiver = ConnectionTotals { received_octets: in_order, received_data_segments: segments, ..end };
            payload_received(&flow, &receiver, &sender)
        };
        assert_eq!(payload(0, 9, 10_032), 10_032, "nothing was lost");
        assert_eq!(payload(13, 9, 10_032), 10_032, "every retransmitted segment had been lost");
        // Two duplicates, of 1428 bytes in truth: the mean is 2 % too long here, and right over many connections.
        assert_eq!(payload(3, 11, 10_032), (10_032 + 3 * 1428) * 11 / 12);
        assert_eq!(payload(2, 6, 32), 10_032 * 6 / 9, "cut off with a hole after the first bytes");
    }

    #[test]
    fn bytes_follow_segments_with_data_not_those_that_open_the_connection() {
        let flow = FlowSpec { component: Component::Web, ..flow(AddressFamily::Ipv4, "web_page") };
        // Five segments without data first; then ten with 1448 bytes each, of which none is in order before the last.
        let reading = |ended, segments, data, octets| ConnectionTotals {
            flow: flow.id,
            connection: 0,
            started: TestTime(0),
            ended: TestTime(ended),
            transport: 6,
            options: 1,
            sent_octets: 0,
            retransmitted_octets: 0,
            received_octets: octets,
            sent_segments: 0,
            received_segments: segments,
            sent_data_segments: 0,
            received_data_segments: data,
            out_of_order: 0,
        };
        let rows = vec![reading(10, 5, 0, 0), reading(20, 10, 5, 0), reading(30, 15, 10, 14_480)];
        let shape = Ends([rows, Vec::new()]).shape(&flow, Direction::Down);
        let whole = 15.0 * 52.0 + 14_480.0;
        let parts = [5.0 * 52.0, 5.0 * 52.0 + 7_240.0, 5.0 * 52.0 + 7_240.0].map(|octets| octets / whole);
        for (share, part) in shape.iter().zip(parts) {
            assert!((share.part - part).abs() < 1e-9, "{share:?}, expected {part}");
        }
        assert_eq!(shape.len(), 3);
    }

    #[test]
    fn what_a_connection_carried_is_spread_over_its_time() {
        let share = |from, to, part| Share { from: TestTime(from), to: TestTime(to), part };
        let piece = |from, to, octets| Piece { shape: vec![share(from, to, 1.0)], count: 1, octets };
        let counter = spread(&[piece(0, 100, 1000), piece(50, 150, 2000), piece(200, 200, 7)], |piece| piece.octets);
        let at = |at: i64| counter.at(TestTime(at)).round() as i64;
        assert_eq!([-5, 0, 25, 50, 100, 125, 150, 199, 201].map(at), [0, 0, 250, 500, 2000, 2500, 3000, 3000, 3007]);
        let burst =
            Piece { shape: vec![share(0, 10, 0.75), share(10, 90, 0.0), share(90, 100, 0.25)], count: 1, octets: 1000 };
        let counter = spread(&[burst], |piece| piece.octets);
        assert_eq!(
            [5, 10, 50, 90, 95, 100].map(|at| counter.at(TestTime(at)).round() as i64),
            [375, 750, 750, 750, 875, 1000]
        );
    }
}
