//! Vector instructions against the arithmetic of the host, and values from AMD's guides for what the host lacks.

mod common;

use common::{assert_caught, numbers, vector};
use hipward_emulator::{Listing, Program};

/// Runs an instruction with the operands `v2`, `v4`, `v6` and the result `v8` on many numbers.
fn check(code: &str, expected: impl Fn([u64; 3]) -> u64) {
    check_on("gfx942", code, expected);
}

fn check_on(arch: &str, code: &str, expected: impl Fn([u64; 3]) -> u64) {
    let all = numbers(192, 3);
    let operands: Vec<[u64; 3]> = (0..192)
        .map(|at| [all[at], all[(at * 5 + 1) % 192], all[(at * 11 + 7) % 192]])
        .collect();
    for rows in operands.chunks(64) {
        for (row, actual) in rows.iter().zip(vector(arch, code, rows)) {
            let wanted = expected(*row);
            assert_eq!(
                actual, wanted,
                "{code} of {row:#x?}: {actual:#x} instead of {wanted:#x}"
            );
        }
    }
}

/// The same for 32-bit integers.
fn integers(code: &str, f: impl Fn(u32, u32, u32) -> u32) {
    check(code, |[a, b, c]| u64::from(f(a as u32, b as u32, c as u32)));
}

/// The same for `f32`; every NaN counts as equal.
fn floats(code: &str, f: impl Fn(f32, f32, f32) -> f32) {
    let all = numbers(192, 5);
    let rows: Vec<[u64; 3]> = (0..64)
        .map(|at| {
            [
                all[at + 20],
                all[(at * 5 + 1) % 192],
                all[(at * 11 + 7) % 192],
            ]
        })
        .collect();
    for (row, actual) in rows.iter().zip(vector("gfx942", code, &rows)) {
        let [a, b, c] = row.map(|bits| f32::from_bits(bits as u32));
        let (expected, actual) = (f(a, b, c), f32::from_bits(actual as u32));
        let same = expected.to_bits() == actual.to_bits() || expected.is_nan() && actual.is_nan();
        assert!(
            same,
            "{code} of {a:e}, {b:e}, {c:e}: {actual:e} instead of {expected:e}"
        );
    }
}

#[test]
fn integer_arithmetic_wraps() {
    integers("v_add_u32_e32 v8, v2, v4", |a, b, _| a.wrapping_add(b));
    integers("v_sub_u32_e32 v8, v2, v4", |a, b, _| a.wrapping_sub(b));
    integers("v_subrev_u32_e32 v8, v2, v4", |a, b, _| b.wrapping_sub(a));
    integers("v_mul_lo_u32 v8, v2, v4", |a, b, _| a.wrapping_mul(b));
    integers("v_mul_hi_u32 v8, v2, v4", |a, b, _| {
        ((u64::from(a) * u64::from(b)) >> 32) as u32
    });
    integers("v_mul_u32_u24_e32 v8, v2, v4", |a, b, _| {
        (a & 0xff_ffff).wrapping_mul(b & 0xff_ffff)
    });
    integers("v_add3_u32 v8, v2, v4, v6", |a, b, c| {
        a.wrapping_add(b).wrapping_add(c)
    });
    integers("v_lshl_add_u32 v8, v2, v4, v6", |a, b, c| {
        a.wrapping_shl(b).wrapping_add(c)
    });
    integers("v_xad_u32 v8, v2, v4, v6", |a, b, c| {
        (a ^ b).wrapping_add(c)
    });
    integers("v_max_i32_e32 v8, v2, v4", |a, b, _| {
        (a as i32).max(b as i32) as u32
    });
    integers("v_min_u32_e32 v8, v2, v4", |a, b, _| a.min(b));
    check(
        "v_mad_u64_u32 v[8:9], s[4:5], v2, v4, v[6:7]",
        |[a, b, c]| (u64::from(a as u32) * u64::from(b as u32)).wrapping_add(c),
    );
    check(
        "v_mad_i64_i32 v[8:9], s[4:5], v2, v4, v[6:7]",
        |[a, b, c]| (i64::from(a as i32) * i64::from(b as i32)).wrapping_add(c as i64) as u64,
    );
    check("v_lshl_add_u64 v[8:9], v[2:3], 3, v[4:5]", |[a, b, _]| {
        (a << 3).wrapping_add(b)
    });
}

#[test]
fn carries_move_on_to_the_next_instruction() {
    check(
        "v_add_co_u32_e32 v8, vcc, v2, v4\nv_addc_co_u32_e32 v9, vcc, v3, v5, vcc",
        |[a, b, _]| a.wrapping_add(b),
    );
    check(
        "v_sub_co_u32_e32 v8, vcc, v2, v4\nv_subb_co_u32_e32 v9, vcc, v3, v5, vcc",
        |[a, b, _]| a.wrapping_sub(b),
    );
    check(
        "v_add_co_u32_e64 v8, s[6:7], v2, v4\nv_addc_co_u32_e64 v9, s[6:7], v3, v5, s[6:7]",
        |[a, b, _]| a.wrapping_add(b),
    );
}

#[test]
fn logic_and_shifts_use_the_low_bits_of_the_amount() {
    integers("v_and_b32_e32 v8, v2, v4", |a, b, _| a & b);
    integers("v_or_b32_e32 v8, v2, v4", |a, b, _| a | b);
    integers("v_xor_b32_e32 v8, v2, v4", |a, b, _| a ^ b);
    integers("v_not_b32_e32 v8, v2", |a, _, _| !a);
    integers("v_bfrev_b32_e32 v8, v2", |a, _, _| a.reverse_bits());
    integers("v_lshlrev_b32_e32 v8, v2, v4", |a, b, _| b.wrapping_shl(a));
    integers("v_lshrrev_b32_e32 v8, v2, v4", |a, b, _| b.wrapping_shr(a));
    integers("v_ashrrev_i32_e32 v8, v2, v4", |a, b, _| {
        (b as i32).wrapping_shr(a) as u32
    });
    integers("v_and_or_b32 v8, v2, v4, v6", |a, b, c| a & b | c);
    integers("v_lshl_or_b32 v8, v2, v4, v6", |a, b, c| {
        a.wrapping_shl(b) | c
    });
    integers("v_bfi_b32 v8, v2, v4, v6", |a, b, c| a & b | !a & c);
    integers("v_bfe_u32 v8, v2, 4, 8", |a, _, _| a >> 4 & 0xff);
    integers("v_bfe_i32 v8, v2, 4, 8", |a, _, _| (a >> 4) as i8 as u32);
    integers("v_alignbit_b32 v8, v2, v4, 12", |a, b, _| {
        ((u64::from(a) << 32 | u64::from(b)) >> 12) as u32
    });
    check("v_lshlrev_b64 v[8:9], v4, v[2:3]", |[a, b, _]| {
        a.wrapping_shl(b as u32)
    });
    check("v_ashrrev_i64 v[8:9], v4, v[2:3]", |[a, b, _]| {
        (a as i64).wrapping_shr(b as u32) as u64
    });
    check_on(
        "gfx950",
        "v_bitop3_b32 v8, v2, v4, v6 bitop3:0x36",
        |[a, b, c]| {
            // 0x36: c ? !b & … in terms of the three bits, row by row.
            let (a, b, c) = (a as u32, b as u32, c as u32);
            let row = |x: u32, y: u32, z: u32| x & y & z;
            u64::from(row(!a, !b, c) | row(!a, b, !c) | row(a, !b, !c) | row(a, !b, c))
        },
    );
}

#[test]
fn permute_selects_bytes_and_constants() {
    // The selector of a pack of two high halves, and one of constants and signs.
    integers(
        "s_mov_b32 s4, 0x7060302\nv_perm_b32 v8, v2, v4, s4",
        |a, b, _| a & 0xffff_0000 | b >> 16,
    );
    integers(
        "s_mov_b32 s4, 0x5040100\nv_perm_b32 v8, v2, v4, s4",
        |a, b, _| a << 16 | b & 0xffff,
    );
    integers(
        "s_mov_b32 s4, 0x0c0d0b08\nv_perm_b32 v8, v2, v4, s4",
        |a, b, _| {
            let sign = |bit: u32| if bit == 1 { 0xff } else { 0 };
            0xff << 16 | sign(a >> 31) << 8 | sign(b >> 15 & 1)
        },
    );
}

#[test]
fn float_arithmetic_is_exact() {
    floats("v_add_f32_e32 v8, v2, v4", |a, b, _| a + b);
    floats("v_sub_f32_e32 v8, v2, v4", |a, b, _| a - b);
    floats("v_subrev_f32_e32 v8, v2, v4", |a, b, _| b - a);
    floats("v_mul_f32_e32 v8, v2, v4", |a, b, _| a * b);
    floats("v_fma_f32 v8, v2, v4, v6", f32::mul_add);
    floats(
        "v_mov_b32_e32 v8, v6\nv_fmac_f32_e32 v8, v2, v4",
        f32::mul_add,
    );
    floats("v_fmamk_f32 v8, v2, 0x40490fdb, v6", |a, _, c| {
        a.mul_add(std::f32::consts::PI, c)
    });
    floats("v_fmaak_f32 v8, v2, v4, 0x40490fdb", |a, b, _| {
        a.mul_add(b, std::f32::consts::PI)
    });
    floats("v_max_f32_e32 v8, v2, v4", |a, b, _| a.max(b));
    floats("v_min_f32_e32 v8, v2, v4", |a, b, _| a.min(b));
    floats("v_max3_f32 v8, v2, v4, v6", |a, b, c| a.max(b).max(c));
    floats("v_floor_f32_e32 v8, v2", |a, _, _| a.floor());
    floats("v_rndne_f32_e32 v8, v2", |a, _, _| a.round_ties_even());
    floats("v_sqrt_f32_e32 v8, v2", |a, _, _| a.sqrt());
    floats("v_rcp_f32_e32 v8, v2", |a, _, _| 1.0 / a);
    floats("v_ldexp_f32 v8, v2, 5", |a, _, _| a * 32.0);
    floats("v_ldexp_f32 v8, v2, -3", |a, _, _| a / 8.0);
}

#[test]
fn source_and_result_modifiers_apply() {
    floats("v_add_f32_e64 v8, -v2, |v4|", |a, b, _| -a + b.abs());
    floats("v_mul_f32_e64 v8, -|v2|, v4", |a, b, _| -a.abs() * b);
    floats("v_add_f32_e64 v8, v2, v4 clamp", |a, b, _| {
        if (a + b).is_nan() {
            0.0
        } else {
            (a + b).clamp(0.0, 1.0)
        }
    });
    floats("v_mul_f32_e64 v8, v2, v4 mul:2", |a, b, _| a * b * 2.0);
    floats("v_add_f32_e32 v8, 1.0, v2", |a, _, _| 1.0 + a);
    integers("v_add_u32_e32 v8, -3, v2", |a, _, _| a.wrapping_sub(3));
    integers("v_and_b32_e32 v8, 0xffff0000, v2", |a, _, _| {
        a & 0xffff_0000
    });
    integers("v_mov_b32_e32 v8, 0.5", |_, _, _| 0x3f00_0000);
}

#[test]
fn packed_float_instructions_select_halves() {
    let pair = |low: f32, high: f32| u64::from(low.to_bits()) | u64::from(high.to_bits()) << 32;
    let rows = [[pair(1.5, -2.0), pair(4.0, 0.25), pair(10.0, 20.0)]];
    let run = |code: &str| vector("gfx942", code, &rows)[0];
    assert_eq!(run("v_pk_mul_f32 v[8:9], v[2:3], v[4:5]"), pair(6.0, -0.5));
    assert_eq!(run("v_pk_add_f32 v[8:9], v[2:3], v[4:5]"), pair(5.5, -1.75));
    assert_eq!(
        run("v_pk_fma_f32 v[8:9], v[2:3], v[4:5], v[6:7]"),
        pair(16.0, 19.5)
    );
    assert_eq!(
        run("v_pk_mul_f32 v[8:9], v[2:3], v[4:5] op_sel_hi:[0,1]"),
        pair(6.0, 0.375)
    );
    assert_eq!(
        run("v_pk_mul_f32 v[8:9], v[2:3], v[4:5] op_sel:[1,0]"),
        pair(-8.0, -0.5)
    );
    assert_eq!(
        run("v_pk_mul_f32 v[8:9], v[2:3], 2.0 op_sel_hi:[1,0]"),
        pair(3.0, -4.0)
    );
    assert_eq!(
        run("v_pk_add_f32 v[8:9], v[2:3], 0 neg_lo:[1,1] neg_hi:[1,1]"),
        pair(-1.5, 2.0)
    );
    assert_eq!(
        run("v_pk_add_f32 v[8:9], v[2:3], v[4:5] neg_lo:[0,1] neg_hi:[1,0]"),
        pair(-2.5, 2.25)
    );
    assert_eq!(
        run("v_pk_mov_b32 v[8:9], v[2:3], v[4:5] op_sel:[0,1]"),
        pair(1.5, 0.25)
    );
    assert_eq!(
        run("v_pk_mov_b32 v[8:9], v[2:3], v[4:5] op_sel:[1,0]"),
        pair(-2.0, 4.0)
    );
}

#[test]
fn conversions_saturate_and_round() {
    integers("v_cvt_i32_f32_e32 v8, v2", |a, _, _| {
        f32::from_bits(a) as i32 as u32
    });
    integers("v_cvt_u32_f32_e32 v8, v2", |a, _, _| {
        f32::from_bits(a) as u32
    });
    integers("v_cvt_f32_i32_e32 v8, v2", |a, _, _| {
        (a as i32 as f32).to_bits()
    });
    integers("v_cvt_f32_u32_e32 v8, v2", |a, _, _| (a as f32).to_bits());
    check(
        "v_cvt_f64_f32_e32 v[8:9], v2\nv_cvt_f32_f64_e32 v8, v[8:9]\nv_mov_b32_e32 v9, 0",
        |[a, ..]| {
            let value = f32::from_bits(a as u32);
            u64::from(
                if value.is_nan() {
                    f64::from(value) as f32
                } else {
                    value
                }
                .to_bits(),
            )
        },
    );
    let one = |x: f32| u64::from(x.to_bits());
    let run = |arch: &str, code: &str, a: f32, b: f32| {
        vector(arch, code, &[[one(a), one(b), 0xaaaa_aaaa]])[0]
    };
    assert_eq!(
        run("gfx950", "v_cvt_pk_bf16_f32 v8, v2, v4", 1.0, -2.0),
        0xc000_3f80
    );
    assert_eq!(run("gfx942", "v_cvt_f16_f32_e32 v8, v2", 1.5, 0.0), 0x3e00);
    // E4M3: FNUZ has bias 8, OCP bias 7. The half that `op_sel` does not select is kept.
    assert_eq!(
        run("gfx942", "v_cvt_pk_fp8_f32 v8, v2, v4", 1.0, -2.0),
        0xc840
    );
    assert_eq!(
        run(
            "gfx942",
            "v_mov_b32_e32 v8, v6\nv_cvt_pk_fp8_f32 v8, v2, v4 op_sel:[0,0,1]",
            1.0,
            -2.0
        ),
        0xc840_aaaa
    );
    assert_eq!(
        run("gfx950", "v_cvt_pk_fp8_f32 v8, v2, v4", 1.0, -2.0),
        0xc038
    );
    assert_eq!(
        run(
            "gfx950",
            "v_cvt_scalef32_pk_fp8_f32 v8, v2, v4, 2.0",
            2.0,
            -4.0
        ),
        0xc038
    );
    assert_eq!(
        run("gfx942", "v_cvt_pk_fp8_f32 v8, v2, v4", 1000.0, 0.0),
        0x0080
    );
    let saturating = "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 23, 1), 1\nv_cvt_pk_fp8_f32 v8, v2, v4";
    assert_eq!(run("gfx942", saturating, 1000.0, -1000.0), 0xff7f);
}

#[test]
fn transcendentals_are_within_one_ulp() {
    let rows: Vec<[u64; 3]> = (0..64)
        .map(|at| [u64::from((0.1 + at as f32 * 1.7).to_bits()), 0, 0])
        .collect();
    type Function = fn(f64) -> f64;
    let table: [(&str, Function); 6] = [
        ("v_exp_f32_e32", f64::exp2),
        ("v_log_f32_e32", f64::log2),
        ("v_rsq_f32_e32", |x| 1.0 / x.sqrt()),
        ("v_rcp_f32_e32", |x| 1.0 / x),
        ("v_sqrt_f32_e32", f64::sqrt),
        ("v_sin_f32_e32", |x| (x * std::f64::consts::TAU).sin()),
    ];
    for (name, f) in table {
        for (row, actual) in rows
            .iter()
            .zip(vector("gfx942", &format!("{name} v8, v2"), &rows))
        {
            let x = f32::from_bits(row[0] as u32);
            let expected = f(f64::from(x)) as f32;
            let actual = f32::from_bits(actual as u32);
            assert!(
                expected.to_bits().abs_diff(actual.to_bits()) <= 1,
                "{name} of {x}: {actual} instead of {expected}"
            );
        }
    }
}

#[test]
fn comparisons_with_nan_follow_their_names() {
    let nan = u64::from(f32::NAN.to_bits());
    let number = |x: f32| u64::from(x.to_bits());
    let rows = [
        [number(1.0), number(2.0), 0],
        [number(2.0), number(1.0), 0],
        [number(1.0), number(1.0), 0],
        [nan, number(1.0), 0],
    ];
    for (name, expected) in [
        ("lt", [1, 0, 0, 0]),
        ("eq", [0, 0, 1, 0]),
        ("le", [1, 0, 1, 0]),
        ("gt", [0, 1, 0, 0]),
        ("lg", [1, 1, 0, 0]),
        ("ge", [0, 1, 1, 0]),
        ("o", [1, 1, 1, 0]),
        ("u", [0, 0, 0, 1]),
        ("nge", [1, 0, 0, 1]),
        ("nlg", [0, 0, 1, 1]),
        ("ngt", [1, 0, 1, 1]),
        ("nle", [0, 1, 0, 1]),
        ("neq", [1, 1, 0, 1]),
        ("nlt", [0, 1, 1, 1]),
    ] {
        let code = format!("v_cmp_{name}_f32_e32 vcc, v2, v4\nv_cndmask_b32_e64 v8, 0, 1, vcc");
        assert_eq!(vector("gfx942", &code, &rows), expected, "{name}");
        let code =
            format!("v_cmp_{name}_f32_e64 s[6:7], v2, v4\nv_cndmask_b32_e64 v8, 0, 1, s[6:7]");
        assert_eq!(vector("gfx942", &code, &rows), expected, "{name}");
    }
    check(
        "v_cmp_lt_i64_e32 vcc, v[2:3], v[4:5]\nv_cndmask_b32_e64 v8, 0, 1, vcc",
        |[a, b, _]| u64::from((a as i64) < b as i64),
    );
    check(
        "v_cmp_gt_u32_e32 vcc, v2, v4\nv_cndmask_b32_e64 v8, 0, 1, vcc",
        |[a, b, _]| u64::from(a as u32 > b as u32),
    );
    // Classes: negative infinity, quiet NaN, positive zero.
    let rows = [
        [number(f32::NEG_INFINITY), 0, 0],
        [nan, 0, 0],
        [0, 0, 0],
        [number(-0.0), 0, 0],
    ];
    let run = |mask: u32| {
        vector(
            "gfx942",
            &format!(
                "v_mov_b32_e32 v4, {mask}\nv_cmp_class_f32_e32 vcc, v2, v4\nv_cndmask_b32_e64 v8, 0, 1, vcc"
            ),
            &rows,
        )
    };
    assert_eq!(run(1 << 2), [1, 0, 0, 0]);
    assert_eq!(run(1 << 1), [0, 1, 0, 0]);
    assert_eq!(run(1 << 6), [0, 0, 1, 0]);
}

/// Each lane's number, through an instruction that exchanges lanes.
fn exchanged(code: &str) -> Vec<u64> {
    vector(
        "gfx942",
        &format!("v_mov_b32_e32 v8, 99\n{code}"),
        &(0..64).map(|lane| [lane, 0, 0]).collect::<Vec<_>>(),
    )
}

#[test]
fn dpp_reads_other_lanes() {
    let expect = |code: &str, f: &dyn Fn(u64) -> u64| {
        assert_eq!(
            exchanged(&format!("v_mov_b32_dpp v8, v2 {code}")),
            (0..64).map(f).collect::<Vec<_>>(),
            "{code}"
        );
    };
    let all = "row_mask:0xf bank_mask:0xf";
    expect(&format!("quad_perm:[1,0,3,2] {all}"), &|lane| lane ^ 1);
    expect(&format!("quad_perm:[3,2,1,0] {all}"), &|lane| lane ^ 3);
    expect(&format!("row_shr:1 {all}"), &|lane| {
        if lane % 16 == 0 { 99 } else { lane - 1 }
    });
    expect(&format!("row_shr:8 {all} bound_ctrl:1"), &|lane| {
        if lane % 16 < 8 { 0 } else { lane - 8 }
    });
    expect(&format!("row_shl:4 {all} bound_ctrl:1"), &|lane| {
        if lane % 16 > 11 { 0 } else { lane + 4 }
    });
    expect(&format!("row_ror:8 {all}"), &|lane| lane ^ 8);
    expect(&format!("row_mirror {all}"), &|lane| lane ^ 15);
    expect(&format!("row_half_mirror {all}"), &|lane| lane ^ 7);
    expect(
        "row_bcast:15 row_mask:0xa bank_mask:0xf",
        &|lane| match lane / 16 {
            1 => 15,
            3 => 47,
            _ => 99,
        },
    );
    expect("row_bcast:31 row_mask:0xc bank_mask:0xf", &|lane| {
        if lane >= 32 { 31 } else { 99 }
    });
    expect(&format!("row_newbcast:3 {all}"), &|lane| lane / 16 * 16 + 3);
    expect("row_shr:1 row_mask:0xf bank_mask:0x1", &|lane| {
        if lane % 16 == 0 || lane % 16 > 3 {
            99
        } else {
            lane - 1
        }
    });
}

#[test]
fn dpp_treats_inactive_lanes_as_missing() {
    let code = "s_mov_b64 exec, 0x0000000f\nv_mov_b32_dpp v8, v2 row_shl:1 row_mask:0xf bank_mask:0xf\ns_mov_b64 exec, -1";
    assert_eq!(exchanged(code)[..6], [1, 2, 3, 99, 99, 99]);
}

#[test]
fn lanes_are_exchanged_through_scalars_and_lds() {
    assert_eq!(
        exchanged("v_readlane_b32 s4, v2, 63\nv_mov_b32_e32 v8, s4"),
        [63; 64]
    );
    assert_eq!(
        exchanged(
            "s_mov_b64 exec, 0xf0\nv_readfirstlane_b32 s4, v2\ns_mov_b64 exec, -1\nv_mov_b32_e32 v8, s4"
        ),
        [4; 64]
    );
    assert_eq!(
        exchanged("s_mov_b64 exec, 0\nv_writelane_b32 v8, 7, 5\ns_mov_b64 exec, -1")[4..7],
        [99, 7, 99]
    );
    let back = "v_add_u32_e32 v3, 5, v2\nv_lshlrev_b32_e32 v3, 2, v3\nds_bpermute_b32 v8, v3, v2\ns_waitcnt lgkmcnt(0)";
    assert_eq!(
        exchanged(back),
        (0..64).map(|lane| (lane + 5) % 64).collect::<Vec<_>>()
    );
    let forth = "v_lshlrev_b32_e32 v3, 2, v2\nv_add_u32_e32 v3, 4, v3\nds_permute_b32 v8, v3, v2\ns_waitcnt lgkmcnt(0)";
    assert_eq!(
        exchanged(forth),
        (0..64).map(|lane| (lane + 63) % 64).collect::<Vec<_>>()
    );
    let swizzle = "ds_swizzle_b32 v8, v2 offset:swizzle(SWAP,16)\ns_waitcnt lgkmcnt(0)";
    assert_eq!(
        exchanged(swizzle),
        (0..64).map(|lane| lane ^ 16).collect::<Vec<_>>()
    );
    let count = "v_mbcnt_lo_u32_b32 v8, -1, 0\nv_mbcnt_hi_u32_b32 v8, -1, v8";
    assert_eq!(exchanged(count), (0..64).collect::<Vec<_>>());
}

#[test]
fn sdwa_selects_parts() {
    integers(
        "v_and_b32_sdwa v8, v2, v4 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1 src1_sel:DWORD",
        |a, b, _| a >> 16 & b,
    );
    integers(
        "v_add_u32_sdwa v8, v2, v4 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_3 src1_sel:WORD_0",
        |a, b, _| (a >> 24) + (b & 0xffff),
    );
    integers(
        "v_mov_b32_e32 v8, v6\nv_mov_b32_sdwa v8, v2 dst_sel:BYTE_1 dst_unused:UNUSED_PRESERVE src0_sel:BYTE_0",
        |a, _, c| c & 0xffff_00ff | (a & 0xff) << 8,
    );
    integers(
        "v_mov_b32_sdwa v8, v2 dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:WORD_0",
        |a, _, _| a << 16,
    );
    integers(
        "v_mov_b32_sdwa v8, sext(v2) dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_0",
        |a, _, _| a as i8 as u32,
    );
}

#[test]
fn half_precision_arithmetic_rounds_once() {
    let half = |bits: u64| match bits {
        0 => 0x3c00,
        1 => 0x4000,
        2 => 0x1400,
        _ => 0xb800u64,
    };
    let rows: Vec<[u64; 3]> = (0..4)
        .map(|at| {
            [
                half(at) | half(3 - at) << 16,
                half((at + 1) % 4) | half(at) << 16,
                0x3c00_3c00,
            ]
        })
        .collect();
    // 1 + 2, 2 + 2^-10, 2^-10 - 0.5, -0.5 + 1.
    assert_eq!(
        vector("gfx942", "v_add_f16_e32 v8, v2, v4", &rows),
        [0x4200, 0x4000, 0xb7fc, 0x3800]
    );
    assert_eq!(
        vector("gfx942", "v_pk_mul_f16 v8, v2, v4", &rows)[0],
        0xb800_4000
    );
    assert_eq!(
        vector(
            "gfx942",
            "v_pk_add_f16 v8, v2, v4 op_sel:[1,0] op_sel_hi:[0,1]",
            &rows
        )[0] & 0xffff,
        0x3e00
    );
}

#[test]
fn mixed_precision_products_select_halves_and_preserve_the_other_half() {
    // v2 = 2.0 and -3.0 as halves, v4 = 0.5 as f32, v6 = 1.0 and 0.25 as halves.
    let row = [0xc200_4000, 0x3f00_0000, 0x3400_3c00];
    let bits = |value: f32| u64::from(value.to_bits());
    let run = |code: &str| common::vector("gfx942", code, &[row])[0] & 0xffff_ffff;
    let whole = "v_fma_mix_f32 v8, v2, v4, v6 op_sel_hi:[1,0,1]";
    assert_eq!(run(whole), bits(2.0 * 0.5 + 1.0));
    let high = "v_fma_mix_f32 v8, |v2|, -v4, v6 op_sel:[1,0,1] op_sel_hi:[1,0,1]";
    assert_eq!(run(high), bits(3.0 * -0.5 + 0.25));
    let plain = "v_fma_mix_f32 v8, v4, v4, 1.0";
    assert_eq!(run(plain), bits(1.25));
    // Constants are halves, too.
    let half = "v_fma_mix_f32 v8, -v2, 1.0, v4 op_sel_hi:[1,1,0]";
    assert_eq!(run(half), bits(-2.0 + 0.5));
    let set = "v_mov_b32_e32 v8, 0x11112222\n";
    let low = "v_fma_mixlo_f16 v8, v2, v4, v6 op_sel_hi:[1,0,1]";
    assert_eq!(run(&format!("{set}{low}")), 0x1111_4000);
    let high = "v_fma_mixhi_f16 v8, v2, v4, v6 op_sel:[1,0,0] op_sel_hi:[1,0,1] clamp";
    assert_eq!(run(&format!("{set}{high}")), 0x0000_2222);
    let high = "v_fma_mixhi_f16 v8, v2, -v4, v6 op_sel:[1,0,0] op_sel_hi:[1,0,1]";
    assert_eq!(run(&format!("{set}{high}")), 0x4100_2222);
}

#[test]
fn clamped_integer_sums_saturate() {
    integers("v_add_u32_e64 v8, v2, v4 clamp", |a, b, _| {
        a.saturating_add(b)
    });
    integers("v_sub_u32_e64 v8, v2, v4 clamp", |a, b, _| {
        a.saturating_sub(b)
    });
    integers("v_add_i32 v8, v2, v4 clamp", |a, b, _| {
        (a as i32).saturating_add(b as i32) as u32
    });
    integers("v_add_u16_e64 v8, v2, v4 clamp", |a, b, _| {
        u32::from((a as u16).saturating_add(b as u16))
    });
    integers("v_pk_sub_i16 v8, v2, v4 clamp", |a, b, _| {
        let half = |shift: u32| {
            u32::from(((a >> shift) as i16).saturating_sub((b >> shift) as i16) as u16) << shift
        };
        half(0) | half(16)
    });
}

#[test]
fn half_precision_arithmetic_takes_sdwa_and_dpp() {
    let row = [0x4000_3c00, 0x3800_4200, 0];
    let run = |code: &str| common::vector("gfx942", code, &[row])[0] & 0xffff_ffff;
    let words = "v_add_f16_sdwa v8, v2, v4 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1 src1_sel:WORD_1";
    assert_eq!(run(words), 0x4100);
    let high = "v_mov_b32_e32 v8, 0x1111\n\
                v_mul_f16_sdwa v8, v2, v4 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_0 src1_sel:WORD_0";
    assert_eq!(run(high), 0x4200_1111);
    let dpp = "v_add_f16_dpp v8, v2, v4 quad_perm:[0,0,0,0] row_mask:0xf bank_mask:0xf";
    assert_eq!(run(dpp), 0x4400);
}

#[test]
fn multiply_then_add_rounds_twice_and_flushes_denormals() {
    let bits = |value: f32| u64::from(value.to_bits());
    let run = |code: &str, row: [f32; 3]| {
        common::vector("gfx90a", code, &[row.map(bits)])[0] & 0xffff_ffff
    };
    let (a, b) = (1.0 + f32::EPSILON, 1.0 + f32::EPSILON);
    let c = -(a * b);
    assert_eq!(run("v_mad_f32 v8, v2, v4, v6", [a, b, c]), 0);
    assert_ne!(run("v_fma_f32 v8, v2, v4, v6", [a, b, c]), 0);
    assert_eq!(run("v_mad_f32 v8, v2, v4, v6", [1e-40, 1.0, 0.0]), 0);
    let sum = "v_mov_b32_e32 v8, 2.0\nv_mac_f32_e32 v8, v2, v4";
    assert_eq!(run(sum, [3.0, 4.0, 0.0]), bits(14.0));
    assert_eq!(
        run("v_madmk_f32 v8, v2, 0x40400000, v4", [2.0, 1.0, 0.0]),
        bits(7.0)
    );
}

#[test]
fn dot_products_of_halves_add_to_a_float() {
    // (1, 2) · (3, 0.5) + 10.
    let row = [0x4000_3c00, 0x3800_4200, u64::from(10f32.to_bits())];
    let run = |arch: &str, code: &str| common::vector(arch, code, &[row])[0] & 0xffff_ffff;
    let expected = u64::from(14f32.to_bits());
    let sum = "v_mov_b32_e32 v8, v6\nv_dot2c_f32_f16_e32 v8, v2, v4";
    assert_eq!(run("gfx90a", sum), expected);
    assert_eq!(run("gfx950", "v_dot2_f32_f16 v8, v2, v4, v6"), expected);
    let error = Listing::parse(&common::listing(
        "gfx950",
        "v_dot2_f32_f16 v8, v2, v4, v6 neg_lo:[1,0,0]",
        0,
        0,
    ))
    .and_then(|listing| Program::new(&listing, None).map(drop));
    let error = error.expect_err("a sign modifier").to_string();
    assert!(error.contains("no sign modifier"), "{error}");
}

#[test]
fn seeded_faults_are_caught() {
    assert_caught(&[
        ("v_mul_hi_u32", "v_mul_lo_u32", integer_arithmetic_wraps),
        ("v_max_i32_e32", "v_max_u32_e32", integer_arithmetic_wraps),
        (
            "v_addc_co_u32_e32",
            "v_subb_co_u32_e32",
            carries_move_on_to_the_next_instruction,
        ),
        (
            "v_ashrrev_i32_e32",
            "v_lshrrev_b32_e32",
            logic_and_shifts_use_the_low_bits_of_the_amount,
        ),
        (
            "v_bfi_b32",
            "v_and_or_b32",
            logic_and_shifts_use_the_low_bits_of_the_amount,
        ),
        ("row_shr:", "row_ror:", dpp_reads_other_lanes),
        (
            "ds_bpermute_b32",
            "ds_permute_b32",
            lanes_are_exchanged_through_scalars_and_lds,
        ),
    ]);
}
