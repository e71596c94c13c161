//! Arbitrary openings, messages and packets, and octets that are nearly such.

use std::time::Duration;

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

use rrul_model::environment::{Environment, HostState, Interface, InterfaceCounters, Route};
use rrul_model::flow::{AddressFamily, Component, Direction, FlowId, FlowSpec, Parameter, Parameters};
use rrul_model::marking::{Dscp, ServiceClass};
use rrul_model::observation::{
    FlowEvent, FlowEventKind, ObservationPoint, OctetsReceived, ProbeReceived, ProcessTime, Tables,
};
use rrul_model::phase::LoadEnd;
use rrul_model::recording::Frame;
use rrul_model::time::{TestTime, Window};
use rrul_model::units::{ByteCount, Delay};
use rrul_proto::admission::access::{AccessAnswer, Challenge, KeyProof, Proof, PublicKey, Signature};
use rrul_proto::control::{ClientMessage, RefusedFlow, ServerMessage};
use rrul_proto::limits::Limits;
use rrul_proto::opening::{ClientOpening, Offers, Purpose, ServerOpening, Status};
use rrul_proto::receive_window::ReceiveWindow;
use rrul_proto::test_packet::{FollowUp, Kind, LEAST_OCTETS, TestPacket};
use rrul_proto::token::Token;

/// Any token.
pub(crate) fn token() -> impl Strategy<Value = Token> {
    any::<[u8; 16]>().prop_map(Token)
}

/// Any client opening, with versions in any order.
pub(crate) fn client_opening() -> impl Strategy<Value = ClientOpening> {
    let purpose = prop::sample::select(vec![Purpose::Control, Purpose::Stream, Purpose::Presence]);
    let offers = prop::sample::select(vec![Offers::NONE, Offers::ACCESS, Offers::TLS, Offers::ACCESS.and(Offers::TLS)]);
    (any::<u8>(), any::<u8>(), purpose, offers, token(), any::<u16>()).prop_map(
        |(lowest, highest, purpose, offers, token, flow)| ClientOpening {
            lowest,
            highest,
            purpose,
            offers,
            token,
            flow,
        },
    )
}

/// Any server opening.
pub(crate) fn server_opening() -> impl Strategy<Value = ServerOpening> {
    let status = prop::sample::select(Status::ALL.to_vec());
    (status, any::<u8>(), any::<u8>(), any::<u8>()).prop_map(|(status, version, lowest, highest)| ServerOpening {
        status,
        version,
        lowest,
        highest,
    })
}

fn follow_up() -> impl Strategy<Value = FollowUp> {
    // The highest number means "none" on the wire.
    (0..u32::MAX, any::<i64>()).prop_map(|(sequence, sent)| FollowUp { sequence, sent })
}

/// Any test packet.
pub(crate) fn test_packet() -> impl Strategy<Value = TestPacket> {
    let kinds = [Kind::Test, Kind::Reply, Kind::Greeting, Kind::GreetingReply, Kind::Trace, Kind::TraceReply];
    let kind = prop::sample::select(kinds.to_vec());
    let octets = (any::<u8>(), any::<u8>());
    let numbers = (any::<u16>(), any::<u32>(), any::<u32>());
    let told = (prop::option::of(follow_up()), any::<(u32, u64)>());
    (kind, octets, numbers, token(), any::<[i64; 3]>(), told).prop_map(
        |(kind, (octet_sent, octet_received), (flow, sequence, reflector_count), token, [t1, t2, t3], told)| {
            let (follow_up, (highest, bits)) = told;
            TestPacket {
                kind,
                flow,
                octet_sent,
                octet_received,
                token,
                sequence,
                reflector_count,
                t1,
                t2,
                t3,
                follow_up,
                window: ReceiveWindow { highest, bits },
            }
        },
    )
}

fn duration() -> impl Strategy<Value = Duration> {
    (any::<u64>(), 0..1_000_000_000_u32).prop_map(|(seconds, nanoseconds)| Duration::new(seconds, nanoseconds))
}

fn parameter() -> impl Strategy<Value = Parameter> {
    prop_oneof![
        any::<bool>().prop_map(Parameter::Flag),
        any::<i64>().prop_map(Parameter::Integer),
        // JSON has no infinities, and its reader may be off in the last binary digit of a long fraction.
        (-1_000_000..1_000_000_i32).prop_map(|number| Parameter::Number(f64::from(number) / 1024.0)),
        any::<String>().prop_map(Parameter::Text),
    ]
}

fn flow_spec() -> impl Strategy<Value = FlowSpec> {
    let component = prop::sample::select(vec![
        Component::Load,
        Component::Realtime,
        Component::Voip,
        Component::Web,
        Component::Analysis,
    ]);
    let family = prop::sample::select(AddressFamily::ALL.to_vec());
    let direction = prop::option::of(prop::sample::select(Direction::ALL.to_vec()));
    let class = (0..64_u8).prop_map(|value| ServiceClass::from_dscp(Dscp::new(value).expect("below 64")));
    let words = (any::<u16>(), any::<String>(), any::<String>());
    let parameters = btree_map(any::<String>(), parameter(), 0..4).prop_map(Parameters);
    (words, component, direction, family, class, any::<(i64, i64)>(), parameters).prop_map(
        |((id, name, flow_type), component, direction, family, class, (from, to), parameters)| FlowSpec {
            id: FlowId(id),
            name,
            flow_type,
            component,
            direction,
            family,
            class,
            window: Window { from: TestTime(from), to: TestTime(to) },
            parameters,
        },
    )
}

fn access_answer() -> impl Strategy<Value = AccessAnswer> {
    let key = (any::<[u8; 32]>(), any::<[u8; 32]>(), any::<[u8; 32]>(), any::<Option<String>>()).prop_map(
        |(public_key, one, other, ticket)| {
            let mut signature = [0; 64];
            signature[..32].copy_from_slice(&one);
            signature[32..].copy_from_slice(&other);
            Box::new(KeyProof { public_key: PublicKey(public_key), signature: Signature(signature), ticket })
        },
    );
    (any::<Option<[u8; 32]>>(), prop::option::of(key))
        .prop_map(|(proof, key)| AccessAnswer { proof: proof.map(Proof), key })
}

/// Any client message.
pub(crate) fn client_message() -> impl Strategy<Value = ClientMessage> {
    prop_oneof![
        (vec(flow_spec(), 0..5), duration(), duration())
            .prop_map(|(flows, length, sample_interval)| { ClientMessage::Open { flows, length, sample_interval } }),
        (duration(), any::<Option<u64>>(), any::<bool>()).prop_map(|(length, rate, wait)| ClientMessage::Turn {
            length,
            rate,
            wait
        }),
        any::<u32>().prop_map(|id| ClientMessage::Time { id }),
        any::<i64>().prop_map(|origin| ClientMessage::Begin { origin }),
        access_answer().prop_map(ClientMessage::Proof),
        Just(ClientMessage::Stop),
        Just(ClientMessage::Alive),
        any::<[i64; 2]>().prop_map(|[at, planned]| {
            ClientMessage::EndLoad(LoadEnd { at: TestTime(at), planned: TestTime(planned) })
        }),
        Just(ClientMessage::Bye),
    ]
}

fn environment() -> impl Strategy<Value = Environment> {
    let words = btree_map(any::<String>(), any::<String>(), 0..4);
    (any::<[String; 3]>(), any::<(u32, u64, u32)>(), words).prop_map(
        |([program, host, kernel], (cores, ticks_per_second, tcp_info_length), settings)| Environment {
            program,
            host,
            kernel,
            cores,
            ticks_per_second,
            tcp_info_length,
            settings,
            ..Environment::default()
        },
    )
}

fn state() -> impl Strategy<Value = Option<Box<HostState>>> {
    let interface = (any::<u32>(), any::<String>(), any::<u64>()).prop_map(|(index, name, sent_octets)| Interface {
        index,
        name,
        counters: InterfaceCounters { sent_octets, ..InterfaceCounters::default() },
        ..Interface::default()
    });
    let route =
        (any::<u32>(), any::<std::net::IpAddr>(), any::<bool>()).prop_map(|(interface, source, gateway)| Route {
            family: AddressFamily::from_address(source),
            interface,
            source: Some(source),
            destination: None,
            gateway,
            mtu: None,
            translated: None,
        });
    let counters = btree_map(any::<String>(), any::<u64>(), 0..4);
    let state = (vec(interface, 0..4), vec(route, 0..3), counters).prop_map(|(interfaces, routes, kernel_counters)| {
        Box::new(HostState { interfaces, routes, kernel_counters, ..HostState::default() })
    });
    prop::option::of(state)
}

fn limits() -> impl Strategy<Value = Limits> {
    (any::<[u32; 6]>(), duration()).prop_map(
        |([sessions, connections, flows, packets_per_second, packet_octets, connections_per_second], length)| Limits {
            flood_bits_per_second: u64::from(sessions),
            sessions,
            connections,
            flows,
            length,
            packets_per_second,
            packet_octets,
            connections_per_second,
        },
    )
}

prop_compose! {
    fn frame()(
        number in any::<u32>(),
        dropped in any::<u64>(),
        streams in vec(any::<(u16, i64, u64)>(), 0..20),
        replies in vec(any::<(u16, u32, [i64; 4], u8, u8, u32)>(), 0..20),
        times in vec(any::<[i64; 3]>(), 0..20),
        events in vec(any::<(u16, i64, bool, String)>(), 0..4),
    ) -> Frame {
        let mut tables = Tables::default();
        for (flow, at, octets) in streams {
            tables.push(OctetsReceived { flow: FlowId(flow), at: TestTime(at), octets: ByteCount(octets) }.into());
        }
        for (flow, sequence, stamps, reflector_octet, octet, reflector_count) in replies {
            let [received, read, reflector_received, reflector_sent] = stamps.map(TestTime);
            let flow = FlowId(flow);
            tables.push(ProbeReceived {
                flow, sequence, received, read, reflector_received, reflector_sent, reflector_octet, octet,
                reflector_count,
            }.into());
        }
        for [at, user, system] in times {
            tables.push(ProcessTime { at: TestTime(at), user: Delay(user), system: Delay(system) }.into());
        }
        let events = events.into_iter().map(|(flow, at, failed, detail)| {
            let event = if failed { FlowEventKind::Failed } else { FlowEventKind::Connected };
            FlowEvent { flow: FlowId(flow), at: TestTime(at), event, detail }
        });
        Frame { point: ObservationPoint::Server, number, dropped, tables, events: events.collect() }
    }
}

/// Any server message.
pub(crate) fn server_message() -> impl Strategy<Value = ServerMessage> {
    let refused = (any::<u16>(), any::<String>()).prop_map(|(flow, reason)| RefusedFlow { flow: FlowId(flow), reason });
    prop_oneof![
        any::<[u8; 32]>().prop_map(|octets| ServerMessage::Challenge { challenge: Challenge(octets) }),
        (token(), environment(), limits(), any::<(bool, bool)>()).prop_map(
            |(token, environment, limits, announced)| {
                let (hears_alive, seals) = announced;
                ServerMessage::Welcome { token, environment: Box::new(environment), limits, hears_alive, seals }
            }
        ),
        (vec(refused, 0..4), state(), any::<bool>()).prop_map(|(refused, state, ends_load)| ServerMessage::Opened {
            refused,
            state,
            ends_load
        }),
        (any::<String>(), prop::option::of(duration()))
            .prop_map(|(reason, retry_after)| ServerMessage::Refused { reason, retry_after }),
        (any::<u32>(), duration()).prop_map(|(position, retry_after)| ServerMessage::Queued { position, retry_after }),
        Just(ServerMessage::Turn),
        any::<(u32, i64, i64)>().prop_map(|(id, received, sent)| ServerMessage::Time { id, received, sent }),
        frame().prop_map(|frame| ServerMessage::Observed(Box::new(frame))),
        state().prop_map(|state| ServerMessage::Finished { state }),
    ]
}

/// Octets of any kind, and octets that are nearly what is expected: some of an encoding changed, cut off or doubled.
pub(crate) fn nearly(good: impl Strategy<Value = Vec<u8>>) -> impl Strategy<Value = Vec<u8>> {
    let changes = vec((any::<prop::sample::Index>(), any::<u8>()), 0..4);
    let damaged = (good, changes, prop::option::of(any::<prop::sample::Index>())).prop_map(|(good, changes, cut)| {
        let mut octets = good;
        for (at, octet) in changes {
            if !octets.is_empty() {
                let at = at.index(octets.len());
                octets[at] = octet;
            }
        }
        if let Some(cut) = cut {
            octets.truncate(cut.index(octets.len() + 1));
        }
        octets
    });
    prop_oneof![vec(any::<u8>(), 0..200), damaged]
}

/// The packet with so many octets of padding, each 0xa5.
pub(crate) fn packet_octets(packet: &TestPacket, padding: usize) -> Vec<u8> {
    let mut octets = vec![0xa5; LEAST_OCTETS + padding];
    packet.write(&mut octets).expect("room is left");
    octets
}
