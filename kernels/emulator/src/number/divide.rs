//! The three instructions of a correctly rounded division: scale, multiply-add with undoing of the scale, and repair of
//! special cases. Written once for `f32` and `f64`.

use super::fma;

/// Result of `v_div_scale`: the number, and whether `v_div_fmas` must undo a scale.
pub(crate) struct Scaled<T> {
    pub(crate) value: T,
    pub(crate) undo: bool,
}

/// A type with a division sequence.
pub(crate) trait Divide: Copy + PartialEq {
    /// `v_div_scale`: `value` is the denominator or the numerator.
    fn scale(value: Self, denominator: Self, numerator: Self) -> Scaled<Self>;
    /// `v_div_fmas`.
    fn multiply_add(a: Self, b: Self, c: Self, undo: bool) -> Self;
    /// `v_div_fixup`.
    fn fix_up(quotient: Self, denominator: Self, numerator: Self) -> Self;
}

macro_rules! divide {
    ($float:ty, $fraction:literal, $mask:literal, $step:literal, $near:literal, $tiny:literal, $under:literal, $inverse:expr, $fma:expr) => {
        impl Divide for $float {
            fn scale(value: Self, denominator: Self, numerator: Self) -> Scaled<Self> {
                let exponent = |x: $float| (x.to_bits() >> $fraction) as i32 & $mask;
                let denormal = |x: $float| exponent(x) == 0 && x != 0.0;
                // Whether the reciprocal is denormal as `f64`, which that of no `f32` is.
                let tiny_inverse: fn($float) -> bool = $inverse;
                let up = |x: $float| x * (2.0 as $float).powi($step);
                let down = |x: $float| x * (2.0 as $float).powi(-$step);
                let is_denominator = value.to_bits() == denominator.to_bits();
                let is_numerator = value.to_bits() == numerator.to_bits();
                let done = |value, undo| Scaled { value, undo };
                if numerator == 0.0 || denominator == 0.0 {
                    done(<$float>::NAN, false)
                } else if exponent(numerator) - exponent(denominator) >= $near {
                    done(if is_denominator { up(value) } else { value }, true)
                } else if denormal(denominator) {
                    done(up(value), false)
                } else if tiny_inverse(denominator) && denormal(numerator / denominator) {
                    // The guide scales up, which makes each of these denominators infinite. The scale that is undone
                    // is that of a denominator scaled down.
                    done(if is_denominator { down(value) } else { value }, true)
                } else if tiny_inverse(denominator) {
                    done(down(value), false)
                } else if denormal(numerator / denominator) {
                    done(if is_numerator { up(value) } else { value }, true)
                } else if exponent(numerator) <= $tiny {
                    done(up(value), false)
                } else {
                    done(value, false)
                }
            }

            fn multiply_add(a: Self, b: Self, c: Self, undo: bool) -> Self {
                let result = $fma(a, b, c);
                if !undo {
                    return result;
                }
                // A large quotient was computed too small, a small one too large.
                let large = (c.to_bits() >> $fraction) as i32 & $mask > $mask / 2;
                result * (2.0 as $float).powi(if large { $step } else { -$step })
            }

            fn fix_up(quotient: Self, denominator: Self, numerator: Self) -> Self {
                let exponent = |x: $float| (x.to_bits() >> $fraction) as i32 & $mask;
                let negative = denominator.is_sign_negative() != numerator.is_sign_negative();
                let signed = |x: $float| if negative { -x } else { x };
                if numerator.is_nan() || denominator.is_nan() {
                    return if numerator.is_nan() {
                        numerator + 0.0
                    } else {
                        denominator + 0.0
                    };
                }
                let both_zero = denominator == 0.0 && numerator == 0.0;
                if both_zero || denominator.is_infinite() && numerator.is_infinite() {
                    -<$float>::NAN
                } else if denominator == 0.0 || numerator.is_infinite() {
                    signed(<$float>::INFINITY)
                } else if denominator.is_infinite() || numerator == 0.0 {
                    signed(0.0)
                } else if exponent(numerator) - exponent(denominator) < $under {
                    signed(0.0)
                } else if quotient.is_nan() {
                    // The refinement of a quotient that overflowed subtracts infinities.
                    signed(<$float>::INFINITY)
                } else {
                    signed(quotient.abs())
                }
            }
        }
    };
}

divide!(f32, 23, 0xff, 64, 96, 23, -150, |_| false, fma);
divide!(
    f64,
    52,
    0x7ff,
    128,
    768,
    53,
    -1075,
    |x| (1.0 / x).is_subnormal(),
    f64::mul_add
);

#[cfg(test)]
mod tests {
    use super::*;

    /// The instructions that clang emits for a correctly rounded `f32` division.
    fn divide(numerator: f32, denominator: f32) -> f32 {
        let d = f32::scale(denominator, denominator, numerator);
        let n = f32::scale(numerator, denominator, numerator);
        let estimate = 1.0 / d.value;
        let error = fma(-d.value, estimate, 1.0);
        let estimate = fma(error, estimate, estimate);
        let quotient = n.value * estimate;
        let error = fma(-d.value, quotient, n.value);
        let quotient = fma(error, estimate, quotient);
        let error = fma(-d.value, quotient, n.value);
        f32::fix_up(
            f32::multiply_add(error, estimate, quotient, n.undo),
            denominator,
            numerator,
        )
    }

    /// The same for `f64`.
    fn divide_double(numerator: f64, denominator: f64) -> f64 {
        let d = f64::scale(denominator, denominator, numerator);
        let n = f64::scale(numerator, denominator, numerator);
        let mut estimate = 1.0 / d.value;
        for _ in 0..2 {
            let error = f64::mul_add(-d.value, estimate, 1.0);
            estimate = f64::mul_add(estimate, error, estimate);
        }
        let quotient = n.value * estimate;
        let error = f64::mul_add(-d.value, quotient, n.value);
        f64::fix_up(
            f64::multiply_add(error, estimate, quotient, n.undo),
            denominator,
            numerator,
        )
    }

    #[test]
    fn division_of_doubles_is_correctly_rounded() {
        let mut state = 1u64;
        let mut random = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        for round in 0..400_000 {
            let (mut a, mut b) = (random(), random());
            if round % 4 == 0 {
                // A large denominator, and a quotient near the smallest numbers.
                b = b & !(0x7ff << 52) | (0x7fe - (random() & 7)) << 52;
                a = a & !(0x7ff << 52) | (0x3ff - (random() & 63)) << 52;
            }
            let (a, b) = (f64::from_bits(a), f64::from_bits(b));
            let (expected, actual) = (a / b, divide_double(a, b));
            // A denormal quotient is rounded twice.
            let close =
                expected.to_bits().abs_diff(actual.to_bits()) <= u64::from(!expected.is_normal());
            assert!(
                close || expected.is_nan() && actual.is_nan(),
                "{a:e} / {b:e}: {actual:e}, not {expected:e}"
            );
        }
    }

    #[test]
    fn division_sequence_is_correctly_rounded() {
        let mut state = 1u64;
        for _ in 0..200_000 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let (a, b) = (
                f32::from_bits((state >> 32) as u32),
                f32::from_bits(state as u32),
            );
            let (expected, actual) = (a / b, divide(a, b));
            // A denormal quotient is rounded twice.
            let close =
                expected.to_bits().abs_diff(actual.to_bits()) <= u32::from(!expected.is_normal());
            assert!(
                close || expected.is_nan() && actual.is_nan(),
                "{a:e} / {b:e}: {actual:e}, not {expected:e}"
            );
        }
    }

    #[test]
    fn special_cases_follow_ieee() {
        for (a, b) in [
            (1.0, 0.0),
            (-1.0, 0.0),
            (0.0, 5.0),
            (0.0, -5.0),
            (f32::INFINITY, 2.0),
            (2.0, f32::NEG_INFINITY),
        ] {
            assert_eq!(divide(a, b).to_bits(), (a / b).to_bits(), "{a} / {b}");
        }
        assert!(divide(0.0, 0.0).is_nan() && divide(f32::INFINITY, f32::INFINITY).is_nan());
        assert!(divide(f32::NAN, 1.0).is_nan() && divide(1.0, f32::NAN).is_nan());
    }
}
