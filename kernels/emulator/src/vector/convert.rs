//! Conversions between number formats.

use super::Context;
use super::{Entry, entry, lanes};
use crate::number::{
    self, Eight, FNUZ_BF8, FNUZ_FP8, OCP_BF8, OCP_FP8, from_bf16, from_f16, to_bf16, to_f16,
};

fn float(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

fn fp8(context: Context) -> Eight {
    if context.ocp { OCP_FP8 } else { FNUZ_FP8 }
}

fn bf8(context: Context) -> Eight {
    if context.ocp { OCP_BF8 } else { FNUZ_BF8 }
}

/// Replaces the half of a register that the last bit of `op_sel` selects.
fn put_half(previous: u32, half: u32, high: bool) -> u32 {
    if high {
        previous & 0xffff | half << 16
    } else {
        previous & 0xffff_0000 | half & 0xffff
    }
}

fn pack_eight(format: Eight, [a, b, _]: [u64; 3], previous: u32, context: Context) -> u32 {
    let [low, high] = [a, b].map(|bits| u32::from(format.encode(float(bits), context.saturate)));
    put_half(
        previous,
        high << 8 | low,
        context.select[2] || context.select[3],
    )
}

/// The scale is a power of two: the exponent of the third operand.
fn pack_scaled(format: Eight, [a, b, scale]: [u64; 3], previous: u32, context: Context) -> u32 {
    let exponent = (scale >> 23 & 0xff) as i32 - 127;
    let [low, high] = [a, b].map(|bits| {
        let scaled = number::ldexp(f64::from(float(bits)), -exponent) as f32;
        u32::from(format.encode(scaled, context.saturate))
    });
    put_half(previous, high << 8 | low, context.select[3])
}

fn byte_of(register: u64, context: Context) -> u8 {
    let at = u32::from(context.select[0]) | u32::from(context.select[1]) << 1;
    (register >> (8 * at)) as u8
}

fn normalized(a: u32, scale: f32) -> i32 {
    (f32::from_bits(a).clamp(-1.0, 1.0) * scale).round_ties_even() as i32
}

#[rustfmt::skip]
pub(super) fn find(name: &str) -> Option<Entry> {
    Some(match name {
        "v_cvt_f32_i32" => lanes!(One, F32, [B32], |a| (a as i32 as f32).to_bits()),
        "v_cvt_f32_u32" => lanes!(One, F32, [B32], |a| (a as f32).to_bits()),
        "v_cvt_i32_f32" => lanes!(One, B32, [F32], |a| f32::from_bits(a) as i32 as u32),
        "v_cvt_u32_f32" => lanes!(One, B32, [F32], |a| f32::from_bits(a) as u32),
        "v_cvt_rpi_i32_f32" => lanes!(One, B32, [F32], |a| (f32::from_bits(a) + 0.5).floor() as i32 as u32),
        "v_cvt_flr_i32_f32" => lanes!(One, B32, [F32], |a| f32::from_bits(a).floor() as i32 as u32),
        "v_cvt_f32_ubyte0" => lanes!(One, F32, [B32], |a| ((a & 0xff) as f32).to_bits()),
        "v_cvt_f32_ubyte1" => lanes!(One, F32, [B32], |a| ((a >> 8 & 0xff) as f32).to_bits()),
        "v_cvt_f32_ubyte2" => lanes!(One, F32, [B32], |a| ((a >> 16 & 0xff) as f32).to_bits()),
        "v_cvt_f32_ubyte3" => lanes!(One, F32, [B32], |a| ((a >> 24) as f32).to_bits()),
        "v_cvt_f32_f16" => lanes!(One, F32, [F16], |a| from_f16(a as u16).to_bits()),
        "v_cvt_f16_f32" => lanes!(One, F16, [F32], |a| u32::from(to_f16(f32::from_bits(a)))),
        "v_cvt_f32_bf16" => lanes!(One, F32, [B16], |a| from_bf16(a as u16).to_bits()),
        "v_cvt_f16_u16" => lanes!(One, F16, [B16], |a| u32::from(to_f16((a & 0xffff) as f32))),
        "v_cvt_f16_i16" => lanes!(One, F16, [B16], |a| u32::from(to_f16(f32::from(a as u16 as i16)))),
        "v_cvt_u16_f16" => lanes!(One, B16, [F16], |a| u32::from(from_f16(a as u16) as u16)),
        "v_cvt_i16_f16" => lanes!(One, B16, [F16], |a| u32::from(from_f16(a as u16) as i16 as u16)),
        "v_cvt_pk_bf16_f32" => lanes!(Two, B32, [F32, F32], |a, b| {
            u32::from(to_bf16(f32::from_bits(b))) << 16 | u32::from(to_bf16(f32::from_bits(a)))
        }),
        "v_cvt_pkrtz_f16_f32" => return None,
        "v_cvt_pk_f16_f32" => lanes!(Two, B32, [F32, F32], |a, b| {
            u32::from(to_f16(f32::from_bits(b))) << 16 | u32::from(to_f16(f32::from_bits(a)))
        }),
        "v_cvt_pknorm_i16_f32" => lanes!(Two, B32, [F32, F32], |a, b| {
            (normalized(a, 32767.0) as u32 & 0xffff) | (normalized(b, 32767.0) as u32) << 16
        }),
        "v_cvt_pk_u16_u32" => lanes!(Two, B32, [B32, B32], |a, b| a.min(0xffff) | b.min(0xffff) << 16),
        "v_cvt_pk_i16_i32" => lanes!(Two, B32, [B32, B32], |a, b| {
            let clamped = |x: u32| (x as i32).clamp(-32768, 32767) as u32;
            clamped(a) & 0xffff | clamped(b) << 16
        }),
        "v_cvt_f64_f32" => entry!(F64, [F32], Wide(|[a, ..]| f64::from(float(a)).to_bits())),
        "v_cvt_f32_f64" => entry!(F32, [F64], Wide(|[a, ..]| u64::from((f64::from_bits(a) as f32).to_bits()))),
        "v_cvt_f64_i32" => entry!(F64, [B32], Wide(|[a, ..]| f64::from(a as i32).to_bits())),
        "v_cvt_f64_u32" => entry!(F64, [B32], Wide(|[a, ..]| f64::from(a as u32).to_bits())),
        "v_cvt_i32_f64" => entry!(B32, [F64], Wide(|[a, ..]| f64::from_bits(a) as i32 as u64)),
        "v_cvt_u32_f64" => entry!(B32, [F64], Wide(|[a, ..]| u64::from(f64::from_bits(a) as u32))),
        "v_cvt_pk_fp8_f32" => entry!(B32, [F32, F32], Update(|values, old, context| pack_eight(fp8(context), values, old, context))),
        "v_cvt_pk_bf8_f32" => entry!(B32, [F32, F32], Update(|values, old, context| pack_eight(bf8(context), values, old, context))),
        "v_cvt_scalef32_pk_fp8_f32" => entry!(B32, [F32, F32, F32], Update(|values, old, context| pack_scaled(OCP_FP8, values, old, context))),
        "v_cvt_scalef32_pk_bf8_f32" => entry!(B32, [F32, F32, F32], Update(|values, old, context| pack_scaled(OCP_BF8, values, old, context))),
        "v_cvt_f32_fp8" => entry!(B32, [B32], Update(|[a, ..], _, context| fp8(context).decode(byte_of(a, context)).to_bits())),
        "v_cvt_f32_bf8" => entry!(B32, [B32], Update(|[a, ..], _, context| bf8(context).decode(byte_of(a, context)).to_bits())),
        _ => return None,
    })
}
