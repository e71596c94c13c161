//! Aligned columns for a terminal.

/// Lines of cells: the first column stands left, the others right.
#[derive(Debug, Default)]
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
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
