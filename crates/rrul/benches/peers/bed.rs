//! Two network namespaces joined by a veth pair without any shaping.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

pub(crate) const SERVER_ADDRESS: &str = "10.99.0.1";
const RRUL: &str = env!("CARGO_BIN_EXE_rrul");

/// What is missing to run at all, in one line.
pub(crate) fn missing() -> Option<String> {
    let there = |tool: &str| {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path).any(|folder| folder.join(tool).exists())
    };
    for (tool, package) in
        [("ip", "iproute2"), ("iperf3", "iperf3"), ("ping", "iputils-ping"), ("setpriv", "util-linux")]
    {
        if !there(tool) {
            return Some(format!("{tool} is missing; on Debian: apt-get install {package}"));
        }
    }
    let root = Command::new("ip").args(["netns", "list"]).output().is_ok() && unshare_works();
    (!root).then(|| "network namespaces cannot be made; run as root".to_owned())
}

fn unshare_works() -> bool {
    Command::new("unshare").args(["--net", "true"]).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// The two ends. Dropping it takes them away.
pub(crate) struct Bed {
    client: String,
    server: String,
    folder: PathBuf,
}

impl Bed {
    pub(crate) fn new() -> Self {
        let id = std::process::id();
        let folder = std::env::temp_dir().join(format!("rrul-bench-{id}"));
        std::fs::create_dir_all(&folder).expect("a folder for recordings");
        let bed = Self { client: format!("rrul-bench-c{id}"), server: format!("rrul-bench-s{id}"), folder };
        let Self { client, server, .. } = &bed;
        for line in [
            format!("netns add {client}"),
            format!("netns add {server}"),
            format!("link add veth0 netns {client} type veth peer name veth0 netns {server}"),
            format!("-n {client} address add 10.99.0.2/24 dev veth0"),
            format!("-n {server} address add {SERVER_ADDRESS}/24 dev veth0"),
            format!("-n {client} link set veth0 up"),
            format!("-n {server} link set veth0 up"),
            format!("-n {client} link set lo up"),
            format!("-n {server} link set lo up"),
        ] {
            let status = Command::new("ip").args(line.split_whitespace()).status().expect("ip runs");
            assert!(status.success(), "ip {line}: {status}");
        }
        bed
    }

    fn inside(namespace: &str, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", namespace]).arg(program);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        command
    }

    /// A command at the client's end.
    pub(crate) fn at_client(&self, program: &str) -> Command {
        Self::inside(&self.client, program)
    }

    /// A command at the server's end.
    pub(crate) fn at_server(&self, program: &str) -> Command {
        Self::inside(&self.server, program)
    }

    /// Starts a server and waits until it listens.
    pub(crate) fn serve(mut command: Command, port: u16) -> Served {
        let child = command.stdout(Stdio::null()).spawn().expect("the server starts");
        let listening = format!(":{port:04X} ");
        let deadline = Instant::now() + Duration::from_secs(10);
        // `ip netns exec` becomes the server, so the child's own view of the network is the server's.
        let tables = ["tcp", "tcp6"].map(|table| format!("/proc/{}/net/{table}", child.id()));
        let is_there = |line: &str| line.contains(&listening) && line.contains(" 0A ");
        while !tables.iter().any(|table| std::fs::read_to_string(table).is_ok_and(|text| text.lines().any(is_there))) {
            assert!(Instant::now() < deadline, "no server on port {port}");
            std::thread::sleep(Duration::from_millis(20));
        }
        Served(child)
    }

    pub(crate) fn rrul_server(&self) -> Served {
        self.rrul_server_with(&[])
    }

    /// The same, with a key: control connections are encrypted and probes authenticated, where the client wants it.
    pub(crate) fn rrul_server_with_key(&self) -> Served {
        let key = self.folder.join("key");
        if !key.exists() {
            let made = Command::new(RRUL).args(["key", "new"]).arg(&key).stdout(Stdio::null()).status();
            assert!(made.is_ok_and(|status| status.success()), "a key is made");
        }
        self.rrul_server_with(&["--allow-plain".as_ref(), "--key".as_ref(), key.as_os_str()])
    }

    fn rrul_server_with(&self, arguments: &[&OsStr]) -> Served {
        let mut command = self.at_server(RRUL);
        command.arg("server").args(arguments);
        Self::serve(command, 7785)
    }

    /// Runs a plan from the client's end, through `wrapper`; the summary, and the client's processor time.
    pub(crate) fn rrul_run(&self, plan: &str, wrapper: &[&str]) -> (Value, f64) {
        self.rrul_run_with(plan, wrapper, &[])
    }

    /// The same, with more options.
    pub(crate) fn rrul_run_with(&self, plan: &str, wrapper: &[&str], options: &[&str]) -> (Value, f64) {
        let plan_file = self.folder.join("plan.toml");
        std::fs::write(&plan_file, plan).expect("a plan is written");
        let recording = self.folder.join("run.rrul");
        let _ = std::fs::remove_file(&recording);
        let mut words: Vec<&str> = wrapper.to_vec();
        words.push(RRUL);
        let mut command = self.at_client(words[0]);
        command.args(&words[1..]).args(["run", SERVER_ADDRESS, "--family", "4", "--plan"]).arg(&plan_file).arg("-o");
        // What the client remembers of servers is gone with the bed.
        command.arg(&recording).args(options).stdout(Stdio::null()).env("XDG_DATA_HOME", &self.folder);
        let before = children_time();
        let status = command.status().expect("rrul runs");
        assert!(matches!(status.code(), Some(0 | 1)), "rrul run: {status}");
        let took = children_time() - before;
        let output = Command::new(RRUL).args(["show", "--json"]).arg(&recording).output().expect("rrul shows");
        (serde_json::from_slice(&output.stdout).expect("a summary"), took)
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        for namespace in [&self.client, &self.server] {
            let _ = Command::new("ip").args(["netns", "delete", namespace]).status();
        }
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// A server that is ended when dropped.
pub(crate) struct Served(Child);

impl Served {
    /// Processor time so far, seconds.
    pub(crate) fn processor_time(&self) -> f64 {
        stat_time(&format!("/proc/{}/stat", self.0.id()), 11)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Processor time of the children that have ended, seconds.
pub(crate) fn children_time() -> f64 {
    stat_time("/proc/self/stat", 13)
}

/// Two neighboring fields of a stat file, in ticks of a hundredth of a second, counted behind the program's name.
fn stat_time(path: &str, field: usize) -> f64 {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let behind = text.rsplit(") ").next().unwrap_or_default();
    let ticks: f64 = behind.split(' ').skip(field).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum();
    ticks / 100.0
}
