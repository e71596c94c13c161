//! Rows of a table as a Parquet file, and back. Every column is optional and compressed with zstd.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as Physical, ZstdLevel};
use parquet::column::reader::ColumnReader;
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;

use crate::columns::{ColumnData, Columns, Texts};
use crate::error::ArchiveError;
use crate::table::{Kind, Table};

/// The version of the tables, which every file names.
pub(crate) const VERSION: &str = "1";

/// A file that is being written, row group after row group.
pub(crate) struct ParquetWriter<W: Write + Send> {
    writer: SerializedFileWriter<W>,
}

impl<W: Write + Send> ParquetWriter<W> {
    pub(crate) fn new(table: &Table, out: W) -> Result<Self> {
        let fields = table.columns.iter().map(|column| {
            let (physical, logical) = match column.kind {
                Kind::Count => (Physical::INT64, None),
                Kind::Number => (Physical::DOUBLE, None),
                Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
                Kind::Time => (Physical::INT64, Some(LogicalType::timestamp(true, TimeUnit::MICROS))),
            };
            let builder = Type::primitive_type_builder(column.name, physical).with_logical_type(logical);
            Ok(Arc::new(builder.with_repetition(Repetition::OPTIONAL).build()?))
        });
        let schema =
            Arc::new(Type::group_type_builder("rrul").with_fields(fields.collect::<Result<Vec<_>>>()?).build()?);
        let about = [("rrul.table", table.name), ("rrul.table.version", VERSION)];
        let about = about.map(|(key, value)| KeyValue { key: key.to_owned(), value: Some(value.to_owned()) });
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_created_by(format!("rrul {}", env!("CARGO_PKG_VERSION")))
            .set_key_value_metadata(Some(about.to_vec()))
            .build();
        Ok(Self { writer: SerializedFileWriter::new(out, schema, Arc::new(properties))? })
    }

    /// Adds the rows as one row group.
    pub(crate) fn write(&mut self, rows: &Columns) -> Result<()> {
        if rows.len() == 0 {
            return Ok(());
        }
        let mut group = self.writer.next_row_group()?;
        for data in rows.data() {
            if let Some(column) = group.next_column()? {
                write_column(column, data)?;
            }
        }
        group.close()?;
        Ok(())
    }

    /// Bytes written so far.
    pub(crate) fn written(&self) -> u64 {
        self.writer.bytes_written() as u64
    }

    /// Ends the file, and returns what it was written to.
    pub(crate) fn finish(self) -> Result<W> {
        self.writer.into_inner()
    }
}

fn write_column(mut column: SerializedColumnWriter<'_>, data: &ColumnData) -> Result<()> {
    fn levels<T>(values: impl Iterator<Item = Option<T>>) -> Vec<i16> {
        values.map(|value| i16::from(value.is_some())).collect()
    }
    match data {
        ColumnData::Counts(all) => {
            let values: Vec<i64> = all.iter().copied().flatten().collect();
            column.typed::<Int64Type>().write_batch(&values, Some(&levels(all.iter().copied())), None)?;
        }
        ColumnData::Numbers(all) => {
            let values: Vec<f64> = all.iter().copied().flatten().collect();
            column.typed::<DoubleType>().write_batch(&values, Some(&levels(all.iter().copied())), None)?;
        }
        ColumnData::Texts(all) => {
            let values: Vec<ByteArray> = all.iter().flatten().map(ByteArray::from).collect();
            column.typed::<ByteArrayType>().write_batch(&values, Some(&levels(all.iter())), None)?;
        }
    }
    column.close()
}

/// A file whose rows are read, row group after row group.
pub(crate) struct ParquetSource {
    path: std::path::PathBuf,
    reader: SerializedFileReader<File>,
    table: Table,
    /// Where each column of the table is in the file.
    places: Vec<Option<usize>>,
}

impl ParquetSource {
    /// Opens a file of this table. Columns that it does not have are null, as it may be older.
    pub(crate) fn open(table: Table, path: &Path) -> std::result::Result<Self, ArchiveError> {
        let file = File::open(path).map_err(ArchiveError::file(path))?;
        let reader = SerializedFileReader::new(file).map_err(ArchiveError::parquet(path))?;
        let schema = reader.metadata().file_metadata().schema_descr();
        let mut places = vec![None; table.columns.len()];
        for (place, field) in schema.columns().iter().enumerate() {
            let Some(known) = table.columns.iter().position(|column| column.name == field.name()) else {
                return Err(ArchiveError::UnknownColumn { path: path.to_owned(), column: field.name().to_owned() });
            };
            let column = table.columns[known];
            let physical = match column.kind {
                Kind::Count | Kind::Time => Physical::INT64,
                Kind::Number => Physical::DOUBLE,
                Kind::Text => Physical::BYTE_ARRAY,
            };
            if field.physical_type() != physical || field.max_def_level() != 1 || field.max_rep_level() != 0 {
                let kind = column.kind.name();
                return Err(ArchiveError::Column { path: path.to_owned(), column: column.name, kind });
            }
            places[known] = Some(place);
        }
        // A file of another table has none of its columns.
        if places[0].is_none() {
            let first = table.columns[0];
            return Err(ArchiveError::Column { path: path.to_owned(), column: first.name, kind: first.kind.name() });
        }
        Ok(Self { path: path.to_owned(), reader, table, places })
    }

    pub(crate) fn groups(&self) -> usize {
        self.reader.num_row_groups()
    }

    /// The rows of one row group.
    pub(crate) fn group(&self, group: usize) -> std::result::Result<Columns, ArchiveError> {
        self.read(group, |_| true).map_err(ArchiveError::parquet(&self.path))
    }

    /// The rows of one row group with these columns alone; others are null.
    pub(crate) fn some_columns(&self, group: usize, names: &[&str]) -> std::result::Result<Columns, ArchiveError> {
        self.read(group, |name| names.contains(&name)).map_err(ArchiveError::parquet(&self.path))
    }

    fn read(&self, group: usize, wanted: impl Fn(&str) -> bool) -> Result<Columns> {
        let group = self.reader.get_row_group(group)?;
        let rows = usize::try_from(group.metadata().num_rows()).unwrap_or_default();
        let columns = self.table.columns.iter().zip(&self.places).map(|(column, place)| {
            let place = place.filter(|_| wanted(column.name));
            let reader = place.map(|place| group.get_column_reader(place)).transpose()?;
            read_column(column.kind, reader, rows)
        });
        let columns = columns.collect::<Result<Vec<_>>>()?;
        Ok(Columns::from_data(self.table, columns, rows))
    }
}

fn read_column(kind: Kind, reader: Option<ColumnReader>, rows: usize) -> Result<ColumnData> {
    let mut levels = Vec::new();
    Ok(match (kind, reader) {
        (Kind::Count | Kind::Time, None) => ColumnData::Counts(vec![None; rows]),
        (Kind::Number, None) => ColumnData::Numbers(vec![None; rows]),
        (Kind::Text, None) => {
            let mut texts = Texts::default();
            (0..rows).for_each(|_| texts.push(None));
            ColumnData::Texts(texts)
        }
        (Kind::Count | Kind::Time, Some(ColumnReader::Int64ColumnReader(mut column))) => {
            let mut values = Vec::new();
            column.read_records(rows, Some(&mut levels), None, &mut values)?;
            ColumnData::Counts(spread(&levels, values, rows)?)
        }
        (Kind::Number, Some(ColumnReader::DoubleColumnReader(mut column))) => {
            let mut values = Vec::new();
            column.read_records(rows, Some(&mut levels), None, &mut values)?;
            ColumnData::Numbers(spread(&levels, values, rows)?)
        }
        (Kind::Text, Some(ColumnReader::ByteArrayColumnReader(mut column))) => {
            let mut values = Vec::new();
            column.read_records(rows, Some(&mut levels), None, &mut values)?;
            let mut texts = Texts::default();
            for value in spread(&levels, values, rows)? {
                texts.push(value.as_ref().map(ByteArray::as_utf8).transpose()?);
            }
            ColumnData::Texts(texts)
        }
        _ => return Err(ParquetError::General("a column is of another type than its schema says".to_owned())),
    })
}

/// Puts values in the rows that have one.
fn spread<T>(levels: &[i16], values: Vec<T>, rows: usize) -> Result<Vec<Option<T>>> {
    let mut values = values.into_iter();
    let spread: Vec<Option<T>> = levels.iter().map(|level| if *level == 1 { values.next() } else { None }).collect();
    if spread.len() != rows || values.next().is_some() {
        return Err(ParquetError::General(format!("{} values in a column of {rows} rows", spread.len())));
    }
    Ok(spread)
}
