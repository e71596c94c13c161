//! How tests that need a lab behave where there can be none.

use std::fs::OpenOptions;
use std::io::Write;

use crate::error::Error;
use crate::lab::available;

/// With this environment variable set to 1, a test that cannot have its lab fails.
const REQUIRE: &str = "RRUL_REQUIRE_LAB";

/// The file named by this environment variable gets a line for every test that was skipped.
const SKIPPED: &str = "RRUL_SKIPPED";

/// The file named by this environment variable gets a line for every test that has its lab.
const RAN: &str = "RRUL_LAB_RAN";

/// The file named by this environment variable gets a line for every time that something was measured again.
const AGAIN: &str = "RRUL_AGAIN";

/// The file named by this environment variable gets a line for every test that could not be measured.
const UNMEASURED: &str = "RRUL_UNMEASURED";

/// For tests that need a lab: true when one can be brought up; it then adds `RAN <test>` to the file that `RRUL_LAB_RAN`
/// names.
///
/// Otherwise it says `SKIPPED <test>: <reason>` on standard error and at the end of the file that `RRUL_SKIPPED` names,
/// and returns false, so that the test can return. A skipped test must never pass for one that ran.
///
/// # Panics
///
/// When there can be no lab and `RRUL_REQUIRE_LAB` is 1, or when the line cannot be written.
pub fn lab_available_for(test: &str) -> bool {
    let Err(reason) = available() else {
        note(RAN, &ran_line(test));
        return true;
    };
    let required = std::env::var_os(REQUIRE).is_some_and(|value| value == "1");
    assert!(!required, "{test} needs a lab and {REQUIRE} is 1, but {reason}");
    let line = skipped_line(test, &reason);
    eprint!("{line}");
    note(SKIPPED, &line);
    false
}

/// Says that a test begins anew, on standard error and in the file that `RRUL_AGAIN` names.
pub(crate) fn note_again(test: &str, disturbance: &dyn std::fmt::Display) {
    let line = format!("AGAIN {test}: this machine was disturbed: {disturbance}\n");
    eprint!("{line}");
    note(AGAIN, &line);
}

/// For a test whose every measurement failed while this machine was disturbed: nothing is known about what it tests. It says
/// `UNMEASURED <test>` on standard error and in the file that `RRUL_UNMEASURED` names; who reads that file decides how
/// many may be unknown.
///
/// # Panics
///
/// Where no file is named.
pub fn give_up(test: &str) {
    let line = format!("UNMEASURED {test}: failed each time, and each time this machine was disturbed\n");
    eprint!("{line}");
    assert!(std::env::var_os(UNMEASURED).is_some(), "{test}: not measured, as this machine was disturbed each time");
    note(UNMEASURED, &line);
}

/// Appends a line to the file that the environment variable names, if it names one.
fn note(variable: &str, line: &str) {
    let Some(path) = std::env::var_os(variable) else { return };
    let file = OpenOptions::new().append(true).create(true).open(&path);
    let written = file.and_then(|mut file| file.write_all(line.as_bytes()));
    assert!(written.is_ok(), "{}: cannot note \"{}\": {written:?}", path.display(), line.trim_end());
}

fn ran_line(test: &str) -> String {
    format!("RAN {test}\n")
}

fn skipped_line(test: &str, reason: &Error) -> String {
    format!("SKIPPED {test}: {reason}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_that_has_its_lab_is_reported_in_one_line() {
        assert_eq!(ran_line("some_test"), "RAN some_test\n");
    }

    #[test]
    fn a_skipped_test_is_reported_in_one_line_with_its_reason() {
        let reason = Error::Stopped { thread: "up" };
        let line = skipped_line("some_test", &reason);
        assert_eq!(line, "SKIPPED some_test: lab: the up thread has ended; bring the lab up again\n");
    }
}
