//! The recommended rates as lines to paste into routers and firewalls.

use rrul_analysis::tuning::result::{TuningResult, VaryingRate};
use rrul_model::flow::Direction;
use rrul_model::units::BitRate;

/// Most bytes of the name of an interface of Linux, IFNAMSIZ less its end.
const INTERFACE_NAME: usize = 15;

/// Most bytes of the name of a section, and digits of the number of one without a name.
const SECTION_NAME: usize = 64;
const SECTION_NUMBER: usize = 3;

/// The lines for one system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Settings {
    /// The system.
    pub(crate) system: &'static str,
    pub(crate) lines: Vec<String>,
}

/// Returns what to paste, the system that was tuned first; nothing without rates.
pub(crate) fn settings(result: &TuningResult) -> Vec<Settings> {
    let mut all = Vec::new();
    let varying = Direction::ALL
        .map(|direction| result.directions.get(client(result, direction)).as_ref().and_then(|tuned| tuned.varying));
    if varying.iter().any(Option::is_some) {
        all.push(Settings { system: "cake-autorate", lines: autorate(varying) });
    }
    let rates = Direction::ALL.map(|direction| result.recommended.direction(client(result, direction)));
    if rates.iter().any(Option::is_some) {
        let mut fixed = vec![
            Settings { system: "OpenWrt", lines: openwrt(result, rates) },
            Settings { system: "Linux", lines: cake(result, rates) },
            Settings { system: "MikroTik", lines: mikrotik(result, rates).into_iter().collect() },
            Settings { system: "OPNsense", lines: opnsense(rates) },
        ];
        let own = if result.shaper.driver == "tc" { "Linux" } else { "OpenWrt" };
        fixed.retain(|settings| !settings.lines.is_empty());
        fixed.sort_by_key(|settings| settings.system != own);
        all.extend(fixed);
    }
    all
}

/// The direction in which the client sees what the shaper calls by this name.
fn client(result: &TuningResult, direction: Direction) -> Direction {
    if result.shaper.outside { direction.opposite() } else { direction }
}

/// Download and upload as the shaper names them, in this order.
type Rates = [Option<BitRate>; 2];

/// kbit/s, rounded down: a rate just above that of the line is worse than one just below.
fn kilobits(rate: BitRate) -> u64 {
    rate.0 / 1000
}

fn openwrt(result: &TuningResult, [down, up]: Rates) -> Vec<String> {
    let section = section(result);
    let set =
        |key: &str, rate: Option<BitRate>| rate.map(|rate| format!("uci set sqm.{section}.{key}={}", kilobits(rate)));
    let commit = Some("uci commit sqm; /etc/init.d/sqm restart".to_owned());
    [set("download", down), set("upload", up), commit].into_iter().flatten().collect()
}

/// The section of SQM that was tuned. On another system than OpenWrt it is the first; a router of which it is unknown may have
/// several.
fn section(result: &TuningResult) -> &str {
    match &result.shaper.section {
        Some(section) if is_section(section) => section,
        None if result.shaper.driver != "openwrt" => "@queue[0]",
        _ => "SECTION",
    }
}

/// Whether uci can have named a section so: `eth1`, `@queue[0]`. A recording may come from anybody, and these lines are pasted into
/// the shells of routers.
fn is_section(text: &str) -> bool {
    let number = text.strip_prefix("@queue[").and_then(|rest| rest.strip_suffix(']'));
    match number {
        Some(number) => (1..=SECTION_NUMBER).contains(&number.len()) && number.bytes().all(|c| c.is_ascii_digit()),
        None => {
            (1..=SECTION_NAME).contains(&text.len()) && text.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_')
        }
    }
}

/// Whether this can be the name of a network interface, and is but one word to a shell.
fn is_interface(text: &str) -> bool {
    let is_safe = |c: u8| c.is_ascii_alphanumeric() || b"-_.@:".contains(&c);
    (1..=INTERFACE_NAME).contains(&text.len()) && !text.starts_with('-') && text.bytes().all(is_safe)
}

/// Of Linux only CAKE, and a shaper whose discipline is unknown: a change of htb or tbf sets all that it has, which is not recorded.
fn cake(result: &TuningResult, rates: Rates) -> Vec<String> {
    let line = |(direction, rate): (Direction, Option<BitRate>)| {
        let rate = kilobits(rate?);
        let disciplines = (&result.shaper.up_discipline, &result.shaper.down_discipline);
        let discipline = client(result, direction).select(disciplines.0, disciplines.1).as_deref().unwrap_or("cake");
        let interface = interface(result, direction);
        discipline
            .starts_with("cake")
            .then(|| format!("tc qdisc change dev {interface} root cake bandwidth {rate}kbit"))
    };
    Direction::ALL.into_iter().zip(rates).filter_map(line).collect()
}

/// The network interface that shapes a direction, where the driver names it: `down ifb4eth0`.
fn interface(result: &TuningResult, direction: Direction) -> String {
    let mut words = result.shaper.target.split([' ', ',']).filter(|word| !word.is_empty());
    words.find(|word| *word == direction.name());
    words.next().filter(|word| is_interface(word)).unwrap_or(direction.select("WAN", "IFB")).to_owned()
}

/// Upload before download: a queue's target is the network behind the router. The line sets both, so a direction without a
/// recommendation gets the rate that it had; where that is unknown, no line is right.
fn mikrotik(result: &TuningResult, [down, up]: Rates) -> Option<String> {
    let found = |direction| result.shaper.found?.direction(client(result, direction));
    let [down, up] = [down.or(found(Direction::Down))?, up.or(found(Direction::Up))?].map(kilobits);
    Some(format!("/queue simple set [find name=\"NAME\"] max-limit={up}k/{down}k"))
}

fn opnsense(rates: Rates) -> Vec<String> {
    let line = |(direction, rate): (Direction, Option<BitRate>)| {
        let word = direction.select("up", "down");
        Some(format!("{{\"pipe\":{{\"bandwidth\":\"{}\",\"bandwidthMetric\":\"Kbit\"}}}} ({word})", kilobits(rate?)))
    };
    Direction::ALL.into_iter().zip(rates).filter_map(line).collect()
}

fn autorate([down, up]: [Option<VaryingRate>; 2]) -> Vec<String> {
    let line = |word: &str, rate: fn(&VaryingRate) -> BitRate| {
        let of = |way: &str, varying: &Option<VaryingRate>| {
            varying.as_ref().map(|varying| format!("{word}_{way}_shaper_rate_kbps={}", kilobits(rate(varying))))
        };
        let parts: Vec<String> = [of("dl", &down), of("ul", &up)].into_iter().flatten().collect();
        parts.join(" ")
    };
    vec![line("min", |v| v.p10), line("base", |v| v.p50), line("max", |v| v.p90)]
}
