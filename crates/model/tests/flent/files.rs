//! Small files in the form of each version.

use rrul_model::observation::{ObservationPoint, Tables};
use rrul_model::recording::Recording;
use serde_json::{Value, json};

/// 2026-11-21T18:51:06.672520Z.
pub(crate) const T0: f64 = 1_795_287_066.672_52;

/// A file of version 4: one stream each way, irtt and fping, one second idle, two loaded, one after.
pub(crate) fn version_4() -> Value {
    let stream = |rate: f64| -> Vec<Value> {
        (1..=4).map(|n| json!({"t": T0 + 1.0 + 0.5 * f64::from(n), "dur": 0.5, "val": rate})).collect()
    };
    let mut up = stream(8.0);
    up.push(json!({"t": T0 + 1.2, "tcp_cwnd": 23.0, "tcp_rtt": 12.5, "tcp_pacing_rate": 8.0}));
    json!({
        "version": 4,
        "x_values": [0.0, 0.5, 1.0],
        "results": {
            "TCP upload BE": [null, 8.0, 8.0],
            "TCP upload BE::tcp_cwnd": [null, 23.0, 23.0],
            "TCP download EF": [null, 16.0, 16.0],
            "TCP download sum": [null, 16.0, 16.0],
            "Ping (ms) UDP EF": [20.0, 20.0, 20.0],
            "Ping (ms) ICMP": [10.0, 10.0, 10.0],
        },
        "raw_values": {
            "TCP upload BE": up,
            "TCP download EF": stream(16.0),
            "TCP download sum": [],
            "Ping (ms) UDP EF": [
                {"seq": 0, "t": T0 + 0.020, "val": 20.0, "owd_up": 1005.0, "owd_down": -985.0},
                {"seq": 1, "t": T0 + 0.2, "lost": true, "lost_dir": "up"},
                {"seq": 2, "t": T0 + 0.4, "lost": true, "lost_dir": "down"},
                {"seq": 3, "t": T0 + 0.630, "val": 30.0, "owd_up": 1015.0, "owd_down": -985.0},
            ],
            "Ping (ms) ICMP": [
                {"seq": 0.0, "t": T0 + 0.01, "val": 10.0},
                {"seq": 1.0, "t": T0 + 0.21, "val": 10.0},
                {"seq": 3.0, "t": T0 + 0.61, "val": 10.0},
            ],
        },
        "metadata": {
            "NAME": "rrul", "TITLE": "a \u{7}title", "HOST": "192.0.2.7", "LOCAL_HOST": "client", "FLENT_VERSION": "2.3.0",
            "TIME": "2026-11-21T18:51:06.306851Z", "T0": "2026-11-21T18:51:06.672520Z",
            "LENGTH": 2, "TOTAL_LENGTH": 4, "STEP_SIZE": 0.5, "IP_VERSION": 4,
            "KERNEL_NAME": "Linux", "KERNEL_RELEASE": "6.1",
            "SYSCTLS": {"net.ipv4.tcp_ecn": 2, "net.ipv4.tcp_rmem": "4096\t131072\t33554432"},
            "EGRESS_INFO": {"iface": "eth0", "qdiscs": [{"name": "fq_codel", "id": "0:", "parent": "root", "params": {"limit": "10240p"}}], "driver": null},
            "SERIES_META": {
                "TCP upload BE": {"BYTES_RECVD": 2_010_000, "ELAPSED_TIME": 2.25, "CONG_CONTROL": "bbr", "DATA_TOS": 0, "TCP_RETRANSMIT": "7"},
                "TCP download EF": {"BYTES_RECVD": 4_000_000, "ELAPSED_TIME": 2.0, "DATA_TOS": 184},
                "Ping (ms) UDP EF": {"RUNNER": "IrttRunner", "COMMAND": "irtt client -6 --dscp=0xb8 192.0.2.7"},
            },
        },
    })
}

/// A file as netperf-wrapper wrote it in 2012.
pub(crate) fn of_2012() -> Value {
    json!({
        "x_values": [0.0, 0.2, 0.4, 0.6, 0.8, 1.0, 1.2],
        "results": {
            "TCP upload BE": [null, null, 8.0, 8.0, null, 8.0, null],
            "Ping (ms) UDP EF": [30.0, 31.0, null, null, null, null, null],
            "Ping (ms) ICMP": [10.0, 11.0, null, 13.0, 14.0, 15.0, 16.0],
            "TCP upload avg": [null, null, 8.0, 8.0, null, 8.0, null],
            "Ping (ms) avg": [20.0, 21.0, null, 13.0, 14.0, 15.0, 16.0],
        },
        "metadata": {
            "NAME": "rrul", "LOCAL_HOST": "ida", "TITLE": "", "LENGTH": 0.8, "TOTAL_LENGTH": 1.6, "HOST": "server.example",
            "STEP_SIZE": 0.2, "TIME": "2012-11-27T11:36:02.463298",
        },
    })
}

pub(crate) fn read(file: &Value) -> Recording {
    rrul_model::flent::read(file.to_string().as_bytes()).unwrap()
}

pub(crate) fn tables(recording: &Recording, point: ObservationPoint) -> &Tables {
    recording.tables_of(point).next().unwrap()
}
