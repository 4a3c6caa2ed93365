//! The scalar operations.

use super::{Condition, Entry, Inputs};
use crate::vector::Type;

macro_rules! scalar {
    ($result:ident, [$($source:ident),*], flag, |$x:pat_param| $e:expr) => {
        Entry {
            result: Some(Type::$result),
            sources: &[$(Type::$source),*],
            condition: Condition::Flag,
            function: |$x| $e,
        }
    };
    ($result:ident, [$($source:ident),*], $condition:ident, |$x:pat_param| $e:expr) => {
        Entry {
            result: Some(Type::$result),
            sources: &[$(Type::$source),*],
            condition: Condition::$condition,
            function: |$x| ($e, false),
        }
    };
    (compare [$($source:ident),*], |$x:pat_param| $e:expr) => {
        Entry {
            result: None,
            sources: &[$(Type::$source),*],
            condition: Condition::Flag,
            function: |$x| (0, $e),
        }
    };
}

/// Sum of two `i32` and whether it overflowed.
fn signed(result: (i32, bool)) -> (u64, bool) {
    (u64::from(result.0 as u32), result.1)
}

fn field32(a: u64, b: u64) -> u64 {
    let (offset, width) = (b & 31, b >> 16 & 0x7f);
    let value = u64::from(a as u32) >> offset;
    if width >= 32 {
        value
    } else {
        value & ((1 << width) - 1)
    }
}

fn field64(a: u64, b: u64) -> u64 {
    let (offset, width) = (b & 63, b >> 16 & 0x7f);
    let value = a >> offset;
    if width >= 64 {
        value
    } else {
        value & ((1 << width) - 1)
    }
}

fn extend(value: u64, width: u64) -> u64 {
    if width == 0 || width >= 64 {
        value
    } else {
        ((value << (64 - width)) as i64 >> (64 - width)) as u64
    }
}

fn first_other_than_sign(a: u32) -> u64 {
    let run = if (a as i32) < 0 {
        a.leading_ones()
    } else {
        a.leading_zeros()
    };
    u64::from(if run == 32 { u32::MAX } else { run })
}

#[rustfmt::skip]
pub(super) fn find(name: &str) -> Option<Entry> {
    use Inputs as I;
    Some(match name {
        "s_mov_b32" | "s_movk_i32" => scalar!(B32, [B32], Keep, |I { a, .. }| a),
        "s_mov_b64" => scalar!(B64, [B64], Keep, |I { a, .. }| a),
        "s_cmov_b32" | "s_cmovk_i32" => scalar!(B32, [B32], Keep, |I { a, scc, old, .. }| if scc { a } else { old }),
        "s_cmov_b64" => scalar!(B64, [B64], Keep, |I { a, scc, old, .. }| if scc { a } else { old }),
        "s_not_b32" => scalar!(B32, [B32], NotZero, |I { a, .. }| !a & 0xffff_ffff),
        "s_not_b64" => scalar!(B64, [B64], NotZero, |I { a, .. }| !a),
        "s_brev_b32" => scalar!(B32, [B32], Keep, |I { a, .. }| u64::from((a as u32).reverse_bits())),
        "s_brev_b64" => scalar!(B64, [B64], Keep, |I { a, .. }| a.reverse_bits()),
        "s_bcnt0_i32_b32" => scalar!(B32, [B32], NotZero, |I { a, .. }| u64::from((a as u32).count_zeros())),
        "s_bcnt1_i32_b32" => scalar!(B32, [B32], NotZero, |I { a, .. }| u64::from((a as u32).count_ones())),
        "s_bcnt0_i32_b64" => scalar!(B32, [B64], NotZero, |I { a, .. }| u64::from(a.count_zeros())),
        "s_bcnt1_i32_b64" => scalar!(B32, [B64], NotZero, |I { a, .. }| u64::from(a.count_ones())),
        "s_ff1_i32_b32" => scalar!(B32, [B32], Keep, |I { a, .. }| if a as u32 == 0 { 0xffff_ffff } else { u64::from((a as u32).trailing_zeros()) }),
        "s_ff1_i32_b64" => scalar!(B32, [B64], Keep, |I { a, .. }| if a == 0 { 0xffff_ffff } else { u64::from(a.trailing_zeros()) }),
        "s_ff0_i32_b32" => scalar!(B32, [B32], Keep, |I { a, .. }| if a as u32 == u32::MAX { 0xffff_ffff } else { u64::from((a as u32).trailing_ones()) }),
        "s_flbit_i32_b32" => scalar!(B32, [B32], Keep, |I { a, .. }| if a as u32 == 0 { 0xffff_ffff } else { u64::from((a as u32).leading_zeros()) }),
        "s_flbit_i32_b64" => scalar!(B32, [B64], Keep, |I { a, .. }| if a == 0 { 0xffff_ffff } else { u64::from(a.leading_zeros()) }),
        "s_flbit_i32" => scalar!(B32, [B32], Keep, |I { a, .. }| first_other_than_sign(a as u32)),
        "s_sext_i32_i8" => scalar!(B32, [B32], Keep, |I { a, .. }| extend(a & 0xff, 8)),
        "s_sext_i32_i16" => scalar!(B32, [B32], Keep, |I { a, .. }| extend(a & 0xffff, 16)),
        "s_bitset0_b32" => scalar!(B32, [B32], Keep, |I { a, old, .. }| old & !(1 << (a & 31))),
        "s_bitset1_b32" => scalar!(B32, [B32], Keep, |I { a, old, .. }| old | 1 << (a & 31)),
        "s_bitset0_b64" => scalar!(B64, [B32], Keep, |I { a, old, .. }| old & !(1 << (a & 63))),
        "s_bitset1_b64" => scalar!(B64, [B32], Keep, |I { a, old, .. }| old | 1 << (a & 63)),
        "s_abs_i32" => scalar!(B32, [B32], NotZero, |I { a, .. }| u64::from((a as i32).wrapping_abs() as u32)),
        "s_add_u32" => scalar!(B32, [B32, B32], flag, |I { a, b, .. }| (a + b, (a + b) >> 32 != 0)),
        "s_sub_u32" => scalar!(B32, [B32, B32], flag, |I { a, b, .. }| (a.wrapping_sub(b), b > a)),
        "s_addc_u32" => scalar!(B32, [B32, B32], flag, |I { a, b, scc, .. }| {
            let sum = a + b + u64::from(scc);
            (sum, sum >> 32 != 0)
        }),
        "s_subb_u32" => scalar!(B32, [B32, B32], flag, |I { a, b, scc, .. }| {
            let borrow = b + u64::from(scc);
            (a.wrapping_sub(borrow), borrow > a)
        }),
        "s_add_i32" => scalar!(B32, [B32, B32], flag, |I { a, b, .. }| signed((a as i32).overflowing_add(b as i32))),
        "s_sub_i32" => scalar!(B32, [B32, B32], flag, |I { a, b, .. }| signed((a as i32).overflowing_sub(b as i32))),
        "s_addk_i32" => scalar!(B32, [B32], flag, |I { a, old, .. }| signed((old as i32).overflowing_add(a as i32))),
        "s_mulk_i32" => scalar!(B32, [B32], Keep, |I { a, old, .. }| a.wrapping_mul(old)),
        "s_mul_i32" => scalar!(B32, [B32, B32], Keep, |I { a, b, .. }| a.wrapping_mul(b)),
        "s_mul_hi_u32" => scalar!(B32, [B32, B32], Keep, |I { a, b, .. }| (a * b) >> 32),
        "s_mul_hi_i32" => scalar!(B32, [B32, B32], Keep, |I { a, b, .. }| ((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u64),
        "s_min_u32" => scalar!(B32, [B32, B32], flag, |I { a, b, .. }| (a.min(b), a < b)),
        "s_max_u32" => scalar!(B32, [B32, B32], flag, |I { a, b, .. }| (a.max(b), a >= b)),
        "s_min_i32" => scalar!(B32, [B32, B32], flag, |I { a, b, .. }| if (a as i32) < b as i32 { (a, true) } else { (b, false) }),
        "s_max_i32" => scalar!(B32, [B32, B32], flag, |I { a, b, .. }| if a as i32 >= b as i32 { (a, true) } else { (b, false) }),
        "s_absdiff_i32" => scalar!(B32, [B32, B32], NotZero, |I { a, b, .. }| u64::from((a as i32).wrapping_sub(b as i32).wrapping_abs() as u32)),
        "s_cselect_b32" => scalar!(B32, [B32, B32], Keep, |I { a, b, scc, .. }| if scc { a } else { b }),
        "s_cselect_b64" => scalar!(B64, [B64, B64], Keep, |I { a, b, scc, .. }| if scc { a } else { b }),
        "s_and_b32" => scalar!(B32, [B32, B32], NotZero, |I { a, b, .. }| a & b),
        "s_and_b64" => scalar!(B64, [B64, B64], NotZero, |I { a, b, .. }| a & b),
        "s_or_b32" => scalar!(B32, [B32, B32], NotZero, |I { a, b, .. }| a | b),
        "s_or_b64" => scalar!(B64, [B64, B64], NotZero, |I { a, b, .. }| a | b),
        "s_xor_b32" => scalar!(B32, [B32, B32], NotZero, |I { a, b, .. }| a ^ b),
        "s_xor_b64" => scalar!(B64, [B64, B64], NotZero, |I { a, b, .. }| a ^ b),
        "s_andn2_b32" => scalar!(B32, [B32, B32], NotZero, |I { a, b, .. }| a & !b),
        "s_andn2_b64" => scalar!(B64, [B64, B64], NotZero, |I { a, b, .. }| a & !b),
        "s_orn2_b32" => scalar!(B32, [B32, B32], NotZero, |I { a, b, .. }| a | !b),
        "s_orn2_b64" => scalar!(B64, [B64, B64], NotZero, |I { a, b, .. }| a | !b),
        "s_nand_b32" => scalar!(B32, [B32, B32], NotZero, |I { a, b, .. }| !(a & b)),
        "s_nand_b64" => scalar!(B64, [B64, B64], NotZero, |I { a, b, .. }| !(a & b)),
        "s_nor_b32" => scalar!(B32, [B32, B32], NotZero, |I { a, b, .. }| !(a | b)),
        "s_nor_b64" => scalar!(B64, [B64, B64], NotZero, |I { a, b, .. }| !(a | b)),
        "s_xnor_b32" => scalar!(B32, [B32, B32], NotZero, |I { a, b, .. }| !(a ^ b)),
        "s_xnor_b64" => scalar!(B64, [B64, B64], NotZero, |I { a, b, .. }| !(a ^ b)),
        "s_lshl_b32" => scalar!(B32, [B32, B32], NotZero, |I { a, b, .. }| a << (b & 31)),
        "s_lshl_b64" => scalar!(B64, [B64, B32], NotZero, |I { a, b, .. }| a << (b & 63)),
        "s_lshr_b32" => scalar!(B32, [B32, B32], NotZero, |I { a, b, .. }| a >> (b & 31)),
        "s_lshr_b64" => scalar!(B64, [B64, B32], NotZero, |I { a, b, .. }| a >> (b & 63)),
        "s_ashr_i32" => scalar!(B32, [B32, B32], NotZero, |I { a, b, .. }| u64::from((a as i32 >> (b & 31)) as u32)),
        "s_ashr_i64" => scalar!(B64, [I64, B32], NotZero, |I { a, b, .. }| (a as i64 >> (b & 63)) as u64),
        "s_bfm_b32" => scalar!(B32, [B32, B32], Keep, |I { a, b, .. }| ((1 << (a & 31)) - 1) << (b & 31)),
        "s_bfm_b64" => scalar!(B64, [B32, B32], Keep, |I { a, b, .. }| ((1 << (a & 63)) - 1) << (b & 63)),
        "s_bfe_u32" => scalar!(B32, [B32, B32], NotZero, |I { a, b, .. }| field32(a, b)),
        "s_bfe_i32" => scalar!(B32, [B32, B32], NotZero, |I { a, b, .. }| extend(field32(a, b), (b >> 16 & 0x7f).min(32 - (b & 31)))),
        "s_bfe_u64" => scalar!(B64, [B64, B32], NotZero, |I { a, b, .. }| field64(a, b)),
        "s_bfe_i64" => scalar!(B64, [B64, B32], NotZero, |I { a, b, .. }| extend(field64(a, b), (b >> 16 & 0x7f).min(64 - (b & 63)))),
        "s_lshl1_add_u32" => scalar!(B32, [B32, B32], flag, |I { a, b, .. }| ((a << 1) + b, ((a << 1) + b) >> 32 != 0)),
        "s_lshl2_add_u32" => scalar!(B32, [B32, B32], flag, |I { a, b, .. }| ((a << 2) + b, ((a << 2) + b) >> 32 != 0)),
        "s_lshl3_add_u32" => scalar!(B32, [B32, B32], flag, |I { a, b, .. }| ((a << 3) + b, ((a << 3) + b) >> 32 != 0)),
        "s_lshl4_add_u32" => scalar!(B32, [B32, B32], flag, |I { a, b, .. }| ((a << 4) + b, ((a << 4) + b) >> 32 != 0)),
        "s_pack_ll_b32_b16" => scalar!(B32, [B32, B32], Keep, |I { a, b, .. }| a & 0xffff | (b & 0xffff) << 16),
        "s_pack_lh_b32_b16" => scalar!(B32, [B32, B32], Keep, |I { a, b, .. }| a & 0xffff | b & 0xffff_0000),
        "s_pack_hh_b32_b16" => scalar!(B32, [B32, B32], Keep, |I { a, b, .. }| a >> 16 & 0xffff | b & 0xffff_0000),
        "s_cmp_eq_i32" | "s_cmp_eq_u32" | "s_cmpk_eq_i32" | "s_cmpk_eq_u32" => scalar!(compare [B32, B32], |I { a, b, .. }| a == b),
        "s_cmp_lg_i32" | "s_cmp_lg_u32" | "s_cmpk_lg_i32" | "s_cmpk_lg_u32" => scalar!(compare [B32, B32], |I { a, b, .. }| a != b),
        "s_cmp_gt_i32" | "s_cmpk_gt_i32" => scalar!(compare [B32, B32], |I { a, b, .. }| a as i32 > b as i32),
        "s_cmp_ge_i32" | "s_cmpk_ge_i32" => scalar!(compare [B32, B32], |I { a, b, .. }| a as i32 >= b as i32),
        "s_cmp_lt_i32" | "s_cmpk_lt_i32" => scalar!(compare [B32, B32], |I { a, b, .. }| (a as i32) < b as i32),
        "s_cmp_le_i32" | "s_cmpk_le_i32" => scalar!(compare [B32, B32], |I { a, b, .. }| a as i32 <= b as i32),
        "s_cmp_gt_u32" | "s_cmpk_gt_u32" => scalar!(compare [B32, B32], |I { a, b, .. }| a > b),
        "s_cmp_ge_u32" | "s_cmpk_ge_u32" => scalar!(compare [B32, B32], |I { a, b, .. }| a >= b),
        "s_cmp_lt_u32" | "s_cmpk_lt_u32" => scalar!(compare [B32, B32], |I { a, b, .. }| a < b),
        "s_cmp_le_u32" | "s_cmpk_le_u32" => scalar!(compare [B32, B32], |I { a, b, .. }| a <= b),
        "s_cmp_eq_u64" => scalar!(compare [B64, B64], |I { a, b, .. }| a == b),
        "s_cmp_lg_u64" => scalar!(compare [B64, B64], |I { a, b, .. }| a != b),
        "s_bitcmp0_b32" => scalar!(compare [B32, B32], |I { a, b, .. }| a >> (b & 31) & 1 == 0),
        "s_bitcmp1_b32" => scalar!(compare [B32, B32], |I { a, b, .. }| a >> (b & 31) & 1 == 1),
        "s_bitcmp0_b64" => scalar!(compare [B64, B32], |I { a, b, .. }| a >> (b & 63) & 1 == 0),
        "s_bitcmp1_b64" => scalar!(compare [B64, B32], |I { a, b, .. }| a >> (b & 63) & 1 == 1),
        _ => return None,
    })
}
