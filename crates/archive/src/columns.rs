//! Rows of one table by column: as they are read, sorted and written.

use std::collections::HashMap;

use crate::table::{Kind, Table, Value};

/// The values of one column.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ColumnData {
    Counts(Vec<Option<i64>>),
    Numbers(Vec<Option<f64>>),
    Texts(Texts),
}

/// Texts of which many are the same.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Texts {
    words: Vec<String>,
    places: HashMap<String, u32>,
    rows: Vec<Option<u32>>,
}

impl Texts {
    pub(crate) fn push(&mut self, text: Option<&str>) {
        self.push_times(text, 1);
    }

    /// The same text so many times.
    fn push_times(&mut self, text: Option<&str>, times: usize) {
        let place = text.map(|text| self.place(text));
        self.rows.extend(std::iter::repeat_n(place, times));
    }

    /// Where a word is, or is from now on.
    fn place(&mut self, text: &str) -> u32 {
        self.places.get(text).copied().unwrap_or_else(|| {
            let place = self.words.len() as u32;
            self.words.push(text.to_owned());
            self.places.insert(text.to_owned(), place);
            place
        })
    }

    /// Adds some rows of another column. Each word of it is looked up once.
    fn extend(&mut self, other: &Self, rows: impl Iterator<Item = Option<u32>>) {
        let mut places: Vec<Option<u32>> = vec![None; other.words.len()];
        for place in rows {
            let here = place.map(|place| {
                let place = place as usize;
                *places[place].get_or_insert_with(|| self.place(&other.words[place]))
            });
            self.rows.push(here);
        }
    }

    pub(crate) fn get(&self, row: usize) -> Option<&str> {
        let place = self.rows.get(row).copied().flatten()?;
        self.words.get(place as usize).map(String::as_str)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Option<&str>> {
        (0..self.rows.len()).map(|row| self.get(row))
    }

    /// The place of each row's text among all of them in alphabetical order; null is 0.
    fn ranks(&self) -> Vec<usize> {
        let mut sorted: Vec<usize> = (0..self.words.len()).collect();
        sorted.sort_by(|a, b| self.words[*a].cmp(&self.words[*b]));
        let mut ranks = vec![0; sorted.len()];
        sorted.into_iter().zip(1..).for_each(|(place, rank)| ranks[place] = rank);
        self.rows.iter().map(|place| place.map_or(0, |place| ranks[place as usize])).collect()
    }
}

impl ColumnData {
    fn empty(kind: Kind) -> Self {
        match kind {
            Kind::Count | Kind::Time => Self::Counts(Vec::new()),
            Kind::Number => Self::Numbers(Vec::new()),
            Kind::Text => Self::Texts(Texts::default()),
        }
    }

    fn push_times(&mut self, value: &Value, times: usize) {
        match self {
            Self::Counts(all) => {
                let value = if let Value::Count(value) = value { Some(*value) } else { None };
                all.extend(std::iter::repeat_n(value, times));
            }
            Self::Numbers(all) => {
                let value = if let Value::Number(value) = value { Some(*value) } else { None };
                all.extend(std::iter::repeat_n(value, times));
            }
            Self::Texts(all) => {
                let value = if let Value::Text(value) = value { Some(value.as_str()) } else { None };
                all.push_times(value, times);
            }
        }
    }

    fn append(&mut self, other: Self) {
        match (self, other) {
            (Self::Counts(all), Self::Counts(more)) => all.extend(more),
            (Self::Numbers(all), Self::Numbers(more)) => all.extend(more),
            (Self::Texts(all), Self::Texts(more)) => all.extend(&more, more.rows.iter().copied()),
            // Columns of one table are of one kind.
            _ => {}
        }
    }

    /// The place of each row's value among the different ones; null is the least. Numbers with fractions have no order here, and
    /// need none.
    fn ranks(&self) -> Vec<usize> {
        match self {
            Self::Counts(all) => {
                let mut known = all.clone();
                known.sort_unstable();
                known.dedup();
                all.iter().map(|count| known.partition_point(|other| other < count)).collect()
            }
            Self::Numbers(all) => vec![0; all.len()],
            Self::Texts(all) => all.ranks(),
        }
    }

    fn picked(&self, rows: &[usize]) -> Self {
        match self {
            Self::Counts(all) => Self::Counts(rows.iter().map(|row| all.get(*row).copied().flatten()).collect()),
            Self::Numbers(all) => Self::Numbers(rows.iter().map(|row| all.get(*row).copied().flatten()).collect()),
            Self::Texts(all) => {
                let mut texts = Texts::default();
                texts.extend(all, rows.iter().map(|row| all.rows.get(*row).copied().flatten()));
                Self::Texts(texts)
            }
        }
    }
}

/// Rows of a table.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Columns {
    pub(crate) table: Table,
    data: Vec<ColumnData>,
    rows: usize,
}

impl Columns {
    pub(crate) fn new(table: Table) -> Self {
        let data = table.columns.iter().map(|column| ColumnData::empty(column.kind)).collect();
        Self { table, data, rows: 0 }
    }

    /// Rows with these columns, which are those of the table and of one length.
    pub(crate) fn from_data(table: Table, data: Vec<ColumnData>, rows: usize) -> Self {
        Self { table, data, rows }
    }

    pub(crate) fn len(&self) -> usize {
        self.rows
    }

    pub(crate) fn data(&self) -> &[ColumnData] {
        &self.data
    }

    /// Adds a row with a value for each column.
    pub(crate) fn push(&mut self, values: &[Value]) {
        self.data.iter_mut().zip(values).for_each(|(column, value)| column.push_times(value, 1));
        self.rows += 1;
    }

    /// Adds rows that differ in some columns alone: their names, each with its counts in all rows.
    pub(crate) fn push_alike<const N: usize>(&mut self, values: &[Value], differing: [(&str, &[i64]); N]) {
        let rows = differing.iter().map(|(_, counts)| counts.len()).min().unwrap_or(0);
        for ((column, value), named) in self.data.iter_mut().zip(values).zip(self.table.columns) {
            match (column, differing.iter().find(|(name, _)| *name == named.name)) {
                (ColumnData::Counts(all), Some((_, counts))) => all.extend(counts[..rows].iter().copied().map(Some)),
                (column, _) => column.push_times(value, rows),
            }
        }
        self.rows += rows;
    }

    pub(crate) fn append(&mut self, other: Self) {
        self.data.iter_mut().zip(other.data).for_each(|(column, more)| column.append(more));
        self.rows += other.rows;
    }

    /// The column of this name.
    pub(crate) fn column(&self, name: &str) -> Option<&ColumnData> {
        let place = self.table.columns.iter().position(|column| column.name == name)?;
        self.data.get(place)
    }

    /// The texts of a column; none when it has no such column.
    pub(crate) fn texts(&self, name: &str) -> impl Iterator<Item = Option<&str>> {
        let texts =
            self.column(name).and_then(|column| if let ColumnData::Texts(all) = column { Some(all) } else { None });
        texts.into_iter().flat_map(Texts::iter)
    }

    /// The counts of a column; none when it has no such column.
    pub(crate) fn counts(&self, name: &str) -> impl Iterator<Item = Option<i64>> {
        let counts =
            self.column(name).and_then(|column| if let ColumnData::Counts(all) = column { Some(all) } else { None });
        counts.into_iter().flatten().copied()
    }

    /// The rows in the order of the table: sorted by its last column first, each time keeping the order of what is alike.
    pub(crate) fn sorted(&self) -> Self {
        let mut order: Vec<usize> = (0..self.rows).collect();
        for key in self.table.order.iter().rev().filter_map(|name| self.column(name)) {
            order = by_rank(&order, &key.ranks());
        }
        self.picked(&order)
    }

    /// These rows alone.
    pub(crate) fn picked(&self, rows: &[usize]) -> Self {
        let data = self.data.iter().map(|column| column.picked(rows)).collect();
        Self { table: self.table, data, rows: rows.len() }
    }

    /// The rows in pieces of at most so many.
    pub(crate) fn pieces(&self, most: usize) -> impl Iterator<Item = Self> {
        let starts = (0..self.rows).step_by(most.max(1));
        starts.map(move |from| self.picked(&(from..(from + most).min(self.rows)).collect::<Vec<_>>()))
    }
}

/// Rows by their ranks, those of one rank in the order that they have: a counting sort, because ranks are few.
fn by_rank(order: &[usize], ranks: &[usize]) -> Vec<usize> {
    let mut ends = vec![0; ranks.iter().max().map_or(0, |most| most + 2)];
    for rank in ranks {
        ends[rank + 1] += 1;
    }
    for place in 1..ends.len() {
        ends[place] += ends[place - 1];
    }
    let mut sorted = vec![0; order.len()];
    for row in order {
        let next = &mut ends[ranks[*row]];
        sorted[*next] = *row;
        *next += 1;
    }
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Row;
    use crate::tables::DelayRow;

    #[test]
    fn rows_are_sorted_by_the_order_of_their_table() {
        let row = |kind: &str, bin| DelayRow { kind: Some(kind.to_owned()), bin: Some(bin), ..DelayRow::default() };
        let mut columns = Columns::new(DelayRow::TABLE);
        for row in [row("round_trip", 2), row("queueing", 9), row("round_trip", 1)] {
            columns.push(&row.values());
        }
        let sorted = columns.sorted();
        assert_eq!(sorted.texts("kind").flatten().collect::<Vec<_>>(), ["queueing", "round_trip", "round_trip"]);
        assert_eq!(sorted.counts("bin").flatten().collect::<Vec<_>>(), [9, 1, 2]);
        assert_eq!(sorted.pieces(2).map(|piece| piece.len()).collect::<Vec<_>>(), [2, 1]);
        let mut joined = Columns::new(DelayRow::TABLE);
        sorted.pieces(2).for_each(|piece| joined.append(piece));
        assert_eq!(joined, sorted);
    }

    #[test]
    fn alike_rows_are_those_that_are_added_one_by_one() {
        let row =
            |bin, n| DelayRow { kind: Some("queueing".to_owned()), bin: Some(bin), n: Some(n), ..DelayRow::default() };
        let (mut alike, mut single) = (Columns::new(DelayRow::TABLE), Columns::new(DelayRow::TABLE));
        alike.push_alike(&row(0, 0).values(), [("bin", &[5, 6, 9999]), ("n", &[7, 8, 1])]);
        for row in [row(5, 7), row(6, 8), row(9999, 1)] {
            single.push(&row.values());
        }
        assert_eq!(alike, single);
    }

    proptest::proptest! {
        #[test]
        fn any_rows_are_sorted_as_by_comparison_and_keep_their_order_where_alike(
            rows in proptest::collection::vec((0_u8..4, proptest::option::of(0_i64..3), 0_i64..1000), 0..60),
        ) {
            let kinds = [None, Some("b"), Some("a"), Some("c")];
            let mut columns = Columns::new(DelayRow::TABLE);
            for (kind, headline, n) in &rows {
                let kind = kinds[usize::from(*kind)].map(str::to_owned);
                columns.push(&DelayRow { kind, headline: *headline, n: Some(*n), ..DelayRow::default() }.values());
            }
            let mut expected = rows;
            expected.sort_by_key(|(kind, headline, _)| (kinds[usize::from(*kind)], *headline));
            let sorted = columns.sorted();
            proptest::prop_assert_eq!(
                sorted.counts("n").flatten().collect::<Vec<_>>(),
                expected.iter().map(|(.., n)| *n).collect::<Vec<_>>()
            );
        }
    }
}
