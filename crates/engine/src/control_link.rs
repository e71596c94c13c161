//! Control messages over a TCP connection, plain or encrypted.

#[cfg(feature = "certificates")]
mod authorities;
mod mailbox;
mod stream;
mod tls;

use std::io::{self, Write};
use std::time::{Duration, Instant};

use rrul_model::printable;
use rrul_proto::control::{ControlError, FRAME_HEADER_OCTETS, FrameHeader};
use rrul_proto::limits::EXPANDED_OCTETS;
use serde::Serialize;
use serde::de::{DeserializeOwned, Error};

#[cfg(feature = "certificates")]
pub use authorities::{Authorities, CertificateProblem, NoAuthority};
pub(crate) use mailbox::{Mailbox, Outbox};
#[cfg(feature = "certificates")]
pub use stream::CertifiedError;
pub use stream::{ControlStream, ReadBefore};
#[cfg(feature = "tickets")]
pub use tls::client_key;
pub use tls::{Fingerprint, FingerprintError, KeyError, ServerKey};

/// Why a message could not be exchanged.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    #[error("the connection was closed by the other end")]
    Closed,
    #[error("no answer within {0} s")]
    Silent(u64),
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Message(#[from] ControlError),
}

/// For what bytes are exported from an encrypted connection (RFC 8446, section 7.5).
pub(crate) const ACCESS_LABEL: &str = "EXPORTER-rrul-access";
pub(crate) const STREAM_LABEL: &str = "EXPORTER-rrul-streams";

/// Whether payloads may be compressed: only from server to client, so that no stranger makes a server expand anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    Never,
    Allowed,
}

/// Payloads from this length on are compressed where that is allowed.
const WORTH_COMPRESSING: usize = 512;

/// Writes one message.
///
/// # Errors
/// When the connection breaks or the message is longer than a frame may be.
pub fn write(stream: &mut impl Write, message: &impl Serialize, compression: Compression) -> Result<(), LinkError> {
    stream.write_all(&encode(message, compression)?)?;
    Ok(())
}

/// Returns the bytes of one message.
fn encode(message: &impl Serialize, compression: Compression) -> Result<Vec<u8>, LinkError> {
    let mut payload = serde_json::to_vec(message).map_err(ControlError::from)?;
    let compressed = compression == Compression::Allowed && payload.len() >= WORTH_COMPRESSING;
    if compressed {
        payload = zstd::bulk::compress(&payload, 3)?;
    }
    let header = FrameHeader { length: payload.len(), compressed }.encode()?;
    let mut octets = Vec::with_capacity(header.len() + payload.len());
    octets.extend_from_slice(&header);
    octets.extend_from_slice(&payload);
    Ok(octets)
}

/// Reads one message; waits for it at most `patience`.
///
/// # Errors
/// When nothing comes in time, the other end closes, or what comes is no message.
pub fn read<M: DeserializeOwned>(
    stream: &mut impl ReadBefore,
    patience: Duration,
    compression: Compression,
) -> Result<M, LinkError> {
    read_counted(stream, patience, compression).map(|(message, _)| message)
}

/// As [`read`], with the bytes that the message took, expanded.
///
/// # Errors
/// As [`read`].
pub fn read_counted<M: DeserializeOwned>(
    stream: &mut impl ReadBefore,
    patience: Duration,
    compression: Compression,
) -> Result<(M, u64), LinkError> {
    read_within(stream, patience, compression, usize::MAX)
}

/// Reads a message of no more than so many bytes, of who has not proven anything yet.
///
/// # Errors
/// As [`read`], and when it is longer.
pub(crate) fn read_short<M: DeserializeOwned>(
    stream: &mut impl ReadBefore,
    patience: Duration,
    most: usize,
) -> Result<M, LinkError> {
    read_within(stream, patience, Compression::Never, most).map(|(message, _)| message)
}

fn read_within<M: DeserializeOwned>(
    stream: &mut impl ReadBefore,
    patience: Duration,
    compression: Compression,
    most: usize,
) -> Result<(M, u64), LinkError> {
    let deadline = Instant::now() + patience;
    let silent = || LinkError::Silent(patience.as_secs());
    let mut header = [0; FRAME_HEADER_OCTETS];
    read_exact_until(stream, &mut header, deadline).map_err(|error| failure(error, silent))?;
    let header = FrameHeader::decode(header)?;
    if header.length > most {
        return Err(io::Error::new(io::ErrorKind::InvalidData, format!("a message of {} bytes", header.length)).into());
    }
    let mut payload = vec![0; header.length];
    read_exact_until(stream, &mut payload, deadline).map_err(|error| failure(error, silent))?;
    decode(payload, header.compressed, compression)
}

/// Returns the message of a payload, and the bytes that it takes, expanded.
fn decode<M: DeserializeOwned>(
    mut payload: Vec<u8>,
    compressed: bool,
    compression: Compression,
) -> Result<(M, u64), LinkError> {
    if compressed {
        if compression == Compression::Never {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a compressed frame is not taken here").into());
        }
        payload = zstd::bulk::decompress(&payload, EXPANDED_OCTETS)?;
    }
    // As text, like recordings: what reads frames is then in the program once.
    let text = str::from_utf8(&payload).map_err(|error| ControlError::from(serde_json::Error::custom(error)))?;
    // From a server: names and reasons are for people; whatever else is long is lists. A client's turns may be longer, and a
    // server bounds its strings by itself.
    let short = (compression == Compression::Allowed).then(|| printable::with_short_strings(text));
    let text = short.as_deref().unwrap_or(text);
    Ok((serde_json::from_str(text).map_err(ControlError::from)?, payload.len() as u64))
}

fn failure(error: io::Error, silent: impl Fn() -> LinkError) -> LinkError {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => LinkError::Closed,
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => silent(),
        _ => LinkError::Io(error),
    }
}

/// Fills `octets` before `deadline`, however slowly they trickle in.
///
/// # Errors
/// `TimedOut` at the deadline, `UnexpectedEof` when the stream ends first.
pub fn read_exact_until(stream: &mut impl ReadBefore, octets: &mut [u8], deadline: Instant) -> io::Result<()> {
    let mut filled = 0;
    while filled < octets.len() {
        match stream.read_before(&mut octets[filled..], deadline) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rrul_proto::control::ClientMessage;
    use std::net::{TcpListener, TcpStream};

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (client, listener.accept().unwrap().0)
    }

    const PATIENCE: Duration = Duration::from_millis(300);

    #[test]
    fn a_message_crosses_plain_and_compressed() {
        let (mut client, mut server) = pair();
        write(&mut client, &ClientMessage::Begin { origin: 7 }, Compression::Never).unwrap();
        let message: ClientMessage = read(&mut server, PATIENCE, Compression::Never).unwrap();
        assert_eq!(message, ClientMessage::Begin { origin: 7 });
        let long = vec!["x".repeat(500); 200];
        write(&mut server, &long, Compression::Allowed).unwrap();
        assert_eq!(read::<Vec<String>>(&mut client, PATIENCE, Compression::Allowed).unwrap(), long);
        let turns = "1s-2s,".repeat(600);
        write(&mut client, &turns, Compression::Never).unwrap();
        assert_eq!(read::<String>(&mut server, PATIENCE, Compression::Never).unwrap(), turns);
    }

    #[test]
    fn a_compressed_frame_is_refused_where_it_is_not_allowed() {
        let (mut client, mut server) = pair();
        write(&mut client, &"x".repeat(10_000), Compression::Allowed).unwrap();
        assert!(read::<String>(&mut server, PATIENCE, Compression::Never).is_err());
    }

    #[test]
    fn a_message_of_who_has_proven_nothing_is_short() {
        let (mut client, mut server) = pair();
        write(&mut client, &"x".repeat(100), Compression::Never).unwrap();
        assert!(read_short::<String>(&mut server, PATIENCE, 102).is_ok());
        // Refused by its header: what follows is not waited for.
        client.write_all(&FrameHeader { length: 103, compressed: false }.encode().unwrap()).unwrap();
        let long = read_short::<String>(&mut server, PATIENCE, 102).unwrap_err();
        assert_eq!(long.to_string(), "a message of 103 bytes");
    }

    #[test]
    fn silence_and_closing_are_distinguished() {
        let (client, mut server) = pair();
        let silent = read::<ClientMessage>(&mut server, PATIENCE, Compression::Never);
        assert!(matches!(silent, Err(LinkError::Silent(_))), "{silent:?}");
        drop(client);
        let closed = read::<ClientMessage>(&mut server, PATIENCE, Compression::Never);
        assert!(matches!(closed, Err(LinkError::Closed)), "{closed:?}");
    }

    #[test]
    fn a_frame_that_expands_beyond_the_limit_is_refused() {
        let (mut client, mut server) = pair();
        let bomb = zstd::bulk::compress(&vec![b' '; EXPANDED_OCTETS + 1], 3).unwrap();
        let header = FrameHeader { length: bomb.len(), compressed: true }.encode().unwrap();
        client.write_all(&header).unwrap();
        client.write_all(&bomb).unwrap();
        assert!(read::<String>(&mut server, PATIENCE, Compression::Allowed).is_err());
    }
}
