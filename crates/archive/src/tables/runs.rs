use crate::table::table;

table! {
    /// One row a run: who measured when, what the labels given to `rrul archive add` say, and the main figures.
    ///
    /// Columns `date` and `site` are in the names of the folders. Figures of delays are of the pooled round-trip probes.
    RunRow is "runs" ordered by &["isp", "hour_utc", "run_id"];

    /// The run: the first 128 bits of a SHA-256 of times that were measured, as hexadecimal digits. The same run has the same one
    /// wherever and whenever it is added.
    run_id: Text,
    /// The first 60 bits of `run_id`, by which the other tables name the run: integers are compared sooner than words.
    run_key: Count,
    /// When the run began.
    started_at: Time,
    /// Hour of the day in UTC, 0 to 23.
    hour_utc: Count,
    /// Who measured: `rrul`, `flent` or `other`.
    tool: Text,
    /// Version of the tool, as far as it is made of numbers.
    tool_version: Text,
    /// Plan, if it is one that comes with rrul.
    plan: Text,
    /// Version of the specification's workload that the plan stands for: `RRUL2013`; null of other plans.
    spec: Text,
    /// Label `--server`.
    server: Text,
    /// Label `--asn`: number of the autonomous system.
    asn: Count,
    /// Label `--isp`: name of the provider.
    isp: Text,
    /// Label `--country`: two letters (ISO 3166).
    country: Text,
    /// Label `--firmware`: of the router, or whatever changed.
    firmware: Text,
    /// Label `--aqm-down`: queue discipline of the line's bottleneck, such as `cake` or `none`; without the label, that of the shaper
    /// of a tuning session.
    aqm_down: Text,
    /// Label `--aqm-up`, likewise.
    aqm_up: Text,
    /// Link layer, as `rrul list link-layers` names it.
    link_layer: Text,
    /// Congestion control of the streams, or of the client's kernel: `cubic`, `bbr` and others; `other` if unknown.
    congestion_control: Text,
    /// Release of the client's kernel, first two numbers.
    client_kernel: Text,
    /// Release of the server's kernel, first two numbers.
    server_kernel: Text,
    /// `ipv4`, `ipv6` or `both`.
    families: Text,
    /// `valid`, `doubtful` or `invalid`.
    validity: Text,
    /// How well figures under load represent the loaded line: `high`, `medium`, `low`; null without load.
    confidence: Text,
    /// Codes of the validity reasons, separated by commas; docs/metrics.md lists them.
    reasons: Text,
    /// 1 when the recording ended early.
    partial: Count,
    /// Goodput of the load, server to client, bits per second.
    goodput_down_bps: Count,
    /// Goodput of the load, client to server, bits per second.
    goodput_up_bps: Count,
    /// Median round-trip delay, idle, nanoseconds; null when it falls on a lost packet, as for the other percentiles.
    idle_p50_ns: Count,
    /// 95th percentile, idle.
    idle_p95_ns: Count,
    /// 99th percentile, idle.
    idle_p99_ns: Count,
    /// Median round-trip delay under load, nanoseconds.
    load_p50_ns: Count,
    /// 95th percentile, under load.
    load_p95_ns: Count,
    /// 99th percentile, under load.
    load_p99_ns: Count,
    /// 95th percentile of the queueing delay from server to client under load, nanoseconds.
    queueing_down_p95_ns: Count,
    /// 95th percentile of the queueing delay from client to server under load, nanoseconds.
    queueing_up_p95_ns: Count,
    /// Test packets of the pooled probes over all phases.
    packets: Count,
    /// Of those, lost.
    lost: Count,
    /// Bufferbloat letter, `A+` to `F`.
    bufferbloat: Text,
    /// Web score, 0 to 100.
    web_score: Count,
    /// Composite, 0 to 100.
    composite: Number,
    /// Penalty points.
    penalty: Number,
    /// Responsiveness, round trips per minute.
    rpm: Number,
    /// Worst opinion score of voice streams, 1 to 4.41.
    voice_mos: Number,
    /// What becomes of code point EF from server to client: `preserved`, `bleached`, `remarked`, `mixed`, `dropped`, `unknown`; the
    /// worst of the families. Null if EF was not sent.
    ef_down: Text,
    /// The same from client to server.
    ef_up: Text,
    /// Rows of this run in `flows`; `check` counts them.
    flow_rows: Count,
    /// Rows of this run in `delays`.
    delay_rows: Count,
    /// Rows of this run in `seconds`.
    second_rows: Count,
    /// The summary as JSON (docs/summary.schema.json) without free text: titles, names of hosts, addresses and sentences are null.
    summary: Text,
}
