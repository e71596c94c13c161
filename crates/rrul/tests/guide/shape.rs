//! Whether printed lines are the lines of a page.

/// Whether numbers must be the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Numbers {
    Exact,
    /// A number stands for any number.
    Any,
}

/// Stands for any lines.
pub(crate) const ELISION: &str = "...";

/// Where `printed` differs from the lines of a page; `None` where it does not.
pub(crate) fn difference(shown: &[String], printed: &str, numbers: Numbers) -> Option<String> {
    let normal = |line: &str| normalized(line, numbers);
    let printed: Vec<String> = printed.trim_end().lines().map(normal).collect();
    let mut shown: Vec<String> = shown.iter().map(|line| normal(line)).collect();
    while shown.last().is_some_and(String::is_empty) {
        shown.pop();
    }
    let mut rest = printed.as_slice();
    let mut segments = shown.split(|line| line == ELISION);
    let first = segments.next().unwrap_or_default();
    let mut elided = false;
    let Some(after) = rest.strip_prefix(first) else {
        return Some(unlike(first, rest));
    };
    rest = after;
    let mut last = first;
    for segment in segments {
        elided = true;
        last = segment;
        let place = (0..=rest.len()).find(|place| rest[*place..].starts_with(segment));
        let Some(place) = place else {
            return Some(format!("not printed:\n{}", segment.join("\n")));
        };
        rest = &rest[place + segment.len()..];
    }
    if rest.is_empty() || elided && (last.is_empty() || printed.ends_with(last)) {
        return None;
    }
    Some(format!("printed, and not on the page:\n{}", rest.join("\n")))
}

/// The first line of a segment that is not the printed one.
fn unlike(segment: &[String], printed: &[String]) -> String {
    let mut pairs = segment.iter().zip(printed.iter().map(Some).chain(std::iter::repeat(None)));
    let (shown, printed) = pairs.find(|(shown, printed)| Some(*shown) != *printed).unwrap_or((&segment[0], None));
    format!("on the page: {shown}\nprinted:     {}", printed.map_or("nothing", String::as_str))
}

/// A line without spaces at its end. Where numbers may differ, each is a `#`, and spaces, by which they are aligned, are single.
fn normalized(line: &str, numbers: Numbers) -> String {
    let line = line.trim_end();
    if numbers == Numbers::Exact {
        return line.to_owned();
    }
    let mut normal = String::new();
    for character in line.chars() {
        let character = if character.is_ascii_digit() { '#' } else { character };
        let again = matches!(character, '#' | ' ') && normal.ends_with(character);
        if !again {
            normal.push(character);
        }
    }
    normal.replace("#.#", "#")
}

mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn lines_match_in_order_around_elisions() {
        let printed = "a\nb\nc\nd\n";
        let same = |shown: &str| difference(&lines(shown), printed, Numbers::Exact).is_none();
        for shown in
            ["a\nb\nc\nd", "...", "a\n...", "...\nd", "a\n...\nd", "...\nb\n...", "...\nb\n...\nd", "a\nb\nc\nd\n..."]
        {
            assert!(same(shown), "{shown:?}");
        }
        for shown in ["", "a", "b\n...", "...\nc", "a\n...\nb", "...\nc\n...\nb\n...", "a\nb\nc\nd\ne", "a\n...\ne"] {
            assert!(!same(shown), "{shown:?}");
        }
    }

    #[test]
    fn a_number_stands_for_any_number_only_where_it_measures() {
        let shown = lines("delay +12.5 ms   ok");
        assert_eq!(difference(&shown, "delay +3 ms ok\n", Numbers::Any), None);
        assert!(difference(&shown, "delay +3 ms ok\n", Numbers::Exact).is_some());
        assert!(difference(&shown, "delay +3 ms bad\n", Numbers::Any).is_some());
        assert!(difference(&shown, "delay lost ms ok\n", Numbers::Any).is_some());
    }
}
