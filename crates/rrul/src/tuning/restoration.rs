//! How a shaper is restored, by whatever process: shell commands, here or on a host reached by ssh.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::shaper::ShaperError;
use super::shaper_address::SshDestination;
use super::shell;

/// Options of every connection: no question is asked, and a host that does not answer is given up.
pub(crate) const SSH_OPTIONS: [&str; 5] =
    ["BatchMode=yes", "ConnectTimeout=10", "RequestTTY=no", "ServerAliveInterval=5", "ServerAliveCountMax=3"];

/// How long restoring may take.
const LIMIT: Duration = Duration::from_secs(30);

/// How a shaper is restored. It needs nothing of the session that changed it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Restoration {
    /// The shaper, for people.
    pub(crate) title: String,
    /// Reached by ssh; `None` is this host.
    pub(crate) host: Option<SshDestination>,
    /// Commands of a POSIX shell, in one line. Carrying them out twice does no harm.
    pub(crate) script: String,
}

impl Restoration {
    /// Returns commands for a shell on this host. `ssh` is the program.
    pub(crate) fn local_script(&self, ssh: &str) -> String {
        match &self.host {
            None => self.script.clone(),
            Some(host) => {
                let there = format!("sh -c {}", shell::quote(&self.script));
                let options = SSH_OPTIONS.map(|option| format!("-o {option}")).join(" ");
                format!("{} {options} {host} {}", shell::quote(ssh), shell::quote(&there))
            }
        }
    }

    /// Restores the shaper now.
    pub(crate) fn run(&self, ssh: &str) -> Result<(), ShaperError> {
        let mut command = shell::shell(&self.local_script(ssh));
        shell::finish(&mut command, &self.title, &self.script, LIMIT)?.success(&self.title, &self.script)?;
        Ok(())
    }
}
