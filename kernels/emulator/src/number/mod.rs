//! Arithmetic that the host lacks: half precision, bfloat16, floats of 8, 6 and 4 bits, and a fused multiply-add that does
//! not call a library.

mod divide;
mod eight;
mod small;

pub(crate) use divide::Divide;
pub(crate) use eight::{Eight, FNUZ_BF8, FNUZ_FP8, OCP_BF8, OCP_FP8};
pub(crate) use small::{BF6, FP4, FP6, scale};

/// `a * b + c`, rounded once.
///
/// The product of two `f32` is exact in `f64`. The sum is rounded to odd there, so that rounding it again to `f32` gives
/// the correctly rounded result.
#[inline(always)]
pub(crate) fn fma(a: f32, b: f32, c: f32) -> f32 {
    let (product, c) = (f64::from(a) * f64::from(b), f64::from(c));
    let sum = product + c;
    let back = sum - product;
    let error = (product - (sum - back)) + (c - back);
    let bits = sum.to_bits();
    let step = if (error > 0.0) == (sum > 0.0) {
        1
    } else {
        u64::MAX
    };
    let inexact = error != 0.0 && !error.is_nan() && bits & 1 == 0;
    f64::from_bits(if inexact {
        bits.wrapping_add(step)
    } else {
        bits
    }) as f32
}

/// A half-precision number as `f32`.
#[inline]
#[must_use]
pub fn from_f16(bits: u16) -> f32 {
    let (sign, exponent, fraction) = (
        u32::from(bits >> 15) << 31,
        u32::from(bits >> 10) & 31,
        u32::from(bits) & 0x3ff,
    );
    match exponent {
        0 => {
            let magnitude = fraction as f32 * (1.0 / 16_777_216.0);
            f32::from_bits(magnitude.to_bits() | sign)
        }
        31 => f32::from_bits(sign | 0x7f80_0000 | fraction << 13),
        _ => f32::from_bits(sign | (exponent + 112) << 23 | fraction << 13),
    }
}

/// Rounds to half precision, to nearest even.
#[inline]
#[must_use]
pub fn to_f16(value: f32) -> u16 {
    round(f64::from(value), 5, 10) as u16
}

/// Rounds an `f64` to half precision, to nearest even.
#[inline]
pub(crate) fn f64_to_f16(value: f64) -> u16 {
    round(value, 5, 10) as u16
}

/// A bfloat16 number as `f32`.
#[inline]
#[must_use]
pub fn from_bf16(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

/// Rounds to bfloat16, to nearest even.
#[inline]
#[must_use]
pub fn to_bf16(value: f32) -> u16 {
    let bits = value.to_bits();
    if value.is_nan() {
        return (bits >> 16) as u16 | 0x40;
    }
    (bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16) as u16
}

/// Rounds to an IEEE format with at most 16 bits, to nearest even; overflow gives infinity.
fn round(value: f64, exponent_bits: u32, fraction_bits: u32) -> u32 {
    let sign = u32::from(value.is_sign_negative()) << (exponent_bits + fraction_bits);
    let infinity = ((1 << exponent_bits) - 1) << fraction_bits;
    if value.is_nan() {
        return sign | infinity | 1 << (fraction_bits - 1);
    }
    let magnitude = round_magnitude(
        value.abs(),
        exponent_bits,
        fraction_bits,
        (1 << (exponent_bits - 1)) - 1,
    );
    sign | magnitude.min(infinity)
}

/// Bits of a non-negative number after rounding, without regard to the largest number of the format.
fn round_magnitude(value: f64, exponent_bits: u32, fraction_bits: u32, bias: i32) -> u32 {
    if value.is_infinite() {
        return u32::MAX;
    }
    let lowest = 1 - bias;
    let exponent = if value == 0.0 {
        lowest
    } else {
        ((value.to_bits() >> 52) as i32 - 1023).max(lowest)
    };
    if exponent > 1 << exponent_bits {
        return u32::MAX;
    }
    // Exact: a scaling by a power of two far from the limits of `f64`.
    let scaled = value * 2f64.powi(fraction_bits as i32 - exponent);
    let steps = scaled.round_ties_even() as u32;
    // A number below the normal ones has no hidden bit; a carry moves on to the next exponent by itself.
    (((exponent + bias - 1) as u32) << fraction_bits) + steps
}

/// Flushes a denormal number to a zero of the same sign.
#[inline(always)]
pub(crate) fn flush(bits: u32) -> u32 {
    if bits & 0x7f80_0000 == 0 {
        bits & 0x8000_0000
    } else {
        bits
    }
}

/// `x * 2^n`, rounded once.
pub(crate) fn ldexp(mut x: f64, n: i32) -> f64 {
    let mut n = n.clamp(-3000, 3000);
    for _ in 0..2 {
        if n > 1023 {
            x *= 2f64.powi(1023);
            n -= 1023;
        } else if n < -1022 {
            // The factor leaves 53 bits of room, so that only the last multiplication can round.
            x *= 2f64.powi(53 - 1022);
            n += 1022 - 53;
        }
    }
    x * 2f64.powi(n.clamp(-1022, 1023))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A generator of the tests: xorshift with a fixed seed.
    fn numbers(count: usize) -> impl Iterator<Item = u32> {
        let mut state = 0x9e37_79b9_7f4a_7c15u64;
        std::iter::repeat_with(move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 16) as u32
        })
        .take(count)
    }

    #[test]
    fn fma_rounds_once() {
        let all: Vec<u32> = numbers(300_000).collect();
        for triple in all.chunks_exact(3) {
            // Exponents near each other in half of the cases, so that sums cancel.
            let near = |bits: u32| f32::from_bits(bits & 0x83ff_ffff | 0x3c00_0000);
            for convert in [f32::from_bits as fn(u32) -> f32, near] {
                let [a, b, c] = [convert(triple[0]), convert(triple[1]), convert(triple[2])];
                let (expected, actual) = (a.mul_add(b, c), fma(a, b, c));
                assert!(
                    expected.to_bits() == actual.to_bits() || expected.is_nan() && actual.is_nan(),
                    "{a:e} * {b:e} + {c:e}: {actual:e} instead of {expected:e}"
                );
            }
        }
        // A tie that the discarded bits break.
        let (a, c) = (1.0 + f32::EPSILON, f32::MIN_POSITIVE);
        assert_eq!(fma(a, a, c), a.mul_add(a, c));
    }

    #[test]
    fn every_half_survives_a_round_trip() {
        for bits in 0..=u16::MAX {
            let value = from_f16(bits);
            if value.is_nan() {
                assert!(from_f16(to_f16(value)).is_nan());
            } else {
                assert_eq!(to_f16(value), bits);
            }
        }
    }

    #[test]
    fn half_rounds_to_nearest_even() {
        assert_eq!(to_f16(65_519.996), 0x7bff);
        assert_eq!(to_f16(65_520.0), 0x7c00);
        assert_eq!(to_f16(2f32.powi(-25)), 0);
        assert_eq!(to_f16(2f32.powi(-25) * 1.0001), 1);
        assert_eq!(to_f16(1.0 + 2f32.powi(-11)), 0x3c00);
        assert_eq!(to_f16(1.0 + 3.0 * 2f32.powi(-11)), 0x3c02);
        assert_eq!(to_f16(f32::INFINITY), 0x7c00);
        assert_eq!(to_f16(-0.0), 0x8000);
    }

    #[test]
    fn bfloat16_rounds_to_nearest_even() {
        assert_eq!(to_bf16(f32::from_bits(0x3f80_8000)), 0x3f80);
        assert_eq!(to_bf16(f32::from_bits(0x3f81_8000)), 0x3f82);
        assert_eq!(to_bf16(f32::MAX), 0x7f80);
        assert!(from_bf16(to_bf16(f32::from_bits(0x7f80_0001))).is_nan());
    }

    #[test]
    fn ldexp_multiplies_by_powers_of_two() {
        assert_eq!(ldexp(1.5, 4), 24.0);
        assert_eq!(ldexp(1.0, -1074), f64::from_bits(1));
        assert_eq!(ldexp(f64::from_bits(1), 2097), 2f64.powi(1023));
        assert_eq!(ldexp(2f64.powi(1023), -2097), f64::from_bits(1));
        assert_eq!(ldexp(1.0, i32::MAX), f64::INFINITY);
        assert_eq!(ldexp(-1.0, i32::MIN), 0.0);
    }
}
