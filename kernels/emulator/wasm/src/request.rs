//! The requests.

use crate::values::Type;
use serde::Deserialize;

/// A listing and one of its kernels.
#[derive(Debug, Deserialize)]
pub struct Describe {
    /// The assembly text.
    pub listing: String,
    /// The kernel's name; may be left out if the listing has one kernel.
    pub kernel: Option<String>,
}

/// A launch.
#[derive(Debug, Deserialize)]
pub struct Start {
    /// The assembly text.
    pub listing: String,
    /// The kernel's name; may be left out if the listing has one kernel.
    pub kernel: Option<String>,
    /// Workgroups in each dimension; more than 2³²-1 are refused.
    pub grid: [u64; 3],
    /// Work-items of a workgroup in each dimension.
    pub workgroup: [u64; 3],
    /// Bytes of LDS of a workgroup, those that the code declares included.
    #[serde(default)]
    pub lds: u32,
    /// Most instructions that the wavefronts execute together.
    pub budget: u64,
    /// The arguments that are not hidden.
    pub arguments: Vec<Argument>,
}

/// An argument of a launch.
#[derive(Clone, Debug, Deserialize)]
pub struct Argument {
    /// The name in findings and results.
    pub name: String,
    /// The type of the value, or of the elements of a buffer. `None` is a null address.
    #[serde(rename = "type")]
    pub kind: Option<Type>,
    /// Elements of a buffer. `None` for a value.
    pub count: Option<u64>,
    /// The contents of a buffer at the start.
    #[serde(default)]
    pub fill: Fill,
    /// The value as a decimal number.
    #[serde(default)]
    pub value: String,
}

/// The contents of a buffer at the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fill {
    /// 0, 1, 2, …
    #[default]
    Index,
    /// 1, -2, 3, -4, …
    Alternating,
    /// From -1 to 1, or from 0 to 99 for integers; the same each time.
    Random,
    /// Ones.
    Ones,
    /// Zeros.
    Zeros,
    /// Memory that nothing has written.
    Unwritten,
}

/// A move to an instruction.
#[derive(Debug, Deserialize)]
pub struct Go {
    /// Where to.
    pub to: Target,
    /// What the answer shows.
    #[serde(flatten)]
    pub shown: Shown,
}

/// Where a move ends.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// After so many instructions.
    Position(u64),
    /// After the last instruction.
    End,
    /// After the first instruction of another wavefront.
    NextWavefront,
    /// After the next instruction at this line of the listing.
    Line(u32),
}

/// What an answer shows.
#[derive(Debug, Default, Deserialize)]
pub struct Shown {
    /// How registers and LDS are shown.
    #[serde(default)]
    pub registers_as: RegisterFormat,
    /// A register that is shown besides those of the instruction.
    #[serde(default)]
    pub watched: String,
    /// First row of the LDS that is shown. `None` is the row of the last access.
    pub lds_row: Option<usize>,
}

/// How a 32-bit register is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RegisterFormat {
    /// A hexadecimal number.
    #[default]
    Hex,
    /// A float.
    F32,
    /// A signed integer.
    I32,
    /// An unsigned integer.
    U32,
    /// Two half-precision numbers, the lower one first.
    F16,
    /// Two bfloat16 numbers, the lower one first.
    Bf16,
}
