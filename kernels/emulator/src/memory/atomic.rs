//! The operations of atomic instructions.

use crate::number::{from_bf16, from_f16, to_bf16, to_f16};

/// A read-modify-write operation.
#[derive(Clone, Copy)]
pub(crate) struct Atomic {
    /// Bytes of the memory operand: 4 or 8.
    pub(crate) bytes: usize,
    /// The new value from the old one, the data, and for compare-and-swap the value to compare with.
    pub(crate) function: fn(u64, u64, u64) -> u64,
    pub(crate) compares: bool,
}

fn packed(old: u64, data: u64, add: fn(u16, u16) -> u16) -> u64 {
    let part = |shift: u32| u64::from(add((old >> shift) as u16, (data >> shift) as u16)) << shift;
    part(0) | part(16)
}

fn float(old: u64, data: u64, f: fn(f32, f32) -> f32) -> u64 {
    u64::from(f(f32::from_bits(old as u32), f32::from_bits(data as u32)).to_bits())
}

fn double(old: u64, data: u64, f: fn(f64, f64) -> f64) -> u64 {
    f(f64::from_bits(old), f64::from_bits(data)).to_bits()
}

/// The operation of a name such as `add`, `umax_x2` or `cmpswap`, as global and buffer instructions spell it.
#[rustfmt::skip]
pub(crate) fn global(name: &str) -> Option<Atomic> {
    let (operation, bytes) = name.strip_suffix("_x2").map_or((name, 4), |operation| (operation, 8));
    let function: fn(u64, u64, u64) -> u64 = match (operation, bytes) {
        ("swap", _) => |_, data, _| data,
        ("cmpswap", _) => |old, data, expected| if old == expected { data } else { old },
        ("add", _) => |old, data, _| old.wrapping_add(data),
        ("sub", _) => |old, data, _| old.wrapping_sub(data),
        ("and", _) => |old, data, _| old & data,
        ("or", _) => |old, data, _| old | data,
        ("xor", _) => |old, data, _| old ^ data,
        ("umin", _) => |old, data, _| old.min(data),
        ("umax", _) => |old, data, _| old.max(data),
        ("smin", 4) => |old, data, _| u64::from((old as i32).min(data as i32) as u32),
        ("smax", 4) => |old, data, _| u64::from((old as i32).max(data as i32) as u32),
        ("smin", _) => |old, data, _| (old as i64).min(data as i64) as u64,
        ("smax", _) => |old, data, _| (old as i64).max(data as i64) as u64,
        ("inc", _) => |old, data, _| if old >= data { 0 } else { old + 1 },
        ("dec", _) => |old, data, _| if old == 0 || old > data { data } else { old - 1 },
        ("add_f32", 4) => |old, data, _| float(old, data, |a, b| a + b),
        ("pk_add_f16", 4) => |old, data, _| packed(old, data, |a, b| to_f16(from_f16(a) + from_f16(b))),
        ("pk_add_bf16", 4) => |old, data, _| packed(old, data, |a, b| to_bf16(from_bf16(a) + from_bf16(b))),
        ("add_f64" | "min_f64" | "max_f64", 4) => {
            let function: fn(u64, u64, u64) -> u64 = match operation {
                "add_f64" => |old, data, _| double(old, data, |a, b| a + b),
                "min_f64" => |old, data, _| double(old, data, f64::min),
                _ => |old, data, _| double(old, data, f64::max),
            };
            return Some(Atomic { bytes: 8, function, compares: false });
        }
        _ => return None,
    };
    Some(Atomic { bytes, function, compares: operation == "cmpswap" })
}

/// The operation of an LDS instruction, without `ds_`: `add_u32`, `max_rtn_i32`. The second value is whether the old
/// value is returned.
pub(crate) fn lds(name: &str) -> Option<(Atomic, bool)> {
    let returns = name.contains("_rtn_") || name.starts_with("wrxchg");
    let name = name.replace("_rtn_", "_");
    let (operation, kind) = name.rsplit_once('_')?;
    let wide = kind.ends_with("64");
    let operation = match (operation, kind) {
        ("add" | "sub" | "inc" | "dec", "u32" | "u64") | ("and" | "or" | "xor", "b32" | "b64") => {
            operation.to_owned()
        }
        ("min" | "max", "u32" | "u64") => format!("u{operation}"),
        ("min" | "max", "i32" | "i64") => format!("s{operation}"),
        ("add", "f32") => "add_f32".to_owned(),
        ("add", "f64") => "add_f64".to_owned(),
        ("pk_add", "f16") => "pk_add_f16".to_owned(),
        ("pk_add", "bf16") => "pk_add_bf16".to_owned(),
        ("wrxchg", "b32" | "b64") => "swap".to_owned(),
        ("cmpst", "b32" | "b64") => "cmpswap".to_owned(),
        _ => return None,
    };
    let suffix = if wide && kind != "f64" { "_x2" } else { "" };
    global(&format!("{operation}{suffix}")).map(|atomic| (atomic, returns))
}

impl Atomic {
    /// The new value, from bytes in memory and data.
    pub(crate) fn apply(&self, old: u64, data: u64, expected: u64) -> u64 {
        let mask = if self.bytes == 4 {
            0xffff_ffff
        } else {
            u64::MAX
        };
        (self.function)(old & mask, data & mask, expected & mask) & mask
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apply(name: &str, old: u64, data: u64) -> u64 {
        global(name).expect("a known operation").apply(old, data, 3)
    }

    #[test]
    fn operations_follow_the_guide() {
        assert_eq!(apply("add", 0xffff_ffff, 2), 1);
        assert_eq!(apply("add_x2", 0xffff_ffff, 2), 0x1_0000_0001);
        assert_eq!(apply("smin", 0xffff_ffff, 1), 0xffff_ffff);
        assert_eq!(apply("umin", 0xffff_ffff, 1), 1);
        assert_eq!((apply("inc", 5, 5), apply("inc", 4, 5)), (0, 5));
        assert_eq!(
            (apply("dec", 0, 5), apply("dec", 9, 5), apply("dec", 4, 5)),
            (5, 5, 3)
        );
        assert_eq!((apply("cmpswap", 3, 8), apply("cmpswap", 4, 8)), (8, 4));
        assert_eq!(
            apply(
                "add_f32",
                u64::from(1.5f32.to_bits()),
                u64::from(2.0f32.to_bits())
            ),
            u64::from(3.5f32.to_bits())
        );
        assert_eq!(apply("pk_add_bf16", 0x3f80_4000, 0x3f80_3f80), 0x4000_4040);
    }

    #[test]
    fn lds_names_map_to_the_same_operations() {
        let (atomic, returns) = lds("add_rtn_u32").expect("a known operation");
        assert!(returns && atomic.bytes == 4);
        assert_eq!(
            lds("max_i64").map(|(atomic, returns)| (atomic.bytes, returns)),
            Some((8, false))
        );
        assert!(lds("read_b32").is_none() && lds("bpermute_b32").is_none());
    }
}
