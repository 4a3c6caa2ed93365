//! Memory: buffers with bounds, the LDS of a workgroup, and the instructions that access them.

pub(crate) mod atomic;
pub(crate) mod buffers;
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
