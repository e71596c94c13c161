//! A session with an engine that reads an archive: DataFusion in this process, or Ballista on other hosts.

use std::sync::Arc;

use datafusion::arrow::array::{Array, AsArray, RecordBatch};
use datafusion::arrow::compute::{CastOptions, cast_with_options};
use datafusion::arrow::datatypes::{DataType, Float64Type, Int64Type};
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::common::DataFusionError;
use datafusion::execution::SessionState;
use datafusion::execution::memory_pool::FairSpillPool;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::execution::session_state::SessionStateBuilder;
use datafusion::prelude::{SQLOptions, SessionConfig, SessionContext};
use tokio::runtime::Runtime;

use super::answer::Answer;
use super::error::QueryError;
use super::period::Period;
use super::place::{Place, Stores};
use super::tables::register;
use crate::table::Value;

/// Stack of the threads that plan and run, bytes. Plans are trees that are walked recursively, deep ones in deep stacks.
const STACK: usize = 32 << 20;

/// How dates and times are written.
const TIMES: FormatOptions<'static> =
    FormatOptions::new().with_timestamp_tz_format(Some("%Y-%m-%dT%H:%M:%SZ")).with_display_error(true);

/// An engine that knows the tables and views of one archive.
pub struct Session {
    runtime: Runtime,
    context: SessionContext,
    memory: u64,
    /// Who answers, if not this process.
    pub(super) scheduler: Option<String>,
}

impl Session {
    /// Reads the archive in this process, with about this much memory, bytes. What needs more is put on disk where the engine can,
    /// and else the question ends with an error.
    ///
    /// # Errors
    /// When the engine does not start.
    pub fn embedded(archive: &Place, period: &Period, memory: u64) -> Result<Self, QueryError> {
        let mut state = state(memory).map_err(|error| QueryError::from_engine(&error, memory))?;
        // The smaller side of a join is kept once, not divided: the larger one, delays, would be divided as well, which takes longer
        // than the join itself.
        let optimizer = &mut state.config_mut().options_mut().optimizer;
        optimizer.hash_join_single_partition_threshold = usize::try_from(memory / 2).unwrap_or(usize::MAX);
        optimizer.hash_join_single_partition_threshold_rows = usize::MAX;
        // Names of runs are random: that those of one side lie between two of them leaves out no row of the other, and is asked of each.
        optimizer.enable_join_dynamic_filter_pushdown = false;
        Self::with_state(archive, period, memory, state, &DataType::Utf8View)
    }

    /// `texts` is the type in which the engine has words.
    pub(super) fn with_state(
        archive: &Place,
        period: &Period,
        memory: u64,
        state: SessionState,
        texts: &DataType,
    ) -> Result<Self, QueryError> {
        let runtime = runtime()?;
        let context = SessionContext::new_with_state(state);
        runtime
            .block_on(register(&context, archive, period, texts))
            .map_err(|error| QueryError::from_engine(&error, memory))?;
        Ok(Self { runtime, context, memory, scheduler: None })
    }

    /// The answer to one question.
    ///
    /// # Errors
    /// When the text is no question, or the engine cannot answer it. Nothing but questions is allowed: no file and no table is
    /// written.
    pub fn ask(&self, sql: &str) -> Result<Answer, QueryError> {
        let answer = self.runtime.block_on(self.answer(sql));
        answer.map_err(|error| match (QueryError::from_engine(&error, self.memory), &self.scheduler) {
            (QueryError::Engine(problem), Some(scheduler)) if problem.contains(": Cancel") => {
                QueryError::ExecutorLost(scheduler.clone())
            }
            (QueryError::Engine(problem), Some(scheduler)) => {
                QueryError::Scheduler { scheduler: scheduler.clone(), problem }
            }
            (error, _) => error,
        })
    }

    async fn answer(&self, sql: &str) -> Result<Answer, DataFusionError> {
        let only_questions = SQLOptions::new().with_allow_ddl(false).with_allow_dml(false).with_allow_statements(false);
        let rows = self.context.sql_with_options(sql, only_questions).await?;
        let columns = rows.schema().fields().iter().map(|field| field.name().clone()).collect();
        let mut answer = Answer { columns, rows: Vec::new() };
        for batch in rows.collect().await? {
            append(&mut answer.rows, &batch)?;
        }
        Ok(answer)
    }
}

pub(super) fn runtime() -> Result<Runtime, QueryError> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let built = builder.enable_all().thread_stack_size(STACK).build();
    built.map_err(|source| QueryError::System { what: "threads of the engine", source })
}

/// Where the engine finds files.
pub(super) fn environment() -> RuntimeEnvBuilder {
    RuntimeEnvBuilder::new().with_object_store_registry(Arc::new(Stores::default()))
}

/// The engine with its limit of memory.
pub(super) fn state(memory: u64) -> Result<SessionState, DataFusionError> {
    let mut config = SessionConfig::new();
    let options = config.options_mut();
    // Errors name the place in the text.
    options.sql_parser.collect_spans = true;
    // A question about delays wants few of their rows: the others are not decoded.
    options.execution.parquet.pushdown_filters = true;
    let memory = usize::try_from(memory).unwrap_or(usize::MAX);
    let environment = environment().with_memory_pool(Arc::new(FairSpillPool::new(memory))).build_arc()?;
    Ok(SessionStateBuilder::new().with_config(config).with_runtime_env(environment).with_default_features().build())
}

/// Adds the rows of a batch.
fn append(rows: &mut Vec<Vec<Value>>, batch: &RecordBatch) -> Result<(), DataFusionError> {
    let columns = batch.columns().iter().map(values).collect::<Result<Vec<_>, _>>()?;
    let mut columns: Vec<_> = columns.into_iter().map(Vec::into_iter).collect();
    for _ in 0..batch.num_rows() {
        rows.push(columns.iter_mut().filter_map(Iterator::next).collect());
    }
    Ok(())
}

/// The values of a column. Truth is 1 or 0, as in the tables.
fn values(column: &Arc<dyn Array>) -> Result<Vec<Value>, DataFusionError> {
    let cast = |to: &DataType| {
        let strictly = CastOptions { safe: false, ..CastOptions::default() };
        cast_with_options(column, to, &strictly)
    };
    let kind = column.data_type();
    Ok(if kind.is_integer() || *kind == DataType::Boolean {
        let counts = cast(&DataType::Int64)?;
        counts.as_primitive::<Int64Type>().iter().map(|value| value.map_or(Value::Null, Value::Count)).collect()
    } else if kind.is_floating() || kind.is_decimal() {
        let numbers = cast(&DataType::Float64)?;
        numbers.as_primitive::<Float64Type>().iter().map(|value| value.map_or(Value::Null, Value::Number)).collect()
    } else {
        let texts = ArrayFormatter::try_new(column, &TIMES)?;
        let nulls = column.logical_nulls();
        let is_null = |row| nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
        let text = |row| if is_null(row) { Value::Null } else { Value::Text(texts.value(row).to_string()) };
        (0..column.len()).map(text).collect()
    })
}
