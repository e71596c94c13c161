//! The host that ran Flent.

use super::document::{EgressInfo, Metadata, QueueDiscipline};
use super::scalar::Scalar;
use crate::environment::Environment;
use crate::printable::is_unprintable;

/// Most kernel settings that are kept.
const MOST_SETTINGS: usize = 256;

/// The client's description, as far as Flent records it. Queue disciplines stand among the settings, as text.
pub(super) fn client(metadata: &Metadata, tool: &str) -> Environment {
    let kernel = [&metadata.kernel_name, &metadata.kernel_release].into_iter().filter_map(Scalar::text);
    let settings = metadata.sysctls.0.iter().take(MOST_SETTINGS);
    let settings = settings.filter_map(|(name, value)| Some((short(name), value.text()?)));
    let mut environment = Environment {
        program: tool.to_owned(),
        host: metadata.local_host.text().unwrap_or_default(),
        kernel: kernel.collect::<Vec<_>>().join(" "),
        settings: settings.collect(),
        ..Environment::default()
    };
    if let Some(egress) = &metadata.egress_info.0 {
        environment.settings.extend(queue_disciplines(egress));
    }
    environment
}

fn queue_disciplines(egress: &EgressInfo) -> Vec<(String, String)> {
    let interface = egress.iface.text().unwrap_or_else(|| "egress".to_owned());
    let mut entries: Vec<(String, String)> =
        egress.driver.text().map(|driver| (format!("interface.{interface}.driver"), driver)).into_iter().collect();
    for (number, discipline) in egress.qdiscs.0.iter().enumerate() {
        entries.push((format!("interface.{interface}.qdisc{number}"), words(discipline)));
    }
    entries
}

/// As tc(8) writes it: `fq_codel 8001: root limit 10240p`.
fn words(discipline: &QueueDiscipline) -> String {
    let mut words: Vec<String> =
        [&discipline.name, &discipline.id, &discipline.parent].into_iter().filter_map(Scalar::text).collect();
    for (name, value) in discipline.params.0.iter().take(64) {
        words.push(short(name));
        words.extend(value.text());
    }
    words.join(" ")
}

fn short(name: &str) -> String {
    name.chars().filter(|c| !is_unprintable(*c)).take(100).collect()
}
