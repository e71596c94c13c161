//! Link utilization by traffic type under load: a few lines of the summary.

use rrul_analysis::Analysis;
use rrul_analysis::metrics::octets::octet_account::Account;
use rrul_model::flow::Direction;
use rrul_model::units::BitRate;

use crate::text::table::{SectionBody, Table};
use crate::text::words;
use crate::text::words::direction_word;

/// Shares below this get no column.
const WORTH_TELLING: f64 = 0.01;

/// The lines below the heading; none when nothing was loaded.
pub(crate) fn told(run: &Analysis) -> SectionBody {
    let Some(load) = &run.link_octets.load else { return SectionBody::default() };
    if load.both.goodput_octets == 0 {
        return SectionBody::default();
    }
    let accounts = Direction::ALL.map(|direction| (direction, &load.direction(direction).all));
    let told = |share: fn(&Account) -> Option<f64>| {
        accounts.iter().any(|(_, account)| share(account).is_some_and(|share| share >= WORTH_TELLING))
    };
    let (thinned, estimated) = (told(thinning), told(estimated));
    let mut table = Table::default();
    let mut heads = vec!["carried".to_owned()];
    heads.extend(run.link_octets.link_layer.clone());
    heads.extend(["ACKs", "measurement", "retransmitted"].map(str::to_owned));
    heads.extend(thinned.then(|| "ACKs missing".to_owned()));
    heads.extend(estimated.then(|| "estimated".to_owned()));
    table.named_row("", heads);
    for (direction, account) in accounts {
        let percent = |share: Option<f64>| share.map_or_else(|| "–".to_owned(), words::percent);
        let measuring = account.parts_octets.measuring();
        let mut cells = vec![BitRate(account.carried_bps).to_string()];
        cells.extend(account.link_layer_bps.map(|rate| BitRate(rate).to_string()));
        cells.push(percent(account.acknowledgement_share));
        cells.push(percent(of_carried(account, measuring)));
        cells.push(percent(account.retransmitted_share));
        cells.extend(thinned.then(|| percent(thinning(account))));
        cells.extend(estimated.then(|| percent(self::estimated(account))));
        table.named_row(direction_word(direction), cells);
    }
    let delivered = format!(
        "  Delivered bytes: {} down, {} up, {} total ({}).",
        size(load.down.all.goodput_octets),
        size(load.up.all.goodput_octets),
        size(load.both.goodput_octets),
        BitRate(load.both.goodput_bps)
    );
    SectionBody { table, below: vec![delivered], ..SectionBody::default() }
}

fn thinning(account: &Account) -> Option<f64> {
    account.acknowledgements?.thinning
}

fn estimated(account: &Account) -> Option<f64> {
    of_carried(account, account.estimated_octets)
}

fn of_carried(account: &Account, octets: u64) -> Option<f64> {
    (account.carried_octets > 0).then(|| octets as f64 / account.carried_octets as f64)
}

/// Bytes for people: three significant figures, decimal multiples.
pub(crate) fn size(octets: u64) -> String {
    let value = octets as f64;
    let (scaled, unit) = match octets {
        0..1_000 => return format!("{octets} B"),
        1_000..1_000_000 => (value / 1e3, "kB"),
        1_000_000..1_000_000_000 => (value / 1e6, "MB"),
        _ => (value / 1e9, "GB"),
    };
    let decimals = match scaled {
        s if s < 10.0 => 2,
        s if s < 100.0 => 1,
        _ => 0,
    };
    format!("{scaled:.decimals$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use rrul_analysis::measured::Measured;
    use rrul_analysis::metrics::octets::link_octets::{BothOctets, DirectionOctets, LinkOctets, PhaseOctets};
    use rrul_analysis::metrics::octets::octet_account::{Acknowledgements, OctetParts};

    fn run() -> Analysis {
        let down = Account {
            goodput_octets: 144_800_000,
            carried_octets: 151_000_000,
            carried_bps: 20_133_333,
            parts_octets: OctetParts {
                load_data: 148_000_000,
                load_acknowledgements: 1_510_000,
                probes: 755_000,
                ..OctetParts::default()
            },
            acknowledgement_share: Some(0.01),
            retransmitted_share: Some(0.004),
            ..Account::default()
        };
        let up = Account { goodput_octets: 900, carried_octets: 0, ..Account::default() };
        let all = |all| DirectionOctets { all, ..DirectionOctets::default() };
        let both = BothOctets { goodput_octets: 144_800_900, goodput_bps: 19_306_787, ..BothOctets::default() };
        let load = Some(PhaseOctets { down: all(down), up: all(up), both });
        Analysis {
            measured: Measured { link_octets: LinkOctets { load, ..LinkOctets::default() }, ..Measured::default() },
            ..Analysis::default()
        }
    }

    #[test]
    fn each_direction_says_what_it_carried_and_for_what() {
        assert_eq!(
            told(&run()).lines(),
            [
                "                carried   ACKs  measurement  retransmitted",
                "  Download  20.1 Mbit/s  1.0 %       0.50 %         0.40 %",
                "  Upload        0 bit/s      –            –              –",
                "  Delivered bytes: 145 MB down, 900 B up, 145 MB total (19.3 Mbit/s).",
            ]
        );
    }

    #[test]
    fn what_is_unusual_has_a_column_of_its_own() {
        let mut run = run();
        run.link_octets.link_layer = Some("docsis".to_owned());
        let load = run.link_octets.load.as_mut().unwrap();
        for account in [&mut load.down.all, &mut load.up.all] {
            account.link_layer_bps = Some(20_400_000);
        }
        load.down.all.acknowledgements =
            Some(Acknowledgements { sent: 10, received: 7, thinning: Some(0.3), per_data_segment: None });
        load.down.all.estimated_octets = 151_000_000;
        let lines = told(&run).lines();
        for word in ["docsis", "ACKs missing", "estimated"] {
            assert!(lines[0].contains(word), "{lines:#?}");
        }
        for word in ["20.4 Mbit/s", "30 %", "100 %"] {
            assert!(lines[1].contains(word), "{lines:#?}");
        }
    }

    #[test]
    fn without_load_nothing_is_printed() {
        assert!(told(&Analysis::default()).is_empty());
    }
}
