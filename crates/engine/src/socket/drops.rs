//! Packets that the kernel dropped at a socket, as its buffer was full (SO_MEMINFO).

#![allow(unsafe_code, reason = "getsockopt")]

use std::os::fd::{AsFd, AsRawFd};

/// sock_diag.h: the count of numbers, and which of them counts drops.
const NUMBERS: usize = 9;
const DROPS: usize = 8;

/// How many since the socket opened; of a listening TCP socket the connection attempts that it had no room for. `None`
/// where the kernel does not say (before Linux 4.12).
pub fn read(socket: &impl AsFd) -> Option<u32> {
    let mut numbers = [0_u32; NUMBERS];
    let mut length = size_of_val(&numbers) as libc::socklen_t;
    // SAFETY: the numbers and their length are valid for writing, and the descriptor is open while borrowed.
    let status = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_MEMINFO,
            numbers.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    (status == 0 && length as usize >= (DROPS + 1) * size_of::<u32>()).then_some(numbers[DROPS])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream, UdpSocket};
    use std::time::Duration;

    #[test]
    fn what_a_full_buffer_loses_is_counted() {
        let receiver = socket2::Socket::from(UdpSocket::bind("127.0.0.1:0").unwrap());
        receiver.set_recv_buffer_size(4096).unwrap();
        assert_eq!(read(&receiver), Some(0));
        let address = receiver.local_addr().unwrap().as_socket().unwrap();
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        for _ in 0..200 {
            sender.send_to(&[0; 500], address).unwrap();
        }
        let mut queued = 0;
        receiver.set_nonblocking(true).unwrap();
        while std::io::Read::read(&mut &receiver, &mut [0; 500]).is_ok() {
            queued += 1;
        }
        assert!(queued < 200, "the buffer was not full");
        assert_eq!(read(&receiver), Some(200 - queued));
    }

    #[test]
    fn connections_that_a_listener_had_no_room_for_are_counted() {
        let listener = socket2::Socket::from(TcpListener::bind("127.0.0.1:0").unwrap());
        // Room for one, and one more.
        listener.listen(0).unwrap();
        let address = listener.local_addr().unwrap().as_socket().unwrap();
        let attempt = || TcpStream::connect_timeout(&address, Duration::from_millis(300));
        let attempts: Vec<_> = (0..4).map(|_| attempt()).collect();
        assert!(attempts.iter().any(Result::is_err), "the backlog was not full");
        assert!(read(&listener).unwrap() > 0, "{attempts:?}");
    }
}
