//! What the emulator reports about a kernel that it runs.

use crate::listing::SourceLine;

/// A kind of finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FindingKind {
    /// An access outside of every buffer, or past the LDS of the launch. A load reads zero, a store is dropped.
    OutOfBounds,
    /// A read of memory that nothing has written.
    Uninitialized,
    /// An address that is not a multiple of the access's size, up to four bytes.
    Misaligned,
    /// Two wavefronts access the same byte of LDS without a barrier between them, and one of them writes.
    LdsRace,
    /// Wavefronts of a workgroup wait at a barrier that another one does not reach.
    DivergentBarrier,
    /// A register is used while a load that fills it is in flight, without the `s_waitcnt` for it.
    MissingWait,
}

impl FindingKind {
    /// The name in reports: `out-of-bounds`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::OutOfBounds => "out-of-bounds",
            Self::Uninitialized => "uninitialized",
            Self::Misaligned => "misaligned",
            Self::LdsRace => "lds-race",
            Self::DivergentBarrier => "divergent-barrier",
            Self::MissingWait => "missing-wait",
        }
    }
}

/// A problem of a kernel, at the first place where it occurred.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The kind.
    pub kind: FindingKind,
    /// Line of the listing.
    pub line: u32,
    /// Line of the source, if the listing has it.
    pub source: Option<SourceLine>,
    /// The workgroup.
    pub workgroup: [u32; 3],
    /// The wavefront in its workgroup.
    pub wavefront: u32,
    /// The lanes, one bit for each.
    pub lanes: u64,
    /// What happened.
    pub message: String,
    /// Number of instructions executed with this finding at this line.
    pub occurrences: u64,
}

/// Findings of a run: one for each kind and line.
#[derive(Clone, Default)]
pub(crate) struct Findings {
    found: Vec<Finding>,
    index: std::collections::HashMap<(FindingKindKey, u32), usize>,
    steps: Vec<usize>,
}

type FindingKindKey = &'static str;

impl Findings {
    #[allow(clippy::too_many_arguments, reason = "the fields of a finding")]
    pub(crate) fn add(
        &mut self,
        kind: FindingKind,
        line: u32,
        step: usize,
        workgroup: [u32; 3],
        wavefront: u32,
        lanes: u64,
        message: impl FnOnce() -> String,
    ) {
        let next = self.found.len();
        let at = *self.index.entry((kind.name(), line)).or_insert(next);
        if let Some(found) = self.found.get_mut(at) {
            found.occurrences += 1;
            return;
        }
        self.steps.push(step);
        self.found.push(Finding {
            kind,
            line,
            source: None,
            workgroup,
            wavefront,
            lanes,
            message: message(),
            occurrences: 1,
        });
    }

    /// Adds the findings of a later part of the run.
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn append(&mut self, later: Self) {
        for (finding, step) in later.found.into_iter().zip(later.steps) {
            let next = self.found.len();
            let key = (finding.kind.name(), finding.line);
            let at = *self.index.entry(key).or_insert(next);
            if let Some(known) = self.found.get_mut(at) {
                known.occurrences += finding.occurrences;
            } else {
                self.found.push(finding);
                self.steps.push(step);
            }
        }
    }

    /// The findings in the order of the listing, with source lines.
    pub(crate) fn finish(self, source: impl Fn(usize) -> Option<SourceLine>) -> Vec<Finding> {
        let mut found = self.found;
        for (finding, step) in found.iter_mut().zip(self.steps) {
            finding.source = source(step);
        }
        found.sort_by_key(|finding| (finding.line, finding.kind));
        found
    }
}

/// The lanes of a mask as text: `0 to 3, 63`.
#[must_use]
pub fn lane_ranges(mask: u64) -> String {
    let mut text = String::new();
    let mut lane = 0;
    while lane < 64 {
        let count = (mask >> lane).trailing_ones();
        if count > 0 {
            if !text.is_empty() {
                text.push_str(", ");
            }
            text.push_str(&lane.to_string());
        }
        if count > 1 {
            text.push_str(" to ");
            text.push_str(&(lane + count - 1).to_string());
        }
        lane += count + 1;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::lane_ranges;

    #[test]
    fn lanes_are_written_as_ranges() {
        assert_eq!(lane_ranges(0), "");
        assert_eq!(lane_ranges(1), "0");
        assert_eq!(lane_ranges(0x8000_0000_0000_000f), "0 to 3, 63");
        assert_eq!(lane_ranges(u64::MAX), "0 to 63");
        assert_eq!(lane_ranges(u64::MAX << 32), "32 to 63");
    }
}
