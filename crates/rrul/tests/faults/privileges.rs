//! What a run does without: no privilege is needed, and what is missing is reported (RRUL spec: clients run unprivileged).

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use rrul_proto::opening::{ClientOpening, Purpose, SERVER_OCTETS, ServerOpening, Status};
use rrul_proto::token::Token;

use crate::lab::{lab, lab_of, program_in};
use crate::program::{Folder, PROGRAM, SHORT, Server, end_of, rrul, skipped, wait_until};
use crate::verdict::{Verdict, recording};

/// The user and group that own nothing.
const NOBODY: u32 = 65534;

const WITH_ICMP: &str = "\n[flow.icmp]\ntype = \"icmp_echo\"\ncomponent = \"realtime\"\n";

/// A copy of the program where every user can run it, which the folder of a build need not be.
pub(crate) fn program_for_all(folder: &Folder) -> Command {
    let copy = folder.file("program");
    fs::copy(PROGRAM, &copy).unwrap();
    fs::set_permissions(&copy, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = Command::new(copy);
    command.current_dir(folder.path());
    command
}

/// The doubts of a good run whose client has no privilege: where this machine lets only the privileged send with cubic,
/// which is what plans ask for, the upload was sent with something else, and that is reported.
fn doubts_of_a_user(verdict: &Verdict) -> Vec<&'static str> {
    let allowed = fs::read_to_string("/proc/sys/net/ipv4/tcp_allowed_congestion_control").unwrap();
    if allowed.split_whitespace().any(|name| name == "cubic") {
        return Vec::new();
    }
    let text = verdict.reason("congestion_control").unwrap_or_else(|| panic!("{:#}", verdict.summary["validity"]));
    assert!(text.contains("1 upload stream used ") && text.contains(" instead of cubic"), "{text}");
    assert!(!text.contains("download") && text.contains("tcp_allowed_congestion_control"), "{text}");
    vec!["congestion_control"]
}

fn folder_with_icmp() -> Folder {
    let folder = Folder::new();
    folder.write("short.toml", format!("{SHORT}{WITH_ICMP}"));
    folder
}

#[test]
fn a_user_without_any_privilege_runs_a_whole_test() {
    let test = "a_user_without_any_privilege_runs_a_whole_test";
    let server = Server::start(&[]);
    let folder = folder_with_icmp();
    let mut command = program_for_all(&folder);
    command.args(["run", &server.name(), "--plan", "short.toml", "-o", "out"]);
    if fs::metadata("/proc/self").unwrap().uid() == 0 {
        let mut trial = Command::new("true");
        if let Err(error) = trial.uid(NOBODY).gid(NOBODY).status() {
            return skipped(test, &format!("no process can be started as user {NOBODY}: {error}"));
        }
        // From root to another user every capability goes at exec (capabilities(7)).
        command.uid(NOBODY).gid(NOBODY);
    }
    let ended = end_of(command);
    let path = folder.file("out.rrul");
    assert_ne!(fs::metadata(&path).unwrap().uid(), 0, "it was not run by root");
    let realtime = &recording(&path).header.client.abilities["realtime_scheduling"];
    assert!(realtime == "yes" || realtime.contains("CAP_SYS_NICE"), "what is missing is named: {realtime}");
    let verdict = Verdict::of(&path);
    verdict.assert_good_but(&ended, &doubts_of_a_user(&verdict));
}

#[test]
fn a_server_that_root_starts_gives_up_the_rights_of_root_and_serves() {
    let test = "a_server_that_root_starts_gives_up_the_rights_of_root_and_serves";
    if fs::metadata("/proc/self").unwrap().uid() != 0 {
        return skipped(test, "not root");
    }
    let state = Folder::new();
    let file = state.file("state.json");
    let mut server = Server::start(&["--state", file.to_str().unwrap()]);
    // CAP_SYS_NICE, and CAP_NET_ADMIN where this machine lets no other user send with cubic.
    let needed = (1_u64 << 23) | (1 << 12);
    for thread in fs::read_dir(format!("/proc/{}/task", server.process())).unwrap() {
        let status = fs::read_to_string(thread.unwrap().path().join("status")).unwrap();
        let value = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).unwrap().trim().to_owned();
        for set in ["CapEff:", "CapPrm:", "CapInh:"] {
            let has = u64::from_str_radix(&value(set), 16).unwrap();
            assert_eq!(has & !needed, 0, "{status}");
        }
        assert_eq!(value("NoNewPrivs:"), "1", "{status}");
    }
    let folder = Folder::new();
    folder.write("short.toml", SHORT);
    let ended = end_of(rrul(&folder, &["run", &server.name(), "--plan", "short.toml", "-o", "out"]));
    Verdict::of(&folder.file("out.rrul")).assert_good(&ended);
    server.signal("TERM");
    server.wait();
    assert!(file.exists(), "its state is written");
}

#[test]
fn without_permission_for_icmp_its_flow_is_absent_and_the_run_is_valid() {
    let Some(lab) = lab("without_permission_for_icmp_its_flow_is_absent_and_the_run_is_valid") else { return };
    // icmp(7): the lowest group above the highest permits no one.
    lab.client().run(|| fs::write("/proc/sys/net/ipv4/ping_group_range", "1 0")).unwrap().unwrap();
    let mut command = Command::new(PROGRAM);
    command.args(["server", "--port", "0"]);
    let server = Server::spawned(program_in(lab.server(), &command));
    let folder = folder_with_icmp();
    let mut command = Command::new("setpriv");
    let nobody = NOBODY.to_string();
    command.args(["--reuid", &nobody, "--regid", &nobody, "--clear-groups", "--inh-caps=-all", "--bounding-set=-all"]);
    let program = program_for_all(&folder);
    command.arg(program.get_program()).current_dir(folder.path());
    let name = format!("10.78.0.2:{}", server.port());
    command.args(["run", &name, "--plan", "short.toml", "-o", "out"]);
    let ended = end_of(program_in(lab.client(), &command));
    let path = folder.file("out.rrul");
    let verdict = Verdict::of(&path);
    let reason = verdict.reason("flow_absent").unwrap_or_else(|| panic!("{ended:#?}"));
    assert!(reason.contains("icmp_echo") && reason.contains("ping_group_range"), "{reason}");
    let ability = &recording(&path).header.client.abilities["icmp_echo"];
    assert!(ability.starts_with("no: ") && ability.contains("ping_group_range"), "{ability}");
    verdict.assert_good_but(&ended, &doubts_of_a_user(&verdict));
}

#[test]
fn without_raw_sockets_a_path_trace_names_its_hops_and_says_what_it_does_not_see() {
    let test = "without_raw_sockets_a_path_trace_names_its_hops_and_says_what_it_does_not_see";
    let path = "[path]\nhops = 3\nsilent = [2]\n";
    let Some(lab) = lab_of(test, path) else { return };
    let folder = Folder::new();
    let trace = "\n[flow.path]\ntype = \"path_trace\"\ncomponent = \"analysis\"\neach.direction = [\"down\", \"up\"]\n";
    folder.write("short.toml", format!("{SHORT}{trace}"));
    let program = program_for_all(&folder);
    let nobody = NOBODY.to_string();
    let as_nobody = |words: &[&str]| {
        let mut command = Command::new("setpriv");
        let drop = ["--reuid", &nobody, "--regid", &nobody, "--clear-groups", "--inh-caps=-all", "--bounding-set=-all"];
        command.args(drop).arg(program.get_program()).args(words).current_dir(folder.path());
        command
    };
    let server = Server::spawned(program_in(lab.server(), &as_nobody(&["server", "--port", "0"])));
    let name = format!("10.78.0.2:{},[fd78::2]:{}", server.port(), server.port());
    let ended = end_of(program_in(lab.client(), &as_nobody(&["run", &name, "--plan", "short.toml", "-o", "out"])));
    let verdict = Verdict::of(&folder.file("out.rrul"));
    let traces = verdict.summary["path_traces"].as_array().unwrap();
    assert_eq!(traces.len(), 4, "both directions of both families: {ended:#?}");
    for trace in traces {
        assert_eq!((&trace["sees_quoted_headers"], &trace["routers"]), (&false.into(), &3.into()), "{trace:#}");
        let network = if trace["family"] == "ipv4" { "10.78.100." } else { "fd78:0:0:64::" };
        let hops = trace["hops"].as_array().unwrap();
        for (hop, of_client) in hops.iter().zip(if trace["direction"] == "up" { [1, 2, 3] } else { [3, 2, 1] }) {
            let expected: Vec<String> = if of_client == 2 { Vec::new() } else { vec![format!("{network}{of_client}")] };
            assert_eq!(hop["addresses"], serde_json::json!(expected), "{trace:#}");
        }
    }
    let events: Vec<String> =
        recording(&folder.file("out.rrul")).events().map(|(_, event)| event.detail.clone()).collect();
    assert_eq!(events.iter().filter(|detail| detail.contains("without quoted headers")).count(), 4, "{events:?}");
}

#[test]
fn a_server_that_may_have_a_gigabyte_and_200_tasks_refuses_what_is_beyond_and_serves_on() {
    let test = "a_server_that_may_have_a_gigabyte_and_200_tasks_refuses_what_is_beyond_and_serves_on";
    if fs::metadata("/proc/self").unwrap().uid() != 0 {
        return skipped(test, "the tasks of this user are not the server's alone; run as root");
    }
    let folder = Folder::with_plan();
    let program = program_for_all(&folder);
    let mut command = Command::new("prlimit");
    command.args(["--as=1073741824", "--nproc=200"]).arg(program.get_program());
    command.args(["server", "--port", "0", "--listen", "127.0.0.1", "--egress", "any"]).uid(NOBODY).gid(NOBODY);
    if Command::new("prlimit").arg("--version").stdout(Stdio::null()).uid(NOBODY).gid(NOBODY).status().is_err() {
        return skipped(test, "prlimit cannot be started as another user");
    }
    let mut server = Server::spawned(command);
    let opening = ClientOpening::new(Purpose::Control, Token::NONE, 0);
    let mut held: Vec<TcpStream> = Vec::new();
    let busy = (0..250).map(|_| {
        let mut stream = TcpStream::connect(server.address()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        stream.write_all(&opening.encode()).unwrap();
        let mut answer = [0; SERVER_OCTETS];
        stream.read_exact(&mut answer).unwrap();
        held.push(stream);
        ServerOpening::decode(&answer).unwrap().status == Status::Busy
    });
    let busy = busy.filter(|busy| *busy).count();
    assert!((50..200).contains(&busy), "{busy} of 250 are refused: a thread each, of 200");
    let run =
        |name: &str| end_of(rrul(&folder, &["run", &server.name(), "--plan", "short.toml", "--no-wait", "-o", name]));
    run("refused").complains(&["busy"]);
    // One event a second of a loud network is in the log.
    wait_until("the reason in the log", || {
        drop(TcpStream::connect(server.address()));
        server.log().contains("no thread is left for this client")
    });
    drop(held);
    wait_until("free threads", || fs::read_dir(format!("/proc/{}/task", server.process())).unwrap().count() < 50);
    let ended = run("served");
    assert!(matches!(ended.code, Some(0 | 1)), "{ended:#?}");
    server.assert_sound();
}
