//! Two hosts and a router of the kernel's own, joined by veth pairs: for rates that a virtual link cannot carry.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::quota::Group;

const RRUL: &str = env!("CARGO_BIN_EXE_rrul");
const SERVER: &str = "10.97.2.2";

/// Client, router and server. Dropping it takes them away.
pub(crate) struct Wire<'a> {
    names: [String; 3],
    folder: PathBuf,
    server: Option<Child>,
    group: Option<&'a Group>,
    unprivileged: bool,
}

/// The user that owns nothing.
const NOBODY: &str = "65534";

impl<'a> Wire<'a> {
    /// The router sends to each side at this rate (tc's notation), from a queue of 5 ms.
    pub(crate) fn up(rate: &str) -> Self {
        let id = std::process::id();
        let names = ["c", "r", "s"].map(|end| format!("rrul-wire-{end}{id}"));
        let folder = std::env::temp_dir().join(format!("rrul-wire-{id}"));
        std::fs::create_dir_all(&folder).unwrap();
        let wire = Self { names, folder, server: None, group: None, unprivileged: false };
        let [client, router, server] = &wire.names;
        for name in &wire.names {
            ip(&format!("netns add {name}"));
            ip(&format!("-n {name} link set lo up"));
        }
        ip(&format!("link add eth0 netns {client} type veth peer name left netns {router}"));
        ip(&format!("link add eth0 netns {server} type veth peer name right netns {router}"));
        for (name, device, address) in [
            (client, "eth0", "10.97.1.2/24"),
            (router, "left", "10.97.1.1/24"),
            (router, "right", "10.97.2.1/24"),
            (server, "eth0", "10.97.2.2/24"),
        ] {
            ip(&format!("-n {name} address add {address} dev {device}"));
            ip(&format!("-n {name} link set {device} up"));
        }
        ip(&format!("-n {client} route add default via 10.97.1.1"));
        ip(&format!("-n {server} route add default via 10.97.2.1"));
        // As distributions have it: echo requests without privilege.
        set(client, "ping_group_range", "0 2147483647");
        set(router, "ip_forward", "1");
        for device in ["left", "right"] {
            let shaper = format!("qdisc add dev {device} root tbf rate {rate} burst 256kb latency 5ms");
            run(inside(router, "tc").args(shaper.split_whitespace()));
        }
        wire
    }

    /// With a client in this control group.
    pub(crate) fn within(mut self, group: &'a Group) -> Self {
        self.group = Some(group);
        self
    }

    /// With a client that runs as an unprivileged user, without any capability.
    pub(crate) fn unprivileged(mut self) -> Self {
        self.unprivileged = true;
        self
    }

    /// Runs a plan against a server at the other end; the summary.
    pub(crate) fn measure(&mut self, plan: &str) -> Value {
        let [client, _, server] = self.names.clone();
        let child = inside(&server, RRUL).arg("server").stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        self.server = Some(child);
        let plan_file = self.folder.join("plan.toml");
        std::fs::write(&plan_file, plan).unwrap();
        let file = self.folder.join("run.rrul");
        let mut tries = 0;
        loop {
            let mut command = if self.unprivileged { self.as_nobody(&client) } else { inside(&client, RRUL) };
            command.args(["run", SERVER, "--family", "4", "--plan"]).arg(&plan_file).arg("-o").arg(&file);
            if let Some(group) = self.group {
                command = group.command(&command);
            }
            let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
            tries += 1;
            // The server takes a moment to listen.
            if file.exists() || tries == 20 {
                assert!(matches!(status.code(), Some(0 | 1)), "rrul run: {status}");
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        let output = Command::new(RRUL).args(["show", "--json"]).arg(&file).output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// A copy of the program that every user can run, which the folder of a build need not allow.
    fn as_nobody(&self, namespace: &str) -> Command {
        let copy = self.folder.join("rrul");
        std::fs::copy(RRUL, &copy).unwrap();
        std::fs::set_permissions(&copy, Permissions::from_mode(0o755)).unwrap();
        std::fs::set_permissions(&self.folder, Permissions::from_mode(0o777)).unwrap();
        let mut command = inside(namespace, "setpriv");
        command.args([
            "--reuid",
            NOBODY,
            "--regid",
            NOBODY,
            "--clear-groups",
            "--bounding-set=-all",
            "--inh-caps=-all",
        ]);
        command.arg(copy);
        command
    }
}

impl Drop for Wire<'_> {
    fn drop(&mut self) {
        if let Some(server) = &mut self.server {
            let _ = server.kill();
            let _ = server.wait();
        }
        for name in &self.names {
            let _ = Command::new("ip").args(["netns", "delete", name]).status();
        }
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// In the network of a namespace alone: `ip netns exec` would hide the control groups too.
fn inside(namespace: &str, program: &str) -> Command {
    let mut command = Command::new("nsenter");
    command.arg(format!("--net=/run/netns/{namespace}")).arg(program).stdin(Stdio::null());
    command
}

/// A setting of IPv4 in a namespace.
fn set(namespace: &str, name: &str, value: &str) {
    run(inside(namespace, "sh").args(["-c", &format!("echo {value} > /proc/sys/net/ipv4/{name}")]));
}

fn ip(words: &str) {
    run(Command::new("ip").args(words.split_whitespace()));
}

fn run(command: &mut Command) {
    let status = command.status().unwrap();
    assert!(status.success(), "{command:?}: {status}");
}
