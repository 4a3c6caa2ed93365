//! Mnemonics of matrix products, and which architecture has which product.

use super::format::Format;
use super::shape::Shape;
use crate::arch::Arch;

/// A mnemonic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Name {
    pub(super) shape: Shape,
    pub(super) formats: Formats,
    pub(super) kind: Kind,
}

/// How the mnemonic states the formats of the factors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Formats {
    Fixed(Format, Format),
    /// `f8f6f4`: the modifiers `cbsz` and `blgp` select them.
    Selected,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Dense,
    /// `v_mfma_scale_*`: 32 consecutive elements of a factor share a scale.
    Scaled,
    /// `v_smfmac_*`: two of four consecutive elements of the left factor are stored; the others are zero.
    Sparse,
}

/// Parses `v_mfma_f32_16x16x16_f16`, `v_mfma_f32_4x4x4_16b_f16`, `v_mfma_f32_32x32x8f16`, `v_smfmac_f32_16x16x32_f16`.
pub(super) fn parse(name: &str) -> Option<Name> {
    let prefixes = [
        ("v_mfma_scale_", Kind::Scaled),
        ("v_mfma_", Kind::Dense),
        ("v_smfmac_", Kind::Sparse),
    ];
    let (rest, kind) = prefixes
        .iter()
        .find_map(|(prefix, kind)| Some((name.strip_prefix(prefix)?, *kind)))?;
    let (result, rest) = rest.split_once('_')?;
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
    let (blocks, word) = match rest.split_once("b_") {
        Some((blocks, word)) if blocks.chars().all(|c| c.is_ascii_digit()) => {
            (Some(blocks.parse().ok()?), word)
        }
        _ => (None, rest),
    };
    let formats = formats(word)?;
    let (expected, blocks) = match formats {
        Formats::Selected => ("f32", blocks.unwrap_or(1)),
        Formats::Fixed(left, _) => (
            match left {
                Format::F64 => "f64",
                Format::I8 => "i32",
                _ => "f32",
            },
            blocks.unwrap_or_else(|| blocks_of(left, word, size, depth)),
        ),
    };
    let possible = match kind {
        Kind::Dense => true,
        Kind::Scaled => formats == Formats::Selected,
        Kind::Sparse => formats != Formats::Selected,
    };
    if result != expected || !possible {
        return None;
    }
    Some(Name {
        shape: Shape {
            size,
            depth,
            blocks,
        },
        formats,
        kind,
    })
}

fn formats(word: &str) -> Option<Formats> {
    let (left, right) = match word.strip_suffix("_1k").unwrap_or(word) {
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
        "f8f6f4" => return Some(Formats::Selected),
        _ => return None,
    };
    Some(Formats::Fixed(left, right))
}

/// Names of gfx90a do not state the number of blocks.
fn blocks_of(format: Format, word: &str, size: usize, depth: usize) -> usize {
    let multiple = match (format, word.ends_with("_1k")) {
        (Format::F32, _) => depth == 1,
        (Format::F16 | Format::I8, _) | (Format::Bf16, true) => depth == 4,
        (Format::Bf16, false) => depth == 2,
        (Format::F64, _) => size == 4,
        _ => false,
    };
    match (multiple, format, size) {
        (true, Format::F64, _) => 4,
        (true, _, 32) => 2,
        (true, _, 16) => 4,
        (true, _, _) => 16,
        _ => 1,
    }
}

impl Name {
    /// Cycles of the product on one SIMD: from AMD's matrix instruction calculator; those of gfx950 follow from the peak
    /// rates. `None` if the architecture does not have the product.
    pub(super) fn cycles(self, arch: Arch, left: Format, right: Format) -> Option<u64> {
        let Shape {
            size,
            depth,
            blocks,
        } = self.shape;
        match (self.kind, self.formats) {
            (Kind::Sparse, _) => sparse(arch, left, size, depth, blocks),
            (_, Formats::Selected) => {
                let fast = left.bits() < 8 && right.bits() < 8;
                match (arch, size, depth, blocks) {
                    (Arch::Gfx950, 32, 64, 1) => Some(if fast { 32 } else { 64 }),
                    (Arch::Gfx950, 16, 128, 1) => Some(if fast { 16 } else { 32 }),
                    _ => None,
                }
            }
            (_, Formats::Fixed(..)) => dense(arch, left, size, depth, blocks),
        }
    }
}

fn dense(arch: Arch, format: Format, size: usize, depth: usize, blocks: usize) -> Option<u64> {
    let at_least = |first: Arch| arch >= first;
    let old = arch == Arch::Gfx90a;
    match (format, size, depth, blocks) {
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

fn sparse(arch: Arch, format: Format, size: usize, depth: usize, blocks: usize) -> Option<u64> {
    // Elements of 16 bits reach half the depth.
    let depth = match format {
        Format::F16 | Format::Bf16 => 2 * depth,
        Format::I8 | Format::Fp8 | Format::Bf8 => depth,
        _ => return None,
    };
    match (size, depth, blocks) {
        (32, 32, 1) if arch >= Arch::Gfx942 => Some(32),
        (16, 64, 1) if arch >= Arch::Gfx942 => Some(16),
        (32, 64, 1) if arch >= Arch::Gfx950 => Some(32),
        (16, 128, 1) if arch >= Arch::Gfx950 => Some(16),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gpus_have_their_own_products() {
        let has = |arch, name| {
            let name = parse(name)?;
            let (left, right) = match name.formats {
                Formats::Fixed(left, right) => (left, right),
                Formats::Selected => (Format::Fp8, Format::Fp4),
            };
            name.cycles(arch, left, right)
        };
        assert_eq!(has(Arch::Gfx90a, "v_mfma_f32_16x16x16bf16_1k"), Some(32));
        assert_eq!(has(Arch::Gfx942, "v_mfma_f32_16x16x16_bf16"), Some(16));
        assert_eq!(has(Arch::Gfx90a, "v_mfma_f32_16x16x32_fp8_fp8"), None);
        assert_eq!(has(Arch::Gfx942, "v_mfma_f32_16x16x32_f16"), None);
        assert_eq!(has(Arch::Gfx950, "v_mfma_f32_16x16x32_f16"), Some(16));
        assert_eq!(has(Arch::Gfx942, "v_mfma_f32_16x16x8_xf32"), Some(16));
        assert_eq!(has(Arch::Gfx950, "v_mfma_f32_16x16x8_xf32"), None);
        assert_eq!(has(Arch::Gfx942, "v_mfma_f32_16x16x128_f8f6f4"), None);
        assert_eq!(has(Arch::Gfx950, "v_mfma_f32_16x16x128_f8f6f4"), Some(32));
        assert_eq!(
            has(Arch::Gfx950, "v_mfma_scale_f32_32x32x64_f8f6f4"),
            Some(64)
        );
        assert_eq!(has(Arch::Gfx950, "v_mfma_scale_f32_16x16x32_f16"), None);
        assert_eq!(has(Arch::Gfx90a, "v_smfmac_f32_16x16x32_f16"), None);
        assert_eq!(has(Arch::Gfx942, "v_smfmac_f32_16x16x32_f16"), Some(16));
        assert_eq!(has(Arch::Gfx942, "v_smfmac_f32_16x16x64_f16"), None);
        assert_eq!(has(Arch::Gfx950, "v_smfmac_i32_32x32x64_i8"), Some(32));
        assert_eq!(has(Arch::Gfx950, "v_smfmac_f32_16x16x128_f8f6f4"), None);
    }
}
