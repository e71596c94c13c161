//! What a person at a browser waits for: pages, DNS lookups, new connections, short flows.

pub mod browser_load;
pub mod connections;
pub mod name_lookups;
pub mod page_load;
pub mod page_load_statistics;
pub mod page_loads;
pub mod short_flows;
pub mod video_playback;
