//! The control group that limits this process's processor time (cgroups(7), version 2 or 1).

use std::fs;
use std::path::{Path, PathBuf};

use rrul_model::observation::CgroupThrottle;
use rrul_model::time::TestTime;
use rrul_model::units::Delay;

/// The folder of the nearest group, from the process's own upwards, that has a quota.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ControlGroup {
    folder: PathBuf,
}

impl ControlGroup {
    /// That of this process; `None` where no group limits it.
    pub(super) fn of_this_process() -> Option<Self> {
        let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
        let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
        folders(&groups, &mounts).into_iter().find(|folder| has_quota(folder)).map(|folder| Self { folder })
    }

    /// How often and how long it was held back.
    pub(super) fn read(&self, at: TestTime) -> Option<CgroupThrottle> {
        parse(&fs::read_to_string(self.folder.join("cpu.stat")).ok()?, at)
    }
}

/// The folders of the process's group and of those above it, within each mounted hierarchy that limits processor time.
fn folders(groups: &str, mounts: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for group in groups.lines() {
        let mut parts = group.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next()) else { continue };
        if !controllers.is_empty() && !controllers.split(',').any(|controller| controller == "cpu") {
            continue;
        }
        for (root, point) in mounts.lines().filter_map(|mount| mounted(mount, controllers.is_empty())) {
            // A container sees its own part of the hierarchy.
            let Ok(inside) = Path::new(path).strip_prefix(root) else { continue };
            let own = point.join(inside);
            found.extend(own.ancestors().take_while(|folder| folder.starts_with(&point)).map(Path::to_owned));
        }
    }
    found
}

/// Root and mount point of a line of /proc/self/mountinfo (proc(5)), if it is a hierarchy of this version with the
/// processor in it.
fn mounted(mount: &str, unified: bool) -> Option<(&str, PathBuf)> {
    let (before, after) = mount.split_once(" - ")?;
    let mut before = before.split(' ').skip(3);
    let (root, point) = (before.next()?, before.next()?);
    let mut after = after.split(' ');
    let (kind, options) = (after.next()?, after.nth(1)?);
    let fits =
        if unified { kind == "cgroup2" } else { kind == "cgroup" && options.split(',').any(|word| word == "cpu") };
    fits.then(|| (root, PathBuf::from(point)))
}

fn has_quota(folder: &Path) -> bool {
    let text = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_default();
    let unified = text("cpu.max");
    let first = unified.split_whitespace().next().unwrap_or("max").to_owned();
    let version_1 = text("cpu.cfs_quota_us").trim().parse::<i64>().is_ok_and(|quota| quota > 0);
    first != "max" || version_1
}

fn parse(text: &str, at: TestTime) -> Option<CgroupThrottle> {
    let value = |name: &str| -> Option<u64> {
        let line = text.lines().find(|line| line.split(' ').next() == Some(name))?;
        line.split(' ').nth(1)?.parse().ok()
    };
    let throttled =
        value("throttled_usec").map(|time| time.saturating_mul(1000)).or_else(|| value("throttled_time"))?;
    Some(CgroupThrottle {
        at,
        periods: value("nr_periods")?,
        throttled_periods: value("nr_throttled")?,
        throttled: Delay(i64::try_from(throttled).ok()?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_tell_the_same() {
        let version_2 = "usage_usec 5\nnr_periods 40\nnr_throttled 9\nthrottled_usec 7000\nnr_bursts 0\n";
        let version_1 = "nr_periods 40\nnr_throttled 9\nthrottled_time 7000000\n";
        let at = TestTime(3);
        let row = CgroupThrottle { at, periods: 40, throttled_periods: 9, throttled: Delay(7_000_000) };
        assert_eq!(parse(version_2, at), Some(row));
        assert_eq!(parse(version_1, at), Some(row));
        assert_eq!(parse("usage_usec 5\n", at), None, "a group without the controller");
    }

    #[test]
    fn the_groups_above_the_own_one_are_found_in_both_versions_and_in_a_container() {
        let groups = "4:memory:/a\n3:cpu,cpuacct:/docker/x\n0::/user.slice/session.scope\n";
        let mounts = "30 24 0:26 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n\
                      31 24 0:27 /docker /sys/fs/cgroup/cpu,cpuacct rw,nosuid shared:9 - cgroup cgroup rw,cpu,cpuacct\n\
                      32 24 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";
        let expected = [
            "/sys/fs/cgroup/cpu,cpuacct/x",
            "/sys/fs/cgroup/cpu,cpuacct",
            "/sys/fs/cgroup/unified/user.slice/session.scope",
            "/sys/fs/cgroup/unified/user.slice",
            "/sys/fs/cgroup/unified",
        ];
        assert_eq!(folders(groups, mounts), expected.map(PathBuf::from));
        assert_eq!(folders("0::/\n", "damaged"), Vec::<PathBuf>::new());
    }
}
