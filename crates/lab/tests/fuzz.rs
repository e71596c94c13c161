//! Link files may come from anybody: none makes its reader panic, what is refused is refused with its place, and what could be
//! read is a link that carries packets.

#![allow(clippy::unwrap_used, reason = "what helps a test may panic as the test may")]

#[path = "../../model/tests/fuzz/campaign.rs"]
mod campaign;
#[path = "../../model/tests/fuzz/mutation.rs"]
mod mutation;

use std::path::Path;

use proptest::prelude::*;
use rrul_lab::line::pipe::Outcome;
use rrul_lab::{LabTime, Link, VirtualLink};
use rrul_model::flow::Direction;

use campaign::config;
use mutation::{Octets, mutated};

/// One link with every key, beside those that are shipped.
const EVERYTHING: &str = r#"# Everything at once
rtt = "18ms"
[up]
rate = [["0s", "8Mbit/s"], ["2s", "4Mbit/s"]]
overhead = "38B"
link_layer = "atm/pppoe-llcsnap"
delay_variation = "2ms"
shaper = { rate = "3Mbit/s", link_layer = "docsis", queue = { discipline = "cake", tins = "diffserv4", flow_isolation = "dual-srchost", rtt = "30ms", ingress = true } }
queue = { discipline = "fq_codel", target = "5ms", interval = "100ms" }
loss = "1%"
duplicate = "1%"
reorder = { probability = "1%", displacement = 3, extra_delay = "5ms" }
dscp = "bleach"
ecn = "ect1_to_ect0"
[down]
rate = "20Mbit/s"
burst = { peak = "40Mbit/s", size = "1MB" }
shaper = { rate = "18Mbit/s", queue = { discipline = "pie", target = "20ms", tupdate = "10ms", alpha = 3, beta = 25, ecn = true, bytemode = true, burst = "100ms" } }
queue = { discipline = "pfifo", limit = "100p" }
only = { protocol = "udp" }
loss = { packets = [1, 2, 3] }
police = { rate = "10Mbit/s", size = "60kB" }
[path]
hops = 4
up_queue_after = 2
down_queue_after = 2
silent = [1]
rate_limited = [{ hop = 2, every = "1s" }]
slow = [{ hop = 3, up_to = "30ms" }]
short_quotes = [1]
garbage = [4]
mtu = { hop = 2, octets = 1400 }
remark_up_at = 2
remark_down_at = 1
reply_path = "other"
addresses = 7
"#;

fn links() -> impl Strategy<Value = Octets> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../links");
    let shipped = std::fs::read_dir(folder).unwrap().map(|entry| std::fs::read(entry.unwrap().path()).unwrap());
    mutated(shipped.chain([EVERYTHING.as_bytes().to_vec()]).collect())
}

/// An IPv6 packet with so many bytes behind its header, from fd78::1 to fd78::2.
fn packet(length: u16) -> Vec<u8> {
    let mut octets = vec![0; 40 + usize::from(length)];
    (octets[0], octets[6], octets[7]) = (0x60, 17, 64);
    octets[4..6].copy_from_slice(&length.to_be_bytes());
    octets[8..10].copy_from_slice(&[0xfd, 0x78]);
    octets[24..26].copy_from_slice(&[0xfd, 0x78]);
    (octets[23], octets[39]) = (1, 2);
    octets
}

#[test]
fn every_link_that_is_changed_here_reads() {
    if let Err(error) = Link::from_toml("everything.toml", EVERYTHING) {
        panic!("{error}");
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_text_is_a_link_or_refused_with_its_place(octets in links(), lengths in prop::collection::vec(8..1400_u16, 0..20)) {
        let text = String::from_utf8_lossy(&octets);
        let link = match Link::from_toml("x.toml", &text) {
            Ok(link) => link,
            Err(error) => {
                let said = error.to_string();
                prop_assert!(said.starts_with("x.toml:") && !said.contains('\n'), "{said}");
                return Ok(());
            }
        };
        let mut line = VirtualLink::new(&link, 1, LabTime(0));
        for (number, length) in lengths.iter().enumerate() {
            let now = LabTime(number as u64 * 1_000_000);
            for direction in Direction::ALL {
                line.offer(direction, &packet(*length), now);
            }
        }
        // An hour later, or when the line is empty.
        let mut outcomes = 0;
        line.poll(LabTime(3_600_000_000_000), |_, outcome| {
            outcomes += 1;
            if let Outcome::Delivered(octets, record) = outcome {
                assert!(!octets.is_empty() && record.arrival.0 <= 3_600_000_000_000);
            }
        });
        prop_assert!(outcomes <= 100 * lengths.len() * 2, "{outcomes} outcomes of {} packets", lengths.len() * 2);
    }
}
