//! The queue in virtual time.

use super::*;

const SECOND: i64 = 1_000_000_000;

fn host(network: u8, host: u8) -> IpAddr {
    IpAddr::from([192, 0, network, host])
}

fn of_seconds(seconds: u64) -> Demand {
    Demand { rate: None, length: Duration::from_secs(seconds) }
}

#[test]
fn a_policy_is_a_rate_or_any() {
    assert_eq!("any".parse::<LoadPolicy>().unwrap(), LoadPolicy::Unlimited);
    assert_eq!("20Mbit/s".parse::<LoadPolicy>().unwrap(), LoadPolicy::Within(20_000_000));
    assert!("20".parse::<LoadPolicy>().unwrap_err().to_string().ends_with("or write any"));
}

#[test]
fn ten_tests_at_once_run_in_order_and_never_two_at_a_time() {
    let mut queue = LoadQueue::new(LoadPolicy::Exclusive);
    (0..10).for_each(|test| queue.ask(test, host(2, 1), of_seconds(16)));
    let mut order: Vec<u64> = Vec::new();
    for round in 0..10_i64 {
        let granted = queue.grant(round * 16 * SECOND);
        assert_eq!(granted.len(), 1, "round {round}");
        assert!(queue.grant(round * 16 * SECOND).is_empty(), "no second one beside it");
        order.extend(&granted);
        queue.leave(granted[0]);
    }
    assert_eq!(order, (0..10).collect::<Vec<_>>());
    assert!(!queue.is_wanted() && queue.providers.next.is_empty() && queue.parties.is_empty());
}

#[test]
fn a_place_has_its_number_and_the_longest_wait() {
    let mut queue = LoadQueue::new(LoadPolicy::Exclusive);
    (0..3).for_each(|test| queue.ask(test, host(2, 1), of_seconds(30)));
    queue.grant(0);
    assert_eq!(queue.place(0, 0), None, "it runs");
    assert_eq!(queue.place(1, 10 * SECOND), Some(Place { position: 1, wait: Duration::from_secs(20) }));
    assert_eq!(queue.place(2, 10 * SECOND), Some(Place { position: 2, wait: Duration::from_secs(50) }));
    queue.leave(1);
    assert_eq!(queue.place(2, 10 * SECOND), Some(Place { position: 1, wait: Duration::from_secs(20) }));
}

#[test]
fn a_network_that_asks_for_much_waits_behind_its_own_tests() {
    let mut queue = LoadQueue::new(LoadPolicy::Exclusive);
    (0..8).for_each(|test| queue.ask(test, host(1, test as u8), of_seconds(60)));
    (8..16).for_each(|test| queue.ask(test, host(2, test as u8), of_seconds(60)));
    assert_eq!(queue.grant(0), vec![0_u64]);
    queue.ask(99, host(3, 1), of_seconds(16));
    // The first test of the second network came before it, with the same turn; then it is its own.
    assert_eq!(queue.place(99, 0).unwrap().position, 2);
    queue.leave(0);
    assert_eq!(queue.grant(0), vec![8_u64]);
    queue.leave(8);
    assert_eq!(queue.grant(0), vec![99_u64]);
}

#[test]
fn beside_two_networks_at_full_attack_a_third_waits_for_one_test_at_most() {
    const TEST: i64 = 60;
    let mut longest = 0;
    // Once both have had a turn.
    for arrival in (2 * TEST..8 * TEST).step_by(7) {
        let mut queue = LoadQueue::new(LoadPolicy::Exclusive);
        let mut running: Option<(u64, i64)> = None;
        let waited = (0..).find_map(|second| {
            // Each of the two asks again for every test that has ended.
            for test in 0..32 {
                queue.ask(test, host(1 + test as u8 / 16, 1), of_seconds(TEST.cast_unsigned()));
            }
            if second == arrival {
                queue.ask(u64::MAX, host(3, 1), of_seconds(16));
            }
            if let Some((test, _)) = running.take_if(|(_, ends)| *ends <= second) {
                queue.leave(test);
            }
            for test in queue.grant(second * SECOND) {
                running = Some((test, second + TEST));
            }
            queue.runs(u64::MAX).then_some(second - arrival)
        });
        longest = longest.max(waited.unwrap());
    }
    assert!(longest <= TEST, "{longest} s");
}

/// Two networks ask again for a test of ten minutes whenever one has ended. How long a third waits that asks at this second.
fn waits_beside_long_tests(arrival: i64) -> i64 {
    const TEST: i64 = 600;
    let mut queue = LoadQueue::new(LoadPolicy::Exclusive);
    let mut running: Option<(u64, i64)> = None;
    let waited = (0..).find_map(|second| {
        let now = second * SECOND;
        for test in 0..32 {
            queue.ask(test, host(1 + test as u8 / 16, 1), of_seconds(TEST.cast_unsigned()));
        }
        if second == arrival {
            queue.ask(u64::MAX, host(3, 1), of_seconds(16));
        }
        if let Some((test, ends)) = running
            && (ends <= second || queue.gives_way(test, now))
        {
            queue.count_time(now);
            queue.leave(test);
            running = None;
        }
        for test in queue.grant(now) {
            running = Some((test, second + TEST));
        }
        queue.runs(u64::MAX).then_some(second - arrival)
    });
    waited.unwrap_or_default()
}

#[test]
fn beside_two_networks_with_long_tests_a_third_waits_for_a_minute_at_most() {
    // Once both have had their share of the hour.
    let longest = (2400..6000).step_by(61).map(waits_beside_long_tests).max();
    assert_eq!(longest, Some(60));
    // Before, each has its share.
    let first = waits_beside_long_tests(1);
    assert!((120..=250).contains(&first), "{first} s");
}

#[test]
fn a_test_gives_way_to_no_network_that_has_had_its_share_and_to_none_of_its_own() {
    let ran = |queue: &mut LoadQueue, test, network, from: i64, to: i64| {
        queue.ask(test, host(network, 1), of_seconds(1000));
        assert_eq!(queue.grant(from * SECOND), vec![test]);
        queue.count_time(to * SECOND);
        queue.leave(test);
    };
    let mut queue = LoadQueue::new(LoadPolicy::Exclusive);
    ran(&mut queue, 1, 1, 0, 200);
    queue.ask(2, host(2, 1), of_seconds(1000));
    queue.grant(200 * SECOND);
    for (test, network) in [(3, 1), (4, 2)] {
        queue.ask(test, host(network, 9), of_seconds(16));
    }
    queue.grant(200 * SECOND);
    assert!(!queue.gives_way(2, 500 * SECOND), "the first has had its share, and the other is its own");
    queue.ask(5, host(5, 1), of_seconds(16));
    queue.grant(500 * SECOND);
    assert!(!queue.gives_way(2, 559 * SECOND) && queue.gives_way(2, 560 * SECOND));
    assert!(!queue.gives_way(5, 560 * SECOND), "it does not run");
}

#[test]
fn a_share_comes_back_within_an_hour() {
    let mut queue = LoadQueue::new(LoadPolicy::Exclusive);
    queue.ask(1, host(1, 1), of_seconds(240));
    queue.grant(0);
    queue.count_time(240 * SECOND);
    queue.leave(1);
    assert!(!queue.loaded.is_empty());
    queue.count_time(7500 * SECOND);
    assert!(queue.loaded.is_empty(), "nothing is kept of a network that has been away: {:?}", queue.loaded);
}

#[test]
fn a_network_that_has_been_away_gains_nothing_by_it() {
    let mut queue = LoadQueue::new(LoadPolicy::Exclusive);
    for test in 0..20 {
        queue.ask(test, host(1, 1), of_seconds(60));
    }
    // Each takes its whole time.
    let mut minute = 0;
    let mut serve = |queue: &mut LoadQueue| {
        let granted = queue.grant(minute * 60 * SECOND)[0];
        minute += 1;
        queue.count_time(minute * 60 * SECOND);
        queue.leave(granted);
        granted
    };
    for _ in 0..10 {
        serve(&mut queue);
    }
    (100..103).for_each(|test| queue.ask(test, host(2, 1), of_seconds(60)));
    let order: Vec<u64> = (0..6).map(|_| serve(&mut queue)).collect();
    assert_eq!(order.iter().filter(|test| **test >= 100).count(), 3, "{order:?}");
    assert!(order[..3].iter().any(|test| *test < 100), "the other network has its turns, too: {order:?}");
}

#[test]
fn who_asks_and_leaves_costs_its_network_nothing() {
    let mut queue = LoadQueue::new(LoadPolicy::Exclusive);
    (0..3).for_each(|test| queue.ask(test, host(1, 1), of_seconds(600)));
    assert_eq!(queue.grant(0), vec![0_u64]);
    for second in 0..100 {
        queue.ask(50, host(2, 66), of_seconds(600));
        assert!(queue.grant(second * SECOND).is_empty());
        queue.leave(50);
    }
    queue.ask(98, host(2, 1), of_seconds(16));
    queue.ask(99, host(3, 1), of_seconds(16));
    assert_eq!(queue.place(98, 0).unwrap().position, 1);
    assert_eq!(queue.place(99, 0).unwrap().position, 2);
}

#[test]
fn a_test_that_ends_early_costs_its_network_what_it_took() {
    let mut queue = LoadQueue::new(LoadPolicy::Exclusive);
    (0..3).for_each(|test| queue.ask(test, host(1, 1), of_seconds(60)));
    queue.grant(0);
    queue.ask(50, host(2, 66), of_seconds(600));
    queue.leave(0);
    assert_eq!(queue.grant(0), vec![50_u64]);
    queue.count_time(10 * SECOND);
    queue.leave(50);
    // Ten seconds, where the other network has had none: it goes first, and then they take turns.
    (98..100).for_each(|test| queue.ask(test, host(2, 1), of_seconds(16)));
    let order: Vec<u64> = (0..4)
        .map(|minute| {
            let granted = queue.grant(minute * 60 * SECOND)[0];
            queue.count_time((minute + 1) * 60 * SECOND);
            queue.leave(granted);
            granted
        })
        .collect();
    assert_eq!(order, [1, 98, 99, 2]);
}

/// An address of this network of one of two providers.
fn site(provider: u16, network: u16) -> IpAddr {
    IpAddr::from([0x2001, provider, network, 0, 0, 0, 0, 1])
}

/// 256 tests of ten minutes wait, each of another network of one provider, and another follows each that ends. How long a test of
/// another provider waits that asks at this second.
fn waits_beside_a_whole_provider(arrival: i64) -> i64 {
    const TEST: i64 = 600;
    let mut queue = LoadQueue::new(LoadPolicy::Exclusive);
    let mut running: Option<(u64, i64)> = None;
    let ask = |queue: &mut LoadQueue, test: u16| {
        queue.ask(test.into(), site(0xdb8, test), of_seconds(TEST.cast_unsigned()));
    };
    (0..256).for_each(|test| ask(&mut queue, test));
    let mut next = 256;
    let waited = (0..).find_map(|second| {
        let now = second * SECOND;
        if second == arrival {
            queue.ask(u64::MAX, site(0xdb9, 1), of_seconds(16));
        }
        if let Some((test, ends)) = running
            && (ends <= second || queue.gives_way(test, now))
        {
            queue.count_time(now);
            queue.leave(test);
            running = None;
            ask(&mut queue, next);
            next += 1;
        }
        for test in queue.grant(now) {
            running = Some((test, second + TEST));
        }
        queue.runs(u64::MAX).then_some(second - arrival)
    });
    waited.unwrap_or_default()
}

#[test]
fn beside_all_networks_of_a_provider_a_test_of_another_waits_for_one_test_at_most() {
    let first = waits_beside_a_whole_provider(1);
    assert!(first <= 600, "{first} s");
    // Once the provider has had the share of several networks.
    let longest = [900, 1333, 2000, 3001].map(waits_beside_a_whole_provider).into_iter().max();
    assert_eq!(longest, Some(60));
}

#[test]
fn a_provider_of_many_networks_has_the_turns_of_a_few() {
    let mut queue = LoadQueue::new(LoadPolicy::Exclusive);
    (0..40).for_each(|test| queue.ask(test, site(0xdb8, test as u16), of_seconds(60)));
    (100..120).for_each(|test| queue.ask(test, site(0xdb9, 1), of_seconds(60)));
    let served: Vec<u64> = (0..20)
        .map(|minute| {
            let granted = queue.grant(minute * 60 * SECOND)[0];
            queue.count_time((minute + 1) * 60 * SECOND);
            queue.leave(granted);
            granted
        })
        .collect();
    let others = served.iter().filter(|test| **test >= 100).count();
    assert!((4..=5).contains(&others), "one of five turns: {served:?}");
}

#[test]
fn loads_that_fit_the_egress_run_together() {
    let mut queue = LoadQueue::new(LoadPolicy::Within(100));
    let paced = |rate| Demand { rate: Some(rate), length: Duration::from_secs(10) };
    queue.ask(1, host(1, 1), paced(60));
    queue.ask(2, host(2, 1), paced(40));
    queue.ask(3, host(3, 1), paced(1));
    assert_eq!(queue.grant(0), vec![1_u64, 2_u64]);
    queue.leave(2);
    assert_eq!(queue.grant(0), vec![3_u64]);
    queue.ask(4, host(4, 1), of_seconds(10));
    assert!(queue.grant(0).is_empty(), "a load without a rate has the egress to itself");
    queue.leave(1);
    queue.leave(3);
    assert_eq!(queue.grant(0), vec![4_u64]);
    queue.ask(5, host(5, 1), paced(200));
    queue.leave(4);
    assert_eq!(queue.grant(0), vec![5_u64], "more than the egress runs alone");
}

#[test]
fn without_a_limit_no_test_waits() {
    let mut queue = LoadQueue::new(LoadPolicy::Unlimited);
    (0..5).for_each(|test| queue.ask(test, host(1, 1), of_seconds(10)));
    assert_eq!(queue.grant(0).len(), 5);
}

#[test]
fn a_new_policy_is_for_tests_that_wait() {
    let mut queue = LoadQueue::new(LoadPolicy::Unlimited);
    (0..3).for_each(|test| queue.ask(test, host(1, 1), of_seconds(10)));
    assert_eq!(queue.grant(0).len(), 3);
    queue.set_policy(LoadPolicy::Exclusive);
    queue.ask(3, host(1, 1), of_seconds(10));
    assert!(queue.grant(0).is_empty() && queue.runs(2));
    queue.set_policy(LoadPolicy::Unlimited);
    assert_eq!(queue.grant(0), vec![3_u64]);
}

#[test]
fn who_asks_twice_keeps_the_first_place() {
    let mut queue = LoadQueue::new(LoadPolicy::Exclusive);
    (0..3).for_each(|test| queue.ask(test, host(1, 1), of_seconds(10)));
    queue.ask(0, host(1, 1), of_seconds(10));
    assert_eq!(queue.grant(0), vec![0_u64]);
    queue.ask(0, host(1, 1), of_seconds(10));
    queue.leave(0);
    assert_eq!(queue.grant(0), vec![1_u64]);
    assert_eq!(queue.place(0, 0), None);
}
