//! Pages in a real browser where things go wrong: pages that are unavailable, sites that never come to an end, browsers that
//! crash, hang or are missing. These need Chromium, and are skipped aloud without it.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use rrul_model::observation::{FlowEventKind, ObservationPoint, PageLoad, WebObject};
use rrul_model::recording::Recording;

use crate::program::{Folder, Running, Server, end_of, rrul, signal, skipped, wait_until};
use crate::verdict::{Verdict, recording};

/// Whether a browser is installed for `test`; otherwise prints that it is skipped.
fn browser_for(test: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"];
    let found = std::env::split_paths(&path).any(|folder| names.iter().any(|name| folder.join(name).is_file()));
    if !found {
        skipped(test, "no Chromium on the PATH");
    }
    found
}

/// A site on a free port of 127.0.0.1 that does wrong whatever a site can; serves as long as the test runs.
struct WrongSite {
    port: u16,
    trickling: Arc<AtomicUsize>,
}

impl WrongSite {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let site = Self { port: listener.local_addr().unwrap().port(), trickling: Arc::default() };
        let trickling = Arc::clone(&site.trickling);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let trickling = Arc::clone(&trickling);
                // Browsers that are killed break their connections.
                thread::spawn(move || drop(answer(&stream, &trickling)));
            }
        });
        site
    }

    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}/{path}", self.port)
    }

    /// Waits until so many loads of `/trickle` have begun.
    fn wait_for_trickle(&self, loads: usize) {
        wait_until("a load of the page that never ends", || self.trickling.load(Ordering::Relaxed) >= loads);
    }
}

/// Answers one request, and closes.
fn answer(mut stream: &TcpStream, trickling: &AtomicUsize) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream).lines();
    let request = lines.next().ok_or(std::io::ErrorKind::UnexpectedEof)??;
    while lines.next().transpose()?.is_some_and(|line| !line.is_empty()) {}
    let path = request.split(' ').nth(1).unwrap_or_default().trim_start_matches('/');
    let (name, number) = path.split_once('-').unwrap_or((path, "0"));
    let next = format!("/{name}-{}", number.parse::<u32>().unwrap_or(0) + 1);
    let html = |status: &str, body: &str| {
        let length = body.len();
        format!(
            "HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        )
    };
    let text = match name {
        "page" => {
            html("200 OK", "<!doctype html><title>a</title><h1>A page</h1><img src=image><link rel=icon href=data:,>")
        }
        "image" => html("200 OK", "0123456789"),
        "redirect" => {
            format!("HTTP/1.1 302 Found\r\nLocation: {next}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        }
        "script" => html("200 OK", &format!("<!doctype html><script>location.href='{next}'</script>")),
        "trickle" => {
            stream
                .write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n<!doctype html>")?;
            trickling.fetch_add(1, Ordering::Relaxed);
            loop {
                stream.write_all(b"x")?;
                thread::sleep(Duration::from_millis(100));
            }
        }
        _ => html("404 Not Found", "<!doctype html><title>no</title>not here<link rel=icon href=data:,>"),
    };
    stream.write_all(text.as_bytes())
}

/// A plan of so many idle seconds with these lines.
fn plan(seconds: u32, flows: &str) -> String {
    format!(
        "title = \"pages\"\nphases = {{ idle = \"{seconds}s\" }}\n\
         [flow.probe]\ntype = \"udp_probe\"\ncomponent = \"realtime\"\n{flows}"
    )
}

/// A `[flow.NAME]` that loads this address.
fn flow(name: &str, url: &str, more: &str) -> String {
    format!("[flow.{name}]\ntype = \"browser_page\"\ncomponent = \"web\"\nurl = \"{url}\"\n{more}\n")
}

/// `rrul run` of this plan, recorded to `out.rrul`.
fn run(folder: &Folder, server: &Server, plan: &str) -> Running {
    folder.write("pages.toml", plan);
    Running::start(rrul(folder, &["run", &server.name(), "--plan", "pages.toml", "-o", "out"]))
}

fn loads(recording: &Recording) -> Vec<PageLoad> {
    recording.tables_of(ObservationPoint::Client).flat_map(|tables| tables.page_load.rows()).collect()
}

/// What was said of failed loads.
fn reasons(recording: &Recording) -> Vec<String> {
    let events = recording.events().filter(|(_, event)| event.event == FlowEventKind::LoadFailed);
    events.map(|(_, event)| event.detail.clone()).collect()
}

/// Which processes of a browser.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Which {
    First,
    /// Those that hang when a browser does.
    Group,
    All,
}

/// The processes of browsers that this process has started.
fn browsers(process: u32, which: Which) -> Vec<u32> {
    let folder = format!("rrul-browser-{process}-");
    let of = |entry: fs::DirEntry| {
        let process: u32 = entry.file_name().to_str()?.parse().ok()?;
        let arguments = fs::read(entry.path().join("cmdline")).ok()?;
        let arguments = String::from_utf8_lossy(&arguments);
        let wanted = match which {
            Which::First => !arguments.contains("--type=") && arguments.contains("--remote-debugging-pipe"),
            Which::Group => !arguments.contains("crashpad_handler"),
            Which::All => true,
        };
        (arguments.contains(&folder) && wanted).then_some(process)
    };
    fs::read_dir("/proc").unwrap().flatten().filter_map(of).collect()
}

/// The folders of browsers that this process has started.
fn folders(process: u32) -> Vec<String> {
    let names = fs::read_dir(std::env::temp_dir()).unwrap().flatten();
    let names = names.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| name.starts_with(&format!("rrul-browser-{process}-"))).collect()
}

fn assert_nothing_is_left(process: u32) {
    assert_eq!((browsers(process, Which::All), folders(process)), (Vec::new(), Vec::new()));
}

#[test]
fn pages_that_are_unavailable_or_never_end_are_reported_one_by_one() {
    if !browser_for("pages_that_cannot_be_had_or_never_end_are_told_one_by_one") {
        return;
    }
    let (folder, server, site) = (Folder::new(), Server::start(&[]), WrongSite::start());
    // A port that was free a moment ago.
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let urls = [
        site.url("page"),
        site.url("missing"),
        site.url("redirect"),
        site.url("script"),
        site.url("trickle"),
        format!("http://127.0.0.1:{closed}/"),
        "http://no-such-name.invalid/".to_owned(),
    ];
    // Seven flows take turns, every six seconds: on a busy machine a browser takes more than three to start.
    let flows: String =
        (0..).zip(&urls).map(|(n, url)| flow(&format!("f{n}"), url, "interval = \"42s\"\ncap = \"1500ms\"")).collect();
    let running = run(&folder, &server, &plan(45, &flows));
    let process = running.process();
    let ended = running.end();
    let recording = recording(&folder.file("out.rrul"));
    let mut loads = loads(&recording);
    loads.sort_by_key(|load| load.flow);
    let outcomes: Vec<u8> = loads.iter().map(|load| load.outcome).collect();
    let said = reasons(&recording);
    assert_eq!(outcomes.len(), urls.len(), "a browser took the time of the next: {said:?} {ended:#?}");
    let (failed, capped) = (PageLoad::FAILED, PageLoad::CAPPED);
    assert_eq!(outcomes[..6], [PageLoad::COMPLETE, failed, failed, capped, capped, failed], "{said:?} {ended:#?}");
    // A resolver may take longer than the cap to report that no such name exists.
    assert!(outcomes[6] == failed || outcomes[6] == capped, "{outcomes:?}");
    for reason in ["HTTP status 404", "net::ERR_TOO_MANY_REDIRECTS", "net::ERR_CONNECTION_REFUSED"] {
        assert!(said.contains(&format!("0 {reason}")), "{reason}: {said:?}");
    }
    for load in loads.iter().filter(|load| load.outcome == capped) {
        assert!((1_500_000_000..2_500_000_000).contains(&load.took.0), "capped after {}", load.took);
    }
    let client = || recording.tables_of(ObservationPoint::Client);
    let objects = |flow| {
        let rows = client().flat_map(|tables| tables.web_object.rows()).filter(move |row| row.flow == flow);
        rows.map(|row| (row.outcome, row.status, row.octets.0)).collect::<Vec<_>>()
    };
    assert_eq!(objects(loads[0].flow)[1], (WebObject::COMPLETE, 200, 10));
    assert_eq!(objects(loads[1].flow)[0].1, 404);
    assert!(objects(loads[2].flow).len() >= 10, "every redirect is an object");
    assert_eq!(objects(loads[4].flow)[0].0, WebObject::INCOMPLETE);
    let timing =
        client().flat_map(|tables| tables.browser_timing.rows()).find(|row| row.flow == loads[0].flow).unwrap();
    let order = [timing.first_byte, timing.commit, timing.dom_content_loaded, timing.load_event];
    assert!(order.is_sorted() && order[0].0 > 0 && timing.first_contentful_paint.0 > 0, "{timing:?}");
    assert!(timing.load_event <= loads[0].took, "{timing:?} {:?}", loads[0]);
    let verdict = Verdict::of(&folder.file("out.rrul"));
    assert_eq!((verdict.reason("flow_failed"), verdict.reason("flow_absent")), (None, None));
    assert_nothing_is_left(process);
}

#[test]
fn a_browser_that_crashes_or_hangs_breaks_one_load_and_the_next_has_a_new_one() {
    if !browser_for("a_browser_that_crashes_or_hangs_breaks_one_load_and_the_next_has_a_new_one") {
        return;
    }
    let (folder, server, site) = (Folder::new(), Server::start(&[]), WrongSite::start());
    let more = "interval = \"6s\"\ncap = \"3s\"";
    let running = run(&folder, &server, &plan(25, &flow("endless", &site.url("trickle"), more)));
    let process = running.process();
    let browser = || {
        let found = browsers(process, Which::First);
        assert_eq!(found.len(), 1, "one browser at a time");
        found[0]
    };
    site.wait_for_trickle(1);
    signal(browser(), "KILL");
    site.wait_for_trickle(2);
    for member in browsers(process, Which::All) {
        signal(member, "STOP");
    }
    site.wait_for_trickle(3);
    let ended = running.end();
    let recording = recording(&folder.file("out.rrul"));
    let outcomes: Vec<u8> = loads(&recording).iter().map(|load| load.outcome).collect();
    let said = reasons(&recording);
    assert_eq!(outcomes, [PageLoad::BROKEN, PageLoad::BROKEN, PageLoad::CAPPED], "{said:?} {ended:#?}");
    assert!(said[0].starts_with("0 the browser has ended: signal: 9"), "{said:?}");
    assert!(said[1].starts_with("1 the browser hangs"), "{said:?}");
    assert_eq!(Verdict::of(&folder.file("out.rrul")).reason("flow_failed"), None);
    assert_nothing_is_left(process);
}

#[test]
fn no_browser_outlives_the_program_that_started_it() {
    if !browser_for("no_browser_outlives_the_program_that_started_it") {
        return;
    }
    let (folder, server, site) = (Folder::new(), Server::start(&[]), WrongSite::start());
    let plan = plan(20, &flow("endless", &site.url("trickle"), ""));
    let running = run(&folder, &server, &plan);
    let process = running.process();
    site.wait_for_trickle(1);
    running.signal("INT");
    let ended = running.end();
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    assert_nothing_is_left(process);
    let loads = loads(&recording(&folder.file("out.rrul")));
    assert_eq!(loads.iter().map(|load| load.outcome).collect::<Vec<_>>(), [PageLoad::CUT]);

    let folder = Folder::new();
    let running = run(&folder, &server, &plan);
    let process = running.process();
    site.wait_for_trickle(2);
    // Hanging, it does not notice that its peer is gone.
    for member in browsers(process, Which::Group) {
        signal(member, "STOP");
    }
    running.signal("KILL");
    wait_until("the end of the browser", || browsers(process, Which::All).is_empty());
    // What a killed program cannot remove, a later run does.
    for name in folders(process) {
        fs::remove_dir_all(std::env::temp_dir().join(name)).unwrap();
    }
}

#[test]
fn without_a_browser_the_rest_of_the_test_runs_and_is_not_in_doubt() {
    let (folder, server) = (Folder::new(), Server::start(&[]));
    folder.write("pages.toml", plan(3, &flow("site", "http://127.0.0.1:9/", "")));
    let mut command = rrul(&folder, &["run", &server.name(), "--plan", "pages.toml", "-o", "out"]);
    command.env("PATH", folder.path());
    let ended = end_of(command);
    let verdict = Verdict::of(&folder.file("out.rrul"));
    assert_eq!(verdict.doubts(), Vec::<&str>::new(), "{ended:#?}");
    let absent = verdict.reason("flow_absent").unwrap();
    assert!(absent.contains("no browser on the PATH") && absent.contains("apt install chromium"), "{absent}");
    assert!(loads(&recording(&folder.file("out.rrul"))).is_empty());
}

#[test]
fn a_browser_that_cannot_start_is_reported_with_its_last_words_and_given_up() {
    let (folder, server) = (Folder::new(), Server::start(&[]));
    folder.write("browser", "#!/bin/sh\necho 'no display, no luck' >&2\nexit 3\n");
    let mut command = std::process::Command::new("chmod");
    assert!(command.arg("+x").arg(folder.file("browser")).status().unwrap().success());
    let more = format!("interval = \"1s\"\nbrowser = \"{}\"", folder.file("browser").display());
    let running = run(&folder, &server, &plan(8, &flow("site", "http://127.0.0.1:9/", &more)));
    let process = running.process();
    running.end();
    let recording = recording(&folder.file("out.rrul"));
    assert_eq!(loads(&recording).iter().map(|load| load.outcome).collect::<Vec<_>>(), [PageLoad::BROKEN; 3]);
    assert!(reasons(&recording)[0].contains("exit status: 3): no display, no luck"), "{:?}", reasons(&recording));
    let verdict = Verdict::of(&folder.file("out.rrul"));
    assert!(
        verdict.reason("flow_failed").is_some_and(|text| text.contains("given up after 3 loads without a browser"))
    );
    assert_nothing_is_left(process);
}

#[test]
fn a_private_recording_and_the_server_do_not_learn_which_site_was_loaded() {
    if !browser_for("a_private_recording_and_the_server_do_not_learn_which_site_was_loaded") {
        return;
    }
    let (folder, server, site) = (Folder::new(), Server::start(&[]), WrongSite::start());
    folder.write("pages.toml", plan(6, &flow("site", &site.url("page-7hidden"), "")));
    let ended = end_of(rrul(&folder, &["run", &server.name(), "--plan", "pages.toml", "-o", "out", "--private"]));
    let recording = recording(&folder.file("out.rrul"));
    assert_eq!(loads(&recording)[0].outcome, PageLoad::COMPLETE, "{ended:#?}");
    let text = serde_json::to_string(&recording.header).unwrap();
    assert!(!text.contains("7hidden"), "{text}");
    assert!(recording.events().all(|(_, event)| event.event != FlowEventKind::Resource));
    assert!(recording.events().any(|(_, event)| event.event == FlowEventKind::Uses), "its version is no name");
}
