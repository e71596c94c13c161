//! What a run did, so that only what did the same is compared.
//!
//! Figures of two versions of the workload differ because the work does: another plan, another version of the
//! specification, a page with other objects. That is refused. What a user may have changed on purpose, or what a path
//! does not have, such as a family, is only remarked upon.

use std::collections::BTreeMap;

use rrul_model::flow::{AddressFamily, Direction};
use rrul_model::observation::FlowEventKind;
use rrul_model::phase::Phase;
use rrul_model::recording::Recording;
use schemars::JsonSchema;
use serde::Serialize;

/// What an event says in front of a page's name.
const PAGE: &str = "page ";

/// What was done in a run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct Workload {
    /// Version of the specified workload; empty for none.
    pub spec: String,
    /// The plan's name.
    pub plan: String,
    /// Each page that was loaded, by name, with the hash of what it consists of.
    pub pages: BTreeMap<String, String>,
    /// Families under test.
    pub families: Vec<AddressFamily>,
    /// Length of the load, whole milliseconds.
    pub load_ms: u64,
    /// Streams of the load, server to client.
    pub streams_down: u64,
    /// Streams of the load, client to server.
    pub streams_up: u64,
}

/// Numbers of bulk streams in each direction, of the first run and of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StreamTotals {
    /// Streams from server to client: of the first run, of this one.
    pub down: [u64; 2],
    /// Streams from client to server: of the first run, of this one.
    pub up: [u64; 2],
}

impl Workload {
    pub fn from_recording(recording: &Recording) -> Self {
        let header = &recording.header;
        let uses = recording.events().filter(|(_, event)| event.event == FlowEventKind::Uses);
        let pages = uses.filter_map(|(_, event)| {
            let (name, hash) = event.detail.strip_prefix(PAGE)?.split_once(' ')?;
            Some((name.to_owned(), hash.to_owned()))
        });
        let streams = |direction| {
            let ours = |flow: &&rrul_model::flow::FlowSpec| flow.is_load_stream() && flow.direction == Some(direction);
            header.flows.iter().filter(ours).count() as u64
        };
        let load = recording.phase(Phase::Load).map(|window| window.length()).unwrap_or_default();
        Self {
            spec: header.plan.spec.clone(),
            plan: header.plan.name.clone(),
            pages: pages.collect(),
            families: header.families.clone(),
            load_ms: u64::try_from(load.as_millis()).unwrap_or(u64::MAX),
            streams_down: streams(Direction::Down),
            streams_up: streams(Direction::Up),
        }
    }

    /// Why figures of both do not compare, each in words; empty when they do.
    pub fn conflicts(&self, other: &Self) -> Vec<String> {
        let mut found = Vec::new();
        if self.spec != other.spec {
            found.push(format!("workload {} against {}", quoted(&self.spec), quoted(&other.spec)));
        }
        if self.plan != other.plan {
            found.push(format!("plan {} against {}", quoted(&self.plan), quoted(&other.plan)));
        }
        let names = |pages: &BTreeMap<String, String>| pages.keys().cloned().collect::<Vec<_>>().join(", ");
        // A run whose web part is missing has none of its figures either: nothing is compared that should not be.
        if !self.pages.is_empty() && !other.pages.is_empty() {
            if self.pages.keys().ne(other.pages.keys()) {
                found.push(format!("pages {} against {}", names(&self.pages), names(&other.pages)));
            }
            for (name, _) in self.pages.iter().filter(|(name, hash)| other.pages.get(*name).is_some_and(|h| h != *hash))
            {
                found.push(format!("two versions of page {name}"));
            }
        }
        found
    }

    /// What else is not the same, each in words.
    pub fn remarks(&self, other: &Self) -> Vec<String> {
        let mut found = Vec::new();
        let mut differ = |what: &str, mine: String, others: String| {
            if mine != others {
                found.push(format!("{what}: {mine} against {others}"));
            }
        };
        let families =
            |families: &[AddressFamily]| families.iter().map(ToString::to_string).collect::<Vec<_>>().join(" and ");
        differ("families", families(&self.families), families(&other.families));
        let seconds = |ms: u64| format!("{} s", ms as f64 / 1e3);
        differ("length of the load", seconds(self.load_ms), seconds(other.load_ms));
        if let Some(StreamTotals { down: [down, other_down], up: [up, other_up] }) = self.stream_totals(other) {
            found.push(format!(
                "bulk streams: {down} down and {up} up against {other_down} down and {other_up} up; the load differs, so \
                 goodput per stream and queueing do not compare like for like"
            ));
        }
        found
    }

    /// Returns the numbers of bulk streams of both where they differ in a direction, as of one family against two.
    pub fn stream_totals(&self, other: &Self) -> Option<StreamTotals> {
        let totals =
            StreamTotals { down: [self.streams_down, other.streams_down], up: [self.streams_up, other.streams_up] };
        [totals.down, totals.up].iter().any(|[one, other]| one != other).then_some(totals)
    }
}

fn quoted(name: &str) -> String {
    if name.is_empty() { "of no version".to_owned() } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workload() -> Workload {
        Workload {
            spec: "RRUL2013".to_owned(),
            plan: "rrul".to_owned(),
            pages: BTreeMap::from([("rrul2013".to_owned(), "sha256:1".to_owned())]),
            families: vec![AddressFamily::Ipv4],
            load_ms: 60_000,
            ..Workload::default()
        }
    }

    #[test]
    fn other_versions_do_not_compare_and_the_same_do() {
        let one = workload();
        assert!(one.conflicts(&one).is_empty() && one.remarks(&one).is_empty());
        let spec = Workload { spec: String::new(), ..workload() };
        assert_eq!(one.conflicts(&spec), ["workload RRUL2013 against of no version"]);
        let plan = Workload { plan: "quick".to_owned(), ..workload() };
        assert_eq!(one.conflicts(&plan), ["plan rrul against quick"]);
        let page = |name: &str, hash: &str| BTreeMap::from([(name.to_owned(), hash.to_owned())]);
        let changed = Workload { pages: page("rrul2013", "sha256:2"), ..workload() };
        assert_eq!(one.conflicts(&changed), ["two versions of page rrul2013"]);
        let other = Workload { pages: page("rrul2025", "sha256:1"), ..workload() };
        assert_eq!(one.conflicts(&other), ["pages rrul2013 against rrul2025"]);
        let none = Workload { pages: BTreeMap::new(), ..workload() };
        assert!(one.conflicts(&none).is_empty());
    }

    #[test]
    fn what_may_be_meant_is_remarked_upon() {
        let one = workload();
        let other = Workload { families: vec![AddressFamily::Ipv6], load_ms: 12_500, streams_up: 4, ..workload() };
        let remarks = ["families: ipv4 against ipv6", "length of the load: 60 s against 12.5 s"];
        let found = one.remarks(&other);
        assert_eq!((&found[..2], found.len()), (&remarks.map(str::to_owned)[..], 3));
    }

    #[test]
    fn different_numbers_of_bulk_streams_are_one_remark_and_data() {
        let one = Workload { streams_down: 4, streams_up: 4, ..workload() };
        let two = Workload { streams_down: 8, streams_up: 8, ..workload() };
        assert_eq!(one.stream_totals(&two), Some(StreamTotals { down: [4, 8], up: [4, 8] }));
        let [remark] = &one.remarks(&two)[..] else { panic!("{:?}", one.remarks(&two)) };
        assert!(remark.starts_with("bulk streams: 4 down and 4 up against 8 down and 8 up;"), "{remark}");
        let up = Workload { streams_up: 1, ..one.clone() };
        assert_eq!(one.stream_totals(&up).map(|totals| totals.up), Some([4, 1]));
        assert_eq!(one.stream_totals(&one), None);
    }
}
