//! What path traces and servers meet on their own host: a link that is too small, several addresses, few open files.

use std::fs;
use std::process::Command;

use rrul_model::observation::FlowEventKind;
use serde_json::Value;

use crate::lab::{lab_of, program_in};
use crate::program::{Folder, PROGRAM, SHORT, Server, end_of, run_short, shown_in_full};
use crate::verdict::{Verdict, recording};

fn folder_with_trace() -> Folder {
    let folder = Folder::new();
    // A rate and an interval of its own: none is guessed from the line, and a test of 4 s has rounds enough.
    let trace = "\n[flow.path]\ntype = \"path_trace\"\ncomponent = \"analysis\"\ninterval = \"200ms\"\n\
        rate = \"1Mbit/s\"\neach.direction = [\"down\", \"up\"]\n";
    folder.write("short.toml", format!("{SHORT}{trace}"));
    folder
}

#[test]
fn a_link_of_the_hosts_own_that_carries_less_is_distinguished_from_one_on_the_way() {
    let test = "a_link_of_the_hosts_own_that_carries_less_is_told_from_one_on_the_way";
    let Some(lab) = lab_of(test, "[path]\nhops = 2\n") else { return };
    let mut narrow = Command::new("ip");
    narrow.args(["link", "set", "rrul0", "mtu", "1420"]);
    let narrowed = end_of(program_in(lab.client(), &narrow));
    assert_eq!(narrowed.code, Some(0), "{narrowed:#?}");
    let mut command = Command::new(PROGRAM);
    command.args(["server", "--port", "0"]);
    let server = Server::spawned(program_in(lab.server(), &command));
    let folder = folder_with_trace();
    let name = format!("10.78.0.2:{},[fd78::2]:{}", server.port(), server.port());
    let ended = end_of(program_in(lab.client(), &run_short(&folder, &name, &[])));
    let summary = Verdict::of(&folder.file("out.rrul")).summary;
    let traces = summary["path_traces"].as_array().unwrap();
    assert_eq!(traces.len(), 4, "{ended:#?}");
    for trace in traces {
        let mtu = |key: &str| &trace["path_mtu"][key];
        let all = ["passed_octets", "failed_octets", "told_octets"].map(|key| mtu(key).as_u64());
        if trace["direction"] == "up" {
            assert_eq!((all, mtu("told_by")), ([Some(1420), Some(1500), Some(1420)], &"sender".into()), "{trace:#}");
        } else {
            assert_eq!(all, [Some(1500), None, None], "{trace:#}");
        }
        assert_eq!(trace["messages"], Value::Array(Vec::new()), "no host on the way has said so: {trace:#}");
    }
    let told = "packets of 1420 bytes pass, 1500 do not; the sender's own link has an MTU of 1420";
    assert!(shown_in_full(&folder.file("out.rrul")).stdout.contains(told), "{ended:#?}");
}

#[test]
fn traces_towards_the_client_leave_from_the_address_that_it_has_greeted() {
    // All of 127.0.0.0/8 is this host's, and 127.0.0.1 is what it sends from.
    let server = Server::listening(&["0.0.0.0"], &[]);
    let folder = folder_with_trace();
    let ended = end_of(run_short(&folder, &format!("127.0.0.2:{}", server.port()), &[]));
    let path = folder.file("out.rrul");
    let summary = Verdict::of(&path).summary;
    assert_eq!(summary["failed_flows"], Value::Array(Vec::new()), "{ended:#?}");
    let traces = summary["path_traces"].as_array().unwrap();
    assert_eq!(traces.len(), 2, "{ended:#?}");
    for trace in traces {
        let load = &trace["hops"][0]["phases"]["load"];
        assert!(load["answered"].as_u64().is_some_and(|answered| answered > 0), "{trace:#}");
        assert_eq!(load["answered"], load["sent"], "{trace:#}");
    }
    let recording = recording(&path);
    let failed = recording.events().filter(|(_, event)| event.event == FlowEventKind::Failed).count();
    assert_eq!(failed, 0, "{ended:#?}");
}

#[test]
fn a_server_sends_eight_traces_of_a_session_and_says_so_of_the_ninth() {
    let server = Server::start(&[]);
    let folder = Folder::new();
    let traces = (1..=9).map(|number| {
        format!("\n[flow.path{number}]\ntype = \"path_trace\"\ncomponent = \"analysis\"\ndirection = \"down\"\n")
    });
    folder.write("short.toml", format!("{SHORT}{}", traces.collect::<String>()));
    let ended = end_of(run_short(&folder, &server.name(), &[]));
    let path = folder.file("out.rrul");
    let recording = recording(&path);
    let refused = recording.events().filter(|(_, event)| event.detail.contains("no more than 8 path traces")).count();
    assert_eq!(refused, 1, "{ended:#?}");
    assert_eq!(Verdict::of(&path).summary["path_traces"].as_array().unwrap().len(), 8, "{ended:#?}");
}

#[test]
fn a_server_has_as_many_files_open_as_it_may() {
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -S -n 64; exec \"$0\" server --port 0", PROGRAM]);
    let server = Server::spawned(command);
    let limits = fs::read_to_string(format!("/proc/{}/limits", server.process())).unwrap();
    let line = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
    let words: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(words[3], words[4], "soft and hard: {line}");
    assert_ne!(words[3], "64");
}
