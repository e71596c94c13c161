//! A file of Flent as it is written: what of it is used, typed, within limits.
//!
//! Every limit is of what a file may make this program hold, so that no file can claim more memory than that.

use std::cell::Cell;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::scalar::{Entries, Object, Scalar};
use super::series::Series;

/// Most raw values in one file, of all series together: ten hours of a usual test.
pub(super) const MOST_ROWS: usize = 2_000_000;
/// Most values on the common grid, of all series together.
pub(super) const MOST_VALUES: usize = 5_000_000;
/// The latest version of the format that is known.
const LATEST_VERSION: f64 = 4.0;

/// The whole file.
#[derive(Debug, Clone, Default)]
pub(super) struct Document {
    /// 1 where it does not say.
    pub(super) version: f64,
    /// Seconds from T0.
    pub(super) x_values: Vec<Option<f64>>,
    /// Values at `x_values`.
    pub(super) results: Vec<(String, Vec<Option<f64>>)>,
    pub(super) raw_values: Vec<(String, Vec<RawValue>)>,
    pub(super) metadata: Metadata,
    /// Series that stood there twice; the first counts.
    pub(super) doubled: Vec<String>,
}

/// One raw value; the tool that measured decides which of these exist.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct WrittenValue {
    t: Scalar,
    val: Scalar,
    dur: Scalar,
    seq: Scalar,
    owd_up: Scalar,
    lost: Scalar,
    lost_dir: Scalar,
    tcp_cwnd: Scalar,
    tcp_rtt: Scalar,
    tcp_rtt_var: Scalar,
    tcp_pacing_rate: Scalar,
    tcp_delivery_rate: Scalar,
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RawValue {
    /// Unix seconds.
    pub(super) t: f64,
    pub(super) val: Option<f64>,
    /// Seconds up to `t` of which `val` is the mean.
    pub(super) dur: Option<f64>,
    pub(super) seq: Option<f64>,
    /// Milliseconds, of two clocks.
    pub(super) owd_up: Option<f64>,
    pub(super) lost: Option<LostWhere>,
    pub(super) tcp: Option<TcpValue>,
}

/// Where a packet was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LostWhere {
    Up,
    Down,
    Unknown,
}

/// The kernel's state of a stream; 0 where it is not given.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TcpValue {
    /// Congestion window, segments.
    pub(super) window: f32,
    /// Round-trip time, milliseconds.
    pub(super) rtt: f32,
    /// Variation of the round-trip time, milliseconds.
    pub(super) rtt_var: f32,
    /// Mbit/s.
    pub(super) pacing_rate: f32,
    /// Mbit/s.
    pub(super) delivery_rate: f32,
}

impl WrittenValue {
    fn read(&self) -> Option<RawValue> {
        let lost = self.lost.text().is_some_and(|text| text == "true").then(|| match self.lost_dir.text().as_deref() {
            Some("up") => LostWhere::Up,
            Some("down") => LostWhere::Down,
            _ => LostWhere::Unknown,
        });
        let tcp = [&self.tcp_cwnd, &self.tcp_rtt, &self.tcp_rtt_var, &self.tcp_pacing_rate, &self.tcp_delivery_rate];
        let tcp = tcp.map(Scalar::number);
        let [window, rtt, rtt_var, pacing_rate, delivery_rate] =
            tcp.map(|value| value.filter(|value| (0.0..1e9).contains(value)).unwrap_or_default() as f32);
        Some(RawValue {
            t: self.t.number()?,
            val: self.val.number(),
            dur: self.dur.number(),
            seq: self.seq.number(),
            owd_up: self.owd_up.number(),
            lost,
            tcp: tcp[0].map(|_| TcpValue { window, rtt, rtt_var, pacing_rate, delivery_rate }),
        })
    }
}

/// About the test.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "SCREAMING_SNAKE_CASE")]
pub(super) struct Metadata {
    pub(super) name: Scalar,
    pub(super) title: Scalar,
    pub(super) host: Scalar,
    pub(super) local_host: Scalar,
    pub(super) time: Scalar,
    pub(super) t0: Scalar,
    pub(super) length: Scalar,
    pub(super) total_length: Scalar,
    pub(super) step_size: Scalar,
    pub(super) ip_version: Scalar,
    pub(super) flent_version: Scalar,
    pub(super) netperf_wrapper_version: Scalar,
    pub(super) kernel_name: Scalar,
    pub(super) kernel_release: Scalar,
    pub(super) sysctls: Entries<Scalar>,
    pub(super) egress_info: Object<EgressInfo>,
    pub(super) series_meta: Entries<Object<SeriesMeta>>,
}

/// The interface towards the server.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct EgressInfo {
    pub(super) iface: Scalar,
    pub(super) driver: Scalar,
    pub(super) qdiscs: QueueDisciplines,
}

/// Its queue disciplines, at most [`QueueDisciplines::MOST`].
#[derive(Debug, Clone, Default)]
pub(super) struct QueueDisciplines(pub(super) Vec<QueueDiscipline>);

impl QueueDisciplines {
    const MOST: usize = 64;
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct QueueDiscipline {
    pub(super) name: Scalar,
    pub(super) id: Scalar,
    pub(super) parent: Scalar,
    pub(super) params: Entries<Scalar>,
}

impl<'de> Deserialize<'de> for QueueDisciplines {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ListVisitor;
        impl<'de> Visitor<'de> for ListVisitor {
            type Value = QueueDisciplines;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of queue disciplines")
            }
            fn visit_unit<E>(self) -> Result<QueueDisciplines, E> {
                Ok(QueueDisciplines::default())
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<QueueDisciplines, A::Error> {
                let mut found = Vec::new();
                while found.len() < QueueDisciplines::MOST {
                    let Some(next) = list.next_element::<Object<QueueDiscipline>>()? else { break };
                    found.extend(next.0);
                }
                while list.next_element::<IgnoredAny>()?.is_some() {}
                Ok(QueueDisciplines(found))
            }
        }
        deserializer.deserialize_any(ListVisitor)
    }
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "SCREAMING_SNAKE_CASE")]
pub(super) struct SeriesMeta {
    pub(super) runner: Scalar,
    pub(super) command: Scalar,
    pub(super) bytes_recvd: Scalar,
    pub(super) elapsed_time: Scalar,
    pub(super) data_tos: Scalar,
    pub(super) cong_control: Scalar,
}

/// What may still be read.
struct Budget {
    rows: Cell<usize>,
    values: Cell<usize>,
}

fn spend<E: Error>(left: &Cell<usize>, most: usize, what: &str) -> Result<(), E> {
    let rest = left.get().checked_sub(1).ok_or_else(|| E::custom(format!("more than {most} {what}")))?;
    left.set(rest);
    Ok(())
}

impl Document {
    /// Reads the text of a file.
    pub(super) fn read(text: &[u8]) -> Result<Self, serde_json::Error> {
        let budget = Budget { rows: Cell::new(MOST_ROWS), values: Cell::new(MOST_VALUES) };
        let mut json = serde_json::Deserializer::from_slice(text);
        let document = Whole(&budget).deserialize(&mut json)?;
        json.end()?;
        Ok(document)
    }
}

struct Whole<'b>(&'b Budget);

impl<'de> DeserializeSeed<'de> for Whole<'_> {
    type Value = Document;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Document, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Whole<'_> {
    type Value = Document;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with results and metadata")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Document, A::Error> {
        let mut document = Document { version: 1.0, ..Document::default() };
        let mut found = (false, false);
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "version" => document.version = map.next_value::<Scalar>()?.number().unwrap_or(1.0),
                "x_values" => document.x_values = map.next_value_seed(Values(self.0))?,
                "results" => {
                    found.0 = true;
                    (document.results, document.doubled) = map.next_value_seed(SeriesOf(|| Values(self.0)))?;
                }
                "raw_values" => {
                    let (raw_values, doubled) = map.next_value_seed(SeriesOf(|| Rows(self.0)))?;
                    document.raw_values = raw_values;
                    document.doubled.extend(doubled);
                }
                "metadata" => {
                    let metadata = map.next_value::<Object<Metadata>>()?.0;
                    found.1 = metadata.is_some();
                    document.metadata = metadata.unwrap_or_default();
                }
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        match found {
            (true, true) if document.version > LATEST_VERSION => {
                let version = document.version;
                Err(A::Error::custom(format!("unknown version {version}; the latest known is {LATEST_VERSION}")))
            }
            (true, true) => Ok(document),
            (false, _) => Err(A::Error::custom("no \"results\"")),
            (true, false) => Err(A::Error::custom("no \"metadata\"")),
        }
    }
}

/// Values on the grid.
struct Values<'b>(&'b Budget);

impl<'de> DeserializeSeed<'de> for Values<'_> {
    type Value = Vec<Option<f64>>;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Values<'_> {
    type Value = Vec<Option<f64>>;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of numbers")
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element::<Scalar>()? {
            spend(&self.0.values, MOST_VALUES, "values")?;
            values.push(value.number());
        }
        Ok(values)
    }
}

/// Raw values.
struct Rows<'b>(&'b Budget);

impl<'de> DeserializeSeed<'de> for Rows<'_> {
    type Value = Vec<RawValue>;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Rows<'_> {
    type Value = Vec<RawValue>;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of raw values")
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut rows = Vec::new();
        while let Some(row) = list.next_element::<Object<WrittenValue>>()? {
            spend(&self.0.rows, MOST_ROWS, "raw values")?;
            rows.extend(row.0.and_then(|row| row.read()));
        }
        Ok(rows)
    }
}

/// Lists by the name of their series; those that are no flow are skipped.
struct SeriesOf<F>(F);

impl<'de, S: DeserializeSeed<'de>, F: Fn() -> S> DeserializeSeed<'de> for SeriesOf<F> {
    type Value = (Vec<(String, S::Value)>, Vec<String>);
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, S: DeserializeSeed<'de>, F: Fn() -> S> Visitor<'de> for SeriesOf<F> {
    type Value = (Vec<(String, S::Value)>, Vec<String>);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of series")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut names = std::collections::BTreeSet::new();
        let mut series = Vec::new();
        let mut doubled = Vec::new();
        while let Some(name) = map.next_key::<String>()? {
            if Series::parse(&name).is_none() {
                map.next_value::<IgnoredAny>()?;
            } else if names.contains(&name) {
                map.next_value::<IgnoredAny>()?;
                doubled.push(name);
            } else if names.len() >= Entries::<()>::MOST {
                return Err(A::Error::custom(format!("more than {} series", Entries::<()>::MOST)));
            } else {
                series.push((name.clone(), map.next_value_seed(self.0())?));
                names.insert(name);
            }
        }
        doubled.truncate(1);
        Ok((series, doubled))
    }
}
