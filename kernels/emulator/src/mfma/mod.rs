//! Matrix products of a wavefront (`v_mfma_*`).
//!
//! Products are exact, and each element is summed in `f64` and rounded once (integers wrap). The hardware rounds partial
//! sums in an order that AMD does not document, so results agree within rounding, not bit for bit.

use crate::arch::Arch;
use crate::error::Result;
use crate::listing::operand::{self, Operand};
use crate::listing::text::Text;
use crate::machine::wave::Wave;
use crate::number::{FNUZ_BF8, FNUZ_FP8, OCP_BF8, OCP_FP8, from_bf16, from_f16};
use crate::vector::LANES;

/// Format of the factors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    F64,
    F32,
    /// `f32` of which the matrix core uses 10 bits of the fraction.
    Xf32,
    F16,
    Bf16,
    I8,
    Fp8,
    Bf8,
}

impl Format {
    fn bits(self) -> usize {
        match self {
            Self::F64 => 64,
            Self::F32 | Self::Xf32 => 32,
            Self::F16 | Self::Bf16 => 16,
            Self::I8 | Self::Fp8 | Self::Bf8 => 8,
        }
    }

    /// The number with these bits; every format is exact in `f64`.
    fn decode(self, bits: u64, ocp: bool) -> f64 {
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
        })
    }
}

/// Rows (and columns) of a block, depth, and blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shape {
    size: usize,
    depth: usize,
    blocks: usize,
}

impl Shape {
    /// Elements of a factor in a lane.
    fn factor_elements(self) -> usize {
        self.size * self.depth * self.blocks / LANES
    }

    /// Elements of the result in a lane.
    fn result_elements(self) -> usize {
        self.size * self.size * self.blocks / LANES
    }

    /// Lane and element of a factor at a row (or column) and depth.
    fn factor(self, block: usize, row: usize, depth: usize) -> (usize, usize) {
        let elements = self.factor_elements();
        let groups = self.depth / elements;
        let group = block * groups + depth / elements;
        // Only the blocks of 4 x 4 doubles are spread by depth first.
        let group = if self.size == 4 && groups > 1 {
            depth / elements * self.blocks + block
        } else {
            group
        };
        (group * self.size + row, depth % elements)
    }

    /// Lane and element of the result at a row and column.
    fn result(self, block: usize, row: usize, column: usize, format: Format) -> (usize, usize) {
        match (self.size, format) {
            (4, Format::F64) => (row * 16 + block * 4 + column, 0),
            (4, _) => (block * 4 + column, row),
            (size, Format::F64) => (row % 4 * size + column, row / 4),
            (size, _) => {
                let groups = LANES / size;
                let element = block * size / groups + row / (4 * groups) * 4 + row % 4;
                (row / 4 % groups * size + column, element)
            }
        }
    }
}

/// A decoded matrix product.
#[derive(Clone)]
pub(crate) struct Instruction {
    shape: Shape,
    left: Format,
    right: Format,
    result: u16,
    factors: [u16; 2],
    /// First register of the sum, or a constant.
    sum: std::result::Result<u16, f64>,
    pub(crate) cycles: u64,
}

/// Cycles of a product on one SIMD: from AMD's matrix instruction calculator; those of gfx950 follow from the peak rates.
fn cycles(arch: Arch, shape: Shape, format: Format) -> Option<u64> {
    let at_least = |first: Arch| arch >= first;
    let old = arch == Arch::Gfx90a;
    match (format, shape.size, shape.depth, shape.blocks) {
        (Format::F64, 16, 4, 1) => Some(32),
        (Format::F64, 4, 4, 4) => Some(16),
        (Format::F32, 32, 1, 2) | (Format::F32, 32, 2, 1) => Some(64),
        (Format::F32, 16, 1, 4) | (Format::F32, 16, 4, 1) => Some(32),
        (Format::F32, 4, 1, 16) => Some(8),
        (Format::Xf32, 32, 4, 1) if arch == Arch::Gfx942 => Some(32),
        (Format::Xf32, 16, 8, 1) if arch == Arch::Gfx942 => Some(16),
        (Format::F16 | Format::Bf16 | Format::I8, 32, 4, 2) => Some(64),
        (Format::F16 | Format::Bf16 | Format::I8, 16, 4, 4) => Some(32),
        (Format::F16 | Format::Bf16 | Format::I8, 4, 4, 16) => Some(8),
        (Format::F16 | Format::Bf16, 32, 8, 1) => Some(if old { 64 } else { 32 }),
        (Format::F16 | Format::Bf16, 16, 16, 1) => Some(if old { 32 } else { 16 }),
        (Format::I8, 32, 8, 1) if old => Some(64),
        (Format::I8, 16, 16, 1) if old => Some(32),
        (Format::Bf16, 32, 2, 2) if old => Some(64),
        (Format::Bf16, 16, 2, 4) if old => Some(32),
        (Format::Bf16, 4, 2, 16) if old => Some(8),
        (Format::Bf16, 32, 4, 1) if old => Some(64),
        (Format::Bf16, 16, 8, 1) if old => Some(32),
        (Format::I8 | Format::Fp8 | Format::Bf8, 32, 16, 1) if at_least(Arch::Gfx942) => Some(32),
        (Format::I8 | Format::Fp8 | Format::Bf8, 16, 32, 1) if at_least(Arch::Gfx942) => Some(16),
        (Format::F16 | Format::Bf16, 32, 16, 1) if at_least(Arch::Gfx950) => Some(32),
        (Format::F16 | Format::Bf16, 16, 32, 1) if at_least(Arch::Gfx950) => Some(16),
        (Format::I8, 32, 32, 1) if at_least(Arch::Gfx950) => Some(32),
        (Format::I8, 16, 64, 1) if at_least(Arch::Gfx950) => Some(16),
        _ => None,
    }
}

fn format(name: &str) -> Option<(Format, Format)> {
    Some(match name.strip_suffix("_1k").unwrap_or(name) {
        "f64" => (Format::F64, Format::F64),
        "f32" => (Format::F32, Format::F32),
        "xf32" => (Format::Xf32, Format::Xf32),
        "f16" => (Format::F16, Format::F16),
        "bf16" => (Format::Bf16, Format::Bf16),
        "i8" => (Format::I8, Format::I8),
        "fp8_fp8" => (Format::Fp8, Format::Fp8),
        "fp8_bf8" => (Format::Fp8, Format::Bf8),
        "bf8_fp8" => (Format::Bf8, Format::Fp8),
        "bf8_bf8" => (Format::Bf8, Format::Bf8),
        _ => return None,
    })
}

/// Shape and formats of a mnemonic: `v_mfma_f32_16x16x16_f16`, `v_mfma_f32_4x4x4_16b_f16`, `v_mfma_f32_32x32x8f16`.
fn parse(name: &str) -> Option<(Shape, Format, Format)> {
    let (result, rest) = name.strip_prefix("v_mfma_")?.split_once('_')?;
    let mut dimensions = rest.splitn(3, 'x');
    let (rows, columns, rest) = (dimensions.next()?, dimensions.next()?, dimensions.next()?);
    let digits = rest.find(|c: char| !c.is_ascii_digit())?;
    let (size, depth) = (
        rows.parse::<usize>().ok()?,
        rest[..digits].parse::<usize>().ok()?,
    );
    if rows != columns || !matches!(size, 4 | 16 | 32) || depth == 0 || depth > 128 {
        return None;
    }
    let rest = rest[digits..].trim_start_matches('_');
    let (blocks, kind) = match rest.split_once("b_") {
        Some((blocks, kind)) if blocks.chars().all(|c| c.is_ascii_digit()) => {
            (Some(blocks.parse().ok()?), kind)
        }
        _ => (None, rest),
    };
    let (left, right) = format(kind)?;
    let expected = match left {
        Format::F64 => "f64",
        Format::I8 => "i32",
        _ => "f32",
    };
    if result != expected {
        return None;
    }
    // Names of gfx90a do not state the number of blocks.
    let blocks = blocks.unwrap_or_else(|| {
        let multiple = match (left, kind.ends_with("_1k")) {
            (Format::F32, _) => depth == 1,
            (Format::F16 | Format::I8, _) | (Format::Bf16, true) => depth == 4,
            (Format::Bf16, false) => depth == 2,
            (Format::F64, _) => size == 4,
            _ => false,
        };
        match (multiple, left, size) {
            (true, Format::F64, _) => 4,
            (true, _, 32) => 2,
            (true, _, 16) => 4,
            (true, _, _) => 16,
            _ => 1,
        }
    });
    Some((
        Shape {
            size,
            depth,
            blocks,
        },
        left,
        right,
    ))
}

/// Decodes an instruction. `None` if the mnemonic is not a matrix product that `arch` has.
pub(crate) fn decode(text: &mut Text, arch: Arch) -> Result<Option<Instruction>> {
    let name = text.mnemonic.strip_suffix("_e64").unwrap_or(&text.mnemonic);
    let Some((shape, left, right)) = parse(name) else {
        return Ok(None);
    };
    let Some(cycles) = cycles(arch, shape, left) else {
        return Ok(None);
    };
    for modifier in ["cbsz", "abid", "blgp"] {
        if text.take_integer(modifier)?.unwrap_or(0) != 0 {
            return Err(text.error(format!("{modifier} is not supported")));
        }
    }
    text.expect_no_modifiers()?;
    text.expect_operands(4)?;
    let factor = |bits: usize| (shape.factor_elements() * bits / 32) as u8;
    let sum = (shape.result_elements() * if left == Format::F64 { 2 } else { 1 }) as u8;
    let register = |at: usize, count: u8| match operand::operand(text.operand(at)?) {
        Some(Operand::Vector(first, found)) if found == count => Ok(first),
        _ => Err(text.error(format!(
            "operand {} must be {count} vector registers",
            at + 1
        ))),
    };
    let start = match operand::operand(text.operand(3)?) {
        Some(Operand::Integer(value)) if left == Format::I8 => Err(value as f64),
        Some(Operand::Integer(0)) => Err(0.0),
        Some(Operand::Float(value)) if left != Format::I8 => Err(value),
        _ => Ok(register(3, sum)?),
    };
    Ok(Some(Instruction {
        shape,
        left,
        right,
        result: register(0, sum)?,
        factors: [
            register(1, factor(left.bits()))?,
            register(2, factor(right.bits()))?,
        ],
        sum: start,
        cycles,
    }))
}

impl Instruction {
    /// Executes the product. EXEC does not matter.
    pub(crate) fn execute(&self, wave: &mut Wave) {
        let Shape {
            size,
            depth,
            blocks,
        } = self.shape;
        let factors = [(0, self.left), (1, self.right)];
        let [a, b] = factors.map(|(place, format)| self.factors(wave, place, format));
        let elements = self.shape.factor_elements();
        // Rows of the left factor, and columns of the right one side by side, so that a row of sums is one loop.
        let mut left = vec![0.0; a.len()];
        let mut right = vec![0.0; b.len()];
        for block in 0..blocks {
            for row in 0..size {
                for at in 0..depth {
                    let (lane, element) = self.shape.factor(block, row, at);
                    left[(block * size + row) * depth + at] = a[lane * elements + element];
                    right[(block * depth + at) * size + row] = b[lane * elements + element];
                }
            }
        }
        let mut results = vec![[0u64; LANES]; self.shape.result_elements()];
        let mut sums = vec![0.0; size];
        for (row, factors) in left.chunks_exact(depth).enumerate() {
            let (block, row) = (row / size, row % size);
            for (column, sum) in sums.iter_mut().enumerate() {
                let (lane, element) = self.shape.result(block, row, column, self.left);
                *sum = self.start(wave, lane, element);
            }
            let columns = right[block * depth * size..].chunks_exact(size);
            for (a, columns) in factors.iter().zip(columns) {
                for (sum, b) in sums.iter_mut().zip(columns) {
                    *sum += a * b;
                }
            }
            for (column, sum) in sums.iter().enumerate() {
                let (lane, element) = self.shape.result(block, row, column, self.left);
                results[element][lane] = match self.left {
                    Format::F64 => sum.to_bits(),
                    Format::I8 => u64::from(*sum as i64 as u32),
                    _ => u64::from((*sum as f32).to_bits()),
                };
            }
        }
        for (register, values) in (self.result..)
            .step_by(if self.left == Format::F64 { 2 } else { 1 })
            .zip(&results)
        {
            if self.left == Format::F64 {
                wave.set_wide(register, values, u64::MAX);
            } else {
                wave.set_vector(
                    register,
                    &std::array::from_fn(|lane| values[lane] as u32),
                    u64::MAX,
                );
            }
        }
    }

    /// The elements of a factor, lane by lane.
    fn factors(&self, wave: &Wave, place: usize, format: Format) -> Vec<f64> {
        let (first, elements, bits) = (
            self.factors[place],
            self.shape.factor_elements(),
            format.bits(),
        );
        let element = |lane: usize, at: usize| {
            let register = first + (at * bits / 32) as u16;
            let word = u64::from(wave.vector(register)[lane]);
            let value = match bits {
                64 => word | u64::from(wave.vector(register + 1)[lane]) << 32,
                32 => word,
                _ => word >> (at * bits % 32) & ((1 << bits) - 1),
            };
            format.decode(value, wave.ocp)
        };
        (0..LANES)
            .flat_map(|lane| (0..elements).map(move |at| (lane, at)))
            .map(|(lane, at)| element(lane, at))
            .collect()
    }

    fn start(&self, wave: &Wave, lane: usize, element: usize) -> f64 {
        match (self.sum, self.left) {
            (Err(constant), _) => constant,
            (Ok(first), Format::F64) => {
                let register = first + 2 * element as u16;
                f64::from_bits(
                    u64::from(wave.vector(register)[lane])
                        | u64::from(wave.vector(register + 1)[lane]) << 32,
                )
            }
            (Ok(first), Format::I8) => f64::from(wave.vector(first + element as u16)[lane] as i32),
            (Ok(first), _) => f64::from(f32::from_bits(wave.vector(first + element as u16)[lane])),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FNV-1a of lanes and elements.
    fn fingerprint(places: impl Iterator<Item = (usize, usize)>) -> u64 {
        places
            .flat_map(|(lane, element)| [lane, element])
            .fold(0xcbf2_9ce4_8422_2325, |hash: u64, number| {
                (hash ^ number as u64).wrapping_mul(0x100_0000_01b3)
            })
    }

    /// The fingerprints of the layouts that AMD's matrix instruction calculator prints for the left factor and the result.
    #[test]
    fn layouts_are_those_of_the_matrix_instruction_calculator() {
        #[rustfmt::skip]
        let table = [
            ("v_mfma_f32_16x16x16_f16", 0x80af2dd68cc0fa5, 0x5b77a6691bb3fee5),
            ("v_mfma_f32_32x32x8_bf16", 0x7e543c0f2d2910a5, 0x705a42bab6f252a5),
            ("v_mfma_f32_32x32x4_2b_f16", 0x7f5c96049474b25, 0x6b5395e58dc28225),
            ("v_mfma_f32_16x16x4_4b_bf16", 0x7f5c96049474b25, 0xf2437cb998a831a5),
            ("v_mfma_f32_4x4x4_16b_f16", 0x7f5c96049474b25, 0xb3e90fa94f046d25),
            ("v_mfma_f32_16x16x8_xf32", 0xd1992a2b4c6d4525, 0x5b77a6691bb3fee5),
            ("v_mfma_f32_32x32x4_xf32", 0x49a9a53f52547325, 0x705a42bab6f252a5),
            ("v_mfma_f32_32x32x2_f32", 0x2c41ffd0dd502d25, 0x705a42bab6f252a5),
            ("v_mfma_f32_16x16x4_f32", 0x4bcf5dce49fe6ca5, 0x5b77a6691bb3fee5),
            ("v_mfma_f32_32x32x1_2b_f32", 0xf131e1edae4d9125, 0x6b5395e58dc28225),
            ("v_mfma_f32_16x16x1_4b_f32", 0xf131e1edae4d9125, 0xf2437cb998a831a5),
            ("v_mfma_f32_4x4x1_16b_f32", 0xf131e1edae4d9125, 0xb3e90fa94f046d25),
            ("v_mfma_i32_16x16x32_i8", 0xa3b0dfd633fffa25, 0x5b77a6691bb3fee5),
            ("v_mfma_i32_32x32x16_i8", 0x1f2300c9474f20a5, 0x705a42bab6f252a5),
            ("v_mfma_f32_16x16x32_fp8_fp8", 0xa3b0dfd633fffa25, 0x5b77a6691bb3fee5),
            ("v_mfma_f32_32x32x16_fp8_bf8", 0x1f2300c9474f20a5, 0x705a42bab6f252a5),
            ("v_mfma_f64_16x16x4_f64", 0x4bcf5dce49fe6ca5, 0x118fedd45be5eae5),
            ("v_mfma_f64_4x4x4_4b_f64", 0x4bcf5dce49fe6ca5, 0x4c448fbe38be9fa5),
            ("v_mfma_f32_32x32x4bf16", 0x49a9a53f52547325, 0x705a42bab6f252a5),
            ("v_mfma_f32_16x16x16bf16_1k", 0x80af2dd68cc0fa5, 0x5b77a6691bb3fee5),
            ("v_mfma_i32_32x32x8i8", 0x7e543c0f2d2910a5, 0x705a42bab6f252a5),
        ];
        for (name, factor, result) in table {
            let (shape, format, _) = parse(name).expect("a matrix product");
            let Shape {
                size,
                depth,
                blocks,
            } = shape;
            let cells = |columns: usize| {
                (0..blocks).flat_map(move |block| {
                    (0..size)
                        .flat_map(move |row| (0..columns).map(move |column| (block, row, column)))
                })
            };
            let factors = cells(depth).map(|(block, row, at)| shape.factor(block, row, at));
            assert_eq!(fingerprint(factors), factor, "{name}: factor");
            let results =
                cells(size).map(|(block, row, column)| shape.result(block, row, column, format));
            assert_eq!(fingerprint(results), result, "{name}: result");
        }
    }

    #[test]
    fn gpus_have_their_own_products() {
        let has =
            |arch, name| parse(name).and_then(|(shape, format, _)| cycles(arch, shape, format));
        assert_eq!(has(Arch::Gfx90a, "v_mfma_f32_16x16x16bf16_1k"), Some(32));
        assert_eq!(has(Arch::Gfx942, "v_mfma_f32_16x16x16_bf16"), Some(16));
        assert_eq!(has(Arch::Gfx90a, "v_mfma_f32_16x16x32_fp8_fp8"), None);
        assert_eq!(has(Arch::Gfx942, "v_mfma_f32_16x16x32_f16"), None);
        assert_eq!(has(Arch::Gfx950, "v_mfma_f32_16x16x32_f16"), Some(16));
        assert_eq!(has(Arch::Gfx942, "v_mfma_f32_16x16x8_xf32"), Some(16));
        assert_eq!(has(Arch::Gfx950, "v_mfma_f32_16x16x8_xf32"), None);
    }
}
