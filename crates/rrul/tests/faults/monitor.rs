//! A monitor as its user runs it: what it leaves on disk and shows in metrics, and what it does when things go wrong.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::UdpSocket;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rrul_engine::environment::InterfaceMeter;
use serde_json::Value;

use crate::lab::on_own_host;
use crate::program::{Folder, Running, Server, end_of, rrul, wait_until};

/// What the monitor books for light probes of one IP version at the default interval, bytes a second.
const PROBES_BOOKED: u64 = 250 + 284;

/// A folder with the file of a monitor that runs `short.toml`, and lets others use the loopback interface.
fn folder_for(server: &str, more: &str) -> Folder {
    let folder = Folder::with_plan();
    let socket = folder.file("metrics.sock");
    let text = format!(
        "server = \"{server}\"\nbudget = \"none\"\nfamily = \"4\"\n[runs]\nplan = \"short.toml\"\n\
         [metrics]\nlisten = \"{}\"\ntextfile = \"rrul.prom\"\n{more}",
        socket.display()
    );
    folder.write("m.toml", text);
    folder
}

const ANY_TRAFFIC: &str = "[cross_traffic]\nlimit = \"100Gbit/s\"\nover = \"1s\"\n";

fn start(folder: &Folder) -> Running {
    Running::start(rrul(folder, &["monitor", "m.toml"]))
}

/// What Prometheus reads.
fn metrics(folder: &Folder) -> String {
    let mut text = String::new();
    let mut stream = UnixStream::connect(folder.file("metrics.sock")).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    stream.read_to_string(&mut text).unwrap();
    text.split_once("\r\n\r\n").unwrap().1.to_owned()
}

/// The value of a sample; `None` when it is missing.
fn sample(text: &str, name: &str) -> Option<f64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
}

/// The lines of the journal.
fn journal(folder: &Folder) -> Vec<Value> {
    let text = fs::read_to_string(folder.file("m/runs.jsonl")).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Waits for the first line of the journal, and asserts its outcome and reason.
fn assert_first(folder: &Folder, outcome: &str, reason: Option<&str>) {
    wait_until("the first full test", || !journal(folder).is_empty());
    let first = journal(folder).remove(0);
    assert_eq!((first["outcome"].as_str(), first["reason"].as_str()), (Some(outcome), reason), "{first}");
    let reason = reason.unwrap_or_default();
    let name = format!("rrul_runs_total{{target=\"m\",outcome=\"{outcome}\",reason=\"{reason}\"}}");
    assert_eq!(sample(&metrics(folder), &name), Some(1.0), "{}", metrics(folder));
}

fn state(folder: &Folder) -> Value {
    fs::read_to_string(folder.file("m/state.json"))
        .ok()
        .and_then(|text| serde_json::from_str(&text).ok())
        .unwrap_or_default()
}

#[test]
fn a_monitor_probes_tests_and_ends_at_a_signal() {
    on_own_host("a_monitor_probes_tests_and_ends_at_a_signal", || {
        let server = Server::start(&[]);
        let folder = folder_for(&server.name(), ANY_TRAFFIC);
        let monitor = start(&folder);
        assert_first(&folder, "ran", None);
        let name = journal(&folder)[0]["recording"].as_str().unwrap().to_owned();
        assert!(folder.file(&format!("m/recordings/{name}.rrul")).is_file());
        let summary = fs::read_to_string(folder.file(&format!("m/summaries/{name}.json"))).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&summary).unwrap()["plan"], "short");
        let probes = "rrul_probe_packets_total{target=\"m\",class=\"BE\",family=\"ipv4\"}";
        wait_until("probes of every second", || sample(&metrics(&folder), probes).is_some_and(|count| count >= 3.0));
        let text = metrics(&folder);
        let down = sample(&text, "rrul_run_goodput_bytes_per_second{target=\"m\",direction=\"down\"}").unwrap();
        assert!((1e6..3e6).contains(&down), "paced at 20 Mbit/s: {down}");
        // Three seconds of load of 20 Mbit/s in each direction, which the loopback interface counts as sent and received.
        let booked = sample(&text, "rrul_data_bytes_total{target=\"m\"}").unwrap();
        assert!((2e7..6e7).contains(&booked), "{booked}");
        assert!(!text.contains("127.0.0.1"), "{text}");
        assert!(fs::read_to_string(folder.file("rrul.prom")).unwrap().contains("rrul_run_valid{target=\"m\"}"));

        // Each packet is counted once as received. The server reports every five seconds: four times in this at most, as it is booked.
        let mut meter = InterfaceMeter::towards(&[server.address()]).unwrap();
        let (before, began) = (meter.read().unwrap(), Instant::now());
        std::thread::sleep(Duration::from_secs(19));
        let received = meter.read().unwrap().received.0 - before.received.0;
        let each_second = received as f64 / began.elapsed().as_secs_f64();
        println!("light probing: {each_second:.0} bytes a second, {PROBES_BOOKED} are booked");
        assert!(each_second <= PROBES_BOOKED as f64, "{each_second} bytes a second, {PROBES_BOOKED} are booked");

        let asked = Instant::now();
        monitor.signal("TERM");
        let ended = monitor.end();
        assert_eq!(ended.code, Some(0), "{ended:#?}");
        assert!(asked.elapsed() < Duration::from_secs(5), "{:?}", asked.elapsed());
        assert!(ended.stdout.contains("full test ran: "), "{ended:#?}");
    });
}

#[test]
fn a_killed_monitor_knows_what_its_test_took() {
    on_own_host("a_killed_monitor_knows_what_its_test_took", || {
        let server = Server::start(&[]);
        let folder = folder_for(&server.name(), ANY_TRAFFIC);
        let monitor = start(&folder);
        let counted = |folder: &Folder| state(folder)["going"]["counted"].as_u64().unwrap_or_default();
        wait_until("a test that loads", || counted(&folder) > 1_000_000);
        monitor.signal("KILL");
        assert_eq!(monitor.end().signal, Some(9));
        let counted = counted(&folder);
        let monitor = start(&folder);
        assert_first(&folder, "failed", Some("interrupted"));
        // The journal is written before the state.
        wait_until("the end of the test in the state", || state(&folder)["going"].is_null());
        let booked = state(&folder)["booked"].as_u64().unwrap();
        assert!(booked >= counted, "{counted} were counted, {booked} booked");
        monitor.signal("INT");
        assert_eq!(monitor.end().code, Some(0));
        assert_eq!(journal(&folder).len(), 1, "another test keeps the least gap");
    });
}

#[test]
fn a_dead_server_is_a_test_that_failed() {
    on_own_host("a_dead_server_is_a_test_that_failed", || {
        let folder = folder_for("127.0.0.1:1", ANY_TRAFFIC);
        let monitor = start(&folder);
        assert_first(&folder, "failed", Some("unreachable"));
        // The journal is written before the state.
        wait_until("the try in the state", || state(&folder)["tries"].as_u64() == Some(1));
        monitor.signal("TERM");
        assert_eq!(monitor.end().code, Some(0));
    });
}

#[test]
fn a_line_that_others_use_is_left_to_them() {
    on_own_host("a_line_that_others_use_is_left_to_them", || {
        let server = Server::start(&[]);
        let folder = folder_for(&server.name(), "[cross_traffic]\nlimit = \"5Mbit/s\"\nover = \"2s\"\n");
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
                let to = socket.local_addr().unwrap();
                // 1000 packets of 1400 bytes a second: 11 Mbit/s.
                while !done.load(Ordering::Relaxed) {
                    for _ in 0..10 {
                        socket.send_to(&[0; 1400], to).unwrap();
                    }
                    std::thread::sleep(Duration::from_millis(10));
                }
            });
            let began = Instant::now();
            let monitor = start(&folder);
            assert_first(&folder, "skipped", Some("cross_traffic"));
            assert!(began.elapsed() < Duration::from_mins(1), "{:?}", began.elapsed());
            assert!(journal(&folder)[0]["text"].as_str().unwrap().starts_with("lo carries "), "{:?}", journal(&folder));
            done.store(true, Ordering::Relaxed);
            drop(monitor);
        });
    });
}

#[test]
fn one_test_at_a_time_loads_an_interface() {
    on_own_host("one_test_at_a_time_loads_an_interface", || {
        let place = if Path::new("/run/lock").is_dir() { "/run/lock".into() } else { std::env::temp_dir() };
        let namespace = fs::metadata("/proc/thread-self/ns/net").unwrap().ino();
        let lock = place.join(format!("rrul-{namespace}-lo.lock"));
        let lock = File::options().write(true).create(true).truncate(false).open(lock).unwrap();
        lock.lock().unwrap();
        let server = Server::start(&[]);
        let folder = folder_for(&server.name(), ANY_TRAFFIC);
        let monitor = start(&folder);
        assert_first(&folder, "skipped", Some("link_busy"));
        let mut second = rrul(&folder, &["monitor", "m.toml"]);
        second.env("RUST_BACKTRACE", "0");
        end_of(second).complains(&["another monitor uses this folder"]);
        drop(monitor);
        // Who starts a test by hand waits for the monitor.
        let by_hand = |more: &[&str]| {
            let server = server.name();
            rrul(&folder, &[&["run", &*server, "--plan", "short.toml", "-o", "run.rrul"], more].concat())
        };
        end_of(by_hand(&["--no-wait"])).complains(&["a monitor of this host runs a test over lo", "--no-wait"]);
        assert!(!folder.file("run.rrul").exists());
        let mut waiting = Running::start(by_hand(&[]));
        waiting.wait_for("waiting: a monitor of this host runs a test over lo");
        lock.unlock().unwrap();
        let ended = waiting.end();
        assert!(folder.file("run.rrul").is_file(), "{ended:#?}");
    });
}

#[test]
fn a_mistake_in_the_file_is_one_line() {
    for (text, words) in [
        ("server = \"a\"\n", &["m.toml: budget: ", "30GB/month"][..]),
        (
            "server = \"a\"\nbudget = \"1GB/day\"\n[runs]\nplan = \"fast\"\n",
            &["m.toml: no plan named \"fast\"", "quick"],
        ),
        ("server = \"a\"\nbudget = \"10MB/day\"\n", &["m.toml: 10 MB/day is less than light probing takes", "larger"]),
        ("server = \"a\"\nbudget = \"none\"\nfamily = \"5\"\n", &["m.toml: family: write 4, 6 or both"]),
        (
            "server = \"a\"\nbudget = \"none\"\n[metrics]\nlisten = \"0.0.0.0:1\"\n",
            &["metrics.listen", "of this host alone"],
        ),
    ] {
        let folder = Folder::new();
        folder.write("m.toml", text);
        end_of(rrul(&folder, &["monitor", "m.toml"])).complains(words);
    }
}
