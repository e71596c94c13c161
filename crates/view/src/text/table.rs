//! Aligned columns for a terminal.

/// Lines of cells: the first column stands left, the others right.
#[derive(Debug, Clone, Default)]
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

/// What a summary says of one thing: a table, and lines below it. Either may be empty.
#[derive(Debug, Clone, Default)]
pub(crate) struct SectionBody {
    pub(crate) table: Table,
    /// Whether the table is one of words, with every column left, and without heads of columns.
    pub(crate) words: bool,
    /// Remarks below it, each two columns in from the left.
    pub(crate) below: Vec<String>,
}

impl SectionBody {
    pub(crate) fn is_empty(&self) -> bool {
        self.table.rows.is_empty() && self.below.is_empty()
    }

    /// The lines for a terminal.
    pub(crate) fn lines(&self) -> Vec<String> {
        let mut lines = if self.words { self.table.left_lines() } else { self.table.lines() };
        lines.extend(self.below.iter().cloned());
        lines
    }
}

impl From<Table> for SectionBody {
    fn from(table: Table) -> Self {
        Self { table, ..Self::default() }
    }
}

impl Table {
    /// The cells, line by line; lines may be of different lengths.
    pub(crate) fn rows(&self) -> &[Vec<String>] {
        &self.rows
    }
}

impl Table {
    /// Adds a line; lines may be of different lengths.
    pub(crate) fn row<const N: usize>(&mut self, cells: [&str; N]) {
        self.rows.push(cells.map(str::to_owned).to_vec());
    }

    /// Adds a line of a name and its cells.
    pub(crate) fn named_row(&mut self, name: &str, cells: impl IntoIterator<Item = String>) {
        self.rows.push(std::iter::once(name.to_owned()).chain(cells).collect());
    }

    /// The lines with every column left.
    pub(crate) fn left_lines(&self) -> Vec<String> {
        self.aligned(|_| true)
    }

    /// The lines, each two columns in from the left, without trailing blanks.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.aligned(|column| column == 0)
    }

    fn aligned(&self, left: impl Fn(usize) -> bool) -> Vec<String> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width =
            |column: usize| self.rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
        let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
        let line = |row: &Vec<String>| {
            let mut line = String::from("  ");
            for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
                let padding = " ".repeat(width - cell.chars().count());
                let between = if column == 0 { "" } else { "  " };
                let parts = if left(column) { [between, cell, &padding] } else { [between, &padding, cell] };
                line.extend(parts);
            }
            line.trim_end().to_owned()
        };
        self.rows.iter().map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_left_and_figures_right() {
        let mut table = Table::default();
        table.row(["", "P50", "lost"]);
        table.row(["idle", "16.7 ms", "0"]);
        table.row(["loaded", "µ"]);
        assert_eq!(table.lines(), ["              P50  lost", "  idle    16.7 ms     0", "  loaded        µ"]);
    }
}
