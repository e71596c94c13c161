//! Whatever clients do, in whatever order: no session outlives its rules, no network has more than its share, no test waits
//! for ever.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;
use rrul_proto::admission::fair_shares::FairShares;
use rrul_proto::admission::load_queue::{Demand, LoadPolicy, LoadQueue};
use rrul_proto::admission::prefix::Prefix;
use rrul_proto::admission::session_lease::{BEGINNING_TIME, Grant, SILENCE_TIME, SessionLease};
use rrul_proto::limits::FETCHING_TIME;

use crate::campaign::config;

/// What may happen to a session, at an interval of so many milliseconds behind the event before.
#[derive(Debug, Clone)]
enum Event {
    Heard,
    Waits,
    Granted(u16, bool, Option<(u16, u16)>),
    Begins(u16),
    Moved(u64),
    Finished,
}

fn events() -> impl Strategy<Value = Vec<(u16, Event)>> {
    let event = prop_oneof![
        Just(Event::Heard),
        Just(Event::Heard),
        Just(Event::Heard),
        Just(Event::Waits),
        (any::<u16>(), any::<bool>(), prop::option::of(any::<(u16, u16)>()))
            .prop_map(|(length, heartbeat, load)| Event::Granted(length, heartbeat, load)),
        any::<u16>().prop_map(Event::Begins),
        any::<u64>().prop_map(Event::Moved),
        Just(Event::Finished),
    ];
    vec((any::<u16>(), event), 0..200)
}

fn host() -> impl Strategy<Value = IpAddr> {
    // Few networks, so that they meet.
    prop_oneof![
        (0..4_u8, 0..4_u8).prop_map(|(network, host)| IpAddr::from([192, 0, network, host])),
        (0..3_u16, 0..3_u16, 0..3_u16)
            .prop_map(|(provider, site, link)| { IpAddr::from([0x2001, provider, site, link, 0, 0, 0, 1]) }),
    ]
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn no_session_outlives_its_rules(events in events(), wanted: bool) {
        const MILLISECOND: i64 = 1_000_000;
        let mut now = 0;
        let mut lease = SessionLease::new(now);
        let mut heard = 0;
        for (pause, event) in events {
            now += i64::from(pause) * MILLISECOND;
            if lease.expired(now, wanted).is_some() {
                return Ok(());
            }
            match event {
                Event::Heard => {
                    lease.heard(now);
                    heard = now;
                }
                Event::Waits => lease.waits(),
                Event::Granted(length, heartbeat, load) => {
                    let seconds = |s: u16| Duration::from_secs(s.into());
                    let load = load.map(|(from, to)| (seconds(from), seconds(to)));
                    lease.granted(now, Grant { length: seconds(length), octets: None, load, heartbeat });
                }
                Event::Begins(ahead) => lease.begins(now + i64::from(ahead) * MILLISECOND),
                Event::Moved(octets) => lease.moved(octets, now),
                Event::Finished => lease.finished(now),
            }
        }
        // Once its client is silent for good, a session ends: at once, or, of one without a heartbeat, with its test.
        let (ends, _) = lease.ends(wanted);
        let at_most = SILENCE_TIME.max(BEGINNING_TIME) + Duration::from_secs(2 * u64::from(u16::MAX)) + FETCHING_TIME;
        prop_assert!(ends <= heard.max(now) + at_most.as_nanos() as i64);
        prop_assert!(lease.expired(ends + 1, wanted).is_some());
    }

    #[test]
    fn no_network_has_more_than_its_share(
        places in 0..40_u32,
        steps in vec((host(), any::<bool>()), 0..200),
    ) {
        let mut shares = FairShares::new(places);
        let mut held: Vec<IpAddr> = Vec::new();
        for (address, takes) in steps {
            if takes {
                if shares.take(address).is_ok() {
                    held.push(address);
                }
            } else if let Some(place) = held.iter().position(|other| *other == address) {
                held.swap_remove(place);
                shares.give_back(address);
            }
            prop_assert_eq!(shares.held() as usize, held.len());
            prop_assert!(held.len() <= places as usize);
            for network in held.iter().flat_map(|address| Prefix::all_of(*address)) {
                let members = held.iter().filter(|address| Prefix::of(**address, network.bits) == network).count();
                prop_assert!(members <= places.div_ceil(4) as usize, "{:?} has {} of {}", network, members, places);
            }
        }
    }

    #[test]
    fn loads_never_overlap_and_everybody_has_a_turn(
        asked in vec((host(), 1..600_u64), 1..60),
        egress in prop::option::of(1..1000_u64),
        rates in vec(prop::option::of(1..2000_u64), 60),
        leaving in vec(any::<bool>(), 60),
    ) {
        let policy = egress.map_or(LoadPolicy::Exclusive, LoadPolicy::Within);
        let mut queue = LoadQueue::new(policy);
        let mut demands = Vec::new();
        let (mut running, mut served) = (BTreeSet::new(), BTreeSet::new());
        for (test, (address, seconds)) in asked.iter().enumerate() {
            let demand = Demand { rate: rates[test], length: Duration::from_secs(*seconds) };
            demands.push(demand);
            queue.ask(test as u64, *address, demand);
            for granted in queue.grant(test as i64) {
                prop_assert!(served.insert(granted), "granted once");
                running.insert(granted);
            }
            if leaving[test] && let Some(first) = running.pop_first() {
                queue.leave(first);
            }
            check(&running, &demands, egress)?;
        }
        for round in 0..=asked.len() {
            // A minute for each.
            let now = round as i64 * 60_000_000_000;
            for granted in queue.grant(now) {
                prop_assert!(served.insert(granted), "granted once");
                running.insert(granted);
            }
            check(&running, &demands, egress)?;
            for test in 0..asked.len() as u64 {
                let gives_way = queue.gives_way(test, now);
                prop_assert!(!gives_way || running.contains(&test) && queue.is_wanted(), "{} gives way", test);
            }
            if let Some(first) = running.pop_first() {
                queue.leave(first);
            }
        }
        prop_assert_eq!(served.len(), asked.len(), "everybody was served");
        prop_assert!(!queue.is_wanted());
    }
}

/// What runs together is one, or within the egress.
fn check(running: &BTreeSet<u64>, demands: &[Demand], egress: Option<u64>) -> Result<(), TestCaseError> {
    if running.len() > 1 {
        let sum: Option<u64> = running.iter().map(|test| demands[*test as usize].rate).sum();
        prop_assert!(egress.zip(sum).is_some_and(|(egress, sum)| sum <= egress), "{:?} together", running);
    }
    Ok(())
}
