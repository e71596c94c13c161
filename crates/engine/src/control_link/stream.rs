//! The stream of a control connection: TCP, plain or with TLS over it. One thread reads, any number write.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rrul_proto::packet_seal::PacketSecrets;
use rustls::{ClientConnection, Connection, ServerConnection};

#[cfg(feature = "certificates")]
use super::authorities::{self, Authorities, CertificateProblem};
use super::tls::{self, Fingerprint, ServerKey};
use crate::socket::{options, wait};
use crate::tls::Shown;

/// For what bytes are exported, by direction.
const PACKETS_UP_LABEL: &str = "EXPORTER-rrul-packets-up";
const PACKETS_DOWN_LABEL: &str = "EXPORTER-rrul-packets-down";

/// Bytes that are encrypted at a time: a record of TLS.
const RECORD: usize = 16 << 10;

/// What is read before a deadline.
pub trait ReadBefore {
    /// Reads what is there, or waits for it until the deadline. 0 at the end of the stream.
    ///
    /// # Errors
    /// `TimedOut` or `WouldBlock` at the deadline.
    fn read_before(&mut self, into: &mut [u8], deadline: Instant) -> io::Result<usize>;
}

impl ReadBefore for &TcpStream {
    fn read_before(&mut self, into: &mut [u8], deadline: Instant) -> io::Result<usize> {
        self.set_read_timeout(Some(left_until(deadline)?))?;
        self.read(into)
    }
}

impl ReadBefore for TcpStream {
    fn read_before(&mut self, into: &mut [u8], deadline: Instant) -> io::Result<usize> {
        (&*self).read_before(into, deadline)
    }
}

fn left_until(deadline: Instant) -> io::Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
}

/// Why a server with a certificate is not spoken to.
#[cfg(feature = "certificates")]
#[derive(Debug, thiserror::Error)]
pub enum CertifiedError {
    #[error(transparent)]
    Certificate(#[from] CertificateProblem),
    #[error(transparent)]
    Handshake(#[from] io::Error),
}

/// A control connection.
pub struct ControlStream {
    socket: TcpStream,
    tls: Option<Arc<Tls>>,
}

/// TLS of a connection, shared by its reader and its writers.
struct Tls {
    connection: Mutex<Connection>,
    /// What is encrypted and not yet with the kernel. Held while it is written, so that records leave in their order; the connection is
    /// free meanwhile, and its reader does not wait for a slow receiver.
    outgoing: Mutex<Vec<u8>>,
}

impl ControlStream {
    /// A connection that is not encrypted.
    pub fn plain(socket: TcpStream) -> Self {
        Self { socket, tls: None }
    }

    /// Encrypts a connection to a server, and returns the fingerprint of its key.
    ///
    /// # Errors
    /// When the server does not speak TLS, or not before the deadline.
    pub fn connect(socket: TcpStream, deadline: Instant) -> io::Result<(Self, Fingerprint)> {
        let name = rustls::pki_types::ServerName::try_from("rrul.test").map_err(io::Error::other)?;
        let config = Arc::new(tls::client().map_err(io::Error::other)?);
        let mut connection = ClientConnection::new(config, name).map_err(io::Error::other)?;
        shake_hands(&socket, &mut connection, deadline)?;
        let met = tls::met(&connection).ok_or(io::ErrorKind::InvalidData)?;
        Ok((Self::encrypted(socket, connection.into()), met))
    }

    /// Encrypts a connection to a server that has a certificate of these authorities for this name.
    ///
    /// # Errors
    /// When the certificate is not valid, the server does not speak TLS, or not before the deadline.
    #[cfg(feature = "certificates")]
    pub fn connect_certified(
        socket: TcpStream,
        authorities: &Authorities,
        name: &str,
        deadline: Instant,
    ) -> Result<Self, CertifiedError> {
        let (config, name) = (Arc::new(authorities::client(authorities)?), authorities::name(name)?);
        let mut connection = ClientConnection::new(config, name).map_err(io::Error::other)?;
        shake_hands(&socket, &mut connection, deadline)
            .map_err(|error| authorities::problem(&error).map_or(CertifiedError::Handshake(error), Into::into))?;
        Ok(Self::encrypted(socket, connection.into()))
    }

    /// Encrypts a connection of a client.
    ///
    /// # Errors
    /// When the client does not speak TLS, or not before the deadline.
    pub(crate) fn accept(socket: TcpStream, key: &ServerKey, shown: Shown, deadline: Instant) -> io::Result<Self> {
        let mut connection = ServerConnection::new(Arc::clone(key.config(shown))).map_err(io::Error::other)?;
        shake_hands(&socket, &mut connection, deadline)?;
        Ok(Self::encrypted(socket, connection.into()))
    }

    fn encrypted(socket: TcpStream, connection: Connection) -> Self {
        let tls = Tls { connection: Mutex::new(connection), outgoing: Mutex::default() };
        Self { socket, tls: Some(Arc::new(tls)) }
    }

    /// The TCP connection.
    pub fn socket(&self) -> &TcpStream {
        &self.socket
    }

    pub fn is_encrypted(&self) -> bool {
        self.tls.is_some()
    }

    /// Returns 32 bytes that the two ends of an encrypted connection have, and no one else (RFC 8446, section 7.5).
    pub fn export(&self, label: &str, context: &[u8]) -> Option<[u8; 32]> {
        let connection = locked(&self.tls.as_ref()?.connection);
        connection.export_keying_material([0; 32], label.as_bytes(), Some(context)).ok()
    }

    /// Returns what test packets are sealed with, which the two ends of an encrypted connection have.
    pub fn packet_secrets(&self, context: &[u8]) -> Option<PacketSecrets> {
        let [up, down] = [PACKETS_UP_LABEL, PACKETS_DOWN_LABEL].map(|label| self.export(label, context));
        Some(PacketSecrets { up: up?, down: down? })
    }

    /// The same connection, for another thread to write to.
    ///
    /// # Errors
    /// When no descriptor is left.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Self { socket: self.socket.try_clone()?, tls: self.tls.clone() })
    }

    /// Ends it in both directions.
    pub fn shutdown(&self) {
        // Whoever has closed it already is no failure.
        let _ = self.socket.shutdown(Shutdown::Both);
    }

    /// Waits until something is there to be read, or for this time.
    ///
    /// # Errors
    /// As ppoll(2), or when what has come is no TLS.
    pub fn readable(&self, patience: Duration) -> io::Result<bool> {
        if let Some(tls) = &self.tls {
            let state = locked(&tls.connection).process_new_packets().map_err(broken)?;
            if state.plaintext_bytes_to_read() > 0 {
                return Ok(true);
            }
        }
        wait::readable(&[&self.socket], patience)
    }

    /// From now on writing to the socket waits for nothing.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub(crate) fn stop_waiting(&self) -> io::Result<()> {
        self.socket.set_nonblocking(true)
    }

    /// Reads what is there, and waits for nothing. 0 at the end of the stream.
    ///
    /// # Errors
    /// `WouldBlock` when nothing is there.
    pub(crate) fn take(&self, into: &mut [u8]) -> io::Result<usize> {
        let Some(tls) = &self.tls else { return AtOnce(&self.socket).read(into) };
        let mut connection = locked(&tls.connection);
        loop {
            match connection.reader().read(into) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                outcome => return outcome,
            }
            if connection.read_tls(&mut AtOnce(&self.socket))? == 0 {
                return Ok(0);
            }
            connection.process_new_packets().map_err(broken)?;
        }
    }

    /// Returns these bytes as they go to the kernel, encrypted where the connection is.
    ///
    /// # Errors
    /// When TLS takes no more.
    pub(crate) fn sealed(&self, octets: Vec<u8>) -> io::Result<Vec<u8>> {
        let Some(tls) = &self.tls else { return Ok(octets) };
        let mut sealed = Vec::with_capacity(octets.len());
        let mut connection = locked(&tls.connection);
        for part in octets.chunks(RECORD) {
            seal(&mut connection, part, &mut sealed)?;
        }
        Ok(sealed)
    }

    /// Writes all of it, by this deadline where one is given.
    ///
    /// # Errors
    /// `TimedOut` or `WouldBlock` at the deadline.
    pub fn write_until(&self, octets: &[u8], deadline: Option<Instant>) -> io::Result<()> {
        options::insist(&self.socket);
        let Some(tls) = &self.tls else { return write_all(&self.socket, octets, deadline) };
        let mut outgoing = locked(&tls.outgoing);
        for part in octets.chunks(RECORD) {
            seal(&mut locked(&tls.connection), part, &mut outgoing)?;
            write_all(&self.socket, &outgoing, deadline)?;
            outgoing.clear();
        }
        Ok(())
    }
}

/// Reads what has come, also from a socket whose writers wait.
struct AtOnce<'a>(&'a TcpStream);

impl Read for AtOnce<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if wait::readable(&[self.0], Duration::ZERO)? {
            self.0.read(into)
        } else {
            Err(io::ErrorKind::WouldBlock.into())
        }
    }
}

impl Write for ControlStream {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        self.write_until(octets, None).map(|()| octets.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl ReadBefore for ControlStream {
    fn read_before(&mut self, into: &mut [u8], deadline: Instant) -> io::Result<usize> {
        let Some(tls) = &self.tls else { return self.socket.read_before(into, deadline) };
        loop {
            match locked(&tls.connection).reader().read(into) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                outcome => return outcome,
            }
            // Without the connection: others write meanwhile.
            if !wait::readable(&[&self.socket], left_until(deadline)?)? {
                continue;
            }
            let mut connection = locked(&tls.connection);
            if connection.read_tls(&mut &self.socket)? == 0 {
                return Ok(0);
            }
            connection.process_new_packets().map_err(broken)?;
        }
    }
}

/// Encrypts a part of at most a record, behind what is encrypted already.
fn seal(connection: &mut Connection, part: &[u8], into: &mut Vec<u8>) -> io::Result<()> {
    connection.writer().write_all(part)?;
    while connection.wants_write() {
        connection.write_tls(into)?;
    }
    Ok(())
}

/// Writes all of it, however little the other end takes at a time.
fn write_all(mut socket: &TcpStream, mut octets: &[u8], deadline: Option<Instant>) -> io::Result<()> {
    while !octets.is_empty() {
        if let Some(deadline) = deadline {
            socket.set_write_timeout(Some(left_until(deadline)?))?;
        }
        match socket.write(octets) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => octets = &octets[count..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Both flights of a handshake.
fn shake_hands<C, D>(mut socket: &TcpStream, connection: &mut C, deadline: Instant) -> io::Result<()>
where
    C: std::ops::DerefMut<Target = rustls::ConnectionCommon<D>>,
    D: rustls::SideData,
{
    let mut outgoing = Vec::new();
    loop {
        while connection.wants_write() {
            connection.write_tls(&mut outgoing)?;
        }
        write_all(socket, &outgoing, Some(deadline))?;
        outgoing.clear();
        if !connection.is_handshaking() {
            return Ok(());
        }
        socket.set_read_timeout(Some(left_until(deadline)?))?;
        if connection.read_tls(&mut socket)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if let Err(error) = connection.process_new_packets() {
            // What it is says an alert, if the other end still listens.
            let _ = connection.write_tls(&mut outgoing).and_then(|_| write_all(socket, &outgoing, Some(deadline)));
            return Err(broken(error));
        }
    }
}

fn broken(error: rustls::Error) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    const PATIENCE: Duration = Duration::from_secs(5);

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (client, listener.accept().unwrap().0)
    }

    fn encrypted() -> (ControlStream, ControlStream, Fingerprint, ServerKey) {
        let (client, server) = pair();
        let key = ServerKey::from_pem(&ServerKey::generate().unwrap()).unwrap();
        let deadline = Instant::now() + PATIENCE;
        let (server, (client, met)) = std::thread::scope(|scope| {
            let accepting = scope.spawn(|| ControlStream::accept(server, &key, Shown::Key, deadline).unwrap());
            let connected = ControlStream::connect(client, deadline).unwrap();
            (accepting.join().unwrap(), connected)
        });
        (client, server, met, key)
    }

    fn read(stream: &mut ControlStream, octets: usize) -> Vec<u8> {
        let mut read = Vec::new();
        let mut part = [0; 5000];
        while read.len() < octets {
            match stream.read_before(&mut part, Instant::now() + PATIENCE).unwrap() {
                0 => break,
                count => read.extend_from_slice(&part[..count]),
            }
        }
        read
    }

    #[test]
    fn both_ends_read_what_the_other_writes_and_know_the_key() {
        let (mut client, mut server, met, key) = encrypted();
        assert_eq!(&met, key.fingerprint());
        assert!(client.is_encrypted() && server.is_encrypted());
        let long: Vec<u8> = (0..100_000_u32).map(|number| number as u8).collect();
        let writer = server.try_clone().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| writer.write_until(&long, Some(Instant::now() + PATIENCE)).unwrap());
            client.write_until(b"hello", None).unwrap();
            assert_eq!(read(&mut server, 5), b"hello");
            assert!(read(&mut client, long.len()) == long);
        });
        drop((server, writer));
        assert_eq!(read(&mut client, 1), b"", "the end shows");
    }

    #[test]
    fn what_is_exported_is_of_this_connection_alone() {
        let (client, server, ..) = encrypted();
        let (other, ..) = encrypted();
        let label = "EXPORTER-rrul-test";
        assert_eq!(client.export(label, b"a"), server.export(label, b"a"));
        assert_ne!(client.export(label, b"a"), client.export(label, b"b"));
        assert_ne!(client.export(label, b"a"), other.export(label, b"a"));
        assert_eq!(ControlStream::plain(pair().0).export(label, b"a"), None);
    }

    #[test]
    fn what_is_read_already_counts_as_readable() {
        let (client, mut server, ..) = encrypted();
        client.write_until(b"ab", None).unwrap();
        assert_eq!(server.read_before(&mut [0; 1], Instant::now() + PATIENCE).unwrap(), 1);
        assert!(server.readable(Duration::ZERO).unwrap());
        assert_eq!(read(&mut server, 1), b"b");
        assert!(!server.readable(Duration::from_millis(10)).unwrap());
    }

    #[test]
    fn what_does_not_speak_tls_is_given_up() {
        let (mut client, server) = pair();
        let key = ServerKey::from_pem(&ServerKey::generate().unwrap()).unwrap();
        client.write_all(b"\0\0\0\x05hello").unwrap();
        assert!(ControlStream::accept(server, &key, Shown::Key, Instant::now() + PATIENCE).is_err());
        let (_silent, server) = pair();
        let begun = Instant::now();
        assert!(ControlStream::accept(server, &key, Shown::Key, begun + Duration::from_millis(100)).is_err());
        assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    }

    #[test]
    fn a_receiver_that_takes_a_little_now_and_then_does_not_put_off_the_deadline() {
        let (mut client, server) = pair();
        let stream = ControlStream::plain(server);
        let reading = std::thread::spawn(move || {
            let mut octets = vec![0; 64 << 10];
            while client.read(&mut octets).is_ok_and(|count| count > 0) {
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        let begun = Instant::now();
        assert!(stream.write_until(&vec![0; 256 << 20], Some(begun + Duration::from_millis(400))).is_err());
        assert!((400..1000).contains(&begun.elapsed().as_millis()), "{:?}", begun.elapsed());
        drop(stream);
        reading.join().unwrap();
    }
}
