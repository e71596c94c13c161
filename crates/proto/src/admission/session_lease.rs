//! How long a session lasts: every state has an end that the client cannot put off without doing what the state is for.

use std::time::Duration;

use crate::limits::{FETCHING_TIME, PREPARING_TIME};

/// How long a client may say nothing on the control connection while it waits in line or a test runs. While its test loads,
/// its other traffic counts too: the load may starve that connection.
pub const SILENCE_TIME: Duration = Duration::from_secs(15);

/// How often a client says that it is there when it has nothing else to say.
pub const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(3);

/// How long a client may take to its `open`, and from the grant to T0 where another test waits or it says nothing.
pub const BEGINNING_TIME: Duration = Duration::from_secs(15);

/// Octets that a session moves at least in every [`MOVING_TIME`] in which it is to load.
pub const LEAST_MOVED: u64 = 1000;
pub const MOVING_TIME: Duration = Duration::from_secs(10);

/// Why a session has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Expiry {
    #[error("no test asked for within {} s", BEGINNING_TIME.as_secs())]
    NoTest,
    #[error("not begun in time")]
    NotBegun,
    #[error("no word for {} s", SILENCE_TIME.as_secs())]
    Silent,
    #[error("less than {LEAST_MOVED} bytes moved in {} s", MOVING_TIME.as_secs())]
    Unused,
    #[error("more bytes than granted")]
    Octets,
    #[error("its results were not fetched in time")]
    Unfetched,
}

/// What an `open` is granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grant {
    /// How long the test is.
    pub length: Duration,
    /// Octets that it moves at most, both directions together; `None` for any number.
    pub octets: Option<u64>,
    /// When it is to load, after T0: then it moves octets, or ends. `None` for a test that does not load.
    pub load: Option<(Duration, Duration)>,
    /// Whether the client says that it is there, so that its silence means something. Of one that does not, its kernel's
    /// silence does.
    pub heartbeat: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Welcomed { since: i64 },
    Waiting,
    Granted { since: i64, grant: Grant },
    Running { origin: i64, grant: Grant, moved: u64, moved_at: i64 },
    Finished { since: i64 },
}

/// One session's time. All times are nanoseconds of one monotonic clock, passed in.
#[derive(Debug, Clone)]
pub struct SessionLease {
    state: State,
    heard: i64,
}

impl SessionLease {
    /// A session that has been welcomed.
    pub fn new(now: i64) -> Self {
        Self { state: State::Welcomed { since: now }, heard: now }
    }

    /// The client has shown that it is there.
    pub fn heard(&mut self, now: i64) {
        self.heard = self.heard.max(now);
    }

    /// The test waits in line.
    pub fn waits(&mut self) {
        if matches!(self.state, State::Welcomed { .. }) {
            self.state = State::Waiting;
        }
    }

    /// Its turn has come; it now has to say what it wants.
    pub fn turn_came(&mut self, now: i64) {
        if self.state == State::Waiting {
            self.state = State::Welcomed { since: now };
        }
    }

    /// Whether the client's silence will end its test.
    pub fn minds_silence(&self) -> bool {
        matches!(self.state, State::Granted { grant, .. } | State::Running { grant, .. } if grant.heartbeat)
    }

    /// The test is granted.
    pub fn granted(&mut self, now: i64, grant: Grant) {
        if matches!(self.state, State::Welcomed { .. } | State::Waiting) {
            self.state = State::Granted { since: now, grant };
        }
    }

    /// Whether a client may name this T0: it is a minute away at most. One that is over by now was on its way for a while.
    pub fn may_begin(origin: i64, now: i64) -> bool {
        (after(now, PREPARING_TIME).saturating_sub(origin) >= 0) && after(origin, PREPARING_TIME) >= now
    }

    /// The client has named T0.
    pub fn begins(&mut self, origin: i64) {
        if let State::Granted { grant, .. } = self.state {
            self.state = State::Running { origin, grant, moved: 0, moved_at: origin };
        }
    }

    /// So many octets have been moved since T0.
    pub fn moved(&mut self, octets: u64, now: i64) {
        if let State::Running { moved, moved_at, .. } = &mut self.state
            && octets.saturating_sub(*moved) >= LEAST_MOVED
        {
            (*moved, *moved_at) = (octets, now);
        }
    }

    /// The load ends this long after T0, sooner than planned.
    pub fn load_ends(&mut self, after_origin: Duration) {
        if let State::Running { grant: Grant { load: Some((_, to)), .. }, .. } = &mut self.state {
            *to = after_origin.min(*to);
        }
    }

    /// The test was stopped, or ended early: what is left is to fetch the results.
    pub fn finished(&mut self, now: i64) {
        if !matches!(self.state, State::Finished { .. }) {
            self.state = State::Finished { since: now };
        }
    }

    /// When the session ends if nothing happens, and why. `wanted` is whether another test waits for this one.
    pub fn ends(&self, wanted: bool) -> (i64, Expiry) {
        let silent = (after(self.heard, SILENCE_TIME), Expiry::Silent);
        match self.state {
            State::Welcomed { since } => (after(since, BEGINNING_TIME), Expiry::NoTest),
            State::Waiting => silent,
            State::Granted { since, .. } => {
                let soon = after(if wanted { since } else { self.heard.max(since) }, BEGINNING_TIME);
                (soon.min(after(since, PREPARING_TIME)), Expiry::NotBegun)
            }
            State::Running { origin, grant, moved_at, .. } => {
                let mut first = (after(after(origin, grant.length), FETCHING_TIME), Expiry::Unfetched);
                if grant.heartbeat {
                    first = earlier(silent, first);
                }
                if let Some((from, to)) = grant.load {
                    let unused = after(moved_at.max(after(origin, from)), MOVING_TIME);
                    if unused <= after(origin, to) {
                        first = earlier((unused, Expiry::Unused), first);
                    }
                }
                first
            }
            State::Finished { since } => earlier(silent, (after(since, FETCHING_TIME), Expiry::Unfetched)),
        }
    }

    /// Why the session is over by now; `None` while it is not.
    pub fn expired(&self, now: i64, wanted: bool) -> Option<Expiry> {
        let (ends, why) = self.ends(wanted);
        if now > ends {
            return Some(why);
        }
        match self.state {
            State::Running { grant: Grant { octets: Some(most), .. }, moved, .. } if moved > most => {
                Some(Expiry::Octets)
            }
            _ => None,
        }
    }
}

fn after(instant: i64, time: Duration) -> i64 {
    instant.saturating_add(i64::try_from(time.as_nanos()).unwrap_or(i64::MAX))
}

fn earlier(one: (i64, Expiry), other: (i64, Expiry)) -> (i64, Expiry) {
    if other.0 < one.0 { other } else { one }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    const GRANT: Grant = Grant {
        length: Duration::from_secs(70),
        octets: None,
        load: Some((Duration::from_secs(5), Duration::from_secs(65))),
        heartbeat: true,
    };

    /// When the lease ends, in whole seconds, when this happens every second.
    fn ends(mut lease: SessionLease, wanted: bool, each_second: impl Fn(&mut SessionLease, i64)) -> (i64, Expiry) {
        for second in 1..1000 {
            if let Some(why) = lease.expired(second * SECOND, wanted) {
                return (second, why);
            }
            each_second(&mut lease, second * SECOND);
        }
        panic!("it never ends: {lease:?}");
    }

    fn running(grant: Grant) -> SessionLease {
        let mut lease = SessionLease::new(0);
        lease.granted(0, grant);
        lease.begins(0);
        lease
    }

    #[test]
    fn a_session_without_a_test_is_freed_whatever_it_says() {
        let chatting = |lease: &mut SessionLease, now| lease.heard(now);
        assert_eq!(ends(SessionLease::new(0), false, chatting), (16, Expiry::NoTest));
    }

    #[test]
    fn a_test_that_does_not_begin_frees_its_place() {
        let mut lease = SessionLease::new(0);
        lease.granted(0, GRANT);
        assert_eq!(ends(lease.clone(), false, |_, _| {}), (16, Expiry::NotBegun));
        let chatting = |lease: &mut SessionLease, now| lease.heard(now);
        assert_eq!(ends(lease.clone(), true, chatting), (16, Expiry::NotBegun), "another waits");
        assert_eq!(
            ends(lease, false, chatting),
            (61, Expiry::NotBegun),
            "a slow one has a minute while no other waits"
        );
    }

    #[test]
    fn who_waits_in_line_says_so_and_waits_as_long_as_it_takes() {
        let mut lease = SessionLease::new(0);
        lease.waits();
        assert_eq!(ends(lease.clone(), true, |_, _| {}), (16, Expiry::Silent));
        for second in 0..500 {
            assert_eq!(lease.expired(second * SECOND, true), None);
            lease.heard(second * SECOND);
        }
    }

    #[test]
    fn t0_is_a_minute_away_at_most_however_long_the_client_has_waited() {
        for now in [0, 50 * SECOND, 1000 * SECOND] {
            let may = |seconds: i64| SessionLease::may_begin(now + seconds * SECOND, now);
            assert_eq!([-61, -60, 0, 1, 60, 61].map(may), [false, true, true, true, true, false], "at {now}");
        }
        for origin in [i64::MIN, i64::MAX] {
            assert!(!SessionLease::may_begin(origin, 0) && SessionLease::may_begin(origin, origin));
        }
    }

    #[test]
    fn who_does_not_take_its_turn_loses_it() {
        let mut lease = SessionLease::new(0);
        lease.waits();
        let chatting = |lease: &mut SessionLease, now| lease.heard(now);
        chatting(&mut lease, 100 * SECOND);
        lease.turn_came(100 * SECOND);
        lease.turn_came(200 * SECOND);
        assert_eq!(ends(lease, true, chatting), (116, Expiry::NoTest));
    }

    #[test]
    fn a_client_that_vanishes_in_its_test_is_freed_after_fifteen_seconds() {
        let loading = |lease: &mut SessionLease, now: i64| lease.moved(now as u64, now);
        assert_eq!(ends(running(GRANT), false, loading), (16, Expiry::Silent));
        let older = Grant { heartbeat: false, ..GRANT };
        assert_eq!(ends(running(older), false, loading), (101, Expiry::Unfetched), "its silence means nothing");
    }

    #[test]
    fn a_load_that_moves_nothing_is_ended_but_not_outside_its_window() {
        let chatting = |lease: &mut SessionLease, now| lease.heard(now);
        assert_eq!(ends(running(GRANT), false, chatting), (16, Expiry::Unused), "10 s after its load has begun");
        let until_30 = |lease: &mut SessionLease, now: i64| {
            lease.heard(now);
            lease.moved((now.min(30 * SECOND) / 1000).cast_unsigned(), now);
        };
        assert_eq!(ends(running(GRANT), false, until_30), (41, Expiry::Unused));
        let until_60 = |lease: &mut SessionLease, now: i64| {
            lease.heard(now);
            lease.moved((now.min(60 * SECOND) / 1000).cast_unsigned(), now);
        };
        assert_eq!(ends(running(GRANT), false, until_60), (101, Expiry::Unfetched), "the load has ended by then");
        let light = Grant { load: None, ..GRANT };
        assert_eq!(ends(running(light), false, chatting), (101, Expiry::Unfetched));
    }

    #[test]
    fn a_trickle_is_no_load() {
        let trickle = |lease: &mut SessionLease, now: i64| {
            lease.heard(now);
            lease.moved((now / SECOND * 99).cast_unsigned(), now);
        };
        assert_eq!(ends(running(GRANT), false, trickle).1, Expiry::Unused);
    }

    #[test]
    fn a_load_that_was_ended_early_need_not_move_any_more() {
        let until_20 = |lease: &mut SessionLease, now: i64| {
            lease.heard(now);
            lease.moved((now.min(20 * SECOND) / 1000).cast_unsigned(), now);
            if now == 20 * SECOND {
                lease.load_ends(Duration::from_secs(21));
            }
        };
        assert_eq!(ends(running(GRANT), false, until_20), (101, Expiry::Unfetched));
        let mut later = running(GRANT);
        later.load_ends(Duration::from_secs(500));
        assert_eq!(ends(later, false, SessionLease::heard), (16, Expiry::Unused), "no later than planned");
    }

    #[test]
    fn a_session_that_moves_more_than_granted_is_ended() {
        let mut lease = running(Grant { octets: Some(1_000_000), ..GRANT });
        lease.moved(1_000_000, SECOND);
        assert_eq!(lease.expired(SECOND, false), None);
        lease.moved(1_001_000, SECOND);
        assert_eq!(lease.expired(SECOND, false), Some(Expiry::Octets));
    }

    #[test]
    fn results_are_kept_for_half_a_minute() {
        let mut lease = running(GRANT);
        lease.finished(0);
        assert_eq!(ends(lease, false, SessionLease::heard), (31, Expiry::Unfetched));
    }

    #[test]
    fn the_ends_of_the_clock_do_not_overflow() {
        for now in [i64::MIN, 0, i64::MAX] {
            let mut lease = SessionLease::new(now);
            lease.granted(now, Grant { length: Duration::MAX, load: Some((Duration::MAX, Duration::MAX)), ..GRANT });
            lease.begins(now);
            lease.moved(u64::MAX, now);
            let _ = (lease.ends(true), lease.expired(i64::MAX, false));
        }
    }
}
