//! Shapers of a router that is reached by ssh, and what becomes of them when things go wrong.

use std::process::Command;
use std::time::{Duration, Instant};

use rrul_model::flow::Direction;
use rrul_model::shaping::ShaperRates;
use rrul_model::units::BitRate;

use super::super::test_router::{Folder, Router, entries, found, skipped, wait_until};
use super::*;

const OPENWRT: &str = "openwrt:root@router";

fn rates(down: u64, up: u64) -> ShaperRates {
    ShaperRates { down: Some(BitRate(down)), up: Some(BitRate(up)) }
}

fn text(down: &str, up: &str) -> (String, String) {
    (down.to_owned(), up.to_owned())
}

fn open(router: &Router, address: &str) -> Result<Box<dyn Shaper>, ShaperError> {
    super::open(&address.parse().unwrap(), &router.options())
}

/// The reason why it is refused.
fn refused(router: &Router, address: &str) -> String {
    open(router, address).map(|_| ()).unwrap_err().to_string()
}

#[test]
fn sqm_is_set_live_and_restored_and_its_configuration_is_not_touched() {
    let router = Router::new();
    let before = router.folder.read("sqm.conf");
    let mut shaper = open(&router, OPENWRT).unwrap();
    let description = shaper.describe().clone();
    assert_eq!((description.driver.as_str(), description.target.as_str()), ("openwrt", "root@router: SQM on eth9"));
    assert_eq!(description.section.as_deref(), Some("eth9"));
    assert_eq!(description.down_discipline.as_deref(), Some("cake diffserv4"));
    assert_eq!(
        (description.found, description.up_link_layer.as_deref()),
        (Some(rates(18_000_000, 7_200_000)), Some("ip"))
    );
    assert_eq!(entries(&router.options().journal_folder), 0, "nothing is changed yet");
    shaper.set(rates(9_000_000, 4_000_000)).unwrap();
    assert_eq!(router.rates(), text("9000000", "4000000"));
    assert_eq!(shaper.read().unwrap().rates, Some(rates(9_000_000, 4_000_000)));
    assert_eq!(entries(&router.options().journal_folder), 1);
    shaper.set(ShaperRates::UNSHAPED).unwrap();
    assert_eq!(router.rates(), text("unlimited", "unlimited"));
    assert!(matches!(shaper.set(rates(0, 1)), Err(ShaperError::ZeroRate(Direction::Down))));
    shaper.restore().unwrap();
    assert_eq!(router.rates(), found());
    assert_eq!(entries(&router.options().journal_folder), 0);
    drop(shaper);
    assert_eq!((router.folder.read("sqm.conf"), router.folder.read("uci.log")), (before, String::new()));
}

#[test]
fn a_shaper_that_is_dropped_is_restored() {
    let router = Router::new();
    let mut shaper = open(&router, "tc:up=eth9,host=router").unwrap();
    shaper.set(ShaperRates { down: None, up: Some(BitRate(1_000_000)) }).unwrap();
    let missing = shaper.set(rates(1_000_000, 1_000_000)).unwrap_err();
    assert!(matches!(missing, ShaperError::NoDirection { direction: Direction::Down, .. }), "{missing}");
    assert_eq!(router.rates(), text("18000000", "1000000"));
    drop(shaper);
    assert_eq!((router.rates(), entries(&router.options().journal_folder)), (found(), 0));
}

#[test]
fn what_stands_against_a_search_is_refused_with_the_reason() {
    let router = Router::new();
    router.folder.write("changes", "sqm.eth9.upload='1'\n");
    assert!(refused(&router, OPENWRT).contains("uci revert"), "{}", refused(&router, OPENWRT));
    router.folder.write("changes", "");
    router.folder.write("offloading", "1");
    assert!(refused(&router, OPENWRT).contains("flow offloading"), "{}", refused(&router, OPENWRT));
    router.folder.write("offloading", "0");
    assert!(refused(&router, "openwrt:root@router,iface=wan").contains("it is on eth9"));
    router.folder.write("sqm.conf", "");
    assert!(refused(&router, OPENWRT).contains("not enabled"));
    router.folder.write("unreachable", "");
    let said = refused(&router, OPENWRT);
    assert_eq!(
        said,
        "root@router: cannot connect: ssh: connect to host router port 22: No route to host; try it by hand: ssh root@router"
    );
}

#[test]
fn applying_writes_whole_kilobits_commits_and_reloads_and_nothing_else() {
    let router = Router::new();
    let mut shaper = open(&router, OPENWRT).unwrap();
    assert!(shaper.is_lasting());
    shaper.set(rates(9_000_000, 4_000_000)).unwrap();
    let wanted = ShaperRates { down: Some(BitRate(17_123_999)), up: Some(BitRate(7_000_000)) };
    shaper.apply(wanted).unwrap();
    let done = "uci set sqm.eth9.download=17123\nuci set sqm.eth9.upload=7000\nuci commit sqm\nsqm reload\n";
    assert_eq!(router.folder.read("uci.log"), done);
    assert_eq!(shaper.commands(wanted).len(), 4);
    assert_eq!((router.rates(), entries(&router.options().journal_folder)), (text("17123000", "7000000"), 0));
    drop(shaper);
    assert_eq!(router.rates(), text("17123000", "7000000"), "what was applied stays");
}

#[test]
fn without_a_configuration_what_is_applied_stays_until_a_restart() {
    let router = Router::new();
    let mut shaper = open(&router, "tc:up=eth9,host=router").unwrap();
    assert!(!shaper.is_lasting());
    shaper.set(ShaperRates { down: None, up: Some(BitRate(1_000_000)) }).unwrap();
    shaper.apply(ShaperRates { down: None, up: Some(BitRate(7_000_000)) }).unwrap();
    drop(shaper);
    assert_eq!(router.rates(), text("18000000", "7000000"));
    assert_eq!((router.folder.read("uci.log"), entries(&router.options().journal_folder)), (String::new(), 0));
}

#[test]
fn what_cannot_be_committed_is_reverted() {
    let router = Router::new();
    let mut shaper = open(&router, OPENWRT).unwrap();
    router.folder.write("full", "");
    let said = shaper.apply(rates(17_000_000, 7_000_000)).unwrap_err().to_string();
    assert!(said.contains("`uci commit sqm` failed: uci: I/O error"), "{said}");
    assert!(router.folder.read("uci.log").ends_with("uci revert sqm\n"), "{}", router.folder.read("uci.log"));
    assert_eq!(router.rates(), found());
}

#[test]
fn a_dry_run_sets_nothing() {
    let router = Router::new();
    let options = DriverOptions { dry_run: true, ..router.options() };
    let mut shaper = super::open(&OPENWRT.parse().unwrap(), &options).unwrap();
    shaper.set(rates(9_000_000, 4_000_000)).unwrap();
    shaper.apply(rates(9_000_000, 4_000_000)).unwrap();
    assert_eq!(shaper.read().unwrap().rates, Some(rates(18_000_000, 7_200_000)));
    shaper.restore().unwrap();
    assert!(shaper.counters().unwrap().is_some());
    drop(shaper);
    assert_eq!((router.folder.read("tc.log"), router.folder.read("uci.log")), (String::new(), String::new()));
    assert_eq!(entries(&options.journal_folder), 0);
}

#[test]
fn a_router_that_loses_the_connection_restores_itself() {
    let router = Router::new();
    let mut shaper = open(&router, OPENWRT).unwrap();
    shaper.set(rates(9_000_000, 4_000_000)).unwrap();
    router.folder.write("unreachable", "");
    end_connection(&router);
    wait_until("restored by the router", Duration::from_secs(10), || router.rates() == found());
    let lost = shaper.set(rates(8_000_000, 4_000_000)).unwrap_err();
    assert!(matches!(lost, ShaperError::Lost { .. }), "{lost}");
    assert!(matches!(shaper.restore(), Err(ShaperError::Lost { .. })));
    assert_eq!(entries(&router.options().journal_folder), 1, "this host does not know whether it is restored");
    drop(shaper);
    std::fs::remove_file(router.folder.0.join("unreachable")).unwrap();
    // The guard tries for a while; then the entry is gone, and the lock is free.
    let left = || entries(&router.options().journal_folder) == 0;
    wait_until("restored by the guard", Duration::from_secs(30), left);
    open(&router, OPENWRT).unwrap();
}

/// Kills the `ssh` that keeps the connection, with all of its group.
fn end_connection(router: &Router) {
    let folder = std::env::temp_dir();
    let ssh = router.options().ssh;
    let mut ended = 0;
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.starts_with(&format!("rrul-ssh-{}-", std::process::id())) {
            continue;
        }
        let Ok(number) = std::fs::read_to_string(entry.path().join("c")) else { continue };
        let number = number.trim();
        let words = std::fs::read_to_string(format!("/proc/{number}/cmdline")).unwrap_or_default();
        if words.split('\0').any(|word| word == ssh) {
            Command::new("kill").args(["-9", "--", &format!("-{number}")]).status().unwrap();
            ended += 1;
        }
    }
    assert_eq!(ended, 1, "connections of this router");
}

#[test]
fn the_watch_restores_after_silence_and_at_the_end_of_its_input_and_not_when_asked_to_end() {
    for (shell, option) in [("bash", "-c"), ("busybox", "sh")] {
        if Command::new(shell).arg("true").output().is_err() {
            let test = "the_watch_restores_after_silence_and_at_the_end_of_its_input_and_not_when_asked_to_end";
            skipped(test, &format!("{shell} is not installed"));
            continue;
        }
        let folder = Folder::new();
        for (orders, silent, expected) in [
            // Each time twice.
            ("arm echo 1 >>mark", true, "1\n1\n"),
            ("arm echo 1 >>mark", false, "1\n1\n1\n1\n"),
            ("arm echo 1 >>mark\ndisarm", false, "1\n1\n1\n1\n"),
            ("arm echo 1 >>mark\nend", true, "1\n1\n1\n1\n"),
            ("beat", true, "1\n1\n1\n1\n"),
        ] {
            let script = crate::tuning::host::WATCH.replace("-t 30", "-t 1").replace("in 3 2 4 8", "in 1 2 4 8");
            let mut command = Command::new(shell);
            command.arg(option);
            if option == "sh" {
                command.arg("-c");
            }
            let hold = if silent { "; sleep 4" } else { "" };
            let input = Command::new("sh")
                .arg("-c")
                .arg(format!("printf '%s\\n' \"$1\"{hold}"))
                .args(["sh", orders])
                .stdout(std::process::Stdio::piped())
                .spawn();
            let mut input = input.unwrap();
            let began = Instant::now();
            command.arg(&script).current_dir(&folder.0).env("XDG_RUNTIME_DIR", &folder.0);
            let output = command.stdin(input.stdout.take().unwrap()).output().unwrap();
            assert!(began.elapsed() < Duration::from_millis(3500), "{shell}: {orders}: {:?}", began.elapsed());
            assert_eq!(folder.read("mark"), expected, "{shell}: {orders}: {output:?}");
            assert!(folder.read("rrul-tune.pid").is_empty());
            let _ = input.kill();
            let _ = input.wait();
        }
    }
}

#[test]
fn a_second_session_is_refused_here_and_from_another_host() {
    let router = Router::new();
    let _first = open(&router, OPENWRT).unwrap();
    let here = refused(&router, "tc:up=eth9,host=root@router");
    assert_eq!(here, format!("root@router is being tuned by process {} already", std::process::id()));
    let elsewhere = DriverOptions { journal_folder: router.folder.0.join("other"), ..router.options() };
    let there = super::open(&OPENWRT.parse().unwrap(), &elsewhere).map(|_| ()).unwrap_err();
    assert!(matches!(there, ShaperError::Busy { .. }), "{there}");
}

#[test]
fn a_command_sets_both_rates_and_needs_one_that_restores() {
    let router = Router::new();
    let set = format!("command:echo {{down}} {{up}} >{}/set", router.folder.0.display());
    assert!(refused(&router, &set).contains("--restore-command"));
    let restore = format!("echo as found >{}/set", router.folder.0.display());
    let options = DriverOptions { restore_command: Some(restore), ..router.options() };
    let mut shaper = super::open(&set.parse().unwrap(), &options).unwrap();
    shaper.set(ShaperRates { down: Some(BitRate(18_000_000)), up: None }).unwrap();
    assert_eq!(router.folder.read("set"), "18000000 10000000000\n");
    assert_eq!((shaper.read().unwrap().rates, shaper.counters().unwrap()), (None, None));
    shaper.restore().unwrap();
    assert_eq!(router.folder.read("set"), "as found\n");
    let failing = format!("{set}; echo too fast; exit 3");
    let mut shaper = super::open(&failing.parse().unwrap(), &options).unwrap();
    let said = shaper.set(rates(1_000_000, 1_000_000)).unwrap_err().to_string();
    assert!(said.ends_with("failed: too fast"), "{said}");
    router.folder.write("set", "");
    drop(shaper);
    assert_eq!(router.folder.read("set"), "as found\n", "what failed half-way is restored");
}

#[test]
fn a_restoring_command_that_ends_in_a_comment_restores_from_the_journal_too() {
    let router = Router::new();
    let set = format!("command:echo {{down}} {{up}} >{}/set", router.folder.0.display());
    let restore = format!("echo as found >{}/set # 18/7", router.folder.0.display());
    let options = DriverOptions { restore_command: Some(restore), ..router.options() };
    let mut shaper = super::open(&set.parse().unwrap(), &options).unwrap();
    shaper.set(rates(9_000_000, 4_000_000)).unwrap();
    let left = router.folder.0.join("left");
    let journal = std::fs::read_dir(router.options().journal_folder).unwrap().flatten().map(|file| file.path());
    let entry = journal.filter(|path| path.extension().is_some_and(|end| end == "json")).last().unwrap();
    std::fs::copy(&entry, &left).unwrap();
    drop(shaper);
    std::fs::copy(&left, &entry).unwrap();
    router.folder.write("set", "changed\n");
    assert_eq!(restore_all(&router.options()).unwrap().len(), 1);
    assert_eq!(router.folder.read("set"), "as found\n");
}

#[test]
fn what_fails_is_tried_once_more() {
    let router = Router::new();
    let folder = router.folder.0.display();
    let answers_the_second_time =
        format!("command:test -e {folder}/asked && echo {{down}} >{folder}/set || ! touch {folder}/asked");
    // The first time is before any change, to see that it works.
    let restore = format!("test -e {folder}/tried && rm -f {folder}/asked {folder}/set || ! touch {folder}/tried");
    let options = DriverOptions { restore_command: Some(restore), ..router.options() };
    let mut shaper = super::open(&answers_the_second_time.parse().unwrap(), &options).unwrap();
    shaper.set(ShaperRates { down: Some(BitRate(18_000_000)), up: None }).unwrap();
    assert_eq!(router.folder.read("set"), "18000000\n");
}

#[test]
fn what_a_killed_session_left_is_restored_before_the_next_begins() {
    let router = Router::new();
    let mut shaper = open(&router, OPENWRT).unwrap();
    shaper.set(rates(9_000_000, 4_000_000)).unwrap();
    let folder = router.options().journal_folder;
    let entry = |ending: &str| {
        let mut files = std::fs::read_dir(&folder).unwrap().flatten().map(|file| file.path());
        files.find(|path| path.extension().is_some_and(|end| end == ending)).unwrap()
    };
    let (path, text) = (entry("json"), std::fs::read(entry("json")).unwrap());
    drop(shaper);
    for by_command in [true, false] {
        std::fs::write(&path, &text).unwrap();
        router.folder.write("rate.eth9", "1000000\n");
        if by_command {
            assert_eq!(restore_all(&router.options()).unwrap(), ["root@router: SQM on eth9"]);
        } else {
            let shaper = open(&router, OPENWRT).unwrap();
            assert_eq!(shaper.describe().found, Some(rates(18_000_000, 7_200_000)));
        }
        assert_eq!((router.rates(), entries(&folder)), (found(), 0));
    }
}
