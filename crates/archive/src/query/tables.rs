//! The tables and views of an archive as an engine of DataFusion's knows them.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, Schema, TimeUnit};
use datafusion::catalog::TableProvider;
use datafusion::common::{DataFusionError, Result};
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::{ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl};
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::logical_expr::{Expr, col, lit};
use datafusion::prelude::SessionContext;
use futures::StreamExt as _;
use object_store::ObjectStore as _;
use object_store::path::Path;
use url::{Position, Url};

use super::period::Period;
use super::place::Place;
use crate::parquet_file::VERSION;
use crate::questions::{VIEWS, statements};
use crate::table::{Kind, Table};
use crate::tables::TABLES;

/// Columns that are in the names of folders.
const FOLDERS: [&str; 2] = ["date", "site"];

/// Registers the tables of the archive below this address, of these days alone, and the views over them. `texts` is the type in
/// which the engine has words.
pub(super) async fn register(
    context: &SessionContext,
    archive: &Place,
    period: &Period,
    texts: &DataType,
) -> Result<()> {
    if archive.is_bucket() {
        expect_runs(context, archive.url()).await?;
    }
    for table in TABLES {
        let listed = Arc::new(listing(table, archive.url(), texts)?);
        let rows: Arc<dyn TableProvider> = match days(period) {
            Some(condition) => context.read_table(listed)?.filter(condition)?.into_view(),
            None => listed,
        };
        context.register_table(table.name, rows)?;
    }
    for view in statements(VIEWS) {
        context.sql(&view).await?;
    }
    Ok(())
}

/// Fails when a bucket is not reached, or has no runs.
async fn expect_runs(context: &SessionContext, archive: &Url) -> Result<()> {
    let store = context.runtime_env().object_store(ObjectStoreUrl::parse(&archive[..Position::BeforePath])?)?;
    let folder = Path::from_url_path(archive.path())?.join(TABLES[0].name);
    let first = store.list(Some(&folder)).next().await.transpose()?;
    match first {
        Some(_) => Ok(()),
        None => Err(DataFusionError::Execution(format!("{archive}: no archive"))),
    }
}

/// A table whose columns are those that this rrul knows: a file that has fewer of them is older, and the others are null there.
/// So no file is opened to learn what columns it has.
fn listing(table: Table, archive: &Url, texts: &DataType) -> Result<ListingTable> {
    let below = format!("{}/v={VERSION}/", table.name);
    let folder = archive.join(&below).map_err(|error| DataFusionError::External(Box::new(error)))?;
    let fields = table.columns.iter().map(|column| Field::new(column.name, data_type(column.kind, texts), true));
    let options = ListingOptions::new(Arc::new(ParquetFormat::default()))
        .with_file_extension(".parquet")
        .with_table_partition_cols(FOLDERS.map(|name| (name.to_owned(), DataType::Utf8)).to_vec());
    let config = ListingTableConfig::new(ListingTableUrl::try_new(folder, None)?)
        .with_listing_options(options)
        .with_schema(Arc::new(Schema::new(fields.collect::<Vec<_>>())));
    ListingTable::try_new(config)
}

fn data_type(kind: Kind, texts: &DataType) -> DataType {
    match kind {
        Kind::Count => DataType::Int64,
        Kind::Number => DataType::Float64,
        Kind::Text => texts.clone(),
        Kind::Time => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
    }
}

fn days(period: &Period) -> Option<Expr> {
    let from = period.from.as_ref().map(|day| col("date").gt_eq(lit(day.as_str())));
    let to = period.to.as_ref().map(|day| col("date").lt_eq(lit(day.as_str())));
    match (from, to) {
        (Some(from), Some(to)) => Some(from.and(to)),
        (from, to) => from.or(to),
    }
}
