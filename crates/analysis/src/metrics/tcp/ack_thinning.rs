//! Acknowledgments of the load: how many were sent, and how many of them arrived.
//!
//! Devices on the way drop acknowledgments that a later one makes superfluous (ACK filtering in queue disciplines,
//! ACK suppression in cable modems), and links lose them; two hosts cannot tell one from the other.

use rrul_model::observation::TcpInfo;
use rrul_model::time::Window;

/// Counts between two instants.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Acknowledged {
    /// Data segments that reached the receiver.
    pub(crate) segments: f64,
    pub(crate) sent: f64,
    /// Those that reached the sender.
    pub(crate) received: f64,
}

impl std::ops::AddAssign for Acknowledged {
    fn add_assign(&mut self, other: Self) {
        self.segments += other.segments;
        self.sent += other.sent;
        self.received += other.received;
    }
}

/// What came of the acknowledgments of one stream, as its sender's clock has the window; `None` unless both ends tell.
///
/// The receiver's count goes on while an acknowledgment is under way, which in a full queue takes a second. So the two
/// ends are not compared at the same time but at the same byte: what the sender knew to be acknowledged is what the
/// receiver had in order when it sent that acknowledgment.
pub(crate) fn acknowledged(receiver: &[TcpInfo], sender: &[TcpInfo], window: Window) -> Option<Acknowledged> {
    let inside = || sender.iter().filter(|row| window.from <= row.at && row.at <= window.to);
    let (first, last) = (inside().next()?, inside().next_back()?);
    let (before, after) = (Place::find(receiver, first.bytes_acked)?, Place::find(receiver, last.bytes_acked)?);
    Some(Acknowledged {
        segments: (after.segments - before.segments).max(0.0),
        sent: (after.acknowledgements - before.acknowledgements).max(0.0),
        received: f64::from(arrived(last).saturating_sub(arrived(first))),
    })
}

fn arrived(row: &TcpInfo) -> u32 {
    row.segs_in.saturating_sub(row.data_segs_in)
}

/// The receiver's counts when it had so many bytes in order.
struct Place {
    segments: f64,
    acknowledgements: f64,
}

impl Place {
    fn find(receiver: &[TcpInfo], octets: u64) -> Option<Self> {
        let after = receiver.partition_point(|row| row.bytes_received < octets);
        let later = receiver.get(after).or(receiver.last())?;
        let earlier = after.checked_sub(1).and_then(|before| receiver.get(before)).unwrap_or(later);
        let range = later.bytes_received.saturating_sub(earlier.bytes_received);
        let share = if range == 0 { 1.0 } else { octets.saturating_sub(earlier.bytes_received) as f64 / range as f64 };
        let between = |of: fn(&TcpInfo) -> u32| {
            let (low, high) = (f64::from(of(earlier)), f64::from(of(later)));
            low + (high - low) * share.min(1.0)
        };
        Some(Self {
            segments: between(|row| row.data_segs_in),
            acknowledgements: between(|row| row.segs_out.saturating_sub(row.data_segs_out)),
        })
    }
}
