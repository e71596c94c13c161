//! What is observed of a host: processor, this program's share of it, wall clock, network stack, interfaces, queues.

use super::columns::table;
use crate::flow::FlowId;
use crate::time::TestTime;
use crate::units::Delay;

table! {
    /// Time that one processor core has spent, in `USER_HZ` ticks since boot (proc(5), /proc/stat).
    CpuTime in CpuTimeTable {
        /// When it was read.
        at: TestTime,
        /// Core number.
        core: u16,
        /// User code.
        user: u64,
        /// User code at low priority.
        nice: u64,
        /// Kernel code.
        system: u64,
        idle: u64,
        /// Idle while waiting for a disk.
        iowait: u64,
        /// Hard interrupts.
        irq: u64,
        /// Soft interrupts, where the network stack works.
        softirq: u64,
        /// Taken by the hypervisor.
        steal: u64,
    }
}

table! {
    /// Processor time of this program, all threads, cumulative.
    ProcessTime in ProcessTimeTable {
        /// When it was read.
        at: TestTime,
        /// In user code.
        user: Delay,
        /// In the kernel.
        system: Delay,
    }
}

table! {
    /// The wall clock against the test's clock, so that steps of the wall clock can be seen.
    ClockSample in ClockSampleTable {
        /// The test's clock.
        at: TestTime,
        /// `CLOCK_REALTIME` less its value at T0, nanoseconds.
        realtime: i64,
    }
}

table! {
    /// The kernel's counters of packets taken from devices by one core, since boot (/proc/net/softnet_stat).
    SoftnetCount in SoftnetCountTable {
        /// When it was read.
        at: TestTime,
        /// Core number.
        core: u16,
        /// Packets processed.
        processed: u32,
        /// Packets dropped because the core's backlog was full.
        dropped: u32,
        /// How often the core ran out of its time for packets with more to do.
        squeezed: u32,
    }
}

table! {
    /// Throttling of this program's control group, cumulative (cgroup v2, cpu.stat).
    CgroupThrottle in CgroupThrottleTable {
        /// When it was read.
        at: TestTime,
        /// Enforcement periods that have passed.
        periods: u64,
        /// Of those, periods in which the group was throttled.
        throttled_periods: u64,
        /// For how long, in all.
        throttled: Delay,
    }
}

table! {
    /// Traffic of the server's other sessions, cumulative since T0, about once a second.
    OtherSessions in OtherSessionsTable {
        /// When it was read.
        at: TestTime,
        /// Bytes, both directions: payload of TCP, UDP datagrams with their IP headers.
        octets: u64,
        /// Segments and datagrams.
        packets: u64,
    }
}

table! {
    /// Packets that the kernel dropped at a socket of the test because its buffer was full, cumulative.
    SocketDrops in SocketDropsTable {
        /// The flow; [`FlowId::CONTROL`] for a socket that serves many.
        flow: FlowId,
        /// When it was read.
        at: TestTime,
        /// Packets dropped so far.
        dropped: u32,
    }
}

table! {
    /// Counters of one network interface, cumulative (rtnetlink, /sys/class/net).
    InterfaceCount in InterfaceCountTable {
        /// When it was read.
        at: TestTime,
        /// Its index at this host; the environment names it.
        interface: u32,
        received_octets: u64,
        received_packets: u64,
        /// Packets dropped on receiving.
        received_dropped: u64,
        sent_octets: u64,
        sent_packets: u64,
        /// Packets dropped on sending.
        sent_dropped: u64,
    }
}

table! {
    /// The root queue discipline of one interface: a queue within the host is part of the path.
    QueueCount in QueueCountTable {
        /// When it was read.
        at: TestTime,
        /// Its interface's index at this host.
        interface: u32,
        /// Bytes waiting.
        backlog_octets: u32,
        /// Packets waiting.
        backlog_packets: u32,
        /// Packets dropped, cumulative.
        dropped: u32,
        /// Packets requeued because the device was busy, cumulative.
        requeued: u32,
    }
}
