//! Questions that several hosts answer together: a scheduler, executors, and the session of whoever asks, by Ballista.
//!
//! All of them must read the archive at the same path. No part knows passwords: whoever reaches a port can ask anything of
//! every file that the executors may read.

use std::collections::HashSet;
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use ballista_core::config::TaskSchedulingPolicy;
use ballista_core::extension::SessionStateExt;
use ballista_executor::executor_process::{ExecutorProcessConfig, start_executor_process};
use ballista_scheduler::cluster::{BallistaCluster, ClusterState};
use ballista_scheduler::config::SchedulerConfig;
use ballista_scheduler::scheduler_process::{create_scheduler, start_grpc_service_with_listener};
use ballista_scheduler::scheduler_server::SchedulerServer;
use datafusion::arrow::datatypes::DataType;
use datafusion::execution::SessionState;
use datafusion::execution::session_state::SessionStateBuilder;
use datafusion_proto::protobuf::{LogicalPlanNode, PhysicalPlanNode};
use tokio::net::TcpListener;
use url::Url;

use super::error::QueryError;
use super::period::Period;
use super::place::Place;
use super::session::{Session, environment, runtime, state};

/// Port of a scheduler whose address names none; the default of Ballista.
const PORT: u16 = 50050;
/// An executor that has not asked for work for this long is given up, seconds. Executors ask ten times a second.
const SILENCE: u64 = 15;
/// How often that is looked at, seconds.
const LOOK: u64 = 5;

/// Where a scheduler is: `df://host:port`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scheduler {
    host: String,
    port: u16,
}

/// No address of a scheduler.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("write the address of a scheduler as df://HOST:PORT")]
pub struct NoScheduler;

impl FromStr for Scheduler {
    type Err = NoScheduler;

    fn from_str(text: &str) -> Result<Self, NoScheduler> {
        let url = Url::parse(text).map_err(|_| NoScheduler)?;
        let bare = matches!(url.path(), "" | "/") && url.query().is_none() && url.username().is_empty();
        match url.host_str() {
            Some(host) if url.scheme() == "df" && bare && !host.is_empty() => {
                Ok(Self { host: host.to_owned(), port: url.port().unwrap_or(PORT) })
            }
            _ => Err(NoScheduler),
        }
    }
}

impl fmt::Display for Scheduler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "df://{}:{}", self.host, self.port)
    }
}

impl Session {
    /// Asks the executors of this scheduler, with a memory limit of this process, bytes.
    ///
    /// # Errors
    /// When the session cannot begin. Whether the scheduler is there shows with the first question.
    pub fn with_cluster(
        archive: &Place,
        period: &Period,
        memory: u64,
        scheduler: &Scheduler,
    ) -> Result<Self, QueryError> {
        let address = format!("http://{}:{}", scheduler.host, scheduler.port);
        let state = state(memory).and_then(|state| SessionState::upgrade_for_ballista(state, address));
        let state = state.map_err(|error| QueryError::from_engine(&error, memory))?;
        // Not Utf8View: between hosts it makes messages larger than Ballista sends.
        let mut session = Self::with_state(archive, period, memory, state, &DataType::Utf8)?;
        session.scheduler = Some(scheduler.to_string());
        Ok(session)
    }
}

/// Runs a scheduler at this address until the process is ended. `ready` gets the address when clients can connect.
///
/// # Errors
/// When the address is in use, or the scheduler ends.
pub fn run_scheduler(listen: SocketAddr, ready: impl FnOnce(SocketAddr)) -> Result<(), QueryError> {
    runtime()?.block_on(async {
        let in_use = |source| QueryError::System { what: "address of the scheduler", source };
        let listener = TcpListener::bind(listen).await.map_err(in_use)?;
        let address = listener.local_addr().map_err(in_use)?;
        let config = SchedulerConfig {
            bind_host: address.ip().to_string(),
            bind_port: address.port(),
            scheduling_policy: TaskSchedulingPolicy::PullStaged,
            executor_timeout_seconds: SILENCE,
            expire_dead_executor_interval_seconds: LOOK,
            no_executors_grace_period_seconds: SILENCE,
            override_session_builder: Some(Arc::new(|config| {
                let found = SessionStateBuilder::new().with_config(config).with_default_features();
                Ok(found.with_runtime_env(environment().build_arc()?).build())
            })),
            ..SchedulerConfig::default()
        };
        let failed = |error: ballista_core::error::BallistaError| QueryError::Engine(error.to_string());
        let cluster = BallistaCluster::new_from_config(&config).await.map_err(failed)?;
        let executors = cluster.cluster_state();
        let scheduler =
            create_scheduler::<LogicalPlanNode, PhysicalPlanNode>(cluster, Arc::new(config)).await.map_err(failed)?;
        tokio::spawn(end_questions_of_dead_executors(scheduler.clone(), executors));
        ready(address);
        start_grpc_service_with_listener(listener, scheduler).await.map_err(failed)
    })
}

/// Ends all questions when an executor has died. Ballista means to do its work again elsewhere, but where two stages run at once
/// the question then waits for ever.
async fn end_questions_of_dead_executors(
    scheduler: SchedulerServer<LogicalPlanNode, PhysicalPlanNode>,
    executors: Arc<dyn ClusterState>,
) {
    let mut before = HashSet::new();
    loop {
        tokio::time::sleep(Duration::from_secs(LOOK)).await;
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |now| now.as_secs());
        let heard = executors.executor_heartbeats().into_iter();
        let alive: HashSet<String> =
            heard.filter(|(_, heard)| heard.timestamp + SILENCE > now).map(|(name, _)| name).collect();
        if !before.is_subset(&alive) {
            for question in scheduler.state.task_manager.get_running_job_cache().keys() {
                // A scheduler that takes no events has ended itself.
                let _ = scheduler.cancel_job(question.clone()).await;
            }
        }
        before = alive;
    }
}

/// An executor that is started.
#[derive(Debug, Clone)]
pub struct Executor {
    pub scheduler: Scheduler,
    /// Where other executors and clients fetch rows.
    pub listen: SocketAddr,
    /// Tasks at the same time.
    pub cores: usize,
    /// Memory of all tasks, bytes.
    pub memory: u64,
    /// Folder of rows between two tasks.
    pub work: PathBuf,
}

impl Executor {
    /// Works until the process is ended.
    ///
    /// # Errors
    /// When the scheduler is not reached, or the address is in use.
    pub fn run(self) -> Result<(), QueryError> {
        let between = self.work.clone();
        let config = ExecutorProcessConfig {
            override_runtime_producer: Some(Arc::new(move |_| {
                environment().with_temp_file_path(between.clone()).build_arc()
            })),
            bind_host: self.listen.ip().to_string(),
            port: self.listen.port(),
            scheduler_host: self.scheduler.host.clone(),
            scheduler_port: self.scheduler.port,
            vcores: self.cores,
            task_scheduling_policy: TaskSchedulingPolicy::PullStaged,
            work_dir: Some(self.work.display().to_string()),
            memory_pool_size: Some(self.memory),
            ..ExecutorProcessConfig::default()
        };
        let ended = runtime()?.block_on(start_executor_process(Arc::new(config)));
        ended.map_err(|error| QueryError::Scheduler {
            scheduler: self.scheduler.to_string(),
            problem: error.to_string(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_a_scheduler_is_a_host_and_a_port() {
        for (text, shown) in [
            ("df://127.0.0.1:50050", "df://127.0.0.1:50050"),
            ("df://cluster", "df://cluster:50050"),
            ("df://[::1]:1/", "df://[::1]:1"),
        ] {
            assert_eq!(text.parse::<Scheduler>().unwrap().to_string(), shown);
        }
        for text in
            ["cluster:50050", "http://cluster:50050", "df://", "df://cluster/x", "df://a@cluster", "df://cluster:x"]
        {
            assert_eq!(text.parse::<Scheduler>(), Err(NoScheduler), "{text}");
        }
    }
}
