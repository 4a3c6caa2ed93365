//! Number formats of the factors.

use crate::number::{BF6, FNUZ_BF8, FNUZ_FP8, FP4, FP6, OCP_BF8, OCP_FP8, from_bf16, from_f16};

/// Format of a factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    F64,
    F32,
    /// `f32` of which the matrix core uses 10 bits of the fraction.
    Xf32,
    F16,
    Bf16,
    I8,
    Fp8,
    Bf8,
    /// E2M3.
    Fp6,
    /// E3M2.
    Bf6,
    /// E2M1.
    Fp4,
}

impl Format {
    pub(super) fn bits(self) -> usize {
        match self {
            Self::F64 => 64,
            Self::F32 | Self::Xf32 => 32,
            Self::F16 | Self::Bf16 => 16,
            Self::I8 | Self::Fp8 | Self::Bf8 => 8,
            Self::Fp6 | Self::Bf6 => 6,
            Self::Fp4 => 4,
        }
    }

    /// The format that `cbsz` or `blgp` selects for `f8f6f4`.
    pub(super) fn selected(number: i64) -> Option<Self> {
        Some(match number {
            0 => Self::Fp8,
            1 => Self::Bf8,
            2 => Self::Fp6,
            3 => Self::Bf6,
            4 => Self::Fp4,
            _ => return None,
        })
    }

    /// The number with these bits; every format is exact in `f64`.
    pub(super) fn decode(self, bits: u64, ocp: bool) -> f64 {
        f64::from(match self {
            Self::F64 => return f64::from_bits(bits),
            Self::F32 => f32::from_bits(bits as u32),
            // The low 13 bits are ignored, as in the definition of AMD's library Tensile.
            Self::Xf32 => f32::from_bits(bits as u32 & 0xffff_e000),
            Self::F16 => from_f16(bits as u16),
            Self::Bf16 => from_bf16(bits as u16),
            Self::I8 => return f64::from(bits as u8 as i8),
            Self::Fp8 => if ocp { OCP_FP8 } else { FNUZ_FP8 }.decode(bits as u8),
            Self::Bf8 => if ocp { OCP_BF8 } else { FNUZ_BF8 }.decode(bits as u8),
            Self::Fp6 => FP6.decode(bits as u8),
            Self::Bf6 => BF6.decode(bits as u8),
            Self::Fp4 => FP4.decode(bits as u8),
        })
    }
}
