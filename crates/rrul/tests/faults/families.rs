//! A family that is not there.

use std::fs;
use std::process::Command;

use rrul_model::flow::AddressFamily;

use crate::lab::{lab, program_in};
use crate::program::{Folder, PROGRAM, Server, end_of, rrul, run_short, shown_in_full};
use crate::verdict::{Verdict, recording};

#[test]
fn a_server_without_ipv6_is_tested_over_ipv4_and_the_recording_says_why() {
    let server = Server::start(&[]);
    let both = format!("127.0.0.1:{0},[::1]:{0}", server.port());
    for (name, reason) in [(both.as_str(), "connection refused"), (&server.name(), "no ipv6 address")] {
        let folder = Folder::with_plan();
        let ended = end_of(run_short(&folder, name, &[]));
        let path = folder.file("out.rrul");
        let header = recording(&path).header;
        assert_eq!(header.families, [AddressFamily::Ipv4]);
        let absent = &header.absent_families[..];
        assert!(absent.len() == 1 && absent[0].family == AddressFamily::Ipv6, "{absent:?}");
        assert!(absent[0].reason.to_lowercase().contains(reason), "{absent:?}");
        let verdict = Verdict::of(&path);
        assert!(verdict.reason("family_absent").is_some_and(|text| text.to_lowercase().contains(reason)));
        assert!(shown_in_full(&path).stdout.contains("IPv6 was not tested: "), "{ended:#?}");
        verdict.assert_good(&ended);
    }
}

#[test]
fn a_host_name_is_tested_over_the_families_that_answer() {
    let server = Server::start(&[]);
    let folder = Folder::with_plan();
    let ended = end_of(run_short(&folder, &format!("localhost:{}", server.port()), &[]));
    assert_eq!(recording(&folder.file("out.rrul")).header.families, [AddressFamily::Ipv4]);
    Verdict::of(&folder.file("out.rrul")).assert_good(&ended);
}

#[test]
fn a_family_that_was_asked_for_and_is_missing_is_an_error() {
    let server = Server::start(&[]);
    let folder = Folder::with_plan();
    let say = |server: &str| end_of(run_short(&folder, server, &["--family", "6"]));
    say(&server.name()).complains(&["127.0.0.1", "no ipv6 address"]);
    say(&format!("127.0.0.1,[::1]:{}", server.port())).complains(&["[::1]:", "refused"]);
    assert_eq!(folder.recordings(), [""; 0]);
}

#[test]
fn a_host_without_ipv6_tests_over_ipv4() {
    let Some(lab) = lab("a_host_without_ipv6_tests_over_ipv4") else { return };
    // Takes every IPv6 address of the namespace away, as on a host that was booted without.
    let disable = || fs::write("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1");
    lab.client().run(disable).unwrap().unwrap();
    lab.server().run(disable).unwrap().unwrap();
    let mut command = Command::new(PROGRAM);
    command.args(["server", "--port", "0"]);
    let server = Server::spawned(program_in(lab.server(), &command));
    let folder = Folder::with_plan();
    let port = server.port();
    let name = format!("10.78.0.2:{port},[fd78::2]:{port}");
    let run = rrul(&folder, &["run", &name, "--plan", "short.toml", "-o", "out", "--set", "load=1s"]);
    let ended = end_of(program_in(lab.client(), &run));
    let header = recording(&folder.file("out.rrul")).header;
    assert_eq!((header.families.as_slice(), header.absent_families.len()), (&[AddressFamily::Ipv4][..], 1));
    assert_eq!(Verdict::of(&folder.file("out.rrul")).doubts(), [""; 0], "{ended:#?}");
}
