//! The memory accesses of one instruction, lane by lane.

use std::collections::HashSet;

/// Bytes of a segment, the unit of memory transactions.
const SEGMENT: u64 = 64;

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
    segments: HashSet<u64>,
    /// The segment that was added last: neighbouring lanes often access the same one.
    newest: Option<u64>,
}

impl Trace {
    pub(crate) fn clear(&mut self) {
        self.lanes.clear();
        (self.in_lds, self.conflicts) = (false, 0);
    }

    pub(crate) fn global(&mut self, lane: usize, address: u64, bytes: usize) {
        let last = address.wrapping_add(bytes as u64 - 1);
        for segment in [address / SEGMENT, last / SEGMENT] {
            if self.newest != Some(segment) {
                self.segments.insert(segment);
                self.newest = Some(segment);
            }
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
        self.segments.len() as u64 * SEGMENT
    }
}
