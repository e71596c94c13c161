//! Tables of a page, from the tables of the summary.

use super::markup::Markup;
use crate::text::table::{SectionBody, Table};

/// Cells with heads of columns and rows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct DataTable {
    /// What it is, for who cannot see where it stands.
    pub(crate) caption: String,
    /// Heads of columns; the first is that of the names of rows. Empty without any.
    pub(crate) heads: Vec<String>,
    /// A name, and its cells.
    pub(crate) rows: Vec<Vec<String>>,
    /// Whether cells are words, which stand left.
    pub(crate) words: bool,
}

impl DataTable {
    /// The table of a section of the summary.
    pub(crate) fn of(caption: &str, told: &SectionBody) -> Self {
        let rows: &[Vec<String>] = Table::rows(&told.table);
        // A first line without a name is one of heads. Tables of words have none: there it goes on with the line before.
        let (heads, rows) = match rows {
            [first, rest @ ..] if !told.words && first.first().is_some_and(String::is_empty) => (first.clone(), rest),
            all => (Vec::new(), all),
        };
        Self { caption: caption.to_owned(), heads, rows: rows.to_vec(), words: told.words }
    }

    /// Writes it so that it can be scrolled by itself where the page is narrow.
    pub(crate) fn write(&self, page: &mut Markup) {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0).max(self.heads.len());
        let class = if self.words { "figures words" } else { "figures" };
        page.within(
            "div",
            &[("class", "scroll"), ("tabindex", "0"), ("role", "region"), ("aria-label", &self.caption)],
            |page| {
                page.within("table", &[("class", class)], |page| {
                    page.element("caption", &[("class", "unseen")], &self.caption);
                    if !self.heads.is_empty() {
                        page.within("thead", &[], |page| {
                            page.within("tr", &[], |page| {
                                for head in &self.heads {
                                    if head.is_empty() {
                                        page.element("td", &[], "");
                                    } else {
                                        page.element("th", &[("scope", "col")], head);
                                    }
                                }
                            });
                        });
                    }
                    page.within("tbody", &[], |page| {
                        for row in &self.rows {
                            write_row(page, row, columns);
                        }
                    });
                });
            },
        );
    }
}

fn write_row(page: &mut Markup, row: &[String], columns: usize) {
    page.within("tr", &[], |page| {
        let (name, cells) = row.split_first().map_or(("", &row[..0]), |(name, cells)| (name.as_str(), cells));
        // Names that are indented belong to the one above.
        let inner = name.starts_with(' ');
        let mut attributes = vec![("scope", "row")];
        if inner {
            attributes.push(("class", "inner"));
        }
        if name.is_empty() {
            page.element("td", &[], "");
        } else {
            page.element("th", &attributes, name.trim());
        }
        for cell in cells {
            page.element("td", &[], cell);
        }
        for _ in row.len().max(1)..columns {
            page.element("td", &[], "");
        }
    });
}
