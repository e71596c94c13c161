//! From a document to a checked plan. Every complaint names file, line and key, and what would be right.

use std::str::FromStr;
use std::time::Duration;

use crate::flow::{FlowTypeWords, Parameters};
use crate::link_layer::LinkLayer;
use crate::phase::Phase;
use crate::units::{Share, parse_duration};
use crate::unknown_name::UnknownName;

use super::document::{Node, Value, nest, parse, parse_setting};
use super::parameter::{parameter, quantity_of, text_of};
use super::{FlowEntry, PhaseLength, PlanError, TestPlan};

const TOP_KEYS: &[&str] =
    &["title", "spec", "extends", "phases", "sample_interval", "link_layer", "overhead", "parameters", "flow"];
const FLOW_KEYS: &[&str] = &[
    "type",
    "component",
    "during",
    "start",
    "duration",
    "direction",
    "class",
    "family",
    "count",
    "count_alone",
    "each",
    "enabled",
    "needs",
];
/// How deep `extends` may go, so that a circle ends.
const DEPTH: usize = 8;
const DEFAULT_SAMPLE_INTERVAL: Duration = Duration::from_millis(100);
const MOST_COPIES: i64 = 64;

/// What the reader needs from outside.
pub struct Surroundings<'a> {
    /// The flow types that this program knows.
    pub flow_types: &'a [FlowTypeWords],
    /// File name and text of the plan with this name, for `extends`.
    pub find: &'a dyn Fn(&str) -> Option<(String, String)>,
}

impl TestPlan {
    /// Reads a plan: `file` names it in messages, `settings` are the `--set KEY=VALUE` options.
    ///
    /// # Errors
    /// The first thing that is wrong, with its place.
    pub fn read(
        name: &str,
        file: &str,
        text: &str,
        settings: &[String],
        surroundings: &Surroundings<'_>,
    ) -> Result<Self, PlanError> {
        let mut document = with_extends(parse(file, text)?, surroundings, DEPTH)?;
        for setting in settings {
            let (path, value) = parse_setting(setting)?;
            for path in targets(&document, path, &value)? {
                document.merge(nest(&path, value.clone()));
            }
        }
        plan_from(name, &document, surroundings.flow_types)
    }
}

fn with_extends(document: Node, surroundings: &Surroundings<'_>, depth: usize) -> Result<Node, PlanError> {
    let Some(extends) = document.get("extends") else { return Ok(document) };
    let base_name = text_of(extends, "extends")?;
    if depth == 0 {
        return Err(extends.error("extends", "plans extend each other in a cycle; remove one extends"));
    }
    let (file, text) = (surroundings.find)(base_name)
        .ok_or_else(|| extends.error("extends", format_args!("unknown plan \"{base_name}\"; see rrul list plans")))?;
    let mut base = with_extends(parse(&file, &text)?, surroundings, depth - 1)?;
    base.merge(document);
    Ok(base)
}

/// The full keys that a `--set` key stands for: itself, a phase, or a name under `[parameters]`.
fn targets(document: &Node, path: Vec<String>, value: &Node) -> Result<Vec<Vec<String>>, PlanError> {
    if path.first().is_some_and(|key| key == "extends") {
        return Err(value.error("extends", "cannot be set; name the plan to run with --plan"));
    }
    if let ["flow", label, ..] = path.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        known_flow(document, label, value, &path.join("."))?;
    }
    let [name] = path.as_slice() else { return Ok(vec![path]) };
    // `web=0s` is the length of a phase, `web=false` the plan's short name for its pages.
    let is_switch = matches!(value.value, Value::Flag(_));
    let phase = Phase::from_str(name).ok().map(Phase::name).filter(|_| !is_switch);
    if let Some(key) = phase.or_else(|| (name == AFTER_AT_MOST).then_some(AFTER_AT_MOST)) {
        return Ok(vec![vec!["phases".to_owned(), key.to_owned()]]);
    }
    if let Some(parameter) = document.get("parameters").and_then(|parameters| parameters.get(name)) {
        let key = format!("parameters.{name}");
        let Value::List(keys) = &parameter.value else {
            return Err(parameter.error(&key, "write a list of keys, such as [\"flow.bulk.count\"]"));
        };
        return keys.iter().map(|node| Ok(text_of(node, &key)?.split('.').map(str::to_owned).collect())).collect();
    }
    if TOP_KEYS.contains(&name.as_str()) {
        return Ok(vec![path]);
    }
    let parameters = document.get("parameters").map_or(&[][..], Node::entries);
    let known: Vec<&str> =
        parameters.iter().map(|(name, _)| name.as_str()).chain(Phase::ALL.map(Phase::name)).collect();
    Err(value.error(
        name,
        format_args!("unknown setting; known: {}, or a full key such as flow.bulk.count", known.join(", ")),
    ))
}

/// Complains at `node` when the plan has no `[flow.LABEL]`.
fn known_flow(document: &Node, label: &str, node: &Node, key: &str) -> Result<(), PlanError> {
    let flows = document.get("flow").map_or(&[][..], Node::entries);
    if flows.iter().any(|(name, _)| name == label) {
        return Ok(());
    }
    let known: Vec<&str> = flows.iter().map(|(name, _)| name.as_str()).collect();
    Err(node.error(key, format_args!("the plan has no flow \"{label}\"; known: {}", known.join(", "))))
}

/// The short names of `--set` must stand for keys of flows that exist, whether they are used or not.
fn check_short_names(document: &Node) -> Result<(), PlanError> {
    for (name, node) in document.get("parameters").map_or(&[][..], Node::entries) {
        let key = format!("parameters.{name}");
        for target in items(node) {
            match text_of(target, &key)?.split('.').collect::<Vec<_>>()[..] {
                ["flow", label, _, ..] => known_flow(document, label, target, &key)?,
                _ => return Err(target.error(&key, "write a list of keys, such as [\"flow.bulk.count\"]")),
            }
        }
    }
    Ok(())
}

fn plan_from(name: &str, document: &Node, flow_types: &[FlowTypeWords]) -> Result<TestPlan, PlanError> {
    known_keys(document, "", TOP_KEYS)?;
    let title = required(document, "title", "")?;
    let phases = required(document, "phases", "")?;
    let entries = required(document, "flow", "")?;
    check_short_names(document)?;
    let mut plan = TestPlan {
        name: name.to_owned(),
        title: text_of(title, "title")?.to_owned(),
        spec: optional(document, "spec", |node| Ok(text_of(node, "spec")?.to_owned()))?.unwrap_or_default(),
        phases: phases_from(phases)?,
        after_at_most: optional(phases, AFTER_AT_MOST, |length| duration(length, "phases.after_at_most"))?,
        overhead: optional(document, "overhead", overhead)?.unwrap_or(Some(DEFAULT_OVERHEAD)),
        sample_interval: optional(document, "sample_interval", |node| duration(node, "sample_interval"))?
            .unwrap_or(DEFAULT_SAMPLE_INTERVAL),
        link_layer: optional(document, "link_layer", |node| {
            parsed(node, "link_layer", |text| Ok(text.parse::<LinkLayer>()?.to_string()))
        })?,
        entries: Vec::new(),
    };
    if !(Duration::from_millis(10)..=Duration::from_secs(1)).contains(&plan.sample_interval) {
        let node = document.get("sample_interval").unwrap_or(document);
        return Err(node.error("sample_interval", "must lie between 10ms and 1s"));
    }
    for (label, node) in entries.entries() {
        if let Some(entry) = entry_from(label, node, flow_types)? {
            plan.entries.push(entry);
        }
    }
    if plan.entries.is_empty() {
        return Err(entries.error("flow", "a plan needs at least one [flow.NAME]"));
    }
    Ok(plan)
}

/// The key of the longest that phase `after` may last.
const AFTER_AT_MOST: &str = "after_at_most";

/// What everything but the load may take of a direction where the plan says nothing: the figure of the IETF's
/// responsiveness draft.
const DEFAULT_OVERHEAD: Share = Share::from_per_mille(50);

/// `overhead = "5%"`, or `"none"` for no limit.
fn overhead(node: &Node) -> Result<Option<Share>, PlanError> {
    let text = quantity_of(node, "overhead", "5%")?;
    if text == "none" {
        return Ok(None);
    }
    let share: Share = text.parse().map_err(|error| node.error("overhead", error))?;
    if (Share::from_per_mille(1)..=Share::from_per_mille(500)).contains(&share) {
        return Ok(Some(share));
    }
    Err(node.error("overhead", "must lie between 0.1% and 50%, or be \"none\""))
}

fn phases_from(node: &Node) -> Result<Vec<PhaseLength>, PlanError> {
    let names: Vec<&str> = Phase::ALL.into_iter().map(Phase::name).chain(["before", AFTER_AT_MOST]).collect();
    known_keys(node, "phases", &names)?;
    if let (Some(old), Some(_)) = (node.get("before"), node.get("survey")) {
        return Err(old.error("phases.before", "old name of survey; remove it"));
    }
    let mut phases = Vec::new();
    for phase in Phase::ALL {
        let read = |name| optional(node, name, |length| duration(length, &format!("phases.{name}")));
        let mut length = read(phase.name())?;
        if phase == Phase::Survey && length.is_none() {
            length = read("before")?;
        }
        phases.push(PhaseLength { phase, length: length.unwrap_or_default() });
    }
    let total: Duration = phases.iter().map(|phase| phase.length).sum();
    if total.is_zero() {
        return Err(node.error("phases", "all phases are empty; give at least one a length, such as load = \"60s\""));
    }
    Ok(phases)
}

fn entry_from(label: &str, node: &Node, flow_types: &[FlowTypeWords]) -> Result<Option<FlowEntry>, PlanError> {
    let at = |key: &str| format!("flow.{label}.{key}");
    if optional(node, "enabled", |flag| flag_of(flag, &at("enabled")))? == Some(false) {
        return Ok(None);
    }
    let kind = required(node, "type", &format!("flow.{label}."))?;
    let type_name = text_of(kind, &at("type"))?;
    let words = flow_types.iter().find(|words| words.name == type_name).ok_or_else(|| {
        let known: Vec<&str> = flow_types.iter().map(|words| words.name).collect();
        kind.error(&at("type"), format_args!("unknown flow type \"{type_name}\"; known: {}", known.join(", ")))
    })?;
    let parameter_names: Vec<&str> = words.parameters.iter().map(|word| word.name).collect();
    let stands_by = match node.get("needs") {
        Some(needed) => {
            let name = text_of(needed, &at("needs"))?;
            if !parameter_names.contains(&name) {
                let known = parameter_names.join(", ");
                return Err(needed.error(&at("needs"), format_args!("{type_name} has no \"{name}\"; known: {known}")));
            }
            listed(node, label, name)?.is_none()
        }
        None => false,
    };
    debug_assert!(
        parameter_names.iter().all(|name| !FLOW_KEYS.contains(name)),
        "a parameter of {type_name} has the name of a key that every flow has"
    );
    known_keys(node, &format!("flow.{label}"), &[FLOW_KEYS, &parameter_names].concat())?;
    if let Some(each) = node.get("each") {
        let allowed = [&["direction", "class", "family"][..], &parameter_names].concat();
        known_keys(each, &at("each"), &allowed)?;
    }
    let directions = choices(node, label, "direction", str::parse)?;
    if words.directed && directions.is_empty() {
        return Err(
            node.error(&at("direction"), "missing; write direction = \"up\" or each.direction = [\"up\", \"down\"]")
        );
    }
    let each_direction = node.get("each").and_then(|each| each.get("direction"));
    if let (false, Some(direction)) = (words.directed, node.get("direction").or(each_direction)) {
        return Err(
            direction.error(&at("direction"), format_args!("{type_name} runs in both directions; remove the key"))
        );
    }
    let mut classes = choices(node, label, "class", str::parse)?;
    if classes.is_empty() {
        classes.push(crate::marking::ServiceClass::BE);
    }
    let component = required(node, "component", &format!("flow.{label}."))?;
    let copies = |key: &str| {
        optional(node, key, |count| match count.value {
            Value::Integer(n @ 1..=MOST_COPIES) => Ok(n as u32),
            _ => Err(count.error(&at(key), format_args!("write a number from 1 to {MOST_COPIES}"))),
        })
    };
    let entry = FlowEntry {
        label: label.to_owned(),
        flow_type: type_name.to_owned(),
        component: parsed(component, &at("component"), str::parse)?,
        during: during_of(node, &at("during"))?,
        start: optional(node, "start", |start| duration(start, &at("start")))?.unwrap_or_default(),
        duration: optional(node, "duration", |length| duration(length, &at("duration")))?,
        directions,
        classes,
        families: choices(node, label, "family", str::parse)?,
        count: copies("count")?.unwrap_or(1),
        count_alone: copies("count_alone")?,
        parameters: parameters_of(node, label, words)?,
    };
    // Looked at as a whole before it is left out, so that its mistakes do not wait for the day when it is used.
    Ok((!stands_by).then_some(entry))
}

fn during_of(node: &Node, key: &str) -> Result<Vec<Phase>, PlanError> {
    let Some(during) = node.get("during") else { return Ok(Phase::ALL.to_vec()) };
    if matches!(&during.value, Value::Text(text) if text == "all") {
        return Ok(Phase::ALL.to_vec());
    }
    let phases: Vec<Phase> =
        items(during).iter().map(|item| parsed(item, key, str::parse)).collect::<Result<_, _>>()?;
    let sorted = phases.windows(2).all(|pair| pair[0] < pair[1]);
    let gap = phases.contains(&Phase::Idle) && phases.contains(&Phase::After) && !phases.contains(&Phase::Load);
    if phases.is_empty() || !sorted || gap {
        return Err(during.error(key, "write \"all\" or phases that follow each other, such as [\"idle\", \"load\"]"));
    }
    Ok(phases)
}

/// The values of `key` or of `each.key`; none when neither is there.
fn choices<T>(
    node: &Node,
    label: &str,
    key: &str,
    read: impl Fn(&str) -> Result<T, UnknownName>,
) -> Result<Vec<T>, PlanError> {
    let Some((values, name)) = listed(node, label, key)? else { return Ok(Vec::new()) };
    values.iter().map(|item| parsed(item, &name, &read)).collect()
}

/// The values written for `key`, alone or as `each.key`, with the full key; `None` when neither is there.
fn listed<'a>(node: &'a Node, label: &str, key: &str) -> Result<Option<(&'a [Node], String)>, PlanError> {
    let each = node.get("each").and_then(|each| each.get(key));
    let (found, name) = match (node.get(key), each) {
        (Some(single), None) => (single, format!("flow.{label}.{key}")),
        (None, Some(list)) => (list, format!("flow.{label}.each.{key}")),
        (Some(single), Some(list)) => {
            // One of them would be passed over without a word.
            let message = format!("conflicts with each.{key} of {}; use each.{key}", list.place.0);
            return Err(single.error(&format!("flow.{label}.{key}"), message));
        }
        (None, None) => return Ok(None),
    };
    match items(found) {
        [] => Err(found.error(&name, "must not be empty")),
        values => Ok(Some((values, name))),
    }
}

/// Every combination of the flow type's own parameters.
fn parameters_of(node: &Node, label: &str, words: &FlowTypeWords) -> Result<Vec<Parameters>, PlanError> {
    let mut sets = vec![Parameters::default()];
    for word in words.parameters {
        let Some((values, key)) = listed(node, label, word.name)? else { continue };
        let values = values.iter().map(|item| parameter(item, &key, word.kind)).collect::<Result<Vec<_>, _>>()?;
        sets = sets
            .iter()
            .flat_map(|set| {
                values.iter().map(move |value| {
                    let mut set = set.clone();
                    set.0.insert(word.name.to_owned(), value.clone());
                    set
                })
            })
            .collect();
    }
    Ok(sets)
}

fn items(node: &Node) -> &[Node] {
    match &node.value {
        Value::List(items) => items,
        _ => std::slice::from_ref(node),
    }
}

fn known_keys(node: &Node, prefix: &str, known: &[&str]) -> Result<(), PlanError> {
    let Value::Table(entries) = &node.value else {
        return Err(node.error(prefix, "must be a table"));
    };
    match entries.iter().find(|(key, _)| !known.contains(&key.as_str())) {
        None => Ok(()),
        Some((key, node)) => {
            let dot = if prefix.is_empty() { "" } else { "." };
            Err(node.error(&format!("{prefix}{dot}{key}"), format_args!("unknown key; known: {}", known.join(", "))))
        }
    }
}

fn required<'a>(node: &'a Node, key: &str, prefix: &str) -> Result<&'a Node, PlanError> {
    node.get(key).ok_or_else(|| node.error(&format!("{prefix}{key}"), "missing"))
}

fn optional<T>(node: &Node, key: &str, read: impl Fn(&Node) -> Result<T, PlanError>) -> Result<Option<T>, PlanError> {
    node.get(key).map(read).transpose()
}

fn flag_of(node: &Node, key: &str) -> Result<bool, PlanError> {
    match node.value {
        Value::Flag(flag) => Ok(flag),
        _ => Err(node.error(key, "write true or false")),
    }
}

fn duration(node: &Node, key: &str) -> Result<Duration, PlanError> {
    let text = quantity_of(node, key, "5s")?;
    parse_duration(text).map_err(|error| node.error(key, error))
}

fn parsed<T>(node: &Node, key: &str, read: impl Fn(&str) -> Result<T, UnknownName>) -> Result<T, PlanError> {
    read(text_of(node, key)?).map_err(|message| node.error(key, message))
}
