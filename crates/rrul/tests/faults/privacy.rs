//! The privacy switches: what a recording names, and what it does not.

use std::io::Read;
use std::path::Path;
use std::process::Command;

use rrul_lab::{Host, Lab};

use crate::lab::{lab, program_in};
use crate::program::{Folder, PROGRAM, Server, end_of, rrul};
use crate::verdict::recording;

const CLIENT_NAME: &str = "laptop-of-ann";
const SERVER_NAME: &str = "server-of-bob";

/// An interface named for its hardware address, and one for a customer.
const INTERFACES: [&str; 2] = ["enx001122334455", "corp-vpn-ann"];

/// The same command, on a host of this name.
fn named(name: &str, command: &Command) -> Command {
    let mut inside = Command::new("unshare");
    inside.args(["--uts", "--", "sh", "-c", "hostname \"$0\" && exec \"$@\"", name]);
    inside.arg(command.get_program()).args(command.get_args());
    if let Some(folder) = command.get_current_dir() {
        inside.current_dir(folder);
    }
    inside
}

fn give_interfaces(host: &Host) {
    let [one, other] = INTERFACES;
    let mut command = Command::new("ip");
    command.args(["link", "add", one, "type", "veth", "peer", "name", other]);
    assert!(host.command(command).unwrap().wait().unwrap().success(), "no veth pair");
}

fn server(lab: &Lab, more: &[&str]) -> Server {
    let mut command = Command::new(PROGRAM);
    command.args(["server", "--port", "0"]).args(more);
    Server::spawned(program_in(lab.server(), &named(SERVER_NAME, &command)))
}

/// Runs a test; the recording's text, and what is printed of it then and later.
fn run(lab: &Lab, folder: &Folder, server: &Server, name: &str, more: &[&str]) -> (String, String) {
    let port = server.port();
    let address = format!("10.78.0.2:{port},[fd78::2]:{port}");
    let mut command = rrul(folder, &["run", &address, "--plan", "short.toml", "-o", name]);
    command.args(more);
    let ended = end_of(program_in(lab.client(), &named(CLIENT_NAME, &command)));
    let path = folder.file(&format!("{name}.rrul"));
    let show = |more: &[&str]| end_of(rrul(folder, &[&["show", path.to_str().unwrap()], more].concat())).stdout;
    let printed = [ended.stdout, show(&[]), show(&["--full"]), show(&["--json"])].concat();
    (text(&path), printed)
}

fn text(path: &Path) -> String {
    let mut text = String::new();
    let file = std::fs::File::open(path).unwrap();
    zstd::stream::read::Decoder::new(file).unwrap().read_to_string(&mut text).unwrap();
    text
}

#[test]
fn a_private_recording_names_neither_host_nor_address_nor_interface() {
    let Some(lab) = lab("a_private_recording_names_neither_host_nor_address_nor_interface") else { return };
    give_interfaces(lab.client());
    let folder = Folder::with_plan();
    let server = server(&lab, &[]);
    let names = [CLIENT_NAME, SERVER_NAME, "10.78.0.", "fd78::", "rrul0", INTERFACES[0], INTERFACES[1]];
    let (open, _) = run(&lab, &folder, &server, "open", &[]);
    for name in names {
        assert!(open.contains(name), "an open recording has {name}, or else this test shows nothing");
    }
    let (private, printed) = run(&lab, &folder, &server, "private", &["--private", "--title", "My line"]);
    for name in names {
        let place = private.find(name).map(|at| &private[at.saturating_sub(80)..(at + 80).min(private.len())]);
        assert_eq!(place, None, "{name} is in the recording");
        assert!(!printed.contains(name), "{name} is in what is reported of it: {printed}");
    }
    assert!(private.contains("My line"), "the title is the user's own");
    let header = recording(&folder.file("private.rrul")).header;
    let used = header.client.state.interfaces_in_use().next().unwrap();
    assert_eq!(used.name, format!("tun{}", used.index));
    assert_eq!(header.client.state.routes.len(), 2);
    assert!(
        header.client.state.routes.iter().all(|route| route.translated == Some(false)),
        "known before it was stripped"
    );
}

#[test]
fn a_private_server_shows_its_clients_no_names_and_no_other_interfaces() {
    let Some(lab) = lab("a_private_server_tells_its_clients_no_names_and_no_other_interfaces") else { return };
    give_interfaces(lab.server());
    let folder = Folder::with_plan();
    let open = server(&lab, &[]);
    let (told, _) = run(&lab, &folder, &open, "open", &[]);
    assert!(told.contains(SERVER_NAME), "an open server says its name");
    for name in INTERFACES {
        assert!(!told.contains(name), "{name} is none of the client's business");
    }
    let state = recording(&folder.file("open.rrul")).header.server.state;
    let kinds: Vec<(&str, bool)> =
        state.interfaces.iter().map(|interface| (interface.name.as_str(), interface.in_use)).collect();
    assert_eq!(kinds, [("rrul0", true)]);
    drop(open);
    let private = server(&lab, &["--private"]);
    let (told, _) = run(&lab, &folder, &private, "private", &[]);
    assert!(!told.contains(SERVER_NAME));
    let header = recording(&folder.file("private.rrul")).header;
    let state = header.server.state;
    assert_eq!((header.server.host.as_str(), header.client.host.as_str()), ("", CLIENT_NAME));
    assert!(state.interfaces.iter().all(|interface| interface.name == format!("tun{}", interface.index)), "{state:?}");
    assert!(state.routes.iter().all(|route| route.source.is_none() && route.translated.is_none()), "{state:?}");
    assert!(header.client.state.routes.iter().all(|route| route.translated == Some(false)));
}
