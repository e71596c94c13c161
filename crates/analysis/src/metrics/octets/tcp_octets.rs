//! The bytes of a TCP connection on the link, from the kernel's counters at both ends.
//!
//! What arrived is counted by the receiver: its kernel counts segments as the wire had them, whatever offloading does,
//! and a sender's count includes what the first queue threw away. The number of acknowledgments is read and never
//! guessed. Not counted but estimated are the bytes of selective acknowledgments (`selective_acknowledgements.rs`).

use rrul_model::flow::{AddressFamily, Direction};
use rrul_model::observation::{TcpInfo, receiver, sender};
use rrul_model::time::TestTime;

use crate::metrics::octets::selective_acknowledgements;
use crate::metrics::octets::traffic::{Basis, Connection, LoadStream, Packets, Part, Readings, Traffic};
use crate::statistics::counter::Counter;

/// IP and TCP header without options.
pub(crate) fn header_octets(family: AddressFamily) -> u64 {
    u64::from(family.tcp_header_octets())
}

/// The same of a segment of data, with the options that a connection has by `TCPI_OPT_*`.
pub(crate) fn data_header_octets(family: AddressFamily, options: u8) -> u64 {
    header_octets(family) + if options & TIMESTAMPS_IN_USE == 0 { 0 } else { TIMESTAMPS }
}

/// IP and UDP header, or IP and ICMP header.
pub(crate) fn datagram_header_octets(family: AddressFamily) -> u64 {
    u64::from(family.udp_header_octets())
}

/// The timestamps option with its padding (RFC 7323).
pub(crate) const TIMESTAMPS: u64 = 12;
/// `TCPI_OPT_TIMESTAMPS`.
pub(crate) const TIMESTAMPS_IN_USE: u8 = 1;
/// Packet size where nothing is known of the path: Ethernet's.
pub(crate) const USUAL_MTU: u64 = 1500;
/// Acknowledgments of a data segment where no host counted them (RFC 9293 section 3.8.6.3: every second one).
const USUAL_ACKNOWLEDGEMENTS: f64 = 0.5;

/// Puts one connection's packets into the traffic; whether anything is known of them.
pub(crate) fn count<'a>(
    connection: Connection,
    readings: Readings<'a>,
    octets: Option<Vec<(TestTime, u64)>>,
    traffic: &mut Traffic<'a>,
) -> bool {
    let mut known = false;
    for direction in Direction::ALL {
        let here = readings.at(receiver(direction));
        let there = readings.at(sender(direction));
        let segments =
            Segments { connection, direction, peer: there, option: selective_acknowledgements::option(here) };
        let carried = segments.arrived(here);
        known |= !carried.is_empty();
        traffic.carried.extend(carried);
        traffic.offered.extend(segments.left(there));
    }
    if let Some(direction) = connection.load {
        let stream = load_stream(connection, direction, readings, octets.unwrap_or_default());
        let [data, acknowledgements] = &stream.estimate;
        if readings.at(receiver(direction)).is_empty() && !connection.is_many {
            traffic.carried.push(data.clone());
        }
        if readings.at(sender(direction)).is_empty() && !connection.is_many {
            traffic.carried.push(acknowledgements.clone());
        }
        known |= stream.goodput.last().is_some();
        traffic.streams.push(stream);
    }
    known
}

/// Segments of a connection that go in one direction.
struct Segments<'a> {
    connection: Connection,
    direction: Direction,
    /// The end that sends them.
    peer: &'a [TcpInfo],
    /// Bytes of their selective acknowledgments, where they bear any.
    option: u64,
}

impl Segments<'_> {
    /// The part that they belong to: what goes against a load is its acknowledgments.
    fn part(&self) -> Part {
        match self.connection.load {
            Some(load) if load != self.direction => Part::LoadAcknowledgements,
            _ => self.connection.part,
        }
    }

    /// As the receiver's kernel counted them.
    fn arrived(&self, here: &[TcpInfo]) -> Vec<Packets> {
        let Some(last) = here.last() else { return Vec::new() };
        let header = self.header(last);
        let payload = self.payload_arrived(here);
        let sent = self.peer.last().map_or(0, |peer| peer.segs_out);
        let delivered = if sent > 0 { (f64::from(last.segs_in) / f64::from(sent)).min(1.0) } else { 1.0 };
        let selective = selective_acknowledgements::sent(self.peer, delivered);
        let plain = |row: &TcpInfo| u64::from(row.segs_in.saturating_sub(row.data_segs_in));
        let data = |row: &TcpInfo| u64::from(row.data_segs_in);
        self.packets(here, header, data, plain, &payload, &selective)
    }

    /// As the sender's kernel counted them.
    fn left(&self, there: &[TcpInfo]) -> Vec<Packets> {
        let Some(last) = there.last() else { return Vec::new() };
        let header = self.header(last);
        let payload = Counter::new(there.iter().map(|row| (row.at, row.bytes_sent)).collect());
        let selective = selective_acknowledgements::sent(there, 1.0);
        let plain = |row: &TcpInfo| u64::from(row.segs_out.saturating_sub(row.data_segs_out));
        let data = |row: &TcpInfo| u64::from(row.data_segs_out);
        self.packets(there, header, data, plain, &payload, &selective)
    }

    fn header(&self, last: &TcpInfo) -> u64 {
        let either = last.options | self.peer.last().map_or(0, |peer| peer.options);
        data_header_octets(self.connection.family, either)
    }

    /// Payload that arrived, duplicates included.
    ///
    /// Of load, the segments times their mean payload as it was sent: bytes in order stand still while one segment is
    /// missing. Other connections have segments of every length: of those, bytes in order, and beside them as many
    /// segments of mean length as were reported to the sender as received twice (D-SACK, RFC 2883).
    fn payload_arrived(&self, here: &[TcpInfo]) -> Counter {
        if self.connection.load.is_some() {
            let mean = self.mean_payload(here);
            let arrived = |row: &TcpInfo| (row.at, (f64::from(row.data_segs_in) * mean).round() as u64);
            return Counter::new(here.iter().map(arrived).collect());
        }
        let duplicates = Counter::new(self.peer.iter().map(|row| (row.at, u64::from(row.dsack_dups))).collect());
        let arrived = |(row, duplicates): (&TcpInfo, f64)| {
            let mean = row.bytes_received as f64 / f64::from(row.data_segs_in.max(1));
            (row.at, row.bytes_received.saturating_add((duplicates * mean).round() as u64))
        };
        let duplicates = duplicates.at_each(here.iter().map(|row| row.at));
        Counter::new(here.iter().zip(duplicates).map(arrived).collect())
    }

    /// Payload of a data segment, the mean over all that were sent.
    fn mean_payload(&self, here: &[TcpInfo]) -> f64 {
        let last_sent = self.peer.iter().rev().find(|row| row.data_segs_out > 0 && row.bytes_sent > 0);
        if let Some(row) = last_sent {
            return row.bytes_sent as f64 / f64::from(row.data_segs_out);
        }
        // From this end alone: duplicates would count as shorter segments, so the largest share seen is nearest.
        let seen = here.iter().filter(|row| row.data_segs_in > 0);
        let shares = seen.map(|row| row.bytes_received as f64 / f64::from(row.data_segs_in));
        shares.fold(0.0, f64::max)
    }

    fn packets(
        &self,
        rows: &[TcpInfo],
        header: u64,
        data: impl Fn(&TcpInfo) -> u64,
        plain: impl Fn(&TcpInfo) -> u64,
        payload: &Counter,
        selective: &Counter,
    ) -> Vec<Packets> {
        let over = |of: &dyn Fn(&TcpInfo) -> u64| Counter::new(rows.iter().map(|row| (row.at, of(row))).collect());
        let times = rows.iter().map(|row| row.at);
        let selective = selective.at_each(times.clone()).map(|count| count.round() as u64);
        let (without, with) = apart(rows.iter().zip(selective).map(|(row, count)| (row.at, plain(row), count)));
        let payload = payload.at_each(times).map(|octets| octets.round() as u64);
        let of_data = |(row, payload): (&TcpInfo, u64)| (row.at, (data(row) * header).saturating_add(payload));
        let kinds = [
            (over(&data), Counter::new(rows.iter().zip(payload).map(of_data).collect())),
            (without.clone(), without.times(header)),
            (with.clone(), with.times(header + self.option)),
        ];
        let begun = |counter: Counter| counter.starting_from_zero_at(self.connection.from);
        let packets = |(count, octets)| Packets {
            part: self.part(),
            family: self.connection.family,
            direction: self.direction,
            basis: Basis::Counted,
            count: begun(count),
            octets: begun(octets),
        };
        kinds.into_iter().map(packets).collect()
    }
}

/// Segments without data over time, those without and those with selective acknowledgments apart: with them as many as
/// are reported, and never more than new ones. The two counts are of different hosts: a report that comes first applies
/// to the segments that come later.
fn apart(counts: impl Iterator<Item = (TestTime, u64, u64)>) -> (Counter, Counter) {
    let (mut without, mut with) = (Vec::new(), Vec::new());
    let (mut before, mut taken): (u64, u64) = (0, 0);
    for (at, all, selective) in counts {
        let new = all.saturating_sub(before);
        taken += selective.saturating_sub(taken).min(new);
        before = before.max(all);
        without.push((at, before - taken));
        with.push((at, taken));
    }
    (Counter::new(without), Counter::new(with))
}

fn load_stream(
    connection: Connection,
    direction: Direction,
    readings: Readings<'_>,
    octets: Vec<(TestTime, u64)>,
) -> LoadStream<'_> {
    let [here, there] = [receiver(direction), sender(direction)].map(|point| readings.at(point));
    let begun = |counter: Counter| counter.starting_from_zero_at(connection.from);
    let over = |rows: &[TcpInfo], of: fn(&TcpInfo) -> u64| {
        begun(Counter::new(rows.iter().map(|row| (row.at, of(row))).collect()))
    };
    let known = !here.is_empty() && !there.is_empty();
    let segments = Segments { connection, direction, peer: there, option: selective_acknowledgements::option(here) };
    LoadStream {
        direction,
        family: connection.family,
        payload: known.then(|| begun(segments.payload_arrived(here))),
        sent: (!there.is_empty()).then(|| (over(there, |row| row.bytes_sent), over(there, |row| row.bytes_retrans))),
        estimate: estimate(connection, direction, &octets),
        goodput: begun(Counter::new(octets)),
        readings: [here, there],
    }
}

/// What a program can estimate from the delivered bytes alone: full segments, each second one acknowledged.
fn estimate(connection: Connection, direction: Direction, octets: &[(TestTime, u64)]) -> [Packets; 2] {
    let header = header_octets(connection.family) + TIMESTAMPS;
    let segment = USUAL_MTU - header;
    let segments = |octets: u64| octets.div_ceil(segment);
    let acknowledgements = |octets: u64| (segments(octets) as f64 * USUAL_ACKNOWLEDGEMENTS).round() as u64;
    let over = |of: &dyn Fn(u64) -> u64| {
        Counter::new(octets.iter().map(|(at, octets)| (*at, of(*octets))).collect())
            .starting_from_zero_at(connection.from)
    };
    let packets = |part, direction, count, octets| Packets {
        part,
        family: connection.family,
        direction,
        basis: Basis::Estimated,
        count,
        octets,
    };
    let data = packets(
        Part::LoadData,
        direction,
        over(&segments),
        over(&|octets| octets.saturating_add(segments(octets).saturating_mul(header))),
    );
    let acknowledgements = packets(
        Part::LoadAcknowledgements,
        direction.opposite(),
        over(&acknowledgements),
        over(&|octets| acknowledgements(octets).saturating_mul(header)),
    );
    [data, acknowledgements]
}
