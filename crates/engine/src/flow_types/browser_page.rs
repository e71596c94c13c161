//! Browser page: a site in a real browser, cold each time, one load in every interval (spec: Web Component).
//!
//! What the synthetic page stands for, measured on what it stands for: the site that the user knows, with its scripts and
//! all its hosts. One thread leads all flows of this type, which take turns: two browsers at a time would measure each
//! other. A browser marks nothing and chooses families by itself but for the site's own host; the plan says BE.

use std::collections::BTreeMap;
use std::thread::JoinHandle;
use std::time::Duration;

use rrul_model::flow::{FlowSpec, FlowTypeWords, ParameterKind, ParameterWord};
use rrul_model::page::Page;

use crate::flow_type::{FlowType, Footprint, Initiation};
use crate::server::parts::connections::ServedPages;
use crate::server::session::ServerPart;

#[cfg(feature = "browser")]
mod loading;
mod parameters;
#[cfg(feature = "browser")]
mod slots;

pub(crate) use parameters::URL;
use parameters::{cap_of, interval_of};

pub(crate) struct BrowserPage;

impl FlowType for BrowserPage {
    fn descriptor(&self) -> &'static FlowTypeWords {
        &FlowTypeWords {
            name: "browser_page",
            about: "a site in headless Chromium with empty caches, one load per interval: page load time, time to paint, every object",
            directed: false,
            parameters: &[
                ParameterWord {
                    name: "page",
                    kind: ParameterKind::Choice(&Page::NAMES),
                    about: "in place of a site: a page of rrul's own, as web_page loads it, from the test's server",
                },
                ParameterWord { name: URL, kind: ParameterKind::Url, about: "the site, such as https://example.com/" },
                ParameterWord {
                    name: "interval",
                    kind: ParameterKind::Duration,
                    about: "from one load to the next; default 10s, least 1s",
                },
                ParameterWord {
                    name: "cap",
                    kind: ParameterKind::Duration,
                    about: "time limit of a load; default 30s, least 100ms",
                },
                ParameterWord {
                    name: "browser",
                    kind: ParameterKind::Name,
                    about: "the browser, a path or a name; default: the first of Chromium and Chrome on the PATH",
                },
                ParameterWord {
                    name: "quic",
                    kind: ParameterKind::Choice(&["off", "on"]),
                    about: "whether it may use HTTP/3; default off",
                },
            ],
        }
    }

    fn server_part(&self) -> &'static dyn ServerPart {
        // Nothing where the page is a site, which does no harm.
        &ServedPages
    }

    fn effective_parameters(&self, spec: &FlowSpec) -> BTreeMap<&'static str, String> {
        let time = |time: Duration| format!("{}ms", time.as_millis());
        BTreeMap::from([("interval", time(interval_of(spec))), ("cap", time(cap_of(spec)))])
    }

    fn load(&self, _spec: &FlowSpec) -> Option<Footprint> {
        None
    }

    fn initiate(&self, specs: &[&FlowSpec], initiation: &Initiation) -> Vec<JoinHandle<()>> {
        #[cfg(feature = "browser")]
        return loading::initiate(specs, initiation);
        #[cfg(not(feature = "browser"))]
        {
            for spec in specs {
                initiation
                    .end
                    .failed(spec, "this build has no browser support; use the full rrul as the client".to_owned());
            }
            Vec::new()
        }
    }
}
