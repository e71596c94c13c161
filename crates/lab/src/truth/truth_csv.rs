//! The truth as CSV, one line a packet.

use std::io::{self, Write};

use rrul_model::flow::Direction;

use crate::truth::Truth;
use crate::truth::record::Record;

/// The columns; `docs/lab.md` says what they mean.
const COLUMNS: &str = "direction,fate,arrival_ns,queueing_delay_ns,shaper_delay_ns,departure_ns,delivery_ns,lateness_ns,length,family,\
                       protocol,source_port,destination_port,tos_in,tos_out,marked,duplicate,reordered,tcp_sequence,\
                       tcp_payload";

impl Truth {
    /// Writes every record, first those up, then those down, each in the order in which fates were settled.
    ///
    /// Times are nanoseconds of `CLOCK_MONOTONIC_RAW`; what a lost packet does not have is left empty.
    pub fn write_csv(&self, mut out: impl Write) -> io::Result<()> {
        writeln!(out, "{COLUMNS}")?;
        for direction in [Direction::Up, Direction::Down] {
            for record in self.direction(direction).records() {
                write_line(&mut out, direction, record)?;
            }
        }
        out.flush()
    }
}

fn write_line(out: &mut impl Write, direction: Direction, record: &Record) -> io::Result<()> {
    let Record { fate, arrival, queueing_delay, shaper_delay, .. } = record;
    write!(out, "{direction},{},{},{queueing_delay},{shaper_delay},", fate.name(), arrival.0)?;
    match (record.departure(), record.delivery()) {
        (Some(departure), Some(delivery)) => write!(out, "{},{},{},", departure.0, delivery.0, record.lateness)?,
        _ => write!(out, ",,,")?,
    }
    writeln!(
        out,
        "{},{},{},{},{},{},{},{},{},{},{},{}",
        record.length,
        record.family,
        record.protocol,
        record.source_port,
        record.destination_port,
        record.tos_in,
        record.tos_out,
        u8::from(record.marked),
        u8::from(record.duplicate),
        u8::from(record.reordered),
        record.tcp_sequence,
        record.tcp_payload,
    )
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::packet::Header;
    use crate::packet::build::{tcp4, udp4};
    use crate::time::LabTime;
    use crate::truth::DirectionTruth;
    use crate::truth::record::Fate;

    #[test]
    fn a_line_has_every_column_and_leaves_empty_what_is_not() {
        let of = |octets: &[u8]| Record::arrived(&Header::parse(octets).unwrap(), octets.len(), LabTime(7));
        let mut delivered = of(&tcp4(152, 9, 5));
        delivered.departed(LabTime(8));
        delivered.delivered(LabTime(9));
        delivered.lateness = 3;
        let mut lost = of(&udp4(100, 9, 0xb9));
        lost.fate = Fate::Overflow;
        let direction = |record| DirectionTruth { chunks: vec![Arc::new(vec![record])], ..DirectionTruth::default() };
        let truth = Truth { up: direction(delivered), down: direction(lost), taken: LabTime(10), realtime: true };
        let mut out = Vec::new();
        truth.write_csv(&mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1], "up,delivered,7,0,0,8,9,3,152,ipv4,6,9,7785,0,0,0,0,0,5,100");
        assert_eq!(lines[2], "down,overflow,7,0,0,,,,100,ipv4,17,9,7785,185,185,0,0,0,0,0");
        assert!(lines.iter().all(|line| line.split(',').count() == lines[0].split(',').count()));
    }
}
