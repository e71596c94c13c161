//! A router for tests: an `ssh` that runs its commands here, beside a `tc` and a `uci` that keep their state in files.
#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of test functions, and a test may panic")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use super::driver::DriverOptions;

/// Options, then the destination, then the command. What it runs is in a session of its own: as on another host, it
/// outlives the connection.
const SSH: &str = r#"#!/bin/bash
here=$(dirname "$0")
[ ! -e "$here/unreachable" ] || { echo "ssh: connect to host router port 22: No route to host" >&2; exit 255; }
master=no
while [ "$1" = -o ]; do
  case $2 in
    ControlMaster=yes) master=yes;;
    ControlPath=*) path=${2#*=};;
  esac
  shift 2
done
shift
export PATH=$here:$PATH XDG_RUNTIME_DIR=$here
command=$(printf '%s\n' "$*" | sed "s#/etc/init.d/sqm#$here/sqm#g")
if [ $master = yes ]; then
  echo $$ >"$path"
  cat | setsid sh -c "$command" 2>/dev/null
else
  [ -z "$path" ] || kill -0 "$(cat "$path")" 2>/dev/null || { echo "ssh: no connection" >&2; exit 255; }
  exec sh -c "$command"
fi
"#;

/// Knows `qdisc show` and `qdisc change ... cake bandwidth` of the interfaces whose rates are in files.
const TC: &str = r#"#!/bin/bash
here=$(dirname "$0")
case "$*" in
  *"class show"*) ;;
  "filter show"*) echo "action order 1: mirred (Egress Redirect to device ifb4eth9) stolen";;
  "-j -s qdisc show dev "*)
    rate=$(cat "$here/rate.$6" 2>/dev/null) || { echo "Cannot find device $6" >&2; exit 1; }
    [ "$rate" = unlimited ] && rate='"unlimited"' || rate=$((rate / 8))
    echo "[{\"kind\":\"cake\",\"handle\":\"8001:\",\"root\":true,\"options\":{\"bandwidth\":$rate,\"diffserv\":\"diffserv4\",\"overhead\":0}}]";;
  *"qdisc show dev "*) echo "qdisc cake 8001: root refcnt 2 bandwidth";;
  "qdisc change dev "*" root handle 8001: cake bandwidth "[0-9]*bit) rate=${10%bit};;
  "qdisc change dev "*" root handle 8001: cake unlimited") rate=unlimited;;
  *) echo "unknown: $*" >&2; exit 1;;
esac
[ -z "$rate" ] || [ "$2" != change ] || { echo "$rate" >"$here/rate.$4"; echo "$*" >>"$here/tc.log"; }
"#;

const UCI: &str = r#"#!/bin/bash
here=$(dirname "$0")
case "$*" in
  "-q changes") cat "$here/changes" 2>/dev/null;;
  "-q show sqm") cat "$here/sqm.conf";;
  "-q show firewall") echo "firewall.@defaults[0].flow_offloading='$(cat "$here/offloading" 2>/dev/null)'";;
  "commit "*) [ ! -e "$here/full" ] || { echo "uci: I/O error" >&2; exit 1; }; echo "uci $*" >>"$here/uci.log";;
  *) echo "uci $*" >>"$here/uci.log";;
esac
"#;

const SQM: &str = r#"#!/bin/bash
here=$(dirname "$0")
rate() { sed -n "s/.*\.$1=\(.*\)/\1000/p" "$here/uci.log" | tail -n 1; }
[ -z "$(rate download)" ] || rate download >"$here/rate.ifb4eth9"
[ -z "$(rate upload)" ] || rate upload >"$here/rate.eth9"
echo "sqm $*" >>"$here/uci.log"
"#;

const SQM_CONF: &str = "\
sqm.eth9=queue
sqm.eth9.enabled='1'
sqm.eth9.interface='eth9'
sqm.eth9.download='18000'
sqm.eth9.upload='7200'
";

/// A folder that is removed in the end.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("rrul-tuning-{}-{number}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.0.join(name), text).unwrap();
    }

    /// The text of a file; empty if it is missing.
    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name)).unwrap_or_default()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A router: cake on eth9, and on ifb4eth9 for the download.
pub(crate) struct Router {
    pub(crate) folder: Folder,
}

impl Router {
    pub(crate) fn new() -> Self {
        let folder = Folder::new();
        for (name, text) in [("ssh", SSH), ("tc", TC), ("uci", UCI), ("sqm", SQM)] {
            folder.write(name, text);
            fs::set_permissions(folder.0.join(name), fs::Permissions::from_mode(0o755)).unwrap();
        }
        folder.write("sqm.conf", SQM_CONF);
        folder.write("rate.eth9", "7200000\n");
        folder.write("rate.ifb4eth9", "18000000\n");
        Self { folder }
    }

    pub(crate) fn options(&self) -> DriverOptions {
        DriverOptions {
            journal_folder: self.folder.0.join("journal"),
            ssh: self.folder.0.join("ssh").to_string_lossy().into_owned(),
            ..DriverOptions::default()
        }
    }

    /// The rates in bit/s, down and up, as text.
    pub(crate) fn rates(&self) -> (String, String) {
        let rate = |name| self.folder.read(name).trim().to_owned();
        (rate("rate.ifb4eth9"), rate("rate.eth9"))
    }
}

/// The rates of a router that no one has changed.
pub(crate) fn found() -> (String, String) {
    ("18000000".to_owned(), "7200000".to_owned())
}

/// Waits until this is so; panics after `limit`.
#[track_caller]
pub(crate) fn wait_until(what: &str, limit: Duration, mut so: impl FnMut() -> bool) -> Duration {
    let began = Instant::now();
    while !so() {
        assert!(began.elapsed() < limit, "not within {limit:?}: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
    began.elapsed()
}

/// How many entries a journal's folder has.
pub(crate) fn entries(folder: &Path) -> usize {
    let Ok(files) = fs::read_dir(folder) else { return 0 };
    files
        .filter(|file| file.as_ref().is_ok_and(|file| file.path().extension().is_some_and(|end| end == "json")))
        .count()
}

/// Notes, as CONTRIBUTING.md asks, that a test cannot run on this machine.
pub(crate) fn skipped(test: &str, reason: &str) {
    let line = format!("SKIPPED {test}: {reason}\n");
    eprint!("{line}");
    if let Some(path) = std::env::var_os("RRUL_SKIPPED") {
        let mut file = std::fs::OpenOptions::new().append(true).create(true).open(path).unwrap();
        std::io::Write::write_all(&mut file, line.as_bytes()).unwrap();
    }
}
