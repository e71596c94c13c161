//! A flood: UDP packets at a rate that the plan says, whatever the network takes (spec, "Test Methods ruled out").
//!
//! It has no congestion control, like malware, and is no method to load a line. It is sent on request alone: no plan of
//! rrul has one, its rate has no default, and a server refuses it unless its owner allows that rate. Packets are those
//! of one-way flows, so that the receiver knows what was lost.

use std::collections::BTreeMap;
use std::thread::JoinHandle;
use std::time::Duration;

use rrul_model::flow::{FlowSpec, FlowTypeWords, ParameterKind, ParameterWord};
use rrul_model::units::{BitRate, ByteCount, format_duration};
use rrul_proto::one_way_packet::LEAST_OCTETS;

use super::{one_way, udp_probe};
use crate::flow_type::{FlowType, Footprint, Initiation};
use crate::one_way_sending;
use crate::server::parts::one_way::OneWay;
use crate::server::session::ServerPart;

const NAME: &str = "udp_flood";

const DEFAULT_OCTETS: u64 = 1200;
const MOST_OCTETS: u64 = 1400;

pub(crate) struct UdpFlood;

impl FlowType for UdpFlood {
    fn descriptor(&self) -> &'static FlowTypeWords {
        &FlowTypeWords {
            name: NAME,
            about: "UDP packets at a fixed rate without congestion control, if the server allows it: rate and loss at the receiver",
            directed: true,
            parameters: &[
                ParameterWord {
                    name: "rate",
                    kind: ParameterKind::Rate,
                    about: "of its IP packets; no default. The server must allow it (rrul server --allow-flood)",
                },
                ParameterWord {
                    name: "length",
                    kind: ParameterKind::Size,
                    about: "UDP payload; default 1200B, least 32B, most 1400B",
                },
            ],
        }
    }

    fn server_part(&self) -> &'static dyn ServerPart {
        &OneWay
    }

    fn packets_per_second(&self, spec: &FlowSpec) -> f64 {
        one_way_sending::interval(spec).as_secs_f64().recip()
    }

    fn flood_rate(&self, spec: &FlowSpec) -> Option<BitRate> {
        // By what is sent in the end: a stranger's interval need not be that of its rate.
        let octets = one_way_sending::length(spec) as u64;
        Some(BitRate((udp_probe::packet_bits(spec, octets) * self.packets_per_second(spec)).round() as u64))
    }

    fn load(&self, spec: &FlowSpec) -> Option<Footprint> {
        self.flood_rate(spec).map(|rate| Footprint::towards(spec.direction, rate.0 as f64, 0.0))
    }

    fn length(&self, spec: &FlowSpec) -> Option<usize> {
        Some(length_of(spec) as usize)
    }

    fn effective_parameters(&self, spec: &FlowSpec) -> BTreeMap<&'static str, String> {
        interval_from_rate(spec).map(|interval| ("interval", format_duration(interval))).into_iter().collect()
    }

    fn initiate(&self, specs: &[&FlowSpec], initiation: &Initiation) -> Vec<JoinHandle<()>> {
        let (rated, others): (Vec<&FlowSpec>, Vec<&FlowSpec>) =
            specs.iter().copied().partition(|spec| interval_from_rate(spec).is_some());
        for spec in others {
            initiation.end.failed(spec, "a flood needs a rate; set its parameter rate");
        }
        one_way::initiate(NAME, &rated, initiation)
    }
}

fn length_of(spec: &FlowSpec) -> u64 {
    spec.parameters.size("length", ByteCount(DEFAULT_OCTETS)).0.clamp(LEAST_OCTETS as u64, MOST_OCTETS)
}

/// Returns the time from one packet to the next; `None` without a rate.
fn interval_from_rate(spec: &FlowSpec) -> Option<Duration> {
    let rate = spec.parameters.rate("rate").filter(|rate| rate.0 > 0)?;
    let seconds = udp_probe::packet_bits(spec, length_of(spec)) / rate.0 as f64;
    Some(Duration::from_secs_f64(seconds).max(one_way_sending::SHORTEST_INTERVAL_OF_FLOOD))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rrul_model::flow::{AddressFamily, Component, Direction, FlowId, Parameter, Parameters};
    use rrul_model::marking::ServiceClass;
    use rrul_model::time::{TestTime, Window};

    fn flood(parameters: &[(&str, &str)]) -> FlowSpec {
        let parameters =
            parameters.iter().map(|(name, value)| ((*name).to_owned(), Parameter::Text((*value).to_owned())));
        FlowSpec {
            id: FlowId(1),
            name: "udp_flood/BE/down/ipv4".to_owned(),
            flow_type: NAME.to_owned(),
            component: Component::Load,
            direction: Some(Direction::Down),
            family: AddressFamily::Ipv4,
            class: ServiceClass::BE,
            window: Window { from: TestTime(0), to: TestTime(1_000_000_000) },
            parameters: Parameters(parameters.collect()),
        }
    }

    #[test]
    fn packets_leave_at_the_rate_that_the_plan_says_headers_included() {
        let mut flows =
            super::super::with_effective_parameters(vec![flood(&[("rate", "8Mbit/s"), ("length", "972B")])]);
        let spec = flows.remove(0);
        assert_eq!((spec.parameters.text("interval"), spec.parameters.text("length")), (Some("1ms"), Some("972B")));
        assert_eq!(UdpFlood.flood_rate(&spec), Some(BitRate(8_000_000)));
    }

    #[test]
    fn what_counts_for_the_servers_limit_is_what_it_would_send() {
        let spec = flood(&[("rate", "1bit/s"), ("interval", "1ms"), ("length", "972B")]);
        assert_eq!(UdpFlood.flood_rate(&spec), Some(BitRate(8_000_000)));
    }
}
