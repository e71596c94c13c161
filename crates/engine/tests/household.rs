//! Bursty video over the loopback interface.

mod common;

use common::{options, plan, record, server};
use rrul_model::observation::{FlowEventKind, ObservationPoint, Transfer};
use rrul_model::recording::Recording;
use rrul_model::units::ByteCount;

fn failures(recording: &Recording) -> Vec<String> {
    let failed = recording.events().filter(|(_, event)| event.event == FlowEventKind::Failed);
    failed.map(|(point, event)| format!("{point:?} {}: {}", event.flow, event.detail)).collect()
}

#[test]
fn a_video_fills_its_buffer_and_then_fetches_a_segment_in_each_interval() {
    let text = "title = \"video\"\nphases = { idle = \"200ms\", load = \"2s\" }\n\
                [flow.video]\ntype = \"video_bursts\"\ncomponent = \"web\"\nduring = [\"load\"]\n\
                interval = \"400ms\"\nbuffer = \"1s\"\nrate = \"8Mbit/s\"\n";
    let server = server();
    let recording = record(&options(&server, plan(text))).unwrap();
    assert_eq!(failures(&recording), Vec::<String>::new());
    for flow in &recording.header.flows {
        assert_eq!(flow.parameters.text("buffer"), Some("800ms"), "what was fetched ahead is in the recording");
        let rows = recording.tables_of(ObservationPoint::Client).flat_map(|tables| tables.transfer.rows());
        let own: Vec<Transfer> = rows.filter(|row| row.flow == flow.id).collect();
        let due: Vec<i64> = own.iter().map(|row| (row.scheduled.0 - flow.window.from.0) / 1_000_000).collect();
        assert_eq!(due, [0, 0, 400, 800, 1200, 1600], "{}: two at once, then one in each interval", flow.name);
        for row in &own {
            assert_eq!((row.reached, row.octets, row.arrived), (Transfer::COMPLETE, ByteCount(400_000), row.octets));
            assert!(row.scheduled <= row.started && row.answer.0 > 0 && row.answer <= row.took, "{row:?}");
        }
        for point in [ObservationPoint::Client, ObservationPoint::Server] {
            let rows = recording.tables_of(point).flat_map(|tables| tables.tcp_info.rows());
            let last = rows.filter(|row| row.flow == flow.id).last().expect("the connection's counters are read");
            let carried = if point == ObservationPoint::Client { last.bytes_received } else { last.bytes_sent };
            assert!(carried >= 6 * 400_000, "{point:?} counted {carried}");
        }
    }
}
