//! `v_fma_mix_f32`, `v_fma_mixlo_f16` and `v_fma_mixhi_f16`: each source is an `f32`, or a half of a register as `f16`.

use super::modifiers::Modifiers;
use super::{Entry, Instruction, LANES, Lanes, Source, entry};
use crate::machine::wave::Wave;
use crate::number::{flush, from_f16, to_f16};

/// Where the result goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MixResult {
    /// The register, as `f32`.
    Whole,
    /// The low half, as `f16`; the high half is preserved.
    Low,
    /// The high half, as `f16`; the low half is preserved.
    High,
}

pub(super) fn find(name: &str) -> Option<Entry> {
    Some(match name {
        "v_fma_mix_f32" => entry!(F32, [F32, F32, F32], Mix(MixResult::Whole)),
        "v_fma_mixlo_f16" => entry!(F16, [F32, F32, F32], Mix(MixResult::Low)),
        "v_fma_mixhi_f16" => entry!(F16, [F32, F32, F32], Mix(MixResult::High)),
        _ => return None,
    })
}

impl Instruction {
    /// `a * b + c`, rounded once to `f32`, and again if the result is a half.
    pub(super) fn mix(&self, wave: &mut Wave, result: MixResult) {
        let modifiers = self.modifiers.as_deref();
        let sources = [0, 1, 2].map(|place| self.mixed(wave, place, modifiers));
        let clamps = modifiers.is_some_and(|modifiers| modifiers.clamp);
        let old = *wave.vector(self.result);
        let values: Lanes = std::array::from_fn(|lane| {
            let [a, b, c] = [0, 1, 2].map(|place| sources[place][lane]);
            let mut value = a.mul_add(b, c);
            if clamps {
                value = super::execute::clamp(value);
            }
            match result {
                MixResult::Whole if wave.mode.flush_results() => flush(value.to_bits()),
                MixResult::Whole => value.to_bits(),
                MixResult::Low => old[lane] & 0xffff_0000 | u32::from(to_f16(value)),
                MixResult::High => old[lane] & 0xffff | u32::from(to_f16(value)) << 16,
            }
        });
        let exec = wave.exec();
        wave.set_vector(self.result, &values, exec);
    }

    /// A source as `f32`. `op_sel_hi` makes it a half, `op_sel` selects which.
    fn mixed(&self, wave: &Wave, place: usize, modifiers: Option<&Modifiers>) -> [f32; LANES] {
        let bits = match self.sources[place] {
            Source::Vector(register) => *wave.vector(register),
            Source::Scalar(register) => [wave.scalar(register); LANES],
            Source::Constant(bits) => [bits as u32; LANES],
        };
        let selected = |list: &dyn Fn(&Modifiers) -> bool| modifiers.is_some_and(list);
        let is_half = selected(&|modifiers| modifiers.select_high[place]);
        let is_high = selected(&|modifiers| modifiers.select[place]);
        let absolute = selected(&|modifiers| modifiers.absolute[place]);
        let negative = selected(&|modifiers| modifiers.negative[place]);
        bits.map(|bits| {
            let value = match (is_half, is_high) {
                (true, true) => from_f16((bits >> 16) as u16),
                (true, false) => from_f16(bits as u16),
                (false, _) if wave.mode.flush_inputs() => f32::from_bits(flush(bits)),
                (false, _) => f32::from_bits(bits),
            };
            let value = if absolute { value.abs() } else { value };
            if negative { -value } else { value }
        })
    }
}
