//! What is observed of DNS lookups (spec: DNS Lookup Speed).

use super::columns::table;
use crate::flow::FlowId;
use crate::time::TestTime;
use crate::units::Delay;

table! {
    /// One question to a resolver, sent once and in one packet over UDP.
    ///
    /// A question without an answer is a row like any other: the time waited says that the answer would have taken
    /// longer than that, no more.
    NameLookup in NameLookupTable {
        flow: FlowId,
        /// Its number within the flow, from 0. The questions for both kinds of address of one name are two rows.
        sequence: u32,
        /// When the schedule wanted it asked.
        scheduled: TestTime,
        /// Just before the question was sent.
        started: TestTime,
        /// What was asked for: record type of RFC 1035, 1 for A and 28 for AAAA.
        record: u16,
        /// What came of it: [`UNANSWERED`](Self::UNANSWERED) and the other constants.
        reached: u8,
        /// The answer's response code; 0 without one.
        response_code: u8,
        /// From `started` to the answer, or until waiting was given up.
        took: Delay,
        /// Bytes of the question above UDP.
        question_octets: u16,
        /// Bytes of the answer above UDP; 0 without one.
        answer_octets: u16,
    }
}

impl NameLookup {
    /// No answer until waiting was given up.
    pub const UNANSWERED: u8 = 0;
    /// An answer with the record, or that no such name or record exists.
    pub const ANSWERED: u8 = 1;
    /// The resolver said that it cannot or will not: any response code but 0 and 3.
    pub const REFUSED: u8 = 2;
    /// The question could not be sent, or the host reported that no program listens there.
    pub const IMPOSSIBLE: u8 = 3;
}
