//! 8-bit floating-point formats: FNUZ on gfx942 and OCP on gfx950.

use super::round_magnitude;

/// An 8-bit format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Eight {
    exponent_bits: u32,
    fraction_bits: u32,
    bias: i32,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// No infinity and no negative zero; `0x80` is NaN.
    Fnuz,
    /// No infinity; all ones is NaN.
    Finite,
    /// As IEEE 754.
    Ieee,
}

/// E4M3 of gfx942.
pub(crate) const FNUZ_FP8: Eight = Eight {
    exponent_bits: 4,
    fraction_bits: 3,
    bias: 8,
    kind: Kind::Fnuz,
};
/// E5M2 of gfx942.
pub(crate) const FNUZ_BF8: Eight = Eight {
    exponent_bits: 5,
    fraction_bits: 2,
    bias: 16,
    kind: Kind::Fnuz,
};
/// E4M3 of gfx950.
pub(crate) const OCP_FP8: Eight = Eight {
    exponent_bits: 4,
    fraction_bits: 3,
    bias: 7,
    kind: Kind::Finite,
};
/// E5M2 of gfx950.
pub(crate) const OCP_BF8: Eight = Eight {
    exponent_bits: 5,
    fraction_bits: 2,
    bias: 15,
    kind: Kind::Ieee,
};

impl Eight {
    /// The number with these bits.
    pub(crate) fn decode(self, bits: u8) -> f32 {
        let fraction = u32::from(bits) & ((1 << self.fraction_bits) - 1);
        let exponent = u32::from(bits) >> self.fraction_bits & ((1 << self.exponent_bits) - 1);
        let last = (1 << self.exponent_bits) - 1;
        match self.kind {
            Kind::Fnuz if bits == 0x80 => return f32::NAN,
            Kind::Finite if bits & 0x7f == 0x7f => return f32::NAN,
            Kind::Ieee if exponent == last && fraction != 0 => return f32::NAN,
            Kind::Ieee if exponent == last => {
                return if bits >> 7 == 1 {
                    f32::NEG_INFINITY
                } else {
                    f32::INFINITY
                };
            }
            _ => {}
        }
        let hidden = if exponent == 0 {
            0
        } else {
            1 << self.fraction_bits
        };
        let power = exponent.max(1) as i32 - self.bias - self.fraction_bits as i32;
        let magnitude = (hidden + fraction) as f32 * 2f32.powi(power);
        if bits >> 7 == 1 {
            -magnitude
        } else {
            magnitude
        }
    }

    /// The bits of the largest finite number.
    fn largest(self) -> u32 {
        match self.kind {
            Kind::Fnuz => 0x7f,
            Kind::Finite => 0x7e,
            Kind::Ieee => 0x7b,
        }
    }

    /// Rounds to nearest even.
    ///
    /// Overflow gives the largest number if `saturate` is set (the mode bit `FP16_OVFL`), otherwise infinity, or NaN in
    /// the formats without infinity.
    pub(crate) fn encode(self, value: f32, saturate: bool) -> u8 {
        let sign = u32::from(value.is_sign_negative()) << 7;
        let nan = match self.kind {
            Kind::Fnuz => 0x80,
            Kind::Finite | Kind::Ieee => sign | 0x7f,
        };
        if value.is_nan() {
            return nan as u8;
        }
        let magnitude = round_magnitude(
            f64::from(value.abs()),
            self.exponent_bits,
            self.fraction_bits,
            self.bias,
        );
        let bits = if magnitude <= self.largest() {
            magnitude
        } else if saturate && value.is_finite() {
            self.largest()
        } else {
            return match self.kind {
                Kind::Ieee => (sign | 0x7c) as u8,
                Kind::Fnuz | Kind::Finite => nan as u8,
            };
        };
        if bits == 0 && self.kind == Kind::Fnuz {
            0
        } else {
            (sign | bits) as u8
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_survives_a_round_trip() {
        for format in [FNUZ_FP8, FNUZ_BF8, OCP_FP8, OCP_BF8] {
            for bits in 0..=u8::MAX {
                let value = format.decode(bits);
                if value.is_nan() {
                    assert!(format.decode(format.encode(value, false)).is_nan());
                } else {
                    assert_eq!(format.encode(value, false), bits, "{format:?} {value}");
                }
            }
        }
    }

    #[test]
    fn largest_numbers_are_those_of_the_formats() {
        assert_eq!(FNUZ_FP8.decode(0x7f), 240.0);
        assert_eq!(FNUZ_BF8.decode(0x7f), 57_344.0);
        assert_eq!(OCP_FP8.decode(0x7e), 448.0);
        assert_eq!(OCP_BF8.decode(0x7b), 57_344.0);
        assert_eq!(FNUZ_FP8.decode(1), 2f32.powi(-10));
        assert_eq!(OCP_FP8.decode(1), 2f32.powi(-9));
    }

    #[test]
    fn overflow_saturates_only_in_that_mode() {
        assert_eq!(FNUZ_FP8.encode(1000.0, true), 0x7f);
        assert_eq!(FNUZ_FP8.encode(-1000.0, true), 0xff);
        assert_eq!(FNUZ_FP8.encode(1000.0, false), 0x80);
        assert_eq!(OCP_FP8.encode(1000.0, false), 0x7f);
        assert_eq!(OCP_BF8.encode(-1e9, false), 0xfc);
        // 248 is halfway between 240 and 256, which the format lacks.
        assert_eq!(FNUZ_FP8.encode(247.0, false), 0x7f);
    }
}
