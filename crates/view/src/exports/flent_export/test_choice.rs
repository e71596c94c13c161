//! Which test of Flent a run is most like, and what its flows are called there.

use std::collections::BTreeMap;

use rrul_analysis::Analysis;
use rrul_analysis::flow_label::FlowLabel;
use rrul_model::flow::{AddressFamily, Direction, FlowId};
use rrul_model::flow_kind::FlowKind;
use rrul_model::marking::ServiceClass;

/// What a series of Flent is made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// The goodput of this stream.
    Stream(Direction, FlowId),
    /// The round-trip delay of this flow.
    Ping(FlowId),
    /// The sum of the streams; of both directions where none is named.
    Sum(Option<Direction>),
    /// The mean of the series whose name begins so.
    Mean(&'static str),
}

/// The test and its series.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// The name of the test.
    pub test: &'static str,
    /// Series by name, the computed ones behind those that they are computed from.
    pub series: Vec<(String, Part)>,
    /// The options of the test.
    pub parameters: BTreeMap<String, String>,
    pub note: String,
}

/// Classes of Flent's `rrul`, in its order.
const RRUL: [ServiceClass; 4] = [ServiceClass::BE, ServiceClass::BK, ServiceClass::CS5, ServiceClass::EF];
const BE: ServiceClass = ServiceClass::BE;

impl Choice {
    /// The test for this run.
    ///
    /// `rrul` with one stream of each of its classes in each direction; `rrul_be` with four of best effort; `tcp_nup` and
    /// `tcp_ndown` where only one direction is loaded; `ping` where none is; else `rrul_var`, whose streams have labels.
    pub fn of(run: &Analysis) -> Self {
        let streams = |direction| run.goodput(direction).flows.iter().map(|entry| &entry.flow).collect::<Vec<_>>();
        let (up, down) = (streams(Direction::Up), streams(Direction::Down));
        let of_kind = |kind: FlowKind| -> Vec<&FlowLabel> {
            let flows =
                run.round_trip_delay.flows.iter().filter(|entry| !entry.series.is_empty()).map(|entry| &entry.flow);
            flows.filter(|flow| flow.kind() == kind).collect()
        };
        let mut udp = of_kind(FlowKind::UdpProbe);
        if udp.is_empty() {
            // What netperf's exchanges said stands where Flent itself has it.
            udp = of_kind(FlowKind::ExchangeMean);
        }
        let flows = Flows { up, down, udp, icmp: of_kind(FlowKind::IcmpEcho) };
        let mut choice = match (flows.up.is_empty(), flows.down.is_empty()) {
            (true, true) => flows.ping(),
            (false, true) => flows.one_way(Direction::Up),
            (true, false) => flows.one_way(Direction::Down),
            (false, false) if flows.is_rrul() => flows.rrul(),
            (false, false) if flows.is_rrul_be() => flows.rrul_be(),
            (false, false) => flows.variable(),
        };
        choice.note = flows.note(&choice.series);
        choice
    }
}

/// The flows of a run that Flent has a place for.
struct Flows<'a> {
    up: Vec<&'a FlowLabel>,
    down: Vec<&'a FlowLabel>,
    udp: Vec<&'a FlowLabel>,
    icmp: Vec<&'a FlowLabel>,
}

impl<'a> Flows<'a> {
    fn direction(&self, direction: Direction) -> &[&'a FlowLabel] {
        direction.select(&self.up, &self.down)
    }

    fn is_rrul(&self) -> bool {
        Direction::ALL.into_iter().all(|direction| {
            let flows = self.direction(direction);
            flows.len() == RRUL.len() && RRUL.iter().all(|class| flows.iter().any(|flow| flow.class == *class))
        })
    }

    fn is_rrul_be(&self) -> bool {
        let best_effort = |flows: &[&FlowLabel]| flows.len() == 4 && flows.iter().all(|flow| flow.class == BE);
        best_effort(&self.up) && best_effort(&self.down)
    }

    fn rrul(&self) -> Choice {
        let mut series = Vec::new();
        for direction in [Direction::Up, Direction::Down] {
            let flows = self.direction(direction).iter();
            series.extend(flows.map(|flow| (stream_name(direction, &flow.class.to_string()), stream(direction, flow))));
        }
        for class in [ServiceClass::EF, ServiceClass::BK, BE] {
            let flow = self.udp.iter().find(|flow| flow.class == class);
            series.extend(flow.map(|flow| (format!("Ping (ms) UDP {class}"), Part::Ping(flow.id))));
        }
        series.extend(self.icmp());
        Choice { test: "rrul", series: computed(series), parameters: BTreeMap::new(), note: String::new() }
    }

    fn rrul_be(&self) -> Choice {
        let mut series = Vec::new();
        for direction in [Direction::Up, Direction::Down] {
            let names = ["BE", "BE2", "BE3", "BE4"].into_iter().zip(self.direction(direction));
            series.extend(names.map(|(name, flow)| (stream_name(direction, name), stream(direction, flow))));
        }
        let probes = (1..=3).zip(self.udp.iter().filter(|flow| flow.class == BE));
        series.extend(probes.map(|(number, flow)| (format!("Ping (ms) UDP BE{number}"), Part::Ping(flow.id))));
        series.extend(self.icmp());
        Choice { test: "rrul_be", series: computed(series), parameters: BTreeMap::new(), note: String::new() }
    }

    fn one_way(&self, direction: Direction) -> Choice {
        let (test, parameter) = match direction {
            Direction::Up => ("tcp_nup", "upload_streams"),
            Direction::Down => ("tcp_ndown", "download_streams"),
        };
        let flows = self.direction(direction);
        let numbered = (1..).zip(flows);
        let mut series: Vec<_> = numbered
            .map(|(number, flow): (u32, _)| (labelled(direction, &number.to_string()), stream(direction, flow)))
            .collect();
        series.extend(self.icmp());
        series.push((stream_name(direction, "avg"), Part::Mean(prefix(direction))));
        series.push((stream_name(direction, "sum"), Part::Sum(Some(direction))));
        let parameters = BTreeMap::from([(parameter.to_owned(), flows.len().to_string())]);
        Choice { test, series, parameters, note: String::new() }
    }

    fn ping(&self) -> Choice {
        let mut series: Vec<_> = self.icmp().into_iter().collect();
        // The test has one of each.
        series.extend(self.udp.first().map(|flow| ("Ping (ms) UDP".to_owned(), Part::Ping(flow.id))));
        Choice { test: "ping", series, parameters: BTreeMap::new(), note: String::new() }
    }

    /// A label each for class, family and number, as often as the direction with more streams has it.
    fn variable(&self) -> Choice {
        let families: Vec<AddressFamily> =
            AddressFamily::ALL.into_iter().filter(|family| self.all().any(|flow| flow.family == *family)).collect();
        let both = families.len() > 1;
        let mut series = Vec::new();
        let mut labels: Vec<(String, ServiceClass)> = Vec::new();
        let mut add = |flows: &[&FlowLabel], of: &dyn Fn(&str, &FlowLabel) -> (String, Part), open: bool| {
            let mut count: BTreeMap<String, u32> = BTreeMap::new();
            for flow in flows {
                let family = if flow.family == AddressFamily::Ipv4 { "v4" } else { "v6" };
                let plain = if both { format!("{} {family}", flow.class) } else { flow.class.to_string() };
                let number = count.entry(plain.clone()).or_default();
                *number += 1;
                let label = if *number == 1 { plain } else { format!("{plain} {number}") };
                let known = labels.iter().any(|(other, _)| *other == label);
                if !known && open {
                    labels.push((label.clone(), flow.class));
                }
                if known || open {
                    series.push(of(&label, flow));
                }
            }
        };
        add(&self.up, &|label, flow| (labelled(Direction::Up, label), stream(Direction::Up, flow)), true);
        add(&self.down, &|label, flow| (labelled(Direction::Down, label), stream(Direction::Down, flow)), true);
        // A label stands for a stream each way and a ping: of classes without a stream Flent has no place for a ping.
        add(&self.udp, &|label, flow| (format!("Ping (ms)::UDP {label}"), Part::Ping(flow.id)), false);
        series.extend(self.icmp.first().map(|flow| ("Ping (ms)::ICMP".to_owned(), Part::Ping(flow.id))));
        let join = |of: &dyn Fn(&(String, ServiceClass)) -> String| labels.iter().map(of).collect::<Vec<_>>().join(",");
        let parameters = BTreeMap::from([
            ("bidir_streams".to_owned(), labels.len().to_string()),
            ("labels".to_owned(), join(&|(label, _)| label.clone())),
            // A traffic-class byte is what Flent calls a marking, where it has no name for it.
            ("markings".to_owned(), join(&|(_, class)| format!("0x{:02x}", class.octet()))),
        ]);
        Choice { test: "rrul_var", series: computed(series), parameters, note: String::new() }
    }

    fn all(&self) -> impl Iterator<Item = &&'a FlowLabel> {
        self.up.iter().chain(&self.down).chain(&self.udp).chain(&self.icmp)
    }

    fn icmp(&self) -> Option<(String, Part)> {
        self.icmp.first().map(|flow| ("Ping (ms) ICMP".to_owned(), Part::Ping(flow.id)))
    }

    fn note(&self, series: &[(String, Part)]) -> String {
        let told = |flow: &FlowLabel| {
            let is = |part: &Part| matches!(part, Part::Stream(_, id) | Part::Ping(id) if *id == flow.id);
            series.iter().any(|(_, part)| is(part))
        };
        let left: Vec<&str> = self.all().filter(|flow| !told(flow)).map(|flow| flow.name.as_str()).collect();
        if left.is_empty() {
            return "Converted from a recording of rrul.".to_owned();
        }
        format!("Converted from a recording of rrul. Flent's test has no place for: {}.", left.join(", "))
    }
}

fn stream(direction: Direction, flow: &FlowLabel) -> Part {
    Part::Stream(direction, flow.id)
}

fn prefix(direction: Direction) -> &'static str {
    direction.select("TCP upload", "TCP download")
}

fn stream_name(direction: Direction, name: &str) -> String {
    format!("{} {name}", prefix(direction))
}

fn labelled(direction: Direction, label: &str) -> String {
    format!("{}::{label}", prefix(direction))
}

/// With what the tests of the rrul family compute.
fn computed(mut series: Vec<(String, Part)>) -> Vec<(String, Part)> {
    for direction in [Direction::Up, Direction::Down] {
        series.push((stream_name(direction, "avg"), Part::Mean(prefix(direction))));
        series.push((stream_name(direction, "sum"), Part::Sum(Some(direction))));
    }
    series.push(("TCP totals".to_owned(), Part::Sum(None)));
    series.push(("Ping (ms) avg".to_owned(), Part::Mean("Ping (ms)")));
    series
}
