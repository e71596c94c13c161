//! Bulk TCP between the hosts, as the load of a queue.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rrul_lab::Lab;
use rrul_model::flow::AddressFamily;

/// A stream from server to client under way.
pub(crate) struct Stream {
    sender: JoinHandle<()>,
    receiver: JoinHandle<u64>,
}

impl Stream {
    /// Begins to send from server to client for this long; cubic, because some hosts default to algorithms that keep
    /// queues short by themselves.
    pub(crate) fn down(lab: &Lab, family: AddressFamily, lasting: Duration) -> Self {
        let address = SocketAddr::new(lab.client().address(family), 0);
        let listener = lab.client().run(move || TcpListener::bind(address)).unwrap().unwrap();
        let address = listener.local_addr().unwrap();
        let receiver = lab.client().spawn(move || receive(&listener)).unwrap();
        let sender = lab.server().spawn(move || send(address, lasting)).unwrap();
        Self { sender, receiver }
    }

    /// Waits for its end and gives the bytes that were delivered.
    pub(crate) fn finish(self) -> u64 {
        self.sender.join().unwrap();
        self.receiver.join().unwrap()
    }
}

fn receive(listener: &TcpListener) -> u64 {
    let (mut stream, _) = listener.accept().unwrap();
    let mut octets = vec![0; 65_536];
    let mut received = 0;
    loop {
        match stream.read(&mut octets).unwrap() {
            0 => return received,
            length => received += length as u64,
        }
    }
}

fn send(address: SocketAddr, lasting: Duration) {
    let mut stream = TcpStream::connect(address).unwrap();
    socket2::SockRef::from(&stream).set_tcp_congestion(b"cubic").unwrap();
    let octets = vec![0x5a; 65_536];
    let begun = Instant::now();
    while begun.elapsed() < lasting {
        stream.write_all(&octets).unwrap();
    }
    stream.shutdown(Shutdown::Write).unwrap();
}
