//! The browser had processors of its own while it loaded pages under the load.

use crate::validity::{Reason, ReasonWord, Severity};
use crate::validity_rule::{Evidence, ValidityRule};

/// The rule.
pub(crate) const RULE: ValidityRule = ValidityRule { words: &[BROWSER_CONTENDED], judge };

/// Share of the seconds in which the browser loaded pages that may go by on a full processor.
const SHARE: f64 = 0.10;

const BROWSER_CONTENDED: ReasonWord = ReasonWord {
    code: "browser_contended",
    severities: &[Severity::Doubt],
    when: "the browser and the load shared a full processor of the client in over 10 % of the seconds in which pages were loaded \
        under the load",
};

fn judge(evidence: &Evidence<'_>) -> Vec<Reason> {
    let Some(browser) = evidence.analysis.browser.filter(|browser| browser.contended > SHARE) else {
        return Vec::new();
    };
    let text = format!(
        "the browser and the load shared a full processor of the client in {:.0} % of the {} seconds in which pages were loaded \
         under the load, so those pages tell of the client as much as of the line; use a client with more processors, or \
         believe web_page, which needs less",
        browser.contended * 100.0,
        browser.seconds
    );
    vec![BROWSER_CONTENDED.reason(Severity::Doubt, text)]
}
