//! Byte queue limits of transmit queues (sysfs: the kernel reports them nowhere else).

use std::fs;
use std::path::Path;

use rrul_model::environment::ByteQueueLimit;

/// Queues reported of one interface.
const MOST: u32 = 64;

/// The limits of this interface's queues; none where its driver has none, or sysfs shows another namespace.
pub(super) fn read(name: &str, index: u32, transmit_queues: u32) -> Vec<ByteQueueLimit> {
    // A name comes from the kernel, and the kernel allows no slash in it.
    let folder = Path::new("/sys/class/net").join(name);
    // sysfs shows the interfaces of the namespace in which it was mounted.
    if value(&folder.join("ifindex")) != Some(u64::from(index)) {
        return Vec::new();
    }
    let limit = |queue: u32| {
        let folder = folder.join(format!("queues/tx-{queue}/byte_queue_limits"));
        Some(ByteQueueLimit { queue, limit: value(&folder.join("limit"))?, inflight: value(&folder.join("inflight"))? })
    };
    // A driver that never counted leaves both at 0.
    (0..transmit_queues.min(MOST)).filter_map(limit).filter(|found| found.limit > 0 || found.inflight > 0).collect()
}

fn value(path: &Path) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}
