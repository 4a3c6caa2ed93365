//! Products of 8, 6 and 4 bits with scales (gfx950), against sums over matrices that are written to registers as AMD's
//! documentation places them.

mod common;

use common::{numbers, product, result_place};

/// A format: number of `cbsz` and `blgp`, bits of exponent and fraction, bias, and the first bits that are no number.
#[derive(Clone, Copy, Debug)]
struct Format {
    number: u32,
    exponent: u32,
    fraction: u32,
    bias: i32,
    end: u32,
}

const FORMATS: [Format; 5] = [
    Format {
        number: 0,
        exponent: 4,
        fraction: 3,
        bias: 7,
        end: 0x7f,
    },
    Format {
        number: 1,
        exponent: 5,
        fraction: 2,
        bias: 15,
        end: 0x7c,
    },
    Format {
        number: 2,
        exponent: 2,
        fraction: 3,
        bias: 1,
        end: 0x20,
    },
    Format {
        number: 3,
        exponent: 3,
        fraction: 2,
        bias: 3,
        end: 0x20,
    },
    Format {
        number: 4,
        exponent: 2,
        fraction: 1,
        bias: 1,
        end: 0x8,
    },
];

impl Format {
    fn bits(self) -> usize {
        (1 + self.exponent + self.fraction) as usize
    }

    /// The bits of any number of the format.
    fn any(self, random: u64) -> u32 {
        let magnitude = random as u32 % self.end;
        magnitude | (random as u32 >> 31) << (self.exponent + self.fraction)
    }

    fn value(self, bits: u32) -> f64 {
        let steps = f64::from(1u32 << self.fraction);
        let fraction = f64::from(bits % (1 << self.fraction)) / steps;
        let exponent = (bits >> self.fraction) as i32 % (1 << self.exponent);
        let magnitude = if exponent == 0 {
            fraction * 2f64.powi(1 - self.bias)
        } else {
            (1.0 + fraction) * 2f64.powi(exponent - self.bias)
        };
        let sign = bits >> (self.exponent + self.fraction) & 1;
        if sign == 1 { -magnitude } else { magnitude }
    }

    /// Lane and element of the number at a row and depth. Numbers of 8 bits are stored in two runs of 16.
    fn place(self, size: usize, depth: usize, row: usize, at: usize) -> (usize, usize) {
        if self.bits() == 8 {
            let half = depth / 2;
            (at % half / 16 * size + row, at / half * 16 + at % 16)
        } else {
            (at / 32 * size + row, at % 32)
        }
    }
}

/// A factor: bits by row and depth.
struct Factor {
    format: Format,
    size: usize,
    bits: Vec<Vec<u32>>,
}

impl Factor {
    fn new(format: Format, size: usize, depth: usize, seed: u64) -> Self {
        let random = numbers(size * depth + 23, seed);
        let bits = random[23..].chunks_exact(depth);
        let row = |row: &[u64]| row.iter().map(|random| format.any(*random)).collect();
        Self {
            format,
            size,
            bits: bits.map(row).collect(),
        }
    }

    /// Writes the factor to the registers from `first`.
    fn store(&self, lanes: &mut [[u32; 20]; 64], first: usize) {
        for (row, numbers) in self.bits.iter().enumerate() {
            for (at, bits) in numbers.iter().enumerate() {
                let (lane, element) = self.format.place(self.size, numbers.len(), row, at);
                let start = element * self.format.bits();
                let word = u64::from(*bits) << (start % 32);
                lanes[lane][first + start / 32] |= word as u32;
                if word >> 32 != 0 {
                    lanes[lane][first + start / 32 + 1] |= (word >> 32) as u32;
                }
            }
        }
    }

    fn registers(&self, first: usize) -> String {
        format!("v[{first}:{}]", first + self.format.bits() - 1)
    }
}

/// The bytes of the scales of a lane, which differ from each other.
fn scales(lane: usize, salt: u32) -> u32 {
    (0..4).fold(0, |word, byte| {
        word | (120 + (lane as u32 * 5 + byte * 3 + salt) % 15) << (8 * byte)
    })
}

fn check(size: usize, left: Format, right: Format, bytes: Option<[u32; 2]>) {
    let depth = 2048 / size;
    let (a, b) = (
        Factor::new(left, size, depth, 1),
        Factor::new(right, size, depth, 2),
    );
    let mut lanes = [[0; 20]; 64];
    a.store(&mut lanes, 0);
    b.store(&mut lanes, 8);
    for (lane, words) in lanes.iter_mut().enumerate() {
        (words[16], words[17]) = (scales(lane, 0), scales(lane, 7));
    }
    let (name, operands) = match bytes {
        None => ("v_mfma", String::new()),
        Some([a, b]) => (
            "v_mfma_scale",
            format!(
                ", v20, v21 op_sel:[{},{},0] op_sel_hi:[{},{},0]",
                a & 1,
                b & 1,
                a >> 1,
                b >> 1
            ),
        ),
    };
    let sum = if size == 16 { "v[36:39]" } else { "v[36:51]" };
    let code = format!(
        "{name}_f32_{size}x{size}x{depth}_f8f6f4 {sum}, {}, {}, {sum}{operands} cbsz:{} blgp:{}",
        a.registers(4),
        b.registers(12),
        left.number,
        right.number
    );
    let results = product("gfx950", &code, &lanes, 1f32.to_bits());
    let scale = |salt: u32, row: usize, at: usize, place: usize| {
        let Some(bytes) = bytes else { return 1.0 };
        let word = scales(at / 32 * size + row, salt);
        2f64.powi((word >> (8 * bytes[place]) & 0xff) as i32 - 127)
    };
    for (lane, values) in results.iter().enumerate() {
        for (register, value) in values.iter().take(size * size / 64).enumerate() {
            let (row, column) = result_place(size, lane, register);
            let terms: Vec<f64> = (0..depth)
                .map(|at| {
                    left.value(a.bits[row][at])
                        * right.value(b.bits[column][at])
                        * scale(0, row, at, 0)
                        * scale(7, column, at, 1)
                })
                .collect();
            let wanted = 1.0 + terms.iter().sum::<f64>();
            let largest = 1.0 + terms.iter().map(|term| term.abs()).sum::<f64>();
            let got = f64::from(f32::from_bits(*value));
            assert!(
                (got - wanted).abs() <= 1e-6 * largest,
                "{code}: {got} instead of {wanted}"
            );
        }
    }
}

#[test]
fn every_pair_of_formats_is_multiplied_with_its_scales() {
    for size in [16, 32] {
        for (at, left) in FORMATS.into_iter().enumerate() {
            for (place, right) in FORMATS.into_iter().enumerate() {
                let bytes = [at as u32 % 4, (at + place + 1) as u32 % 4];
                check(size, left, right, Some(bytes));
                check(size, left, right, None);
            }
        }
    }
}

#[test]
fn scale_that_is_no_number_reaches_its_row_only() {
    let mut lanes = [[0; 20]; 64];
    for (lane, words) in lanes.iter_mut().enumerate() {
        // 1.0 in E2M1, and scales of 1 except that of row 3, depth 32 to 63.
        words[..16].fill(0x2222_2222);
        (words[16], words[17]) = (if lane == 19 { 255 } else { 127 }, 127);
    }
    let code = "v_mfma_scale_f32_16x16x128_f8f6f4 v[36:39], v[4:7], v[12:15], v[36:39], v20, v21 op_sel_hi:[0,0,0] cbsz:4 blgp:4";
    let results = product("gfx950", code, &lanes, 0);
    for (lane, values) in results.iter().enumerate() {
        for (register, value) in values.iter().take(4).enumerate() {
            let value = f32::from_bits(*value);
            if result_place(16, lane, register).0 == 3 {
                assert!(value.is_nan());
            } else {
                assert_eq!(value, 128.0);
            }
        }
    }
}

#[test]
fn seeded_faults_are_caught() {
    let test = every_pair_of_formats_is_multiplied_with_its_scales;
    common::assert_caught(&[
        ("cbsz:2", "cbsz:3", test),
        ("blgp:1", "blgp:0", test),
        ("op_sel_hi:[1,", "op_sel_hi:[0,", test),
        (", v20, v21", ", v21, v20", test),
    ]);
}
