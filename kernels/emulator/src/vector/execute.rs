//! Executes a vector instruction on a wavefront.

use super::modifiers::{Modifiers, Unused};
use super::{Body, Context, Instruction, LANES, Lanes, Source, Type, each};
use crate::listing::operand::EXEC;
use crate::machine::wave::Wave;
use crate::number::{Divide, flush};

impl Instruction {
    /// Executes the instruction. All registers of its operands exist: the decoder checked them.
    pub(crate) fn execute(&self, wave: &mut Wave) {
        match self.entry.body {
            Body::One(_) | Body::Two(_) | Body::Three(_) | Body::Numbered(_) | Body::Select => {
                self.narrow(wave)
            }
            Body::Wide(f) => self.wide(wave, f),
            Body::Update(f) => self.update(wave, f),
            Body::Pair(f) => self.pair(wave, f),
            Body::Halves(f) => self.halves(wave, f),
            Body::MovePair => self.move_pair(wave),
            Body::Mix(result) => self.mix(wave, result),
            Body::Compare(f) => {
                let (a, b) = (self.lanes(wave, 0), self.lanes(wave, 1));
                self.set_comparison(wave, f(&a, &b));
            }
            Body::CompareWide(f) => {
                let (a, b) = (self.wide_lanes(wave, 0), self.wide_lanes(wave, 1));
                let bits = (0..LANES).fold(0, |mask, lane| {
                    mask | u64::from(f(a[lane], b[lane])) << lane
                });
                self.set_comparison(wave, bits);
            }
            Body::Carry(f) => self.carry(wave, f),
            Body::Multiply64(f) => self.multiply(wave, f),
            Body::DivideScale if self.entry.result == Type::F64 => self.divide_scale64(wave),
            Body::DivideScale => self.divide_scale32(wave),
            Body::DivideMultiplyAdd if self.entry.result == Type::F64 => self.divide_fma64(wave),
            Body::DivideMultiplyAdd => self.divide_fma32(wave),
            Body::ReadLane => self.read_lane(wave),
            Body::WriteLane => self.write_lane(wave),
            Body::Swap | Body::SwapRows(_) => self.swap(wave),
        }
    }

    fn kind(&self, place: usize) -> Type {
        self.entry.sources.get(place).copied().unwrap_or(Type::B32)
    }

    /// A 32-bit source with its modifiers, except DPP.
    fn lanes(&self, wave: &Wave, place: usize) -> Lanes {
        let mut values = match self.sources[place] {
            Source::Vector(register) => *wave.vector(register),
            Source::Scalar(register) => [wave.scalar(register); LANES],
            Source::Constant(bits) => [bits as u32; LANES],
        };
        let kind = self.kind(place);
        if let Some(modifiers) = &self.modifiers {
            modify(&mut values, modifiers, place, kind);
        }
        if kind == Type::F32 && wave.mode.flush_inputs() {
            values.iter_mut().for_each(|value| *value = flush(*value));
        }
        values
    }

    /// A source of any width, as bits in `u64`.
    fn wide_lanes(&self, wave: &Wave, place: usize) -> [u64; LANES] {
        let kind = self.kind(place);
        if kind.registers() == 1 {
            let narrow = self.lanes(wave, place);
            return std::array::from_fn(|lane| u64::from(narrow[lane]));
        }
        let mut values = match self.sources[place] {
            Source::Vector(register) => {
                let (low, high) = (wave.vector(register), wave.vector(register + 1));
                std::array::from_fn(|lane| u64::from(low[lane]) | u64::from(high[lane]) << 32)
            }
            Source::Scalar(register) => [wave.scalar64(register); LANES],
            Source::Constant(bits) => [bits; LANES],
        };
        if let (Some(modifiers), Some(sign)) = (&self.modifiers, kind.sign()) {
            for value in &mut values {
                *value &= if modifiers.absolute[place] {
                    !sign
                } else {
                    u64::MAX
                };
                *value ^= if modifiers.negative[place] { sign } else { 0 };
            }
        }
        values
    }

    fn narrow(&self, wave: &mut Wave) {
        let exec = wave.exec();
        let mut result = [0; LANES];
        if self.modifiers.is_none() && !wave.mode.flush32() {
            self.plain(wave, &mut result);
            wave.set_vector(self.result, &result, exec);
            return;
        }
        let mut first = self.lanes(wave, 0);
        let written = self.move_lanes(exec, &mut first);
        self.compute(wave, &mut result, &first);
        if let Some(modifiers) = &self.modifiers {
            finish(
                &mut result,
                modifiers,
                self.entry.result,
                wave.vector(self.result),
            );
        }
        if self.entry.result == Type::F32 && wave.mode.flush_results() {
            result.iter_mut().for_each(|value| *value = flush(*value));
        }
        wave.set_vector(self.result, &result, written);
    }

    /// Applies DPP to the lanes of the first source, and returns the lanes that are written.
    fn move_lanes<T: Copy + Default>(&self, exec: u64, first: &mut [T; LANES]) -> u64 {
        let Some(dpp) = self
            .modifiers
            .as_ref()
            .and_then(|modifiers| modifiers.dpp.as_ref())
        else {
            return exec;
        };
        let own = *first;
        let mut written = exec & dpp.written;
        for (lane, value) in first.iter_mut().enumerate() {
            let from = usize::from(dpp.lanes[lane]);
            let valid = from < LANES && exec >> from & 1 == 1;
            if !valid && !dpp.zero {
                written &= !(1 << lane);
            }
            *value = if valid { own[from] } else { T::default() };
        }
        written
    }

    /// Without modifiers, registers are read in place.
    fn plain(&self, wave: &Wave, result: &mut Lanes) {
        // A copy of a scalar or constant to all lanes, only where there is one.
        let (first, second, third);
        macro_rules! source {
            ($place:literal, $copy:ident) => {
                match self.sources[$place] {
                    Source::Vector(register) => wave.vector(register),
                    Source::Scalar(register) => {
                        $copy = [wave.scalar(register); LANES];
                        &$copy
                    }
                    Source::Constant(bits) => {
                        $copy = [bits as u32; LANES];
                        &$copy
                    }
                }
            };
        }
        match self.entry.body {
            Body::One(f) => f(result, source!(0, first)),
            Body::Two(f) => f(result, source!(0, first), source!(1, second)),
            Body::Three(f) => f(
                result,
                source!(0, first),
                source!(1, second),
                source!(2, third),
            ),
            _ => self.compute(wave, result, source!(0, first)),
        }
    }

    fn compute(&self, wave: &Wave, result: &mut Lanes, first: &Lanes) {
        match self.entry.body {
            Body::One(f) => f(result, first),
            Body::Two(f) => f(result, first, &self.lanes(wave, 1)),
            Body::Three(f) => f(result, first, &self.lanes(wave, 1), &self.lanes(wave, 2)),
            Body::Numbered(f) => {
                let second = self.lanes(wave, 1);
                each(result, |lane| f(lane as u32, first[lane], second[lane]));
            }
            Body::Select => {
                let (second, mask) = (self.lanes(wave, 1), wave.scalar64(self.mask));
                each(result, |lane| {
                    if mask >> lane & 1 == 1 {
                        second[lane]
                    } else {
                        first[lane]
                    }
                });
            }
            _ => {}
        }
    }

    fn wide(&self, wave: &mut Wave, f: fn([u64; 3]) -> u64) {
        let mut sources = [0, 1, 2].map(|place| {
            if place < self.entry.sources.len() {
                self.wide_lanes(wave, place)
            } else {
                [0; LANES]
            }
        });
        let written = self.move_lanes(wave.exec(), &mut sources[0]);
        let mut results: [u64; LANES] =
            std::array::from_fn(|lane| f([sources[0][lane], sources[1][lane], sources[2][lane]]));
        let clamp = self
            .modifiers
            .as_ref()
            .is_some_and(|modifiers| modifiers.clamp);
        if clamp && self.entry.result == Type::F64 {
            for result in &mut results {
                *result = f64::from_bits(*result).clamp(0.0, 1.0).max(0.0).to_bits();
            }
        }
        if self.entry.result.registers() == 2 {
            wave.set_wide(self.result, &results, written);
            return;
        }
        let mut narrow: Lanes = std::array::from_fn(|lane| results[lane] as u32);
        if let Some(modifiers) = &self.modifiers {
            finish(
                &mut narrow,
                modifiers,
                self.entry.result,
                wave.vector(self.result),
            );
            // The last bit in use of `op_sel` selects the half of the result.
            if self.entry.result.sign() == Some(1 << 15) || self.entry.result == Type::B16 {
                if modifiers.select[self.entry.sources.len()] {
                    let old = wave.vector(self.result);
                    each_in_place(&mut narrow, |lane, value| old[lane] & 0xffff | value << 16);
                } else if modifiers.select != [false; 4] {
                    let old = wave.vector(self.result);
                    each_in_place(&mut narrow, |lane, value| {
                        old[lane] & 0xffff_0000 | value & 0xffff
                    });
                }
            }
        }
        wave.set_vector(self.result, &narrow, written);
    }

    fn update(&self, wave: &mut Wave, f: fn([u64; 3], u32, Context) -> u32) {
        let modifiers = self.modifiers.as_deref();
        let context = Context {
            saturate: wave.mode.saturates(),
            ocp: wave.ocp,
            select: modifiers.map_or([false; 4], |modifiers| modifiers.select),
            table: modifiers.map_or(0, |modifiers| modifiers.truth_table),
        };
        let sources = [0, 1, 2].map(|place| {
            if place < self.entry.sources.len() {
                self.wide_lanes(wave, place)
            } else {
                [0; LANES]
            }
        });
        let old = *wave.vector(self.result);
        let result = std::array::from_fn(|lane| {
            f(
                [sources[0][lane], sources[1][lane], sources[2][lane]],
                old[lane],
                context,
            )
        });
        let exec = wave.exec();
        wave.set_vector(self.result, &result, exec);
    }

    /// One half of a pair of registers.
    fn half_of_pair(&self, wave: &Wave, place: usize, high: bool) -> Lanes {
        let (mut select, mut negative) = (high, false);
        if let Some(modifiers) = &self.modifiers {
            select = if high {
                modifiers.select_high[place]
            } else {
                modifiers.select[place]
            };
            negative = if high {
                modifiers.negative_high[place]
            } else {
                modifiers.negative[place]
            };
        }
        let mut values = match self.sources[place] {
            Source::Vector(register) => *wave.vector(register + u16::from(select)),
            Source::Scalar(register) => {
                [wave.scalar(register.saturating_add(u8::from(select))); LANES]
            }
            Source::Constant(bits) => [constant_of_pair(bits); LANES],
        };
        if negative {
            values.iter_mut().for_each(|value| *value ^= 1 << 31);
        }
        if wave.mode.flush_inputs() {
            values.iter_mut().for_each(|value| *value = flush(*value));
        }
        values
    }

    fn pair(&self, wave: &mut Wave, f: fn(&mut Lanes, &Lanes, &Lanes, &Lanes)) {
        let clamps = self
            .modifiers
            .as_ref()
            .is_some_and(|modifiers| modifiers.clamp);
        let mut results = [[0; LANES]; 2];
        for (result, high) in results.iter_mut().zip([false, true]) {
            let a = self.half_of_pair(wave, 0, high);
            let b = self.half_of_pair(wave, 1, high);
            if self.entry.sources.len() > 2 {
                f(result, &a, &b, &self.half_of_pair(wave, 2, high));
            } else {
                f(result, &a, &b, &b);
            }
            if clamps {
                each_in_place(result, |_, value| clamp(f32::from_bits(value)).to_bits());
            }
            if wave.mode.flush_results() {
                result.iter_mut().for_each(|value| *value = flush(*value));
            }
        }
        let exec = wave.exec();
        wave.set_vector(self.result, &results[0], exec);
        wave.set_vector(self.result + 1, &results[1], exec);
    }

    fn halves(&self, wave: &mut Wave, f: fn([u16; 3]) -> u16) {
        let sources = [0, 1, 2].map(|place| {
            let mut values = match self.sources[place] {
                Source::Vector(register) => *wave.vector(register),
                Source::Scalar(register) => [wave.scalar(register); LANES],
                Source::Constant(bits) => [bits as u32; LANES],
            };
            let float = self.kind(place) == Type::F16;
            let (mut select, mut negative) = ([false, true], [false; 2]);
            if let Some(modifiers) = &self.modifiers {
                select = [modifiers.select[place], modifiers.select_high[place]];
                negative = [
                    modifiers.negative[place] && float,
                    modifiers.negative_high[place] && float,
                ];
            }
            for value in &mut values {
                let half = |high: bool| if high { *value >> 16 } else { *value & 0xffff };
                let [low, high] = [0, 1].map(|at| half(select[at]) ^ u32::from(negative[at]) << 15);
                *value = high << 16 | low;
            }
            values
        });
        let clamps = self
            .modifiers
            .as_ref()
            .is_some_and(|modifiers| modifiers.clamp);
        let result: Lanes = std::array::from_fn(|lane| {
            let part = |shift: u32| {
                let bits = f([0, 1, 2].map(|place| (sources[place][lane] >> shift) as u16));
                u32::from(if clamps {
                    crate::number::to_f16(clamp(crate::number::from_f16(bits)))
                } else {
                    bits
                })
            };
            part(0) | part(16) << 16
        });
        let exec = wave.exec();
        wave.set_vector(self.result, &result, exec);
    }

    fn move_pair(&self, wave: &mut Wave) {
        let select = self
            .modifiers
            .as_ref()
            .map_or([false; 4], |modifiers| modifiers.select);
        let part = |place: usize| match self.sources[place] {
            Source::Vector(register) => *wave.vector(register + u16::from(select[place])),
            Source::Scalar(register) => {
                [wave.scalar(register.saturating_add(u8::from(select[place]))); LANES]
            }
            Source::Constant(bits) => [(bits >> if select[place] { 32 } else { 0 }) as u32; LANES],
        };
        let (low, high) = (part(0), part(1));
        let exec = wave.exec();
        wave.set_vector(self.result, &low, exec);
        wave.set_vector(self.result + 1, &high, exec);
    }

    fn set_comparison(&self, wave: &mut Wave, bits: u64) {
        let result = bits & wave.exec();
        wave.set_scalar64(self.scalar_result, result);
        if self.writes_exec {
            wave.set_scalar64(EXEC, result);
        }
    }

    fn carry(&self, wave: &mut Wave, f: fn(u32, u32, bool) -> (u32, bool)) {
        let (a, b) = (self.lanes(wave, 0), self.lanes(wave, 1));
        let (carry, exec) = (wave.scalar64(self.mask), wave.exec());
        let (mut result, mut carries) = ([0; LANES], 0);
        each(&mut result, |lane| {
            f(a[lane], b[lane], carry >> lane & 1 == 1).0
        });
        for lane in 0..LANES {
            carries |= u64::from(f(a[lane], b[lane], carry >> lane & 1 == 1).1) << lane;
        }
        wave.set_vector(self.result, &result, exec);
        wave.set_scalar64(self.scalar_result, carries & exec);
    }

    fn multiply(&self, wave: &mut Wave, f: fn(u64, u64, u64) -> (u64, bool)) {
        let [a, b, c] = [0, 1, 2].map(|place| self.wide_lanes(wave, place));
        let (mut results, mut carries) = ([0; LANES], 0);
        for lane in 0..LANES {
            let (result, carry) = f(a[lane], b[lane], c[lane]);
            results[lane] = result;
            carries |= u64::from(carry) << lane;
        }
        let exec = wave.exec();
        wave.set_wide(self.result, &results, exec);
        wave.set_scalar64(self.scalar_result, carries & exec);
    }

    fn divide_scale32(&self, wave: &mut Wave) {
        let [a, b, c] = [0, 1, 2].map(|place| self.lanes(wave, place));
        let (mut results, mut undone) = ([0; LANES], 0);
        for lane in 0..LANES {
            let scaled = f32::scale(
                f32::from_bits(a[lane]),
                f32::from_bits(b[lane]),
                f32::from_bits(c[lane]),
            );
            results[lane] = scaled.value.to_bits();
            undone |= u64::from(scaled.undo) << lane;
        }
        let exec = wave.exec();
        wave.set_vector(self.result, &results, exec);
        wave.set_scalar64(self.scalar_result, undone & exec);
    }

    fn divide_scale64(&self, wave: &mut Wave) {
        let [a, b, c] = [0, 1, 2].map(|place| self.wide_lanes(wave, place));
        let (mut results, mut undone) = ([0; LANES], 0);
        for lane in 0..LANES {
            let scaled = f64::scale(
                f64::from_bits(a[lane]),
                f64::from_bits(b[lane]),
                f64::from_bits(c[lane]),
            );
            results[lane] = scaled.value.to_bits();
            undone |= u64::from(scaled.undo) << lane;
        }
        let exec = wave.exec();
        wave.set_wide(self.result, &results, exec);
        wave.set_scalar64(self.scalar_result, undone & exec);
    }

    fn divide_fma32(&self, wave: &mut Wave) {
        let [a, b, c] = [0, 1, 2].map(|place| self.lanes(wave, place));
        let undo = wave.scalar64(self.mask);
        let result = std::array::from_fn(|lane| {
            let [a, b, c] = [a, b, c].map(|values| f32::from_bits(values[lane]));
            f32::multiply_add(a, b, c, undo >> lane & 1 == 1).to_bits()
        });
        let exec = wave.exec();
        wave.set_vector(self.result, &result, exec);
    }

    fn divide_fma64(&self, wave: &mut Wave) {
        let [a, b, c] = [0, 1, 2].map(|place| self.wide_lanes(wave, place));
        let undo = wave.scalar64(self.mask);
        let result = std::array::from_fn(|lane| {
            let [a, b, c] = [a, b, c].map(|values| f64::from_bits(values[lane]));
            f64::multiply_add(a, b, c, undo >> lane & 1 == 1).to_bits()
        });
        let exec = wave.exec();
        wave.set_wide(self.result, &result, exec);
    }

    fn read_lane(&self, wave: &mut Wave) {
        let lane = if self.entry.sources.len() == 1 {
            // The first active lane, or lane 0 if none is.
            wave.exec().trailing_zeros() % 64
        } else {
            self.scalar_source(wave, 1) & 63
        };
        let value = match self.sources[0] {
            Source::Vector(register) => wave.vector(register)[lane as usize],
            _ => 0,
        };
        wave.set_scalar(self.scalar_result, value);
    }

    fn write_lane(&self, wave: &mut Wave) {
        let (value, lane) = (
            self.scalar_source(wave, 0),
            self.scalar_source(wave, 1) & 63,
        );
        // EXEC does not matter here.
        wave.set_vector(self.result, &[value; LANES], 1 << lane);
    }

    fn scalar_source(&self, wave: &Wave, place: usize) -> u32 {
        match self.sources[place] {
            Source::Scalar(register) => wave.scalar(register),
            Source::Constant(bits) => bits as u32,
            Source::Vector(register) => wave.vector(register)[0],
        }
    }

    fn swap(&self, wave: &mut Wave) {
        let Source::Vector(other) = self.sources[0] else {
            return;
        };
        let (mut first, mut second) = (*wave.vector(self.result), *wave.vector(other));
        let exec = wave.exec();
        if let Body::SwapRows(rows) = self.entry.body {
            let rows = rows as usize;
            for lane in (0..LANES).filter(|lane| lane & rows != 0) {
                std::mem::swap(&mut first[lane], &mut second[lane - rows]);
            }
        } else {
            std::mem::swap(&mut first, &mut second);
        }
        wave.set_vector(self.result, &first, exec);
        wave.set_vector(other, &second, exec);
    }
}

fn each_in_place(values: &mut Lanes, f: impl Fn(usize, u32) -> u32) {
    for (lane, value) in values.iter_mut().enumerate() {
        *value = f(lane, *value);
    }
}

/// The 32 bits of a constant of a packed `f32` operand. An integer is not converted.
fn constant_of_pair(bits: u64) -> u32 {
    // The decoder stores a floating-point constant as `f64`.
    if bits >> 32 == 0 || bits >> 32 == u64::from(u32::MAX) {
        bits as u32
    } else {
        (f64::from_bits(bits) as f32).to_bits()
    }
}

/// Applies SDWA selection, `op_sel`, absolute value and negation.
fn modify(values: &mut Lanes, modifiers: &Modifiers, place: usize, kind: Type) {
    if let (Some(sdwa), 0 | 1) = (&modifiers.sdwa, place) {
        values
            .iter_mut()
            .for_each(|value| *value = sdwa.sources[place].of(*value, sdwa.sign_extended[place]));
    }
    if modifiers.select[place] && matches!(kind, Type::F16 | Type::B16) {
        values.iter_mut().for_each(|value| *value >>= 16);
    }
    if let Some(sign) = kind.sign() {
        let (keep, flip) = (
            if modifiers.absolute[place] {
                !(sign as u32)
            } else {
                u32::MAX
            },
            if modifiers.negative[place] {
                sign as u32
            } else {
                0
            },
        );
        values
            .iter_mut()
            .for_each(|value| *value = (*value & keep) ^ flip);
    }
}

pub(super) fn clamp(value: f32) -> f32 {
    // A NaN becomes zero.
    if value.is_nan() {
        0.0
    } else {
        value.clamp(0.0, 1.0)
    }
}

/// Applies output scale, clamp and SDWA to a result.
fn finish(result: &mut Lanes, modifiers: &Modifiers, kind: Type, old: &Lanes) {
    if kind == Type::F32 && (modifiers.output_scale != 1.0 || modifiers.clamp) {
        for value in result.iter_mut() {
            let scaled = f32::from_bits(*value) * modifiers.output_scale;
            *value = if modifiers.clamp {
                clamp(scaled)
            } else {
                scaled
            }
            .to_bits();
        }
    }
    if kind == Type::F16 && modifiers.clamp {
        for value in result.iter_mut() {
            *value = u32::from(crate::number::to_f16(clamp(crate::number::from_f16(
                *value as u16,
            ))));
        }
    }
    if let Some(sdwa) = &modifiers.sdwa {
        let (part, mask) = (sdwa.result, sdwa.result.mask());
        each_in_place(result, |lane, value| {
            let placed = value << part.offset & mask;
            match sdwa.unused {
                Unused::Preserve => old[lane] & !mask | placed,
                Unused::SignExtend => placed | sign_fill(placed, part.offset + part.width),
                Unused::Zero => placed,
            }
        });
    }
}

/// Copies of bit `width - 1` above it.
fn sign_fill(value: u32, width: u32) -> u32 {
    if width < 32 && value >> (width - 1) & 1 == 1 {
        u32::MAX << width
    } else {
        0
    }
}
