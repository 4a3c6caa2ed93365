//! Counts of what a run executed. They are not times: from them follow lower bounds of a time only.

/// A class of instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Scalar arithmetic.
    Scalar,
    /// Scalar loads.
    ScalarMemory,
    /// Vector arithmetic.
    Vector,
    /// Matrix products.
    Matrix,
    /// Global and buffer memory.
    VectorMemory,
    /// LDS, including exchanges between lanes.
    Lds,
    /// Branches.
    Branch,
    /// Waits, barriers, no-ops and the end.
    Control,
}

impl Class {
    /// All classes, in the order of the reports.
    pub const ALL: [Self; 8] = [
        Self::Scalar,
        Self::ScalarMemory,
        Self::Vector,
        Self::Matrix,
        Self::VectorMemory,
        Self::Lds,
        Self::Branch,
        Self::Control,
    ];

    /// The name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
            Self::ScalarMemory => "scalar-memory",
            Self::Vector => "vector",
            Self::Matrix => "matrix",
            Self::VectorMemory => "vector-memory",
            Self::Lds => "lds",
            Self::Branch => "branch",
            Self::Control => "control",
        }
    }
}

/// Counts of one memory instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// Line of the listing.
    pub line: u32,
    /// Times the instruction was executed with an active lane.
    pub executions: u64,
    /// Bytes that its lanes accessed.
    pub bytes: u64,
    /// Different 64-byte segments of an execution, summed.
    pub segments64: u64,
    /// Different 128-byte lines of an execution, summed.
    pub lines128: u64,
    /// LDS: cycles beyond the conflict-free number, from accesses of different words of a bank. AMD does not publish in
    /// which groups the lanes of wide accesses are served; consecutive groups are assumed.
    pub bank_conflicts: u64,
}

/// Counts of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Instructions that wavefronts executed, by class in the order of [`Class::ALL`].
    pub instructions: [u64; 8],
    /// Lanes that were active in vector instructions, summed.
    pub active_lanes: u64,
    /// Lanes that EXEC masked in vector instructions, summed.
    pub masked_lanes: u64,
    /// Cycles that the matrix products take on one SIMD, from AMD's matrix instruction calculator.
    pub matrix_cycles: u64,
    /// The memory instructions that were executed, in the order of the listing.
    pub accesses: Vec<Access>,
    pub(crate) by_step: std::collections::BTreeMap<usize, Access>,
}

impl Counts {
    /// All instructions.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.instructions.iter().sum()
    }

    pub(crate) fn access(&mut self, step: usize, line: u32) -> &mut Access {
        let access = self.by_step.entry(step).or_default();
        access.line = line;
        access
    }

    /// Adds the counts of another part of the run.
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn add(&mut self, other: Self) {
        for (sum, count) in self.instructions.iter_mut().zip(other.instructions) {
            *sum += count;
        }
        self.active_lanes += other.active_lanes;
        self.masked_lanes += other.masked_lanes;
        self.matrix_cycles += other.matrix_cycles;
        for (step, counts) in other.by_step {
            let sum = self.access(step, counts.line);
            sum.executions += counts.executions;
            sum.bytes += counts.bytes;
            sum.segments64 += counts.segments64;
            sum.lines128 += counts.lines128;
            sum.bank_conflicts += counts.bank_conflicts;
        }
    }

    pub(crate) fn finish(&mut self) {
        self.accesses = std::mem::take(&mut self.by_step).into_values().collect();
    }
}
