//! A lab without root: the calling user becomes root of a user namespace of its own. Needs an open /dev/net/tun.

use rrul_lab::{Lab, Link};
use rrul_model::flow::AddressFamily;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Before anything starts a thread.
    rrul_lab::enter_user_namespace()?;
    let lab = Lab::up(&Link::builtin("cable_20_8_fq_codel")?, 1)?;
    let (client, server) = (lab.client().address(AddressFamily::Ipv6), lab.server().address(AddressFamily::Ipv6));
    let listener = lab.server().run(move || std::net::TcpListener::bind((server, 7785)))??;
    let _stream = lab.client().run(move || std::net::TcpStream::connect((server, 7785)))??;
    let (_, peer) = listener.accept()?;
    let truth = lab.truth()?;
    println!("connected from {client} as {peer}; real-time priority: {}", truth.realtime);
    println!("packets up {}, down {}", truth.up.records().count(), truth.down.records().count());
    Ok(())
}
