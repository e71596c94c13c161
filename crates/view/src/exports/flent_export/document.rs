//! The file as Flent reads it: exactly five keys, every list of `results` as long as `x_values`.

use std::collections::BTreeMap;

use rrul_analysis::metrics::tcp::stream_limits::TcpPoint;
use serde::Serialize;

use crate::exports::flent_export::grid::Grid;

/// A file of Flent, version 4.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FlentFile {
    /// About the test and its series.
    pub metadata: Metadata,
    /// What was measured, by series; nothing for series that are computed from others.
    pub raw_values: BTreeMap<String, Vec<RawValue>>,
    /// Values at `x_values`, by series; `null` where nothing was measured.
    pub results: BTreeMap<String, Vec<Option<f64>>>,
    /// 4.
    pub version: u32,
    /// Seconds from T0.
    pub x_values: Vec<f64>,
}

impl FlentFile {
    pub(super) fn new(metadata: Metadata, grid: &Grid) -> Self {
        let x_values = grid.places.clone();
        Self { metadata, raw_values: BTreeMap::new(), results: BTreeMap::new(), version: 4, x_values }
    }

    pub(super) fn insert(&mut self, name: &str, values: Vec<Option<f64>>, raw: Vec<RawValue>, mut meta: SeriesMeta) {
        meta.idx = self.metadata.series_meta.len() as u64;
        self.results.insert(name.to_owned(), values);
        self.raw_values.insert(name.to_owned(), raw);
        self.metadata.series_meta.insert(name.to_owned(), meta);
    }

    /// A series that is computed from the measured ones whose name begins so.
    pub(super) fn computed(&mut self, name: &str, runner: &'static str, prefix: &str, of: fn(&[f64]) -> Option<f64>) {
        let metas = &self.metadata.series_meta;
        let sources = metas.iter().filter(|(other, meta)| other.starts_with(prefix) && !meta.is_computed());
        let sources: Vec<(String, SeriesMeta)> = sources.map(|(other, meta)| (other.clone(), meta.clone())).collect();
        let Some((_, first)) = sources.first() else { return };
        let units = first.units;
        let at = |place: usize| {
            let values = sources.iter().filter_map(|(other, _)| self.results.get(other)?.get(place).copied().flatten());
            of(&values.collect::<Vec<_>>())
        };
        let values = (0..self.x_values.len()).map(at).collect();
        let means: Vec<f64> = sources.iter().filter_map(|(_, meta)| meta.mean_value).collect();
        let meta = SeriesMeta { mean_value: of(&means), computed_late: Some(false), ..SeriesMeta::new(runner, units) };
        self.insert(name, values, Vec::new(), meta);
    }
}

/// About the test, by the names that Flent has for it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub struct Metadata {
    /// The test of Flent whose plots fit.
    pub name: String,
    pub title: String,
    /// What the file does not hold.
    pub note: String,
    pub host: String,
    pub hosts: Vec<String>,
    /// The client; empty, as an analysis does not know it.
    pub local_host: String,
    /// When the idle phase began.
    pub time: String,
    pub t0: String,
    /// The load, seconds.
    pub length: u64,
    /// Idle phase, load and what follows, seconds.
    pub total_length: u64,
    /// Seconds between `x_values`.
    pub step_size: f64,
    /// 4 or 6.
    pub ip_version: u8,
    /// What the test needs to know which series it has.
    pub test_parameters: BTreeMap<String, String>,
    pub flent_version: &'static str,
    pub data_filename: Option<String>,
    pub failed_runners: u64,
    pub series_meta: BTreeMap<String, SeriesMeta>,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub struct SeriesMeta {
    pub idx: u64,
    /// What measures such a series in Flent.
    pub runner: &'static str,
    /// `Mbits/s` or `ms`.
    pub units: &'static str,
    /// Mean rate over the load; mean delay of the packets that were answered, of the whole file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_value: Option<f64>,
    /// The same of UDP probes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rtt_mean: Option<f64>,
    /// Least delay, milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_value: Option<f64>,
    /// Most delay, milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_value: Option<f64>,
    /// The load, seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elapsed_time: Option<f64>,
    /// Bytes at the receiver during the load.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_recvd: Option<u64>,
    /// Traffic-class byte of the flow's class.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_tos: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packets_sent: Option<u64>,
    /// Test packets answered in time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packets_received: Option<u64>,
    /// Part of them that was not answered in time, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packet_loss_rate: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub computed_late: Option<bool>,
}

impl SeriesMeta {
    pub(super) fn new(runner: &'static str, units: &'static str) -> Self {
        Self { runner, units, ..Self::default() }
    }

    pub fn is_computed(&self) -> bool {
        self.computed_late.is_some()
    }
}

#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct RawValue {
    /// Unix seconds.
    pub t: f64,
    /// Mbit/s or milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub val: Option<f64>,
    /// Seconds up to `t` of which `val` is the mean.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dur: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// Delay on the way there, milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owd_up: Option<f64>,
    /// Delay on the way back, milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owd_down: Option<f64>,
    /// Set where the packet was lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost_dir: Option<&'static str>,
    /// Congestion window, segments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tcp_cwnd: Option<u32>,
    /// Smoothed round-trip time, milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tcp_rtt: Option<f64>,
}

impl RawValue {
    pub(super) fn rate(t: f64, dur: f64, megabits: f64) -> Self {
        Self { t, dur: Some(dur), val: Some(megabits), ..Self::default() }
    }

    pub(super) fn state(t: f64, state: &TcpPoint) -> Self {
        let tcp_rtt = Some(f64::from(state.round_trip_us) / 1e3);
        Self { t, tcp_cwnd: Some(state.congestion_window), tcp_rtt, ..Self::default() }
    }

    pub(super) fn answered(t: f64, seq: u64, milliseconds: f64, there: Option<f64>) -> Self {
        let owd_down = there.map(|there| milliseconds - there);
        Self { t, seq: Some(seq), val: Some(milliseconds), owd_up: there, owd_down, ..Self::default() }
    }

    pub(super) fn lost(t: f64, seq: u64, way: Option<&'static str>) -> Self {
        Self { t, seq: Some(seq), lost: Some(true), lost_dir: way, ..Self::default() }
    }
}
