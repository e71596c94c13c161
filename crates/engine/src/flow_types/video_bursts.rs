//! Bursty video: a segment now and then, fetched as fast as the network takes it (spec, "Possible Problems").
//!
//! Adaptive streaming sends a burst every few seconds and is silent in between. Segments become available on a fixed
//! schedule, as those of a live broadcast do: the first ones at once, until the buffer is full, then one in each
//! interval. The player at the client fetches them one after another over one connection. When playback begins and
//! where it stalls is computed from the times at which segments were complete.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use rrul_model::flow::{FlowSpec, FlowTypeWords, ParameterKind, ParameterWord};
use rrul_model::observation::{FlowEventKind, Transfer};
use rrul_model::time::TestTime;
use rrul_model::units::{BitRate, ByteCount, Delay, format_duration};
use rrul_proto::short_flow::{NUMBER_OCTETS, decode_number, encode_number};

use super::{parallel_setup, stream_opening};
use crate::clock::test_clock::TestClock;
use crate::endpoint::Endpoint;
use crate::endpoint::test_course::PATIENCE;
use crate::flow_type::{FlowType, Footprint, Initiation};
use crate::server::parts::connections::OneStream;
use crate::server::session::ServerPart;
use crate::socket::stream;
use crate::socket::wait::is_not_ready;

const DEFAULT_INTERVAL: Duration = Duration::from_secs(10);
const SHORTEST_INTERVAL: Duration = Duration::from_millis(100);
const LONGEST_INTERVAL: Duration = Duration::from_mins(10);
const DEFAULT_RATE: BitRate = BitRate(5_000_000);
const DEFAULT_BUFFER: Duration = Duration::from_secs(30);

/// Bytes of one segment at most.
const MOST_OCTETS: u64 = 1_000_000_000;

/// Rows between two collections: one of each segment.
const ROWS: usize = 256;

pub(crate) struct VideoBursts;

impl FlowType for VideoBursts {
    fn descriptor(&self) -> &'static FlowTypeWords {
        &FlowTypeWords {
            name: "video_bursts",
            about: "video in segments, each fetched over TCP at full rate: start-up delay, stalls, download times",
            directed: false,
            parameters: &[
                ParameterWord {
                    name: "interval",
                    kind: ParameterKind::Duration,
                    about: "playing time of one segment; default 10s, least 100ms, most 10min",
                },
                ParameterWord {
                    name: "rate",
                    kind: ParameterKind::Rate,
                    about: "bit rate of the video, which gives the size of a segment; default 5Mbit/s",
                },
                ParameterWord {
                    name: "buffer",
                    kind: ParameterKind::Duration,
                    about: "playing time that is fetched ahead, in whole segments and at least one; default 30s",
                },
                stream_opening::CONGESTION_CONTROL_PARAMETER,
            ],
        }
    }

    fn server_part(&self) -> &'static dyn ServerPart {
        &OneStream(respond)
    }

    fn effective_parameters(&self, spec: &FlowSpec) -> BTreeMap<&'static str, String> {
        let video = Video::from_spec(spec);
        BTreeMap::from([
            ("interval", format_duration(video.interval)),
            ("rate", format!("{}bit/s", video.rate.0)),
            ("buffer", format_duration(video.interval * video.ahead)),
        ])
    }

    fn load(&self, _spec: &FlowSpec) -> Option<Footprint> {
        None
    }

    fn initiate(&self, specs: &[&FlowSpec], initiation: &Initiation) -> Vec<JoinHandle<()>> {
        let opened = parallel_setup::open_all(specs, initiation, stream_opening::open);
        parallel_setup::spawn_each(opened, initiation, |spec, stream, initiation| {
            take_part(spec, &Arc::new(stream), &initiation.end, fetch_all);
        })
    }
}

fn respond(spec: &FlowSpec, stream: &Arc<TcpStream>, end: &Endpoint) {
    if let Err(reason) = stream_opening::prepare(stream, spec, end) {
        return end.failed(spec, reason);
    }
    take_part(spec, stream, end, serve);
}

/// One end of one flow.
fn take_part(
    spec: &FlowSpec,
    stream: &Arc<TcpStream>,
    end: &Endpoint,
    work: fn(&FlowSpec, &TcpStream, &Endpoint) -> io::Result<()>,
) {
    end.sampler.watch(spec.id, spec.window, stream, None);
    let outcome = stream::prepare(stream, PATIENCE).and_then(|()| work(spec, stream, end));
    end.finish_sampling(spec.id);
    match outcome {
        Ok(()) => end.event(spec.id, FlowEventKind::Stopped, ""),
        Err(_) if end.is_ending() => end.event(spec.id, FlowEventKind::Stopped, ""),
        Err(error) => end.failed(spec, format!("ended early: {error}")),
    }
}

/// A video, cut into segments.
#[derive(Debug, Clone, Copy)]
struct Video {
    interval: Duration,
    rate: BitRate,
    /// Segments that are fetched ahead of playback.
    ahead: u32,
}

impl Video {
    fn from_spec(spec: &FlowSpec) -> Self {
        let parameters = &spec.parameters;
        let interval = parameters.duration("interval", DEFAULT_INTERVAL).clamp(SHORTEST_INTERVAL, LONGEST_INTERVAL);
        let buffer = parameters.duration("buffer", DEFAULT_BUFFER);
        let ahead = u32::try_from(buffer.as_nanos() / interval.as_nanos()).unwrap_or(u32::MAX).clamp(1, 1000);
        Self { interval, rate: parameters.rate("rate").unwrap_or(DEFAULT_RATE), ahead }
    }

    fn segment(&self) -> ByteCount {
        let octets = (self.rate.0 as f64 * self.interval.as_secs_f64() / 8.0).round() as u64;
        ByteCount(octets.clamp(1, MOST_OCTETS))
    }

    /// When a segment becomes available to a player that starts at `start`.
    fn available(&self, start: TestTime, segment: u32) -> TestTime {
        start + self.interval * segment.saturating_sub(self.ahead - 1)
    }
}

/// The player: fetches every segment that becomes available before the flow ends.
fn fetch_all(spec: &FlowSpec, stream: &TcpStream, end: &Endpoint) -> io::Result<()> {
    let Some(clock) = end.wait_for_begin() else { return Ok(()) };
    let video = Video::from_spec(spec);
    let mut sink = end.observer.sink(ROWS);
    for sequence in 0.. {
        let scheduled = video.available(spec.window.from, sequence);
        if clock.now() >= end.ends(spec.window.to) || !end.sleep_within(clock, scheduled, spec.window.to) {
            break;
        }
        let mut row = Transfer {
            flow: spec.id,
            sequence,
            scheduled,
            started: clock.now(),
            reached: Transfer::CONNECTED,
            octets: video.segment(),
            arrived: ByteCount(0),
            connect: Delay(0),
            answer: Delay(0),
            took: Delay(0),
            syn_retransmits: 0,
        };
        let outcome = fetch(spec, stream, end, clock, &mut row);
        row.took = clock.now().since(row.started);
        sink.note(row);
        outcome?;
    }
    Ok(())
}

/// Fetches one segment, or what of it arrives before the flow ends.
fn fetch(
    spec: &FlowSpec,
    mut stream: &TcpStream,
    end: &Endpoint,
    clock: TestClock,
    row: &mut Transfer,
) -> io::Result<()> {
    stream.write_all(&encode_number(row.sequence))?;
    while row.arrived < row.octets {
        if end.is_stopped() || clock.now() >= end.ends(spec.window.to) {
            return Ok(());
        }
        match stream::discard(stream) {
            Ok(0) => return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the server closed the stream")),
            Ok(count) => {
                if row.arrived.0 == 0 {
                    row.answer = clock.now().since(row.started);
                }
                row.arrived.0 += count as u64;
            }
            Err(error) if is_not_ready(&error) => {}
            Err(error) => return Err(error),
        }
    }
    row.reached = Transfer::COMPLETE;
    Ok(())
}

/// The server: sends a segment for each request, until the player closes.
fn serve(spec: &FlowSpec, stream: &TcpStream, end: &Endpoint) -> io::Result<()> {
    let file = stream::random_file()?;
    let octets = Video::from_spec(spec).segment().0;
    while let Some(number) = next_request(stream, end)? {
        let mut left = octets;
        let mut offset = number as usize % stream::CHUNK;
        while left > 0 {
            let most = usize::try_from(left).unwrap_or(stream::CHUNK);
            match stream::send_part(stream, file, offset, most) {
                Ok(sent) => {
                    left -= sent as u64;
                    offset = (offset + sent) % stream::CHUNK;
                }
                Err(error) if is_not_ready(&error) && !end.is_stopped() => {}
                // The player has closed at its end, in the middle of a segment.
                Err(error) if is_not_ready(&error) || is_closing(&error) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }
    Ok(())
}

/// Reads the number of the segment that is asked for next; `None` when the player closes or the test is stopped.
fn next_request(mut stream: &TcpStream, end: &Endpoint) -> io::Result<Option<u32>> {
    use std::io::Read;
    let mut octets = [0; NUMBER_OCTETS];
    let mut done = 0;
    while done < octets.len() {
        match stream.read(&mut octets[done..]) {
            Ok(0) => return Ok(None),
            Ok(count) => done += count,
            Err(error) if is_not_ready(&error) && !end.is_stopped() => {}
            Err(error) if is_not_ready(&error) || is_closing(&error) => return Ok(None),
            Err(error) => return Err(error),
        }
    }
    Ok(Some(decode_number(octets)))
}

fn is_closing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rrul_model::flow::{AddressFamily, Component, FlowId, Parameter, Parameters};
    use rrul_model::marking::ServiceClass;
    use rrul_model::time::Window;

    fn video(parameters: &[(&str, &str)]) -> Video {
        let parameters =
            parameters.iter().map(|(name, value)| ((*name).to_owned(), Parameter::Text((*value).to_owned())));
        Video::from_spec(&FlowSpec {
            id: FlowId(1),
            name: "video_bursts/BE/ipv4".to_owned(),
            flow_type: "video_bursts".to_owned(),
            component: Component::Web,
            direction: None,
            family: AddressFamily::Ipv4,
            class: ServiceClass::BE,
            window: Window { from: TestTime(0), to: TestTime(60_000_000_000) },
            parameters: Parameters(parameters.collect()),
        })
    }

    #[test]
    fn the_buffer_is_there_at_once_and_then_a_segment_in_each_interval() {
        let video = video(&[("interval", "10s"), ("buffer", "30s"), ("rate", "4Mbit/s")]);
        let seconds = |segment| (video.available(TestTime(5_000_000_000), segment).0 / 1_000_000_000) - 5;
        assert_eq!((0..6).map(seconds).collect::<Vec<_>>(), [0, 0, 0, 10, 20, 30]);
        assert_eq!(video.segment(), ByteCount(5_000_000));
    }

    #[test]
    fn parameters_of_a_stranger_are_kept_within_bounds() {
        let video = video(&[("interval", "0s"), ("buffer", "0s"), ("rate", "1000Gbit/s")]);
        assert_eq!((video.interval, video.ahead), (SHORTEST_INTERVAL, 1));
        assert_eq!(video.segment(), ByteCount(MOST_OCTETS));
    }
}
