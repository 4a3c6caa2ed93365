//! Products with a sparse left factor, against sums over matrices that are written to registers as AMD's matrix instruction
//! calculator places them.

mod common;

use common::{numbers, product, result_place};

/// Bits of exponent and fraction and bias of a floating-point format; `None` is an integer of 8 bits.
#[derive(Clone, Copy)]
struct Format(Option<(u32, u32, i32)>);

const F16: Format = Format(Some((5, 10, 15)));
const BF16: Format = Format(Some((8, 7, 127)));
const I8: Format = Format(None);
const FNUZ_FP8: Format = Format(Some((4, 3, 8)));
const FNUZ_BF8: Format = Format(Some((5, 2, 16)));
const OCP_FP8: Format = Format(Some((4, 3, 7)));
const OCP_BF8: Format = Format(Some((5, 2, 15)));

impl Format {
    fn bytes(self) -> usize {
        self.0.map_or(1, |(exponent, fraction, _)| {
            (1 + exponent + fraction) as usize / 8
        })
    }

    /// A small integer, which every format represents.
    fn encode(self, value: i32) -> u32 {
        let Some((exponent, fraction, bias)) = self.0 else {
            return value as u8 as u32;
        };
        if value == 0 {
            return 0;
        }
        let bits = (value as f32).to_bits();
        let power = (bits >> 23 & 0xff) as i32 - 127 + bias;
        bits >> 31 << (exponent + fraction)
            | (power as u32) << fraction
            | (bits & 0x7f_ffff) >> (23 - fraction)
    }
}

/// A product: its name without `v_smfmac_`, the formats, and the modifiers with the set of positions that they select.
struct Case {
    arch: &'static str,
    name: &'static str,
    formats: [Format; 2],
    modifiers: &'static str,
    set: usize,
}

const fn case(
    arch: &'static str,
    name: &'static str,
    formats: [Format; 2],
    modifiers: &'static str,
    set: usize,
) -> Case {
    Case {
        arch,
        name,
        formats,
        modifiers,
        set,
    }
}

#[rustfmt::skip]
const CASES: [Case; 22] = [
    case("gfx942", "f32_16x16x32_f16", [F16, F16], "", 0),
    case("gfx942", "f32_16x16x32_f16", [F16, F16], " abid:3", 3),
    case("gfx942", "f32_16x16x32_f16", [F16, F16], " cbsz:1 abid:3", 0),
    case("gfx942", "f32_16x16x32_bf16", [BF16, BF16], " abid:1", 1),
    case("gfx942", "f32_32x32x16_f16", [F16, F16], " abid:2", 2),
    case("gfx942", "f32_32x32x16_bf16", [BF16, BF16], "", 0),
    case("gfx942", "i32_16x16x64_i8", [I8, I8], " abid:1", 1),
    case("gfx942", "i32_32x32x32_i8", [I8, I8], "", 0),
    case("gfx942", "f32_16x16x64_fp8_fp8", [FNUZ_FP8, FNUZ_FP8], "", 0),
    case("gfx942", "f32_16x16x64_bf8_fp8", [FNUZ_BF8, FNUZ_FP8], " abid:1", 1),
    case("gfx942", "f32_32x32x32_fp8_bf8", [FNUZ_FP8, FNUZ_BF8], "", 0),
    case("gfx942", "f32_32x32x32_bf8_bf8", [FNUZ_BF8, FNUZ_BF8], " abid:1", 1),
    case("gfx950", "f32_16x16x32_f16", [F16, F16], " abid:1", 1),
    case("gfx950", "f32_16x16x64_fp8_bf8", [OCP_FP8, OCP_BF8], "", 0),
    case("gfx950", "f32_16x16x64_f16", [F16, F16], " abid:1", 1),
    case("gfx950", "f32_16x16x64_bf16", [BF16, BF16], "", 0),
    case("gfx950", "f32_32x32x32_f16", [F16, F16], "", 0),
    case("gfx950", "f32_32x32x32_bf16", [BF16, BF16], " abid:1", 1),
    case("gfx950", "i32_16x16x128_i8", [I8, I8], "", 0),
    case("gfx950", "i32_32x32x64_i8", [I8, I8], "", 0),
    case("gfx950", "f32_16x16x128_bf8_fp8", [OCP_BF8, OCP_FP8], "", 0),
    case("gfx950", "f32_32x32x64_fp8_fp8", [OCP_FP8, OCP_FP8], "", 0),
];

/// Writes an element of a lane's registers.
fn store(words: &mut [u32; 20], first: usize, format: Format, element: usize, value: i32) {
    let start = 8 * format.bytes() * element;
    words[first + start / 32] |= format.encode(value) << (start % 32);
}

fn check(case: &Case) {
    let dimensions: Vec<usize> = case.name[4..]
        .split(['x', '_'])
        .take(3)
        .map(|word| word.parse().expect("a number"))
        .collect();
    let [size, _, depth] = dimensions[..] else {
        panic!("{} has three dimensions", case.name)
    };
    let random = numbers(3 * size * depth, 5);
    let mut next = random.iter().skip(23).copied();
    let mut below = |end: u64| (next.next().expect("enough numbers") % end) as i32;
    // Each row has two numbers among four.
    let pairs = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)];
    let mut lanes = [[0u32; 20]; 64];
    let (left, right) = (size * depth / 128, size * depth / 64);
    let bits = 2 * left;
    let mut a = vec![vec![0; depth]; size];
    for (row, dense) in a.iter_mut().enumerate() {
        for group in 0..depth / 4 {
            let pair = pairs[below(6) as usize];
            for (place, position) in [pair.0, pair.1].into_iter().enumerate() {
                let (value, at) = (below(9) - 4, 2 * group + place);
                dense[4 * group + position] = value;
                let words = &mut lanes[at / left * size + row];
                store(words, 0, case.formats[0], at % left, value);
                // Other sets have other positions.
                for set in 0..32 / bits {
                    let position = if set == case.set {
                        position
                    } else {
                        3 - position
                    } as u32;
                    words[16] |= position << (set * bits + 2 * (at % left));
                }
            }
        }
    }
    let mut b = vec![vec![0; depth]; size];
    for (column, numbers) in b.iter_mut().enumerate() {
        for (at, value) in numbers.iter_mut().enumerate() {
            *value = below(9) - 4;
            store(
                &mut lanes[at / right * size + column],
                8,
                case.formats[1],
                at % right,
                *value,
            );
        }
    }
    let registers = |first: usize, elements: usize, format: Format| {
        format!("v[{first}:{}]", first + elements * format.bytes() / 4 - 1)
    };
    let code = format!(
        "v_smfmac_{} {}, {}, {}, v20{}",
        case.name,
        if size == 16 { "v[36:39]" } else { "v[36:51]" },
        registers(4, left, case.formats[0]),
        registers(12, right, case.formats[1]),
        case.modifiers
    );
    let integer = case.formats[0].0.is_none();
    let start = if integer { 7 } else { 7f32.to_bits() };
    for (lane, values) in product(case.arch, &code, &lanes, start).iter().enumerate() {
        for (register, value) in values.iter().take(size * size / 64).enumerate() {
            let (row, column) = result_place(size, lane, register);
            let wanted = 7 + a[row]
                .iter()
                .zip(&b[column])
                .map(|(a, b)| a * b)
                .sum::<i32>();
            let got = if integer {
                *value as i32 as f32
            } else {
                f32::from_bits(*value)
            };
            assert_eq!(got, wanted as f32, "{} {code}", case.arch);
        }
    }
}

#[test]
fn sparse_products_use_the_positions_of_the_index() {
    for case in &CASES {
        check(case);
    }
}

#[test]
fn numbers_beside_those_of_the_index_are_not_multiplied() {
    let mut lanes = [[0u32; 20]; 64];
    for words in &mut lanes {
        for element in 0..4 {
            store(words, 0, F16, element, 1);
        }
        // Positions 0 and 1; infinity is at 2 and 3.
        words[16] = 0x44;
        for (at, word) in words[8..12].iter_mut().enumerate() {
            *word = if at % 2 == 0 {
                0x3c00_3c00
            } else {
                0x7c00_7c00
            };
        }
    }
    let code = "v_smfmac_f32_16x16x32_f16 v[36:39], v[4:5], v[12:15], v20";
    for values in product("gfx942", code, &lanes, 0) {
        assert_eq!(f32::from_bits(values[0]), 16.0);
    }
}

#[test]
fn seeded_faults_are_caught() {
    let test = sparse_products_use_the_positions_of_the_index;
    common::assert_caught(&[
        ("x32_f16", "x32_bf16", test),
        ("x64_bf8_fp8", "x64_fp8_fp8", test),
        ("abid:1", "abid:0", test),
    ]);
}
