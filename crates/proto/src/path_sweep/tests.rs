use super::*;

const SECOND: i64 = 1_000_000_000;
const MS: i64 = 1_000_000;

fn sweep(marked: Option<u8>) -> PathSweep {
    let settings = SweepSettings {
        window: Window { from: TestTime(0), to: TestTime(20 * SECOND) },
        interval: Duration::from_secs(1),
        rate: None,
        octet: 0,
        marked,
        headers: 28,
    };
    PathSweep::new(settings, 7)
}

/// Runs a whole sweep over a path of so many routers, at which each packet is answered after `delay`.
fn over(sweep: &mut PathSweep, routers: impl Fn(i64) -> u8, delay: i64, mtu: u16) -> Vec<SweepPacket> {
    let (mut sent, mut answers): (Vec<SweepPacket>, Vec<(i64, SweepPacket)>) = (Vec::new(), Vec::new());
    while let Some(due) = sweep.due() {
        while let Some(place) = answers.iter().position(|(at, _)| *at <= due.0) {
            let (at, packet) = answers.remove(place);
            assert_eq!(sweep.answered(packet.sequence, TestTime(at)), Some(packet));
            assert_eq!(sweep.answered(packet.sequence, TestTime(at)), None, "each is answered once");
            let routers = routers(packet.sent.0);
            if packet.hop_limit > routers {
                sweep.far_end(&packet, Some(packet.hop_limit - routers));
            }
        }
        if let Some(packet) = sweep.send(due) {
            sent.push(packet);
            if sweep.length(&packet) <= mtu {
                answers.push((due.0 + delay, packet));
            }
        }
    }
    sent
}

#[test]
fn every_hop_gets_one_packet_a_second_and_none_is_sent_for_hops_that_are_not_there() {
    let sent = over(&mut sweep(None), |_| 4, 20 * MS, 1500);
    for second in 1..19 {
        let limits: Vec<u8> = sent
            .iter()
            .filter(|packet| packet.payload < 200 && packet.sent.0 / SECOND == second)
            .map(|packet| packet.hop_limit)
            .collect();
        let mut sorted = limits.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, [1, 2, 3, 4, FULL_HOP_LIMIT], "second {second}: {limits:?}");
    }
}

#[test]
fn a_slow_line_gets_packets_less_often() {
    let mut sweep = sweep(None);
    sweep.settings.rate = Some(BitRate(4_000));
    let sent = over(&mut sweep, |_| 3, 20 * MS, 1500);
    // Five packets a round, 200 octets each, at 500 octets a second.
    let begins: Vec<i64> = sent.iter().filter(|packet| packet.hop_limit == 1).map(|packet| packet.sent.0).collect();
    assert!(begins.windows(2).skip(1).all(|pair| pair[1] - pair[0] == 2 * SECOND), "{begins:?}");
    sweep.settings.rate = Some(BitRate(0));
    assert!(sweep.interval() > 0, "no rate at all is no reason to panic");
}

#[test]
fn a_route_that_changes_is_followed_from_the_next_round_on() {
    let sent = over(&mut sweep(None), |at| if at < 10 * SECOND { 2 } else { 6 }, 20 * MS, 1500);
    let furthest = |range: std::ops::Range<i64>| {
        let within = sent.iter().filter(|packet| range.contains(&(packet.sent.0 / SECOND)));
        within.map(|packet| packet.hop_limit).filter(|limit| *limit < FULL_HOP_LIMIT).max()
    };
    assert_eq!((furthest(2..10), furthest(12..20)), (Some(2), Some(6)));
}

#[test]
fn a_destination_that_never_answers_is_searched_for_in_growing_circles_up_to_thirty_hops() {
    let mut sweep = sweep(None);
    let mut furthest = Vec::new();
    while let Some(due) = sweep.due() {
        if let Some(packet) = sweep.send(due).filter(|packet| packet.hop_limit < FULL_HOP_LIMIT) {
            furthest.resize(1 + (due.0 / SECOND) as usize, 0);
            let last = furthest.last_mut().unwrap();
            *last = packet.hop_limit.max(*last);
        }
    }
    assert_eq!((furthest[0], furthest[3], *furthest.last().unwrap()), (3, 12, MOST_HOPS));
}

#[test]
fn some_rounds_bear_the_second_marking() {
    let sent = over(&mut sweep(Some(0xb9)), |_| 3, 20 * MS, 1500);
    let marked: Vec<i64> =
        sent.iter().filter(|packet| packet.octet == 0xb9).map(|packet| packet.sent.0 / SECOND).collect();
    assert_eq!(marked.iter().filter(|second| **second == 1).count(), 4);
    assert_eq!(marked.iter().filter(|second| **second == 3).count(), 4);
    assert!((4..9).all(|second| !marked.contains(&second)));
}

#[test]
fn lengths_tell_packets_apart_and_what_is_in_doubt_is_nobodys() {
    let mut sweep = sweep(None);
    let mut sent = Vec::new();
    while sent.len() < 40 {
        let due = sweep.due().unwrap();
        sent.extend(sweep.send(due));
    }
    let now = sent.last().unwrap().sent;
    assert_eq!(sweep.answered_by_length(sent[20].payload, now), Some(sent[20]));
    assert_eq!(sent[0].payload, sent[32].payload);
    assert_eq!(sweep.answered_by_length(sent[0].payload, now), None, "two bear this length");
    sweep.answered(0, now);
    assert_eq!(sweep.answered_by_length(sent[32].payload, now), Some(sent[32]));
    assert_eq!(sweep.answered_by_length(7, now), None);
}

#[test]
fn late_answers_and_foreign_numbers_are_nobodys() {
    let mut sweep = sweep(None);
    let packet = sweep.send(sweep.due().unwrap()).unwrap();
    assert_eq!(sweep.answered(77, packet.sent), None);
    assert_eq!(sweep.answered(packet.sequence, TestTime(packet.sent.0 - 1)), None, "before it was sent");
    assert_eq!(sweep.answered(packet.sequence, TestTime(packet.sent.0 + WAITING + 1)), None);
    assert_eq!(sweep.answered(packet.sequence, TestTime(packet.sent.0 + WAITING)), Some(packet));
}

#[test]
fn a_host_that_stalled_leaves_out_what_was_due() {
    let mut sweep = sweep(None);
    let first = sweep.send(TestTime(10 * SECOND)).unwrap();
    assert!(first.sent == TestTime(10 * SECOND) && first.sequence == 0);
    let mut more = 0;
    while sweep.send(TestTime(10 * SECOND)).is_some() {
        more += 1;
    }
    assert!(more <= 2, "{more} at once");
}

#[test]
fn what_is_not_granted_takes_no_number_and_is_not_taken_for_lost() {
    let mut sweep = sweep(None);
    while let Some(due) = sweep.due().filter(|due| due.0 < 5 * SECOND) {
        assert_eq!(sweep.send_granted(due, || false), None);
    }
    let sent = over(&mut sweep, |_| 3, 20 * MS, 1500);
    assert_eq!(sent[0].sequence, 0);
    let long = sent.iter().filter(|packet| packet.payload > 200);
    assert_eq!(long.map(|packet| sweep.length(packet)).collect::<Vec<_>>(), [1500]);
}

#[test]
fn every_packet_that_may_still_be_answered_has_a_place() {
    let mut sweep = sweep(None);
    sweep.settings.interval = Duration::from_millis(200);
    let mut sweep = PathSweep::new(sweep.settings, 7);
    let mut first = None;
    while let Some(due) = sweep.due().filter(|due| due.0 < WAITING) {
        first = first.or(sweep.send(due));
    }
    assert_eq!(sweep.answered(0, TestTime(WAITING)), first);
    assert!(first.is_some());
    assert_eq!((places(1), places(i64::MAX)), (MOST_PLACES, 2 * usize::from(MOST_PACKETS)));
}

#[test]
fn the_path_mtu_is_found_within_a_few_seconds() {
    let mut sweep = sweep(None);
    let sent = over(&mut sweep, |_| 3, 20 * MS, 1420);
    let long: Vec<(i64, u16)> = sent
        .iter()
        .filter(|packet| packet.payload > 200)
        .map(|packet| (packet.sent.0 / SECOND, sweep.length(packet)))
        .collect();
    assert_eq!(long[0].1, 1500);
    assert!(long.iter().any(|(_, length)| *length == 1420), "{long:?}");
}
