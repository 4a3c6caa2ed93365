//! Vector arithmetic: one operation for each of the 64 lanes.
//!
//! The tables (`integer`, `float`, `convert`, `half`, `compare`) map a mnemonic to a pure function of lanes. Everything
//! that instructions share is here: operands, source and result modifiers, DPP, SDWA and the EXEC mask.

mod compare;
mod convert;
mod decode;
mod execute;
mod float;
mod half;
mod integer;
mod mix;
pub(crate) mod modifiers;
mod saturating;

pub(crate) use decode::{constant, decode, float_constant};

use modifiers::Modifiers;

/// Lanes of a wavefront.
pub(crate) const LANES: usize = 64;

/// A register of all lanes.
pub(crate) type Lanes = [u32; LANES];

/// Type of an operand. It decides its width, the value of a constant, and what `-` and `|…|` change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    B32,
    F32,
    B16,
    F16,
    B64,
    I64,
    F64,
}

impl Type {
    /// Registers of an operand.
    pub(crate) fn registers(self) -> u8 {
        match self {
            Self::B64 | Self::I64 | Self::F64 => 2,
            _ => 1,
        }
    }

    fn sign(self) -> Option<u64> {
        match self {
            Self::F32 => Some(1 << 31),
            Self::F16 => Some(1 << 15),
            Self::F64 => Some(1 << 63),
            _ => None,
        }
    }
}

/// What an instruction computes.
#[derive(Clone, Copy)]
pub(crate) enum Body {
    One(fn(&mut Lanes, &Lanes)),
    Two(fn(&mut Lanes, &Lanes, &Lanes)),
    Three(fn(&mut Lanes, &Lanes, &Lanes, &Lanes)),
    /// Operands of other widths, lane by lane.
    Wide(fn([u64; 3]) -> u64),
    /// Depends on the lane's number.
    Numbered(fn(u32, u32, u32) -> u32),
    /// Depends on the previous value of the result, and for 8-bit floats on the mode.
    Update(fn([u64; 3], u32, Context) -> u32),
    /// The same function for the low and the high registers of pairs.
    Pair(fn(&mut Lanes, &Lanes, &Lanes, &Lanes)),
    /// The same function for both halves of a register.
    Halves(fn([u16; 3]) -> u16),
    MovePair,
    /// Product and sum of `f32` and `f16` operands.
    Mix(mix::MixResult),
    Compare(fn(&Lanes, &Lanes) -> u64),
    CompareWide(fn(u64, u64) -> bool),
    /// Chooses between two sources by a mask.
    Select,
    /// Sum with carry-in and carry-out.
    Carry(fn(u32, u32, bool) -> (u32, bool)),
    /// 32 × 32 + 64 bits with carry-out.
    Multiply64(fn(u64, u64, u64) -> (u64, bool)),
    DivideScale,
    DivideMultiplyAdd,
    /// Copies one lane to a scalar register.
    ReadLane,
    WriteLane,
    Swap,
    /// Exchanges rows of 16 or halves of 32 lanes between two registers (gfx950).
    SwapRows(u32),
}

/// State that the conversions to 8 bits depend on.
#[derive(Clone, Copy)]
pub(crate) struct Context {
    pub(crate) saturate: bool,
    /// Whether 8-bit floats are OCP (gfx950) instead of FNUZ.
    pub(crate) ocp: bool,
    /// `op_sel`.
    pub(crate) select: [bool; 4],
    /// `bitop3`.
    pub(crate) table: u8,
}

/// An entry of the tables.
#[derive(Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) result: Type,
    pub(crate) sources: &'static [Type],
    pub(crate) body: Body,
}

/// A source of a vector instruction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Source {
    Scalar(u8),
    Vector(u16),
    /// The bits, in the width of the operand.
    Constant(u64),
}

/// A decoded vector instruction.
#[derive(Clone)]
pub(crate) struct Instruction {
    pub(crate) entry: Entry,
    /// First register of the result; unused by comparisons and `v_readlane`.
    pub(crate) result: u16,
    /// First scalar register of a mask or scalar result.
    pub(crate) scalar_result: u8,
    pub(crate) sources: [Source; 3],
    /// First scalar register of a carry-in or a selection mask.
    pub(crate) mask: u8,
    /// The comparison also writes EXEC.
    pub(crate) writes_exec: bool,
    pub(crate) modifiers: Option<Box<Modifiers>>,
}

/// Applies a function to each lane.
#[inline(always)]
pub(crate) fn each(result: &mut Lanes, f: impl Fn(usize) -> u32) {
    for (lane, result) in result.iter_mut().enumerate() {
        *result = f(lane);
    }
}

/// Entry of a function of 32-bit integers.
macro_rules! u32s {
    (|$a:ident| $e:expr) => {
        $crate::vector::lanes!(One, B32, [B32], |$a| $e)
    };
    (|$a:ident, $b:ident| $e:expr) => {
        $crate::vector::lanes!(Two, B32, [B32, B32], |$a, $b| $e)
    };
    (|$a:ident, $b:ident, $c:ident| $e:expr) => {
        $crate::vector::lanes!(Three, B32, [B32, B32, B32], |$a, $b, $c| $e)
    };
}

/// Entry of a function of `f32`.
macro_rules! f32s {
    (|$a:ident| $e:expr) => {
        $crate::vector::lanes!(One, F32, [F32], |$a| {
            let $a = f32::from_bits($a);
            let result: f32 = $e;
            result.to_bits()
        })
    };
    (|$a:ident, $b:ident| $e:expr) => {
        $crate::vector::lanes!(Two, F32, [F32, F32], |$a, $b| {
            let ($a, $b) = (f32::from_bits($a), f32::from_bits($b));
            let result: f32 = $e;
            result.to_bits()
        })
    };
    (|$a:ident, $b:ident, $c:ident| $e:expr) => {
        $crate::vector::lanes!(Three, F32, [F32, F32, F32], |$a, $b, $c| {
            let ($a, $b, $c) = (f32::from_bits($a), f32::from_bits($b), f32::from_bits($c));
            let result: f32 = $e;
            result.to_bits()
        })
    };
}

/// Entry of a function of 32-bit lanes with types of its own.
macro_rules! lanes {
    (One, $result:ident, [$($source:ident),*], |$a:ident| $e:expr) => {{
        fn run(result: &mut $crate::vector::Lanes, a: &$crate::vector::Lanes) {
            $crate::vector::each(result, |lane| { let $a = a[lane]; $e });
        }
        $crate::vector::entry!($result, [$($source),*], One(run))
    }};
    (Two, $result:ident, [$($source:ident),*], |$a:ident, $b:ident| $e:expr) => {{
        fn run(result: &mut $crate::vector::Lanes, a: &$crate::vector::Lanes, b: &$crate::vector::Lanes) {
            $crate::vector::each(result, |lane| { let ($a, $b) = (a[lane], b[lane]); $e });
        }
        $crate::vector::entry!($result, [$($source),*], Two(run))
    }};
    (Three, $result:ident, [$($source:ident),*], |$a:ident, $b:ident, $c:ident| $e:expr) => {{
        fn run(
            result: &mut $crate::vector::Lanes,
            a: &$crate::vector::Lanes,
            b: &$crate::vector::Lanes,
            c: &$crate::vector::Lanes,
        ) {
            $crate::vector::each(result, |lane| { let ($a, $b, $c) = (a[lane], b[lane], c[lane]); $e });
        }
        $crate::vector::entry!($result, [$($source),*], Three(run))
    }};
}

macro_rules! entry {
    ($result:ident, [$($source:ident),*], $($body:tt)*) => {
        $crate::vector::Entry {
            result: $crate::vector::Type::$result,
            sources: &[$($crate::vector::Type::$source),*],
            body: $crate::vector::Body::$($body)*,
        }
    };
}

use {entry, f32s, lanes, u32s};

/// The entry of a mnemonic without its encoding suffix.
pub(crate) fn find(name: &str) -> Option<Entry> {
    integer::find(name)
        .or_else(|| float::find(name))
        .or_else(|| convert::find(name))
        .or_else(|| half::find(name))
        .or_else(|| mix::find(name))
        .or_else(|| compare::find(name))
}
