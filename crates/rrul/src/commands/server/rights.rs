//! What a server that root starts gives up before it serves strangers: every right of root but a few, and all folders but those of
//! its own files.
//!
//! It stays the user root, so that it can read its key and write its state. Without capabilities that user still owns most files
//! of a host; Landlock keeps the server from them.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError,
    RulesetStatus, Scope, path_beneath_rules,
};
use rustix::process::geteuid;
use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities, set_no_new_privs};

use crate::arguments::ServerArguments;

/// What the newest kernels that are known confine; of it, as much as this kernel can.
const KNOWN: ABI = ABI::V6;

/// Where the kernel describes the host, for the environment of a test.
const HOST: [&str; 3] = ["/proc", "/sys", "/run/systemd"];

/// Folders in which other programs of root find what they run. A server that may write there has kept the rights of root.
const OF_THE_SYSTEM: [&str; 10] =
    ["/", "/boot", "/etc", "/home", "/root", "/run", "/usr", "/var", "/var/lib", "/run/systemd"];

/// Ports below this take CAP_NET_BIND_SERVICE.
const FREE_PORTS: u16 = 1024;

const AVAILABLE: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";
const ALLOWED: &str = "/proc/sys/net/ipv4/tcp_allowed_congestion_control";

/// Why a server that root has started does not start.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RightsError {
    #[error("cannot give up the rights of root ({0}); start the server as another user")]
    Capabilities(io::Error),
    #[error("cannot confine the server to its files ({0}); start it as another user")]
    Files(#[from] RulesetError),
    #[error("{}: a server that root starts does not write to this folder; use one of its own, such as /var/lib/rrul-server", .0.display())]
    Shared(PathBuf),
}

/// Gives up what the calling thread, and those that it starts, need not. Says what is left; nothing where root has not started it.
pub(crate) fn give_up(arguments: &ServerArguments) -> Result<Option<String>, RightsError> {
    if !geteuid().is_root() {
        return Ok(None);
    }
    let kept = needed(arguments.port, &words(AVAILABLE), &words(ALLOWED));
    let has = capabilities(None).map_err(|error| RightsError::Capabilities(error.into()))?;
    let kept = CapabilitySets {
        effective: has.permitted & kept,
        permitted: has.permitted & kept,
        inheritable: CapabilitySet::empty(),
    };
    set_no_new_privs(true).map_err(|error| RightsError::Capabilities(error.into()))?;
    set_capabilities(None, kept).map_err(|error| RightsError::Capabilities(error.into()))?;
    let (read, written) = (read_folders(arguments), written_folders(arguments));
    if let Some(folder) = written.iter().find(|folder| is_of_the_system(folder)) {
        return Err(RightsError::Shared(folder.clone()));
    }
    let is_confined = confine(&read, &written)?;
    let names: Vec<String> = kept.effective.iter_names().map(|(name, _)| format!("CAP_{name}")).collect();
    let names = if names.is_empty() { "no right of root".to_owned() } else { names.join(", ") };
    let files = match (is_confined, folder_words(read.into_iter().chain(written))) {
        (false, _) => "all files of root, because this kernel has no Landlock".to_owned(),
        (true, folders) if folders.is_empty() => "no file".to_owned(),
        (true, folders) => format!("the files in {folders}"),
    };
    Ok(Some(format!("started by root: keeps {names} and {files}")))
}

/// These folders, each once.
fn folder_words(folders: impl Iterator<Item = PathBuf>) -> String {
    let names: BTreeSet<String> = folders.map(|folder| folder.display().to_string()).collect();
    names.into_iter().collect::<Vec<_>>().join(", ")
}

fn is_of_the_system(folder: &Path) -> bool {
    fs::canonicalize(folder).is_ok_and(|folder| OF_THE_SYSTEM.iter().any(|one| folder == Path::new(one)))
}

/// Capabilities that a server has a use for.
fn needed(port: u16, available: &str, allowed: &str) -> CapabilitySet {
    let mut needed = CapabilitySet::SYS_NICE;
    needed.set(CapabilitySet::NET_BIND_SERVICE, (1..FREE_PORTS).contains(&port));
    // Only this lets a test choose a congestion control that the host allows to no other user.
    let is_allowed = |name: &str| allowed.split_whitespace().any(|one| one == name);
    needed.set(CapabilitySet::NET_ADMIN, !available.split_whitespace().all(is_allowed));
    needed
}

fn words(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

/// Folders of files that are read again: editors put a new file in the place of the old one.
fn read_folders(arguments: &ServerArguments) -> Vec<PathBuf> {
    let files = [arguments.config.as_deref(), arguments.tokens.as_deref()];
    files.into_iter().flatten().chain(arguments.identity_files()).flat_map(folders).collect()
}

/// Folders of files that are written anew, and of the socket of the metrics.
fn written_folders(arguments: &ServerArguments) -> Vec<PathBuf> {
    #[cfg(feature = "metrics")]
    let metrics = arguments.metrics.as_deref().filter(|place| place.contains('/')).map(Path::new);
    #[cfg(not(feature = "metrics"))]
    let metrics: Option<&Path> = None;
    [arguments.state.as_deref(), metrics].into_iter().flatten().flat_map(folders).collect()
}

/// The folder of a file, and that of what it links to.
fn folders(file: &Path) -> Vec<PathBuf> {
    let folder = |file: &Path| match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    };
    let target = fs::canonicalize(file).ok();
    [file].into_iter().chain(target.as_deref()).map(folder).collect()
}

/// Whether the kernel keeps the calling thread from all other files.
fn confine(read: &[PathBuf], written: &[PathBuf]) -> Result<bool, RulesetError> {
    let reading = AccessFs::ReadFile | AccessFs::ReadDir;
    // A new file that takes the place of the old one, and a socket.
    let replacing = AccessFs::WriteFile
        | AccessFs::Truncate
        | AccessFs::MakeReg
        | AccessFs::MakeSock
        | AccessFs::RemoveFile
        | AccessFs::Refer;
    let status = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(KNOWN))?
        .scope(Scope::Signal)?
        .create()?
        .add_rules(path_beneath_rules(HOST, reading))?
        .add_rules(path_beneath_rules(read, reading))?
        .add_rules(path_beneath_rules(written, reading | replacing))?
        .restrict_self()?;
    Ok(status.ruleset != RulesetStatus::NotEnforced)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_keeps_what_its_port_and_its_congestion_controls_take() {
        let nice = CapabilitySet::SYS_NICE;
        assert_eq!(needed(4720, "reno cubic\n", "reno cubic\n"), nice);
        assert_eq!(needed(0, "reno cubic\n", "reno cubic\n"), nice);
        assert_eq!(needed(443, "reno\n", "reno\n"), nice | CapabilitySet::NET_BIND_SERVICE);
        assert_eq!(needed(4720, "reno bbr cubic\n", "reno bbr\n"), nice | CapabilitySet::NET_ADMIN);
    }

    #[cfg(all(feature = "charts", feature = "lab"))]
    #[test]
    fn a_confined_thread_reads_the_kernel_and_its_folders_and_writes_where_it_may() {
        let folder = std::env::temp_dir().join(format!("rrul-confined-{}", std::process::id()));
        for name in ["read", "linked", "written", "other"] {
            fs::create_dir_all(folder.join(name)).unwrap();
            fs::write(folder.join(name).join("file"), "text").unwrap();
        }
        // As the programs do that renew certificates.
        fs::remove_file(folder.join("read").join("file")).unwrap();
        std::os::unix::fs::symlink("../linked/file", folder.join("read").join("file")).unwrap();
        let [read, written, other] = ["read", "written", "other"].map(|name| folder.join(name).join("file"));
        let tried = std::thread::spawn(move || {
            if !confine(&folders(&read), &folders(&written)).unwrap() {
                return None;
            }
            let new = written.with_file_name("new");
            let replaced = fs::write(&new, "more").and_then(|()| fs::rename(&new, &written)).is_ok();
            let reads = [Path::new("/proc/stat"), &read, &written, &other].map(|path| fs::read(path).is_ok());
            let runs = std::process::Command::new("/bin/true").status().is_ok();
            Some((reads, replaced, fs::write(&read, "").is_ok(), runs))
        });
        let tried = tried.join().unwrap();
        fs::remove_dir_all(&folder).unwrap();
        match tried {
            Some(tried) => assert_eq!(tried, ([true, true, true, false], true, false, false)),
            None => crate::tuning::test_router::skipped(
                "a_confined_thread_reads_the_kernel_and_its_folders_and_writes_where_it_may",
                "this kernel has no Landlock",
            ),
        }
    }

    #[test]
    fn folders_from_which_root_runs_programs_are_written_by_no_server() {
        let shared = ["/etc", "/var/lib/../lib", "/", "/run"].map(|folder| is_of_the_system(Path::new(folder)));
        assert_eq!(shared, [true; 4]);
        let own = std::env::temp_dir();
        assert!(!is_of_the_system(&own) && !is_of_the_system(Path::new("/nowhere/rrul")));
        assert_eq!(folder_words([own.clone(), own.clone()].into_iter()), own.display().to_string());
    }

    #[test]
    fn a_file_without_a_folder_is_in_this_one() {
        assert_eq!(folders(Path::new("tokens-of-nobody")), [PathBuf::from(".")]);
        assert_eq!(folders(Path::new("/nowhere/tokens")), [PathBuf::from("/nowhere")]);
    }
}
