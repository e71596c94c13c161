//! HTML that is well formed by how it is written, and in which the words of others are only words.

use std::fmt::Write as _;

use rrul_model::printable::is_unprintable;

/// HTML as it grows.
#[derive(Debug, Default)]
pub(crate) struct Markup {
    text: String,
    open: Vec<&'static str>,
}

/// Attributes of an element: name and value.
pub(crate) type Attributes<'a> = &'a [(&'a str, &'a str)];

impl Markup {
    /// Opens an element and writes within it.
    pub(crate) fn within(&mut self, tag: &'static str, attributes: Attributes<'_>, inside: impl FnOnce(&mut Self)) {
        self.start(tag, attributes);
        self.open.push(tag);
        inside(self);
        self.open.pop();
        let _ = write!(self.text, "</{tag}>");
        if BLOCKS.contains(&tag) {
            self.text.push('\n');
        }
    }

    pub(crate) fn element(&mut self, tag: &'static str, attributes: Attributes<'_>, text: &str) {
        self.within(tag, attributes, |inside| inside.text(text));
    }

    pub(crate) fn empty(&mut self, tag: &'static str, attributes: Attributes<'_>) {
        self.start(tag, attributes);
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.text.push_str(&escaped(text));
    }

    /// What is HTML already: style and script of the page itself.
    pub(crate) fn raw(&mut self, html: &str) {
        self.text.push_str(html);
    }

    pub(crate) fn finish(self) -> String {
        debug_assert!(self.open.is_empty(), "{:?} are open", self.open);
        self.text
    }

    fn start(&mut self, tag: &str, attributes: Attributes<'_>) {
        let _ = write!(self.text, "<{tag}");
        for (name, value) in attributes {
            let _ = write!(self.text, " {name}=\"{}\"", escaped(value));
        }
        self.text.push('>');
    }
}

/// Elements that end a line of the file, for people who look at it.
const BLOCKS: [&str; 11] =
    ["head", "header", "main", "section", "figure", "table", "tr", "details", "ul", "p", "footer"];

/// Text in which no character means anything to a reader of HTML; what XML and HTML have no place for is a space.
pub(crate) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\n' => escaped.push('\n'),
            c if is_unprintable(c) => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}

/// JSON that may be in a script element: no `<` begins anything there.
pub(crate) fn json_in_html(json: &str) -> String {
    // Within JSON these are in strings alone, where an escape means the same.
    json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_others_wrote_is_read_as_html() {
        let mut page = Markup::default();
        page.within("p", &[("title", "a\" onclick=\"alert(1)")], |page| {
            page.text("</script><img src=x onerror='x'>&\u{202E}");
        });
        assert_eq!(
            page.finish(),
            "<p title=\"a&quot; onclick=&quot;alert(1)\">&lt;/script&gt;&lt;img src=x onerror=&#39;x&#39;&gt;&amp; </p>\n"
        );
        assert_eq!(json_in_html(r#"{"a":"</script><!--&"}"#), r#"{"a":"\u003c/script\u003e\u003c!--\u0026"}"#);
    }
}
