//! Numbers as bytes of a dtype, and random numbers.

use serde::Deserialize;

/// A type of elements, with PyTorch's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Dtype {
    Float64,
    Float32,
    Float16,
    Bfloat16,
    #[serde(rename = "float8_e4m3fn")]
    Float8E4m3fn,
    #[serde(rename = "float8_e4m3fnuz")]
    Float8E4m3fnuz,
    Int64,
    Int32,
    Int16,
    Int8,
    Uint64,
    Uint32,
    Uint16,
    Uint8,
    Bool,
}

impl Dtype {
    /// The name.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Float64 => "float64",
            Self::Float32 => "float32",
            Self::Float16 => "float16",
            Self::Bfloat16 => "bfloat16",
            Self::Float8E4m3fn => "float8_e4m3fn",
            Self::Float8E4m3fnuz => "float8_e4m3fnuz",
            Self::Int64 => "int64",
            Self::Int32 => "int32",
            Self::Int16 => "int16",
            Self::Int8 => "int8",
            Self::Uint64 => "uint64",
            Self::Uint32 => "uint32",
            Self::Uint16 => "uint16",
            Self::Uint8 => "uint8",
            Self::Bool => "bool",
        }
    }

    /// Bytes of an element.
    pub(super) fn bytes(self) -> usize {
        match self {
            Self::Float64 | Self::Int64 | Self::Uint64 => 8,
            Self::Float32 | Self::Int32 | Self::Uint32 => 4,
            Self::Float16 | Self::Bfloat16 | Self::Int16 | Self::Uint16 => 2,
            _ => 1,
        }
    }

    fn is_float(self) -> bool {
        self.name().contains("float")
    }

    /// The bytes of a number in TOML.
    pub(super) fn encode(self, value: &toml::Value) -> Result<Vec<u8>, String> {
        let article = if self.name().starts_with('i') {
            "an"
        } else {
            "a"
        };
        let wrong = || {
            let name = self.name();
            format!("{value} is not {article} {name}; write a number that the dtype has")
        };
        match value {
            toml::Value::Integer(number) if self.is_float() => self.float(*number as f64),
            toml::Value::Float(number) if self.is_float() => self.float(*number),
            toml::Value::Boolean(value) if self == Self::Bool => Ok(vec![u8::from(*value)]),
            toml::Value::Integer(number) => self.integer(i128::from(*number)).ok_or_else(wrong),
            _ => Err(wrong()),
        }
    }

    fn float(self, number: f64) -> Result<Vec<u8>, String> {
        Ok(match self {
            Self::Float64 => number.to_le_bytes().to_vec(),
            Self::Float32 => (number as f32).to_le_bytes().to_vec(),
            Self::Bfloat16 => rounded(number, 8, 8).to_le_bytes().to_vec(),
            Self::Float16 => rounded(number, 5, 11).to_le_bytes().to_vec(),
            _ => {
                let name = self.name();
                return Err(format!(
                    "{name} can only have the data zeros, uninitialized or a file"
                ));
            }
        })
    }

    fn integer(self, number: i128) -> Option<Vec<u8>> {
        let bits = 8 * self.bytes() as u32;
        let (low, high) = match self {
            Self::Bool => (0, 1),
            Self::Uint64 | Self::Uint32 | Self::Uint16 | Self::Uint8 => (0, (1 << bits) - 1),
            _ => (-(1i128 << (bits - 1)), (1 << (bits - 1)) - 1),
        };
        (low..=high)
            .contains(&number)
            .then(|| number.to_le_bytes()[..self.bytes()].to_vec())
    }
}

/// A number in 16 bits with so many bits of exponent and of significand (with the hidden one), rounded to nearest even.
fn rounded(number: f64, exponent_bits: u32, precision: i32) -> u16 {
    let sign = u16::from(number.is_sign_negative()) << 15;
    let magnitude = number.abs();
    let bias = (1 << (exponent_bits - 1)) - 1;
    let infinity = (((1u32 << exponent_bits) - 1) << (precision - 1)) as u16;
    if magnitude.is_nan() {
        return sign | infinity | 1 << (precision - 2);
    }
    // The exponent of the last bit; denormals share the smallest.
    let exponent = magnitude.log2().floor().max(f64::from(1 - bias)) as i32;
    let scale = f64::from(precision - 1 - exponent.min(bias + 1)).exp2();
    let units = (magnitude * scale).round_ties_even();
    let first = f64::from(precision - 1).exp2();
    let bits = units + f64::from(exponent.min(bias + 1) + bias - 1) * first;
    sign | if bits >= f64::from(infinity) {
        infinity
    } else {
        bits as u16
    }
}

/// A buffer in which each element is a function of its position.
pub(super) fn repeated(
    dtype: Dtype,
    elements: usize,
    value: impl Fn(usize) -> f64,
) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::with_capacity(elements * dtype.bytes());
    for at in 0..elements {
        let number = value(at);
        bytes.extend(if dtype.is_float() {
            dtype.float(number)?
        } else {
            dtype
                .integer(number as i128)
                .ok_or_else(|| format!("{number} is out of range for {}", dtype.name()))?
        });
    }
    Ok(bytes)
}

/// A random buffer: floats from a normal distribution, integers from `low` to below `high`.
pub(super) fn random(
    dtype: Dtype,
    elements: usize,
    low: Option<i64>,
    high: Option<i64>,
    mut random: Random,
) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::with_capacity(elements * dtype.bytes());
    if dtype.is_float() {
        if low.is_some() || high.is_some() {
            return Err(
                "low and high are for integers; floats are from a normal distribution".to_owned(),
            );
        }
        for _ in 0..elements {
            bytes.extend(dtype.float(random.normal())?);
        }
        return Ok(bytes);
    }
    let (low, high) = match (dtype, low, high) {
        (Dtype::Bool, None, None) => (0, 2),
        (_, Some(low), Some(high)) if low < high => (low, high),
        (_, Some(_), Some(_)) => return Err("low must be less than high".to_owned()),
        _ => return Err("low and high are needed for random integers".to_owned()),
    };
    for _ in 0..elements {
        let span = (i128::from(high) - i128::from(low)) as u128;
        let number = i128::from(low) + ((u128::from(random.next()) * span) >> 64) as i128;
        let out_of_range = || format!("{number} is out of range for {}", dtype.name());
        bytes.extend(dtype.integer(number).ok_or_else(out_of_range)?);
    }
    Ok(bytes)
}

/// Random numbers from a seed (SplitMix64).
pub(super) struct Random(u64);

impl Random {
    /// The numbers of a seed.
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ bits >> 31
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A number of the normal distribution (Box-Muller).
    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sixteen_bit_floats_round_to_nearest_even() {
        let half = |number| rounded(number, 5, 11);
        let brain = |number| rounded(number, 8, 8);
        let cases = [
            (0.0, 0x0000, 0x0000),
            (-0.0, 0x8000, 0x8000),
            (1.0, 0x3c00, 0x3f80),
            (-2.5, 0xc100, 0xc020),
            (1.0 + 1.0 / 2048.0, 0x3c00, 0x3f80),
            (1.0 + 3.0 / 2048.0, 0x3c02, 0x3f80),
            (1.0 + 3.0 / 256.0, 0x3c0c, 0x3f82),
            (65504.0, 0x7bff, 0x4780),
            (65520.0, 0x7c00, 0x4780),
            (1e39, 0x7c00, 0x7f80),
            (f64::INFINITY, 0x7c00, 0x7f80),
            (f64::NEG_INFINITY, 0xfc00, 0xff80),
            (5.960_464_477_539_063e-8, 0x0001, 0x3380),
            (1e-300, 0x0000, 0x0000),
        ];
        for (number, expected, brains) in cases {
            assert_eq!(half(number), expected, "{number}");
            assert_eq!(brain(number), brains, "{number}");
        }
        assert_eq!(half(f64::NAN), 0x7e00);
        assert_eq!(brain(f64::NAN), 0x7fc0);
    }

    #[test]
    fn random_integers_are_within_their_range() {
        let bytes = random(Dtype::Int8, 10_000, Some(-3), Some(4), Random::new(0)).expect("bytes");
        let mut seen: Vec<i8> = bytes.iter().map(|byte| *byte as i8).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen, [-3, -2, -1, 0, 1, 2, 3]);
        assert!(random(Dtype::Int8, 10, Some(0), Some(1000), Random::new(0)).is_err());
    }
}
