//! Whether the server is still there while a test loads the line.
//!
//! A router that serves classes by strict priority may starve the control connection, while the server is well. The silence of that
//! connection then means nothing. The server is lost when nothing else comes from it either.

use std::collections::HashMap;
use std::time::Duration;

use rrul_model::flow::FlowId;
use rrul_model::observation::ObservationPoint;
use rrul_model::recording::Frame;
use rrul_model::time::TestTime;

use crate::tcp_info;

/// How long a server may be silent before it is given up.
pub(super) const GIVEN_UP: Duration = Duration::from_secs(30);

/// What has arrived of a server.
pub(super) struct ServerSilence {
    heard: TestTime,
    answered: HashMap<FlowId, u64>,
}

impl ServerSilence {
    /// Of a server that was there at this time.
    pub(super) fn new(heard: TestTime) -> Self {
        Self { heard, answered: HashMap::new() }
    }

    /// Reads what either end observed until now. What the server observed has come from it. So have answers, packets, and bytes and
    /// acknowledgments of a stream.
    pub(super) fn read(&mut self, frame: &Frame, now: TestTime) {
        let tables = &frame.tables;
        let mut is_there = frame.point == ObservationPoint::Server
            || !tables.probe_received.is_empty()
            || !tables.packet_received.is_empty()
            || tables.transaction.rows().any(|row| row.answered != 0);
        for row in tables.tcp_info.rows() {
            let answered = tcp_info::answered(&row);
            is_there |= self.answered.insert(row.flow, answered).is_some_and(|before| before != answered);
        }
        if is_there {
            self.heard = now;
        }
    }

    /// Whether the server is to be given up.
    pub(super) fn is_lost(&self, now: TestTime) -> bool {
        now > self.heard + GIVEN_UP
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};

    use rrul_model::observation::{Observation, Tables};

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn frame(point: ObservationPoint, rows: impl IntoIterator<Item = Observation>) -> Frame {
        let mut tables = Tables::default();
        rows.into_iter().for_each(|row| tables.push(row));
        Frame { point, number: 0, dropped: 0, tables, events: Vec::new() }
    }

    #[test]
    fn a_server_is_given_up_when_neither_its_words_nor_bytes_of_a_stream_arrive() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let _accepted = listener.accept().unwrap();
        let row = |stream: &TcpStream| tcp_info::read(stream, FlowId(1), TestTime::ZERO).unwrap().into();
        let at = |seconds: u32| TestTime::ZERO + SECOND * seconds;
        let mut silence = ServerSilence::new(TestTime::ZERO);
        // A stream on which nothing moves says nothing.
        for second in 1..=31 {
            assert_eq!(silence.is_lost(at(second)), second > 30, "{second} s");
            silence.read(&frame(ObservationPoint::Client, [row(&stream)]), at(second));
        }
        stream.write_all(&[0; 100]).unwrap();
        while tcp_info::answered(&tcp_info::read(&stream, FlowId(1), TestTime::ZERO).unwrap()) < 100 {
            std::thread::yield_now();
        }
        silence.read(&frame(ObservationPoint::Client, [row(&stream)]), at(32));
        assert!(!silence.is_lost(at(62)) && silence.is_lost(at(63)), "100 bytes were acknowledged at 32 s");
        silence.read(&frame(ObservationPoint::Server, []), at(70));
        assert!(!silence.is_lost(at(100)) && silence.is_lost(at(101)), "its observations came at 70 s");
    }
}
