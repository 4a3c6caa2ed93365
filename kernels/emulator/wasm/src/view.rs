//! The answers.

use crate::values::Type;
use serde::Serialize;

/// A kernel of a listing.
#[derive(Debug, Serialize)]
pub struct Description {
    /// The architecture.
    pub arch: &'static str,
    /// The kernel's name.
    pub kernel: String,
    /// Largest number of work-items of a workgroup, if the metadata limits it.
    pub largest_workgroup: u32,
    /// The arguments that are not hidden.
    pub arguments: Vec<Parameter>,
}

/// An argument that a launch provides.
#[derive(Debug, Serialize)]
pub struct Parameter {
    /// Its name, if the compiler recorded it.
    pub name: Option<String>,
    /// Bytes.
    pub size: u32,
    /// Whether it is the address of a buffer.
    pub is_buffer: bool,
}

/// The state of a launch after an instruction.
#[derive(Debug, Serialize)]
pub struct View {
    /// Instructions that were executed.
    pub position: u64,
    /// Whether the launch has ended.
    pub ended: bool,
    /// Why it ended early.
    pub error: Option<String>,
    /// Line of the listing of the last instruction.
    pub line: Option<u32>,
    /// The workgroup.
    pub workgroup: [u32; 3],
    /// The wavefront in its workgroup.
    pub wavefront: u32,
    /// For each lane whether it is active.
    pub active: Vec<bool>,
    /// EXEC, VCC and SCC as text.
    pub masks: [String; 3],
    /// The wavefronts of the workgroup: number, state, and the line they are at.
    pub wavefronts: Vec<(u32, &'static str, Option<u32>)>,
    /// The scalar registers of the instruction.
    pub scalars: Vec<(String, String)>,
    /// The vector registers of the instruction, with a value for each lane.
    pub vectors: Vec<(String, Vec<String>)>,
    /// The memory access of the instruction.
    pub access: Option<Access>,
    /// Contents of the LDS.
    pub lds: Option<Lds>,
    /// What was executed so far.
    pub counts: Counts,
    /// What the checks found so far.
    pub findings: Vec<Finding>,
    /// The buffers of global memory.
    pub buffers: Vec<Buffer>,
}

/// The access of an instruction.
#[derive(Debug, Serialize)]
pub struct Access {
    /// Whether it is in LDS.
    pub in_lds: bool,
    /// Bytes of all lanes.
    pub bytes: usize,
    /// For each lane: number, place and bytes.
    pub lanes: Vec<(usize, String, usize)>,
    /// Number of different 64-byte segments of global memory.
    pub segment_count: usize,
    /// The first of these segments: where they are, and the lanes of each of their 16 words.
    pub segments: Vec<(String, Vec<Vec<usize>>)>,
    /// LDS: the lanes that access each bank.
    pub banks: Vec<Vec<usize>>,
    /// LDS: cycles that conflicts add.
    pub conflicts: u64,
}

/// Rows of the LDS, each of one word in each bank.
#[derive(Debug, Serialize)]
pub struct Lds {
    /// Bytes.
    pub bytes: usize,
    /// First row shown.
    pub first: usize,
    /// All rows.
    pub total: usize,
    /// The words of the rows.
    pub rows: Vec<Vec<String>>,
}

/// Counts of what was executed.
#[derive(Debug, Serialize)]
pub struct Counts {
    /// Instructions of the wavefronts, by class.
    pub instructions: Vec<(&'static str, u64)>,
    /// Active and masked lanes of vector instructions.
    pub lanes: [u64; 2],
    /// Cycles of the matrix products on one SIMD.
    pub matrix_cycles: u64,
    /// Bytes that lanes accessed in global memory, and in 64-byte segments of an instruction.
    pub global_bytes: [u64; 2],
    /// Bytes of the different segments.
    pub distinct_bytes: u64,
    /// Bytes that lanes accessed in LDS.
    pub lds_bytes: u64,
    /// Cycles that bank conflicts add.
    pub conflicts: u64,
}

/// What a check found.
#[derive(Debug, Serialize)]
pub struct Finding {
    /// The kind, such as `out-of-bounds`.
    pub kind: &'static str,
    /// Line of the listing.
    pub line: u32,
    /// Where it occurred first: workgroup, wavefront, lanes and source line.
    pub place: String,
    /// What happened.
    pub message: String,
    /// Number of instructions executed with it.
    pub occurrences: u64,
}

/// A buffer of global memory.
#[derive(Debug, Serialize)]
pub struct Buffer {
    /// The argument's name.
    pub name: String,
    /// The type of its elements.
    #[serde(rename = "type")]
    pub kind: Type,
    /// Elements.
    pub count: u64,
    /// The first elements. Those that were never written are zero.
    pub values: Vec<String>,
}
