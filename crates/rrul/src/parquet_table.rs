//! A table as Parquet: one row group, every column optional, compressed with zstd.

use std::sync::Arc;

use parquet::basic::{Compression, ConvertedType, Repetition, Type as Physical, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::Result;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;
use rrul_view::exports::tidy_export::{Export, Kind, Table, Value};

/// The bytes of the file. The description of the run is in the file's own key-value metadata.
pub(crate) fn parquet(table: &Table, export: &Export) -> Result<Vec<u8>> {
    let kinds: Vec<Kind> = table.columns.iter().map(|name| Kind::of(name)).collect();
    let field = |(name, kind): (&&str, &Kind)| {
        let (physical, converted) = match kind {
            Kind::Counts => (Physical::INT64, ConvertedType::NONE),
            Kind::Numbers => (Physical::DOUBLE, ConvertedType::NONE),
            Kind::Texts => (Physical::BYTE_ARRAY, ConvertedType::UTF8),
        };
        let builder = Type::primitive_type_builder(name, physical);
        Ok(Arc::new(builder.with_converted_type(converted).with_repetition(Repetition::OPTIONAL).build()?))
    };
    let fields = table.columns.iter().zip(&kinds).map(field).collect::<Result<Vec<_>>>()?;
    let schema = Arc::new(Type::group_type_builder("rrul").with_fields(fields).build()?);
    let about =
        [("plan", &export.plan), ("title", &export.title), ("created", &export.created), ("server", &export.server)];
    let about = about.map(|(key, value)| KeyValue { key: format!("rrul.{key}"), value: Some(value.clone()) });
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_created_by(format!("rrul {}", env!("CARGO_PKG_VERSION")))
        .set_key_value_metadata(Some(about.to_vec()))
        .build();
    let mut octets = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut octets, schema, Arc::new(properties))?;
    let mut group = writer.next_row_group()?;
    for (place, kind) in kinds.iter().enumerate() {
        if let Some(column) = group.next_column()? {
            write(column, *kind, table.rows.iter().filter_map(|row| row.get(place)))?;
        }
    }
    group.close()?;
    writer.close()?;
    Ok(octets)
}

/// One column. A value that does not fit into it would be a defect of the table; it is left empty.
fn write<'t>(
    mut column: SerializedColumnWriter<'_>,
    kind: Kind,
    values: impl Iterator<Item = &'t Value> + Clone,
) -> Result<()> {
    let there: Vec<i16> =
        values.clone().map(|value| i16::from(*value != Value::Nothing && kind.holds(value))).collect();
    match kind {
        Kind::Counts => {
            let counts: Vec<i64> = values.filter_map(count).collect();
            column.typed::<Int64Type>().write_batch(&counts, Some(&there), None)?;
        }
        Kind::Numbers => {
            let numbers: Vec<f64> = values.filter_map(number).collect();
            column.typed::<DoubleType>().write_batch(&numbers, Some(&there), None)?;
        }
        Kind::Texts => {
            let texts: Vec<ByteArray> = values.filter_map(text).collect();
            column.typed::<ByteArrayType>().write_batch(&texts, Some(&there), None)?;
        }
    }
    column.close()
}

fn count(value: &Value) -> Option<i64> {
    if let Value::Count(count) = value { Some(i64::try_from(*count).unwrap_or(i64::MAX)) } else { None }
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Count(count) => Some(*count as f64),
        Value::Number { value, .. } => Some(*value),
        Value::Nothing | Value::Text(_) => None,
    }
}

fn text(value: &Value) -> Option<ByteArray> {
    if let Value::Text(words) = value { Some(words.as_str().into()) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;

    #[test]
    fn a_table_reads_back_as_it_was() {
        let number = |value| Value::Number { value, decimals: 6 };
        let rows = vec![
            vec![Value::Count(7), number(0.25), Value::Text("a, \"b\"".to_owned()), Value::Nothing],
            vec![Value::Nothing, Value::Count(3), Value::Nothing, Value::Nothing],
        ];
        let table = Table { columns: &["lost", "delay_ms", "flow", "never"], rows };
        let empty = Table { columns: &["lost"], rows: Vec::new() };
        let export = Export {
            plan: "rrul".to_owned(),
            title: "ü".to_owned(),
            created: String::new(),
            server: String::new(),
            series: empty.clone(),
            samples: empty.clone(),
        };
        let octets = parquet(&table, &export).unwrap();
        assert_eq!(octets, parquet(&table, &export).unwrap(), "the same table gives the same bytes");
        let reader = SerializedFileReader::new(bytes::Bytes::from(octets)).unwrap();
        let about = reader.metadata().file_metadata().key_value_metadata().unwrap().clone();
        assert!(about.iter().any(|entry| entry.key == "rrul.title" && entry.value.as_deref() == Some("ü")));
        let rows: Vec<Vec<Field>> = reader
            .get_row_iter(None)
            .unwrap()
            .map(|row| row.unwrap().get_column_iter().map(|(_, field)| field.clone()).collect())
            .collect();
        let expected = [
            [Field::Long(7), Field::Double(0.25), Field::Str("a, \"b\"".to_owned()), Field::Null],
            [Field::Null, Field::Double(3.0), Field::Null, Field::Null],
        ];
        assert_eq!(rows, expected);
        let none = SerializedFileReader::new(bytes::Bytes::from(parquet(&empty, &export).unwrap())).unwrap();
        assert_eq!(none.metadata().file_metadata().num_rows(), 0);
    }
}
