//! The line was idle in the idle phase.

use rrul_model::flow::Direction;
use rrul_model::flow_kind::FlowKind;
use rrul_model::observation::{InterfaceCount, ObservationPoint};
use rrul_model::phase::Phase;
use rrul_model::units::{BitRate, Delay};

use crate::statistics::percentile::percentile;
use crate::validity::{Reason, ReasonWord, Severity};
use crate::validity_rule::{JudgedRun, ValidityRule};

/// Spread of the idle round-trip delay, 95th percentile less 5th, that an idle wired line does not have.
const SPREAD: Delay = Delay(10_000_000);
/// Part of a direction's loaded rate that others may take while it is idle.
const OTHERS: f64 = 0.01;
/// Other traffic below this may be address resolution, DNS or keepalives.
const LEAST_OTHERS: f64 = 100_000.0;

pub(crate) const RULE: ValidityRule = ValidityRule { words: &[BASELINE_BUSY], judge };

const BASELINE_BUSY: ReasonWord = ReasonWord {
    code: "baseline_busy",
    severities: &[Severity::Doubt],
    when: "the line was not idle in the idle phase: the round-trip delay of its probes spread over more than 10 ms (95th percentile \
        less 5th, median over the flows), or the client's interfaces carried over 1 % of the loaded rate (and 100 kbit/s) of other traffic",
};

fn judge(evidence: &JudgedRun<'_>) -> Vec<Reason> {
    // Without load the baseline cannot be compared.
    if evidence.recording.phase(Phase::Load).is_none() {
        return Vec::new();
    }
    let others = Direction::ALL.into_iter().find_map(|direction| others(evidence, direction));
    let why = others.or_else(|| spread(evidence));
    let reason = |why| {
        let text = format!(
            "The line was not idle before the load: {why}. Added latency may read too low: stop other uses of the line, or \
             test over a cable instead of Wi-Fi."
        );
        BASELINE_BUSY.reason(Severity::Doubt, text)
    };
    why.map(reason).into_iter().collect()
}

/// Traffic of others in the idle phase.
fn others(evidence: &JudgedRun<'_>, direction: Direction) -> Option<String> {
    let JudgedRun { recording, analysis, .. } = *evidence;
    let idle = recording.phase(Phase::Idle)?;
    let state = &recording.host(ObservationPoint::Client).state;
    let mut passed = 0.0;
    for index in state.routed_interfaces() {
        let header = u64::from(state.interface(index)?.header?);
        let tables = recording.tables_of(ObservationPoint::Client);
        let rows = tables.flat_map(|tables| tables.interface_count.rows());
        let mut rows: Vec<InterfaceCount> =
            rows.filter(|row| row.interface == index && idle.contains(row.at)).collect();
        rows.sort_by_key(|row| row.at);
        let (first, last) = (rows.first()?, rows.last()?);
        let (octets, packets) = match direction {
            Direction::Down => (
                last.received_octets.checked_sub(first.received_octets)?,
                last.received_packets.checked_sub(first.received_packets)?,
            ),
            Direction::Up => {
                (last.sent_octets.checked_sub(first.sent_octets)?, last.sent_packets.checked_sub(first.sent_packets)?)
            }
        };
        // From one reading to another, as the readings around them hold the traffic of other phases.
        let over = last.at.since(first.at);
        if over < Delay(1_000_000_000) {
            return None;
        }
        let network = octets.saturating_sub(header.saturating_mul(packets));
        passed += network as f64 * 8e9 / over.0 as f64;
    }
    // What left for the line, though it may have been lost there.
    let account = &analysis.link_octets.idle.as_ref()?.direction(direction).all;
    let own = match direction {
        Direction::Down => account.carried_octets,
        Direction::Up => account.offered_octets.max(account.carried_octets),
    };
    let own = own as f64 * 8.0 / idle.length().as_secs_f64();
    let line = analysis.link_octets.load.as_ref()?.direction(direction).all.carried_bps as f64;
    let beside = passed - own;
    let limit = (line * OTHERS).max(LEAST_OTHERS);
    (line > 0.0 && beside > limit).then(|| {
        let moved = direction.select("sent", "received");
        let [beside, limit] = [beside, limit].map(|rate| BitRate(rate as u64));
        format!("the client {moved} {beside} of other traffic (limit {limit})")
    })
}

/// Delay that others cause in the idle phase.
fn spread(evidence: &JudgedRun<'_>) -> Option<String> {
    let idle = evidence.recording.phase(Phase::Idle)?;
    let flows = evidence.analysis.round_trip_delay.flows.iter();
    let spread = |points: &[crate::series::DelayPoint]| {
        let inside = points.iter().filter(|point| idle.contains(point.at));
        let mut delays: Vec<Delay> = inside.filter_map(|point| point.delay).collect();
        delays.sort_unstable();
        Some(percentile(&delays, 0, 950)? - percentile(&delays, 0, 50)?)
    };
    // Two slow packets of a host are no use of the line: what others do, most flows feel.
    let mut spreads: Vec<Delay> =
        flows.filter(|flow| flow.flow.kind() == FlowKind::UdpProbe).filter_map(|flow| spread(&flow.series)).collect();
    spreads.sort_unstable();
    let usual = spreads.get(spreads.len() / 2).copied().filter(|usual| *usual > SPREAD)?;
    Some(format!("round-trip delay spread over {usual} (limit {SPREAD})"))
}
