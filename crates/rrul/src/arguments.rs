//! What the user may type.

#[cfg(feature = "lab")]
mod lab;

use std::net::IpAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use rrul_analysis::comparison::group::GroupKey;
use rrul_engine::client::Families;
use rrul_model::flow::AddressFamily;
use rrul_model::link_layer::LinkLayer;

#[cfg(feature = "lab")]
pub(crate) use lab::{LabAction, LabArguments, LabEnd};

use crate::live_screen;

/// Realtime Response Under Load: what a link does to calls, games and pages while it is full.
#[derive(Debug, Parser)]
#[command(version, about, long_about = None, max_term_width = 100)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Answer tests: run this on a host beyond the link that is to be measured
    Server(ServerArguments),
    /// Run a test against a server, record it and say what it found
    Run(RunArguments),
    #[cfg(all(feature = "charts", feature = "lab"))]
    /// Run many tests from one file: every combination of what varies, again and again, and compare them
    Batch(BatchArguments),
    #[cfg(all(feature = "charts", feature = "lab"))]
    /// See bufferbloat on this very machine: a bloated and a well-managed virtual link, measured, compared and reported
    Demo(DemoArguments),
    #[cfg(feature = "lab")]
    /// Virtual links for experiments
    Lab(LabArguments),
    /// Print the summary of a recording
    Show(ShowArguments),
    /// Say which of several recordings is better, by how much, and how sure that is
    Compare(CompareArguments),
    #[cfg(feature = "charts")]
    /// Draw recordings
    Plot(PlotArguments),
    #[cfg(feature = "charts")]
    /// Write recordings as one page for a browser: verdict, charts to zoom and read, every figure, what is missing
    #[command(after_help = REPORT_HELP)]
    Report(ReportArguments),
    /// Write what a recording holds in a form that other tools read
    Convert(ConvertArguments),
    /// What there is: plans, charts, flow types, links, link layers, metrics, scores
    List(ListArguments),
    #[cfg(not(all(feature = "charts", feature = "lab")))]
    #[command(flatten)]
    Absent(crate::absent::AbsentCommand),
    /// Set the terminal back when a run was killed
    #[command(hide = true, name = live_screen::guard::COMMAND)]
    GuardTerminal,
}

#[derive(Debug, Args)]
pub(crate) struct ServerArguments {
    /// Listen on this address only (may be repeated)
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Vec<IpAddr>,
    /// TCP and UDP port
    #[arg(long, default_value_t = rrul_engine::PORT)]
    pub(crate) port: u16,
    /// Sessions at one time
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_sessions: u32,
    /// Longest test that is granted
    #[arg(long, value_name = "TIME", default_value = "10min", value_parser = rrul_model::units::parse_duration)]
    pub(crate) max_length: std::time::Duration,
    /// Rate of UDP floods that one session may send and ask for, such as 20Mbit/s
    #[arg(long, value_name = "RATE", default_value = "0bit/s")]
    pub(crate) allow_flood: rrul_model::units::BitRate,
    /// Tell clients neither this host's name nor its addresses nor the names of its interfaces
    #[arg(long)]
    pub(crate) private: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PlanArguments {
    /// The plan: a name from `rrul list plans`, or a file
    #[arg(long, default_value = "rrul", value_name = "PLAN")]
    pub(crate) plan: String,
    /// Change the plan: a phase (load=30s), a parameter of the plan (streams=8) or any key (flow.probe.interval=5ms)
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) settings: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    /// The server: HOST, HOST:PORT, or several addresses of one host joined by commas
    #[arg(value_name = "HOST")]
    pub(crate) server: String,
    #[command(flatten)]
    pub(crate) plan: PlanArguments,
    /// The address family to test
    #[arg(long, default_value = "both")]
    pub(crate) family: FamilyChoice,
    /// What the line puts around IP packets, from `rrul list link-layers`, such as docsis or atm/pppoe-llcsnap+vlan
    #[arg(long, value_name = "LAYER")]
    pub(crate) link_layer: Option<LinkLayer>,
    /// A title for the recording and its charts
    #[arg(long, default_value = "")]
    pub(crate) title: String,
    /// Where to write the recording [default: PLAN-DATE.rrul in this folder]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// The server's port, where HOST names none
    #[arg(long, default_value_t = rrul_engine::PORT)]
    pub(crate) port: u16,
    /// Leave names and addresses of both hosts, and of their interfaces, out of the recording
    #[arg(long)]
    pub(crate) private: bool,
    /// Seed of the probes' schedules [default: random]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Show progress as a plain line a second, also in a terminal
    #[arg(long)]
    pub(crate) plain: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FamilyChoice {
    /// IPv4 only
    #[value(name = "4", alias = "ipv4")]
    Ipv4,
    /// IPv6 only
    #[value(name = "6", alias = "ipv6")]
    Ipv6,
    /// Every family that works
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
    /// The batch file; docs/batch.md says what may stand in it
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The folder for everything, made if need be; a batch that was interrupted is taken up there [default: the file's name without ending]
    #[arg(short, long, value_name = "FOLDER")]
    pub(crate) output: Option<PathBuf>,
    /// Only say what would be run, and for how long
    #[arg(long)]
    pub(crate) list: bool,
}

#[cfg(all(feature = "charts", feature = "lab"))]
#[derive(Debug, Args)]
pub(crate) struct DemoArguments {
    /// The plan to run over both links
    #[arg(long, default_value = "quick", value_name = "PLAN")]
    pub(crate) plan: String,
    /// Change the plan, as with `rrul run`
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) settings: Vec<String>,
    /// The two links to compare, names from `rrul list links` or files
    #[arg(long, num_args = 2, value_names = ["BEFORE", "AFTER"], default_values = ["cable_20_8_pfifo", "cable_20_8_fq_codel"])]
    pub(crate) links: Vec<String>,
    /// The folder to write to, made if need be
    #[arg(short, long, value_name = "FOLDER", default_value = "rrul-demo")]
    pub(crate) output: PathBuf,
}

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(crate) struct ShowArguments {
    /// The recording
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// What the line puts around IP packets, from `rrul list link-layers` [default: as the recording says]
    #[arg(long, value_name = "LAYER")]
    pub(crate) link_layer: Option<LinkLayer>,
    /// Print everything, in sections
    #[arg(long, conflicts_with_all = ["json", "equaliser"])]
    pub(crate) full: bool,
    /// Print one section of the full summary: validity, scores, pages, delay, loss, rate, voice, sharing, connect, dns,
    /// short-flows, video, stream-delay, link, transactions, markings, path, measurement, hosts; repeatable
    #[arg(long = "section", value_name = "NAME", conflicts_with_all = ["full", "json", "equaliser"])]
    pub(crate) sections: Vec<String>,
    /// As JSON, by docs/summary.schema.json
    #[arg(long)]
    pub(crate) json: bool,
    /// Scores over time by class, family and direction, as bars
    #[arg(long, conflicts_with = "json")]
    pub(crate) equaliser: bool,
    /// Give scores although the server is farther away than the specification allows
    #[arg(long)]
    pub(crate) score_anyway: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CompareArguments {
    /// The recordings; the first is what the others are compared with
    #[arg(value_name = "FILE", required = true, num_args = 2..)]
    pub(crate) files: Vec<PathBuf>,
    /// Take recordings that have this in common for repetitions of one setting; the group of the first is the reference
    #[arg(long, value_name = "KEY")]
    pub(crate) by: Option<GroupChoice>,
    /// Compare although the recordings are of different plans, workload versions or pages
    #[arg(long)]
    pub(crate) anyway: bool,
    /// As JSON, by docs/comparison.schema.json
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum GroupChoice {
    /// The title given with `rrul run --title`
    Title,
    /// The plan
    Plan,
    /// The server
    Server,
    /// The client host
    Client,
    /// The address families tested
    Families,
    /// The day, UTC
    Day,
}

impl From<GroupChoice> for GroupKey {
    fn from(choice: GroupChoice) -> Self {
        match choice {
            GroupChoice::Title => Self::Title,
            GroupChoice::Plan => Self::Plan,
            GroupChoice::Server => Self::Server,
            GroupChoice::Client => Self::Client,
            GroupChoice::Families => Self::Families,
            GroupChoice::Day => Self::Day,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct ConvertArguments {
    /// The recording, or a file of Flent
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The form [default: flent of a recording of rrul, rrul of a file of Flent]
    #[arg(long, value_name = "FORM")]
    pub(crate) to: Option<ConvertForm>,
    /// The same as --to har
    #[arg(long, conflicts_with = "to", hide = true)]
    pub(crate) har: bool,
    /// Where to write it [default: NAME with the form's ending, beside the file]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Write over a file that is there
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ConvertForm {
    /// A recording of rrul
    Rrul,
    /// A file of Flent, version 4
    Flent,
    /// Page loads as an HTTP archive (HAR 1.2), which browsers and waterfall viewers read
    Har,
    /// Two tables: NAME-series.csv, what changes over time, and NAME-samples.csv, every packet
    Csv,
    /// Both tables as one JSON object
    Json,
    #[cfg(feature = "export")]
    /// Two tables as with csv: NAME-series.parquet and NAME-samples.parquet
    Parquet,
}

#[cfg(feature = "charts")]
#[derive(Debug, Args)]
pub(crate) struct PlotArguments {
    /// The recordings
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// The chart, a name from `rrul list charts`; "all" draws every chart that these recordings can show
    #[arg(long, default_value = "overview", value_name = "CHART")]
    pub(crate) chart: String,
    /// Where to write it; the ending says the format: .svg, .png or .pdf [default: NAME-CHART.svg]; of "all", a folder [default: NAME-charts]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// The format where no file name says it [default: svg]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<PictureFormat>,
    /// Pixels of PNG for each unit of the chart, which is 1160 units wide
    #[arg(long, default_value_t = 2.0, value_name = "N")]
    pub(crate) scale: f32,
    /// Colours
    #[arg(long, default_value = "light", value_name = "THEME")]
    pub(crate) theme: ThemeChoice,
    /// Write over a chart that is there
    #[arg(long)]
    pub(crate) force: bool,
}

#[cfg(feature = "charts")]
/// What is to be known of `rrul report` beside its arguments.
const REPORT_HELP: &str = "\
The page is one file. It opens from disk, needs no network and asks nobody for anything; it prints well, too.
Of several recordings it has a comparison first, then each, on shared axes. Files of Flent work as far as they go.
The same recordings give the same file.

Example: rrul report before.rrul after.rrul -o change.html";

#[cfg(feature = "charts")]
#[derive(Debug, Args)]
pub(crate) struct ReportArguments {
    /// The recordings, in the order in which they are to stand
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Where to write it [default: NAME.html of the first recording, in this folder]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Give scores although the server is farther away than the specification allows
    #[arg(long)]
    pub(crate) score_anyway: bool,
    /// Write over a file that is there
    #[arg(long)]
    pub(crate) force: bool,
}

#[cfg(feature = "charts")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PictureFormat {
    /// Lines and text, for pages and for changing them
    Svg,
    /// Pixels, for everything else
    Png,
    /// Lines and text, for papers
    Pdf,
}

#[cfg(feature = "charts")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ThemeChoice {
    /// Dark on white, for screens and paper
    Light,
    /// Light on dark, for slides
    Dark,
}

#[derive(Debug, Args)]
pub(crate) struct ListArguments {
    /// Of what
    pub(crate) what: Option<ListChoice>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ListChoice {
    /// Tests, for --plan
    Plans,
    #[cfg(feature = "charts")]
    /// Charts, for --chart
    Charts,
    /// Flow types, for plans
    Flows,
    #[cfg(feature = "lab")]
    /// Virtual links, for the lab
    Links,
    /// What lines put around IP packets, for --link-layer
    LinkLayers,
    /// Numbers of the summary, and what each is
    Metrics,
    /// What the numbers amount to
    Scores,
}
