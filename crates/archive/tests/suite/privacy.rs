//! No address and no host name is in any column.

use rrul_analysis::analyze;
use rrul_archive::table::{Row, Value};
use rrul_archive::{Labels, RunRows};
use rrul_model::recording::{Line, Recording};
use serde_json::Value as Json;

use crate::recordings::text;

/// What the texts of a recording are replaced by, in turn; each with a number of its own.
const SECRETS: [fn(usize) -> String; 4] = [
    |n| format!("192.0.2.{}", n % 256),
    |n| format!("2001:db8::{:x}", n % 65_536),
    |n| format!("host{n}.secret.example"),
    |n| format!("secret-laptop-{n}"),
];
/// What of them must not be found.
const MARKS: [&str; 3] = ["192.0.2.", "2001:db8", "secret"];

/// Replaces every text of a line that may be any text: with another one in its place the line still reads.
fn fill(line: &str, next: &mut usize) -> String {
    let mut whole: Json = serde_json::from_str(line).unwrap();
    for pointer in texts(&whole, String::new()) {
        let kept = whole.pointer(&pointer).unwrap().clone();
        // An address may stand where no name may, and the other way round.
        for secret in SECRETS.iter().cycle().skip(*next).take(SECRETS.len()) {
            *whole.pointer_mut(&pointer).unwrap() = Json::String(secret(*next));
            if serde_json::from_value::<Line>(whole.clone()).is_ok() {
                break;
            }
            *whole.pointer_mut(&pointer).unwrap() = kept.clone();
        }
        *next += 1;
    }
    format!("{whole}\n")
}

/// Where texts are, as JSON pointers. Format and time are needed to read the recording at all.
fn texts(value: &Json, at: String) -> Vec<String> {
    let escaped = |name: &str| name.replace('~', "~0").replace('/', "~1");
    match value {
        Json::String(_) if ["/header/format", "/header/created"].contains(&at.as_str()) => Vec::new(),
        Json::String(_) => vec![at],
        Json::Object(members) => {
            members.iter().flat_map(|(name, inner)| texts(inner, format!("{at}/{}", escaped(name)))).collect()
        }
        Json::Array(items) => {
            items.iter().enumerate().flat_map(|(n, inner)| texts(inner, format!("{at}/{n}"))).collect()
        }
        _ => Vec::new(),
    }
}

/// The recording with such a text wherever one can be, and their number.
fn filled(name: &str, flow_types: bool) -> (Recording, usize) {
    let mut next = 0;
    let text: String = text(name)
        .lines()
        .map(|line| {
            let mut line = fill(line, &mut next);
            if line.starts_with("{\"header\"") {
                // What is empty in this recording may contain a name in others.
                let mut header: Json = serde_json::from_str(&line).unwrap();
                let entry = &mut header["header"];
                entry["absent_families"] =
                    serde_json::json!([{ "family": "ipv6", "reason": "no route to 2001:db8::7" }]);
                entry["server_addresses"] = serde_json::json!(["192.0.2.9"]);
                entry["title"] = "secret title at 192.0.2.8".into();
                entry["client"]["settings"]["net.ipv4.tcp_congestion_control"] = "secret-control".into();
                entry["client"]["kernel"] = "Linux 192.0.2.7-secret".into();
                if !flow_types {
                    // As it was: flows of unknown types have no figures.
                    let original: Json = serde_json::from_str(text_of_header(name).trim()).unwrap();
                    for (flow, known) in entry["flows"]
                        .as_array_mut()
                        .unwrap()
                        .iter_mut()
                        .zip(original["header"]["flows"].as_array().unwrap())
                    {
                        flow["type"] = known["type"].clone();
                    }
                }
                line = format!("{header}\n");
            }
            line
        })
        .collect();
    (Recording::from_lines(&text).unwrap(), next)
}

fn text_of_header(name: &str) -> String {
    text(name).lines().find(|line| line.starts_with("{\"header\"")).unwrap().to_owned()
}

fn cells<R: Row>(rows: &[R]) -> impl Iterator<Item = (String, String)> + use<'_, R> {
    rows.iter().flat_map(|row| {
        let names = R::TABLE.columns.iter().map(|column| format!("{}.{}", R::TABLE.name, column.name));
        names.zip(row.values()).filter_map(|(name, value)| match value {
            Value::Text(text) => Some((name, text)),
            _ => None,
        })
    })
}

#[test]
fn no_address_and_no_host_name_is_in_any_column() {
    for flow_types in [false, true] {
        let (recording, texts) = filled("before.rrul", flow_types);
        assert!(texts > 100, "{texts} texts");
        let all = serde_json::to_string(&recording.header).unwrap();
        for mark in MARKS {
            assert!(all.matches(mark).count() > 5, "{mark} is not in the recording");
        }
        let analysis = analyze(&recording);
        let rows = RunRows::new(&recording, &analysis, &Labels::default(), &["quick"]).unwrap();
        let rows = rows.with_seconds(&recording, &analysis);
        assert!(flow_types || (!rows.delays.is_empty() && !rows.flows.is_empty()));
        let cells: Vec<(String, String)> = cells(std::slice::from_ref(&rows.run))
            .chain(cells(&rows.flows))
            .chain(cells(&rows.delays))
            .chain(cells(&rows.seconds))
            .collect();
        assert!(cells.len() > 10);
        for (column, text) in &cells {
            for mark in MARKS {
                assert!(!text.contains(mark), "{column} contains {mark}: {text}");
            }
        }
        assert!(MARKS.iter().all(|mark| !rows.date.contains(mark) && !rows.site.as_str().contains(mark)));
    }
}
