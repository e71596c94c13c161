//! Test packets from what was written down of their replies.

use std::collections::BTreeMap;

use super::document::{LostWhere, RawValue};

/// Longest delay that is believed, milliseconds.
const LONGEST_DELAY: f64 = 3_600_000.0;
/// Largest difference between two clocks that is believed, milliseconds: thirty years.
const LARGEST_OFFSET: f64 = 1e12;
/// Most packets without a trace for each that left one: what a file may make this program hold has a limit.
const MOST_MISSING: u64 = 4;

/// What became of a packet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Fate {
    /// It came after so many milliseconds; on the way there it took, by two clocks, `there`.
    Answered {
        took: f64,
        there: Option<f64>,
    },
    Lost(LostWhere),
}

/// A test packet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Packet {
    pub(super) sequence: u32,
    /// Unix seconds.
    pub(super) sent: f64,
    pub(super) fate: Fate,
}

/// The packets of a series, in the order of their numbers.
#[derive(Debug, Clone, Default)]
pub(super) struct Packets {
    pub(super) packets: Vec<Packet>,
    /// Whether the numbers show what was lost.
    pub(super) numbered: bool,
}

impl Packets {
    /// From raw values that bear the time at which the packet, or its reply, came.
    pub(super) fn of_raw(rows: &[RawValue]) -> Self {
        let known: Vec<(Option<u32>, f64, Fate)> = rows.iter().filter_map(read).collect();
        let numbered = known.iter().all(|(sequence, ..)| sequence.is_some());
        let mut packets: BTreeMap<u32, Packet> = BTreeMap::new();
        if numbered {
            for (sequence, sent, fate) in known {
                let Some(sequence) = sequence else { continue };
                let packet = packets.entry(sequence).or_insert(Packet { sequence, sent, fate });
                // Of a packet that was answered twice the first reply counts.
                if sent < packet.sent && matches!(fate, Fate::Answered { .. }) {
                    *packet = Packet { sequence, sent, fate };
                }
            }
            let mut packets: Vec<Packet> = packets.into_values().collect();
            let numbered = fill_gaps(&mut packets);
            return Self { packets, numbered };
        }
        Self { packets: in_order(known.into_iter().map(|(_, sent, fate)| (sent, fate))), numbered }
    }

    /// From values on the grid, milliseconds, where nothing else was kept: a sample at each; losses are unknown.
    pub(super) fn of_grid(values: impl Iterator<Item = (f64, f64)>) -> Self {
        let believed = values.filter(|(_, took)| (0.0..=LONGEST_DELAY).contains(took));
        let packets = in_order(believed.map(|(at, took)| (at, Fate::Answered { took, there: None })));
        Self { packets, numbered: false }
    }
}

fn in_order(packets: impl Iterator<Item = (f64, Fate)>) -> Vec<Packet> {
    let mut packets: Vec<(f64, Fate)> = packets.collect();
    packets.sort_by(|a, b| a.0.total_cmp(&b.0));
    let numbered = (0..).zip(packets);
    numbered.map(|(sequence, (sent, fate))| Packet { sequence, sent, fate }).collect()
}

/// The number, the time of sending and the fate that one raw value records.
fn read(row: &RawValue) -> Option<(Option<u32>, f64, Fate)> {
    let whole = |number: &f64| number.fract() == 0.0 && (0.0..f64::from(u32::MAX)).contains(number);
    let sequence = row.seq.filter(whole).map(|number| number as u32);
    if let Some(lost) = row.lost {
        return Some((sequence, row.t, Fate::Lost(lost)));
    }
    let took = row.val.filter(|took| (0.0..=LONGEST_DELAY).contains(took))?;
    let there = row.owd_up.filter(|there| there.abs() <= LARGEST_OFFSET);
    Some((sequence, row.t - took / 1e3, Fate::Answered { took, there }))
}

/// Packets without a trace between others: sent at an even pace between them, and lost in an unknown
/// direction.
///
/// Numbers that skip more than the time allows do not number packets. Whether what is missing is there now: not
/// where it were many times what was written down.
fn fill_gaps(packets: &mut Vec<Packet>) -> bool {
    let pairs = || packets.windows(2).filter_map(|pair| <&[Packet; 2]>::try_from(pair).ok());
    let mut steps: Vec<f64> =
        pairs().filter(|[a, b]| b.sequence - a.sequence == 1).map(|[a, b]| b.sent - a.sent).collect();
    steps.sort_unstable_by(f64::total_cmp);
    let Some(usual) = steps.get(steps.len() / 2).copied().filter(|step| *step > 0.0) else { return true };
    let steps = |before: &Packet, after: &Packet| {
        let (steps, time) = (after.sequence - before.sequence, after.sent - before.sent);
        (f64::from(steps) <= 2.0 * time / usual + 2.0).then_some(steps).filter(|steps| *steps > 1)
    };
    let all: u64 = pairs().filter_map(|[before, after]| steps(before, after)).map(|steps| u64::from(steps) - 1).sum();
    if all > MOST_MISSING * packets.len() as u64 {
        return false;
    }
    let mut missing = Vec::new();
    for [before, after] in pairs() {
        let Some(steps) = steps(before, after) else { continue };
        let time = after.sent - before.sent;
        for number in 1..steps {
            let sent = before.sent + time * f64::from(number) / f64::from(steps);
            missing.push(Packet { sequence: before.sequence + number, sent, fate: Fate::Lost(LostWhere::Unknown) });
        }
    }
    packets.extend(missing);
    packets.sort_by_key(|packet| packet.sequence);
    true
}

/// What a reply says of the packets before it: one bit for each of the latest 64, set where it had arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SeenThere {
    /// The packet that the reply answers.
    pub(super) sequence: u32,
    /// Bit n stands for the packet numbered `sequence` less n.
    pub(super) window: u64,
}

/// The replies that show in which direction the packets before them were lost.
///
/// None where the direction of one of the 64 is unknown: a window cannot leave out one packet.
pub(super) fn seen_there(packets: &[Packet]) -> Vec<SeenThere> {
    let mut seen: Vec<SeenThere> = Vec::new();
    let known = |packet: &&Packet| matches!(packet.fate, Fate::Lost(LostWhere::Up | LostWhere::Down));
    for (place, _) in packets.iter().enumerate().filter(|(_, packet)| known(packet)) {
        let answered = |(_, packet): &(usize, &Packet)| matches!(packet.fate, Fate::Answered { .. });
        let Some((next, reply)) = packets.iter().enumerate().skip(place).find(answered) else { break };
        if seen.last().is_some_and(|last| last.sequence == reply.sequence) {
            continue;
        }
        let mut window = 0_u64;
        let mut open = false;
        for packet in packets.iter().take(next + 1).rev() {
            let behind = reply.sequence - packet.sequence;
            if behind >= u64::BITS {
                break;
            }
            match packet.fate {
                Fate::Answered { .. } | Fate::Lost(LostWhere::Down) => window |= 1 << behind,
                Fate::Lost(LostWhere::Up) => {}
                Fate::Lost(LostWhere::Unknown) => open = true,
            }
        }
        if !open {
            seen.push(SeenThere { sequence: reply.sequence, window });
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(seq: f64, t: f64, val: f64) -> RawValue {
        RawValue { t, val: Some(val), seq: Some(seq), ..RawValue::default() }
    }

    fn lost(seq: f64, t: f64, lost: LostWhere) -> RawValue {
        RawValue { t, seq: Some(seq), lost: Some(lost), ..RawValue::default() }
    }

    #[test]
    fn a_reply_shows_when_its_packet_left() {
        let packets = Packets::of_raw(&[row(0.0, 100.5, 500.0)]).packets;
        assert_eq!(packets, [Packet { sequence: 0, sent: 100.0, fate: Fate::Answered { took: 500.0, there: None } }]);
    }

    #[test]
    fn a_number_without_a_trace_is_a_lost_packet_in_its_place() {
        let rows = [row(1.0, 10.0, 0.0), row(2.0, 11.0, 0.0), row(4.0, 13.0, 0.0)];
        let packets = Packets::of_raw(&rows).packets;
        assert_eq!(packets[2], Packet { sequence: 3, sent: 12.0, fate: Fate::Lost(LostWhere::Unknown) });
        // A thousand million packets cannot have gone in three seconds.
        let rows = [row(1.0, 10.0, 0.0), row(2.0, 11.0, 0.0), row(1e9, 13.0, 0.0)];
        assert_eq!(Packets::of_raw(&rows).packets.len(), 3);
        // A million can, and are not made up from three.
        let rows = [row(1.0, 10.0, 0.0), row(2.0, 11.0, 0.0), row(1e6, 1e6 + 9.0, 0.0)];
        let packets = Packets::of_raw(&rows);
        assert_eq!((packets.packets.len(), packets.numbered), (3, false));
    }

    #[test]
    fn values_that_cannot_be_are_no_packets() {
        let rows = [row(-1.0, 1.0, 1.0), row(1.0, 1.0, -1.0), row(2.0, 1.0, 1e300), row(0.5, 2.0, 1.0)];
        let packets = Packets::of_raw(&rows);
        assert_eq!(packets.packets.len(), 2);
        assert!(!packets.numbered, "numbers that are none number nothing");
    }

    #[test]
    fn the_next_reply_shows_in_which_direction_packets_were_lost() {
        let rows = [
            row(0.0, 0.0, 0.0),
            lost(1.0, 1.0, LostWhere::Up),
            lost(2.0, 2.0, LostWhere::Down),
            row(3.0, 3.0, 0.0),
            row(4.0, 4.0, 0.0),
        ];
        let packets = Packets::of_raw(&rows).packets;
        assert_eq!(seen_there(&packets), [SeenThere { sequence: 3, window: 0b1011 }]);
        let unknown = [lost(1.0, 1.0, LostWhere::Up), lost(2.0, 2.0, LostWhere::Unknown), row(3.0, 3.0, 0.0)];
        assert_eq!(seen_there(&Packets::of_raw(&unknown).packets), []);
    }
}
