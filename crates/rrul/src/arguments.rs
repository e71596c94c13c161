//! The commands and options of the command line.
//!
//! The first paragraph of a doc comment here is one line of `-h`; the paragraphs after it are in `--help` and in the manual page.

mod access_help;
#[cfg(feature = "archive")]
mod archive;
#[cfg(feature = "compare")]
mod choice;
#[cfg(test)]
mod help_tests;
mod key;
#[cfg(feature = "lab")]
mod lab;
mod server;
#[cfg(all(feature = "charts", feature = "lab"))]
pub(crate) mod tune;

use std::path::PathBuf;
#[cfg(feature = "charts")]
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
#[cfg(feature = "compare")]
use rrul_analysis::comparison::group::GroupKey;
use rrul_engine::client::Families;
use rrul_model::flow::AddressFamily;
use rrul_model::link_layer::LinkLayer;
#[cfg(feature = "charts")]
use rrul_view::Theme;

#[cfg(feature = "cluster")]
pub(crate) use archive::ExecutorArguments;
#[cfg(feature = "archive")]
pub(crate) use archive::{AddArguments, AnswerFormat, ArchiveAction, ArchiveArguments, QueryArguments};
#[cfg(feature = "compare")]
use choice::{Word, choice};
#[cfg(feature = "tickets")]
pub(crate) use key::TicketArguments;
pub(crate) use key::{KeyAction, KeyArguments};
#[cfg(feature = "lab")]
pub(crate) use lab::{LabAction, LabArguments, LabEnd};
pub(crate) use server::ServerArguments;

use crate::live_screen;

/// Measures latency, loss and rate of a network link, idle and under load
///
/// RRUL is "Realtime Response Under Load". `rrul server` runs on a host beyond the link, `rrul run HOST` on this side of it.
/// The test loads the link in both directions, and measures what this does to calls, games, name lookups and web pages.
#[derive(Debug, Parser)]
#[command(version, max_term_width = 100, after_help = EXIT_STATUS, after_long_help = EXIT_STATUS)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXIT_STATUS: &str = "\
Exit status:
  0  success; the result is valid
  1  success; the result has validity issues, which are printed
  2  failure; one line on standard error says why";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Answer tests from clients, on a host beyond the link to be tested
    Server(Box<ServerArguments>),
    /// Test the link to a server, record the test and print a summary
    Run(RunArguments),
    #[cfg(all(feature = "charts", feature = "lab"))]
    /// Find the rates of a shaper (SQM), and confirm them
    ///
    /// Loads the line, sets the shaper to one rate after another, and recommends the largest rates that keep the queue out of the
    /// line. Then two whole tests compare the shaper as it was found and as recommended.
    #[command(after_help = tune::TUNE_HELP)]
    Tune(Box<tune::TuneArguments>),
    #[cfg(all(feature = "charts", feature = "lab"))]
    /// Measure a list of shaper rates, or of values of a parameter, and compare them
    #[command(after_help = tune::SWEEP_HELP)]
    Sweep(Box<tune::SweepArguments>),
    #[cfg(all(feature = "charts", feature = "lab"))]
    /// Test every combination of settings in one file, and compare them
    Batch(BatchArguments),
    #[cfg(feature = "monitor")]
    /// Watch a line: probes always, full tests at random within a data budget
    ///
    /// Runs until it is stopped, and serves metrics for Prometheus. docs/guide/monitor.md describes FILE.
    Monitor(MonitorArguments),
    #[cfg(all(feature = "charts", feature = "lab"))]
    /// Show bufferbloat on this machine, on two virtual links
    ///
    /// Tests a bloated and a well-managed virtual link, compares both, and writes charts and a report. Needs no server. Needs root, or
    /// user namespaces and access to /dev/net/tun.
    Demo(DemoArguments),
    #[cfg(feature = "lab")]
    /// Create virtual links for experiments
    Lab(LabArguments),
    /// Print the summary of a recording
    Show(ShowArguments),
    #[cfg(feature = "compare")]
    /// Compare recordings: which is better, by how much, how certain
    Compare(CompareArguments),
    #[cfg(feature = "charts")]
    /// Draw charts of recordings
    Plot(PlotArguments),
    #[cfg(feature = "charts")]
    /// Write an HTML report of recordings: verdict, charts, all figures
    #[command(after_help = REPORT_HELP)]
    Report(ReportArguments),
    #[cfg(feature = "export")]
    /// Convert a recording to CSV, JSON, Parquet, HAR or Flent's format
    Convert(ConvertArguments),
    #[cfg(feature = "archive")]
    /// Keep the figures of many runs in one archive
    Archive(ArchiveArguments),
    #[cfg_attr(feature = "tickets", doc = " Make and show keys, and tokens and tickets of clients")]
    #[cfg_attr(not(feature = "tickets"), doc = " Make and show keys of servers, and tokens of clients")]
    Key(KeyArguments),
    /// List plans, flow types, link layers, scores and more
    List(ListArguments),
    #[cfg(feature = "manual")]
    /// Print the completion script of a shell
    ///
    /// For bash: rrul completions bash > ~/.local/share/bash-completion/completions/rrul
    Completions(CompletionsArguments),
    #[cfg(feature = "manual")]
    /// Write the manual pages into a folder
    ///
    /// For example: rrul man ~/.local/share/man/man1, then man rrul-run
    Man(ManArguments),
    #[cfg(not(all(feature = "charts", feature = "export", feature = "lab", feature = "monitor")))]
    #[command(flatten)]
    Absent(crate::absent::AbsentCommand),
    /// Restore the terminal after a killed run
    #[command(hide = true, name = live_screen::guard::COMMAND)]
    GuardTerminal,
}

#[cfg(feature = "log")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// A line for each event
    Text,
    /// A JSON object in each line
    Json,
}

#[derive(Debug, Args)]
pub(crate) struct PlanArguments {
    /// Test plan: a name from `rrul list plans`, or a file
    #[arg(long, default_value = "rrul", value_name = "PLAN", help_heading = "Test")]
    pub(crate) plan: String,
    /// Change the plan, e.g. load=30s or streams=8 (repeatable)
    ///
    /// KEY is a phase (load=30s), a parameter of the plan (streams=8), or any key (flow.probe.interval=5ms). docs/plans.md
    /// lists them.
    #[arg(long = "set", value_name = "KEY=VALUE", help_heading = "Test")]
    pub(crate) settings: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    /// Server: HOST, HOST:PORT, `[IPV6]:PORT`, or addresses of one host, with commas
    #[arg(value_name = "HOST")]
    pub(crate) server: String,
    #[command(flatten)]
    pub(crate) plan: PlanArguments,
    /// Seed of the probes' send times, an integer [default: random]
    #[arg(long, value_name = "N", help_heading = "Test")]
    pub(crate) seed: Option<u64>,
    /// Server port if HOST names none
    #[arg(long, value_name = "PORT", default_value_t = rrul_engine::PORT, help_heading = "Network")]
    pub(crate) port: u16,
    /// IP versions to test
    #[arg(long, value_name = "FAMILY", default_value = "both", help_heading = "Network")]
    pub(crate) family: FamilyChoice,
    #[command(flatten)]
    pub(crate) access: AccessArguments,
    /// Do not wait in line while other tests load the server's line
    #[arg(long, help_heading = "Test")]
    pub(crate) no_wait: bool,
    /// Link-layer overhead, see `rrul list link-layers` [default: the plan's]
    ///
    /// For example docsis, or atm/pppoe-llcsnap+vlan. Rates on the wire are computed with it.
    #[arg(long, value_name = "LAYER", help_heading = "Network")]
    pub(crate) link_layer: Option<LinkLayer>,
    /// Recording to write [default: PLAN-DATE.rrul in this folder]
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,
    /// Title of the recording and its charts
    #[arg(long, value_name = "TEXT", default_value = "", help_heading = "Output")]
    pub(crate) title: String,
    /// Print progress as one line per second instead of the live screen
    #[arg(long, help_heading = "Output")]
    pub(crate) plain: bool,
    /// Omit host names, addresses and interface names from the recording
    #[arg(long, help_heading = "Output")]
    pub(crate) private: bool,
}

/// What a server is to know of who asks it.
#[derive(Debug, Args)]
pub(crate) struct AccessArguments {
    #[arg(long, value_name = "FILE", help_heading = "Access", help = access_help::TOKEN_FILE, long_help = access_help::TOKEN_FILE_LONG)]
    pub(crate) token_file: Option<PathBuf>,
    /// Encrypt control messages: auto, always or never
    ///
    /// auto encrypts when the server has a key, and always when it had one in an earlier test.
    #[arg(long, value_name = "WHEN", default_value = "auto", hide_possible_values = true, help_heading = "Access")]
    pub(crate) encrypt: EncryptChoice,
    /// Test only if this is the server's key [default: the first met]
    ///
    /// FINGERPRINT is what rrul key show FILE prints at the server. Without it the key of the first test is remembered, in
    /// ~/.local/share/rrul/known_servers, and another one is refused later.
    #[arg(long, value_name = "FINGERPRINT", help_heading = "Access")]
    pub(crate) server_key: Option<rrul_engine::control_link::Fingerprint>,
    #[cfg(feature = "certificates")]
    /// Demand a certificate of these authorities [default: none]
    ///
    /// FILE has certificates of authorities in PEM form. The server has to show a certificate of one of them, for HOST. Without this
    /// option a certificate is verified by the authorities that this host trusts, and a server that has none is recognized by its key.
    #[arg(long, value_name = "FILE", conflicts_with = "server_key", help_heading = "Access")]
    pub(crate) ca: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum EncryptChoice {
    /// When the server has a key
    Auto,
    /// Encrypt, or refuse to test
    Always,
    /// Not even when the server has a key
    Never,
}

impl From<EncryptChoice> for rrul_engine::client::Encryption {
    fn from(choice: EncryptChoice) -> Self {
        match choice {
            EncryptChoice::Auto => Self::Offered,
            EncryptChoice::Always => Self::Required,
            EncryptChoice::Never => Self::Never,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FamilyChoice {
    /// IPv4 only
    #[value(name = "4", alias = "ipv4")]
    Ipv4,
    /// IPv6 only
    #[value(name = "6", alias = "ipv6")]
    Ipv6,
    /// Both at the same time, as far as they work
    #[value(name = "both")]
    Both,
}

impl From<FamilyChoice> for Families {
    fn from(choice: FamilyChoice) -> Self {
        match choice {
            FamilyChoice::Ipv4 => Self::Only(AddressFamily::Ipv4),
            FamilyChoice::Ipv6 => Self::Only(AddressFamily::Ipv6),
            FamilyChoice::Both => Self::Both,
        }
    }
}

#[cfg(all(feature = "charts", feature = "lab"))]
#[derive(Debug, Args)]
pub(crate) struct BatchArguments {
    /// Batch file, described in docs/batch.md
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Output folder, created if missing [default: FILE without its extension]
    ///
    /// An interrupted batch continues when the same folder is given again.
    #[arg(short, long, value_name = "FOLDER")]
    pub(crate) output: Option<PathBuf>,
    /// List the runs and their total time, but run nothing
    #[arg(long)]
    pub(crate) list: bool,
    #[command(flatten)]
    pub(crate) access: AccessArguments,
}

#[cfg(feature = "monitor")]
#[derive(Debug, Args)]
pub(crate) struct MonitorArguments {
    /// Monitor file: the server, the budget, when to test
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Output folder, created if missing [default: FILE without its extension]
    ///
    /// A monitor that is started anew with the same folder continues.
    #[arg(short, long, value_name = "FOLDER")]
    pub(crate) output: Option<PathBuf>,
}

#[cfg(all(feature = "charts", feature = "lab"))]
#[derive(Debug, Args)]
pub(crate) struct DemoArguments {
    /// Test plan: a name from `rrul list plans`, or a file
    #[arg(long, default_value = "quick", value_name = "PLAN", help_heading = "Test")]
    pub(crate) plan: String,
    /// Change the plan, as in `rrul run` (repeatable)
    #[arg(long = "set", value_name = "KEY=VALUE", help_heading = "Test")]
    pub(crate) settings: Vec<String>,
    /// Links to compare [default: cable_20_8_pfifo cable_20_8_fq_codel]
    ///
    /// Each is a name from `rrul list links`, or a file.
    #[arg(long, num_args = 2, value_names = ["BEFORE", "AFTER"], default_values = ["cable_20_8_pfifo", "cable_20_8_fq_codel"], hide_default_value = true, help_heading = "Test")]
    pub(crate) links: Vec<String>,
    /// Output folder, created if missing
    #[arg(short, long, value_name = "FOLDER", default_value = "rrul-demo", help_heading = "Output")]
    pub(crate) output: PathBuf,
}

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(crate) struct ShowArguments {
    /// Recording to read
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Print every section
    #[arg(long, conflicts_with_all = ["json", "equalizer"], help_heading = "Output")]
    pub(crate) full: bool,
    /// Print one section, such as delay or scores (repeatable)
    ///
    /// Sections: validity, tuning, scores, pages, delay, loss, rate, voice, sharing, connect, dns, short-flows, video,
    /// stream-delay, link, transactions, markings, path, measurement, hosts.
    #[arg(long = "section", value_name = "NAME", conflicts_with_all = ["full", "json", "equalizer"], help_heading = "Output")]
    pub(crate) sections: Vec<String>,
    /// Print bars of the scores over time by class, IP version and direction
    #[arg(long, conflicts_with = "json", help_heading = "Output")]
    pub(crate) equalizer: bool,
    /// Print JSON, as defined by docs/summary.schema.json
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// Link-layer overhead, see `rrul list link-layers` [default: recorded]
    ///
    /// For example docsis, or atm/pppoe-llcsnap+vlan. Rates on the wire are computed with it.
    #[arg(long, value_name = "LAYER", help_heading = "Calculation")]
    pub(crate) link_layer: Option<LinkLayer>,
    /// Compute scores even if the server is farther away than RRUL allows
    #[arg(long, help_heading = "Calculation")]
    pub(crate) score_anyway: bool,
}

#[cfg(feature = "compare")]
#[derive(Debug, Args)]
pub(crate) struct CompareArguments {
    /// Recordings; the first is the reference
    #[arg(value_name = "FILE", required = true, num_args = 2..)]
    pub(crate) files: Vec<PathBuf>,
    /// Group runs by
    ///
    /// Recordings that have this in common count as repetitions of one setting. The group of the first file is the reference.
    /// Default: no grouping; each recording is a group.
    #[arg(long, value_name = "KEY", value_parser = choice(GROUP_KEYS))]
    pub(crate) by: Option<GroupKey>,
    /// Compare even if plans, workload versions or pages differ
    #[arg(long)]
    pub(crate) anyway: bool,
    /// Print JSON, as defined by docs/comparison.schema.json
    #[arg(long)]
    pub(crate) json: bool,
}

#[cfg(feature = "compare")]
const GROUP_KEYS: &[Word<GroupKey>] = &[
    ("title", "The title given with `rrul run --title`", GroupKey::Title),
    ("plan", "The plan", GroupKey::Plan),
    ("server", "The server", GroupKey::Server),
    ("client", "The client host", GroupKey::Client),
    ("families", "The address families tested", GroupKey::Families),
    ("day", "The day, UTC", GroupKey::Day),
];

#[cfg(feature = "export")]
#[derive(Debug, Args)]
pub(crate) struct ConvertArguments {
    /// Recording of rrul, or data file of Flent
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Output format
    ///
    /// Default: flent for a recording of rrul, rrul for a file of Flent.
    #[arg(long, value_name = "FORM")]
    pub(crate) to: Option<ConvertForm>,
    /// Same as --to har
    #[arg(long, conflicts_with = "to", hide = true)]
    pub(crate) har: bool,
    /// File to write [default: FILE with the extension of the format]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Overwrite existing files
    #[arg(long)]
    pub(crate) force: bool,
}

#[cfg(feature = "export")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ConvertForm {
    /// Recording of rrul
    Rrul,
    /// Data file of Flent, version 4
    Flent,
    /// Page loads as an HTTP archive (HAR 1.2) for browsers and waterfall viewers
    Har,
    /// Two tables: NAME-series.csv (values over time) and NAME-samples.csv (every packet)
    Csv,
    /// The tables of csv as one JSON object
    Json,
    /// The tables of csv as NAME-series.parquet and NAME-samples.parquet
    Parquet,
}

#[cfg(feature = "charts")]
#[derive(Debug, Args)]
pub(crate) struct PlotArguments {
    /// Recordings to draw
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Chart: a name from `rrul list charts`, or "all"
    ///
    /// With "all", every chart that these recordings can show is drawn.
    #[arg(long, default_value = "overview", value_name = "CHART", help_heading = "Chart")]
    pub(crate) chart: String,
    /// Colors
    #[arg(long, default_value = "light", value_name = "THEME", value_parser = choice(THEMES), help_heading = "Chart")]
    pub(crate) theme: &'static Theme,
    /// Width of a PNG in units of 1160 pixels
    #[arg(long, default_value_t = 2.0, value_name = "N", help_heading = "Chart")]
    pub(crate) scale: f32,
    /// File to write: .svg, .png or .pdf [default: FILE-CHART.svg]
    ///
    /// With --chart all, the folder to write to [default: FILE-charts].
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,
    /// Format without -o [default: svg]
    #[arg(long, value_name = "FORMAT", help_heading = "Output")]
    pub(crate) format: Option<PictureFormat>,
    /// Overwrite existing charts
    #[arg(long, help_heading = "Output")]
    pub(crate) force: bool,
}

#[cfg(feature = "charts")]
/// The text after the options of `rrul report --help`.
const REPORT_HELP: &str = "\
The report is one HTML file. It opens from disk, loads no external resources, and can be printed.
With several recordings it starts with a comparison; all charts then share their axes.
Of the folder of a monitor it shows the line by date and by hour of day, with a row for each run.
Data files of Flent work, with fewer figures. The same recordings give the same file.

Examples:
  rrul report before.rrul after.rrul -o change.html
  rrul report --since 7d home";

#[cfg(feature = "charts")]
#[derive(Debug, Args)]
pub(crate) struct ReportArguments {
    /// Recordings, in the order of the report, or folders of monitors
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Show the line by date and hour, of runs up to this age: 7d [default: any]
    #[arg(long, value_name = "AGE", value_parser = humantime::parse_duration)]
    pub(crate) since: Option<Duration>,
    /// File to write [default: FILE.html in this folder]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Compute scores even if the server is farther away than RRUL allows
    #[arg(long)]
    pub(crate) score_anyway: bool,
    /// Overwrite existing files
    #[arg(long)]
    pub(crate) force: bool,
}

#[cfg(feature = "charts")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PictureFormat {
    /// Vector graphics, for web pages and editing
    Svg,
    /// Pixels
    Png,
    /// Vector graphics, for papers
    Pdf,
}

#[cfg(feature = "charts")]
const THEMES: &[Word<&Theme>] = &[
    ("light", "Dark on white, for screens and paper", &Theme::LIGHT),
    ("dark", "Light on dark, for slides", &Theme::DARK),
];

#[derive(Debug, Args)]
pub(crate) struct ListArguments {
    /// Topic
    ///
    /// Default: all topics.
    pub(crate) what: Option<ListChoice>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ListChoice {
    /// Test plans, for --plan
    Plans,
    #[cfg(feature = "charts")]
    /// Charts, for --chart
    Charts,
    /// Flow types, for plans
    Flows,
    #[cfg(feature = "lab")]
    /// Virtual links, for the lab
    Links,
    /// Link-layer overheads, for --link-layer
    LinkLayers,
    #[cfg(feature = "export")]
    /// Figures of the summary and their definitions
    Metrics,
    /// Scores and their sources
    Scores,
}

#[cfg(feature = "manual")]
#[derive(Debug, Args)]
pub(crate) struct CompletionsArguments {
    /// Shell to print the script for
    #[arg(value_name = "SHELL")]
    pub(crate) shell: clap_complete::Shell,
}

#[cfg(feature = "manual")]
#[derive(Debug, Args)]
pub(crate) struct ManArguments {
    /// Folder for the pages, created if missing
    #[arg(value_name = "FOLDER")]
    pub(crate) folder: PathBuf,
}
