//! Integer instructions with `clamp`, which saturate instead of wrapping around.

use super::{Entry, entry, u32s};

macro_rules! u16s {
    ($f:expr) => {
        entry!(
            B16,
            [B16, B16],
            Wide(|[a, b, _]| {
                let f: fn(u16, u16) -> u16 = $f;
                u64::from(f(a as u16, b as u16))
            })
        )
    };
}

macro_rules! halves {
    ($f:expr) => {
        entry!(
            B16,
            [B16, B16],
            Halves(|[a, b, _]| {
                let f: fn(u16, u16) -> u16 = $f;
                f(a, b)
            })
        )
    };
}

fn add_i16(a: u16, b: u16) -> u16 {
    (a as i16).saturating_add(b as i16) as u16
}

fn sub_i16(a: u16, b: u16) -> u16 {
    (a as i16).saturating_sub(b as i16) as u16
}

/// The entry of a mnemonic with `clamp`.
pub(super) fn find(name: &str) -> Option<Entry> {
    Some(match name {
        "v_add_u32" => u32s!(|a, b| a.saturating_add(b)),
        "v_sub_u32" => u32s!(|a, b| a.saturating_sub(b)),
        "v_subrev_u32" => u32s!(|a, b| b.saturating_sub(a)),
        "v_add_i32" => u32s!(|a, b| (a as i32).saturating_add(b as i32) as u32),
        "v_sub_i32" => u32s!(|a, b| (a as i32).saturating_sub(b as i32) as u32),
        "v_add_u16" => u16s!(u16::saturating_add),
        "v_sub_u16" => u16s!(u16::saturating_sub),
        "v_subrev_u16" => u16s!(|a, b| b.saturating_sub(a)),
        "v_add_i16" => u16s!(add_i16),
        "v_sub_i16" => u16s!(sub_i16),
        "v_pk_add_u16" => halves!(u16::saturating_add),
        "v_pk_sub_u16" => halves!(u16::saturating_sub),
        "v_pk_add_i16" => halves!(add_i16),
        "v_pk_sub_i16" => halves!(sub_i16),
        _ => return None,
    })
}
