//! Loss, copies and remarking as sockets see them: integers match.

use std::net::UdpSocket;
use std::time::Duration;

use rrul_lab::Fate;
use rrul_model::marking::ServiceClass;

const DATAGRAMS: u8 = 200;
const PORT: u16 = 7785;

#[test]
fn a_socket_receives_exactly_what_the_truth_delivered() {
    let toml = "rtt = \"2ms\"\n[down]\nrate = \"100Mbit/s\"\n[up]\nrate = \"100Mbit/s\"\n\
                only = { protocol = \"udp\", port = 7785 }\nloss = { every = 10 }\n\
                duplicate = { packets = [5] }\ndscp = { EF = \"CS1\" }\n";
    let Some(lab) = super::lab("a_socket_receives_exactly_what_the_truth_delivered", toml) else { return };
    let server = lab.server().run(|| UdpSocket::bind(("10.78.0.2", PORT))).unwrap().unwrap();
    let receiver = lab.server().spawn(move || {
        server.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
        let mut received = Vec::new();
        let mut octets = [0; 200];
        // The last datagram that is not lost is number 199.
        while received.last() != Some(&199) {
            server.recv(&mut octets).unwrap();
            received.push(octets[0]);
        }
        received
    });
    let sent = lab.client().run(|| {
        let socket = UdpSocket::bind("10.78.0.1:0").unwrap();
        socket2::SockRef::from(&socket).set_tos_v4(u32::from(ServiceClass::EF.octet())).unwrap();
        (1..=DATAGRAMS).all(|number| socket.send_to(&[number; 100], ("10.78.0.2", PORT)).is_ok())
    });
    assert!(sent.unwrap());
    let received = receiver.unwrap().join().unwrap();
    // Every tenth is lost; the fifth of those that pass the queue, number 5, comes twice.
    let mut expected: Vec<u8> = (1..=DATAGRAMS).filter(|number| number % 10 != 0).collect();
    expected.insert(5, 5);
    assert_eq!(received, expected);
    let up = lab.truth().unwrap().up;
    assert_eq!((up.count(Fate::Delivered), up.count(Fate::ExactLoss), up.duplicates()), (180, 20, 1));
    // That the kernel took the remarked packets proves their header checksums.
    let remarked = up.records().filter(|record| record.fate == Fate::Delivered);
    assert!(remarked.into_iter().all(|record| (record.tos_in, record.tos_out) == (0xb8, 0x20)));
}
