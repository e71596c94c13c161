//! Rows of one table by column: as they are read, sorted and written.

use std::cmp::Ordering;
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
        let place = text.map(|text| {
            self.places.get(text).copied().unwrap_or_else(|| {
                let place = self.words.len() as u32;
                self.words.push(text.to_owned());
                self.places.insert(text.to_owned(), place);
                place
            })
        });
        self.rows.push(place);
    }

    pub(crate) fn get(&self, row: usize) -> Option<&str> {
        let place = self.rows.get(row).copied().flatten()?;
        self.words.get(place as usize).map(String::as_str)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Option<&str>> {
        (0..self.rows.len()).map(|row| self.get(row))
    }

    /// The place of each row's text among all of them in alphabetical order; null is the least.
    fn order(&self) -> Vec<i64> {
        let mut sorted: Vec<usize> = (0..self.words.len()).collect();
        sorted.sort_by(|a, b| self.words[*a].cmp(&self.words[*b]));
        let mut ranks = vec![0_i64; sorted.len()];
        sorted.into_iter().zip(0..).for_each(|(place, rank)| ranks[place] = rank);
        self.rows.iter().map(|place| place.map_or(i64::MIN, |place| ranks[place as usize])).collect()
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

    fn push(&mut self, value: Value) {
        match (self, value) {
            (Self::Counts(all), Value::Count(value)) => all.push(Some(value)),
            (Self::Numbers(all), Value::Number(value)) => all.push(Some(value)),
            (Self::Texts(all), Value::Text(value)) => all.push(Some(&value)),
            (Self::Counts(all), _) => all.push(None),
            (Self::Numbers(all), _) => all.push(None),
            (Self::Texts(all), _) => all.push(None),
        }
    }

    fn append(&mut self, other: Self) {
        match (self, other) {
            (Self::Counts(all), Self::Counts(more)) => all.extend(more),
            (Self::Numbers(all), Self::Numbers(more)) => all.extend(more),
            (Self::Texts(all), Self::Texts(more)) => more.iter().for_each(|text| all.push(text)),
            // Columns of one table are of one kind.
            _ => {}
        }
    }

    /// Integers in the order of the values; null is the least. Numbers with fractions have no order here, and need none.
    fn order(&self) -> Vec<i64> {
        match self {
            Self::Counts(all) => all.iter().map(|count| count.unwrap_or(i64::MIN)).collect(),
            Self::Numbers(all) => vec![0; all.len()],
            Self::Texts(all) => all.order(),
        }
    }

    fn picked(&self, rows: &[usize]) -> Self {
        match self {
            Self::Counts(all) => Self::Counts(rows.iter().map(|row| all.get(*row).copied().flatten()).collect()),
            Self::Numbers(all) => Self::Numbers(rows.iter().map(|row| all.get(*row).copied().flatten()).collect()),
            Self::Texts(all) => {
                let mut texts = Texts::default();
                for row in rows {
                    texts.push(all.get(*row));
                }
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
    pub(crate) fn push(&mut self, values: Vec<Value>) {
        self.data.iter_mut().zip(values).for_each(|(column, value)| column.push(value));
        self.rows += 1;
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

    /// The rows in the order of the table.
    pub(crate) fn sorted(&self) -> Self {
        let keys: Vec<Vec<i64>> =
            self.table.order.iter().filter_map(|name| self.column(name)).map(ColumnData::order).collect();
        let mut order: Vec<usize> = (0..self.rows).collect();
        order.sort_by(|a, b| {
            keys.iter().map(|key| key[*a].cmp(&key[*b])).find(|found| found.is_ne()).unwrap_or(Ordering::Equal)
        });
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
            columns.push(row.values());
        }
        let sorted = columns.sorted();
        assert_eq!(sorted.texts("kind").flatten().collect::<Vec<_>>(), ["queueing", "round_trip", "round_trip"]);
        assert_eq!(sorted.counts("bin").flatten().collect::<Vec<_>>(), [9, 1, 2]);
        assert_eq!(sorted.pieces(2).map(|piece| piece.len()).collect::<Vec<_>>(), [2, 1]);
        let mut joined = Columns::new(DelayRow::TABLE);
        sorted.pieces(2).for_each(|piece| joined.append(piece));
        assert_eq!(joined, sorted);
    }
}
