//! Matrix products in every format, from registers that each lane fills.

mod common;

use common::execute;

/// Runs a product of 16 x 16 blocks with the bytes of `a` and `b` in each lane; returns four results of each lane.
fn product(arch: &str, code: &str, a: &[u8], b: &[u8]) -> Vec<[u32; 4]> {
    let body = format!(
        "s_load_dwordx4 s[4:7], s[0:1], 0x0
         s_load_dwordx2 s[2:3], s[0:1], 0x10
         v_lshlrev_b32_e32 v1, 4, v0
         s_waitcnt lgkmcnt(0)
         global_load_dwordx4 v[4:7], v1, s[4:5]
         global_load_dwordx4 v[8:11], v1, s[6:7]
         v_accvgpr_write_b32 a0, 1.0
         v_accvgpr_write_b32 a1, 1.0
         v_accvgpr_write_b32 a2, 1.0
         v_accvgpr_write_b32 a3, 1.0
         s_waitcnt vmcnt(0)
         {code}
         v_accvgpr_read_b32 v12, a0
         v_accvgpr_read_b32 v13, a1
         v_accvgpr_read_b32 v14, a2
         v_accvgpr_read_b32 v15, a3
         global_store_dwordx4 v1, v[12:15], s[2:3]"
    );
    let (report, contents) = execute(arch, &body, &[a, b, &[0; 1024]], 0, 64);
    assert!(
        report.error.is_none() && report.findings.is_empty(),
        "{report:?}"
    );
    assert!(report.counts.matrix_cycles > 0);
    let word = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().expect("four bytes"));
    contents[2]
        .chunks_exact(16)
        .map(|row| [0, 4, 8, 12].map(|at| word(&row[at..at + 4])))
        .collect()
}

/// Fills a factor: each lane has `elements` numbers of depth, starting at `lane / 16 * elements`.
fn factor(elements: usize, bytes: usize, encode: impl Fn(usize, usize) -> u32) -> Vec<u8> {
    let mut all = vec![0; 64 * 16];
    for lane in 0..64 {
        for element in 0..elements {
            let value = encode(lane % 16, lane / 16 * elements + element).to_le_bytes();
            let start = lane * 16 + element * bytes;
            all[start..start + bytes].copy_from_slice(&value[..bytes]);
        }
    }
    all
}

/// Small integers, which every format represents.
fn left(row: usize, depth: usize) -> i32 {
    (row as i32 * 3 + depth as i32 * 5) % 7 - 3
}

fn right(column: usize, depth: usize) -> i32 {
    (column as i32 * 2 + depth as i32 * 3) % 5 - 2
}

fn expected(row: usize, column: usize, depth: usize) -> i32 {
    (0..depth).map(|at| left(row, at) * right(column, at)).sum()
}

fn half(value: i32) -> u32 {
    let bits = (value as f32).to_bits();
    if value == 0 {
        0
    } else {
        bits >> 16 & 0x8000 | ((bits >> 23 & 0xff) - 112) << 10 | bits >> 13 & 0x3ff
    }
}

/// E4M3 with a bias, for integers of at most four bits.
fn fp8(value: i32, bias: u32) -> u32 {
    let bits = (value as f32).to_bits();
    if value == 0 {
        0
    } else {
        bits >> 24 & 0x80 | ((bits >> 23 & 0xff) + bias - 127) << 3 | bits >> 20 & 7
    }
}

fn check(arch: &str, name: &str, depth: usize, bytes: usize, encode: impl Fn(i32) -> u32) {
    let elements = depth / 4;
    let a = factor(elements, bytes, |row, at| encode(left(row, at)));
    let b = factor(elements, bytes, |column, at| encode(right(column, at)));
    let last = |first: usize| first + elements * bytes / 4 - 1;
    let registers = |first: usize| {
        if last(first) == first {
            format!("v{first}")
        } else {
            format!("v[{first}:{}]", last(first))
        }
    };
    for sum in ["a[0:3]", "0"] {
        let code = format!("{name} a[0:3], {}, {}, {sum}", registers(4), registers(8));
        let results = product(arch, &code, &a, &b);
        for (lane, values) in results.iter().enumerate() {
            for (element, value) in values.iter().enumerate() {
                let wanted = expected(lane / 16 * 4 + element, lane % 16, depth);
                if name.contains("_i32_") {
                    let start = if sum == "0" { 0 } else { 0x3f80_0000 };
                    assert_eq!(*value as i32, wanted + start, "{code}");
                } else {
                    let start = if sum == "0" { 0.0 } else { 1.0 };
                    assert_eq!(f32::from_bits(*value), wanted as f32 + start, "{code}");
                }
            }
        }
    }
}

#[test]
fn products_of_16_bit_and_32_bit_floats() {
    let bf16 = |value: i32| (value as f32).to_bits() >> 16;
    check("gfx90a", "v_mfma_f32_16x16x16f16", 16, 2, half);
    check("gfx90a", "v_mfma_f32_16x16x16bf16_1k", 16, 2, bf16);
    check("gfx90a", "v_mfma_f32_16x16x8bf16", 8, 2, bf16);
    check("gfx942", "v_mfma_f32_16x16x16_f16", 16, 2, half);
    check("gfx942", "v_mfma_f32_16x16x16_bf16", 16, 2, bf16);
    check("gfx942", "v_mfma_f32_16x16x4_f32", 4, 4, |value| {
        (value as f32).to_bits()
    });
    // The low bits of the factors do not count.
    check("gfx942", "v_mfma_f32_16x16x8_xf32", 8, 4, |value| {
        (value as f32).to_bits() | if value == 0 { 0 } else { 0x1fff }
    });
    check("gfx950", "v_mfma_f32_16x16x32_f16", 32, 2, half);
    check("gfx950", "v_mfma_f32_16x16x32_bf16", 32, 2, bf16);
}

#[test]
fn products_of_8_bit_numbers() {
    check("gfx90a", "v_mfma_i32_16x16x16i8", 16, 1, |value| {
        value as u32
    });
    check("gfx942", "v_mfma_i32_16x16x32_i8", 32, 1, |value| {
        value as u32
    });
    check("gfx942", "v_mfma_f32_16x16x32_fp8_fp8", 32, 1, |value| {
        fp8(value, 8)
    });
    check("gfx950", "v_mfma_f32_16x16x32_fp8_fp8", 32, 1, |value| {
        fp8(value, 7)
    });
}

#[test]
fn seeded_faults_are_caught() {
    common::assert_caught(&[
        ("x16_bf16", "x16_f16", products_of_16_bit_and_32_bit_floats),
        ("fp8_fp8", "fp8_bf8", products_of_8_bit_numbers),
    ]);
}
