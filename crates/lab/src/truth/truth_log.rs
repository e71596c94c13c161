//! Where one direction's records are kept while the lab runs.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::truth::record::Record;

/// Records in a chunk: 262 kB, allocated at once when the chunk before is full.
const CHUNK: usize = 4096;

/// Most chunks kept, 8.4 million records or 540 MB a direction: 14 minutes of 120 Mbit/s in full packets.
const MOST_CHUNKS: usize = 2048;

/// Records in order; beyond the most that are kept, the oldest go.
#[derive(Debug)]
pub(crate) struct TruthLog {
    full: VecDeque<Arc<Vec<Record>>>,
    current: Vec<Record>,
    forgotten: u64,
}

impl TruthLog {
    pub(crate) fn new() -> Self {
        Self { full: VecDeque::with_capacity(MOST_CHUNKS + 1), current: Vec::with_capacity(CHUNK), forgotten: 0 }
    }

    pub(crate) fn push(&mut self, record: Record) {
        self.current.push(record);
        if self.current.len() == CHUNK {
            let full = std::mem::replace(&mut self.current, Vec::with_capacity(CHUNK));
            self.full.push_back(Arc::new(full));
            if self.full.len() > MOST_CHUNKS {
                self.forgotten += self.full.pop_front().map_or(0, |chunk| chunk.len() as u64);
            }
        }
    }

    /// Everything kept so far, and how many records were given up. Full chunks are shared, not copied.
    pub(crate) fn snapshot(&self) -> (Vec<Arc<Vec<Record>>>, u64) {
        let mut chunks: Vec<Arc<Vec<Record>>> = self.full.iter().cloned().collect();
        chunks.push(Arc::new(self.current.clone()));
        (chunks, self.forgotten)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Header;
    use crate::packet::build::udp4;
    use crate::time::LabTime;

    #[test]
    fn the_oldest_records_go_first_and_are_counted() {
        let octets = udp4(100, 1, 0);
        let header = Header::parse(&octets).unwrap();
        let mut log = TruthLog::new();
        let pushed = (MOST_CHUNKS + 1) * CHUNK + 3;
        for number in 0..pushed {
            log.push(Record::arrived(&header, 100, LabTime(number as u64)));
        }
        let (chunks, forgotten) = log.snapshot();
        let remaining: usize = chunks.iter().map(|chunk| chunk.len()).sum();
        assert_eq!((forgotten, remaining), (CHUNK as u64, pushed - CHUNK));
        assert_eq!(chunks[0][0].arrival, LabTime(CHUNK as u64));
        assert_eq!(chunks.last().unwrap().len(), 3);
    }
}
