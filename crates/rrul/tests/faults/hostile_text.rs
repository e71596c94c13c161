//! Names, titles and reasons that are made to steer a terminal, forge lines of a log, or read as something else.

use std::fs;
use std::io::Write;
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};

use rrul_engine::control_link::{Compression, write};
use rrul_model::printable::is_unprintable;
use rrul_model::recording::Recording;
use rrul_proto::control::{RefusedFlow, ServerMessage};
use rrul_proto::opening::{ClientOpening, Purpose, ServerOpening, Status};
use rrul_proto::token::Token;
use serde_json::Value;

use crate::peer::{Peer, read_opening, welcome};
use crate::program::{Ended, Folder, PROGRAM, Server, end_of, rrul, run_short, wait_until};

/// Clears the screen, sets the title of the terminal, turns text around, and forges a line; longer than any name.
fn hostile() -> String {
    let begin =
        "EVIL\u{1b}[2J\u{1b}]0;x\u{7}\u{9b}31m\u{202e}txt\u{2066}\u{85}\u{2028}\r\nFORGED: all is well\n\u{feff}";
    format!("{begin}{}", "long".repeat(20_000))
}

fn assert_harmless(what: &str, text: &str) {
    assert_steers_nothing(what, text);
    assert!(!text.lines().any(|line| line.trim_start().starts_with("FORGED")), "{what}: a forged line");
}

fn assert_steers_nothing(what: &str, text: &str) {
    let found = text.chars().filter(|c| *c != '\n' && is_unprintable(*c)).take(5).collect::<String>();
    assert_eq!(found, "", "{what} prints characters that steer: {:.2000}", text.escape_debug().to_string());
    let longest = text.split("long").map(str::len).max().unwrap_or(0);
    let run = text.match_indices(&"long".repeat(600)).count();
    assert_eq!(run, 0, "{what}: a field of more than 2400 bytes, beside {longest}");
}

/// Every text of a recording, one after another, made hostile where the recording can still be read.
fn hostile_recording() -> Vec<u8> {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../model/tests/data/v2.jsonl")).unwrap();
    let mut lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let written = |lines: &[Value]| lines.iter().map(Value::to_string).collect::<Vec<_>>().join("\n") + "\n";
    let mut replaced = 0;
    for index in 0..lines.len() {
        let mut pointers = Vec::new();
        texts_of(&lines[index], "", &mut pointers);
        for pointer in pointers {
            let place = lines[index].pointer_mut(&pointer).unwrap();
            let before = place.take();
            *place = Value::String(hostile());
            if Recording::from_lines(&written(&lines)).is_ok() {
                replaced += 1;
            } else {
                *lines[index].pointer_mut(&pointer).unwrap() = before;
            }
        }
    }
    assert!(replaced > 30, "only {replaced} texts of the recording are free");
    let frames = lines.iter().flat_map(|line| zstd::bulk::compress(format!("{line}\n").as_bytes(), 3).unwrap());
    frames.collect()
}

fn texts_of(value: &Value, pointer: &str, texts: &mut Vec<String>) {
    match value {
        Value::String(_) => texts.push(pointer.to_owned()),
        Value::Array(list) => {
            for (at, value) in list.iter().enumerate() {
                texts_of(value, &format!("{pointer}/{at}"), texts);
            }
        }
        Value::Object(members) => {
            for (name, value) in members {
                let name = name.replace('~', "~0").replace('/', "~1");
                texts_of(value, &format!("{pointer}/{name}"), texts);
            }
        }
        _ => {}
    }
}

fn printed(what: &str, ended: &Ended) {
    assert!(matches!(ended.code, Some(0..=2)), "{what}: {ended:#?}");
    assert_harmless(what, &ended.stdout);
    assert_harmless(what, &ended.stderr);
}

#[test]
fn texts_of_a_recording_steer_neither_terminal_nor_page_nor_picture() {
    let folder = Folder::new();
    let recording = hostile_recording();
    folder.write("a.rrul", &recording);
    folder.write("b\u{1b}[2J\u{202e}.rrul", &recording);
    let commands: [&[&str]; 8] = [
        &["show", "a.rrul"],
        &["show", "b\u{1b}[2J\u{202e}.rrul"],
        &["show", "a.rrul", "--full"],
        &["show", "a.rrul", "--equalizer"],
        &["show", "a.rrul", "--json"],
        &["compare", "a.rrul", "b\u{1b}[2J\u{202e}.rrul", "--anyway"],
        &["compare", "a.rrul", "b\u{1b}[2J\u{202e}.rrul", "--json", "--anyway"],
        &["convert", "a.rrul", "--to", "csv", "-o", "a.csv"],
    ];
    for command in commands {
        printed(&command.join(" "), &end_of(rrul(&folder, command)));
    }
    let json = end_of(rrul(&folder, &["show", "a.rrul", "--json"])).stdout;
    serde_json::from_str::<Value>(&json).unwrap();
    let report = end_of(rrul(&folder, &["report", "a.rrul", "-o", "report.html"]));
    printed("report", &report);
    let page = fs::read_to_string(folder.file("report.html")).unwrap();
    // The script of the page is not of the recording.
    let without_scripts: String =
        page.split("<script").map(|part| part.split_once("</script>").map_or(part, |(_, after)| after)).collect();
    // A line break is a space to HTML.
    assert_steers_nothing("the page", &without_scripts);
    for data in page.split("EVIL").skip(1) {
        let after: String = data.chars().take(12).collect();
        assert!(!after.contains("\\u") && !after.contains(is_unprintable), "data of the page: {after:?}");
    }
    printed("plot", &end_of(rrul(&folder, &["plot", "a.rrul", "-o", "a.svg", "--chart", "overview"])));
    if let Ok(picture) = fs::read_to_string(folder.file("a.svg")) {
        assert_harmless("the picture", &picture);
    }
}

#[test]
fn an_error_that_quotes_a_file_is_one_harmless_line() {
    let folder = Folder::new();
    folder.write("a.rrul", hostile_recording());
    let name = "no\u{1b}[2J\nFORGED\u{202e}.rrul";
    folder.write(
        "bad.rrul",
        zstd::bulk::compress(format!("{{\"header\":{{\"format\":{}}}}}\n", Value::from(hostile())).as_bytes(), 3)
            .unwrap(),
    );
    let word = Value::from(hostile());
    folder.write("bad2.rrul", {
        let text =
            fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../model/tests/data/v2.jsonl")).unwrap();
        let text = text.replacen("\"bulk_tcp/BE/up/ipv4\",", "\"x\",", 1).replacen("\"ipv4\"", &word.to_string(), 1);
        zstd::bulk::compress(text.as_bytes(), 3).unwrap()
    });
    for arguments in [
        &["show", name][..],
        &["show", "bad.rrul"],
        &["show", "bad2.rrul"],
        &["compare", "a.rrul", "a.rrul"],
        &["plot", name],
    ] {
        let ended = end_of(rrul(&folder, arguments));
        printed(&arguments.join(" "), &ended);
        assert!(ended.stderr.lines().count() <= 1, "{:?}", ended.stderr);
    }
}

#[test]
fn the_refusal_of_a_server_is_one_harmless_line() {
    for as_flow in [false, true] {
        let peer = Peer::new(move |mut stream| {
            read_opening(&mut stream);
            stream.write_all(&ServerOpening::answer(Status::Accepted, 1).encode()).unwrap();
            welcome(&mut stream);
            let reason = hostile();
            // Until it is asked for a test.
            while let Ok(message) = rrul_engine::control_link::read::<Value>(
                &mut stream,
                std::time::Duration::from_secs(5),
                Compression::Never,
            ) {
                if message.get("open").is_none() {
                    continue;
                }
                let answer = if as_flow {
                    let refused =
                        (0..3).map(|flow| RefusedFlow { flow: rrul_model::flow::FlowId(flow), reason: reason.clone() });
                    ServerMessage::Opened { refused: refused.collect(), state: None, ends_load: false }
                } else {
                    ServerMessage::Refused { reason: reason.clone(), retry_after: None }
                };
                let _ = write(&mut stream, &answer, Compression::Allowed);
                return;
            }
        });
        let folder = Folder::with_plan();
        let ended = end_of(run_short(&folder, &peer.name(), &["--family", "4"]));
        printed("run", &ended);
        assert_eq!(ended.code, Some(2), "{ended:#?}");
    }
}

#[test]
fn what_a_stranger_sends_forges_no_line_of_the_log() {
    let mut server = Server::start(&[]);
    let mut stream = TcpStream::connect(server.address()).unwrap();
    stream.write_all(&ClientOpening::new(Purpose::Control, Token::NONE, 0).encode()).unwrap();
    let name = format!("{:.30000}", hostile().replace("longlong", "long"));
    write(&mut stream, &serde_json::json!({ name: {} }), Compression::Never).unwrap();
    wait_until("the log of the closed session", || server.log().contains("session closed"));
    let log = server.log();
    assert_harmless("the log", &log);
    assert!(log.lines().all(|line| line.len() <= 1024), "{log}");
    server.assert_sound();
}

#[test]
fn a_server_serves_on_when_its_output_has_no_reader() {
    let folder = Folder::with_plan();
    for to in ["closed", "/dev/full"] {
        let mut command = Command::new(PROGRAM);
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        command.args(["server", "--listen", "127.0.0.1", "--port", &port.to_string()]);
        let (reader, writer) = std::io::pipe().unwrap();
        if to == "closed" {
            command.stdout(writer).stderr(Stdio::null());
        } else {
            command.stdout(fs::File::options().write(true).open(to).unwrap()).stderr(Stdio::null());
        }
        drop(reader);
        let mut child = command.spawn().unwrap();
        drop(command);
        wait_until("the server", || TcpStream::connect(("127.0.0.1", port)).is_ok());
        let ended = end_of(run_short(&folder, &format!("127.0.0.1:{port}"), &["--set", "load=1s", "--family", "4"]));
        assert!(matches!(ended.code, Some(0 | 1)), "{to}: {ended:#?}");
        fs::remove_file(folder.file("out.rrul")).unwrap();
        assert!(child.try_wait().unwrap().is_none(), "{to}: the server has ended");
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
