//! Quotas in virtual time.

use super::*;

const LIMITS: QuotaLimits = QuotaLimits {
    tests_per_hour: 16,
    octets_per_day: 50_000_000_000,
    total_tests_per_hour: 100,
    total_octets_per_day: 400_000_000_000,
    counts_private: false,
};
/// Some Wednesday.
const NOW: u64 = 1_790_000_000;

fn host(network: u8, host: u8) -> IpAddr {
    IpAddr::from([203, 0, network, host])
}

#[test]
fn a_network_has_its_tests_in_any_hour_and_no_more() {
    let mut quota = Quota::new(LIMITS);
    // Its hosts ask once a second, for four hours.
    let begun: Vec<u64> =
        (NOW..NOW + 4 * HOUR).filter(|now| quota.begin(host(1, *now as u8), None, *now).is_ok()).collect();
    for (index, first) in begun.iter().enumerate() {
        let within = begun[index..].iter().filter(|at| *at - first < HOUR).count();
        assert!(within <= 16, "{within} in an hour");
    }
    assert!(begun.len() >= 48, "{}: it has nearly all of it in each hour", begun.len());
    assert!(quota.begin(host(2, 1), None, NOW + 4 * HOUR).is_ok(), "another network");
    let mut fresh = Quota::new(LIMITS);
    (0..16).for_each(|_| fresh.begin(host(1, 1), None, NOW).unwrap());
    let Err(QuotaError::Tests { limit: 16, retry_after, .. }) = fresh.begin(host(1, 2), None, NOW + 1) else {
        panic!("it has had its tests");
    };
    assert!(retry_after.as_secs() <= HOUR + MINUTE, "{retry_after:?}");
}

#[test]
fn data_of_a_day_is_overrun_by_what_is_counted_at_once_and_no_more() {
    let mut quota = Quota::new(LIMITS);
    // A gigabit a second, counted once a second.
    let second = 125_000_000;
    let mut spent = 0;
    for now in NOW..NOW + DAY {
        if now % 60 == 0 && quota.begin(host(1, 1), None, now).is_err() {
            continue;
        }
        let may = quota.spend(host(1, 1), None, 0, now);
        if may {
            quota.spend(host(1, 1), None, second, now);
            spent += second;
        }
    }
    assert!((50_000_000_000..=50_500_000_000).contains(&spent), "{spent}");
    assert!(matches!(
        quota.begin(host(1, 7), None, NOW + DAY - 1),
        Err(QuotaError::Tests { .. } | QuotaError::Octets { .. })
    ));
    assert!(quota.begin(host(1, 1), None, NOW + 2 * DAY + HOUR).is_ok(), "the next day");
}

#[test]
fn all_networks_together_have_a_limit_of_their_own() {
    let mut quota = Quota::new(LIMITS);
    let begun = (0..200_u8).filter(|network| quota.begin(host(*network, 1), None, NOW).is_ok()).count();
    assert_eq!(begun, 100);
    assert!(matches!(quota.begin(host(250, 1), None, NOW), Err(QuotaError::AllTests { limit: 100, .. })));
    assert!(!quota.spend(host(1, 1), None, 400_000_000_000, NOW + 2 * HOUR));
    assert!(matches!(quota.begin(host(251, 1), None, NOW + 2 * HOUR), Err(QuotaError::AllOctets { .. })));
}

#[test]
fn a_provider_of_ipv6_has_as_much_as_16_networks_and_one_of_ipv4_as_all_of_its_own() {
    let unlimited = QuotaLimits { total_tests_per_hour: 0, total_octets_per_day: 0, ..LIMITS };
    let site = |provider: u16, network: u16| IpAddr::from([0x2a00, provider, network, 0, 0, 0, 0, 1]);
    let mut quota = Quota::new(unlimited);
    let begun = (0..65_535).filter(|network| quota.begin(site(1, *network), None, NOW).is_ok()).count();
    assert_eq!(begun, 256);
    assert!(quota.networks.len() <= 257, "who is refused takes no memory: {}", quota.networks.len());
    let refused = quota.begin(site(1, 65_535), None, NOW).unwrap_err();
    assert!(matches!(refused, QuotaError::Tests { party: Party::Provider, limit: 256, .. }));
    assert!(refused.to_string().starts_with("256 tests an hour are granted to all networks of an IPv6 /32"));
    assert!(quota.begin(site(2, 1), None, NOW).is_ok(), "another provider");
    let mut spent = 0;
    while quota.spend(site(3, spent), None, 49_000_000_000, NOW) {
        spent += 1;
    }
    assert_eq!(spent, 16);
    let begun = (0..65_536_u32)
        .filter(|host| quota.begin(IpAddr::from([198, 51, (host >> 8) as u8, *host as u8]), None, NOW).is_ok());
    assert_eq!(begun.count(), 256 * 16, "each /24 of a /16");
    let mut again = Quota::from_json(unlimited, &quota.to_json().unwrap()).unwrap();
    assert!(again.begin(site(1, 65_535), None, NOW + 60).is_err(), "kept over a restart");
}

#[test]
fn private_networks_are_counted_on_request_alone() {
    let mut quota = Quota::new(LIMITS);
    let mut counted = Quota::new(QuotaLimits { counts_private: true, ..LIMITS });
    for address in ["127.0.0.1", "10.1.2.3", "::1", "fd00::1", "fe80::1", "::ffff:192.168.1.1"] {
        let address = address.parse().unwrap();
        assert!((0..50).all(|_| quota.begin(address, None, NOW).is_ok()), "{address}");
        assert_eq!((0..50).filter(|_| counted.begin(address, None, NOW).is_ok()).count(), 16, "{address}");
    }
    let mut none = Quota::new(QuotaLimits { counts_private: true, ..QuotaLimits::NONE });
    assert!(
        (0..1000).all(|_| none.begin(host(1, 1), None, NOW).is_ok()) && none.spend(host(1, 1), None, u64::MAX, NOW)
    );
    assert!(none.networks.is_empty());
}

#[test]
fn new_limits_are_for_what_was_used_before_too() {
    let mut quota = Quota::new(LIMITS);
    (0..10).for_each(|_| quota.begin(host(1, 1), None, NOW).unwrap());
    quota.set_limits(QuotaLimits { tests_per_hour: 10, ..LIMITS });
    assert!(quota.begin(host(1, 1), None, NOW).is_err());
    quota.set_limits(LIMITS);
    assert!(quota.begin(host(1, 1), None, NOW).is_ok());
}

#[test]
fn what_was_used_outlives_the_server() {
    let mut quota = Quota::new(LIMITS);
    (0..16).for_each(|_| quota.begin(host(1, 1), None, NOW).unwrap());
    let mut again = Quota::from_json(LIMITS, &quota.to_json().unwrap()).unwrap();
    assert!(again.begin(host(1, 1), None, NOW + 60).is_err());
    assert!(again.begin(host(1, 1), None, NOW + HOUR + MINUTE).is_ok());
    assert!(Quota::from_json(LIMITS, "{\"all\":").is_err());
}

#[test]
fn what_a_clock_that_was_ahead_has_counted_is_forgotten_in_time() {
    let ahead = NOW + 300 * DAY;
    let mut quota = Quota::new(LIMITS);
    (0..16).for_each(|_| quota.begin(host(1, 1), None, ahead).unwrap());
    quota.spend(host(2, 1), None, LIMITS.octets_per_day, ahead);
    // The server starts again with the right time.
    let mut quota = Quota::from_json(LIMITS, &quota.to_json().unwrap()).unwrap();
    let Err(QuotaError::Tests { retry_after, .. }) = quota.begin(host(1, 1), None, NOW) else {
        panic!("what was used stays used");
    };
    assert!(retry_after.as_secs() <= HOUR + MINUTE, "{retry_after:?}");
    assert!(matches!(quota.begin(host(2, 1), None, NOW), Err(QuotaError::Octets { .. })));
    assert!(quota.begin(host(1, 1), None, NOW + HOUR + MINUTE).is_ok());
    assert!(quota.begin(host(2, 1), None, NOW + DAY + HOUR).is_ok());
    let endless = format!("{{\"all\":{{\"tests\":[[{0},100]],\"octets\":[[{0},1]]}},\"networks\":[]}}", u64::MAX);
    let mut quota = Quota::from_json(LIMITS, &endless).unwrap();
    assert!(matches!(quota.begin(host(1, 1), None, NOW), Err(QuotaError::AllTests { .. })));
}

#[test]
fn networks_without_number_take_no_memory_without_end() {
    let mut quota = Quota::new(QuotaLimits { total_tests_per_hour: 0, ..LIMITS });
    for number in 0..200_000_u32 {
        let address = IpAddr::from(std::net::Ipv6Addr::from((0x2a00_0000_u128 + u128::from(number)) << 96));
        assert!(quota.begin(address, None, NOW).is_ok());
    }
    assert!(quota.networks.len() <= MOST_NETWORKS);
}

#[cfg(feature = "tickets")]
mod of_bearers {
    use super::*;

    fn own(bearer: u8, tests_per_hour: Option<u32>, octets_per_day: Option<u64>) -> Option<OwnQuota> {
        OwnQuota::new(BearerId([bearer; 32]), QuotaClass { tests_per_hour, octets_per_day })
    }

    #[test]
    fn a_bearer_has_its_quota_wherever_it_comes_from_and_takes_nothing_from_its_network() {
        let mut quota = Quota::new(LIMITS);
        let alice = own(1, Some(2), None);
        assert!(quota.begin(host(1, 1), alice, NOW).is_ok());
        // A private address, which is not counted without a quota of its own.
        assert!(quota.begin(IpAddr::from([10, 0, 0, 1]), alice, NOW).is_ok());
        let refused = quota.begin(host(2, 1), alice, NOW).unwrap_err();
        assert!(matches!(refused, QuotaError::Tests { limit: 2, party: Party::Bearer, .. }));
        let words = "2 tests an hour are granted to this token, key or ticket; the next in 61 min";
        assert_eq!(refused.to_string().replace("in 60", "in 61"), words);
        assert!((0..16).all(|_| quota.begin(host(1, 1), None, NOW).is_ok()), "its network has all of its own");
        assert!(quota.begin(host(1, 1), own(2, Some(2), None), NOW).is_ok(), "another bearer");
        assert!(quota.begin(host(1, 1), alice, NOW + HOUR + MINUTE).is_ok());
    }

    #[test]
    fn data_of_a_bearer_is_counted_for_it_and_a_figure_that_it_lacks_is_that_of_networks() {
        let mut quota = Quota::new(LIMITS);
        let alice = own(1, None, Some(1000));
        assert!(quota.spend(host(1, 1), alice, 999, NOW) && !quota.spend(host(2, 1), alice, 1, NOW));
        assert!(matches!(quota.begin(host(1, 1), alice, NOW), Err(QuotaError::Octets { .. })));
        let bob = own(2, None, Some(0));
        assert!(quota.spend(host(1, 1), bob, 100_000_000_000, NOW), "0 is no limit");
        assert_eq!((0..50).filter(|_| quota.begin(host(1, 1), bob, NOW).is_ok()).count(), 16);
    }

    #[test]
    fn a_ticket_exceeds_the_quota_of_networks_only_where_the_issuers_line_does() {
        let class = |tests_per_hour| QuotaClass { tests_per_hour, octets_per_day: tests_per_hour.map(u64::from) };
        for (bearer, (line, ticket, granted)) in
            (1..).zip([(None, Some(40), 16), (None, Some(0), 16), (None, Some(5), 5), (Some(40), Some(0), 40)])
        {
            let own = OwnQuota::with_ticket(BearerId([bearer; 32]), class(line), class(ticket));
            let mut quota = Quota::new(LIMITS);
            let begun = (0..50).filter(|_| quota.begin(host(1, 1), own, NOW).is_ok()).count();
            assert_eq!(begun, granted, "{line:?} {ticket:?}");
        }
        let unlimited = OwnQuota::with_ticket(BearerId([9; 32]), QuotaClass::default(), class(Some(0)));
        assert!(!Quota::new(LIMITS).spend(host(1, 1), unlimited, LIMITS.octets_per_day, NOW));
        let mut open = Quota::new(QuotaLimits::NONE);
        assert!((0..50).all(|_| open.begin(host(1, 1), unlimited, NOW).is_ok()), "networks have no limit here");
    }

    #[test]
    fn the_limits_of_all_together_apply_to_bearers_too() {
        let mut quota = Quota::new(LIMITS);
        let private = IpAddr::from([10, 0, 0, 1]);
        let begun = (0..200).filter(|_| quota.begin(private, own(1, Some(0), Some(0)), NOW).is_ok()).count();
        assert_eq!(begun, 100);
        assert!(!quota.spend(private, own(1, Some(0), Some(0)), 400_000_000_000, NOW));
    }

    #[test]
    fn what_bearers_used_outlives_the_server_and_older_states_are_read() {
        let mut quota = Quota::new(LIMITS);
        let alice = own(1, Some(1), None);
        quota.begin(host(1, 1), None, NOW).unwrap();
        let before = quota.to_json().unwrap();
        assert!(!before.contains("bearers"), "as programs without bearers write it");
        assert!(Quota::from_json(LIMITS, &before).unwrap().begin(host(1, 1), alice, NOW).is_ok());
        quota.begin(host(1, 1), alice, NOW).unwrap();
        let mut again = Quota::from_json(LIMITS, &quota.to_json().unwrap()).unwrap();
        assert!(again.begin(host(9, 1), alice, NOW + 60).is_err());
    }

    #[test]
    fn bearers_without_number_take_no_memory_without_end() {
        let mut quota = Quota::new(QuotaLimits::NONE);
        for number in 0..200_000_u32 {
            let mut id = [0; 32];
            id[..4].copy_from_slice(&number.to_be_bytes());
            let class = QuotaClass { tests_per_hour: Some(5), octets_per_day: None };
            assert!(quota.begin(host(1, 1), OwnQuota::new(BearerId(id), class), NOW).is_ok());
        }
        assert!(quota.bearers.len() <= MOST_NETWORKS && quota.networks.is_empty());
        let kept: Vec<String> =
            (0..MOST_NETWORKS + 9).map(|n| format!("[\"{n:064x}\",{{\"tests\":[],\"octets\":[]}}]")).collect();
        let json =
            format!("{{\"all\":{{\"tests\":[],\"octets\":[]}},\"networks\":[],\"bearers\":[{}]}}", kept.join(","));
        assert_eq!(Quota::from_json(LIMITS, &json).unwrap().bearers.len(), MOST_NETWORKS);
    }
}
