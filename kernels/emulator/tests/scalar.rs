//! Scalar instructions against the arithmetic of the host.

mod common;

use common::{numbers, scalar};

/// Runs code on pairs of numbers and compares result and SCC.
fn check(code: &str, expected: impl Fn(u64, u64, bool) -> (u64, bool)) {
    let all = numbers(40, 7);
    for (at, a) in all.iter().enumerate() {
        let (b, scc) = (all[(at * 7 + 3) % all.len()], at % 2 == 1);
        assert_eq!(
            scalar(code, *a, b, scc),
            expected(*a, b, scc),
            "{code}: a = {a:#x}, b = {b:#x}, scc = {scc}"
        );
    }
}

fn narrow(f: impl Fn(u32, u32, bool) -> (u32, bool)) -> impl Fn(u64, u64, bool) -> (u64, bool) {
    move |a, b, scc| {
        let (result, flag) = f(a as u32, b as u32, scc);
        (u64::from(result), flag)
    }
}

#[test]
fn sums_set_scc_to_the_carry_or_the_overflow() {
    check(
        "s_add_u32 s8, s4, s6",
        narrow(|a, b, _| a.overflowing_add(b)),
    );
    check(
        "s_sub_u32 s8, s4, s6",
        narrow(|a, b, _| a.overflowing_sub(b)),
    );
    check(
        "s_addc_u32 s8, s4, s6",
        narrow(|a, b, c| {
            let sum = u64::from(a) + u64::from(b) + u64::from(c);
            (sum as u32, sum > u64::from(u32::MAX))
        }),
    );
    check(
        "s_subb_u32 s8, s4, s6",
        narrow(|a, b, c| {
            let difference = i64::from(a) - i64::from(b) - i64::from(c);
            (difference as u32, difference < 0)
        }),
    );
    check(
        "s_add_i32 s8, s4, s6",
        narrow(|a, b, _| {
            let (sum, overflow) = (a as i32).overflowing_add(b as i32);
            (sum as u32, overflow)
        }),
    );
    check(
        "s_sub_i32 s8, s4, s6",
        narrow(|a, b, _| {
            let (sum, overflow) = (a as i32).overflowing_sub(b as i32);
            (sum as u32, overflow)
        }),
    );
    check(
        "s_lshl2_add_u32 s8, s4, s6",
        narrow(|a, b, _| {
            let sum = (u64::from(a) << 2) + u64::from(b);
            (sum as u32, sum > u64::from(u32::MAX))
        }),
    );
}

#[test]
fn logic_sets_scc_if_the_result_is_not_zero() {
    type Operation = fn(u64, u64) -> u64;
    let table: [(&str, Operation); 8] = [
        ("and", |a, b| a & b),
        ("or", |a, b| a | b),
        ("xor", |a, b| a ^ b),
        ("andn2", |a, b| a & !b),
        ("orn2", |a, b| a | !b),
        ("nand", |a, b| !(a & b)),
        ("nor", |a, b| !(a | b)),
        ("xnor", |a, b| !(a ^ b)),
    ];
    for (name, f) in table {
        check(
            &format!("s_{name}_b64 s[8:9], s[4:5], s[6:7]"),
            |a, b, _| (f(a, b), f(a, b) != 0),
        );
        check(
            &format!("s_{name}_b32 s8, s4, s6"),
            narrow(|a, b, _| {
                let result = f(u64::from(a), u64::from(b)) as u32;
                (result, result != 0)
            }),
        );
    }
    check("s_not_b32 s8, s4", narrow(|a, _, _| (!a, !a != 0)));
    check("s_not_b64 s[8:9], s[4:5]", |a, _, _| (!a, !a != 0));
}

#[test]
fn shifts_use_the_low_bits_of_the_amount() {
    check(
        "s_lshl_b32 s8, s4, s6",
        narrow(|a, b, _| (a.wrapping_shl(b), a.wrapping_shl(b) != 0)),
    );
    check(
        "s_lshr_b32 s8, s4, s6",
        narrow(|a, b, _| (a.wrapping_shr(b), a.wrapping_shr(b) != 0)),
    );
    check(
        "s_ashr_i32 s8, s4, s6",
        narrow(|a, b, _| {
            let result = (a as i32).wrapping_shr(b) as u32;
            (result, result != 0)
        }),
    );
    check("s_lshl_b64 s[8:9], s[4:5], s6", |a, b, _| {
        (a.wrapping_shl(b as u32), a.wrapping_shl(b as u32) != 0)
    });
    check("s_lshr_b64 s[8:9], s[4:5], s6", |a, b, _| {
        (a.wrapping_shr(b as u32), a.wrapping_shr(b as u32) != 0)
    });
    check("s_ashr_i64 s[8:9], s[4:5], s6", |a, b, _| {
        let result = (a as i64).wrapping_shr(b as u32) as u64;
        (result, result != 0)
    });
}

#[test]
fn products_keep_scc() {
    check(
        "s_mul_i32 s8, s4, s6",
        narrow(|a, b, scc| (a.wrapping_mul(b), scc)),
    );
    check(
        "s_mul_hi_u32 s8, s4, s6",
        narrow(|a, b, scc| (((u64::from(a) * u64::from(b)) >> 32) as u32, scc)),
    );
    check(
        "s_mul_hi_i32 s8, s4, s6",
        narrow(|a, b, scc| {
            (
                ((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u32,
                scc,
            )
        }),
    );
}

#[test]
fn comparisons_write_scc_only() {
    check(
        "s_cmp_lt_i32 s4, s6",
        narrow(|a, b, _| (0, (a as i32) < b as i32)),
    );
    check("s_cmp_ge_u32 s4, s6", narrow(|a, b, _| (0, a >= b)));
    check("s_cmp_lg_u32 s4, s6", narrow(|a, b, _| (0, a != b)));
    check(
        "s_cmp_gt_i32 s4, s6",
        narrow(|a, b, _| (0, a as i32 > b as i32)),
    );
    check("s_cmp_eq_u64 s[4:5], s[6:7]", |a, b, _| (0, a == b));
    check(
        "s_cmpk_lt_u32 s4, 0xffff",
        narrow(|a, _, _| (0, a < 0xffff)),
    );
    check(
        "s_cmpk_gt_i32 s4, 0xffff",
        narrow(|a, _, _| (0, a as i32 > -1)),
    );
    check(
        "s_bitcmp1_b32 s4, s6",
        narrow(|a, b, _| (0, a >> (b & 31) & 1 == 1)),
    );
}

#[test]
fn selections_and_bits_follow_the_guide() {
    check(
        "s_cselect_b32 s8, s4, s6",
        narrow(|a, b, scc| (if scc { a } else { b }, scc)),
    );
    check("s_cselect_b64 s[8:9], s[4:5], s[6:7]", |a, b, scc| {
        (if scc { a } else { b }, scc)
    });
    check(
        "s_abs_i32 s8, s4",
        narrow(|a, _, _| {
            let result = (a as i32).unsigned_abs();
            (result, result != 0)
        }),
    );
    check(
        "s_brev_b32 s8, s4",
        narrow(|a, _, scc| (a.reverse_bits(), scc)),
    );
    check("s_bcnt1_i32_b64 s8, s[4:5]", |a, _, _| {
        (u64::from(a.count_ones()), a != 0)
    });
    check(
        "s_ff1_i32_b32 s8, s4",
        narrow(|a, _, scc| (if a == 0 { u32::MAX } else { a.trailing_zeros() }, scc)),
    );
    check(
        "s_flbit_i32_b32 s8, s4",
        narrow(|a, _, scc| (if a == 0 { u32::MAX } else { a.leading_zeros() }, scc)),
    );
    check(
        "s_sext_i32_i16 s8, s4",
        narrow(|a, _, scc| (a as i16 as u32, scc)),
    );
    check(
        "s_bfe_u32 s8, s4, 0x80004",
        narrow(|a, _, _| (a >> 4 & 0xff, a >> 4 & 0xff != 0)),
    );
    check(
        "s_bfe_i32 s8, s4, 0x80004",
        narrow(|a, _, _| ((a >> 4) as i8 as u32, a >> 4 & 0xff != 0)),
    );
    check(
        "s_max_i32 s8, s4, s6",
        narrow(|a, b, _| ((a as i32).max(b as i32) as u32, a as i32 >= b as i32)),
    );
    check("s_min_u32 s8, s4, s6", narrow(|a, b, _| (a.min(b), a < b)));
    check(
        "s_movk_i32 s8, 0x8000",
        narrow(|_, _, scc| (0xffff_8000, scc)),
    );
    check(
        "s_pack_ll_b32_b16 s8, s4, s6",
        narrow(|a, b, scc| (a & 0xffff | b << 16, scc)),
    );
}

#[test]
fn saveexec_returns_the_old_mask_and_changes_it() {
    let code = "s_mov_b64 exec, -1\ns_and_saveexec_b64 s[8:9], s[4:5]\ns_mov_b64 s[8:9], exec\ns_mov_b64 exec, 1";
    check(code, |a, _, _| (a, a != 0));
    let code = "s_mov_b64 exec, s[6:7]\ns_andn2_saveexec_b64 s[8:9], s[4:5]\ns_mov_b64 s[8:9], exec\ns_mov_b64 exec, 1";
    check(code, |a, b, _| (a & !b, a & !b != 0));
}

#[test]
fn seeded_faults_are_caught() {
    common::assert_caught(&[
        (
            "s_addc_u32",
            "s_add_u32",
            sums_set_scc_to_the_carry_or_the_overflow,
        ),
        (
            "s_ashr_i32",
            "s_lshr_b32",
            shifts_use_the_low_bits_of_the_amount,
        ),
    ]);
}
