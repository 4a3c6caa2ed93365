//! Comparisons, which write one bit for each lane.

use super::float::is_of_class;
use super::{Body, Entry, LANES, Lanes, Type, entry};
use crate::number::from_f16;

/// A mask with the bits of the lanes for which a condition is true.
#[inline(always)]
fn mask(f: impl Fn(usize) -> bool) -> u64 {
    let mut result = 0;
    for lane in 0..LANES {
        result |= u64::from(f(lane)) << lane;
    }
    result
}

/// Entry of a comparison of 32-bit lanes.
macro_rules! narrow {
    ($type:ident, |$a:ident, $b:ident| $convert:expr, $condition:expr) => {{
        fn run(a: &Lanes, b: &Lanes) -> u64 {
            mask(|lane| {
                let ($a, $b) = (a[lane], b[lane]);
                let ($a, $b) = $convert;
                $condition($a, $b)
            })
        }
        entry!(B32, [$type, $type], Compare(run))
    }};
}

/// The conditions of the integer comparisons.
macro_rules! integers {
    ($name:expr, $make:ident) => {
        match $name {
            "f" => $make!(|_, _| false),
            "lt" => $make!(|a, b| a < b),
            "eq" => $make!(|a, b| a == b),
            "le" => $make!(|a, b| a <= b),
            "gt" => $make!(|a, b| a > b),
            "ne" => $make!(|a, b| a != b),
            "ge" => $make!(|a, b| a >= b),
            "t" => $make!(|_, _| true),
            _ => return None,
        }
    };
}

/// The conditions of the floating-point comparisons. Those with `n` are true if an operand is NaN.
macro_rules! floats {
    ($name:expr, $make:ident) => {
        match $name {
            "f" => $make!(|_, _| false),
            "lt" => $make!(|a, b| a < b),
            "eq" => $make!(|a, b| a == b),
            "le" => $make!(|a, b| a <= b),
            "gt" => $make!(|a, b| a > b),
            "lg" => $make!(|a, b| a < b || a > b),
            "ge" => $make!(|a, b| a >= b),
            "o" => $make!(|a, b| a == a && b == b),
            "u" => $make!(|a, b| a != a || b != b),
            "nge" => $make!(|a, b| !(a >= b)),
            "nlg" => $make!(|a, b| !(a < b || a > b)),
            "ngt" => $make!(|a, b| !(a > b)),
            "nle" => $make!(|a, b| !(a <= b)),
            "neq" => $make!(|a, b| a != b),
            "nlt" => $make!(|a, b| !(a < b)),
            "tru" => $make!(|_, _| true),
            _ => return None,
        }
    };
}

#[allow(
    clippy::double_comparisons,
    clippy::eq_op,
    clippy::neg_cmp_op_on_partial_ord,
    reason = "comparisons with NaN"
)]
pub(super) fn find(name: &str) -> Option<Entry> {
    let rest = name
        .strip_prefix("v_cmp_")
        .or_else(|| name.strip_prefix("v_cmpx_"))?;
    let (condition, kind) = rest.rsplit_once('_')?;
    if condition == "class" {
        return Some(match kind {
            "f32" => entry!(
                B32,
                [F32, B32],
                CompareWide(|a, mask| is_of_class(a, mask, 8, 23))
            ),
            "f16" => entry!(
                B32,
                [F16, B32],
                CompareWide(|a, mask| is_of_class(a, mask, 5, 10))
            ),
            "f64" => entry!(
                B32,
                [F64, B32],
                CompareWide(|a, mask| is_of_class(a, mask, 11, 52))
            ),
            _ => return None,
        });
    }
    macro_rules! f32_lanes {
        (|$a:pat_param, $b:pat_param| $e:expr) => {
            narrow!(
                F32,
                |a, b| (f32::from_bits(a), f32::from_bits(b)),
                |$a: f32, $b: f32| $e
            )
        };
    }
    macro_rules! u32_lanes {
        (|$a:pat_param, $b:pat_param| $e:expr) => {
            narrow!(B32, |a, b| (a, b), |$a: u32, $b: u32| $e)
        };
    }
    macro_rules! i32_lanes {
        (|$a:pat_param, $b:pat_param| $e:expr) => {
            narrow!(B32, |a, b| (a as i32, b as i32), |$a: i32, $b: i32| $e)
        };
    }
    macro_rules! wide {
        ($type:ident, $convert:expr, |$a:pat_param, $b:pat_param| $e:expr) => {
            Entry {
                result: Type::B32,
                sources: &[Type::$type, Type::$type],
                body: Body::CompareWide(|a, b| {
                    let ($a, $b) = ($convert(a), $convert(b));
                    $e
                }),
            }
        };
    }
    macro_rules! f64_lanes {
        (|$a:pat_param, $b:pat_param| $e:expr) => {
            wide!(F64, f64::from_bits, |$a, $b| $e)
        };
    }
    macro_rules! f16_lanes {
        (|$a:pat_param, $b:pat_param| $e:expr) => {
            wide!(F16, |bits| from_f16(bits as u16), |$a, $b| $e)
        };
    }
    macro_rules! u64_lanes {
        (|$a:pat_param, $b:pat_param| $e:expr) => {
            wide!(B64, |bits: u64| bits, |$a, $b| $e)
        };
    }
    macro_rules! i64_lanes {
        (|$a:pat_param, $b:pat_param| $e:expr) => {
            wide!(I64, |bits| bits as i64, |$a, $b| $e)
        };
    }
    macro_rules! u16_lanes {
        (|$a:pat_param, $b:pat_param| $e:expr) => {
            wide!(B16, |bits| bits as u16, |$a, $b| $e)
        };
    }
    macro_rules! i16_lanes {
        (|$a:pat_param, $b:pat_param| $e:expr) => {
            wide!(B16, |bits| bits as i16, |$a, $b| $e)
        };
    }
    Some(match kind {
        "f32" => floats!(condition, f32_lanes),
        "f64" => floats!(condition, f64_lanes),
        "f16" => floats!(condition, f16_lanes),
        "u32" => integers!(condition, u32_lanes),
        "i32" => integers!(condition, i32_lanes),
        "u64" => integers!(condition, u64_lanes),
        "i64" => integers!(condition, i64_lanes),
        "u16" => integers!(condition, u16_lanes),
        "i16" => integers!(condition, i16_lanes),
        _ => return None,
    })
}
