//! `rrul run HOST`: run a test, record it, say what it found.

use std::path::Path;
use std::time::SystemTime;

use rrul_engine::client::RunOptions;
use rrul_engine::privacy::Privacy;

use crate::arguments::RunArguments;
use crate::commands::show;
use crate::failure::Failure;
use crate::measurement::measure;
use crate::outcome::Outcome;
use crate::progress::{Manner, Progress};
use crate::store::Writer;
use crate::{interruption, known_servers, plan_book, secret_files};

pub(crate) fn execute(arguments: &RunArguments) -> Result<Outcome, Failure> {
    let mut plan = plan_book::plan(&arguments.plan.plan, &arguments.plan.settings)?;
    if let Some(layer) = &arguments.link_layer {
        plan.link_layer = Some(layer.to_string());
    }
    let now = SystemTime::now();
    let created = humantime::format_rfc3339_seconds(now).to_string();
    let label = plan.name.clone();
    let options = RunOptions {
        server: arguments.server.clone(),
        port: arguments.port,
        families: arguments.family.into(),
        plan,
        title: arguments.title.clone(),
        created,
        privacy: if arguments.private { Privacy::Strict } else { Privacy::Open },
        token: secret_files::client_token(arguments.access.token_file.as_deref())?,
        trust: known_servers::trust(&arguments.access, &arguments.server, arguments.port)?,
        wait: !arguments.no_wait,
        seed: arguments.seed.unwrap_or_else(|| seed_from(now)),
    };
    let stop = interruption::flag();
    #[cfg(feature = "monitor")]
    let _line = crate::monitor::link_lock::share_line(&options, &stop)?;
    let writer = if let Some(path) = &arguments.output {
        Writer::create(path)?
    } else {
        // 2026-01-31T12:34:56Z as a name that every file system takes.
        let date: String = options.created.chars().filter(|c| c.is_ascii_digit() || *c == 'T').collect();
        Writer::create_free(&format!("{label}-{date}"))?
    };
    let manner = if arguments.plain { Manner::Plain } else { Manner::Screen };
    let measurement = measure(&options, writer, Progress::new(label, manner), &stop)?;
    let analysis = measurement.analysis;
    show::print_summary(&analysis, measurement.path.as_deref().unwrap_or(Path::new(show::UNNAMED)));
    measurement.path?;
    Ok(Outcome::of(&analysis))
}

/// A seed that no two runs share by design; schedules need no more than that.
pub(crate) fn seed_from(now: SystemTime) -> u64 {
    now.duration_since(SystemTime::UNIX_EPOCH).map_or(1, |since| since.as_nanos() as u64)
}
