//! The kernel's counters of the interfaces at both ends, read all through a measurement.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use rrul_engine::clock::RawTime;
use rrul_lab::{Host, Lab};
use rrul_model::flow::Direction;

/// Bytes that an interface has received, and when it was read, nanoseconds on the machine's raw clock.
type Reading = (i64, u64);

/// Threads at both ends.
pub(crate) struct Counters {
    stop: Arc<AtomicBool>,
    ends: [JoinHandle<Vec<Reading>>; 2],
}

/// What they read: at the client of what went down, at the server of what went up.
pub(crate) struct Counted {
    down: Vec<Reading>,
    up: Vec<Reading>,
}

impl Counters {
    pub(crate) fn start(lab: &Lab) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let watch = |host: &Host| {
            let stop = Arc::clone(&stop);
            host.spawn(move || {
                let mut readings = Vec::new();
                while !stop.load(Ordering::Relaxed) {
                    readings.push((RawTime::now().0, received()));
                    std::thread::sleep(Duration::from_millis(10));
                }
                readings
            })
            .unwrap()
        };
        let ends = [watch(lab.client()), watch(lab.server())];
        Self { stop, ends }
    }

    pub(crate) fn stop(self) -> Counted {
        self.stop.store(true, Ordering::Relaxed);
        let [down, up] = self.ends.map(|end| end.join().unwrap());
        Counted { down, up }
    }
}

/// Bytes that the interfaces of this thread's namespace have received, the loopback's left out.
fn received() -> u64 {
    let table = std::fs::read_to_string("/proc/thread-self/net/dev").unwrap();
    let device = |line: &str| {
        let (name, counts) = line.split_once(':')?;
        (name.trim() != "lo").then(|| counts.split_whitespace().next()?.parse::<u64>().ok())?
    };
    table.lines().filter_map(device).sum()
}

impl Counted {
    /// Bytes that arrived between two instants.
    pub(crate) fn octets(&self, direction: Direction, from: i64, to: i64) -> f64 {
        let readings = match direction {
            Direction::Down => &self.down,
            Direction::Up => &self.up,
        };
        let at = |when: i64| {
            let next = readings.partition_point(|(read, _)| *read < when).clamp(1, readings.len() - 1);
            let (before, after) = (readings[next - 1], readings[next]);
            let part = (when - before.0) as f64 / (after.0 - before.0).max(1) as f64;
            before.1 as f64 + (after.1 - before.1) as f64 * part.clamp(0.0, 1.0)
        };
        at(to) - at(from)
    }
}
