//! What the doc comment of a member says: what it is, in which unit, and where the definition comes from.

/// A doc comment in its parts. The last paragraph may name the unit and the source: `Unit: share. Source: RFC 6673.`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Definition<'a> {
    /// What the member is, how it is computed, and when it is null.
    pub(super) text: &'a str,
    /// The unit, if the name of the member does not end in it.
    pub(super) unit: Option<&'a str>,
    /// The section of the specification, RFC or paper that defines it; empty if it is ours.
    pub(super) source: &'a str,
}

impl<'a> Definition<'a> {
    /// Splits a doc comment whose paragraphs are one line each.
    pub(super) fn parse(comment: &'a str) -> Self {
        let (text, last) = comment.rsplit_once("\n\n").unwrap_or(("", comment));
        let (unit, source) = match (last.strip_prefix("Unit: "), last.strip_prefix("Source: ")) {
            (Some(rest), _) => match rest.split_once(". Source: ") {
                Some((unit, source)) => (Some(unit), source),
                None => (Some(rest), ""),
            },
            (None, Some(source)) => (None, source),
            (None, None) => return Self { text: comment, unit: None, source: "" },
        };
        Self { text, unit: unit.map(|unit| unit.trim_end_matches('.')), source: source.trim_end_matches('.') }
    }

    /// Returns the smallest and the largest value, as far as the unit gives them: `share`, `0 to 20`.
    pub(super) fn range(&self) -> (Option<f64>, Option<f64>) {
        match self.unit {
            Some("share") => (Some(0.0), Some(1.0)),
            Some("DSCP") => (Some(0.0), Some(63.0)),
            Some("ratio" | "factor" | "packets" | "points" | "1/s" | "1/min") => (Some(0.0), None),
            unit => match unit.and_then(|unit| unit.split_once(" to ")) {
                Some((least, most)) => (least.parse().ok(), most.parse().ok()),
                None => (None, None),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_paragraph_names_unit_and_source() {
        let found = Definition::parse("Lost.\n\nOf all.\n\nUnit: share. Source: RFC 6673 section 4.1; G.107.");
        assert_eq!(
            (found.text, found.unit, found.source),
            ("Lost.\n\nOf all.", Some("share"), "RFC 6673 section 4.1; G.107")
        );
        assert_eq!(found.range(), (Some(0.0), Some(1.0)));
        let found = Definition::parse("Points.\n\nUnit: 0 to 20.");
        assert_eq!((found.text, found.range(), found.source), ("Points.", (Some(0.0), Some(20.0)), ""));
        let found = Definition::parse("Sent.\n\nSource: RFC 3432.");
        assert_eq!((found.text, found.unit, found.source), ("Sent.", None, "RFC 3432"));
        assert_eq!(Definition::parse("Sent."), Definition { text: "Sent.", unit: None, source: "" });
    }
}
