//! Observations: the raw facts that each end of a flow writes down while packets fly.
//!
//! Facts only. No delay, no loss, no rate is recorded: stamps, counters and events are, and every number is computed
//! from them later. Times are [`TestTime`](crate::time::TestTime) of the host that observed ([`ObservationPoint`]), except where a field says
//! that it carries the other host's stamp.

mod columns;
mod flow_event;
mod host;
mod name_lookup;
mod path;
mod probe;
mod stream;
mod tables_json;
mod transfer;
mod web;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::flow::{Direction, FlowId};
pub(crate) use columns::Table;
pub use columns::{Cell, Column};
pub use flow_event::{FlowEvent, FlowEventKind};
pub use host::{
    CgroupThrottle, CgroupThrottleTable, ClockSample, ClockSampleTable, CpuTime, CpuTimeTable, InterfaceCount,
    InterfaceCountTable, OtherSessions, OtherSessionsTable, ProcessTime, ProcessTimeTable, QueueCount, QueueCountTable,
    SocketDrops, SocketDropsTable, SoftnetCount, SoftnetCountTable,
};
pub use name_lookup::{NameLookup, NameLookupTable};
pub use path::{
    FULL_HOP_LIMIT, OWN_LINK, PathAnswer, PathAnswerTable, PathProbe, PathProbeTable, PathQuote, PathQuoteTable,
};
pub use probe::{
    EchoReceived, EchoReceivedTable, GreetingSent, GreetingSentTable, IcmpMessage, IcmpMessageTable, PacketMarked,
    PacketMarkedTable, PacketReceived, PacketReceivedTable, ProbeFate, ProbeReceived, ProbeReceivedTable, ProbeSent,
    ProbeSentTable, ProbeStamped, ProbeStampedTable, ProbesSkipped, ProbesSkippedTable, ReflectorWindow,
    ReflectorWindowTable, ReplyStamped, ReplyStampedTable,
};
pub use stream::{
    Connection, ConnectionTable, OctetsReceived, OctetsReceivedTable, TcpInfo, TcpInfoTable, Transaction,
    TransactionStamped, TransactionStampedTable, TransactionTable,
};
pub use transfer::{ConnectionTotals, ConnectionTotalsTable, Transfer, TransferTable};
pub use web::{
    BrowserTime, BrowserTimeTable, BrowserTiming, BrowserTimingTable, PageLoad, PageLoadTable, WebObject,
    WebObjectTable,
};

/// Who saw it (RFC 7011: observation point).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum ObservationPoint {
    /// The host that runs `rrul run`.
    Client,
    /// The host that runs `rrul server`.
    Server,
}

impl ObservationPoint {
    /// The name used in data and in sentences.
    pub fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
        }
    }
}

/// Returns the host that sends a flow of this direction.
pub fn sender(direction: Direction) -> ObservationPoint {
    direction.select(ObservationPoint::Client, ObservationPoint::Server)
}

/// Returns the host that receives a flow of this direction.
pub fn receiver(direction: Direction) -> ObservationPoint {
    sender(direction.opposite())
}

/// Which flow a row is about.
trait About {
    fn about(&self) -> Option<FlowId> {
        None
    }
}

macro_rules! about_flows {
    ($($row:ident),*) => {$(
        impl About for $row {
            fn about(&self) -> Option<FlowId> {
                Some(self.flow)
            }
        }
    )*};
}
about_flows!(
    OctetsReceived,
    TcpInfo,
    ProbeSent,
    ProbesSkipped,
    ProbeStamped,
    ProbeReceived,
    ReplyStamped,
    EchoReceived,
    PacketReceived,
    GreetingSent,
    ReflectorWindow,
    IcmpMessage,
    PacketMarked,
    PathProbe,
    PathAnswer,
    PathQuote,
    Transaction,
    TransactionStamped,
    Connection,
    NameLookup,
    Transfer,
    ConnectionTotals,
    PageLoad,
    WebObject,
    BrowserTiming,
    BrowserTime,
    SocketDrops
);
impl About for CpuTime {}
impl About for ProcessTime {}
impl About for ClockSample {}
impl About for SoftnetCount {}
impl About for CgroupThrottle {}
impl About for OtherSessions {}
impl About for InterfaceCount {}
impl About for QueueCount {}

macro_rules! observations {
    ($($(#[$about:meta])* $name:ident: $row:ident in $table:ident,)*) => {
        /// One observation, small and `Copy`, as a measuring thread hands it on.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Observation {
            $($(#[$about])* $row($row),)*
        }

        impl Observation {
            /// The flow that it is about; `None` for what concerns the whole host.
            pub fn flow(&self) -> Option<FlowId> {
                match self {
                    $(Self::$row(row) => row.about(),)*
                }
            }
        }

        $(impl From<$row> for Observation {
            fn from(row: $row) -> Self {
                Self::$row(row)
            }
        })*

        /// All tables of one stretch of time at one observation point. Empty tables are not written.
        #[derive(Debug, Clone, PartialEq, Eq, Default)]
        pub struct Tables {
            $($(#[$about])* pub $name: $table,)*
        }

        impl Tables {
            /// Appends one observation to its table.
            pub fn push(&mut self, observation: Observation) {
                match observation {
                    $(Observation::$row(row) => self.$name.push(row),)*
                }
            }

            /// Every table with its name.
            fn named(&self) -> [(&'static str, &dyn Table); [$(stringify!($name)),*].len()] {
                [$((stringify!($name), &self.$name)),*]
            }

            pub(crate) fn table_mut(&mut self, name: &str) -> Option<(&'static str, &mut dyn Table)> {
                match name {
                    $(stringify!($name) => Some((stringify!($name), &mut self.$name)),)*
                    _ => None,
                }
            }

            /// Number of observations.
            pub fn len(&self) -> usize {
                0 $(+ self.$name.len())*
            }

            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// Number of values in all columns, also of those that end a row too early.
            pub fn values(&self) -> usize {
                self.named().iter().flat_map(|(_, table)| table.columns()).map(Column::len).sum()
            }
        }
    };
}

observations! {
    octets_received: OctetsReceived in OctetsReceivedTable,
    /// Kernel TCP state.
    tcp_info: TcpInfo in TcpInfoTable,
    /// Test packets sent.
    probe_sent: ProbeSent in ProbeSentTable,
    /// Test packets left out.
    probes_skipped: ProbesSkipped in ProbesSkippedTable,
    /// Their kernel transmit stamps.
    probe_stamped: ProbeStamped in ProbeStampedTable,
    /// Replies to test packets.
    probe_received: ProbeReceived in ProbeReceivedTable,
    /// The reflector's kernel transmit stamps.
    reply_stamped: ReplyStamped in ReplyStampedTable,
    /// ICMP echo replies.
    echo_received: EchoReceived in EchoReceivedTable,
    /// Packets at their destination.
    packet_received: PacketReceived in PacketReceivedTable,
    /// Greetings of flows whose packets are not answered.
    greeting_sent: GreetingSent in GreetingSentTable,
    /// What replies said of the packets seen by the reflector.
    reflector_window: ReflectorWindow in ReflectorWindowTable,
    /// ICMP messages about packets.
    icmp_message: IcmpMessage in IcmpMessageTable,
    packet_marked: PacketMarked in PacketMarkedTable,
    /// Packets of path traces.
    path_probe: PathProbe in PathProbeTable,
    /// What was answered to them.
    path_answer: PathAnswer in PathAnswerTable,
    /// How they looked to the host that answered.
    path_quote: PathQuote in PathQuoteTable,
    /// Request-response transactions.
    transaction: Transaction in TransactionTable,
    /// Their stamps at both ends.
    transaction_stamped: TransactionStamped in TransactionStampedTable,
    /// New connections.
    connection: Connection in ConnectionTable,
    /// DNS lookups.
    name_lookup: NameLookup in NameLookupTable,
    /// Short transfers.
    transfer: Transfer in TransferTable,
    /// Totals of connections that come and go.
    connection_totals: ConnectionTotals in ConnectionTotalsTable,
    /// Loads of pages.
    page_load: PageLoad in PageLoadTable,
    web_object: WebObject in WebObjectTable,
    /// What a browser says of them.
    browser_timing: BrowserTiming in BrowserTimingTable,
    /// Processor time of browsers.
    browser_time: BrowserTime in BrowserTimeTable,
    /// Processor time per core.
    cpu_time: CpuTime in CpuTimeTable,
    /// Processor time of this program.
    process_time: ProcessTime in ProcessTimeTable,
    /// Wall clock samples.
    clock_sample: ClockSample in ClockSampleTable,
    /// Packets taken from devices by each core.
    softnet_count: SoftnetCount in SoftnetCountTable,
    /// Throttling of this program's control group.
    cgroup_throttle: CgroupThrottle in CgroupThrottleTable,
    /// Traffic of other sessions at the server.
    other_sessions: OtherSessions in OtherSessionsTable,
    /// Packets dropped at sockets of the test.
    socket_drops: SocketDrops in SocketDropsTable,
    /// Counters of network interfaces.
    interface_count: InterfaceCount in InterfaceCountTable,
    /// Root queue disciplines.
    queue_count: QueueCount in QueueCountTable,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::TestTime;
    use crate::units::ByteCount;

    #[test]
    fn observations_go_into_their_table_and_come_back() {
        let mut tables = Tables::default();
        let row = OctetsReceived { flow: FlowId(3), at: TestTime(-5), octets: ByteCount(1500) };
        tables.push(row.into());
        let text = serde_json::to_string(&tables).unwrap();
        assert_eq!(text, r#"{"octets_received":{"flow":[3],"at":[-5],"octets":[1500]}}"#);
        let back: Tables = serde_json::from_str(&text).unwrap();
        assert_eq!(back.octets_received.rows().collect::<Vec<_>>(), [row]);
        assert_eq!(back.len(), 1);
    }

    #[test]
    fn a_short_column_ends_the_rows_there() {
        let text = r#"{"octets_received":{"flow":[3,0],"at":[1,1],"octets":[7]}}"#;
        let tables: Tables = serde_json::from_str(text).unwrap();
        assert_eq!(tables.octets_received.rows().count(), 1);
    }
}
