//! The options of `rrul tune` and `rrul sweep`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use rrul_model::flow::Direction;
use rrul_model::shaping::Preference;
use rrul_model::units::{ByteCount, parse_duration};

use super::choice::{Word, choice};
use super::{AccessArguments, FamilyChoice};
use crate::tuning::driver::{RESTORE_COMMAND_HELP, SHAPER_HELP};
use crate::tuning::rate_list::RateList;
use crate::tuning::shaper_address::ShaperAddress;

/// The text after the options of `rrul tune --help`.
pub(super) const TUNE_HELP: &str = "\
The shaper is restored when the session ends, however it ends.
After a crash of this host, rrul tune --restore does so.

Example: rrul tune rrul.example.net --shaper openwrt:root@192.168.1.1

Exit status:
  0  rates are recommended, or shaping gains nothing
  1  no recommendation; the summary says why
  2  failure; one line on standard error says why";

/// The text after the options of `rrul sweep --help`.
pub(super) const SWEEP_HELP: &str = "\
Examples:
  rrul sweep rrul.example.net --shaper tc:up=eth0 --up 4M:10M:0.5M
  rrul sweep rrul.example.net --set streams=1,4,16";

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(crate) struct TuneArguments {
    /// Server: HOST, HOST:PORT, `[IPV6]:PORT`, or addresses of one host, with commas
    #[arg(value_name = "HOST", required_unless_present = "restore")]
    pub(crate) server: Option<String>,
    #[command(flatten)]
    pub(crate) shaper: ShaperArguments,
    /// Direction to tune: up, down or both
    #[arg(
        long,
        value_name = "DIRECTION",
        default_value = "both",
        value_parser = choice(DIRECTIONS),
        hide_possible_values = true,
        help_heading = "Search"
    )]
    pub(crate) direction: &'static [Direction],
    /// Most queueing delay at P95 [default: 5ms, more on slow lines]
    ///
    /// A noisy line has more too. With --prefer delay it is that of P99, and with --prefer rate the default is 15 ms.
    #[arg(long, value_name = "DELAY", value_parser = parse_duration, help_heading = "Search")]
    pub(crate) delay: Option<Duration>,
    /// Recommend for balanced, delay or rate
    ///
    /// balanced: the largest rate whose P95 of queueing delay is within the limit. delay: the largest whose P99 is. rate: the
    /// largest that adds at most 15 ms at P95, more on slow or noisy lines.
    #[arg(
        long,
        value_name = "PREFERENCE",
        default_value = "balanced",
        value_parser = choice(PREFERENCES),
        hide_possible_values = true,
        help_heading = "Search"
    )]
    pub(crate) prefer: Preference,
    /// Most time for the search; above 8min, more trials too
    #[arg(long, value_name = "TIME", default_value = "8min", value_parser = minutes, help_heading = "Limits")]
    pub(crate) max_time: Duration,
    /// Most data for the search, such as 2GB [default: no limit]
    #[arg(long, value_name = "SIZE", help_heading = "Limits")]
    pub(crate) max_data: Option<ByteCount>,
    /// Also measure what the shaper gives to each class
    #[arg(long, help_heading = "Search")]
    pub(crate) classes: bool,
    /// Also measure what the line adds to each packet
    ///
    /// Loads each direction with packets of three sizes, or up to eight on ATM, about 15 s each.
    #[arg(long, help_heading = "Search")]
    pub(crate) overhead: bool,
    /// This host is on the Internet side of the shaper
    ///
    /// Its upload is then what the shaper calls download. Results name the directions as this host sees them; the lines to paste
    /// name them as the shaper does.
    #[arg(long, help_heading = "Shaper")]
    pub(crate) outside: bool,
    /// With command: the shaper is on this host, not on a router
    ///
    /// A shaper on a router does not control a queue between this host and the router, and the search refuses such a line.
    #[arg(long, requires = "shaper", conflicts_with = "outside", help_heading = "Shaper")]
    pub(crate) on_this_host: bool,
    /// Leave out the two whole tests that confirm the result
    #[arg(long, help_heading = "Search")]
    pub(crate) no_confirm: bool,
    /// Print what would be set; set and load nothing
    #[arg(long, help_heading = "Limits")]
    pub(crate) dry_run: bool,
    /// Set the rates after a question, with OpenWrt permanently
    #[arg(long, conflicts_with = "dry_run", help_heading = "Shaper")]
    pub(crate) apply: bool,
    /// With --apply: do not ask
    #[arg(long, requires = "apply", help_heading = "Shaper")]
    pub(crate) yes: bool,
    /// Restore shapers that earlier sessions left changed, and exit
    #[arg(long, conflicts_with_all = ["server", "shaper"], help_heading = "Shaper")]
    pub(crate) restore: bool,
    #[command(flatten)]
    pub(crate) session: SessionArguments,
}

#[derive(Debug, Args)]
pub(crate) struct ShaperArguments {
    /// Shaper to set, such as openwrt:root@192.168.1.1 [default: none]
    #[arg(long, value_name = "SHAPER", long_help = SHAPER_HELP, help_heading = "Shaper")]
    pub(crate) shaper: Option<ShaperAddress>,
    /// Command that restores what command: has set [default: none]
    #[arg(long, value_name = "COMMAND", requires = "shaper", long_help = RESTORE_COMMAND_HELP, help_heading = "Shaper")]
    pub(crate) restore_command: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct SessionArguments {
    /// Server port if HOST names none
    #[arg(long, value_name = "PORT", default_value_t = rrul_engine::PORT, help_heading = "Network")]
    pub(crate) port: u16,
    /// IP versions to test
    #[arg(long, value_name = "FAMILY", default_value = "both", help_heading = "Network")]
    pub(crate) family: FamilyChoice,
    #[command(flatten)]
    pub(crate) access: AccessArguments,
    /// Print JSON, as defined by docs/tuning.schema.json
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// Output folder, created if missing [default: COMMAND-DATE]
    #[arg(short, long, value_name = "FOLDER", help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,
    /// Omit host names, addresses and interface names from recordings
    #[arg(long, help_heading = "Output")]
    pub(crate) private: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SweepArguments {
    /// Server: HOST, HOST:PORT, `[IPV6]:PORT`, or addresses of one host, with commas
    #[arg(value_name = "HOST")]
    pub(crate) server: String,
    #[command(flatten)]
    pub(crate) shaper: ShaperArguments,
    /// Upload rates, such as 4M:10M:0.5M or 4M,6M,8M [default: not set]
    ///
    /// FROM:TO:STEP, or a list. Without them the upload is neither loaded nor shaped.
    #[arg(long, value_name = "RATES", requires = "shaper", help_heading = "Settings")]
    pub(crate) up: Option<RateList>,
    /// Download rates, likewise [default: not set]
    ///
    /// As many as upload rates, or one that is held.
    #[arg(long, value_name = "RATES", requires = "shaper", help_heading = "Settings")]
    pub(crate) down: Option<RateList>,
    /// Parameter and its values, such as streams=1,4,16 [default: none]
    ///
    /// One whole test for each value of a parameter of the plan, in place of shaper rates.
    #[arg(long = "set", value_name = "KEY=VALUES", conflicts_with_all = ["up", "down", "shaper"], required_unless_present_any = ["up", "down"], help_heading = "Settings")]
    pub(crate) set: Option<String>,
    /// With --set: the plan of each test
    #[arg(long, value_name = "PLAN", default_value = "rrul", help_heading = "Settings")]
    pub(crate) plan: String,
    #[command(flatten)]
    pub(crate) session: SessionArguments,
}

/// In the order in which they are tuned.
const DIRECTIONS: &[Word<&[Direction]>] = &[
    ("up", "Upload only", &[Direction::Up]),
    ("down", "Download only", &[Direction::Down]),
    ("both", "Upload, then download with the upload shaped, then both", &[Direction::Up, Direction::Down]),
];

const PREFERENCES: &[Word<Preference>] = &[
    ("balanced", "The largest rate whose P95 of queueing delay is within the limit", Preference::Balanced),
    ("delay", "The largest rate whose P99 is within the limit", Preference::Delay),
    ("rate", "The largest rate that adds at most 15 ms at P95", Preference::Rate),
];

/// A duration that also reads `8m` as minutes: no search takes milliseconds.
fn minutes(text: &str) -> Result<Duration, rrul_model::units::UnitError> {
    let number = text.strip_suffix('m').filter(|number| number.chars().all(|c| c.is_ascii_digit() || c == '.'));
    number.map_or_else(|| parse_duration(text), |number| parse_duration(&format!("{number}min")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minutes_may_be_written_with_one_letter() {
        assert_eq!(minutes("8m"), Ok(Duration::from_mins(8)));
        assert_eq!(minutes("90s"), Ok(Duration::from_secs(90)));
        assert!(minutes("m").is_err());
    }
}
