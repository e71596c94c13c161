//! Frames from their text, at the speed at which integers can be read.
//!
//! A recording consists of little but lists of short integers. A frame that stands exactly as rrul writes it is read here,
//! many times as fast as by a reader of any JSON; whatever stands otherwise is left to such a one.

use crate::frame::Frame;
use crate::observation::{Column, ObservationPoint, Tables};
use crate::printable;

/// The frame of one line; `None` where it is not written as rrul writes, be it JSON or not.
pub(crate) fn frame(line: &str) -> Option<Frame> {
    let mut text = Text { octets: line.as_bytes() };
    text.take(b"{\"frame\":{\"point\":")?;
    let point = match text.name()? {
        "client" => ObservationPoint::Client,
        "server" => ObservationPoint::Server,
        _ => return None,
    };
    text.take(b",\"number\":")?;
    let number = u32::try_from(text.integer()?).ok()?;
    let mut dropped = 0;
    if text.take(b",\"dropped\":").is_some() {
        dropped = u64::try_from(text.integer()?).ok()?;
    }
    let mut tables = Tables::default();
    if text.take(b",\"tables\":").is_some() {
        read_tables(&mut text, &mut tables)?;
    }
    let mut events = Vec::new();
    if text.take(b",\"events\":").is_some() {
        let list = str::from_utf8(text.octets.strip_suffix(b"}}")?).ok()?;
        events = serde_json::from_str(&printable::with_short_strings(list)).ok()?;
        text.octets = b"}}";
    }
    (text.octets == b"}}").then_some(Frame { point, number, dropped, tables, events })
}

fn read_tables(text: &mut Text<'_>, tables: &mut Tables) -> Option<()> {
    // A name that stands twice is for the reader of JSON to refuse.
    let mut seen = Vec::new();
    text.each(|text, name| {
        new_in(&mut seen, name)?;
        let (_, table) = tables.table_mut(name)?;
        // The columns of a table are equally long.
        let mut rows = 0;
        let mut columns = Vec::new();
        text.each(|text, column| {
            let values = text.integers(rows)?;
            rows = values.len();
            let index = table.names().iter().position(|name| *name == column)?;
            new_in(&mut columns, column)?;
            table.columns_mut()[index] = Column::from_differences(values);
            Some(())
        })
    })
}

fn new_in<'t>(seen: &mut Vec<&'t str>, name: &'t str) -> Option<()> {
    (!seen.contains(&name)).then(|| seen.push(name))
}

/// What is left to read.
struct Text<'t> {
    octets: &'t [u8],
}

impl<'t> Text<'t> {
    fn take(&mut self, word: &[u8]) -> Option<()> {
        self.octets = self.octets.strip_prefix(word)?;
        Some(())
    }

    fn name(&mut self) -> Option<&'t str> {
        self.take(b"\"")?;
        let length = self
            .octets
            .iter()
            .position(|octet| !(octet.is_ascii_lowercase() || matches!(octet, b'_' | b'0'..=b'9')))?;
        let (name, rest) = self.octets.split_at(length);
        self.octets = rest;
        self.take(b"\"")?;
        str::from_utf8(name).ok()
    }

    /// An object that has entries: of each, `read` takes the value.
    fn each(&mut self, mut read: impl FnMut(&mut Self, &'t str) -> Option<()>) -> Option<()> {
        self.take(b"{")?;
        loop {
            let name = self.name()?;
            self.take(b":")?;
            read(self, name)?;
            if self.take(b",").is_none() {
                return self.take(b"}");
            }
        }
    }

    /// A list of integers, of which about so many are expected.
    fn integers(&mut self, expected: usize) -> Option<Vec<i64>> {
        self.take(b"[")?;
        if self.take(b"]").is_some() {
            return Some(Vec::new());
        }
        let mut values = Vec::with_capacity(expected);
        loop {
            values.push(self.integer()?);
            match self.octets.split_first()? {
                (b',', rest) => self.octets = rest,
                (b']', rest) => {
                    self.octets = rest;
                    return Some(values);
                }
                _ => return None,
            }
        }
    }

    /// One that is written without a fraction, an exponent or zeros before it, and surely fits.
    fn integer(&mut self) -> Option<i64> {
        /// So many digits always fit.
        const DIGITS: usize = 18;
        let (negative, digits) = match self.octets.split_first()? {
            (b'-', rest) => (true, rest),
            _ => (false, self.octets),
        };
        let mut value = 0_i64;
        let mut length = 0;
        while let Some(digit) = digits.get(length).map(|octet| octet.wrapping_sub(b'0')).filter(|digit| *digit < 10) {
            if length == DIGITS {
                return None;
            }
            value = value * 10 + i64::from(digit);
            length += 1;
        }
        // JSON knows neither `007` nor nothing at all; `-0` is a fraction to its reader.
        if length == 0 || (digits[0] == b'0' && (length > 1 || negative)) {
            return None;
        }
        self.octets = &digits[length..];
        Some(if negative { -value } else { value })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::Line;

    fn by_library(line: &str) -> Option<Frame> {
        match serde_json::from_str(line) {
            Ok(Line::Frame(frame)) => Some(*frame),
            _ => None,
        }
    }

    #[test]
    fn what_is_written_as_rrul_writes_is_read_as_the_library_reads_it() {
        let tables =
            r#""tables":{"octets_received":{"flow":[3,0,1],"at":[-5,10,999999999999999999],"octets":[0,1500,-3]}}"#;
        let events = r#""events":[{"flow":1,"at":-10,"event":"marked","detail":"a }} \"b\""}]"#;
        for line in [
            r#"{"frame":{"point":"client","number":7}}"#.to_owned(),
            r#"{"frame":{"point":"server","number":4294967295,"dropped":3}}"#.to_owned(),
            format!(r#"{{"frame":{{"point":"client","number":7,{tables}}}}}"#),
            format!(r#"{{"frame":{{"point":"client","number":7,{events}}}}}"#),
            format!(r#"{{"frame":{{"point":"client","number":7,"dropped":1,{tables},{events}}}}}"#),
        ] {
            let read = frame(&line);
            assert!(read.is_some(), "{line}");
            assert_eq!(read, by_library(&line), "{line}");
        }
    }

    #[test]
    fn what_is_written_otherwise_is_left_to_the_library() {
        let frame_of = |tables: &str| format!(r#"{{"frame":{{"point":"client","number":7,"tables":{tables}}}}}"#);
        for (line, can_be_read) in [
            (frame_of(r#"{"octets_received":{"flow":[3.0]}}"#), false),
            (frame_of(r#"{"octets_received":{"flow":[03]}}"#), false),
            (frame_of(r#"{"octets_received":{"flow":[1,]}}"#), false),
            (frame_of(r#"{"octets_received":{"flow":[-]}}"#), false),
            (frame_of(r#"{"octets_received":{"flow":[1],"flow":[1]}}"#), false),
            (frame_of(r#"{"octets_received":{"flow":[],"flow":[1]}}"#), false),
            (frame_of(r#"{"cpu_time":{"at":[1]},"cpu_time":{"core":[2]}}"#), false),
            (frame_of(r#"{"octets_received":{"flow":[99999999999999999999]}}"#), false),
            (frame_of(r#"{"octets_received":{"flow":[ 1 ]}}"#), true),
            (frame_of(r#"{"octets_received":{"flow":[9223372036854775807]}}"#), true),
            (frame_of(r#"{"octets_received":{}}"#), true),
            (frame_of(r#"{"of_a_later_rrul":{"flow":[1]}}"#), true),
            (frame_of(r#"{"octets_received":{"of_a_later_rrul":[1]}}"#), true),
            (r#"{"frame":{"number":7,"point":"client"}}"#.to_owned(), true),
            (r#"{"frame":{"point":"client","number":7}} "#.to_owned(), true),
            (r#"{"frame":{"point":"nobody","number":7}}"#.to_owned(), false),
            (r#"{"frame":{"point":"client","number":7}"#.to_owned(), false),
            (String::new(), false),
        ] {
            assert_eq!(frame(&line), None, "{line}");
            assert_eq!(by_library(&line).is_some(), can_be_read, "{line}");
        }
    }

    #[test]
    fn whatever_is_read_from_damaged_text_the_library_reads_too() {
        let line = r#"{"frame":{"point":"client","number":70,"dropped":1,"tables":{"octets_received":{"flow":[3,0],"at":[-5,10]},"cpu_time":{"at":[0]}},"events":[{"flow":1,"at":-10,"event":"marked","detail":"a"}]}}"#;
        let mut read = 0;
        for place in 0..line.len() {
            for octet in *b"0-9,:]}[{\" ex." {
                let mut damaged = line.as_bytes().to_vec();
                damaged[place] = octet;
                let damaged = String::from_utf8(damaged).unwrap();
                let found = frame(&damaged);
                read += usize::from(found.is_some());
                assert!(found.is_none() || found == by_library(&damaged), "{damaged}");
                assert_eq!(frame(&damaged[..place]), None);
            }
        }
        assert!(read > 20, "only {read} of the damaged lines could be read");
    }
}
