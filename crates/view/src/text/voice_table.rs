//! Voice in the printed summary: a line for each class and direction.

use rrul_analysis::metrics::voice::voip::{Voip, VoipClass};
use rrul_analysis::metrics::voice::voip_quality::VoipQuality;

use crate::text::table::{SectionBody, Table};
use crate::text::words;
use crate::text::words::direction_word;

/// What stands above the table.
pub(crate) const HEADING: &str = "Voice call quality (MOS of G.711 with loss concealment, 1 to 4.4)";

/// The table; empty without voice streams.
pub(crate) fn told(voip: &Voip) -> SectionBody {
    let told: Vec<&VoipClass> = voip.classes.iter().filter(|class| class.idle.or(class.load).is_some()).collect();
    if told.is_empty() {
        return SectionBody::default();
    }
    let mut table = Table::default();
    table.row(["", "MOS idle", "MOS loaded", "lost", "late over 30 ms", "added delay P50"]);
    for class in told {
        let VoipClass { idle, load, .. } = class;
        let share = |of: fn(&VoipQuality) -> u64| {
            load.as_ref().map_or_else(unknown, |load| words::percent(of(load) as f64 / load.sent.max(1) as f64))
        };
        let added = class.added.and_then(|added| added.one_way_delay_p50_ns).map(rrul_model::units::Delay);
        let cells = [
            score(idle.as_ref()),
            score(load.as_ref()),
            share(|load| load.lost),
            share(|load| load.late30),
            words::added(added),
        ];
        table.named_row(&format!("{} {}", direction_word(class.direction), class.class), cells);
    }
    table.into()
}

fn score(quality: Option<&VoipQuality>) -> String {
    quality.and_then(|quality| quality.mos_plc).map_or_else(unknown, |score| format!("{score:.2}"))
}

fn unknown() -> String {
    "–".to_owned()
}
