//! Words that rrul itself made. Every other text of a recording may name a host or a person, and stays out of the archive.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use rrul_analysis::summary::Summary;
use rrul_analysis::summary::schema::schema_of;
use rrul_analysis::validity_rules::reason_words;
use rrul_model::flow::FlowSpec;
use rrul_model::flow_kind::FlowKind;
use rrul_model::marking::ServiceClass;
use serde_json::Value;

/// Congestion controls of Linux and of other kernels.
const CONGESTION_CONTROLS: [&str; 18] = [
    "reno", "newreno", "cubic", "bbr", "bbr2", "bbr3", "dctcp", "prague", "vegas", "westwood", "htcp", "hybla",
    "illinois", "yeah", "bic", "cdg", "lp", "nv",
];

/// Queue disciplines of Linux and of this lab.
const QUEUE_DISCIPLINES: [&str; 18] = [
    "none",
    "cake",
    "cake_mq",
    "fq_codel",
    "codel",
    "fq",
    "fq_pie",
    "pie",
    "dualpi2",
    "red",
    "sfq",
    "sfb",
    "htb",
    "hfsc",
    "tbf",
    "pfifo",
    "bfifo",
    "pfifo_fast",
];

/// The congestion control, or `other`.
pub(crate) fn congestion_control(name: &str) -> &'static str {
    CONGESTION_CONTROLS.into_iter().find(|known| *known == name).unwrap_or("other")
}

/// The queue discipline; `None` of one that is not known.
pub(crate) fn queue_discipline(name: &str) -> Option<&'static str> {
    QUEUE_DISCIPLINES.into_iter().find(|known| *known == name)
}

/// The first numbers of a version behind `prefix`: `6.12` of `Linux 6.12.3-amd64`. Never so many that they could be an address.
pub(crate) fn version(text: &str) -> Option<String> {
    let begin = text.find(|c: char| c.is_ascii_digit())?;
    let mut numbers = text[begin..].split(|c: char| !c.is_ascii_digit());
    let number = |digits: &str| digits.parse::<u16>().ok();
    let (major, minor) = (number(numbers.next()?)?, number(numbers.next()?)?);
    Some(format!("{major}.{minor}"))
}

/// A name for each flow that is made of its type, class, direction and family, by the name that it has in the recording.
pub(crate) fn flow_names(flows: &[FlowSpec]) -> HashMap<String, String> {
    let mut taken: HashMap<String, u32> = HashMap::new();
    let mut names = HashMap::new();
    for flow in flows {
        let direction = flow.direction.map_or_else(String::new, |direction| format!("/{direction}"));
        let plain = format!("{}/{}{direction}/{}", flow_type(flow.kind(), &flow.flow_type), flow.class, flow.family);
        let count = taken.entry(plain.clone()).or_default();
        *count += 1;
        let name = if *count == 1 { plain } else { format!("{plain}#{count}") };
        names.entry(flow.name.clone()).or_insert(name);
    }
    names
}

/// The flow type, or `other` if this version does not know it.
pub(crate) fn flow_type(kind: FlowKind, name: &str) -> &str {
    if kind == FlowKind::Other { "other" } else { name }
}

/// Every word that the summary's own types can say: names of members, of variants, codes of reasons.
static SUMMARY_WORDS: LazyLock<SummaryWords> = LazyLock::new(|| {
    let mut words = SummaryWords::default();
    words.gather(&schema_of::<Summary>());
    words.values.extend(reason_words().map(|word| word.code.to_owned()));
    words
});

#[derive(Debug, Default)]
struct SummaryWords {
    members: HashSet<String>,
    values: HashSet<String>,
}

impl SummaryWords {
    fn gather(&mut self, schema: &Value) {
        match schema {
            Value::Object(keywords) => {
                for (keyword, inner) in keywords {
                    match (keyword.as_str(), inner) {
                        ("properties" | "$defs", Value::Object(members)) => {
                            if keyword == "properties" {
                                self.members.extend(members.keys().cloned());
                            }
                            members.values().for_each(|member| self.gather(member));
                        }
                        ("const", Value::String(word)) => drop(self.values.insert(word.clone())),
                        ("enum", Value::Array(words)) => {
                            self.values.extend(words.iter().filter_map(Value::as_str).map(str::to_owned));
                        }
                        (_, inner) => self.gather(inner),
                    }
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.gather(item)),
            _ => {}
        }
    }
}

/// Takes out of a summary what rrul has not made: texts become null, unknown members go; flows get the names of `flows`.
pub(crate) fn without_free_text(value: &mut Value, flows: &HashMap<String, String>) {
    match value {
        Value::Object(members) => {
            members.retain(|name, _| SUMMARY_WORDS.members.contains(name));
            members.values_mut().for_each(|inner| without_free_text(inner, flows));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| without_free_text(item, flows)),
        Value::String(text) => {
            if let Some(name) = flows.get(text) {
                name.clone_into(text);
            } else if !is_our_word(text) {
                *value = Value::Null;
            }
        }
        _ => {}
    }
}

fn is_our_word(text: &str) -> bool {
    SUMMARY_WORDS.values.contains(text) || text.parse::<ServiceClass>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_two_numbers() {
        for (text, found) in [
            ("Linux 6.12.3-amd64", Some("6.12")),
            ("rrul 0.1.0", Some("0.1")),
            ("192.0.2.7", Some("192.0")),
            ("Linux", None),
            ("7", None),
            ("99999999.1", None),
        ] {
            assert_eq!(version(text).as_deref(), found, "{text}");
        }
    }

    #[test]
    fn words_of_the_types_stay_and_others_go() {
        let mut value = serde_json::json!({
            "validity": { "verdict": "valid", "reasons": [{ "code": "partial", "text": "lost 192.0.2.7" }] },
            "server": "gw.example.net", "gw.example.net": 1,
            "flow": "mine", "class": "EF", "n": 7,
        });
        without_free_text(&mut value, &HashMap::from([("mine".to_owned(), "udp_probe/EF/ipv4".to_owned())]));
        let expected = serde_json::json!({
            "validity": { "verdict": "valid", "reasons": [{ "code": "partial", "text": null }] },
            "server": null, "flow": "udp_probe/EF/ipv4", "class": "EF", "n": 7,
        });
        assert_eq!(value, expected);
    }
}
