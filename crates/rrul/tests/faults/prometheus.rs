//! What Prometheus itself says about the metrics of a monitor, and about the alerts and the dashboard that are shipped.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::lab::on_own_host;
use crate::program::{Folder, Running, Server, rrul, skipped, wait_until};

/// Alerts and dashboard.
const SHIPPED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/monitor");

/// Whether this program is there; where it is not, the test is noted as skipped.
fn is_there(program: &str, test: &str) -> bool {
    let there = Command::new(program).arg("--version").output().is_ok();
    if !there {
        skipped(test, &format!("no {program} in the path"));
    }
    there
}

#[test]
fn the_alerts_that_are_shipped_fire_when_they_should() {
    if !is_there("promtool", "the_alerts_that_are_shipped_fire_when_they_should") {
        return;
    }
    for words in [["check", "rules", "alerts.yml"], ["test", "rules", "alerts.test.yml"]] {
        let said = Command::new("promtool").args(words).current_dir(SHIPPED).output().unwrap();
        assert!(said.status.success(), "{words:?}: {said:?}");
    }
}

/// A port that nothing listens at.
fn free_port() -> u16 {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port()
}

/// The body of a page; `None` while nothing answers.
fn page(port: u16, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).ok()?;
    write!(stream, "GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n").ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    Some(text.split_once("\r\n\r\n")?.1.to_owned())
}

/// What Prometheus at this port answers.
fn answer(port: u16, path: &str) -> Option<Value> {
    serde_json::from_str(&page(port, path)?).ok()
}

/// The series that a query finds now.
fn found(port: u16, query: &str) -> Vec<Value> {
    let escaped: String = query
        .bytes()
        .map(
            |octet| if octet.is_ascii_alphanumeric() { char::from(octet).to_string() } else { format!("%{octet:02X}") },
        )
        .collect();
    let answer = answer(port, &format!("/api/v1/query?query={escaped}")).unwrap_or_default();
    assert_ne!(answer["status"], "error", "{query}: {answer}");
    answer["data"]["result"].as_array().cloned().unwrap_or_default()
}

/// Every query of the dashboard, for a target.
fn queries(target: &str) -> Vec<String> {
    let dashboard = std::fs::read_to_string(format!("{SHIPPED}/dashboard.json")).unwrap();
    let dashboard: Value = serde_json::from_str(&dashboard).unwrap();
    let panels = dashboard["panels"].as_array().unwrap().iter();
    let queries = panels.flat_map(|panel| panel["targets"].as_array().unwrap());
    let text = queries.map(|query| query["expr"].as_str().unwrap());
    text.map(|text| text.replace("$target", target).replace("$__rate_interval", "10s")).collect()
}

/// Whether every metric that a query names has a sample in what a monitor shows.
fn has_samples(query: &str, metrics: &str) -> bool {
    let words = query.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let mut names = words.filter(|word| word.starts_with("rrul_"));
    names.all(|name| metrics.lines().any(|line| line.strip_prefix(name).is_some_and(|rest| rest.starts_with('{'))))
}

#[test]
fn prometheus_scrapes_a_monitor_and_answers_what_the_dashboard_asks() {
    let test = "prometheus_scrapes_a_monitor_and_answers_what_the_dashboard_asks";
    if !is_there("prometheus", test) || !is_there("promtool", test) {
        return;
    }
    on_own_host(test, || {
        let server = Server::start(&[]);
        let folder = Folder::with_plan();
        let (shown, own) = (free_port(), free_port());
        folder.write(
            "m.toml",
            format!(
                "server = \"{}\"\nbudget = \"none\"\nfamily = \"4\"\n[runs]\nplan = \"short.toml\"\n\
             [metrics]\nlisten = \"127.0.0.1:{shown}\"\n[cross_traffic]\nlimit = \"100Gbit/s\"\nover = \"1s\"\n",
                server.name()
            ),
        );
        folder.write(
            "prometheus.yml",
            format!(
                "global: {{ scrape_interval: 1s, evaluation_interval: 1s }}\nrule_files: [\"{SHIPPED}/alerts.yml\"]\n\
             scrape_configs: [{{ job_name: rrul, static_configs: [{{ targets: [\"127.0.0.1:{shown}\"] }}] }}]\n"
            ),
        );
        let _monitor = Running::start(rrul(&folder, &["monitor", "m.toml"]));
        let mut command = Command::new("prometheus");
        command.args(["--config.file=prometheus.yml", "--storage.tsdb.path=data", "--log.level=warn"]);
        command.arg(format!("--web.listen-address=127.0.0.1:{own}")).current_dir(folder.path());
        let _prometheus = Running::start(command);

        wait_until("a full test in Prometheus", || {
            !found(own, "rrul_run_valid{target=\"m\"} and on (instance) up == 1").is_empty()
        });
        // Light probes count after the full test alone, and are reported later than its result.
        let mut metrics = String::new();
        wait_until("light probes in the metrics", || {
            metrics = page(shown, "/metrics").unwrap_or_default();
            has_samples("rrul_probe_packets_total", &metrics)
        });
        let mut check = Command::new("promtool")
            .args(["check", "metrics"])
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        check.stdin.take().unwrap().write_all(metrics.as_bytes()).unwrap();
        let said = check.wait_with_output().unwrap();
        assert!(said.status.success(), "{}{metrics}", String::from_utf8_lossy(&said.stderr));

        let mut answered = 0;
        for query in queries("m") {
            // The test loads no page.
            if has_samples(&query, &metrics) && !query.contains("score=\"web\"") {
                wait_until(&query, || !found(own, &query).is_empty());
                answered += 1;
            } else {
                found(own, &query);
            }
        }
        assert!(answered >= 9, "{answered} queries of the dashboard have an answer:\n{metrics}");

        // Between the first two scrapes no probe may have been counted: that alone makes an alert pending, never firing.
        wait_until("every alert inactive", || {
            let rules = answer(own, "/api/v1/rules").unwrap();
            let rules = rules["data"]["groups"][0]["rules"].as_array().unwrap();
            assert!(rules.len() >= 6 && rules.iter().all(|rule| rule["health"] == "ok"), "{rules:?}");
            assert!(rules.iter().all(|rule| rule["state"] != "firing"), "{rules:?}");
            rules.iter().all(|rule| rule["state"] == "inactive")
        });
    });
}
