//! The shapers of a lab that is up. Skipped where there can be no lab.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::thread::JoinHandle;
use std::time::Duration;

use super::super::super::driver::{self, DriverOptions};
use super::super::super::shaper::Shaper;
use super::super::super::test_router::{Folder, entries, wait_until};
use super::*;
use crate::commands::lab::{holder, standing};

const SHAPERS: &str = r#"rtt = "10ms"
[down]
rate = "20Mbit/s"
[up]
rate = "8Mbit/s"
[up.shaper]
rate = "7.2Mbit/s"
link_layer = "docsis"
queue = { discipline = "cake", tins = "diffserv4" }
"#;

/// A lab whose process is this one.
struct Standing {
    name: String,
    folder: PathBuf,
    holding: Option<JoinHandle<()>>,
    _files: Folder,
}

impl Standing {
    fn up(what: &str, link: &str) -> Self {
        let name = format!("tuning-{what}-{}", std::process::id());
        let folder = standing::folder(&name).unwrap();
        DirBuilder::new().mode(0o700).create(&folder).unwrap();
        let files = Folder::new();
        files.write("link.toml", link);
        let (link, place) = (files.0.join("link.toml"), folder.clone());
        let holding = std::thread::spawn(move || {
            holder::hold(&link.to_string_lossy(), &place).unwrap();
        });
        wait_until("the lab is up", Duration::from_secs(20), || folder.join(holder::SOCKET).exists());
        Self { name, folder, holding: Some(holding), _files: files }
    }
}

impl Drop for Standing {
    fn drop(&mut self) {
        let _ = ask(&self.name, "down");
        if let Some(holding) = self.holding.take() {
            let _ = holding.join();
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn open(lab: &Standing, journal: &Folder) -> Result<Box<dyn Shaper>, ShaperError> {
    let options = DriverOptions { journal_folder: journal.0.clone(), ..DriverOptions::default() };
    driver::open(&format!("lab:{}", lab.name).parse().unwrap(), &options)
}

fn up(rate: Option<u64>) -> ShaperRates {
    ShaperRates { down: None, up: rate.map(BitRate) }
}

#[test]
fn a_shaper_of_a_lab_is_set_live_and_restored() {
    if !rrul_lab::lab_available_for("a_shaper_of_a_lab_is_set_live_and_restored") {
        return;
    }
    let (lab, journal) = (Standing::up("live", SHAPERS), Folder::new());
    let mut shaper = open(&lab, &journal).unwrap();
    let description = shaper.describe().clone();
    assert_eq!((description.found, description.down_discipline), (Some(up(Some(7_200_000))), None));
    assert_eq!(
        (description.up_discipline.as_deref(), description.up_link_layer.as_deref()),
        (Some("cake"), Some("docsis"))
    );
    for wanted in [up(Some(3_123_456)), up(None), up(Some(9_000_000))] {
        shaper.set(wanted).unwrap();
        assert_eq!(shaper.read().unwrap().rates, Some(wanted));
    }
    assert_eq!(entries(&journal.0), 1);
    let down = shaper.set(ShaperRates { down: Some(BitRate(9_000_000)), up: None }).unwrap_err();
    assert!(matches!(down, ShaperError::NoDirection { direction: Direction::Down, .. }), "{down}");
    let counters = shaper.counters().unwrap().unwrap();
    assert!(counters.up.is_some() && counters.down.is_none(), "{counters:?}");
    shaper.restore().unwrap();
    assert_eq!((shaper.read().unwrap().rates, entries(&journal.0)), (Some(up(Some(7_200_000))), 0));
}

#[test]
fn a_lab_without_shapers_is_refused_with_the_command_that_adds_them() {
    if !rrul_lab::lab_available_for("a_lab_without_shapers_is_refused_with_the_command_that_adds_them") {
        return;
    }
    let plain = SHAPERS.split("[up.shaper]").next().unwrap();
    let lab = Standing::up("plain", plain);
    let said = open(&lab, &Folder::new()).map(|_| ()).unwrap_err().to_string();
    assert!(said.contains("rrul lab set --name") && said.contains("up.shaper.rate="), "{said}");
}

#[test]
fn a_lab_that_is_down_is_reported() {
    let options = DriverOptions { journal_folder: Folder::new().0.clone(), ..DriverOptions::default() };
    let said = driver::open(&"lab:nowhere".parse().unwrap(), &options).map(|_| ()).unwrap_err().to_string();
    assert!(said.contains("rrul lab up --name nowhere"), "{said}");
}
