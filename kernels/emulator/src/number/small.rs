//! Floating-point formats of 6 and 4 bits of the microscaling (MX) specification, and their scales.

/// A format of less than 8 bits, which has neither infinity nor NaN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Small {
    exponent_bits: u32,
    fraction_bits: u32,
    bias: i32,
}

/// E2M3.
pub(crate) const FP6: Small = Small {
    exponent_bits: 2,
    fraction_bits: 3,
    bias: 1,
};
/// E3M2.
pub(crate) const BF6: Small = Small {
    exponent_bits: 3,
    fraction_bits: 2,
    bias: 3,
};
/// E2M1.
pub(crate) const FP4: Small = Small {
    exponent_bits: 2,
    fraction_bits: 1,
    bias: 1,
};

impl Small {
    /// The number with these bits.
    pub(crate) fn decode(self, bits: u8) -> f32 {
        let bits = u32::from(bits);
        let fraction = bits & ((1 << self.fraction_bits) - 1);
        let exponent = bits >> self.fraction_bits & ((1 << self.exponent_bits) - 1);
        let hidden = u32::from(exponent != 0) << self.fraction_bits;
        let power = exponent.max(1) as i32 - self.bias - self.fraction_bits as i32;
        let magnitude = (hidden + fraction) as f32 * 2f32.powi(power);
        if bits >> (self.exponent_bits + self.fraction_bits) & 1 == 1 {
            -magnitude
        } else {
            magnitude
        }
    }
}

/// A scale in the format E8M0: a power of two, or NaN.
pub(crate) fn scale(bits: u8) -> f64 {
    if bits == u8::MAX {
        f64::NAN
    } else {
        2f64.powi(i32::from(bits) - 127)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_formats() {
        let positive: Vec<f32> = (0..8).map(|bits| FP4.decode(bits)).collect();
        assert_eq!(positive, [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]);
        assert_eq!(FP4.decode(0xf), -6.0);
        assert_eq!(FP6.decode(0x1f), 7.5);
        assert_eq!(FP6.decode(0x01), 0.125);
        assert_eq!(FP6.decode(0x3f), -7.5);
        assert_eq!(BF6.decode(0x1f), 28.0);
        assert_eq!(BF6.decode(0x01), 0.0625);
        assert_eq!(BF6.decode(0x2c), -1.0);
        assert!(BF6.decode(0x20).is_sign_negative());
    }

    #[test]
    fn scales_are_powers_of_two() {
        assert_eq!(scale(127), 1.0);
        assert_eq!(scale(0), 2f64.powi(-127));
        assert_eq!(scale(254), 2f64.powi(127));
        assert!(scale(255).is_nan());
    }
}
