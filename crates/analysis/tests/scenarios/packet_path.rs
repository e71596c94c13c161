//! A path that loses, doubles and delays chosen packets, and the rows that both ends would observe of it.

use std::collections::BTreeSet;

use rrul_model::flow::FlowId;
use rrul_model::observation::{PacketReceived, ProbeReceived, ReflectorWindow};
use rrul_model::time::TestTime;

use crate::builder::{CLOCK_OFFSET, Client, HELD, MS, Scenario, Server};

/// One packet in so many milliseconds.
pub(crate) const INTERVAL: i64 = 10 * MS;
/// Packets from 0 to 20 s.
pub(crate) const PACKETS: u32 = 2000;
/// Each way of the path.
const DELAY: i64 = 9 * MS;

/// What a way does to its packets, by their number in the order of sending.
#[derive(Default)]
pub(crate) struct Harm {
    pub(crate) loses: BTreeSet<u32>,
    pub(crate) doubles: BTreeSet<u32>,
    /// These take so much longer, nanoseconds.
    pub(crate) delays: Vec<(u32, i64)>,
}

impl Harm {
    /// When the copies of a packet that is sent at `at` arrive.
    fn carry(&self, number: u32, at: i64) -> Vec<i64> {
        if self.loses.contains(&number) {
            return Vec::new();
        }
        let extra = self.delays.iter().find(|(delayed, _)| *delayed == number).map_or(0, |(_, extra)| *extra);
        let arrival = at + DELAY + extra;
        if self.doubles.contains(&number) { vec![arrival, arrival + 1000] } else { vec![arrival] }
    }
}

/// When a packet is sent.
pub(crate) fn sent_at(number: u32) -> i64 {
    5 * MS + i64::from(number) * INTERVAL
}

/// What was true of one way: packets in the order of sending and what arrived in the order of arrival, each with the time
/// at which its test packet was sent.
#[derive(Default)]
pub(crate) struct TrueWay {
    pub(crate) sent: Vec<(u32, i64)>,
    pub(crate) arrived: Vec<(u32, i64)>,
}

/// The rows of a flow over this path. Returns what was true, up and down.
pub(crate) fn observe(scenario: &mut Scenario, flow: FlowId, up: &Harm, down: &Harm) -> [TrueWay; 2] {
    let (mut there, mut back) = (TrueWay::default(), TrueWay::default());
    let mut arrivals = Vec::new();
    for number in 0..PACKETS {
        let at = sent_at(number);
        scenario.sent(flow, number, at);
        there.sent.push((number, at));
        arrivals.extend(up.carry(number, at).into_iter().map(|arrival| (arrival, number)));
    }
    arrivals.sort_unstable();
    let mut replies = Vec::new();
    let mut seen = BTreeSet::new();
    for (count, (arrival, number)) in (1..).zip(arrivals) {
        there.arrived.push((number, sent_at(number)));
        seen.insert(number);
        let received = TestTime(arrival + CLOCK_OFFSET);
        scenario.observe(Server, received.0, PacketReceived { flow, sequence: number, received, octet: 0 });
        back.sent.push((count, sent_at(number)));
        let highest = *seen.last().unwrap();
        let has_arrived = |behind: u32| highest.checked_sub(behind).is_some_and(|number| seen.contains(&number));
        let window = (0..64).filter(|behind| has_arrived(*behind)).map(|behind| 1_u64 << behind).sum();
        let reply = ProbeReceived {
            flow,
            sequence: number,
            received: TestTime(0),
            read: TestTime(0),
            reflector_received: received,
            reflector_sent: TestTime(received.0 + HELD),
            reflector_octet: 0,
            octet: 0,
            reflector_count: count,
        };
        for at in down.carry(count - 1, arrival + HELD) {
            replies.push((at, reply, ReflectorWindow { flow, sequence: number, highest, window }));
        }
    }
    replies.sort_by_key(|(at, ..)| *at);
    for (at, reply, window) in replies {
        back.arrived.push((reply.reflector_count, sent_at(reply.sequence)));
        scenario.observe(Client, at, ProbeReceived { received: TestTime(at), read: TestTime(at), ..reply });
        scenario.observe(Client, at, window);
    }
    [there, back]
}

/// Integers of one way within one stretch of time, by the definitions taken literally.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TrueCounts {
    pub(crate) sent: u64,
    pub(crate) lost: u64,
    pub(crate) duplicated: u64,
    pub(crate) reordered: u64,
    pub(crate) extent_max: Option<u64>,
    pub(crate) three_reordered: u64,
}

impl TrueWay {
    /// Of the packets whose test packets were sent in this stretch.
    pub(crate) fn counts(&self, from: i64, to: i64) -> TrueCounts {
        let within = |at: i64| (from..to).contains(&at);
        let arrived: BTreeSet<u32> = self.arrived.iter().map(|(number, _)| *number).collect();
        let sent: Vec<u32> = self.sent.iter().filter(|(_, at)| within(*at)).map(|(number, _)| *number).collect();
        let copies = self.arrived.iter().filter(|(_, at)| within(*at)).count() as u64;
        let came = sent.iter().filter(|number| arrived.contains(number)).count() as u64;
        let mut firsts: Vec<(u32, i64)> = Vec::new();
        for arrival in &self.arrived {
            if !firsts.iter().any(|(number, _)| number == &arrival.0) {
                firsts.push(*arrival);
            }
        }
        let mut extents = Vec::new();
        let mut three_reordered = 0;
        for (index, (number, at)) in firsts.iter().enumerate() {
            let before = &firsts[..index];
            if let Some(overtaker) = before.iter().position(|(earlier, _)| earlier > number)
                && within(*at)
            {
                extents.push((index - overtaker) as u64);
                let above = before.iter().rev().take_while(|(earlier, _)| earlier > number).count();
                three_reordered += u64::from(above >= 3);
            }
        }
        TrueCounts {
            sent: sent.len() as u64,
            lost: sent.len() as u64 - came,
            duplicated: copies - came,
            reordered: extents.len() as u64,
            extent_max: extents.iter().max().copied(),
            three_reordered,
        }
    }
}
