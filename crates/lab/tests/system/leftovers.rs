//! Nothing stays behind, not even after `kill -9`.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

const LINK: &str = "rtt = \"2ms\"\n[down]\nrate = \"100Mbit/s\"\n[up]\nrate = \"100Mbit/s\"\n";
const HOLD: &str = "RRUL_LAB_HOLD";

/// What the test's own process does when it is started again to be killed: brings a lab up, names its namespaces, and waits.
fn hold(test: &str) {
    let lab = super::lab(test, LINK).unwrap();
    let number = |host: &rrul_lab::Host| fs::metadata(host.namespace_path()).unwrap().ino();
    println!("\nnamespaces {} {}", number(lab.client()), number(lab.server()));
    let mut line = String::new();
    let _ = std::io::stdin().read_line(&mut line);
}

/// Every place that can keep a network namespace alive: threads, open files, mounts.
fn keepers(namespace: u64) -> Vec<String> {
    let name = format!("net:[{namespace}]");
    let link_is = |path: &std::path::Path| fs::read_link(path).is_ok_and(|target| target.as_os_str() == name.as_str());
    let list = |path: &str| fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut found = Vec::new();
    for process in list("/proc").filter(|path| path.join("ns").exists()) {
        let process = process.display().to_string();
        found.extend(list(&format!("{process}/task")).map(|task| task.join("ns/net")).filter(|path| link_is(path)));
        found.extend(list(&format!("{process}/fd")).filter(|path| link_is(path)));
        let mounts = fs::read_to_string(format!("{process}/mountinfo")).unwrap_or_default();
        found.extend(mounts.contains(&name).then(|| format!("{process}/mountinfo").into()));
    }
    found.iter().map(|path| path.display().to_string()).collect()
}

#[test]
fn a_killed_process_leaves_no_namespace_and_no_device() {
    let test = "a_killed_process_leaves_no_namespace_and_no_device";
    if std::env::var_os(HOLD).is_some() {
        return hold(test);
    }
    if !rrul_lab::lab_available_for(test) {
        return;
    }
    let held = ["--exact", "leftovers::a_killed_process_leaves_no_namespace_and_no_device", "--nocapture"];
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(held).env(HOLD, "1").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut holder = command.spawn().unwrap();
    let mut lines = BufReader::new(holder.stdout.take().unwrap()).lines().map(Result::unwrap);
    let named = lines.find_map(|line| line.strip_prefix("namespaces ").map(str::to_owned)).unwrap();
    let namespaces: Vec<u64> = named.split(' ').map(|number| number.parse().unwrap()).collect();
    for namespace in &namespaces {
        assert!(!keepers(*namespace).is_empty(), "{namespace} is alive while the lab is up");
    }
    holder.kill().unwrap();
    assert_eq!(holder.wait().unwrap().signal(), Some(9));
    for namespace in &namespaces {
        assert_eq!(keepers(*namespace), [] as [String; 0], "something keeps {namespace} alive");
    }
    let outside = fs::read_to_string("/proc/self/net/dev").unwrap();
    assert!(!outside.contains("rrul0"), "a device of the lab is in the namespace outside: {outside}");
}
