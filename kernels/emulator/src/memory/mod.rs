//! Memory: buffers with bounds, the LDS of a workgroup, and the instructions that access them.

pub(crate) mod atomic;
pub(crate) mod buffers;
mod distinct;
pub(crate) mod lds;
pub(crate) mod lds_access;
pub(crate) mod scalar_load;
pub(crate) mod vector_access;

use crate::count::Counts;
use crate::finding::Findings;
use crate::machine::wave::Wave;
use crate::trace::Trace;

/// What an access needs besides its wavefront.
pub(crate) struct Environment<'a> {
    pub(crate) memory: &'a mut buffers::Memory,
    pub(crate) lds: &'a mut lds::Lds,
    pub(crate) findings: &'a mut Findings,
    pub(crate) counts: &'a mut Counts,
    pub(crate) trace: Option<&'a mut Trace>,
    pub(crate) workgroup: [u32; 3],
}

/// The lanes of a mask.
pub(crate) fn lanes(mask: u64) -> impl Iterator<Item = usize> {
    (0..64).filter(move |lane| mask >> lane & 1 == 1)
}

/// Where an access happens, for findings.
pub(crate) struct Place {
    pub(crate) line: u32,
    pub(crate) step: usize,
}

impl Environment<'_> {
    /// Writes bytes of a lane to a buffer. False if they are out of bounds.
    pub(crate) fn store(
        &mut self,
        address: u64,
        bytes: &[u8],
        place: &Place,
        wave: &Wave,
        lane: usize,
    ) -> bool {
        let is_written = self.memory.write(address, bytes);
        if is_written {
            let workgroup = self.workgroup;
            self.memory
                .stored(address, bytes.len(), || buffers::Writer {
                    workgroup,
                    wavefront: wave.number,
                    lane: lane as u32,
                    line: place.line,
                });
        }
        is_written
    }

    pub(crate) fn report(
        &mut self,
        kind: crate::FindingKind,
        place: &Place,
        wave: &Wave,
        lanes: u64,
        message: impl FnOnce() -> String,
    ) {
        self.findings.add(
            kind,
            place.line,
            place.step,
            self.workgroup,
            wave.number,
            lanes,
            message,
        );
    }
}
