//! A host that cannot keep up, and one that can.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;

use crate::quota::Group;
use crate::rows::Rows;
use crate::setting::Setting;
use crate::wire::Wire;
use crate::{Bed, Runs};

const PLAN: &str =
    "title = \"a short load\"\nextends = \"quick\"\nphases = { idle = \"3s\", load = \"12s\", after = \"4s\" }\n";

/// A shorter one: the processors are full all the time.
const BRIEF: &str = "title = \"a brief load\"\nextends = \"quick\"\n\
    phases = { survey = \"3s\", idle = \"2s\", load = \"6s\", web = \"2s\", after = \"2s\" }\n";

pub(crate) const STARVED: Bed = Bed {
    name: "starved",
    about: "20/8 Mbit/s, while a busy loop a core runs on the host of both ends.",
    runs: Runs::Alone,
    run: starved,
};

fn starved(rows: &mut Rows) {
    let stop = Arc::new(AtomicBool::new(false));
    let cores = std::thread::available_parallelism().map_or(2, usize::from);
    let burn = |stop: Arc<AtomicBool>| {
        move || {
            while !stop.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        }
    };
    let burning: Vec<_> = (0..cores).map(|_| std::thread::spawn(burn(Arc::clone(&stop)))).collect();
    let link = "rtt = \"20ms\"\n[down]\nrate = \"20Mbit/s\"\nqueue = \"fq_codel\"\n[up]\nrate = \"8Mbit/s\"\nqueue = \"fq_codel\"";
    let measured = Setting::new(link, BRIEF).measure();
    stop.store(true, Ordering::Relaxed);
    for thread in burning {
        let _ = thread.join();
    }
    rows.equal("R9", "verdict", measured.word("/validity/verdict"), "invalid".to_owned());
    let reasons = measured.summary["validity"]["reasons"].as_array().unwrap().clone();
    let blames = |reason: &&Value| {
        let code = reason["code"].as_str().unwrap_or_default();
        reason["severity"] == "invalid" && matches!(code, "processor_saturated" | "processor_stolen")
    };
    let told = reasons.iter().find(blames).map_or("no such reason".to_owned(), |reason| reason["text"].to_string());
    let named = reasons.iter().any(|reason| blames(&reason));
    rows.holds("R9", "the cause", "the processor is named", told, named);
}

pub(crate) const QUOTA: Bed = Bed {
    name: "quota",
    about: "1 Gbit/s over veth pairs, and a client whose control group may use a twentieth of a core.",
    runs: Runs::InAccuracy,
    run: quota,
};

fn quota(rows: &mut Rows) {
    let group = Group::limited().unwrap_or_else(|reason| panic!("no control group with a quota can be made: {reason}"));
    let summary = Wire::up("1gbit").within(&group).measure(PLAN);
    rows.equal("R9", "verdict", summary["validity"]["verdict"].as_str().unwrap_or("none"), "invalid");
    let reasons = summary["validity"]["reasons"].as_array().cloned().unwrap_or_default();
    let weighty = reasons.iter().filter(|reason| reason["severity"] == "invalid");
    let told: Vec<_> = weighty.filter_map(|reason| reason["code"].as_str()).collect();
    rows.holds("R9", "the cause", "processor_quota", told.join(", "), told.contains(&"processor_quota"));
}

pub(crate) const GIGABIT: Bed = Bed {
    name: "gigabit",
    about: "1 Gbit/s each way over veth pairs and the kernel's own shaper, on an otherwise idle host.",
    runs: Runs::InAccuracy,
    run: gigabit,
};

fn gigabit(rows: &mut Rows) {
    let summary = Wire::up("1gbit").measure(PLAN);
    rows.equal("R9", "verdict", summary["validity"]["verdict"].as_str().unwrap_or("none"), "valid");
    for direction in ["down", "up"] {
        let goodput = summary["goodput"][direction]["sum_bps"].as_f64().map(|bits| bits / 1e6);
        rows.between("R15", format!("goodput {direction}, Mbit/s"), goodput, 1000, 850.0..=1000.0);
    }
}
