//! Each dense matrix product of fixed formats, with factors that do not depend on the depth: element `i, j` of the result is
//! a multiple of `(i + 1) * (j + 1)`. The layout along the depth has tests of its own.

use crate::common::product;
use hipward_emulator::{Arch, supports};

const ARCHS: [(Arch, &str); 3] = [
    (Arch::Gfx90a, "gfx90a"),
    (Arch::Gfx942, "gfx942"),
    (Arch::Gfx950, "gfx950"),
];

/// The products, each with an architecture that has it.
fn products() -> Vec<(&'static str, &'static str)> {
    let names = include_str!("../mnemonics.txt").lines();
    names
        .filter_map(|line| line.split(' ').next())
        .filter(|name| {
            name.starts_with("v_mfma_") && !name.contains("f8f6f4") && !name.contains("ld_scale")
        })
        .flat_map(|name| {
            let has = move |(arch, _): &&(Arch, &str)| supports(*arch, name);
            ARCHS.iter().filter(has).map(move |(_, arch)| (name, *arch))
        })
        .collect()
}

pub(crate) fn codes() -> Vec<String> {
    products()
        .into_iter()
        .map(|(name, _)| name.to_owned())
        .collect()
}

/// Size, depth, and format of a name.
fn parts(name: &str) -> (usize, usize, &str) {
    let rest = name.splitn(4, '_').nth(3).expect("dimensions");
    let mut dimensions = rest.splitn(3, 'x');
    let size = dimensions
        .next()
        .and_then(|size| size.parse().ok())
        .expect("a size");
    let rest = dimensions.nth(1).expect("a depth");
    let digits = rest.find(|c: char| !c.is_ascii_digit()).expect("a format");
    let kind = rest[digits..].trim_start_matches('_');
    let kind = kind.split_once("b_").map_or(kind, |(_, kind)| kind);
    (
        size,
        rest[..digits].parse().expect("a depth"),
        kind.trim_end_matches("_1k"),
    )
}

/// A small integer in a format, and bytes of an element.
fn encode(kind: &str, ocp: bool, value: u32) -> (u64, usize) {
    let float = (value as f32).to_bits();
    let small = |fraction: u32, bias: u32| {
        u64::from(((float >> 23) - 127 + bias) << fraction | (float & 0x7f_ffff) >> (23 - fraction))
    };
    match kind {
        "f64" => (f64::from(value).to_bits(), 8),
        "f32" | "xf32" => (u64::from(float), 4),
        "f16" => (small(10, 15), 2),
        "bf16" => (u64::from(float >> 16), 2),
        "i8" => (u64::from(value), 1),
        "fp8" => (small(3, if ocp { 7 } else { 8 }), 1),
        "bf8" => (small(2, if ocp { 15 } else { 16 }), 1),
        _ => panic!("the format {kind}"),
    }
}

/// Blocks of a product. Names of gfx90a do not state them.
fn blocks(name: &str) -> usize {
    match name.splitn(4, '_').nth(3).expect("dimensions") {
        rest if rest.contains("_16b_") => 16,
        rest if rest.contains("_4b_") => 4,
        rest if rest.contains("_2b_") => 2,
        "32x32x1f32" | "32x32x2bf16" | "32x32x4f16" | "32x32x4bf16_1k" | "32x32x4i8" => 2,
        "16x16x1f32" | "16x16x2bf16" | "16x16x4f16" | "16x16x4bf16_1k" | "16x16x4i8" => 4,
        "4x4x1f32" | "4x4x2bf16" | "4x4x4f16" | "4x4x4bf16_1k" | "4x4x4i8" => 16,
        "4x4x4f64" => 4,
        _ => 1,
    }
}

/// Lane and register of the result at a row and column of a block.
fn place(size: usize, double: bool, block: usize, row: usize, column: usize) -> (usize, usize) {
    match (size, double) {
        (4, true) => (row * 16 + block * 4 + column, 0),
        (4, false) => (block * 4 + column, row),
        (16, true) => (row % 4 * 16 + column, row / 4),
        (16, false) => (row / 4 * 16 + column, 4 * block + row % 4),
        _ => (
            row / 4 % 2 * 32 + column,
            16 * block + row / 8 * 4 + row % 4,
        ),
    }
}

#[test]
fn dense_products_multiply_rows_by_columns() {
    for (name, arch) in products() {
        let (size, depth, kinds) = parts(name);
        let (left, right) = kinds.split_once('_').unwrap_or((kinds, kinds));
        let blocks = blocks(name);
        let bytes = size * depth * blocks / 64 * encode(left, false, 1).1;
        let mut lanes = [[0u32; 20]; 64];
        for (lane, words) in lanes.iter_mut().enumerate() {
            for (first, kind) in [(0, left), (8, right)] {
                let (bits, width) = encode(kind, arch == "gfx950", (lane % size % 7 + 1) as u32);
                for at in 0..bytes / width {
                    let word = first + at * width / 4;
                    words[word] |= (bits as u32) << (8 * (at * width % 4));
                    if width == 8 {
                        words[word + 1] = (bits >> 32) as u32;
                    }
                }
            }
        }
        let double = left == "f64";
        let count = size * size * blocks / 64 * if double { 2 } else { 1 };
        let registers = |first: usize, count: usize| {
            if count == 1 {
                format!("v{first}")
            } else {
                format!("v[{first}:{}]", first + count - 1)
            }
        };
        let sum = registers(36, count);
        let code = format!(
            "{name} {sum}, {}, {}, {sum}",
            registers(4, bytes / 4),
            registers(12, bytes / 4)
        );
        let results = product(arch, &code, &lanes, 0);
        for block in 0..blocks {
            for row in 0..size {
                for column in 0..size {
                    let wanted = (depth * (row % 7 + 1) * (column % 7 + 1)) as f64;
                    let (lane, register) = place(size, double, block, row, column);
                    let got = match left {
                        "f64" => f64::from_bits(
                            u64::from(results[lane][2 * register])
                                | u64::from(results[lane][2 * register + 1]) << 32,
                        ),
                        "i8" => f64::from(results[lane][register]),
                        _ => f64::from(f32::from_bits(results[lane][register])),
                    };
                    assert_eq!(
                        got, wanted,
                        "{arch} {code}: {row}, {column} of block {block}"
                    );
                }
            }
        }
    }
}
