//! Where the queue that grows under load is: in a host, between two hops, or unknown (spec: identify the bottleneck source).

use rrul_model::flow::Direction;
use rrul_model::units::Delay;
use schemars::JsonSchema;
use serde::Serialize;

use crate::metrics::path::path_hops::Hop;
use crate::metrics::rate::saturation::least_queueing;
use crate::packets::queue_side;
use crate::packets::queue_side::Side;

/// A queue that adds less than this in the middle is none to look for.
const WORTH_NAMING: Delay = Delay(5_000_000);

/// The shortest median wait that is worth locating at this rate. A packet of the load that is just being sent is no queue.
pub(crate) fn worth_naming(rate: Option<f64>) -> Delay {
    rate.map_or(WORTH_NAMING, |rate| WORTH_NAMING.max(least_queueing(rate)))
}

/// Where the queue is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum BottleneckPlace {
    /// No queue longer than the larger of 5 ms and the time of two full packets.
    None,
    /// In the sender.
    Host,
    /// On the path, between two hops.
    Path,
    /// The location is unknown.
    Unknown,
}

impl BottleneckPlace {
    /// Returns whether a queue was found and located.
    pub fn is_known(self) -> bool {
        matches!(self, Self::Host | Self::Path)
    }
}

/// The verdict of one trace on the queue of its direction.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Bottleneck {
    /// Location of the queue.
    pub place: BottleneckPlace,
    /// Median wait under load of test packets of the same direction, family and marking.
    pub queue_ns: Option<i64>,
    /// Median time that test packets lay in the sender's own queues under load: hop 0.
    pub host_queue_ns: Option<i64>,
    /// Last hop before the queue; 0 for the sender.
    pub after_hop: Option<u8>,
    /// First hop after it. When they are not adjacent, the queue is somewhere between them.
    pub before_hop: Option<u8>,
    /// Of the routers with conclusive answers, the share that agrees. The others answered late, or were late on the
    /// idle line.
    ///
    /// Unit: share.
    pub agreeing: Option<f64>,
    /// The verdict as a sentence.
    pub words: String,
}

/// What the verdict is made of.
pub(crate) struct BottleneckInput<'a> {
    pub(crate) direction: Direction,
    /// Median wait on the path; why it is not known.
    pub(crate) queue: Result<Delay, String>,
    /// Median wait in the sender's own queue.
    pub(crate) host_queue: Option<Delay>,
    /// The side of each hop, including the destination.
    pub(crate) sides: &'a [(u8, Side)],
    /// The number of the destination.
    pub(crate) last: u8,
    pub(crate) hops: &'a [Hop],
    /// A shorter median wait is no queue.
    pub(crate) worth_naming: Delay,
}

impl BottleneckInput<'_> {
    pub(crate) fn verdict(&self) -> Bottleneck {
        let mut verdict = Bottleneck {
            place: BottleneckPlace::Unknown,
            queue_ns: self.queue.as_ref().ok().map(|queue| queue.0),
            host_queue_ns: self.host_queue.map(|queue| queue.0),
            after_hop: None,
            before_hop: None,
            agreeing: None,
            words: String::new(),
        };
        let which = self.direction.select("upload", "download");
        let own = self.host_queue.unwrap_or_default();
        // Where the queue on the path is not known it may be the longer one.
        if own >= self.worth_naming && self.queue.as_ref().is_ok_and(|on_path| own >= *on_path) {
            verdict.place = BottleneckPlace::Host;
            verdict.words = format!("{which} queue, {}, in {}", milliseconds(own), self.sender());
            return verdict;
        }
        let queue = match &self.queue {
            Err(reason) => {
                verdict.words = format!("{which} queue: location unknown, {reason}");
                return verdict;
            }
            Ok(queue) if *queue < self.worth_naming => {
                verdict.place = BottleneckPlace::None;
                verdict.words = format!("no {which} queue worth locating: {}", milliseconds(*queue));
                return verdict;
            }
            Ok(queue) => *queue,
        };
        match self.locate() {
            Err(reason) => {
                verdict.words = format!("{which} queue, {}: location unknown, {reason}", milliseconds(queue));
            }
            Ok((after, before)) => {
                verdict.place = BottleneckPlace::Path;
                (verdict.after_hop, verdict.before_hop) = (Some(after), Some(before));
                verdict.agreeing = queue_side::agreeing(self.sides, (after, before), self.last);
                verdict.words = format!("{which} queue, {}, {}", milliseconds(queue), self.between(after, before));
            }
        }
        verdict
    }

    fn locate(&self) -> Result<(u8, u8), String> {
        let far_end = self.sides.iter().find(|(hop, _)| *hop == self.last).map(|(_, side)| *side);
        match far_end {
            None => return Err(format!("{} did not answer the trace", self.receiver())),
            Some(Side::Before) => {
                return Err("trace packets did not wait in it (a queue per flow)".to_owned());
            }
            Some(Side::Unclear) => {
                return Err(format!("replies of {} do not follow the queue closely enough", self.receiver()));
            }
            Some(Side::Behind) => {}
        }
        let (after, before) = queue_side::between(self.sides, self.last);
        if after == 0 && before == self.last && self.last > 1 {
            let answering = self.hops.iter().filter(|hop| !hop.far_end && hop.phases.load.answered > 0).count();
            return Err(if answering == 0 {
                "no router on the path answers".to_owned()
            } else {
                "replies of the routers follow neither direction's queue, or both alike".to_owned()
            });
        }
        Ok((after, before))
    }

    fn between(&self, after: u8, before: u8) -> String {
        let place = format!("between {} and {}", self.node(after), self.node(before));
        let unclear: Vec<u8> = (after + 1..before).collect();
        let answers = |hop: &u8| self.hops.iter().any(|entry| entry.hop == *hop && entry.phases.load.answered > 0);
        let (silent, of_one) = (!unclear.iter().any(answers), unclear.len() == 1);
        let why = match (silent, of_one) {
            (true, true) => "does not answer",
            (true, false) => "do not answer",
            (false, true) => "has inconclusive replies",
            (false, false) => "have inconclusive replies",
        };
        match unclear[..] {
            [] if self.last == 1 => format!("{place}, directly connected"),
            [] if before == self.last && after > 0 => format!("{place}: in the {} network", self.far_side()),
            [] => place,
            [one] => format!("{place} (hop {one} {why})"),
            [first, .., last] => format!("{place} (hops {first} to {last} {why})"),
        }
    }

    fn node(&self, number: u8) -> String {
        if number == 0 {
            return self.sender().to_owned();
        }
        if number == self.last {
            return self.receiver().to_owned();
        }
        let address = self.hops.iter().find(|hop| hop.hop == number).and_then(|hop| hop.addresses.first());
        let from = if self.direction == Direction::Down { " from the server" } else { "" };
        match address {
            Some(address) => format!("hop {number}{from} ({address})"),
            None => format!("hop {number}{from}"),
        }
    }

    fn sender(&self) -> &'static str {
        self.direction.select("this host", "the server's host")
    }

    fn far_side(&self) -> &'static str {
        self.direction.select("server's", "client's")
    }

    fn receiver(&self) -> &'static str {
        self.direction.select("the server", "this host")
    }
}

fn milliseconds(delay: Delay) -> String {
    let value = delay.milliseconds();
    if value < 10.0 { format!("{value:.1} ms") } else { format!("{value:.0} ms") }
}
