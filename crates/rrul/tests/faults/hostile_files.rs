//! Files that are small on disk and made to cost whoever reads them memory or time.

use std::fmt::Write as _;
use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::program::{Folder, PROGRAM, end_of, rrul};

/// The largest file that is made here, bytes.
const LARGEST: usize = 1_000_000;
/// Most memory that any command may take for such a file, bytes.
const MEMORY: u64 = 500_000_000;
/// Most processor time that it may take, seconds.
const SECONDS: f64 = 10.0;

/// The most that a command took.
#[derive(Debug, Default)]
struct Cost {
    memory: u64,
    seconds: f64,
}

impl Cost {
    /// Reads what a process has taken so far.
    fn read(&mut self, child: &Child) {
        let proc = format!("/proc/{}", child.id());
        // For a moment a new process still has the memory of this one, which has made the file.
        if !fs::read(format!("{proc}/cmdline")).is_ok_and(|words| words.starts_with(PROGRAM.as_bytes())) {
            return;
        }
        let (status, stat) = (fs::read_to_string(format!("{proc}/status")), fs::read_to_string(format!("{proc}/stat")));
        let (Ok(status), Ok(stat)) = (status, stat) else { return };
        let highest =
            status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.split_whitespace().next()?.parse::<u64>().ok());
        self.memory = self.memory.max(highest.unwrap_or(0) * 1024);
        // Behind the name in parentheses; fields 14 and 15 of proc_pid_stat(5), in hundredths of a second.
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
        self.seconds = fields[11..13].iter().map(|ticks| ticks.parse::<f64>().unwrap()).sum::<f64>() / 100.0;
    }
}

/// What `rrul` with these arguments takes; it is ended when that is far too much.
fn cost(folder: &Folder, arguments: &[&str]) -> Cost {
    let mut command = Command::new(PROGRAM);
    command.args(arguments).current_dir(folder.path()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut cost = Cost::default();
    while child.try_wait().unwrap().is_none() {
        cost.read(&child);
        if cost.memory > 4 * MEMORY || cost.seconds > 4.0 * SECONDS {
            child.kill().unwrap();
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    cost
}

/// Asserts that this is a recording that can be read.
fn assert_readable(name: &str, octets: &[u8]) {
    let folder = Folder::new();
    folder.write("a.rrul", octets);
    let shown = end_of(rrul(&folder, &["show", "a.rrul"]));
    assert!(matches!(shown.code, Some(0 | 1)), "{name}: {shown:#?}");
}

/// Every command that reads recordings stays within what a file of this size may take.
fn assert_cheap(name: &str, octets: &[u8]) {
    assert!(octets.len() <= LARGEST, "{name} has {} bytes", octets.len());
    let folder = Folder::new();
    // As long as it may be: a longer file may contain more. A skippable frame (RFC 8878 section 3.1.2) is in no one's way.
    let filling = LARGEST.saturating_sub(octets.len() + 8);
    let skipped = [&0x184D_2A50_u32.to_le_bytes()[..], &(filling as u32).to_le_bytes(), &vec![7; filling]].concat();
    let octets = if filling > 0 { [octets, &skipped].concat() } else { octets.to_vec() };
    folder.write("a.rrul", &octets);
    folder.write("b.rrul", &octets);
    let commands: [&[&str]; 6] = [
        &["show", "a.rrul"],
        &["show", "--full", "a.rrul"],
        &["plot", "a.rrul"],
        &["report", "a.rrul", "-o", "a.html"],
        &["compare", "a.rrul", "b.rrul", "--anyway"],
        &["convert", "a.rrul", "--to", "csv"],
    ];
    let (mut dear, mut seen) = (String::new(), 0);
    for arguments in commands {
        let Cost { memory, seconds } = cost(&folder, arguments);
        eprintln!("{name}, {} bytes: {}: {:.0} MB, {seconds:.1} s", octets.len(), arguments[0], memory as f64 / 1e6);
        seen = seen.max(memory);
        if memory > MEMORY || seconds > SECONDS {
            let _ = writeln!(dear, "{name}: {}: {:.0} MB, {seconds:.1} s", arguments.join(" "), memory as f64 / 1e6);
        }
    }
    assert!(seen > 0, "{name}: no command was seen to run");
    assert_eq!(dear, "", "at most {:.0} MB and {SECONDS} s", MEMORY as f64 / 1e6);
}

fn specimen() -> Vec<Value> {
    let text = include_str!("../../../model/tests/data/v2.jsonl");
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Lines as frames, each compressed well.
fn file(lines: &[String]) -> Vec<u8> {
    lines.iter().flat_map(|line| zstd::bulk::compress(format!("{line}\n").as_bytes(), 9).unwrap()).collect()
}

/// All lines in one frame: what repeats costs nothing.
fn one_frame(lines: &str) -> Vec<u8> {
    zstd::bulk::compress(lines.as_bytes(), 5).unwrap()
}

fn header() -> String {
    specimen()[0].to_string()
}

#[test]
fn a_list_of_zeros_that_expands_is_not_expanded_beyond_its_file() {
    let zeros = |count: usize| format!("[{}0]", "0,".repeat(count));
    let mut text = header() + "\n";
    // Some 500 MB of text in some 50 kB.
    for number in 0..8 {
        let column = zeros(10_000_000);
        let _ = writeln!(
            text,
            "{{\"frame\":{{\"point\":\"client\",\"number\":{number},\"tables\":{{\"probe_sent\":{{\"flow\":{column},\"sequence\":{column},\"scheduled\":{column}}}}}}}}}"
        );
    }
    assert_cheap("zeros", &one_frame(&text));
}

#[test]
fn rows_without_end_of_any_table_are_read_within_a_budget() {
    // As many values as the budget of the largest file takes.
    const VALUES: usize = 2_900_000;
    let mut lines = specimen();
    let kinds = lines[0]["header"]["flows"].as_array().unwrap().len();
    lines.retain(|line| line.get("frame").is_some());
    let tables = lines.iter().flat_map(|line| line["frame"]["tables"].as_object().unwrap());
    let mut count = 0;
    for (table, columns) in tables {
        let columns = columns.as_object().unwrap();
        let rows = VALUES / columns.len();
        let written = columns.keys().map(|column| {
            // Numbers that grow: each row is a packet of its own, of one flow.
            let step = if column == "flow" { "0," } else { "1," };
            format!("\"{column}\":[{}{}]", step.repeat(rows - 1), &step[..1])
        });
        let written: Vec<String> = written.collect();
        let frame = |point| {
            format!(
                "{{\"frame\":{{\"point\":\"{point}\",\"number\":0,\"tables\":{{\"{table}\":{{{}}}}}}}}}\n",
                written.join(",")
            )
        };
        let point = if table == "packet_received" { "server" } else { "client" };
        assert_cheap(table, &one_frame(&(header() + "\n" + &frame(point))));
        count += 1;
    }
    assert!(count > 20 && kinds > 1, "{count} tables");
}

#[test]
fn empty_frames_without_end_are_read_within_a_budget() {
    let mut text = header() + "\n";
    for number in 0..30_000 {
        let _ = writeln!(text, "{{\"frame\":{{\"point\":\"client\",\"number\":{number}}}}}");
    }
    let octets = one_frame(&text);
    assert_cheap("empty frames", &octets[..octets.len().min(LARGEST)]);
    let same = header() + "\n" + &"{\"frame\":{\"point\":\"client\",\"number\":7}}\n".repeat(31_000);
    assert_cheap("equal frames", &one_frame(&same));
}

#[test]
fn a_header_of_many_flows_families_or_phases_is_refused_or_read_within_a_budget() {
    let many = |key: &str, count: usize, entry: &dyn Fn(usize) -> Value| {
        let mut lines = specimen();
        lines[0]["header"][key] = (0..count).map(entry).collect();
        file(&lines.iter().map(Value::to_string).collect::<Vec<_>>())
    };
    let flow = specimen()[0]["header"]["flows"][1].clone();
    let numbered = |id: usize| {
        let mut flow = flow.clone();
        flow["id"] = id.into();
        flow
    };
    assert_cheap("65 535 flows", &many("flows", 65_535, &numbered));
    assert_cheap("1024 flows", &many("flows", 1024, &numbered));
    assert_cheap("families", &many("families", 1_000_000, &|_| json!("ipv4")));
    let phase = specimen()[0]["header"]["phases"][1].clone();
    assert_cheap("phases", &many("phases", 200_000, &|_| phase.clone()));
    let absent = specimen()[0]["header"]["absent_families"][0].clone();
    assert_cheap("absent families", &many("absent_families", 200_000, &|_| absent.clone()));
}

#[test]
fn many_flows_with_packets_of_all_kinds_are_read_within_a_budget() {
    for kind in ["udp_probe", "bulk_tcp", "tcp_connect", "web_page", "voip", "dns_lookup", "path_trace"] {
        let mut lines = specimen();
        let flow = lines[0]["header"]["flows"][1].clone();
        let numbered = |id: usize| {
            let mut flow = flow.clone();
            flow["id"] = id.into();
            flow["type"] = kind.into();
            flow["name"] = format!("{kind}/{id}").into();
            flow["component"] = if kind == "bulk_tcp" { "load" } else { "realtime" }.into();
            flow["direction"] = if id.is_multiple_of(2) { "up" } else { "down" }.into();
            flow
        };
        lines[0]["header"]["flows"] = (0..1024).map(numbered).collect();
        let ids: Vec<String> = (0..1024).map(|id| if id == 0 { "0" } else { "1" }.to_owned()).collect();
        let ids = ids.join(",");
        let mut text = lines[0].to_string() + "\n";
        for number in 0..130 {
            let _ = writeln!(
                text,
                "{{\"frame\":{{\"point\":\"client\",\"number\":{number},\"tables\":{{\"probe_sent\":{{\"flow\":[{ids}],\"sequence\":[{number},{0}],\"scheduled\":[1{number:03}0000000,{0}],\"sent\":[1{number:03}0000000,{0}]}},\"octets_received\":{{\"flow\":[{ids}],\"at\":[1{number:03}0000000,{0}],\"octets\":[1{number:03}0000000,{0}]}}}}}}}}",
                "0,".repeat(1022) + "0"
            );
        }
        assert_readable(kind, &one_frame(&text));
        assert_cheap(kind, &one_frame(&text));
    }
}

#[test]
fn beginnings_of_frames_without_frames_are_passed_over_in_linear_time() {
    let magic = 0xFD2F_B528_u32.to_le_bytes();
    // The largest that the design names has 8 MB; a larger file may take longer, in proportion.
    let folder = Folder::new();
    folder.write("a.rrul", magic.repeat(2_000_000));
    let Cost { memory, seconds } = cost(&folder, &["show", "a.rrul"]);
    eprintln!("8 MB of magics: {:.0} MB, {seconds:.1} s", memory as f64 / 1e6);
    assert!(memory < MEMORY && seconds < SECONDS, "8 MB of magics: {memory} bytes, {seconds} s");
    // Frames in frames: each block is empty, and another frame begins behind it.
    let nested: Vec<u8> = [&magic[..], &[0x00, 0x58], &[0, 0, 0].repeat(30)].concat();
    let mut file = nested.repeat(LARGEST / nested.len());
    assert_cheap("empty blocks", &file);
    file = [&magic[..], &[0xA0, 0xFF, 0xFF, 0xFF, 0x00]].concat().repeat(LARGEST / 9);
    assert_cheap("announced lengths", &file);
}
