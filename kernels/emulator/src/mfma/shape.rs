//! Which lane and element holds which number of a factor and of the result.

use super::format::Format;
use crate::vector::LANES;

/// Rows (and columns) of a block, depth, and blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) size: usize,
    pub(super) depth: usize,
    pub(super) blocks: usize,
}

/// Consecutive elements of depth in a lane for 8-bit formats of `f8f6f4`, which have twice as many elements in a lane.
const RUN: usize = 16;

impl Shape {
    /// Elements of a factor in a lane.
    pub(super) fn factor_elements(self) -> usize {
        self.size * self.depth * self.blocks / LANES
    }

    /// Elements of the result in a lane.
    pub(super) fn result_elements(self) -> usize {
        self.size * self.size * self.blocks / LANES
    }

    /// Lane and element of a factor at a row (or column) and depth.
    pub(super) fn factor(self, block: usize, row: usize, depth: usize) -> (usize, usize) {
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

    /// The same for a factor of `f8f6f4`, where 8-bit formats are stored as two products of half the depth, one after
    /// the other.
    pub(super) fn selected_factor(
        self,
        format: Format,
        row: usize,
        depth: usize,
    ) -> (usize, usize) {
        if format.bits() < 8 {
            return self.factor(0, row, depth);
        }
        let half = self.depth / 2;
        let lane = depth % half / RUN * self.size + row;
        (lane, depth / half * RUN + depth % RUN)
    }

    /// Lane and element of the result at a row and column.
    pub(super) fn result(
        self,
        block: usize,
        row: usize,
        column: usize,
        format: Format,
    ) -> (usize, usize) {
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

#[cfg(test)]
mod tests {
    use super::super::name::{self, Formats, Name};
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
            let Name { shape, formats, .. } = name::parse(name).expect("a matrix product");
            let Formats::Fixed(format, _) = formats else {
                panic!("{name} has fixed formats");
            };
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
}
