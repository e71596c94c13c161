//! Frames from their text, at the speed at which integers can be read.
//!
//! A recording consists of little but lists of short integers. A frame that stands exactly as rrul writes it is read here,
//! many times as fast as by a reader of any JSON; whatever stands otherwise is left to such a one.

use crate::frame::Frame;
use crate::observation::{Column, ObservationPoint, Tables};
use crate::printable;

/// The frame of one line, with these tables or with all; `None` where it is not written as rrul writes, be it JSON or not.
pub(crate) fn frame(line: &str, chosen: Option<&[&str]>) -> Option<Frame> {
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
        read_tables(&mut text, &mut tables, chosen)?;
    }
    let mut events = Vec::new();
    if text.take(b",\"events\":").is_some() {
        let list = str::from_utf8(text.octets.strip_suffix(b"}}")?).ok()?;
        events = serde_json::from_str(&printable::with_short_strings(list)).ok()?;
        text.octets = b"}}";
    }
    (text.octets == b"}}").then_some(Frame { point, number, dropped, tables, events })
}

fn read_tables(text: &mut Text<'_>, tables: &mut Tables, chosen: Option<&[&str]>) -> Option<()> {
    // A name that stands twice is for the reader of JSON to refuse.
    let mut seen = Vec::new();
    text.each(|text, name| {
        if chosen.is_some_and(|chosen| !chosen.contains(&name)) {
            return text.skip_object();
        }
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

    /// An object without another one in it.
    fn skip_object(&mut self) -> Option<()> {
        self.take(b"{")?;
        self.octets = &self.octets[memchr::memchr(b'}', self.octets)?..];
        self.take(b"}")
    }

    /// A list of integers, of which about so many are expected.
    fn integers(&mut self, expected: usize) -> Option<Vec<i64>> {
        self.take(b"[")?;
        if self.take(b"]").is_some() {
            return Some(Vec::new());
        }
        let mut values = Vec::with_capacity(expected);
        loop {
            // Two of three have one digit.
            if let [digit @ b'0'..=b'9', b',', rest @ ..] = self.octets {
                values.push(i64::from(digit - b'0'));
                self.octets = rest;
                continue;
            }
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
        if let Some((value, length)) = few_digits(digits) {
            self.octets = &digits[length..];
            return if negative { Some(-value).filter(|value| *value != 0) } else { Some(value) };
        }
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

/// The integer of at most eight digits at the beginning, and how many they are: eight bytes at once instead of one after another, as
/// nearly all integers of a recording are that short. `None` where it is longer, none, or begins with a needless zero.
fn few_digits(octets: &[u8]) -> Option<(i64, usize)> {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let eight = u64::from_le_bytes(*octets.first_chunk()?);
    // Digits become 0 to 9. Of all other bytes the highest bit is set once that has been added which makes 10 to 128.
    let values = eight ^ (ONES * u64::from(b'0'));
    let others = (values | values.wrapping_add(ONES * (128 - 10))) & (ONES << 7);
    let length = others.trailing_zeros() / 8;
    let is_longer = length == 8 && octets.get(8).is_none_or(u8::is_ascii_digit);
    if length == 0 || is_longer || (octets[0] == b'0' && length > 1) {
        return None;
    }
    // The last digit in the highest byte; then sums of two, of four and of eight neighbors.
    let digits = values << (64 - 8 * length);
    let pairs = (digits.wrapping_mul(10) + (digits >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs.wrapping_mul(100) + (pairs >> 16)) & 0x0000_ffff_0000_ffff;
    let value = (fours.wrapping_mul(10_000) + (fours >> 32)) & 0xffff_ffff;
    Some((value.cast_signed(), length as usize))
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
            let read = frame(&line, None);
            assert!(read.is_some(), "{line}");
            assert_eq!(read, by_library(&line), "{line}");
        }
    }

    #[test]
    fn of_the_tables_only_those_are_read_that_are_chosen() {
        let line = r#"{"frame":{"point":"client","number":7,"tables":{"octets_received":{"flow":[3],"at":[1],"octets":[5]},"of_a_later_rrul":{"a":[1],"b":["x"]},"cpu_time":{"at":[4]}}}}"#;
        let chosen = r#"{"frame":{"point":"client","number":7,"tables":{"cpu_time":{"at":[4]}}}}"#;
        assert_eq!(frame(line, Some(&["cpu_time", "tcp_info"])), by_library(chosen));
        let none = frame(line, Some(&[])).unwrap();
        assert!(none.tables.is_empty() && none.number == 7);
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
            assert_eq!(frame(&line, None), None, "{line}");
            assert_eq!(by_library(&line).is_some(), can_be_read, "{line}");
        }
    }

    #[test]
    fn an_integer_of_few_digits_ends_at_the_first_byte_that_is_none() {
        let mut short = 0;
        for integer in [
            0,
            1,
            9,
            10,
            99,
            105,
            1_000,
            90_909,
            123_456,
            1_999_999,
            9_999_999,
            10_000_000,
            99_999_999,
            100_000_000,
            123_456_789,
        ] {
            for end in 0..=u8::MAX {
                let mut text = integer.to_string().into_bytes();
                let length = text.len();
                text.push(end);
                text.extend_from_slice(b"01234567");
                let expected = (length <= 8 && !end.is_ascii_digit()).then_some((integer, length));
                let found = few_digits(&text);
                assert!(found == expected || end.is_ascii_digit(), "{integer}, then {end}: {found:?}");
                short += usize::from(found == expected && found.is_some());
            }
        }
        assert_eq!(short, 13 * 246);
        for text in [&b"01,45678"[..], b",1234567", b"-1,34567", b"1,3", b"12345678"] {
            assert_eq!(few_digits(text), None);
        }
        assert_eq!(few_digits(b"0,234567"), Some((0, 1)));
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
                let found = frame(&damaged, None);
                read += usize::from(found.is_some());
                assert!(found.is_none() || found == by_library(&damaged), "{damaged}");
                assert_eq!(frame(&damaged[..place], None), None);
            }
        }
        assert!(read > 20, "only {read} of the damaged lines could be read");
    }
}
