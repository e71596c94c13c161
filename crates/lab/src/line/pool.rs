//! Where the packets of a pipe lie while they are in it.

use std::ops::{Index, IndexMut};

use crate::link::directed_path::Course;
use crate::truth::record::Record;

/// A packet.
#[derive(Debug)]
pub(crate) struct Slot {
    pub(crate) octets: Vec<u8>,
    pub(crate) record: Record,
    /// Whether the impairments may hit it.
    pub(crate) impaired: bool,
    pub(crate) course: Course,
}

/// All of them. It grows only while more packets are in the pipe than ever before.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    slots: Vec<Slot>,
    vacant: Vec<u32>,
}

impl Pool {
    /// Takes a packet in and returns its place.
    pub(crate) fn take_in(&mut self, octets: &[u8], record: Record, impaired: bool, course: Course) -> u32 {
        let place = self.vacant.pop().unwrap_or_else(|| {
            self.slots.push(Slot { octets: Vec::with_capacity(crate::queue::MTU), record, impaired, course });
            self.slots.len() as u32 - 1
        });
        let slot = &mut self[place];
        slot.octets.clear();
        slot.octets.extend_from_slice(octets);
        slot.record = record;
        slot.impaired = impaired;
        slot.course = course;
        place
    }

    /// Takes in a copy of what lies at this place, which no impairment hits.
    pub(crate) fn duplicate_of(&mut self, original: u32) -> u32 {
        let slot = &mut self[original];
        let (octets, mut record, course) = (std::mem::take(&mut slot.octets), slot.record, slot.course);
        record.duplicate = true;
        let copy = self.take_in(&octets, record, false, course);
        self[original].octets = octets;
        copy
    }

    /// The place may be taken by another packet.
    pub(crate) fn give_back(&mut self, place: u32) {
        self.vacant.push(place);
    }

    /// Their number, taken or not.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }
}

impl Index<u32> for Pool {
    type Output = Slot;

    fn index(&self, place: u32) -> &Slot {
        &self.slots[place as usize]
    }
}

impl IndexMut<u32> for Pool {
    fn index_mut(&mut self, place: u32) -> &mut Slot {
        &mut self.slots[place as usize]
    }
}
