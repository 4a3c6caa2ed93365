//! Vector instructions: operands in `v2`, `v4` and `v6` (pairs for 64 bits), the result in `v8`.

use crate::common::{numbers, vector};

/// How results are compared.
#[derive(Clone, Copy, PartialEq)]
enum As {
    Bits,
    /// Floats of this many bits, of which every NaN is equal.
    Float(u32),
    /// `f32` within this many units in the last place.
    Near(u32),
}

struct Row(&'static str, &'static str, As, fn([u64; 3]) -> u64);

macro_rules! integers {
    ($code:expr, |$a:pat_param, $b:pat_param, $c:pat_param| $e:expr) => {
        Row("gfx942", $code, As::Bits, |[a, b, c]| {
            let f: fn(u32, u32, u32) -> u32 = |$a, $b, $c| $e;
            u64::from(f(a as u32, b as u32, c as u32))
        })
    };
}

macro_rules! shorts {
    ($code:expr, |$a:pat_param, $b:pat_param, $c:pat_param| $e:expr) => {
        Row("gfx942", $code, As::Bits, |[a, b, c]| {
            let f: fn(u16, u16, u16) -> u16 = |$a, $b, $c| $e;
            u64::from(f(a as u16, b as u16, c as u16))
        })
    };
}

/// Both halves of packed instructions.
macro_rules! packed {
    ($code:expr, |$a:pat_param, $b:pat_param, $c:pat_param| $e:expr) => {
        Row("gfx942", $code, As::Bits, |[a, b, c]| {
            let f: fn(u16, u16, u16) -> u16 = |$a, $b, $c| $e;
            let half = |shift: u32| {
                u64::from(f(
                    (a >> shift) as u16,
                    (b >> shift) as u16,
                    (c >> shift) as u16,
                ))
            };
            half(0) | half(16) << 16
        })
    };
}

macro_rules! floats {
    ($arch:expr, $code:expr, |$a:pat_param, $b:pat_param, $c:pat_param| $e:expr) => {
        Row($arch, $code, As::Float(32), |values| {
            let [$a, $b, $c] = values.map(|bits| f32::from_bits(bits as u32));
            let result: f32 = $e;
            u64::from(result.to_bits())
        })
    };
}

macro_rules! doubles {
    ($code:expr, |$a:pat_param, $b:pat_param, $c:pat_param| $e:expr) => {
        Row("gfx942", $code, As::Float(64), |values| {
            let [$a, $b, $c] = values.map(f64::from_bits);
            let result: f64 = $e;
            result.to_bits()
        })
    };
}

macro_rules! halves {
    ($code:expr, |$a:pat_param, $b:pat_param, $c:pat_param| $e:expr) => {
        Row("gfx942", $code, As::Float(16), |values| {
            let [$a, $b, $c] = values.map(|bits| hipward_emulator::from_f16(bits as u16));
            let result: f32 = $e;
            u64::from(hipward_emulator::to_f16(result))
        })
    };
}

fn i24(a: u32) -> i64 {
    i64::from((a << 8) as i32 >> 8)
}

fn u24(a: u32) -> u64 {
    u64::from(a & 0xff_ffff)
}

fn dot4(a: u32, b: u32, c: u32) -> u32 {
    let products = a.to_le_bytes().into_iter().zip(b.to_le_bytes());
    products.fold(c, |sum, (a, b)| {
        sum.wrapping_add_signed(i32::from(a as i8) * i32::from(b as i8))
    })
}

/// The exponent for which a number is in `[0.5, 1)` times its power of two, and that fraction.
fn parts(x: f64) -> (f64, i32) {
    if x == 0.0 || !x.is_finite() {
        return (x, 0);
    }
    let (mut fraction, mut exponent) = (x, 0);
    while fraction.abs() >= 1.0 {
        (fraction, exponent) = (fraction / 2.0, exponent + 1);
    }
    while fraction.abs() < 0.5 {
        (fraction, exponent) = (fraction * 2.0, exponent - 1);
    }
    (fraction, exponent)
}

fn eight(bits: u64, exponent_bits: u32, fraction_bits: u32, bias: i32) -> f32 {
    let fraction = (bits & ((1 << fraction_bits) - 1)) as f32 / (1 << fraction_bits) as f32;
    let exponent = (bits >> fraction_bits) as i32 & ((1 << exponent_bits) - 1);
    let magnitude = if exponent == 0 {
        fraction * 2f32.powi(1 - bias)
    } else {
        (1.0 + fraction) * 2f32.powi(exponent - bias)
    };
    if bits >> 7 & 1 == 1 {
        -magnitude
    } else {
        magnitude
    }
}

fn bf16(bits: u64) -> f64 {
    f64::from(f32::from_bits((bits as u32) << 16))
}

fn nan(values: [f32; 3]) -> bool {
    values.iter().any(|value| value.is_nan())
}

/// Quotient of `v2` and `v4` as compilers compute it.
const QUOTIENT_32: &str = "v_div_scale_f32 v10, s[6:7], v4, v4, v2
    v_rcp_f32_e32 v11, v10
    v_div_scale_f32 v12, vcc, v2, v4, v2
    v_fma_f32 v13, -v10, v11, 1.0
    v_fmac_f32_e32 v11, v13, v11
    v_mul_f32_e32 v13, v12, v11
    v_fma_f32 v14, -v10, v13, v12
    v_fmac_f32_e32 v13, v14, v11
    v_fma_f32 v10, -v10, v13, v12
    v_div_fmas_f32 v10, v10, v11, v13
    v_div_fixup_f32 v8, v10, v4, v2";

const QUOTIENT_64: &str = "v_div_scale_f64 v[10:11], s[6:7], v[4:5], v[4:5], v[2:3]
    v_rcp_f64_e32 v[12:13], v[10:11]
    v_fma_f64 v[14:15], -v[10:11], v[12:13], 1.0
    v_fma_f64 v[12:13], v[12:13], v[14:15], v[12:13]
    v_fma_f64 v[14:15], -v[10:11], v[12:13], 1.0
    v_fma_f64 v[12:13], v[12:13], v[14:15], v[12:13]
    v_div_scale_f64 v[14:15], vcc, v[2:3], v[4:5], v[2:3]
    v_mul_f64 v[16:17], v[14:15], v[12:13]
    v_fma_f64 v[10:11], -v[10:11], v[16:17], v[14:15]
    v_div_fmas_f64 v[10:11], v[10:11], v[12:13], v[16:17]
    v_div_fixup_f64 v[8:9], v[10:11], v[4:5], v[2:3]";

#[rustfmt::skip]
const ROWS: &[Row] = &[
    integers!("v_accvgpr_write_b32 a0, v2\nv_accvgpr_mov_b32 a1, a0\nv_accvgpr_read_b32 v8, a1", |a, _, _| a),
    integers!("v_add_lshl_u32 v8, v2, v4, v6", |a, b, c| a.wrapping_add(b) << (c & 31)),
    integers!("v_alignbyte_b32 v8, v2, v4, v6", |a, b, c| ((u64::from(a) << 32 | u64::from(b)) >> (8 * (c & 3))) as u32),
    integers!("v_bcnt_u32_b32 v8, v2, v4", |a, b, _| a.count_ones().wrapping_add(b)),
    integers!("v_bfm_b32 v8, v2, v4", |a, b, _| ((1u32 << (a & 31)) - 1) << (b & 31)),
    integers!("v_ffbh_i32_e32 v8, v2", |a, _, _| (1..32).find(|at| (a >> (31 - at) ^ a >> 31) & 1 == 1).unwrap_or(u32::MAX)),
    integers!("v_ffbh_u32_e32 v8, v2", |a, _, _| (0..32).find(|at| a >> (31 - at) & 1 == 1).unwrap_or(u32::MAX)),
    integers!("v_ffbl_b32_e32 v8, v2", |a, _, _| (0..32).find(|at| a >> at & 1 == 1).unwrap_or(u32::MAX)),
    integers!("v_mad_i32_i24 v8, v2, v4, v6", |a, b, c| ((i24(a) * i24(b)) as u32).wrapping_add(c)),
    integers!("v_mad_u32_u24 v8, v2, v4, v6", |a, b, c| ((u24(a) * u24(b)) as u32).wrapping_add(c)),
    integers!("v_mul_i32_i24_e32 v8, v2, v4", |a, b, _| (i24(a) * i24(b)) as u32),
    integers!("v_mul_hi_i32_i24_e32 v8, v2, v4", |a, b, _| ((i24(a) * i24(b)) >> 32) as u32),
    integers!("v_mul_hi_u32_u24_e32 v8, v2, v4", |a, b, _| ((u24(a) * u24(b)) >> 32) as u32),
    integers!("v_mul_hi_i32 v8, v2, v4", |a, b, _| ((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u32),
    integers!("v_max3_i32 v8, v2, v4, v6", |a, b, c| (a as i32).max(b as i32).max(c as i32) as u32),
    integers!("v_max3_u32 v8, v2, v4, v6", |a, b, c| a.max(b).max(c)),
    integers!("v_min3_i32 v8, v2, v4, v6", |a, b, c| (a as i32).min(b as i32).min(c as i32) as u32),
    integers!("v_min3_u32 v8, v2, v4, v6", |a, b, c| a.min(b).min(c)),
    integers!("v_med3_i32 v8, v2, v4, v6", |a, b, c| {
        let mut sorted = [a as i32, b as i32, c as i32];
        sorted.sort_unstable();
        sorted[1] as u32
    }),
    integers!("v_med3_u32 v8, v2, v4, v6", |a, b, c| {
        let mut sorted = [a, b, c];
        sorted.sort_unstable();
        sorted[1]
    }),
    integers!("v_min_i32_e32 v8, v2, v4", |a, b, _| (a as i32).min(b as i32) as u32),
    integers!("v_or3_b32 v8, v2, v4, v6", |a, b, c| a | b | c),
    integers!("v_sad_u32 v8, v2, v4, v6", |a, b, c| a.abs_diff(b).wrapping_add(c)),
    integers!("v_sad_u8 v8, v2, v4, v6", |a, b, c| {
        let pairs = a.to_le_bytes().into_iter().zip(b.to_le_bytes());
        pairs.fold(c, |sum, (a, b)| sum.wrapping_add(u32::from(a.abs_diff(b))))
    }),
    integers!("v_sub_i32 v8, v2, v4", |a, b, _| a.wrapping_sub(b)),
    integers!("v_xnor_b32_e32 v8, v2, v4", |a, b, _| !(a ^ b)),
    integers!("v_nop\nv_mov_b32_e32 v8, v2\nv_swap_b32 v8, v4\nv_xor_b32_e32 v8, v8, v4", |a, b, _| a ^ b),
    integers!("v_mov_b32_e32 v8, v2\nv_swap_b32 v8, v4", |_, b, _| b),
    integers!("v_subrev_co_u32_e32 v8, vcc, v2, v4\nv_subbrev_co_u32_e32 v8, vcc, v2, v4, vcc", |a, b, _| {
        b.wrapping_sub(a).wrapping_sub(u32::from(a > b))
    }),
    integers!("v_bitop3_b32 v8, v2, v4, v6 bitop3:0xca", |a, b, c| a & b | !a & c).on("gfx950"),
    integers!("v_bitop3_b16 v8, v2, v4, v6 bitop3:0xca", |a, b, c| (a & b | !a & c) & 0xffff).on("gfx950"),
    Row("gfx942", "v_lshrrev_b64 v[8:9], v2, v[4:5]", As::Bits, |[a, b, _]| b >> (a & 63)),
    Row("gfx942", "v_mov_b64_e32 v[8:9], v[2:3]", As::Bits, |[a, ..]| a),
    shorts!("v_ashrrev_i16_e32 v8, v2, v4", |a, b, _| (b as i16 >> (a & 15)) as u16),
    shorts!("v_lshlrev_b16_e32 v8, v2, v4", |a, b, _| b << (a & 15)),
    shorts!("v_lshrrev_b16_e32 v8, v2, v4", |a, b, _| b >> (a & 15)),
    shorts!("v_mad_legacy_u16 v8, v2, v4, v6", |a, b, c| a.wrapping_mul(b).wrapping_add(c)),
    shorts!("v_mad_u16 v8, v2, v4, v6", |a, b, c| a.wrapping_mul(b).wrapping_add(c)),
    shorts!("v_max_i16_e32 v8, v2, v4", |a, b, _| (a as i16).max(b as i16) as u16),
    shorts!("v_min_i16_e32 v8, v2, v4", |a, b, _| (a as i16).min(b as i16) as u16),
    shorts!("v_max_u16_e32 v8, v2, v4", |a, b, _| a.max(b)),
    shorts!("v_min_u16_e32 v8, v2, v4", |a, b, _| a.min(b)),
    shorts!("v_mul_lo_u16_e32 v8, v2, v4", |a, b, _| a.wrapping_mul(b)),
    shorts!("v_sub_u16_e32 v8, v2, v4", |a, b, _| a.wrapping_sub(b)),
    shorts!("v_subrev_u16_e32 v8, v2, v4", |a, b, _| b.wrapping_sub(a)),
    packed!("v_pk_add_u16 v8, v2, v4", |a, b, _| a.wrapping_add(b)),
    packed!("v_pk_add_i16 v8, v2, v4", |a, b, _| a.wrapping_add(b)),
    packed!("v_pk_sub_u16 v8, v2, v4", |a, b, _| a.wrapping_sub(b)),
    packed!("v_pk_sub_i16 v8, v2, v4", |a, b, _| a.wrapping_sub(b)),
    packed!("v_pk_mul_lo_u16 v8, v2, v4", |a, b, _| a.wrapping_mul(b)),
    packed!("v_pk_mad_u16 v8, v2, v4, v6", |a, b, c| a.wrapping_mul(b).wrapping_add(c)),
    packed!("v_pk_mad_i16 v8, v2, v4, v6", |a, b, c| a.wrapping_mul(b).wrapping_add(c)),
    packed!("v_pk_lshlrev_b16 v8, v2, v4", |a, b, _| b << (a & 15)),
    packed!("v_pk_lshrrev_b16 v8, v2, v4", |a, b, _| b >> (a & 15)),
    packed!("v_pk_ashrrev_i16 v8, v2, v4", |a, b, _| (b as i16 >> (a & 15)) as u16),
    packed!("v_pk_max_i16 v8, v2, v4", |a, b, _| (a as i16).max(b as i16) as u16),
    packed!("v_pk_min_i16 v8, v2, v4", |a, b, _| (a as i16).min(b as i16) as u16),
    packed!("v_pk_max_u16 v8, v2, v4", |a, b, _| a.max(b)),
    packed!("v_pk_min_u16 v8, v2, v4", |a, b, _| a.min(b)),
    integers!("v_dot4_i32_i8 v8, v2, v4, v6", |a, b, c| dot4(a, b, c)),
    integers!("v_mov_b32_e32 v8, v6\nv_dot4c_i32_i8_e32 v8, v2, v4", |a, b, c| dot4(a, b, c)),
    integers!("v_dot4_u32_u8 v8, v2, v4, v6", |a, b, c| {
        let products = a.to_le_bytes().into_iter().zip(b.to_le_bytes());
        products.fold(c, |sum, (a, b)| sum.wrapping_add(u32::from(a) * u32::from(b)))
    }),
    floats!("gfx942", "v_ceil_f32_e32 v8, v2", |a, _, _| a.ceil()),
    floats!("gfx942", "v_trunc_f32_e32 v8, v2", |a, _, _| a.trunc()),
    floats!("gfx942", "v_fract_f32_e32 v8, v2", |a, _, _| {
        let part = a - a.floor();
        if part == 1.0 { 1.0 - f32::EPSILON / 2.0 } else { part }
    }),
    floats!("gfx942", "v_frexp_mant_f32_e32 v8, v2", |a, _, _| parts(f64::from(a)).0 as f32),
    floats!("gfx942", "v_mul_legacy_f32 v8, v2, v4", |a, b, _| if a == 0.0 || b == 0.0 { 0.0 } else { a * b }),
    floats!("gfx942", "v_rcp_iflag_f32_e32 v8, v2", |a, _, _| 1.0 / a),
    floats!("gfx942", QUOTIENT_32, |a, b, _| a / b),
    floats!("gfx942", "v_med3_f32 v8, v2, v4, v6", |a, b, c| {
        let mut sorted = [a, b, c];
        sorted.sort_by(f32::total_cmp);
        if nan(sorted) { extreme([a, b, c], 0) } else { sorted[1] }
    }),
    floats!("gfx942", "v_min3_f32 v8, v2, v4, v6", |a, b, c| extreme([a, b, c], 0)),
    floats!("gfx950", "v_maximum3_f32 v8, v2, v4, v6", |a, b, c| if nan([a, b, c]) { f32::NAN } else { extreme([a, b, c], 2) }),
    floats!("gfx950", "v_minimum3_f32 v8, v2, v4, v6", |a, b, c| if nan([a, b, c]) { f32::NAN } else { extreme([a, b, c], 0) }),
    Row("gfx942", "v_cos_f32_e32 v8, v2", As::Near(1), |[a, ..]| {
        u64::from(((f64::from(f32::from_bits(a as u32)) * std::f64::consts::TAU).cos() as f32).to_bits())
    }),
    integers!("v_frexp_exp_i32_f32_e32 v8, v2", |a, _, _| parts(f64::from(f32::from_bits(a))).1 as u32),
    Row("gfx942", "v_frexp_exp_i32_f64_e32 v8, v[2:3]", As::Bits, |[a, ..]| u64::from(parts(f64::from_bits(a)).1 as u32)),
    doubles!("v_frexp_mant_f64_e32 v[8:9], v[2:3]", |a, _, _| parts(a).0),
    doubles!("v_add_f64 v[8:9], v[2:3], v[4:5]", |a, b, _| a + b),
    doubles!("v_mul_f64 v[8:9], v[2:3], v[4:5]", |a, b, _| a * b),
    doubles!("v_max_f64 v[8:9], v[2:3], v[4:5]", |a, b, _| a.max(b)),
    doubles!("v_min_f64 v[8:9], v[2:3], v[4:5]", |a, b, _| a.min(b)),
    doubles!("v_fma_f64 v[8:9], v[2:3], v[4:5], v[6:7]", |a, b, c| a.mul_add(b, c)),
    doubles!("v_mov_b64_e32 v[8:9], v[6:7]\nv_fmac_f64_e32 v[8:9], v[2:3], v[4:5]", |a, b, c| a.mul_add(b, c)),
    doubles!("v_ceil_f64_e32 v[8:9], v[2:3]", |a, _, _| a.ceil()),
    doubles!("v_floor_f64_e32 v[8:9], v[2:3]", |a, _, _| a.floor()),
    doubles!("v_trunc_f64_e32 v[8:9], v[2:3]", |a, _, _| a.trunc()),
    doubles!("v_rndne_f64_e32 v[8:9], v[2:3]", |a, _, _| a.round_ties_even()),
    doubles!("v_rcp_f64_e32 v[8:9], v[2:3]", |a, _, _| 1.0 / a),
    doubles!("v_rsq_f64_e32 v[8:9], v[2:3]", |a, _, _| 1.0 / a.sqrt()),
    doubles!("v_sqrt_f64_e32 v[8:9], v[2:3]", |a, _, _| a.sqrt()),
    doubles!("v_mov_b32_e32 v4, -3\nv_ldexp_f64 v[8:9], v[2:3], v4", |a, _, _| a / 8.0),
    doubles!(QUOTIENT_64, |a, b, _| a / b),
    halves!("v_ceil_f16_e32 v8, v2", |a, _, _| a.ceil()),
    halves!("v_floor_f16_e32 v8, v2", |a, _, _| a.floor()),
    halves!("v_trunc_f16_e32 v8, v2", |a, _, _| a.trunc()),
    halves!("v_rndne_f16_e32 v8, v2", |a, _, _| a.round_ties_even()),
    halves!("v_exp_f16_e32 v8, v2", |a, _, _| a.exp2()),
    halves!("v_log_f16_e32 v8, v2", |a, _, _| a.log2()),
    halves!("v_rcp_f16_e32 v8, v2", |a, _, _| 1.0 / a),
    halves!("v_rsq_f16_e32 v8, v2", |a, _, _| 1.0 / a.sqrt()),
    halves!("v_sqrt_f16_e32 v8, v2", |a, _, _| a.sqrt()),
    halves!("v_max_f16_e32 v8, v2, v4", |a, b, _| extreme([a, b, a], 2)),
    halves!("v_min_f16_e32 v8, v2, v4", |a, b, _| extreme([a, b, a], 0)),
    halves!("v_sub_f16_e32 v8, v2, v4", |a, b, _| a - b),
    halves!("v_subrev_f16_e32 v8, v2, v4", |a, b, _| b - a),
    Row("gfx942", "v_pack_b32_f16 v8, v2, v4", As::Bits, |[a, b, _]| a & 0xffff | (b & 0xffff) << 16),
    Row("gfx942", "v_cvt_f32_f16_e32 v8, v2", As::Float(32), |[a, ..]| u64::from(hipward_emulator::from_f16(a as u16).to_bits())),
    Row("gfx950", "v_cvt_f32_bf16_e32 v8, v2", As::Float(32), |[a, ..]| (a & 0xffff) << 16),
    Row("gfx942", "v_cvt_f32_ubyte0_e32 v8, v2", As::Bits, |[a, ..]| u64::from((a as u8 as f32).to_bits())),
    Row("gfx942", "v_cvt_f32_ubyte1_e32 v8, v2", As::Bits, |[a, ..]| u64::from(((a >> 8) as u8 as f32).to_bits())),
    Row("gfx942", "v_cvt_f32_ubyte2_e32 v8, v2", As::Bits, |[a, ..]| u64::from(((a >> 16) as u8 as f32).to_bits())),
    Row("gfx942", "v_cvt_f32_ubyte3_e32 v8, v2", As::Bits, |[a, ..]| u64::from(((a >> 24) as u8 as f32).to_bits())),
    Row("gfx942", "v_cvt_f64_i32_e32 v[8:9], v2", As::Bits, |[a, ..]| f64::from(a as i32).to_bits()),
    Row("gfx942", "v_cvt_f64_u32_e32 v[8:9], v2", As::Bits, |[a, ..]| f64::from(a as u32).to_bits()),
    Row("gfx942", "v_cvt_i32_f64_e32 v8, v[2:3]", As::Bits, |[a, ..]| u64::from(f64::from_bits(a) as i32 as u32)),
    Row("gfx942", "v_cvt_u32_f64_e32 v8, v[2:3]", As::Bits, |[a, ..]| u64::from(f64::from_bits(a) as u32)),
    Row("gfx942", "v_cvt_flr_i32_f32_e32 v8, v2", As::Bits, |[a, ..]| u64::from(f32::from_bits(a as u32).floor() as i32 as u32)),
    Row("gfx942", "v_cvt_rpi_i32_f32_e32 v8, v2", As::Bits, |[a, ..]| u64::from((f32::from_bits(a as u32) + 0.5).floor() as i32 as u32)),
    Row("gfx942", "v_cvt_f16_i16_e32 v8, v2", As::Float(16), |[a, ..]| u64::from(hipward_emulator::to_f16(f32::from(a as u16 as i16)))),
    Row("gfx942", "v_cvt_f16_u16_e32 v8, v2", As::Float(16), |[a, ..]| u64::from(hipward_emulator::to_f16(f32::from(a as u16)))),
    Row("gfx942", "v_cvt_i16_f16_e32 v8, v2", As::Bits, |[a, ..]| u64::from(hipward_emulator::from_f16(a as u16) as i16 as u16)),
    Row("gfx942", "v_cvt_u16_f16_e32 v8, v2", As::Bits, |[a, ..]| u64::from(hipward_emulator::from_f16(a as u16) as u16)),
    integers!("v_cvt_pk_u16_u32 v8, v2, v4", |a, b, _| a.min(0xffff) | b.min(0xffff) << 16),
    integers!("v_cvt_pk_i16_i32 v8, v2, v4", |a, b, _| {
        let near = |x: u32| u32::from((x as i32).clamp(-0x8000, 0x7fff) as i16 as u16);
        near(a) | near(b) << 16
    }),
];

/// The lowest or highest number, of which -0 is below 0; a NaN only if all are.
fn extreme(values: [f32; 3], place: usize) -> f32 {
    let mut numbers: Vec<f32> = values.into_iter().filter(|value| !value.is_nan()).collect();
    numbers.sort_by(f32::total_cmp);
    let last = numbers.len().saturating_sub(1);
    numbers.get(place.min(last)).copied().unwrap_or(f32::NAN)
}

impl Row {
    const fn on(self, arch: &'static str) -> Self {
        Self(arch, self.1, self.2, self.3)
    }
}

/// Code of the tests that are no rows.
const OTHERS: [&str; 15] = [
    "v_madak_f32 v8, v2, v4, 0x40400000",
    "v_cvt_f32_fp8_e32 v8, v2",
    "v_cvt_f32_bf8_e32 v8, v2",
    "v_cvt_pk_bf8_f32 v8, v2, v4",
    "v_cvt_scalef32_pk_bf8_f32 v8, v2, v4, v6",
    "v_cvt_pk_f16_f32 v8, v2, v4",
    "v_cvt_pknorm_i16_f32 v8, v2, v4",
    "v_dot2_f32_bf16 v8, v2, v4, v6",
    "v_mov_b32_e32 v8, v6\nv_dot2c_f32_bf16_e32 v8, v2, v4",
    "v_pk_fma_f16 v8, v2, v4, v6",
    "v_pk_max_f16 v8, v2, v4",
    "v_pk_min_f16 v8, v2, v4",
    "v_mov_b32_e32 v8, v0\nv_permlane16_swap_b32_e32 v8, v2",
    "v_mov_b32_e32 v8, v0\nv_permlane32_swap_b32_e32 v8, v2",
    "v_fma_f16 v8, v2, v4, v6",
];

pub(crate) fn codes() -> Vec<String> {
    ROWS.iter()
        .map(|row| row.1)
        .chain(OTHERS)
        .map(str::to_owned)
        .collect()
}

fn is_nan(bits: u64, width: u32) -> bool {
    match width {
        16 => hipward_emulator::from_f16(bits as u16).is_nan(),
        32 => f32::from_bits(bits as u32).is_nan(),
        _ => f64::from_bits(bits).is_nan(),
    }
}

#[test]
fn vector_instructions_have_the_results_of_the_guides() {
    let all = numbers(128, 9);
    let operands: Vec<[u64; 3]> = (0..128)
        .map(|at| [all[at], all[(at * 5 + 1) % 128], all[(at * 11 + 7) % 128]])
        .collect();
    for Row(arch, code, how, expected) in ROWS {
        for rows in operands.chunks(64) {
            for (row, actual) in rows.iter().zip(vector(arch, code, rows)) {
                let wanted = expected(*row);
                let same = match how {
                    As::Bits => actual == wanted,
                    As::Float(width) => {
                        actual == wanted || is_nan(actual, *width) && is_nan(wanted, *width)
                    }
                    As::Near(ulps) => {
                        is_nan(actual, 32) && is_nan(wanted, 32)
                            || (actual as u32).abs_diff(wanted as u32) <= *ulps
                    }
                };
                assert!(
                    same,
                    "{code} of {row:#x?}: {actual:#x} instead of {wanted:#x}"
                );
            }
        }
    }
}

fn float(value: f32) -> u64 {
    u64::from(value.to_bits())
}

#[test]
fn conversions_to_and_from_8_bits() {
    let bytes: Vec<[u64; 3]> = (0..64).map(|byte| [byte * 4 + 1, 0, 0]).collect();
    for (arch, code, exponent, fraction, bias) in [
        ("gfx942", OTHERS[1], 4, 3, 8),
        ("gfx942", OTHERS[2], 5, 2, 16),
        ("gfx950", OTHERS[1], 4, 3, 7),
        ("gfx950", OTHERS[2], 5, 2, 15),
    ] {
        for (row, actual) in bytes.iter().zip(vector(arch, code, &bytes)) {
            let actual = f32::from_bits(actual as u32);
            // OCP's largest exponents contain infinities and NaN.
            if arch == "gfx950" && row[0] & 0x7f >= 0x7c {
                continue;
            }
            assert_eq!(
                actual,
                eight(row[0], exponent, fraction, bias),
                "{arch} {code} of {:#x}",
                row[0]
            );
        }
    }
    let row = [float(1.75), float(-0.5), float(4.0)];
    // E5M2 with bias 16 and 15.
    assert_eq!(vector("gfx942", OTHERS[3], &[row])[0], 0xbc_43);
    assert_eq!(vector("gfx950", OTHERS[3], &[row])[0], 0xb8_3f);
    // Divided by the scale.
    assert_eq!(vector("gfx950", OTHERS[4], &[row])[0], 0xb0_37);
}

#[test]
fn instructions_on_pairs_of_floats() {
    let run = |arch: &str, code: &str, row: [u64; 3]| vector(arch, code, &[row])[0];
    assert_eq!(
        run("gfx90a", OTHERS[0], [float(1.5), float(2.0), 0]),
        float(6.0)
    );
    assert_eq!(
        run("gfx950", OTHERS[5], [float(1.5), float(-2.0), 0]),
        0xc000_3e00
    );
    assert_eq!(
        run("gfx942", OTHERS[6], [float(1.0), float(-1.0), 0]),
        0x8001_7fff
    );
    assert_eq!(
        run("gfx942", OTHERS[6], [float(7.0), float(0.25), 0]),
        0x2000_7fff
    );
    // 2 and 3 times 0.5 and -1 plus 10.
    let (pairs, sum) = (
        [0x4040_4000, 0xbf80_3f00, float(10.0)],
        2.0 * 0.5 - 3.0 + 10.0,
    );
    for code in [OTHERS[7], OTHERS[8]] {
        assert_eq!(run("gfx950", code, pairs), float(sum), "{code}");
        let exact = bf16(0x4000) * bf16(0x3f00) + bf16(0x4040) * bf16(0xbf80) + 10.0;
        assert_eq!(f64::from(sum), exact);
    }
    // 2 and -3; 0.5 and -4; 1 and 0.25.
    let halves = [0xc200_4000, 0xc400_3800, 0x3400_3c00];
    assert_eq!(run("gfx942", OTHERS[9], halves), 0x4a20_4000);
    assert_eq!(run("gfx942", OTHERS[10], halves), 0xc200_4000);
    assert_eq!(run("gfx942", OTHERS[11], halves), 0xc400_3800);
    assert_eq!(run("gfx942", OTHERS[14], halves), 0x4000);
}

/// The second row of the first register and the first row of the second one change places.
#[test]
fn rows_of_two_registers_are_swapped() {
    let rows: Vec<[u64; 3]> = (0..64).map(|lane| [100 + lane, 0, 0]).collect();
    for (code, size) in [(OTHERS[12], 16), (OTHERS[13], 32)] {
        for (lane, actual) in vector("gfx950", code, &rows).into_iter().enumerate() {
            let odd = lane / size % 2 == 1;
            let wanted = if odd { 100 + lane - size } else { lane };
            assert_eq!(actual, wanted as u64, "{code} lane {lane}");
        }
    }
}
