//! The walls of the house: which crate may know which, who may touch the outside, where unsafe code may stand, and how
//! long a file may be. ARCHITECTURE.md says why.

#![allow(clippy::unwrap_used, reason = "what helps a test may panic as the test may")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Every crate, the lowest first, and the crates of this workspace that it may depend on.
const MAY_KNOW: [(&str, &[&str]); 9] = [
    ("rrul-model", &[]),
    ("rrul-proto", &["rrul-model"]),
    ("rrul-analysis", &["rrul-model"]),
    ("rrul-lab", &["rrul-model"]),
    ("rrul-monitor", &["rrul-model"]),
    ("rrul-engine", &["rrul-model", "rrul-proto"]),
    ("rrul-view", &["rrul-model", "rrul-analysis"]),
    ("rrul-archive", &["rrul-model", "rrul-analysis"]),
    ("rrul", &["rrul-model", "rrul-engine", "rrul-analysis", "rrul-view", "rrul-lab", "rrul-monitor", "rrul-archive"]),
];

/// Crates that compute only: no socket, no file, no clock, no thread.
const PURE: [&str; 4] = ["model", "proto", "analysis", "monitor"];

/// Packages that reach outside the process.
const OUTSIDE: [&str; 10] =
    ["libc", "tokio", "socket2", "mio", "nix", "rustix", "async-std", "smol", "reqwest", "hyper"];

/// What pure code must not say.
const OUTSIDE_WORDS: [&str; 9] = [
    "std::net::TcpStream",
    "std::net::TcpListener",
    "std::net::UdpSocket",
    "std::fs",
    "std::thread",
    "std::process",
    "std::env",
    "Instant::now",
    "SystemTime::now",
];

/// Files, or folders with a slash at the end, in which unsafe code may stand: the system calls that the standard
/// library does not have.
const UNSAFE: &[&str] = &[
    "crates/engine/src/browser/process.rs",
    "crates/engine/src/clock.rs",
    "crates/engine/src/environment/ethtool.rs",
    "crates/engine/src/hangup.rs",
    "crates/engine/src/heap.rs",
    "crates/engine/src/processor_time.rs",
    "crates/engine/src/scheduling.rs",
    "crates/engine/src/socket/",
    "crates/engine/src/tcp_info.rs",
    "crates/lab/src/clock.rs",
    "crates/lab/src/namespace.rs",
    "crates/lab/src/namespace/",
    "crates/lab/src/scheduling.rs",
    "crates/lab/src/tun.rs",
    "crates/lab/src/tun/",
    "crates/lab/tests/system/error_queue.rs",
];

/// Files above the soft limit, and why they are not split.
const LONG: &[(&str, &str)] = &[];
const SOFT_LIMIT: usize = 600;
const HARD_LIMIT: usize = 800;

/// Most source files of a folder, without tests: a shelf that can be taken in at a glance.
const MOST_FILES: usize = 25;

/// How many lines above a piece of unsafe code its reason may stand: the beginning of one statement lies between.
const SAFETY_REACH: usize = 8;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The normal dependencies of every package of the workspace, by package name.
fn dependencies() -> BTreeMap<String, BTreeSet<String>> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let output = Command::new(cargo)
        .args(["metadata", "--no-deps", "--format-version", "1", "--offline"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let normal = |package: &Value| {
        let entries = package["dependencies"].as_array().unwrap().clone();
        entries.into_iter().filter(|entry| entry["kind"].is_null()).map(|entry| text(&entry["name"])).collect()
    };
    metadata["packages"].as_array().unwrap().iter().map(|package| (text(&package["name"]), normal(package))).collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// Every Rust file of the workspace as its path from the root, with its text.
fn sources() -> Vec<(String, String)> {
    let root = root();
    let mut found = Vec::new();
    let mut folders = vec![root.join("crates")];
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
                found.push((name, fs::read_to_string(&path).unwrap()));
            }
        }
    }
    found.sort();
    assert!(found.len() > 20, "only {} source files were found under {}", found.len(), root.display());
    found
}

/// The lines with their numbers, without comments.
fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(|(index, line)| (index + 1, line.split("//").next().unwrap_or_default()))
}

fn has_word(line: &str, word: &str) -> bool {
    line.split(|c: char| !c.is_alphanumeric() && c != '_').any(|found| found == word)
}

#[test]
fn crates_know_only_those_below_them() {
    let dependencies = dependencies();
    let names: BTreeSet<&str> = dependencies.keys().map(String::as_str).collect();
    assert_eq!(names, MAY_KNOW.iter().map(|(name, _)| *name).collect(), "a crate came or went: mend the table");
    for (name, allowed) in MAY_KNOW {
        for other in dependencies[name].iter().filter(|other| names.contains(other.as_str())) {
            assert!(allowed.contains(&other.as_str()), "{name} depends on {other}; it may know {allowed:?}");
        }
    }
}

#[test]
fn the_table_has_no_circle_and_only_the_program_joins_engine_and_analysis() {
    let mut below: BTreeSet<&str> = BTreeSet::new();
    for (name, allowed) in MAY_KNOW {
        assert!(allowed.iter().all(|other| below.contains(other)), "{name} may know what does not stand below it");
        below.insert(name);
        let met: Vec<&str> =
            ["rrul-engine", "rrul-analysis"].into_iter().filter(|one| name == *one || allowed.contains(one)).collect();
        assert!(met.len() < 2 || name == "rrul", "{name} brings engine and analysis together");
    }
}

#[test]
fn pure_crates_depend_on_nothing_that_reaches_outside() {
    let dependencies = dependencies();
    for name in PURE.map(|name| format!("rrul-{name}")) {
        let outside: Vec<&String> =
            dependencies[&name].iter().filter(|other| OUTSIDE.contains(&other.as_str())).collect();
        assert!(outside.is_empty(), "{name} is pure and depends on {outside:?}");
    }
}

#[test]
fn pure_crates_read_no_clock_and_open_nothing() {
    for (path, text) in sources() {
        if !PURE.iter().any(|name| path.starts_with(&format!("crates/{name}/src/"))) {
            continue;
        }
        for (line, code) in code(&text) {
            let said: Vec<&&str> = OUTSIDE_WORDS.iter().filter(|word| code.contains(**word)).collect();
            assert!(said.is_empty(), "{path}:{line}: pure code says {said:?}; take the value as an argument");
        }
    }
}

#[test]
fn unsafe_code_stands_only_where_it_is_expected() {
    for (path, text) in sources().into_iter().filter(|(path, _)| !path.ends_with("rrul/tests/architecture.rs")) {
        let expected = UNSAFE.iter().any(|place| path == *place || (place.ends_with('/') && path.starts_with(place)));
        for (line, code) in code(&text) {
            let allowed = has_word(code, "unsafe_code") && !code.contains("forbid(") && !code.contains("deny(");
            let found = has_word(code, "unsafe") || allowed;
            assert!(!found || expected, "{path}:{line}: unsafe code; if it must be, add the file to UNSAFE here");
        }
    }
}

#[test]
fn every_piece_of_unsafe_code_says_why_it_is_sound() {
    for (path, text) in sources().into_iter().filter(|(path, _)| path.contains("/src/")) {
        let lines: Vec<&str> = text.lines().collect();
        for (line, code) in code(&text).filter(|(_, code)| code.contains("unsafe {") || code.contains("unsafe impl")) {
            let argued = lines[line.saturating_sub(SAFETY_REACH)..line].iter().any(|line| line.contains("SAFETY:"));
            assert!(argued, "{path}:{line}: no SAFETY line above \"{}\"", code.trim());
        }
    }
}

#[test]
fn what_is_built_in_and_asks_for_a_notice_has_one() {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let output = Command::new(cargo)
        .current_dir(root())
        .args(["tree", "--offline", "--package=rrul", "--edges=normal,no-proc-macro", "--prefix=none"])
        .args(["--no-dedupe", "--format={p} {l}"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let tree = String::from_utf8(output.stdout).unwrap();
    let notices = fs::read_to_string(root().join("THIRD-PARTY.md")).unwrap();
    // Apache-2.0 alone asks for no more than the license's text; with another one behind it, for that one's notice too.
    let asks = |line: &&str| !line.contains("Apache-2.0") || line.contains(" AND ");
    let asking: BTreeSet<&str> = tree.lines().filter(asks).filter_map(|line| line.split(' ').next()).collect();
    assert!(asking.len() > 30, "{asking:?}");
    let named = |name: &str| {
        let part = |c: char| !c.is_alphanumeric() && c != '_' && c != '-';
        notices.split(part).any(|word| word == name)
    };
    let missing: Vec<&str> = asking.into_iter().filter(|name| !named(name)).collect();
    assert!(missing.is_empty(), "not named in THIRD-PARTY.md: {missing:?}");
}

#[test]
fn files_stay_short_enough_to_read() {
    let sources = sources();
    for (path, text) in &sources {
        let lines = text.lines().count();
        assert!(lines <= HARD_LIMIT, "{path} has {lines} lines, more than {HARD_LIMIT}: split it by concept");
        let listed = LONG.iter().any(|(long, _)| long == path);
        assert!(
            lines <= SOFT_LIMIT || listed,
            "{path} has {lines} lines, more than {SOFT_LIMIT}: split it, or list it"
        );
    }
    for (long, why) in LONG {
        let lines = sources.iter().find(|(path, _)| path == long).map_or(0, |(_, text)| text.lines().count());
        assert!(lines > SOFT_LIMIT, "{long} has {lines} lines and leaves the list of long files ({why})");
    }
}

/// The modules of one crate by path from its root (`metrics::delay::queueing`), each with its code, tests left out.
fn modules(name: &str, sources: &[(String, String)]) -> BTreeMap<String, String> {
    let folder = format!("crates/{name}/src/");
    let inside = sources.iter().filter_map(|(path, text)| Some((path.strip_prefix(&folder)?, text)));
    inside
        .map(|(path, text)| {
            let mut parts: Vec<&str> = path.trim_end_matches(".rs").split('/').collect();
            if parts.last().is_some_and(|last| ["mod", "lib", "main"].contains(last)) {
                parts.pop();
            }
            let text: Vec<&str> = code(text.split("#[cfg(test)]").next().unwrap()).map(|(_, line)| line).collect();
            (parts.join("::"), text.join(" "))
        })
        .collect()
}

/// Every path that a tree of `use` names.
fn named(tree: &str) -> Vec<String> {
    let tree = tree.trim();
    let Some((before, rest)) = tree.split_once('{') else {
        return vec![tree.split(" as ").next().unwrap().replace(' ', "")];
    };
    let inside = rest.trim_end().trim_end_matches('}');
    let (mut depth, mut begin, mut branches) = (0, 0, Vec::new());
    for (at, c) in inside.char_indices() {
        depth += i32::from(c == '{') - i32::from(c == '}');
        if c == ',' && depth == 0 {
            branches.push(&inside[begin..at]);
            begin = at + 1;
        }
    }
    branches.push(&inside[begin..]);
    let branches = branches.into_iter().filter(|branch| !branch.trim().is_empty());
    branches.flat_map(|branch| named(&format!("{before}{branch}"))).collect()
}

/// Which modules of its crate each module uses. That a module passes on what its own children have (`pub use`) is a table of
/// contents and no use.
fn uses(modules: &BTreeMap<String, String>) -> BTreeMap<&str, BTreeSet<&str>> {
    let words = |path: &str| -> Vec<String> { path.split("::").filter(|s| !s.is_empty()).map(str::to_owned).collect() };
    let mut uses: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (module, text) in modules {
        let found = uses.entry(module).or_default();
        for (at, _) in text.match_indices("use ").filter(|(at, _)| *at == 0 || text[..*at].ends_with(' ')) {
            let before = text[..at].trim_end();
            let public = before.ends_with("pub") || before.ends_with("pub(crate)") || before.ends_with("pub(super)");
            for path in named(text[at + 4..].split(';').next().unwrap()) {
                let mut path = words(&path);
                let mut base = words(module);
                match path.first().map(String::as_str) {
                    Some("crate") => (base, path) = (path.split_off(1), Vec::new()),
                    Some("super") => {
                        while path.first().is_some_and(|first| first == "super") {
                            base.pop();
                            path.remove(0);
                        }
                    }
                    Some("self") => path = path.split_off(1),
                    // A child by its name, or something outside of the crate.
                    Some(first) => {
                        let child = [&base[..], &[first.to_owned()]].concat().join("::");
                        if !modules.contains_key(&child) {
                            continue;
                        }
                    }
                    None => continue,
                }
                base.extend(path);
                while !base.is_empty() && !modules.contains_key(&base.join("::")) {
                    base.pop();
                }
                if let Some((used, _)) = modules.get_key_value(&base.join("::"))
                    && !used.is_empty()
                    && used != module
                    && !(public && used.starts_with(&format!("{module}::")))
                {
                    found.insert(used);
                }
            }
        }
    }
    uses
}

/// Modules that use each other in a circle: what is left when those that use none that is left, or are used by none, are taken
/// away until nothing changes.
fn circles<'a>(mut uses: BTreeMap<&'a str, BTreeSet<&'a str>>) -> BTreeMap<&'a str, BTreeSet<&'a str>> {
    loop {
        let left = uses.len();
        let kept: BTreeSet<&str> = uses.keys().copied().collect();
        let used: BTreeSet<&str> = uses.values().flatten().copied().collect();
        for targets in uses.values_mut() {
            targets.retain(|target| kept.contains(target));
        }
        uses.retain(|module, targets| used.contains(module) && !targets.is_empty());
        if uses.len() == left {
            return uses;
        }
    }
}

#[test]
fn no_files_import_each_other_in_a_circle() {
    let sources = sources();
    for (name, _) in MAY_KNOW {
        let name = name.trim_start_matches("rrul-");
        let modules = modules(name, &sources);
        assert!(modules.len() > 5, "{name}: {} modules", modules.len());
        let found = circles(uses(&modules));
        assert!(found.is_empty(), "{name}: these files import each other in a circle: {found:?}");
    }
}

#[test]
fn a_circle_of_imports_is_found() {
    let modules: BTreeMap<String, String> = [
        ("", "pub mod a; pub use a::A;"),
        ("a", "mod inner; pub use inner::Inner; use crate::b::{B, more::{C, D as E}};"),
        ("a::inner", "use super::super::b::B;"),
        ("b", "use serde::Serialize; use more::C;"),
        ("b::more", "use std::fmt; use crate::a::A;"),
        ("c", "use crate::a::A;"),
    ]
    .into_iter()
    .map(|(name, text)| (name.to_owned(), text.to_owned()))
    .collect();
    assert_eq!(circles(uses(&modules)).into_keys().collect::<Vec<_>>(), ["a", "b", "b::more"]);
    let without: BTreeMap<String, String> = modules.into_iter().filter(|(name, _)| name != "b::more").collect();
    assert_eq!(circles(uses(&without)).len(), 0);
}

#[test]
fn folders_can_be_taken_in_at_a_glance() {
    let mut files: BTreeMap<String, usize> = BTreeMap::new();
    for (path, _) in sources().into_iter().filter(|(path, _)| path.contains("/src/") && !path.ends_with("tests.rs")) {
        *files.entry(path.rsplit_once('/').unwrap().0.to_owned()).or_default() += 1;
    }
    let full: Vec<_> = files.iter().filter(|(_, count)| **count > MOST_FILES).collect();
    assert!(full.is_empty(), "more than {MOST_FILES} source files: {full:?}; put those of one concern into a folder");
}

/// Where flow types may be compared by name: the table of kinds, and the shelf of those that the engine has.
const NAMES_OF_FLOW_TYPES: [&str; 3] =
    ["crates/model/src/flow_kind.rs", "crates/engine/src/flow_type.rs", "crates/engine/src/flow_types/mod.rs"];

#[test]
fn flow_types_are_not_compared_by_name() {
    const COMPARISONS: [&str; 6] = [
        "flow_type ==",
        "flow_type !=",
        "flow_type.as_str()",
        "&&*flow.flow_type",
        "match &*flow.flow_type",
        "== flow.flow_type",
    ];
    for (path, text) in sources().into_iter().filter(|(path, _)| path.contains("/src/")) {
        if NAMES_OF_FLOW_TYPES.contains(&path.as_str()) {
            continue;
        }
        for (line, code) in code(&text) {
            let found: Vec<_> = COMPARISONS.iter().filter(|comparison| code.contains(**comparison)).collect();
            assert!(found.is_empty(), "{path}:{line}: {found:?}; ask the flow for its kind (FlowKind)");
        }
    }
}

/// Where a sentence is in the place of a figure, which is shown to people and handled by no code.
const SENTENCES_FOR_FIGURES: [&str; 3] = [
    "crates/analysis/src/metrics/path/bottleneck.rs",
    "crates/analysis/src/scores/web.rs",
    "crates/view/src/charts/totals.rs",
];

#[test]
fn errors_are_types_and_not_sentences() {
    for (path, text) in sources().into_iter().filter(|(path, _)| path.contains("/src/")) {
        if SENTENCES_FOR_FIGURES.contains(&path.as_str()) {
            continue;
        }
        for (line, code) in code(&text) {
            // What precedes the comma may have generic arguments and tuples of its own.
            let found = code.contains(", String>") && code.contains("Result<") && !code.contains("Map<");
            assert!(!found, "{path}:{line}: Result<_, String>; write an enum of what can go wrong (thiserror)");
        }
    }
}
