//! A server that the service manager starts with sockets that it has opened (socket activation).

use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use socket2::{Domain, Protocol, Socket, Type};

use crate::program::{Ended, Folder, PROGRAM, Server, activated, end_of, run_short, skipped, wait_until};
use crate::verdict::Verdict;

/// The user that owns nothing.
const NOBODY: u32 = 65534;

fn listener() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

/// A UDP socket as `ReusePort=yes` of a socket unit makes it.
fn datagram(address: SocketAddr) -> Socket {
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP)).unwrap();
    socket.set_reuse_port(true).unwrap();
    socket.bind(&address.into()).unwrap();
    socket
}

fn server(more: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(["server", "--egress", "any"]).args(more);
    command
}

fn copy_of(listener: &TcpListener) -> OwnedFd {
    listener.try_clone().unwrap().into()
}

#[test]
fn a_server_that_ends_leaves_its_sockets_to_the_next_one() {
    let (listener, address) = listener();
    let udp = datagram(address);
    for round in ["first", "second"] {
        let mut server = Server::activated(&server(&[]), copy_of(&listener), Some(udp.try_clone().unwrap().into()));
        assert_eq!(server.address(), address);
        let folder = Folder::with_plan();
        let ended = end_of(run_short(&folder, &server.name(), &[]));
        Verdict::of(&folder.file("out.rrul")).assert_good(&ended);
        server.assert_sound();
        server.signal("TERM");
        server.wait();
        // Who comes meanwhile waits for the next one.
        assert!(std::net::TcpStream::connect(address).is_ok(), "after the {round}");
    }
}

#[test]
fn a_listener_alone_gets_its_udp_from_the_server() {
    let (listener, address) = listener();
    let mut server = Server::activated(&server(&["--listen", "127.0.0.1"]), copy_of(&listener), None);
    assert_eq!(server.address(), address);
    let folder = Folder::with_plan();
    let ended = end_of(run_short(&folder, &server.name(), &[]));
    Verdict::of(&folder.file("out.rrul")).assert_good(&ended);
    server.assert_sound();
}

/// The end of a server that finds these descriptors, which a shell opens, and these variables.
fn refused(descriptors: &str, variables: &[(&str, &str)]) -> Ended {
    let mut command = Command::new("sh");
    let script = format!("exec {descriptors}; export LISTEN_PID=$$; exec \"$0\" server --port 0");
    command.args(["-c", &script, PROGRAM]).envs(variables.iter().copied());
    end_of(command)
}

#[test]
fn what_is_no_socket_is_one_line() {
    let complains = |descriptors, variables: &[(&str, &str)], words: &[&str]| {
        refused(descriptors, variables).complains(words);
    };
    let named = [("LISTEN_FDS", "1"), ("LISTEN_FDNAMES", "web.socket")];
    complains("3</dev/null", &named, &["descriptor 3 (web.socket)", "ListenStream= and ListenDatagram= alone"]);
    complains("3</dev/null", &[("LISTEN_FDS", "40")], &["sockets of the service manager", "Bad file descriptor"]);
    complains("3</dev/null", &[("LISTEN_FDS", "many")], &["sockets of the service manager", "LISTEN_FDS"]);
    complains("3</dev/null", &[("LISTEN_FDS", "1"), ("LISTEN_FDNAMES", "a:b")], &["LISTEN_FDNAMES"]);
}

#[test]
fn sockets_of_another_process_are_left_alone() {
    let mut command = server(&["--port", "0", "--listen", "127.0.0.1"]);
    command.envs([("LISTEN_PID", "1"), ("LISTEN_FDS", "7")]);
    Server::spawned(command).assert_sound();
}

#[test]
fn a_udp_socket_of_another_user_is_refused_with_what_to_do() {
    let test = "a_udp_socket_of_another_user_is_refused_with_what_to_do";
    if fs::metadata("/proc/self").unwrap().uid() != 0 {
        return skipped(test, "no process can be started as another user");
    }
    let folder = Folder::new();
    let program = folder.file("program");
    fs::copy(PROGRAM, &program).unwrap();
    let (listener, address) = listener();
    let mut command = Command::new(&program);
    command.arg("server");
    let log = folder.file("log");
    let mut started = activated(&command, copy_of(&listener), Some(datagram(address).into()), &log);
    let mut child = started.uid(NOBODY).gid(NOBODY).spawn().unwrap();
    let mut status = None;
    wait_until("the end of the server", || {
        status = child.try_wait().unwrap();
        status.is_some()
    });
    let text = fs::read_to_string(&log).unwrap();
    assert_eq!(status.unwrap().code(), Some(2), "{text}");
    assert!(text.contains(&format!("UDP {address} of the service manager")), "{text}");
    assert!(text.contains("belongs to user 0") && text.contains("leave out ListenDatagram"), "{text}");
    assert_eq!(text.lines().count(), 1, "{text}");
}

#[test]
fn the_socket_unit_names_the_port_of_the_server_in_both_families() {
    let unit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/systemd/rrul-server.socket");
    let text = fs::read_to_string(unit).unwrap();
    for line in ["ListenStream=0.0.0.0:7785", "ListenStream=[::]:7785", "BindIPv6Only=ipv6-only"] {
        assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
    }
    assert!(!text.lines().any(|line| line.starts_with("ListenDatagram")), "UDP of root cannot be shared\n{text}");
}
