//! 16-bit arithmetic, single and packed.

use super::{Entry, entry};
use crate::number::{f64_to_f16, from_f16, to_f16};

fn float(bits: u64) -> f32 {
    from_f16(bits as u16)
}

fn half(value: f32) -> u64 {
    u64::from(to_f16(value))
}

/// Products of halves are exact in `f64`, and so is their sum unless it is far below the rounding of the result.
fn fma(a: u16, b: u16, c: u16) -> u16 {
    let [a, b, c] = [a, b, c].map(|bits| f64::from(from_f16(bits)));
    f64_to_f16(a * b + c)
}

macro_rules! f16s {
    ([$($source:ident),*], |$($a:ident),*| $e:expr) => {
        entry!(F16, [$($source),*], Wide(|values| {
            let [$($a),*, ..] = values.map(float);
            half($e)
        }))
    };
}

macro_rules! u16s {
    ([$($source:ident),*], |$($a:ident),*| $e:expr) => {
        entry!(B16, [$($source),*], Wide(|values| {
            let [$($a),*, ..] = values.map(|value| value as u16);
            let result: u16 = $e;
            u64::from(result)
        }))
    };
}

macro_rules! packed_f16 {
    ([$($source:ident),*], |$($a:ident),*| $e:expr) => {
        entry!(F16, [$($source),*], Halves(|values| {
            let [$($a),*, ..] = values.map(from_f16);
            to_f16($e)
        }))
    };
}

macro_rules! packed_u16 {
    ([$($source:ident),*], |$($a:ident),*| $e:expr) => {
        entry!(B16, [$($source),*], Halves(|[$($a),*, ..]| $e))
    };
}

#[rustfmt::skip]
pub(super) fn find(name: &str) -> Option<Entry> {
    use super::float::{max, min};
    Some(match name {
        "v_add_f16" => f16s!([F16, F16], |a, b| a + b),
        "v_sub_f16" => f16s!([F16, F16], |a, b| a - b),
        "v_subrev_f16" => f16s!([F16, F16], |a, b| b - a),
        "v_mul_f16" => f16s!([F16, F16], |a, b| a * b),
        "v_max_f16" => f16s!([F16, F16], |a, b| max(a, b)),
        "v_min_f16" => f16s!([F16, F16], |a, b| min(a, b)),
        "v_rcp_f16" => f16s!([F16], |a| 1.0 / a),
        "v_rsq_f16" => f16s!([F16], |a| 1.0 / a.sqrt()),
        "v_sqrt_f16" => f16s!([F16], |a| a.sqrt()),
        "v_exp_f16" => f16s!([F16], |a| a.exp2()),
        "v_log_f16" => f16s!([F16], |a| a.log2()),
        "v_floor_f16" => f16s!([F16], |a| a.floor()),
        "v_ceil_f16" => f16s!([F16], |a| a.ceil()),
        "v_trunc_f16" => f16s!([F16], |a| a.trunc()),
        "v_rndne_f16" => f16s!([F16], |a| a.round_ties_even()),
        "v_fma_f16" | "v_fmac_f16" => entry!(F16, [F16, F16, F16], Wide(|v| u64::from(fma(v[0] as u16, v[1] as u16, v[2] as u16)))),
        "v_add_u16" => u16s!([B16, B16], |a, b| a.wrapping_add(b)),
        "v_sub_u16" => u16s!([B16, B16], |a, b| a.wrapping_sub(b)),
        "v_subrev_u16" => u16s!([B16, B16], |a, b| b.wrapping_sub(a)),
        "v_mul_lo_u16" => u16s!([B16, B16], |a, b| a.wrapping_mul(b)),
        "v_lshlrev_b16" => u16s!([B16, B16], |a, b| b << (a & 15)),
        "v_lshrrev_b16" => u16s!([B16, B16], |a, b| b >> (a & 15)),
        "v_ashrrev_i16" => u16s!([B16, B16], |a, b| (b as i16 >> (a & 15)) as u16),
        "v_min_u16" => u16s!([B16, B16], |a, b| a.min(b)),
        "v_max_u16" => u16s!([B16, B16], |a, b| a.max(b)),
        "v_min_i16" => u16s!([B16, B16], |a, b| (a as i16).min(b as i16) as u16),
        "v_max_i16" => u16s!([B16, B16], |a, b| (a as i16).max(b as i16) as u16),
        "v_mad_legacy_u16" | "v_mad_u16" => u16s!([B16, B16, B16], |a, b, c| a.wrapping_mul(b).wrapping_add(c)),
        "v_pack_b32_f16" => entry!(B32, [F16, F16], Wide(|[a, b, _]| a & 0xffff | (b & 0xffff) << 16)),
        "v_pk_add_f16" => packed_f16!([F16, F16], |a, b| a + b),
        "v_pk_mul_f16" => packed_f16!([F16, F16], |a, b| a * b),
        "v_pk_max_f16" => packed_f16!([F16, F16], |a, b| max(a, b)),
        "v_pk_min_f16" => packed_f16!([F16, F16], |a, b| min(a, b)),
        "v_pk_fma_f16" => entry!(F16, [F16, F16, F16], Halves(|[a, b, c]| fma(a, b, c))),
        "v_pk_add_u16" | "v_pk_add_i16" => packed_u16!([B16, B16], |a, b| a.wrapping_add(b)),
        "v_pk_sub_u16" | "v_pk_sub_i16" => packed_u16!([B16, B16], |a, b| a.wrapping_sub(b)),
        "v_pk_mul_lo_u16" => packed_u16!([B16, B16], |a, b| a.wrapping_mul(b)),
        "v_pk_mad_u16" | "v_pk_mad_i16" => packed_u16!([B16, B16, B16], |a, b, c| a.wrapping_mul(b).wrapping_add(c)),
        "v_pk_lshlrev_b16" => packed_u16!([B16, B16], |a, b| b << (a & 15)),
        "v_pk_lshrrev_b16" => packed_u16!([B16, B16], |a, b| b >> (a & 15)),
        "v_pk_ashrrev_i16" => packed_u16!([B16, B16], |a, b| (b as i16 >> (a & 15)) as u16),
        "v_pk_min_u16" => packed_u16!([B16, B16], |a, b| a.min(b)),
        "v_pk_max_u16" => packed_u16!([B16, B16], |a, b| a.max(b)),
        "v_pk_min_i16" => packed_u16!([B16, B16], |a, b| (a as i16).min(b as i16) as u16),
        "v_pk_max_i16" => packed_u16!([B16, B16], |a, b| (a as i16).max(b as i16) as u16),
        _ => return None,
    })
}
