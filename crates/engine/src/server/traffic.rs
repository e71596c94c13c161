//! How much the sessions of a server send and receive, so that each recording says what others did meanwhile.

pub(super) mod session_traffic;

use std::sync::{Mutex, PoisonError};

use rrul_model::flow::FlowId;
use rrul_model::observation::{Observation, OtherSessions};
use rrul_model::recording::Frame;
use rrul_model::time::TestTime;

use session_traffic::{Amount, SessionTraffic};

/// What all sessions have moved since the server began.
#[derive(Debug, Default)]
pub(super) struct Traffic(Mutex<Amount>);

impl Traffic {
    fn read(&self) -> Amount {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts what a session has moved.
    pub(super) fn add(&self, more: Amount) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).add(more);
    }
}

/// What one session moves, and what the others do meanwhile.
pub(super) struct TrafficMeter<'a> {
    all: &'a Traffic,
    /// What all had moved when this one began.
    before: Amount,
    own: Amount,
    /// The counters of the control connection as they were read last.
    control: Amount,
}

impl<'a> TrafficMeter<'a> {
    pub(super) fn new(all: &'a Traffic) -> Self {
        Self { all, before: all.read(), own: Amount::default(), control: Amount::default() }
    }

    /// What the others have moved since this one began.
    pub(super) fn others(&self, at: TestTime) -> Observation {
        let Amount { octets, packets } = self.all.read().less(self.before).less(self.own);
        OtherSessions { at, octets, packets }.into()
    }

    /// Counts what this session has moved since the last time, what these frames show of its control connection and of path
    /// traces that the server sends included; returns how many bytes.
    pub(super) fn count(&mut self, session: &SessionTraffic, frames: &[Frame]) -> u64 {
        let mut new = session.take_new();
        for tables in frames.iter().map(|frame| &frame.tables) {
            for row in tables.tcp_info.rows().filter(|row| row.flow == FlowId::CONTROL) {
                let now = Amount::of_stream(&row);
                new.add(now.less(self.control));
                self.control = now;
            }
            tables.path_probe.rows().for_each(|row| new.add(Amount { octets: row.length.into(), packets: 1 }));
        }
        self.own.add(new);
        self.all.add(new);
        new.octets
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn each_session_sees_what_the_others_have_moved_since_it_began() {
        let all = Traffic::default();
        let (one, two) = (SessionTraffic::default(), SessionTraffic::default());
        let passed = |session: &SessionTraffic, payload| session.passed(Ipv4Addr::LOCALHOST.into(), payload);
        let mut first = TrafficMeter::new(&all);
        passed(&one, 972);
        assert_eq!(first.count(&one, &[]), 1000);
        let mut second = TrafficMeter::new(&all);
        passed(&one, 472);
        passed(&two, 2);
        assert_eq!((first.count(&one, &[]), second.count(&two, &[])), (500, 30));
        let others = |meter: &TrafficMeter<'_>| meter.others(TestTime(9));
        assert_eq!(others(&first), OtherSessions { at: TestTime(9), octets: 30, packets: 1 }.into());
        assert_eq!(others(&second), OtherSessions { at: TestTime(9), octets: 500, packets: 1 }.into());
    }
}
