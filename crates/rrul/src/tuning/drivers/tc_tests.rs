//! Real queue disciplines of this kernel, in a namespace of their own. Tests are skipped where that cannot be made.

use std::fs::File;
use std::net::UdpSocket;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use rrul_lab::{Lab, Link};
use rrul_model::units::ByteCount;

use super::super::super::driver::{self, DriverOptions};
use super::super::super::shaper::Shaper;
use super::super::super::test_router::{Folder, entries, skipped, wait_until};
use super::*;

/// Two devices of which each is the other's end. The first has htb as simple.qos sets it up, the other one tbf.
const SET_UP: &str = "
ip link add v0 type veth peer name v1 && ip link set v0 up && ip link set v1 up && ip addr add 10.77.9.1/24 dev v0 &&
ip neigh add 10.77.9.2 lladdr 02:00:00:00:00:09 dev v0 &&
tc qdisc add dev v0 root handle 1: htb default 12 &&
tc class add dev v0 parent 1: classid 1:1 htb rate 7200kbit overhead 22 mpu 64 &&
tc class add dev v0 parent 1:1 classid 1:11 htb rate 2400kbit ceil 7200kbit prio 1 burst 2000 &&
tc class add dev v0 parent 1:1 classid 1:12 htb rate 4800kbit ceil 7200kbit prio 2 quantum 1514 &&
tc qdisc add dev v0 parent 1:12 handle 120: pfifo limit 100 &&
tc qdisc add dev v1 root stab overhead 4 linklayer ethernet tbf rate 18123456bit burst 5000 latency 50ms overhead 22 mpu 64";

/// Everything that tc knows of them, without counters.
const SHOW: &str =
    "tc -d class show dev v0; tc -r qdisc show dev v0; tc -r -d qdisc show dev v1; tc -j qdisc show dev v1";

const ADDRESS: &str = "tc:down=v1,up=v0";
const OVER_SSH: &str = "tc:down=v1,up=v0,host=router";

/// The journal of a session that is to be killed: this variable makes this program that session.
const VICTIM: &str = "RRUL_TUNING_VICTIM";

/// The test that is such a session.
const SESSION: &str = "tuning::drivers::tc::tests::victim";

/// The file by which it shows that it has changed the shaper.
const MARK: &str = "changed";

/// With this variable 50 sessions are killed in place of a few, and tests that take a minute run.
const THOROUGH: &str = "RRUL_TUNING_THOROUGH";

fn shell(script: &str) -> String {
    let output = Command::new("sh").arg("-c").arg(script).output().unwrap();
    assert!(output.status.success(), "{script}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn rates(down: u64, up: u64) -> ShaperRates {
    ShaperRates { down: Some(BitRate(down)), up: Some(BitRate(up)) }
}

/// Runs this in a namespace with both shapers; not at all where there can be none, and then says so.
fn with_shapers(test: &str, work: impl FnOnce(&Folder) + Send + 'static) {
    if !rrul_lab::lab_available_for(test) {
        return;
    }
    if Command::new("tc").arg("-V").output().is_err() {
        skipped(test, "tc is not installed; install iproute2");
        return;
    }
    let lab = Lab::up(&Link::builtin("cable_20_8_pfifo").unwrap(), 1).unwrap();
    let inside = move || {
        shell(SET_UP);
        work(&Folder::new());
    };
    lab.client().run(inside).unwrap();
}

fn options(folder: &Path) -> DriverOptions {
    DriverOptions { journal_folder: folder.join("journal"), ..DriverOptions::default() }
}

fn open(folder: &Folder) -> Box<dyn Shaper> {
    driver::open(&ADDRESS.parse().unwrap(), &options(&folder.0)).unwrap()
}

#[test]
fn htb_and_tbf_are_set_live_and_restored_to_the_last_byte() {
    with_shapers("htb_and_tbf_are_set_live_and_restored_to_the_last_byte", |folder| {
        let before = shell(SHOW);
        let mut shaper = open(folder);
        let description = shaper.describe().clone();
        assert_eq!(description.found, Some(rates(18_123_456, 7_200_000)));
        assert_eq!(description.target, "this host: down v1, up v0");
        assert_eq!(description.up_discipline.as_deref(), Some("htb with pfifo, classes 33.3-100.0 66.7-100.0 %"));
        assert_eq!(description.up_link_layer.as_deref(), Some("ip+36"));
        assert_eq!(description.down_link_layer.as_deref(), Some("ip+40"), "with 4 bytes of its size table");
        for wanted in [rates(5_000_000, 3_600_000), ShaperRates::UNSHAPED, rates(20_000_000, 14_400_000)] {
            shaper.set(wanted).unwrap();
            assert_eq!(shaper.read().unwrap().rates, Some(wanted));
        }
        let shown = shell("tc -d class show dev v0");
        assert!(shown.contains("rate 4800Kbit ceil 14400Kbit"), "1:11 is scaled as well: {shown}");
        assert_ne!(shell(SHOW), before);
        shaper.restore().unwrap();
        assert_eq!(shell(SHOW), before);
    });
}

#[test]
fn a_rate_above_a_gigabit_is_in_force_though_tc_shows_whole_megabits() {
    with_shapers("a_rate_above_a_gigabit_is_in_force_though_tc_shows_whole_megabits", |folder| {
        let before = shell(SHOW);
        let mut shaper = open(folder);
        shaper.set(rates(1_234_567_890, 1_234_567_890)).unwrap();
        let shown = shell("tc class show dev v0");
        assert!(shown.contains("class htb 1:1 root rate 1234Mbit"), "{shown}");
        shaper.restore().unwrap();
        assert_eq!(shell(SHOW), before);
    });
}

#[test]
fn a_rate_is_the_same_to_the_last_place_that_tc_shows() {
    for (set, read, same) in [
        (7_123_456, 7_123_000, true),
        (7_123_456, 7_122_000, false),
        (999_999_999, 999_999_000, true),
        (999_999_999, 999_000_000, false),
        (1_234_567_890, 1_234_000_000, true),
        (1_234_567_890, 1_233_000_000, false),
    ] {
        assert_eq!(is_same(BitRate(set), BitRate(read)), same, "{set} reads {read}");
    }
}

#[test]
fn counters_are_in_the_bytes_that_the_shaper_counts() {
    with_shapers("counters_are_in_the_bytes_that_the_shaper_counts", |folder| {
        let mut shaper = open(folder);
        let mut up = || shaper.counters().unwrap().unwrap().up.unwrap();
        let socket = UdpSocket::bind("10.77.9.1:0").unwrap();
        let before = up();
        for _ in 0..50 {
            socket.send_to(&[0; 500], "10.77.9.2:9").unwrap();
        }
        let sent = wait_until("sent", Duration::from_secs(10), || {
            up().backlog == ByteCount(0) && up().packets >= before.packets + 50
        });
        eprintln!("sent within {sent:?}");
        let after = up();
        // IPv6 may send its own beside it.
        let packets = after.packets - before.packets;
        assert!((50..60).contains(&packets), "{packets} packets");
        // UDP, IP, Ethernet and the 22 bytes that were set.
        let bytes = after.sent.0 - before.sent.0;
        let own = 50 * (500 + 8 + 20 + 14 + 22);
        assert!((own..own + 10 * 200).contains(&bytes), "{bytes} of {own} bytes");
        assert_eq!((after.dropped, after.backlog), (0, ByteCount(0)));
    });
}

#[test]
fn a_shaper_that_someone_else_has_set_up_anew_is_left_alone() {
    with_shapers("a_shaper_that_someone_else_has_set_up_anew_is_left_alone", |folder| {
        let mut shaper = open(folder);
        shaper.set(rates(5_000_000, 3_600_000)).unwrap();
        shell("tc qdisc del dev v1 root; tc qdisc add dev v1 root handle 77: tbf rate 1mbit burst 5000 latency 50ms");
        let said = shaper.set(rates(6_000_000, 3_600_000)).unwrap_err().to_string();
        assert!(said.contains("failed"), "{said}");
        shaper.restore().unwrap();
        assert!(shell("tc qdisc show dev v1").contains("tbf 77: root refcnt 3 rate 1Mbit"));
        assert!(shell("tc class show dev v0").contains("1:1 root rate 7200Kbit"), "the other one is restored");
    });
}

#[test]
fn a_shaper_that_cannot_be_looked_at_is_not_said_to_be_restored() {
    with_shapers("a_shaper_that_cannot_be_looked_at_is_not_said_to_be_restored", |folder| {
        let shaper = TcShaper::find(Host::here(), Some("v1"), Some("v0")).unwrap();
        let script = shaper.restoration().script;
        let first = folder.0.join("first");
        std::fs::create_dir(&first).unwrap();
        // As on a host without memory for another process.
        for program in ["cat", "tc"] {
            let file = first.join(program);
            shell(&format!("printf '#!/bin/sh\nexit 126\n' >{0} && chmod +x {0}", file.display()));
            let script = format!("PATH={}:$PATH; {script}", first.display());
            let status = Command::new("sh").arg("-c").arg(&script).status().unwrap();
            assert!(!status.success(), "without {program}: {script}");
            std::fs::remove_file(file).unwrap();
        }
        shell(&script);
        // Gone, as the interface of a line that dials in anew: nothing is left to restore.
        shell("ip link del v1");
        shell(&script);
    });
}

#[test]
fn a_dry_run_sets_no_queue_discipline() {
    with_shapers("a_dry_run_sets_no_queue_discipline", |folder| {
        let before = shell(SHOW);
        let options = DriverOptions { dry_run: true, ..options(&folder.0) };
        let mut shaper = driver::open(&ADDRESS.parse().unwrap(), &options).unwrap();
        shaper.set(rates(5_000_000, 3_600_000)).unwrap();
        shaper.restore().unwrap();
        drop(shaper);
        assert_eq!((shell(SHOW), folder.0.join("journal").exists()), (before, false));
    });
}

#[test]
fn without_room_for_the_journal_nothing_is_changed() {
    with_shapers("without_room_for_the_journal_nothing_is_changed", |folder| {
        let before = shell(SHOW);
        let mut shaper = open(folder);
        // A folder at the place of the new entry is refused as a full disk is.
        let journal = folder.0.join("journal");
        let name = std::fs::read_dir(&journal).unwrap().flatten().next().unwrap().path().with_extension("new");
        std::fs::create_dir(&name).unwrap();
        let error = shaper.set(rates(5_000_000, 3_600_000)).unwrap_err();
        assert!(matches!(error, ShaperError::Journal { .. }), "{error}");
        assert_eq!((shell(SHOW), entries(&journal)), (before, 0));
    });
}

#[test]
fn on_a_full_disk_nothing_is_changed() {
    let test = "on_a_full_disk_nothing_is_changed";
    let trial = Command::new("unshare").args(["-m", "true"]).output();
    if !trial.is_ok_and(|trial| trial.status.success()) {
        return skipped(test, "no disk can be mounted: unshare -m fails");
    }
    with_shapers(test, |folder| {
        let before = shell(SHOW);
        let program = std::env::current_exe().unwrap();
        let script = "mkdir \"$0/journal\" && mount -t tmpfs -o size=4k tmpfs \"$0/journal\" &&
            { cat /dev/zero >\"$0/journal/full\" 2>/dev/null; exec \"$1\" --exact \"$2\"; }";
        let mut command = Command::new("unshare");
        command.args(["-m", "sh", "-c", script]).arg(&folder.0).arg(program).arg(SESSION).env(VICTIM, &folder.0);
        let output = command.output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.contains("No space left on device"), "{output:?}");
        assert_eq!(shell(SHOW), before);
    });
}

/// A session in a process of its own, which sets one rate after another until it is killed.
#[test]
fn victim() {
    let Some(folder) = std::env::var_os(VICTIM) else { return };
    let (address, options) = session(Path::new(&folder));
    let mut shaper = driver::open(&address.parse().unwrap(), &options).unwrap();
    for step in 0_u64.. {
        shaper.set(rates(1_000_000 * (1 + step % 9), 1_000_000 * (1 + step % 7))).unwrap();
        std::fs::write(Path::new(&folder).join(MARK), "").unwrap();
    }
}

/// By ssh where this folder has keys for it.
fn session(folder: &Path) -> (&'static str, DriverOptions) {
    let ssh = folder.join("ssh");
    if !ssh.exists() {
        return (ADDRESS, options(folder));
    }
    (OVER_SSH, DriverOptions { ssh: ssh.to_string_lossy().into_owned(), ..options(folder) })
}

/// From when on a session is killed.
#[derive(PartialEq)]
enum From {
    Start,
    FirstChange,
}

/// Kills so many sessions, one after another, each at another time.
fn kill_sessions(folder: &Folder, kills: u64, from: &From) {
    let before = shell(SHOW);
    let mut changed = 0;
    let mut longest = Duration::ZERO;
    for kill in 0..kills {
        // What is started in the background by a shell ignores the signals that a terminal sends, and so would the session.
        let mut command = Command::new("env");
        command.arg("--default-signal=INT,TERM").arg(std::env::current_exe().unwrap());
        let words = folder.0.join("words");
        command.args(["--exact", SESSION]).env(VICTIM, &folder.0).stdin(Stdio::null()).stderr(Stdio::null());
        let mut victim = command.stdout(File::create(&words).unwrap()).process_group(0).spawn().unwrap();
        if *from == From::FirstChange {
            wait_until("changed", Duration::from_mins(1), || {
                let ended = victim.try_wait().unwrap();
                assert!(
                    ended.is_none(),
                    "it ended before it changed anything: {}",
                    std::fs::read_to_string(&words).unwrap()
                );
                folder.0.join(MARK).exists()
            });
        }
        // A fixed stride that hits every phase.
        std::thread::sleep(Duration::from_millis(20 + (kill * 137) % 600));
        // With all of its process group, as Ctrl-C does.
        let (name, number) = [("KILL", 9), ("INT", 2), ("TERM", 15)][(kill % 3) as usize];
        shell(&format!("kill -s {name} -- -{}", victim.id()));
        assert_eq!(victim.wait().unwrap().signal(), Some(number), "it ended before it was killed");
        changed += u64::from(std::fs::remove_file(folder.0.join(MARK)).is_ok());
        longest = longest.max(wait_until("restored", Duration::from_mins(1), || shell(SHOW) == before));
        // The last `tc` of a killed session may still be at work; its guard restores what that changes. Killed between its journal and
        // its first change, a session leaves an entry and nothing to restore.
        wait_until("left alone", Duration::from_mins(1), || {
            let restored = driver::restore_all(&session(&folder.0).1).is_ok();
            restored && entries(&folder.0.join("journal")) == 0 && shell(SHOW) == before
        });
    }
    eprintln!("{changed} of {kills} sessions were killed while the shaper was changed; restored within {longest:?}");
    assert!(*from == From::Start || changed == kills, "{changed} of {kills}");
}

fn thorough() -> bool {
    std::env::var_os(THOROUGH).is_some()
}

#[test]
fn a_session_that_is_killed_at_any_time_leaves_the_shaper_as_it_found_it() {
    with_shapers("a_session_that_is_killed_at_any_time_leaves_the_shaper_as_it_found_it", |folder| {
        kill_sessions(folder, if thorough() { 50 } else { 3 }, &From::Start);
    });
}

/// The first change of a session takes a second, as on a host that is busy. Before it the session tries to restore.
const SLOW_TC: &str = "#!/bin/sh
real=$(PATH=${PATH#*:} command -v tc)
if [ \"$2\" = change ] && ls \"$RRUL_TUNING_VICTIM/journal/\"*.json && mkdir \"$RRUL_TUNING_VICTIM/begun\"; then sleep 1; fi >/dev/null 2>&1
exec \"$real\" \"$@\"
";

#[test]
fn what_a_killed_session_had_begun_to_change_is_restored_too() {
    with_shapers("what_a_killed_session_had_begun_to_change_is_restored_too", |folder| {
        let before = shell(SHOW);
        let first = folder.0.join("first");
        shell(&format!("mkdir {0} && printf '%s' '{SLOW_TC}' >{0}/tc && chmod +x {0}/tc", first.display()));
        let path = format!("{}:{}", first.display(), std::env::var("PATH").unwrap());
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", SESSION]).env(VICTIM, &folder.0).env("PATH", path).stdin(Stdio::null());
        let mut victim = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        wait_until("begun", Duration::from_mins(1), || folder.0.join("begun").exists());
        victim.kill().unwrap();
        victim.wait().unwrap();
        wait_until("changed after its end", Duration::from_secs(10), || shell(SHOW) != before);
        wait_until("restored", Duration::from_mins(1), || shell(SHOW) == before);
        wait_until("nothing left", Duration::from_mins(1), || entries(&folder.0.join("journal")) == 0);
        assert_eq!(shell(SHOW), before);
    });
}

#[test]
fn a_session_over_ssh_that_is_killed_leaves_the_shaper_as_it_found_it() {
    with_server("a_session_over_ssh_that_is_killed_leaves_the_shaper_as_it_found_it", |folder| {
        kill_sessions(folder, if thorough() { 50 } else { 2 }, &From::FirstChange);
    });
}

/// A user and a server of ssh with keys of their own, on the loopback interface of this namespace. The server goes into the
/// background before it listens.
const SERVE: &str = "
ip link set lo up && mkdir -p /run/sshd && ssh-keygen -q -t ed25519 -N '' -f host && ssh-keygen -q -t ed25519 -N '' -f user &&
cp user.pub authorized && cat >server.conf <<END
ListenAddress 127.0.0.1:2222
HostKey $PWD/host
AuthorizedKeysFile $PWD/authorized
PidFile $PWD/server.pid
StrictModes no
UsePAM no
PermitRootLogin yes
SetEnv XDG_RUNTIME_DIR=$PWD
END
cat >client.conf <<END
Host router
HostName 127.0.0.1
Port 2222
User $(id -un)
IdentityFile $PWD/user
StrictHostKeyChecking no
UserKnownHostsFile $PWD/known
LogLevel ERROR
END
printf '#!/bin/sh\nexec ssh -F %s/client.conf \"$@\"\n' $PWD >ssh && chmod +x ssh &&
$(command -v sshd || echo /usr/sbin/sshd) -f server.conf -E server.log &&
for attempt in $(seq 50); do ./ssh -o BatchMode=yes router true 2>refused && exit; sleep 0.1; done
cat refused >&2; exit 1";

/// The processes of the server that serve a connection.
const END_SESSIONS: &str = "for p in $(pgrep -P $(cat server.pid)); do kill -9 $p; done";

/// Ends the server of ssh in a folder, whatever became of the test.
struct Served<'a>(&'a Folder);

impl Drop for Served<'_> {
    fn drop(&mut self) {
        let _ = Command::new("sh").args(["-c", "kill $(cat server.pid)"]).current_dir(&self.0.0).output();
    }
}

/// Runs this beside a server of ssh.
fn with_server(test: &'static str, work: impl FnOnce(&Folder) + Send + 'static) {
    with_shapers(test, move |folder| {
        let _served = Served(folder);
        let served = Command::new("sh").arg("-c").arg(SERVE).current_dir(&folder.0).output().unwrap();
        if !served.status.success() {
            let reason = String::from_utf8_lossy(&served.stderr).trim().to_owned();
            skipped(test, &format!("no server of ssh can be started: {reason}"));
            return;
        }
        work(folder);
    });
}

/// The same with a shaper that is reached by it.
fn with_ssh(test: &'static str, work: impl FnOnce(&Folder, &mut dyn Shaper) + Send + 'static) {
    with_server(test, |folder| {
        let (address, options) = session(&folder.0);
        let mut shaper = driver::open(&address.parse().unwrap(), &options).unwrap();
        work(folder, shaper.as_mut());
    });
}

fn inside(folder: &Folder, script: &str) -> String {
    shell(&format!("cd {} && {script}", folder.0.display()))
}

#[test]
fn a_shaper_is_set_and_restored_over_ssh() {
    with_ssh("a_shaper_is_set_and_restored_over_ssh", |folder, shaper| {
        let before = shell(SHOW);
        assert_eq!(shaper.describe().target, "router: down v1, up v0");
        for wanted in [rates(5_000_000, 3_600_000), ShaperRates::UNSHAPED, rates(20_000_000, 14_400_000)] {
            shaper.set(wanted).unwrap();
            assert_eq!(shaper.read().unwrap().rates, Some(wanted));
        }
        assert!(shaper.counters().unwrap().is_some_and(|counters| counters.up.is_some()));
        shaper.restore().unwrap();
        assert_eq!((shell(SHOW), entries(&folder.0.join("journal"))), (before, 0));
    });
}

#[test]
fn a_shaper_is_restored_when_its_host_ends_the_connection() {
    with_ssh("a_shaper_is_restored_when_its_host_ends_the_connection", |folder, shaper| {
        let before = shell(SHOW);
        shaper.set(rates(5_000_000, 3_600_000)).unwrap();
        inside(folder, END_SESSIONS);
        wait_until("restored", Duration::from_secs(10), || shell(SHOW) == before);
        let lost = shaper.set(rates(6_000_000, 3_600_000)).unwrap_err();
        assert!(matches!(lost, ShaperError::Lost { .. }), "{lost}");
        assert_eq!(shell(SHOW), before);
        shaper.restore().unwrap();
        assert_eq!((shell(SHOW), entries(&folder.0.join("journal"))), (before, 0));
    });
}

#[test]
fn a_shaper_is_restored_when_its_host_hears_nothing_any_more() {
    if !thorough() {
        return;
    }
    with_ssh("a_shaper_is_restored_when_its_host_hears_nothing_any_more", |folder, shaper| {
        let before = shell(SHOW);
        shaper.set(rates(5_000_000, 3_600_000)).unwrap();
        shell(
            "nft add table inet t && nft add chain inet t c '{ type filter hook input priority 0; }' && \
               nft add rule inet t c tcp dport 2222 drop && nft add rule inet t c tcp sport 2222 drop",
        );
        let took = wait_until("restored", Duration::from_mins(1), || shell(SHOW) == before);
        eprintln!("restored {took:?} after the last packet");
        assert!(shaper.restore().is_err());
        assert_eq!(entries(&folder.0.join("journal")), 1);
        shell("nft delete table inet t");
    });
}
