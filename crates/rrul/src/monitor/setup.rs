//! The file of a monitor, with everything that it names.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use clap::ValueEnum;
use rrul_engine::client::{Families, RunError, RunOptions, addresses_under_test};
use rrul_engine::control_link::Fingerprint;
use rrul_engine::privacy::Privacy;
use rrul_model::flow::AddressFamily;
use rrul_model::link_layer::LinkLayer;
use rrul_model::plan::TestPlan;
use rrul_model::units::{ByteCount, format_duration};
use rrul_monitor::configuration::Configuration;
use rrul_monitor::watch::Rules;

use crate::arguments::{AccessArguments, EncryptChoice, FamilyChoice};
use crate::commands::run::seed_from;
use crate::failure::{ContentError, Failure};
use crate::{known_servers, plan_book, secret_files};

/// The plan of light probes, and how long one session of them takes: servers grant ten minutes where nothing else is set.
const PROBE_PLAN: &str = "ping";
const PROBE_LENGTH: &str = "idle=9min";

/// What a probe and its reply take of the link layer: 80 bytes, and the headers of UDP, IPv6 and Ethernet.
const PROBE_OCTETS: u64 = 2 * (80 + 8 + 40 + 14);

/// What both ends report of themselves and of a session of probes in a second, with what a session begins with, at most. A test
/// compares it with a link.
const REPORT_OCTETS: u64 = 250;

/// Connecting, clocks and the end of a test, at most.
const AROUND: Duration = Duration::from_secs(10);

/// Everything that a monitor needs.
pub(crate) struct Setup {
    pub(super) configuration: Configuration,
    pub(super) folder: PathBuf,
    pub(super) textfile: Option<PathBuf>,
    pub(super) run_plan: TestPlan,
    pub(super) probe_plan: TestPlan,
    families: Families,
    access: AccessArguments,
}

impl Setup {
    /// Reads the file. Paths in it are relative to its folder. `output` is where recordings and the state are; without it a folder
    /// beside the file, named as it is without its extension.
    pub(crate) fn read(path: &Path, output: Option<&Path>) -> Result<Self, Failure> {
        let text = std::fs::read_to_string(path).map_err(Failure::file(path))?;
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let configuration = Configuration::read(&path.display().to_string(), &stem, &text)?;
        let wrong = |problem: String| Failure::content(path, ContentError::Configuration(problem));
        let beside = path.parent().unwrap_or(Path::new(""));
        let place = |name: &str| beside.join(name);
        let families = match configuration.family.as_deref() {
            None => FamilyChoice::Both,
            Some(word) => {
                FamilyChoice::from_str(word, false).map_err(|_| wrong("family: write 4, 6 or both".to_owned()))?
            }
        };
        let encrypt = match configuration.encrypt.as_deref() {
            None => EncryptChoice::Auto,
            Some(word) => EncryptChoice::from_str(word, false)
                .map_err(|_| wrong("encrypt: write auto, always or never".to_owned()))?,
        };
        let server_key = match &configuration.server_key {
            None => None,
            Some(text) => Some(text.parse::<Fingerprint>().map_err(|error| wrong(format!("server_key: {error}")))?),
        };
        #[cfg(not(feature = "certificates"))]
        if configuration.ca.is_some() {
            return Err(wrong("ca: this program verifies no certificates; use server_key".to_owned()));
        }
        #[cfg(feature = "certificates")]
        if configuration.ca.is_some() && server_key.is_some() {
            return Err(wrong(
                "ca and server_key exclude each other: a server is recognized by one of them".to_owned(),
            ));
        }
        let token_file = configuration.token_file.as_deref().map(place);
        // That it can be read is known before the first test.
        secret_files::client_token(token_file.as_deref())?;
        let named = |failure: Failure| wrong(failure.to_string());
        let name = Path::new(&configuration.runs.plan);
        let name = if name.extension().is_some() { beside.join(name) } else { name.to_owned() };
        let mut run_plan = plan_book::plan(&name.to_string_lossy(), &configuration.runs.set).map_err(named)?;
        if let Some(layer) = &configuration.link_layer {
            let layer = layer.parse::<LinkLayer>().map_err(|error| wrong(format!("link_layer: {error}")))?;
            run_plan.link_layer = Some(layer.to_string());
        }
        let interval = format_duration(configuration.probe_interval);
        let classes: Vec<_> = configuration.probe_classes.iter().map(|class| format!("\"{class}\"")).collect();
        let settings = [
            PROBE_LENGTH.to_owned(),
            format!("interval={interval}"),
            format!("flow.probe.each.class=[{}]", classes.join(", ")),
            "flow.icmp.enabled=false".to_owned(),
        ];
        let mut probe_plan = plan_book::plan(PROBE_PLAN, &settings)?;
        probe_plan.sample_interval = Duration::from_secs(1);
        Ok(Self {
            folder: output.map_or_else(|| path.with_extension(""), Path::to_owned),
            textfile: configuration.textfile.as_deref().map(place),
            families: families.into(),
            access: AccessArguments {
                token_file,
                encrypt,
                server_key,
                #[cfg(feature = "certificates")]
                ca: configuration.ca.as_deref().map(place),
            },
            run_plan,
            probe_plan,
            configuration,
        })
    }

    /// What the monitor is to do.
    pub(super) fn rules(&self) -> Rules {
        Rules {
            schedule: self.configuration.schedule.clone(),
            budget: self.configuration.budget,
            probe_octets: self.probe_octets(),
            run_length: self.run_plan.length() + AROUND,
            retry: self.configuration.retry,
            retries: self.configuration.retries,
        }
    }

    /// What light probing takes in a second, at most.
    fn probe_octets(&self) -> ByteCount {
        let families: &[AddressFamily] = match &self.families {
            Families::Both => &AddressFamily::ALL,
            Families::Only(family) => std::slice::from_ref(family),
        };
        let flows = self.probe_plan.flows(families).len() as f64;
        let probes = flows * PROBE_OCTETS as f64 / self.configuration.probe_interval.as_secs_f64();
        ByteCount(REPORT_OCTETS + probes.ceil() as u64)
    }

    /// The options of a test by this plan, which does not wait in line.
    pub(super) fn options(&self, plan: &TestPlan) -> Result<RunOptions, Failure> {
        let server = &self.configuration.server;
        let now = SystemTime::now();
        Ok(RunOptions {
            server: server.clone(),
            port: rrul_engine::PORT,
            families: self.families,
            plan: plan.clone(),
            title: self.configuration.target.clone(),
            created: humantime::format_rfc3339_seconds(now).to_string(),
            privacy: Privacy::Open,
            token: secret_files::client_token(self.access.token_file.as_deref())?,
            trust: known_servers::trust(&self.access, server, rrul_engine::PORT)?,
            wait: false,
            seed: seed_from(now),
        })
    }

    /// The addresses of the server, of the families under test.
    pub(super) fn addresses(&self) -> Result<Vec<SocketAddr>, RunError> {
        addresses_under_test(&self.configuration.server, rrul_engine::PORT, self.families)
    }
}
