//! `f32` and `f64` arithmetic.

use super::{Entry, entry, f32s, lanes};
use crate::number::{Divide, flush, fma, from_bf16, from_f16, ldexp};

/// The larger number; a NaN only if both are.
#[inline(always)]
pub(super) fn max(a: f32, b: f32) -> f32 {
    if b.is_nan() || a > b || (a == b && b.is_sign_negative()) {
        a
    } else {
        b
    }
}

/// The smaller number; a NaN only if both are.
#[inline(always)]
pub(super) fn min(a: f32, b: f32) -> f32 {
    if b.is_nan() || a < b || (a == b && a.is_sign_negative()) {
        a
    } else {
        b
    }
}

fn median(a: f32, b: f32, c: f32) -> f32 {
    if a.is_nan() || b.is_nan() || c.is_nan() {
        return min(min(a, b), c);
    }
    max(min(a, b), min(max(a, b), c))
}

/// The larger number; a NaN if one of them is.
fn maximum(a: f32, b: f32) -> f32 {
    if a.is_nan() || b.is_nan() {
        f32::NAN
    } else {
        max(a, b)
    }
}

fn minimum(a: f32, b: f32) -> f32 {
    if a.is_nan() || b.is_nan() {
        f32::NAN
    } else {
        min(a, b)
    }
}

fn fraction(a: f32) -> f32 {
    let part = a - a.floor();
    // The largest number below one, where the difference rounds to one.
    if part == 1.0 {
        f32::from_bits(0x3f7f_ffff)
    } else {
        part
    }
}

/// `2^a`. The hardware flushes a denormal result; compilers scale the operand to avoid one.
fn exp2(a: f32) -> f32 {
    f32::from_bits(flush((f64::from(a).exp2() as f32).to_bits()))
}

/// `log2(a)`. The hardware flushes a denormal operand; compilers scale it.
fn log2(a: f32) -> f32 {
    f64::from(f32::from_bits(flush(a.to_bits()))).log2() as f32
}

fn zero_times(a: f32, b: f32) -> f32 {
    if a == 0.0 || b == 0.0 { 0.0 } else { a * b }
}

/// Mantissa in `[0.5, 1)` and exponent of a finite number that is not zero.
fn parts(a: f64) -> (f64, i32) {
    if a == 0.0 || !a.is_finite() {
        return (a, 0);
    }
    let (scaled, extra) = if a.is_normal() {
        (a, 0)
    } else {
        (a * 2f64.powi(64), -64)
    };
    let bits = scaled.to_bits();
    let exponent = (bits >> 52 & 0x7ff) as i32 - 1022;
    (
        f64::from_bits(bits & !(0x7ff << 52) | 1022 << 52),
        exponent + extra,
    )
}

/// Whether a number is in one of the classes of a mask, as `v_cmp_class_f32` defines them.
pub(super) fn is_of_class(bits: u64, mask: u64, exponent_bits: u32, fraction_bits: u32) -> bool {
    let negative = bits >> (exponent_bits + fraction_bits) & 1 == 1;
    let exponent = bits >> fraction_bits & ((1 << exponent_bits) - 1);
    let fraction = bits & ((1 << fraction_bits) - 1);
    let last = (1 << exponent_bits) - 1;
    let class = match (exponent, fraction, negative) {
        (e, f, _) if e == last && f != 0 => u32::from(f >> (fraction_bits - 1) & 1 == 1),
        (e, _, true) if e == last => 2,
        (e, _, false) if e == last => 9,
        (0, 0, true) => 5,
        (0, 0, false) => 6,
        (0, _, true) => 4,
        (0, _, false) => 7,
        (_, _, true) => 3,
        (_, _, false) => 8,
    };
    mask >> class & 1 == 1
}

macro_rules! f64s {
    ([$($source:ident),*], |$($a:ident),*| $e:expr) => {
        entry!(F64, [$($source),*], Wide(|values| {
            let [$($a),*, ..] = values.map(f64::from_bits);
            let result: f64 = $e;
            result.to_bits()
        }))
    };
}

/// Product and sum, each rounded, without denormals (gfx90a).
fn multiply_then_add(a: f32, b: f32, c: f32) -> f32 {
    let flushed = |value: f32| f32::from_bits(flush(value.to_bits()));
    flushed(flushed(flushed(a) * flushed(b)) + flushed(c))
}

/// The sum of two products of 16-bit floats and an `f32`, rounded once.
fn dot(a: u32, b: u32, c: u32, convert: fn(u16) -> f32) -> u32 {
    let product = |shift: u32| {
        f64::from(convert((a >> shift) as u16)) * f64::from(convert((b >> shift) as u16))
    };
    let sum = product(0) + product(16) + f64::from(f32::from_bits(c));
    (sum as f32).to_bits()
}

#[rustfmt::skip]
pub(super) fn find(name: &str) -> Option<Entry> {
    Some(match name {
        "v_add_f32" => f32s!(|a, b| a + b),
        "v_sub_f32" => f32s!(|a, b| a - b),
        "v_subrev_f32" => f32s!(|a, b| b - a),
        "v_mul_f32" => f32s!(|a, b| a * b),
        "v_mul_legacy_f32" => f32s!(|a, b| zero_times(a, b)),
        "v_max_f32" => f32s!(|a, b| max(a, b)),
        "v_min_f32" => f32s!(|a, b| min(a, b)),
        "v_dot2c_f32_f16" | "v_dot2_f32_f16" => lanes!(Three, F32, [B32, B32, F32], |a, b, c| dot(a, b, c, from_f16)),
        "v_dot2c_f32_bf16" | "v_dot2_f32_bf16" => lanes!(Three, F32, [B32, B32, F32], |a, b, c| dot(a, b, c, from_bf16)),
        "v_mad_f32" | "v_mac_f32" | "v_madmk_f32" | "v_madak_f32" => f32s!(|a, b, c| multiply_then_add(a, b, c)),
        "v_fma_f32" | "v_fmac_f32" | "v_fmamk_f32" | "v_fmaak_f32" => f32s!(|a, b, c| fma(a, b, c)),
        "v_max3_f32" => f32s!(|a, b, c| max(max(a, b), c)),
        "v_min3_f32" => f32s!(|a, b, c| min(min(a, b), c)),
        "v_med3_f32" => f32s!(|a, b, c| median(a, b, c)),
        "v_maximum3_f32" => f32s!(|a, b, c| maximum(maximum(a, b), c)),
        "v_minimum3_f32" => f32s!(|a, b, c| minimum(minimum(a, b), c)),
        "v_rcp_f32" | "v_rcp_iflag_f32" => f32s!(|a| 1.0 / a),
        "v_rsq_f32" => f32s!(|a| (1.0 / f64::from(a).sqrt()) as f32),
        "v_sqrt_f32" => f32s!(|a| a.sqrt()),
        "v_exp_f32" => f32s!(|a| exp2(a)),
        "v_log_f32" => f32s!(|a| log2(a)),
        "v_sin_f32" => f32s!(|a| (f64::from(a) * std::f64::consts::TAU).sin() as f32),
        "v_cos_f32" => f32s!(|a| (f64::from(a) * std::f64::consts::TAU).cos() as f32),
        "v_floor_f32" => f32s!(|a| a.floor()),
        "v_ceil_f32" => f32s!(|a| a.ceil()),
        "v_trunc_f32" => f32s!(|a| a.trunc()),
        "v_rndne_f32" => f32s!(|a| a.round_ties_even()),
        "v_fract_f32" => f32s!(|a| fraction(a)),
        "v_frexp_mant_f32" => f32s!(|a| parts(f64::from(a)).0 as f32),
        "v_frexp_exp_i32_f32" => lanes!(One, B32, [F32], |a| parts(f64::from(f32::from_bits(a))).1 as u32),
        "v_ldexp_f32" => lanes!(Two, F32, [F32, B32], |a, b| {
            (ldexp(f64::from(f32::from_bits(a)), b as i32) as f32).to_bits()
        }),
        "v_div_fixup_f32" => f32s!(|a, b, c| f32::fix_up(a, b, c)),
        "v_div_scale_f32" => entry!(F32, [F32, F32, F32], DivideScale),
        "v_div_fmas_f32" => entry!(F32, [F32, F32, F32], DivideMultiplyAdd),
        "v_pk_add_f32" => entry!(F64, [F64, F64], Pair(|r, a, b, _| {
            super::each(r, |i| (f32::from_bits(a[i]) + f32::from_bits(b[i])).to_bits());
        })),
        "v_pk_mul_f32" => entry!(F64, [F64, F64], Pair(|r, a, b, _| {
            super::each(r, |i| (f32::from_bits(a[i]) * f32::from_bits(b[i])).to_bits());
        })),
        "v_pk_fma_f32" => entry!(F64, [F64, F64, F64], Pair(|r, a, b, c| {
            super::each(r, |i| fma(f32::from_bits(a[i]), f32::from_bits(b[i]), f32::from_bits(c[i])).to_bits());
        })),
        "v_add_f64" => f64s!([F64, F64], |a, b| a + b),
        "v_mul_f64" => f64s!([F64, F64], |a, b| a * b),
        "v_max_f64" => f64s!([F64, F64], |a, b| a.max(b)),
        "v_min_f64" => f64s!([F64, F64], |a, b| a.min(b)),
        "v_fma_f64" | "v_fmac_f64" => f64s!([F64, F64, F64], |a, b, c| a.mul_add(b, c)),
        // The hardware's estimates have about 28 bits; compilers refine them. The exact values satisfy the same bounds.
        "v_rcp_f64" => f64s!([F64], |a| 1.0 / a),
        "v_rsq_f64" => f64s!([F64], |a| 1.0 / a.sqrt()),
        "v_sqrt_f64" => f64s!([F64], |a| a.sqrt()),
        "v_floor_f64" => f64s!([F64], |a| a.floor()),
        "v_ceil_f64" => f64s!([F64], |a| a.ceil()),
        "v_trunc_f64" => f64s!([F64], |a| a.trunc()),
        "v_rndne_f64" => f64s!([F64], |a| a.round_ties_even()),
        "v_frexp_mant_f64" => f64s!([F64], |a| parts(a).0),
        "v_frexp_exp_i32_f64" => entry!(B32, [F64], Wide(|[a, ..]| parts(f64::from_bits(a)).1 as u64)),
        "v_ldexp_f64" => entry!(F64, [F64, B32], Wide(|[a, b, _]| ldexp(f64::from_bits(a), b as i32).to_bits())),
        "v_div_fixup_f64" => f64s!([F64, F64, F64], |a, b, c| f64::fix_up(a, b, c)),
        "v_div_scale_f64" => entry!(F64, [F64, F64, F64], DivideScale),
        "v_div_fmas_f64" => entry!(F64, [F64, F64, F64], DivideMultiplyAdd),
        _ => return None,
    })
}
