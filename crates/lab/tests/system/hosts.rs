//! Programs inside a host.

use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

const LINK: &str = "rtt = \"2ms\"\n[down]\nrate = \"100Mbit/s\"\n[up]\nrate = \"100Mbit/s\"\n";

#[test]
fn a_program_runs_inside_its_host() {
    let Some(lab) = super::lab("a_program_runs_inside_its_host", LINK) else { return };
    let mut command = Command::new("cat");
    command.arg("/proc/net/fib_trie").stdout(Stdio::piped());
    let mut child = lab.server().command(command).unwrap();
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    assert!(child.wait().unwrap().success());
    assert!(text.contains("10.78.0.2") && !text.contains("10.78.0.1\n"), "the server's addresses: {text}");
}

#[test]
fn a_program_is_killed_when_its_lab_goes() {
    let Some(lab) = super::lab("a_program_is_killed_when_its_lab_goes", LINK) else { return };
    let mut command = Command::new("cat");
    command.stdin(Stdio::piped()).stdout(Stdio::null());
    let mut child = lab.client().command(command).unwrap();
    drop(lab);
    // Its standard input stays open, so only the signal can end it.
    assert_eq!(child.wait().unwrap().signal(), Some(9));
}

#[test]
fn what_cannot_be_started_is_reported_with_host_and_name() {
    let Some(lab) = super::lab("what_cannot_be_started_is_reported_with_host_and_name", LINK) else { return };
    let said = lab.client().command(Command::new("/no/such/program")).unwrap_err().to_string();
    assert!(said.starts_with("lab: client host: cannot start /no/such/program: No such file"), "{said}");
}

#[test]
fn another_process_can_join_a_host_by_its_path() {
    let Some(lab) = super::lab("another_process_can_join_a_host_by_its_path", LINK) else { return };
    let path = lab.server().namespace_path();
    let inside = std::thread::spawn(move || {
        rrul_lab::join(&path).unwrap();
        std::net::UdpSocket::bind("10.78.0.2:0").is_ok()
    });
    assert!(inside.join().unwrap());
    assert!(std::net::UdpSocket::bind("10.78.0.2:0").is_err(), "outside no such address exists");
}
