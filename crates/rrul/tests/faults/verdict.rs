//! What a recording on disk says, and whether it has validity issues beyond those of this machine.

use std::io::Read;
use std::path::Path;
use std::process::Command;

use rrul_model::recording::Recording;
use serde_json::Value;

use crate::program::{Ended, PROGRAM, end_of};

/// Reasons that come from who else uses this machine, and not from what is tested here: in runs of three seconds over
/// loopback a stall of a tenth of a second is a change of rate.
const MACHINE: [&str; 5] = ["processor_saturated", "processor_stolen", "send_late", "packets_skipped", "rate_unsteady"];

/// What `rrul show --json` says of a recording; the exit code must fit to it.
pub(crate) struct Verdict {
    pub(crate) summary: Value,
    code: Option<i32>,
}

impl Verdict {
    /// Of the recording at this path.
    pub(crate) fn of(path: &Path) -> Self {
        let mut command = Command::new(PROGRAM);
        command.arg("show").arg("--json").arg(path);
        let shown = end_of(command);
        assert_eq!(shown.stderr, "", "{}", path.display());
        let summary: Value = serde_json::from_str(&shown.stdout).unwrap();
        let valid = summary["validity"]["verdict"] == "valid";
        assert_eq!(shown.code, Some(i32::from(!valid)), "{}", shown.stdout);
        Self { summary, code: shown.code }
    }

    fn reasons(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        let reasons = self.summary["validity"]["reasons"].as_array().unwrap();
        reasons.iter().map(|reason| {
            let word = |key: &str| reason[key].as_str().unwrap();
            (word("code"), word("severity"), word("text"))
        })
    }

    /// The text of the reason with this code.
    pub(crate) fn reason(&self, code: &str) -> Option<&str> {
        self.reasons().find(|(found, ..)| *found == code).map(|(.., text)| text)
    }

    /// The codes of everything that takes from the numbers, apart from the machine's own business.
    pub(crate) fn doubts(&self) -> Vec<&str> {
        let doubts = self.reasons().filter(|(code, severity, _)| *severity != "info" && !MACHINE.contains(code));
        doubts.map(|(code, ..)| code).collect()
    }

    /// Asserts a run without doubts, that its exit code says so, and that all of the load arrived.
    pub(crate) fn assert_good(&self, run: &Ended) {
        self.assert_good_but(run, &[]);
    }

    /// As [`Verdict::assert_good`], with exactly these doubts.
    pub(crate) fn assert_good_but(&self, run: &Ended, doubts: &[&str]) {
        assert_eq!(self.doubts(), doubts, "{run:#?}\n{:#}", self.summary["validity"]);
        assert_eq!(run.code, self.code, "{run:#?}");
        for direction in ["up", "down"] {
            let octets = self.summary["goodput"][direction]["octets"].as_u64().unwrap();
            // 3 s at 20 Mbit/s are 7.5 MB; a busy machine may keep a stream from its pace for a while.
            assert!(octets > 3_000_000, "{direction}: {octets} bytes; {run:#?}");
        }
    }
}

/// A recording as it is on disk, up to where it can be read.
pub(crate) fn recording(path: &Path) -> Recording {
    let mut text = Vec::new();
    let file = std::fs::File::open(path).unwrap();
    // A file that was cut off ends in half a frame.
    let _ = zstd::stream::read::Decoder::new(file).unwrap().read_to_end(&mut text);
    Recording::from_lines(std::str::from_utf8(&text).unwrap()).unwrap()
}
