//! The browser had CPU cores of its own while it loaded pages under load.

use rrul_model::units::Share;

use crate::validity::{Reason, ReasonWord, Severity};
use crate::validity_rule::{JudgedRun, ValidityRule};

pub(crate) const RULE: ValidityRule = ValidityRule { words: &[BROWSER_CONTENDED], judge };

/// Share of the seconds with page loads in which the browser may compete for a saturated core.
const SHARE: f64 = 0.10;

const BROWSER_CONTENDED: ReasonWord = ReasonWord {
    code: "browser_contended",
    severities: &[Severity::Doubt],
    when: "the browser and the load competed for a saturated CPU core of the client in over 10 % of the seconds with page loads \
        under load",
};

fn judge(evidence: &JudgedRun<'_>) -> Vec<Reason> {
    let Some(browser) = evidence.analysis.browser.filter(|browser| browser.contended > SHARE) else {
        return Vec::new();
    };
    let text = format!(
        "The browser and the load competed for a saturated CPU core in {:.0} % of {} s of page loads (limit {}). Page load \
         times include the client's own delay: use a client with more cores, or the page loads of web_page.",
        browser.contended * 100.0,
        browser.seconds,
        Share(SHARE)
    );
    vec![BROWSER_CONTENDED.reason(Severity::Doubt, text)]
}
