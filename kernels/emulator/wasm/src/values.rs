//! Numbers as bytes and as text.

use crate::request::{Fill, RegisterFormat};
use hipward_emulator::{from_bf16, from_f16, to_bf16, to_f16};
use serde::{Deserialize, Serialize};

/// The type of an argument's value or elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "the names state the types")]
pub enum Type {
    F64,
    F32,
    F16,
    Bf16,
    I64,
    I32,
    U32,
    I16,
    I8,
    U8,
}

impl Type {
    /// Bytes of a value.
    #[must_use]
    pub fn bytes(self) -> usize {
        match self {
            Self::F64 | Self::I64 => 8,
            Self::F32 | Self::I32 | Self::U32 => 4,
            Self::F16 | Self::Bf16 | Self::I16 => 2,
            Self::I8 | Self::U8 => 1,
        }
    }

    fn is_float(self) -> bool {
        matches!(self, Self::F64 | Self::F32 | Self::F16 | Self::Bf16)
    }

    /// The bits of a number. Integers wrap.
    fn bits(self, number: f64) -> u64 {
        match self {
            Self::F64 => number.to_bits(),
            Self::F32 => u64::from((number as f32).to_bits()),
            Self::F16 => u64::from(to_f16(number as f32)),
            Self::Bf16 => u64::from(to_bf16(number as f32)),
            _ => number as i64 as u64,
        }
    }

    /// The bytes of a number. Integers wrap.
    #[must_use]
    pub fn encode(self, number: f64) -> Vec<u8> {
        self.bits(number).to_le_bytes()[..self.bytes()].to_vec()
    }

    /// The bytes of a number that a reader typed.
    ///
    /// # Errors
    ///
    /// It is not a number, or does not fit.
    pub fn parse(self, text: &str) -> Result<Vec<u8>, String> {
        let text = text.trim();
        if self.is_float() {
            let number = text.parse::<f64>();
            return number
                .map(|number| self.encode(number))
                .map_err(|_| format!("“{text}” is not a number"));
        }
        let number: i128 = text
            .parse()
            .map_err(|_| format!("“{text}” is not an integer"))?;
        let bits = 8 * self.bytes() as u32;
        if number < -(1 << (bits - 1)) || number >= 1 << bits {
            return Err(format!("{text} does not fit into {bits} bits"));
        }
        Ok(number.to_le_bytes()[..self.bytes()].to_vec())
    }

    /// The value in little-endian bytes as text.
    #[must_use]
    pub fn show(self, bytes: &[u8]) -> String {
        let mut whole = [0; 8];
        for (to, from) in whole.iter_mut().zip(bytes) {
            *to = *from;
        }
        let bits = u64::from_le_bytes(whole);
        match self {
            Self::F64 => float(f64::from_bits(bits)),
            Self::F32 => float(f32::from_bits(bits as u32).into()),
            Self::F16 => float(from_f16(bits as u16).into()),
            Self::Bf16 => float(from_bf16(bits as u16).into()),
            Self::I64 => (bits as i64).to_string(),
            Self::I32 => (bits as i32).to_string(),
            Self::U32 => (bits as u32).to_string(),
            Self::I16 => (bits as i16).to_string(),
            Self::I8 => (bits as i8).to_string(),
            Self::U8 => (bits as u8).to_string(),
        }
    }

    /// The contents of a buffer; `None` if nothing is written.
    #[must_use]
    pub fn fill(self, fill: Fill, count: usize) -> Option<Vec<u8>> {
        let mut state = 0x9e37_79b9_7f4a_7c15u64;
        let mut number = |at: usize| -> f64 {
            match fill {
                Fill::Index => at as f64,
                Fill::Alternating if at.is_multiple_of(2) => at as f64 + 1.0,
                Fill::Alternating => -(at as f64) - 1.0,
                Fill::Ones => 1.0,
                Fill::Random => {
                    state ^= state << 13;
                    state ^= state >> 7;
                    state ^= state << 17;
                    let unit = (state >> 40) as f64 / (1u64 << 24) as f64;
                    if self.is_float() {
                        2.0 * unit - 1.0
                    } else {
                        (100.0 * unit).floor()
                    }
                }
                Fill::Zeros | Fill::Unwritten => 0.0,
            }
        };
        (fill != Fill::Unwritten).then(|| {
            // A byte at a time: in a browser, a copy of a few bytes costs more than they do.
            let mut contents = vec![0; count * self.bytes()];
            for (at, element) in contents.chunks_exact_mut(self.bytes()).enumerate() {
                let bytes = self.bits(number(at)).to_le_bytes();
                element
                    .iter_mut()
                    .zip(bytes)
                    .for_each(|(to, from)| *to = from);
            }
            contents
        })
    }
}

/// A register as text.
#[must_use]
pub fn register(bits: u32, format: RegisterFormat) -> String {
    let pair = |kind: Type| {
        let [a, b, c, d] = bits.to_le_bytes();
        format!("{}, {}", kind.show(&[a, b]), kind.show(&[c, d]))
    };
    match format {
        RegisterFormat::Hex => format!("{bits:08x}"),
        RegisterFormat::F32 => float(f32::from_bits(bits).into()),
        RegisterFormat::I32 => (bits as i32).to_string(),
        RegisterFormat::U32 => bits.to_string(),
        RegisterFormat::F16 => pair(Type::F16),
        RegisterFormat::Bf16 => pair(Type::Bf16),
    }
}

/// A float with at most six significant digits.
fn float(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}").replace("inf", "∞");
    }
    let magnitude = value.abs().log10().floor() as i32;
    if !(-5..9).contains(&magnitude) {
        return format!("{value:.4e}");
    }
    let text = format!("{value:.*}", usize::try_from(5 - magnitude).unwrap_or(0));
    if text.contains('.') {
        return text.trim_end_matches('0').trim_end_matches('.').to_owned();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_shown_with_six_digits() {
        let shown = |value: f64| Type::F64.show(&value.to_le_bytes());
        for (value, text) in [
            (0.0, "0"),
            (1.5, "1.5"),
            (-100.0, "-100"),
            (1.0 / 3.0, "0.333333"),
            (1e-9, "1.0000e-9"),
            (123_456_789.0, "123456789"),
            (f64::NEG_INFINITY, "-∞"),
            (f64::NAN, "NaN"),
        ] {
            assert_eq!(shown(value), text);
        }
    }

    #[test]
    fn values_that_do_not_fit_are_refused() {
        assert_eq!(Type::I8.parse("-1"), Ok(vec![0xff]));
        assert_eq!(Type::U32.parse(" 4294967295 "), Ok(vec![0xff; 4]));
        assert_eq!(Type::F16.parse("1.5"), Ok(vec![0x00, 0x3e]));
        assert_eq!(
            Type::I8.parse("256"),
            Err("256 does not fit into 8 bits".to_owned())
        );
        assert_eq!(
            Type::I32.parse("one"),
            Err("“one” is not an integer".to_owned())
        );
    }

    #[test]
    fn pairs_of_a_register_are_shown_lower_half_first() {
        let bits = 0x4000_3f80;
        assert_eq!(register(bits, RegisterFormat::Bf16), "1, 2");
        assert_eq!(register(bits, RegisterFormat::Hex), "40003f80");
    }
}
