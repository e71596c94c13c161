//! Video playback and floods in the printed summary.

use rrul_analysis::Analysis;
use rrul_model::units::Delay;

use crate::text::label::{Naming, names};
use crate::text::style::unknown;
use crate::text::table::{SectionBody, Table};
use crate::text::words;

/// Start-up delay, stalls and download times of each video.
pub(crate) fn videos(run: &Analysis) -> SectionBody {
    let videos = &run.video_playback;
    if videos.is_empty() {
        return SectionBody::default();
    }
    let mut table = Table::default();
    table.row(["", "bit rate", "start-up", "stalls", "stalled", "longest", "segment P50", "segment P95"]);
    let labels: Vec<_> = videos.iter().map(|video| &video.flow).collect();
    for (video, name) in videos.iter().zip(names(&labels, Naming::Probes)) {
        let time = |time: Option<Delay>| time.map_or_else(unknown, |time| time.to_string());
        let share = video.stalled_share.map_or_else(unknown, words::percent);
        table.named_row(
            &name,
            [
                video.video.to_string(),
                video.startup.map_or_else(|| "never".to_owned(), |startup| startup.to_string()),
                words::count(video.stalls),
                share,
                time(video.longest_stall),
                time(video.download.and_then(|download| download.p50)),
                time(video.download.and_then(|download| download.p95)),
            ],
        );
    }
    table.into()
}

/// What arrived of each flood.
pub(crate) fn floods(run: &Analysis) -> SectionBody {
    let floods = &run.flood_delivery;
    if floods.is_empty() {
        return SectionBody::default();
    }
    let mut table = Table::default();
    table.row(["", "sent", "delivered", "lost", "skipped"]);
    let labels: Vec<_> = floods.iter().map(|flood| &flood.flow).collect();
    for (flood, name) in floods.iter().zip(names(&labels, Naming::Probes)) {
        let delivered = flood.delivered.map_or_else(unknown, |rate| rate.to_string());
        let lost = flood.loss.map_or_else(unknown, words::percent);
        table.named_row(&name, [flood.offered.to_string(), delivered, lost, words::count(flood.skipped)]);
    }
    table.into()
}
