//! Text of others, made safe for whatever shows it: a terminal, a log, a page.
//!
//! Names, reasons and titles come from files and from peers. Control characters (C0 and C1, ISO 6429) steer terminals and begin
//! new lines in logs; marks of the bidirectional algorithm (Unicode Standard Annex #9) make one name read as another. Each
//! becomes a space, and what is too long is cut.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Longest field of others that is shown, bytes.
pub const LONGEST_FIELD: usize = 512;

/// Longest line that is shown or logged, bytes.
pub const LONGEST_LINE: usize = 1000;

/// Longest message for the user, bytes: it may list what is known.
pub const LONGEST_MESSAGE: usize = 4096;

/// Longest text in JSON of others, bytes as written: an address of the web, escaped.
pub const LONGEST_STRING: usize = 2048;

/// Marks text that was cut.
const CUT: char = '…';

/// A field of others in one line, at most [`LONGEST_FIELD`] bytes.
pub fn field(text: &str) -> Cow<'_, str> {
    cut(in_one_line(text), LONGEST_FIELD)
}

/// A line that contains fields of others, at most [`LONGEST_LINE`] bytes.
pub fn line(text: &str) -> Cow<'_, str> {
    cut(in_one_line(text), LONGEST_LINE)
}

/// A message in one line, at most [`LONGEST_MESSAGE`] bytes.
pub fn message(text: &str) -> Cow<'_, str> {
    cut(in_one_line(text), LONGEST_MESSAGE)
}

fn in_one_line(text: &str) -> Cow<'_, str> {
    replaced(text, is_unprintable)
}

/// The text with its line breaks, and without anything else that steers.
pub fn in_lines(text: &str) -> Cow<'_, str> {
    replaced(text, |c| c != '\n' && is_unprintable(c))
}

/// JSON that means the same, in which no character steers a terminal.
pub fn json(text: &str) -> Cow<'_, str> {
    let steers = |c| c != '\n' && is_unprintable(c);
    if !text.contains(steers) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        if steers(c) {
            // Such characters are in strings alone, where an escape means the same.
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(safe, "\\u{unit:04x}");
            }
        } else {
            safe.push(c);
        }
    }
    Cow::Owned(safe)
}

/// JSON of others whose strings are all at most [`LONGEST_STRING`] bytes long: longer ones are cut.
///
/// Text that is no JSON stays no JSON.
pub fn with_short_strings(json: &str) -> Cow<'_, str> {
    let octets = json.as_bytes();
    let mut short = String::new();
    // Up to where `json` is in `short`.
    let mut taken = 0;
    let mut at = 0;
    while let Some(open) = octets[at..].iter().position(|octet| *octet == b'"') {
        let begin = at + open + 1;
        let (end, limit) = string_end(octets, begin);
        if end - begin > LONGEST_STRING {
            short.push_str(&json[taken..limit]);
            short.push(CUT);
            taken = end;
        }
        at = (end + 1).min(octets.len());
    }
    if taken == 0 {
        return Cow::Borrowed(json);
    }
    short.push_str(&json[taken..]);
    Cow::Owned(short)
}

/// Where the JSON string that begins here ends, and where it is cut if it is too long: behind a whole character or escape.
fn string_end(octets: &[u8], begin: usize) -> (usize, usize) {
    let (mut at, mut limit) = (begin, begin);
    while let Some(octet) = octets.get(at) {
        let length = match octet {
            b'"' => return (at, limit),
            b'\\' if octets.get(at + 1) == Some(&b'u') => escape_length(octets, at),
            b'\\' | 0x80..=0xdf => 2,
            0..=0x7f => 1,
            0xe0..=0xef => 3,
            0xf0..=0xff => 4,
        };
        at += length;
        if at - begin <= LONGEST_STRING && at <= octets.len() {
            limit = at;
        }
    }
    (octets.len(), limit)
}

/// Bytes of the escape `\uXXXX` here, with its second half where it is one of a pair (RFC 8259 section 7).
fn escape_length(octets: &[u8], at: usize) -> usize {
    let is_first_half = octets.get(at + 2).is_some_and(|digit| digit.eq_ignore_ascii_case(&b'd'))
        && octets.get(at + 3).is_some_and(|digit| matches!(digit, b'8' | b'9' | b'a' | b'b' | b'A' | b'B'));
    let is_pair = is_first_half && octets.get(at + 6..at + 8) == Some(b"\\u");
    if is_pair { 12 } else { 6 }
}

fn replaced(text: &str, steers: impl Fn(char) -> bool) -> Cow<'_, str> {
    if text.contains(&steers) {
        Cow::Owned(text.chars().map(|c| if steers(c) { ' ' } else { c }).collect())
    } else {
        Cow::Borrowed(text)
    }
}

fn cut(text: Cow<'_, str>, longest: usize) -> Cow<'_, str> {
    if text.len() <= longest {
        return text;
    }
    let end = text.floor_char_boundary(longest - CUT.len_utf8());
    Cow::Owned(format!("{}{CUT}", &text[..end]))
}

/// Whether a character steers a terminal, ends a line, changes the direction of text or takes no room.
pub fn is_unprintable(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{AD}' | '\u{61C}' | '\u{180E}' | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}'
            | '\u{FEFF}' | '\u{FFF9}'..='\u{FFFB}' | '\u{FFFE}' | '\u{FFFF}' | '\u{E0000}'..='\u{E007F}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_steers_a_terminal_is_left() {
        let hostile = "a\u{1b}[31mb\u{9b}31mc\u{7}d\ne\rf\u{202e}g\u{2066}h\u{2028}i\u{7f}j\u{feff}k\u{e0041}l\tm";
        assert_eq!(field(hostile), "a [31mb 31mc d e f g h i j k l m");
        assert_eq!(in_lines("a\nb\rc\u{85}d"), "a\nb c d");
        assert_eq!(field("Täht's café – 日本 ✓"), "Täht's café – 日本 ✓", "letters stay");
        for code in (0..=0x11_0000).filter_map(char::from_u32) {
            let shown = field(&code.to_string()).into_owned();
            assert!(!shown.chars().any(is_unprintable), "{code:?} gives {shown:?}");
        }
    }

    #[test]
    fn what_is_too_long_is_cut_between_characters() {
        for letter in ["x", "é", "日", "🙂"] {
            for (shown, most) in
                [(field(&letter.repeat(5000)), LONGEST_FIELD), (line(&letter.repeat(5000)), LONGEST_LINE)]
            {
                assert!(shown.len() <= most && shown.len() > most - 8, "{} of {most}", shown.len());
                assert!(shown.ends_with(CUT));
            }
        }
        assert_eq!(field(&"x".repeat(LONGEST_FIELD)).len(), LONGEST_FIELD, "as long as it may be");
    }

    #[test]
    fn json_means_the_same_and_steers_nothing() {
        let text = serde_json::to_string_pretty(&["a\u{1b}\u{9b}\u{202e}\u{e0041}é\n"]).unwrap();
        let safe = json(&text);
        assert!(!safe.contains(|c| c != '\n' && is_unprintable(c)), "{safe:?}");
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&safe).unwrap(),
            serde_json::from_str::<serde_json::Value>(&text).unwrap()
        );
        assert!(matches!(json("{\"a\": 1}\n"), Cow::Borrowed(_)));
    }

    #[test]
    fn long_strings_of_json_are_cut_and_short_ones_stay() {
        let kept = format!(r#"{{"a":"{}","b":["\"\\",7]}}"#, "x".repeat(LONGEST_STRING));
        assert!(matches!(with_short_strings(&kept), Cow::Borrowed(_)));
        for letter in ["x", "é", "日", "🙂", "\\n", "\\\"", "\\\\", "\\u00e9", "\\ud83d\\ude42"] {
            for before in ["", "y", "yy", "yyy", "yyyy", "yyyyy"] {
                let long = format!(r#"{{"{before}{0}":["short","{before}{0}",1]}}"#, letter.repeat(4000));
                let short = with_short_strings(&long);
                let value: serde_json::Value =
                    serde_json::from_str(&short).unwrap_or_else(|error| panic!("{error}: {letter}"));
                let (name, list) = value.as_object().unwrap().iter().next().unwrap();
                let text = list[1].as_str().unwrap();
                assert_eq!(name, text);
                assert_eq!((&list[0], &list[2]), (&"short".into(), &1.into()));
                assert!(text.ends_with(CUT) && text.len() <= LONGEST_STRING + CUT.len_utf8(), "{}", text.len());
            }
        }
    }

    #[test]
    fn what_is_no_json_does_no_harm() {
        for text in
            ["\"", "\"\\", "\"\\u", "\"\\ud83d\\u", "\"é", "{\"a", &format!("\"{}", "x".repeat(5000)), "\\\"\"\\"]
        {
            let _ = with_short_strings(text);
        }
        let open = format!("[\"{}\\", "x".repeat(5000));
        assert!(serde_json::from_str::<serde_json::Value>(&with_short_strings(&open)).is_err());
    }
}
