//! From a manifest to a checked page.

use std::collections::HashSet;
use std::time::Duration;

use serde::Deserialize;

use super::{HttpVersion, ObjectKind, Page, PageError, PageHost, PageObject, Refresh};
use crate::units::{ByteCount, UnitError, parse_duration};

/// More objects would run into the numbers of refreshes, more hosts into nothing that a page has.
const MOST_OBJECTS: usize = 2000;
const MOST_HOSTS: usize = 100;
/// The largest object, bytes.
const LARGEST: u64 = 64 << 20;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Manifest {
    title: String,
    secure: bool,
    host: Vec<HostEntry>,
    object: Vec<ObjectEntry>,
    refresh: Option<RefreshEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HostEntry {
    name: String,
    protocol: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ObjectEntry {
    kind: String,
    host: usize,
    octets: u64,
    parent: Option<usize>,
    think: Option<String>,
    wait: Option<String>,
    #[serde(default)]
    critical: bool,
    #[serde(default)]
    hero: bool,
    #[serde(default)]
    later: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RefreshEntry {
    host: usize,
    octets: u64,
    interval: String,
    wait: Option<String>,
}

/// What is wrong with one object, or with the refresh.
#[derive(Debug, thiserror::Error)]
enum EntryError {
    #[error("unknown kind \"{0}\"")]
    Kind(String),
    #[error("no host {0}")]
    Host(usize),
    #[error("needs a parent that stands before it")]
    Parent,
    #[error("refresh: needs an existing host, and an interval of 100ms or more")]
    Refresh,
    #[error("{0} bytes")]
    Size(u64),
    #[error("\"{0}\": {1}")]
    Time(String, UnitError),
    #[error("\"{0}\" is longer than 10s")]
    LongTime(String),
}

pub(super) fn page(name: &str, text: &str) -> Result<Page, PageError> {
    let wrong = |reason: String| PageError { page: name.to_owned(), reason };
    let manifest: Manifest = toml::from_str(text).map_err(|error| wrong(error.to_string()))?;
    if manifest.host.is_empty() || manifest.host.len() > MOST_HOSTS {
        return Err(wrong(format!("1 to {MOST_HOSTS} hosts, not {}", manifest.host.len())));
    }
    if manifest.object.len() > MOST_OBJECTS {
        return Err(wrong(format!("at most {MOST_OBJECTS} objects, not {}", manifest.object.len())));
    }
    let mut names = HashSet::new();
    let mut hosts = Vec::new();
    for entry in manifest.host {
        let label = !entry.name.is_empty()
            && entry.name.len() <= 32
            && entry.name.bytes().all(|octet| octet.is_ascii_lowercase() || octet.is_ascii_digit());
        if !label || !names.insert(entry.name.clone()) {
            let rule = "is no label of its own: 1 to 32 small letters and digits, each once";
            return Err(wrong(format!("host \"{}\" {rule}", entry.name)));
        }
        let protocol = HttpVersion::ALL.into_iter().find(|version| version.name() == entry.protocol);
        let protocol = protocol
            .filter(|version| manifest.secure || *version == HttpVersion::Http1)
            .ok_or_else(|| wrong(format!("host {}: {} without TLS, or unknown", entry.name, entry.protocol)))?;
        hosts.push(PageHost { name: entry.name, protocol });
    }
    let mut objects: Vec<PageObject> = Vec::new();
    for (number, entry) in manifest.object.into_iter().enumerate() {
        let wrong = |error: EntryError| wrong(format!("object {number}: {error}"));
        objects.push(object(&entry, number, hosts.len()).map_err(wrong)?);
    }
    if objects.first().is_none_or(|first| first.kind != ObjectKind::Html || first.host != 0 || first.later) {
        return Err(wrong("the first object must be the document, at the first host".to_owned()));
    }
    if let Some((number, _)) = objects
        .iter()
        .enumerate()
        .find(|(_, object)| object.parent.is_some_and(|parent| objects[parent].later) && !object.later)
    {
        return Err(wrong(format!("object {number}: the load event cannot wait for it and not for its parent")));
    }
    let refresh = manifest
        .refresh
        .map(|entry| refresh(&entry, hosts.len()))
        .transpose()
        .map_err(|error| wrong(error.to_string()))?;
    let page = Page {
        name: name.to_owned(),
        title: manifest.title,
        secure: manifest.secure,
        hosts,
        objects,
        refresh,
        hash: String::new(),
    };
    Ok(page.sealed())
}

fn object(entry: &ObjectEntry, number: usize, hosts: usize) -> Result<PageObject, EntryError> {
    let kind = ObjectKind::ALL.iter().find(|(name, _)| *name == entry.kind).map(|(_, kind)| *kind);
    let kind = kind.ok_or_else(|| EntryError::Kind(entry.kind.clone()))?;
    if entry.host >= hosts {
        return Err(EntryError::Host(entry.host));
    }
    match entry.parent {
        Some(parent) if parent < number => {}
        None if number == 0 => {}
        _ => return Err(EntryError::Parent),
    }
    Ok(PageObject {
        kind,
        host: entry.host,
        octets: size(entry.octets)?,
        parent: entry.parent,
        think: time(entry.think.as_deref())?,
        wait: time(entry.wait.as_deref())?,
        critical: entry.critical,
        hero: entry.hero,
        later: entry.later,
    })
}

fn refresh(entry: &RefreshEntry, hosts: usize) -> Result<Refresh, EntryError> {
    let interval = time(Some(&entry.interval))?;
    if entry.host >= hosts || interval < Duration::from_millis(100) {
        return Err(EntryError::Refresh);
    }
    Ok(Refresh { host: entry.host, octets: size(entry.octets)?, interval, wait: time(entry.wait.as_deref())? })
}

fn size(octets: u64) -> Result<ByteCount, EntryError> {
    if (1..=LARGEST).contains(&octets) { Ok(ByteCount(octets)) } else { Err(EntryError::Size(octets)) }
}

fn time(text: Option<&str>) -> Result<Duration, EntryError> {
    match text {
        None => Ok(Duration::ZERO),
        Some(text) => {
            let time = parse_duration(text).map_err(|error| EntryError::Time(text.to_owned(), error))?;
            if time > Duration::from_secs(10) { Err(EntryError::LongTime(text.to_owned())) } else { Ok(time) }
        }
    }
}
