//! Recordings in which the truth is known by construction, and what the analysis makes of them.

#![expect(clippy::unwrap_used, reason = "the helpers of tests may panic as the tests do")]

mod browser;
mod builder;
mod bursts;
mod classes;
mod comparison;
mod connections;
mod delay;
mod digest;
mod estimated_octets;
mod goodput;
mod headlines;
mod hosts;
mod icmp_messages;
mod link_rates;
mod live;
mod live_course;
mod live_tally;
mod made_runs;
mod markings;
mod names_and_short_flows;
mod octets;
mod one_way_delay;
mod other_metrics;
mod packet_fate;
mod packet_path;
mod pages;
mod path_traces;
mod robustness;
mod saturation;
mod scores;
mod sharing;
mod stationarity;
mod summary;
mod summary_documents;
mod swarms_and_floods;
mod tcp_loss;
mod tcp_round_trip;
mod time_series;
mod trials;
mod two_clocks;
mod validity;
mod video;
mod voip;
