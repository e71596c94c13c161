//! Rows for the measuring threads, columns for the file.
//!
//! A measuring thread pushes small `Copy` rows; the recording contains the same facts as one list of integers per
//! field, each value but the first written as the difference from the one before. Neighboring values are alike, so the
//! differences are short and compress well.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A field that can be a column: anything that is an integer underneath.
pub trait Cell: Copy {
    /// The integer as 64 bits; unsigned 64-bit values keep their bits.
    fn to_cell(self) -> i64;
    /// The value from its integer. Values outside the field's range are cut to it, as a foreign file may hold any.
    fn from_cell(cell: i64) -> Self;
}

macro_rules! integer_cells {
    ($($integer:ty),*) => {$(
        impl Cell for $integer {
            fn to_cell(self) -> i64 {
                i64::from(self)
            }
            fn from_cell(cell: i64) -> Self {
                Self::try_from(cell).unwrap_or(if cell < 0 { Self::MIN } else { Self::MAX })
            }
        }
    )*};
}
integer_cells!(u8, u16, u32, i64);

impl Cell for u64 {
    fn to_cell(self) -> i64 {
        self.cast_signed()
    }
    fn from_cell(cell: i64) -> Self {
        cell.cast_unsigned()
    }
}

macro_rules! wrapped_cells {
    ($($wrapper:path),*) => {$(
        impl Cell for $wrapper {
            fn to_cell(self) -> i64 {
                self.0.to_cell()
            }
            fn from_cell(cell: i64) -> Self {
                $wrapper(Cell::from_cell(cell))
            }
        }
    )*};
}
wrapped_cells!(crate::flow::FlowId, crate::time::TestTime, crate::units::ByteCount, crate::units::Delay);

/// One field of many rows, written as differences.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Column(Vec<i64>);

impl Column {
    pub fn push<C: Cell>(&mut self, value: C) {
        self.0.push(value.to_cell());
    }

    /// The value in this row; `None` past the end.
    pub fn get<C: Cell>(&self, row: usize) -> Option<C> {
        self.0.get(row).copied().map(C::from_cell)
    }

    /// A column whose first value and differences these are.
    pub(crate) fn from_differences(mut values: Vec<i64>) -> Self {
        let mut before = 0_i64;
        for value in &mut values {
            before = before.wrapping_add(*value);
            *value = before;
        }
        Self(values)
    }

    pub(super) fn values(&self) -> &[i64] {
        &self.0
    }

    /// How many values it contains.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for Column {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut before = 0_i64;
        serializer.collect_seq(self.0.iter().map(|value| {
            let difference = value.wrapping_sub(before);
            before = *value;
            difference
        }))
    }
}

impl<'de> Deserialize<'de> for Column {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::from_differences(Vec::deserialize(deserializer)?))
    }
}

/// The columns of one kind of observation, whatever kind that is.
pub(crate) trait Table {
    /// The names of the columns.
    fn names(&self) -> &'static [&'static str];

    /// The columns, in the order of their names.
    fn columns(&self) -> &[Column];

    /// The columns, in the order of their names.
    fn columns_mut(&mut self) -> &mut [Column];
}

/// Declares a row type, its table of columns, and the way from one to the other.
///
/// A column that an older file lacks, or that a damaged file cut short, ends the rows there: [`rows`](Self) yields as
/// many rows as the shortest column has.
macro_rules! table {
    ($(#[$about:meta])* $row:ident in $table:ident { $($(#[$field_about:meta])* $field:ident: $kind:ty,)* }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct $row { $($(#[$field_about])* pub $field: $kind,)* }

        #[doc = concat!("Many [`", stringify!($row), "`] rows as columns.")]
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct $table([$crate::observation::columns::Column; [$(stringify!($field)),*].len()]);

        impl Default for $table {
            fn default() -> Self {
                Self(std::array::from_fn(|_| $crate::observation::columns::Column::default()))
            }
        }

        impl $crate::observation::columns::Table for $table {
            fn names(&self) -> &'static [&'static str] {
                &[$(stringify!($field)),*]
            }
            fn columns(&self) -> &[$crate::observation::columns::Column] {
                &self.0
            }
            fn columns_mut(&mut self) -> &mut [$crate::observation::columns::Column] {
                &mut self.0
            }
        }

        impl $table {
            pub fn push(&mut self, row: $row) {
                let [$($field),*] = &mut self.0;
                $($field.push(row.$field);)*
            }

            pub fn len(&self) -> usize {
                self.0.iter().map($crate::observation::columns::Column::len).min().unwrap_or(0)
            }

            /// Whether it has no row.
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// The rows in the order in which they were pushed.
            pub fn rows(&self) -> impl Iterator<Item = $row> + '_ {
                // Equally long slices: no row is checked, and a column whose field is not requested is not looked at.
                let rows = self.len();
                let [$($field),*] = &self.0;
                $(let $field = &$field.values()[..rows];)*
                (0..rows).map(move |row| $row { $($field: $crate::observation::Cell::from_cell($field[row]),)* })
            }
        }
    };
}
pub(crate) use table;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_is_written_as_differences_and_reads_back() {
        let mut column = Column::default();
        for value in [1000_u64, 1003, 1001, u64::MAX, 0] {
            column.push(value);
        }
        let text = serde_json::to_string(&column).unwrap();
        assert!(text.starts_with("[1000,3,-2,"), "{text}");
        let back: Column = serde_json::from_str(&text).unwrap();
        assert_eq!(back, column);
        assert_eq!(back.get::<u64>(3), Some(u64::MAX));
    }

    #[test]
    fn a_value_out_of_range_is_cut_to_the_field() {
        let mut column = Column::default();
        column.push(70_000_i64);
        column.push(-1_i64);
        assert_eq!(column.get::<u16>(0), Some(u16::MAX));
        assert_eq!(column.get::<u16>(1), Some(0));
    }
}
