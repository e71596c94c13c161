//! Routers that do not answer, or not as they should: less may be reported, and nothing wrong.

use rrul_model::flow::Direction;

use crate::run::Bed;
use crate::seeds;
use crate::verdicts::{Place, Tally};

const HOPS: u8 = 5;

/// What is the matter with router `hop`, as a line of the link's path.
type Disturbance = (&'static str, fn(hop: u8) -> String);

/// Runs each of these over queues at every place, with another router disturbed by each seed.
fn each(disturbances: &[Disturbance]) -> Tally {
    let mut tally = Tally::default();
    for (name, lines) in disturbances {
        for (seed, up) in seeds().flat_map(|seed| (1..=HOPS).map(move |up| (seed, up))) {
            let (down, hop) = ((up + 1) % HOPS + 1, (up + (seed % u64::from(HOPS)) as u8) % HOPS + 1);
            let path = format!("hops = {HOPS}\nup_queue_after = {up}\ndown_queue_after = {down}\n{}", lines(hop));
            for trace in &Bed::new(path.clone(), seed).analyze().path_traces {
                let place = if trace.direction == Direction::Up { up } else { down };
                let condition = format!("{name}, {}, {}", trace.direction, trace.family);
                let what = format!("seed {seed}, {}", path.replace('\n', ", "));
                tally.count(condition, trace, &[Place::of(trace.direction, place, HOPS)], &what);
            }
        }
    }
    println!("{tally}");
    tally
}

#[test]
fn what_routers_keep_to_themselves_is_left_open() {
    let tally = each(&[
        ("one silent", |hop| format!("silent = [{hop}]")),
        ("two silent", |hop| format!("silent = [{hop}, {}]", hop % HOPS + 1)),
        ("all silent", |_| format!("silent = {:?}", (1..=HOPS).collect::<Vec<_>>())),
        ("one in 3 s", |hop| format!("rate_limited = [{{ hop = {hop}, every = \"3s\" }}]")),
        ("each in 3 s", |_| {
            let limits: Vec<String> = (1..=HOPS).map(|hop| format!("{{ hop = {hop}, every = \"3s\" }}")).collect();
            format!("rate_limited = [{}]", limits.join(", "))
        }),
        ("one garbage", |hop| format!("garbage = [{hop}]")),
    ]);
    tally.assert_never_wrong();
    tally.assert_tells(60);
}

#[test]
fn routers_that_answer_late_or_seldom_mislead_no_one() {
    let tally = each(&[
        ("one in 1 s", |hop| format!("rate_limited = [{{ hop = {hop}, every = \"1s\" }}]")),
        ("slow, up to 10 ms", |hop| format!("slow = [{{ hop = {hop}, up_to = \"10ms\" }}]")),
        ("slow, up to 30 ms", |hop| format!("slow = [{{ hop = {hop}, up_to = \"30ms\" }}]")),
        ("all slow, up to 30 ms", |_| {
            let slow: Vec<String> = (1..=HOPS).map(|hop| format!("{{ hop = {hop}, up_to = \"30ms\" }}")).collect();
            format!("slow = [{}]", slow.join(", "))
        }),
    ]);
    tally.assert_never_wrong();
    tally.assert_tells(80);
}

#[test]
fn neither_short_quotes_nor_another_way_back_hide_the_link() {
    let tally = each(&[
        ("short quotes", |hop| format!("short_quotes = [{hop}]")),
        ("all short quotes", |_| format!("short_quotes = {:?}", (1..=HOPS).collect::<Vec<_>>())),
        ("other way back", |_| "reply_path = \"other\"".to_owned()),
    ]);
    tally.assert_never_wrong();
    tally.assert_nearly_always_right();
}
