//! The memory accesses of one instruction, lane by lane.

use std::collections::HashMap;

/// Bytes of a segment, the unit of memory transactions.
const SEGMENT: u64 = 64;

/// Segments of a group, of which each has a bit.
const GROUP: u64 = 64;

/// The access of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneAccess {
    /// The lane.
    pub lane: usize,
    /// Address of the first byte: in LDS if [`Trace::in_lds`], otherwise in global memory.
    pub address: u64,
    /// Bytes.
    pub bytes: usize,
}

/// The accesses of the last instruction, and the global memory that was accessed so far.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// The accesses of the last instruction. An instruction with two addresses for each lane has two entries for it.
    pub lanes: Vec<LaneAccess>,
    /// Whether the last instruction accessed LDS.
    pub in_lds: bool,
    /// Cycles that bank conflicts add to the last instruction.
    pub conflicts: u64,
    /// The segments that were accessed, a bit for each of a group.
    segments: HashMap<u64, u64>,
    /// The group of the last access, whose bits are not among the others: neighbouring lanes often access the same one.
    newest: (u64, u64),
}

impl Trace {
    pub(crate) fn clear(&mut self) {
        self.lanes.clear();
        (self.in_lds, self.conflicts) = (false, 0);
    }

    pub(crate) fn global(&mut self, lane: usize, address: u64, bytes: usize) {
        let last = address.wrapping_add(bytes as u64 - 1);
        for segment in [address / SEGMENT, last / SEGMENT] {
            let (group, bit) = (segment / GROUP, 1 << (segment % GROUP));
            if self.newest.0 != group {
                *self.segments.entry(self.newest.0).or_default() |= self.newest.1;
                self.newest = (group, 0);
            }
            self.newest.1 |= bit;
        }
        self.lanes.push(LaneAccess {
            lane,
            address,
            bytes,
        });
    }

    pub(crate) fn lds(&mut self, lane: usize, address: u32, bytes: usize) {
        self.in_lds = true;
        self.lanes.push(LaneAccess {
            lane,
            address: u64::from(address),
            bytes,
        });
    }

    /// Bytes of the different 64-byte segments of global memory that vector instructions accessed. Each of them crosses the
    /// bus of the memory at least once, unless it is in a cache before the launch.
    #[must_use]
    pub fn distinct_bytes(&self) -> u64 {
        let (newest, bits) = self.newest;
        let before = self.segments.get(&newest).copied().unwrap_or(0);
        let others: u64 = self
            .segments
            .values()
            .map(|bits| u64::from(bits.count_ones()))
            .sum();
        (others + u64::from((bits & !before).count_ones())) * SEGMENT
    }
}
