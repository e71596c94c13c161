//! The lab over real sockets: what programs in its hosts see, held against what the lab wrote down.
//!
//! These need a lab, so root or an open /dev/net/tun; without one they are skipped aloud, and fail when
//! `RRUL_REQUIRE_LAB` is 1. They take real time, and one lab is up at a time so that they do not disturb each other.
#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of test functions, and a test may panic")]

mod bulk;
mod error_queue;
mod hosts;
mod impairments;
mod leftovers;
mod path;
mod queues;
mod round_trip;
mod shapers;

use std::sync::{Mutex, MutexGuard, PoisonError};

use rrul_lab::{Lab, Link};

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// A lab that no other test disturbs.
struct OnlyLab {
    lab: Lab,
    _turn: MutexGuard<'static, ()>,
}

impl std::ops::Deref for OnlyLab {
    type Target = Lab;
    fn deref(&self) -> &Lab {
        &self.lab
    }
}

/// A lab over the link that `toml` describes; `None` after saying why `test` is skipped.
fn lab(test: &str, toml: &str) -> Option<OnlyLab> {
    let turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    rrul_lab::lab_available_for(test).then(|| {
        let link = Link::from_toml("test.toml", toml).unwrap();
        OnlyLab { lab: Lab::up(&link, 1).unwrap(), _turn: turn }
    })
}
