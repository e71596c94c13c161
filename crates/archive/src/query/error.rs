//! Why a question has no answer: one line for the user.

use datafusion::common::DataFusionError;

use crate::error::ArchiveError;

#[derive(Debug, thiserror::Error)]
pub enum QueryError {
    #[error("SQL, line {line}, column {column}: {problem}")]
    At { line: u64, column: u64, problem: String },
    #[error("SQL: {0}")]
    Sql(String),
    #[error("the question needs more than {} MB of memory; ask about fewer days with --from and --to, or allow more with --memory", .0 / 1_000_000)]
    Memory(u64),
    #[error("{0}")]
    Engine(String),
    #[error("{scheduler}: {problem}; see that its scheduler and executors run")]
    Scheduler { scheduler: String, problem: String },
    #[error("{0}: an executor was lost; ask again, and the others answer")]
    ExecutorLost(String),
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    #[error("{what}: {source}")]
    System { what: &'static str, source: std::io::Error },
}

impl QueryError {
    /// What the engine says of a question, with the place in its text where the engine knows one. `memory` is its limit, bytes.
    pub(crate) fn from_engine(error: &DataFusionError, memory: u64) -> Self {
        let root = error.find_root();
        let problem = one_line(&root.strip_backtrace());
        if let DataFusionError::ResourcesExhausted(_) = root {
            return Self::Memory(memory);
        }
        if let Some(span) = error.diagnostic().and_then(|diagnostic| diagnostic.span) {
            return Self::At { line: span.start.line, column: span.start.column, problem: without_kind(&problem) };
        }
        match root {
            DataFusionError::SQL(parser, _) => {
                let text = one_line(&parser.to_string());
                let text = text.strip_prefix("sql parser error: ").unwrap_or(&text);
                place(text).unwrap_or_else(|| Self::Sql(text.to_owned()))
            }
            DataFusionError::Plan(_) | DataFusionError::SchemaError(..) | DataFusionError::NotImplemented(_) => {
                Self::Sql(without_kind(&problem))
            }
            _ => Self::Engine(problem),
        }
    }
}

/// Where the parser stopped: `Expected: ..., found: x at Line: 1, Column: 8`.
fn place(text: &str) -> Option<QueryError> {
    let (problem, place) = text.rsplit_once(" at Line: ")?;
    let (line, column) = place.split_once(", Column: ")?;
    Some(QueryError::At { line: line.parse().ok()?, column: column.parse().ok()?, problem: problem.to_owned() })
}

/// Without the engine's name for this kind of error, which says nothing to the user.
fn without_kind(problem: &str) -> String {
    let kinds = ["Error during planning: ", "Schema error: ", "This feature is not implemented: "];
    let rest = kinds.iter().find_map(|kind| problem.strip_prefix(kind)).unwrap_or(problem);
    rest.trim_end_matches('.').to_owned()
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
