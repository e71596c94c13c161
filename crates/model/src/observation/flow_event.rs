//! Events in the life of a flow.

use serde::{Deserialize, Serialize};

use crate::flow::FlowId;
use crate::time::TestTime;

/// What happened to a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FlowEventKind {
    /// `connect` was called.
    ConnectStarted,
    Connected,
    /// Congestion control in force, as read back; the detail is its name.
    CongestionControl,
    /// Traffic-class byte in force, as read back; the detail is its value.
    Marked,
    /// The first byte, or packet, was passed to the kernel.
    FirstSent,
    /// The first byte of load reached the receiver.
    FirstReceived,
    /// What the flow works with, as found; the detail says it: `resolver 192.0.2.53`, `page rrul2025 sha256:...`,
    /// `Chromium 156.0.7000.0`.
    Uses,
    /// A host on the way of a path trace has answered for the first time; the detail is its number and its address.
    HopAddress,
    /// An object that a browser asked for; the detail is load, number of the object, URL.
    Resource,
    /// One load of a page failed, or what loads pages broke down; the detail is the load and why. The flow goes on.
    LoadFailed,
    /// No greeting of the flow over UDP was answered, so nothing says that the path carries its packets; `Failed` follows.
    ///
    /// Recordings of format 1 have only `Failed`, with a sentence.
    Unanswered,
    /// The sender stopped as planned.
    Stopped,
    /// The flow could not be set up or ended early; the detail says why. The rest of the test goes on.
    Failed,
}

/// One event in the life of a flow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowEvent {
    pub flow: FlowId,
    pub at: TestTime,
    pub event: FlowEventKind,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
}
