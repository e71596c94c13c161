//! The specimen's rows of pages, lookups and short transfers.

use rrul_model::flow::FlowId;
use rrul_model::observation::{
    BrowserTime, BrowserTiming, ConnectionTotals, NameLookup, PageLoad, Tables, Transfer, WebObject,
};
use rrul_model::time::TestTime;
use rrul_model::units::{ByteCount, Delay};

/// Puts the `n`th row into each table. Fields differ, so that no two columns can be taken for each other.
pub(crate) fn push(tables: &mut Tables, flow: FlowId, n: u8, at: TestTime) {
    let number = u32::from(n);
    let started = TestTime(at.0 + 41_000);
    let lookup = NameLookup {
        flow,
        sequence: number,
        scheduled: at,
        started,
        record: 28,
        reached: n,
        response_code: 3,
        took: Delay(21_000_000),
        question_octets: 77,
        answer_octets: 105,
    };
    tables.push(lookup.into());
    let transfer = Transfer {
        flow,
        sequence: number,
        scheduled: at,
        started,
        reached: n,
        octets: ByteCount(100_000),
        arrived: ByteCount(99_000 + u64::from(n)),
        connect: Delay(18_000_001),
        answer: Delay(36_000_001),
        took: Delay(90_000_000),
        syn_retransmits: 2,
    };
    tables.push(transfer.into());
    let totals = ConnectionTotals {
        flow,
        connection: number,
        started,
        ended: TestTime(at.0 + 91_000_000),
        transport: 17,
        options: 7,
        sent_octets: 1_001,
        retransmitted_octets: 1_002,
        received_octets: 100_003,
        sent_segments: 44,
        received_segments: 75,
        sent_data_segments: 6,
        received_data_segments: 70,
        out_of_order: 8,
    };
    tables.push(totals.into());
    let load =
        PageLoad { flow, load: number, scheduled: at, started, outcome: n, took: Delay(1_400_000_000), fallbacks: 4 };
    tables.push(load.into());
    let object = WebObject {
        flow,
        load: number,
        object: 77,
        outcome: n,
        status: 200,
        protocol: 30,
        connection: 5,
        wanted: started,
        blocked: WebObject::NONE,
        lookup: Delay(19_000_000),
        connect: Delay(20_000_000),
        secure: Delay(22_000_000),
        send: Delay(50_000),
        wait: Delay(23_000_000),
        receive: Delay(24_000_000),
        octets: ByteCount(8_000),
    };
    tables.push(object.into());
    let timing = BrowserTiming {
        flow,
        load: number,
        first_byte: Delay(60_000_000),
        commit: Delay(61_000_000),
        first_contentful_paint: Delay(300_000_000),
        largest_contentful_paint: Delay(700_000_000),
        dom_content_loaded: Delay(400_000_000),
        load_event: Delay(1_300_000_000),
    };
    tables.push(timing.into());
    let time = BrowserTime { flow, at: started, user: Delay(800_000_000), system: Delay(300_000_000 + i64::from(n)) };
    tables.push(time.into());
}
