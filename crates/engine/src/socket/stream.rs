//! Bulk bytes through a TCP stream at the least cost.

#![allow(unsafe_code, reason = "recv with MSG_TRUNC, send with flags, sendfile and memfd_create")]

use std::fs::File;
use std::io::{self, Write};
use std::net::TcpStream;
use std::os::fd::{AsRawFd, FromRawFd};
use std::sync::OnceLock;
use std::time::Duration;

use rrul_model::random::Random;

use super::options;

/// Bytes offered to the kernel in one call.
pub const CHUNK: usize = 1 << 20;

/// Random bytes in a file in memory, so that the kernel can send them without copying and no device on the path can
/// compress them.
///
/// # Errors
/// When memory for it is missing.
pub fn random_file() -> io::Result<&'static File> {
    static FILE: OnceLock<File> = OnceLock::new();
    if let Some(file) = FILE.get() {
        return Ok(file);
    }
    // SAFETY: the name is a valid C string; the descriptor returned is ours alone.
    let mut file = unsafe {
        let descriptor = libc::memfd_create(c"rrul-load".as_ptr(), libc::MFD_CLOEXEC);
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        File::from_raw_fd(descriptor)
    };
    let mut octets = vec![0; CHUNK];
    Random(0x7272_756c).fill(&mut octets);
    file.write_all(&octets)?;
    Ok(FILE.get_or_init(|| file))
}

/// Sends up to [`CHUNK`] bytes of `file` from `offset` on; returns how many the kernel took.
///
/// # Errors
/// `WouldBlock` when the stream's send timeout passed first; otherwise as sendfile(2).
pub fn send_from(stream: &TcpStream, file: &File, offset: usize) -> io::Result<usize> {
    send_part(stream, file, offset, CHUNK)
}

/// The same of up to `most` bytes.
///
/// # Errors
/// As [`send_from`].
pub fn send_part(stream: &TcpStream, file: &File, offset: usize, most: usize) -> io::Result<usize> {
    let mut from = offset as libc::off_t;
    let count = CHUNK.saturating_sub(offset).min(most);
    // SAFETY: both descriptors are open while borrowed, and `from` is valid to write to.
    let sent = unsafe { libc::sendfile(stream.as_raw_fd(), file.as_raw_fd(), &raw mut from, count) };
    usize::try_from(sent).map_err(|_| io::Error::last_os_error())
}

/// Sends what the kernel takes at once of `octets`, without waiting.
///
/// # Errors
/// As send(2).
pub fn send_now(stream: &TcpStream, octets: &[u8]) -> io::Result<usize> {
    let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
    // SAFETY: the bytes are valid for their length.
    let sent = unsafe { libc::send(stream.as_raw_fd(), octets.as_ptr().cast(), octets.len(), flags) };
    usize::try_from(sent).map_err(|_| io::Error::last_os_error())
}

/// Takes what has arrived, up to [`CHUNK`] bytes, without copying it: the kernel drops it (tcp(7), MSG_TRUNC).
///
/// 0 is the end of the stream.
///
/// # Errors
/// `WouldBlock` when the stream's receive timeout passed first; otherwise as recv(2).
pub fn discard(stream: &TcpStream) -> io::Result<usize> {
    // SAFETY: with MSG_TRUNC a TCP socket writes nothing to the buffer, which may be null.
    let received = unsafe { libc::recv(stream.as_raw_fd(), std::ptr::null_mut(), CHUNK, libc::MSG_TRUNC) };
    usize::try_from(received).map_err(|_| io::Error::last_os_error())
}

/// Wakes a receiver only when so many bytes have arrived, or its receive timeout has passed (socket(7), SO_RCVLOWAT).
///
/// # Errors
/// When the kernel refuses.
pub fn wake_after(stream: &TcpStream, octets: usize) -> io::Result<()> {
    options::set(stream, libc::SOL_SOCKET, libc::SO_RCVLOWAT, octets.clamp(1, CHUNK) as libc::c_int)
}

/// Makes calls on the stream return after `timeout` at the latest, and its closing throw away what is unsent.
///
/// Without the latter a bloated link would go on draining megabytes long after the load has ended.
///
/// # Errors
/// When the kernel refuses.
pub fn prepare(stream: &TcpStream, timeout: Duration) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(timeout))?;
    stream.set_write_timeout(Some(timeout))?;
    socket2::SockRef::from(stream).set_linger(Some(Duration::ZERO))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (receiver, _) = listener.accept().unwrap();
        for stream in [&sender, &receiver] {
            prepare(stream, Duration::from_millis(100)).unwrap();
        }
        (sender, receiver)
    }

    #[test]
    fn every_byte_sent_from_the_file_is_counted_when_discarded() {
        let (sender, receiver) = pair();
        let file = random_file().unwrap();
        let reader = std::thread::spawn(move || {
            let mut total = 0;
            loop {
                match discard(&receiver) {
                    Ok(0) => return total,
                    Ok(count) => total += count,
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    Err(error) => panic!("{error}"),
                }
            }
        });
        let mut total = send_now(&sender, b"first").unwrap();
        let mut offset = 0;
        while total < 3 * CHUNK {
            let sent = send_from(&sender, file, offset).unwrap();
            offset = (offset + sent) % CHUNK;
            total += sent;
        }
        sender.shutdown(std::net::Shutdown::Write).unwrap();
        assert_eq!(reader.join().unwrap(), total);
    }

    #[test]
    fn a_silent_stream_returns_after_its_timeout() {
        let (_sender, receiver) = pair();
        assert_eq!(discard(&receiver).unwrap_err().kind(), io::ErrorKind::WouldBlock);
    }
}
