//! A control group with a quota of processor time.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Of each 100 ms.
const QUOTA: u32 = 5_000;
const PERIOD: u32 = 100_000;

/// A control group of its own, gone with the value.
pub(crate) struct Group(pub(crate) PathBuf);

impl Group {
    /// Makes one in the first hierarchy that limits processor time and can be written to.
    pub(crate) fn limited() -> Result<Self, String> {
        let name = format!("rrul-test-{}", std::process::id());
        let mut reasons = Vec::new();
        for root in ["/sys/fs/cgroup", "/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"] {
            match Self::in_hierarchy(Path::new(root), &name) {
                Ok(group) => return Ok(group),
                Err(error) => reasons.push(format!("{root}: {error}")),
            }
        }
        Err(reasons.join("; "))
    }

    fn in_hierarchy(root: &Path, name: &str) -> std::io::Result<Self> {
        let is_version_1 = root.join("cpu.cfs_quota_us").exists();
        let controllers = fs::read_to_string(root.join("cgroup.subtree_control")).unwrap_or_default();
        if !is_version_1 && !controllers.split_whitespace().any(|controller| controller == "cpu") {
            return Err(std::io::Error::other("no processor controller"));
        }
        fs::create_dir(root.join(name))?;
        let group = Self(root.join(name));
        if is_version_1 {
            fs::write(group.0.join("cpu.cfs_period_us"), PERIOD.to_string())?;
            fs::write(group.0.join("cpu.cfs_quota_us"), QUOTA.to_string())?;
        } else {
            fs::write(group.0.join("cpu.max"), format!("{QUOTA} {PERIOD}"))?;
        }
        Ok(group)
    }

    /// The same command, inside.
    pub(crate) fn command(&self, command: &Command) -> Command {
        let mut inside = Command::new("sh");
        inside.args(["-c", "echo $$ > \"$0/cgroup.procs\" && exec \"$@\""]).arg(&self.0);
        inside.arg(command.get_program()).args(command.get_args());
        if let Some(folder) = command.get_current_dir() {
            inside.current_dir(folder);
        }
        inside
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}
