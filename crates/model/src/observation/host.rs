//! What is observed of a host: its processor, this program's share of it, its wall clock.

use serde::{Deserialize, Serialize};

use super::columns::{Column, table};
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
        /// Kernel.
        system: u64,
        /// Idle.
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
