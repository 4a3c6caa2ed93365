//! Integer arithmetic, logic, shifts, moves and exchanges between lanes.

use super::{Entry, entry, u32s};

fn median(a: i32, b: i32, c: i32) -> u32 {
    a.max(b).min(a.min(b).max(c)) as u32
}

fn unsigned_median(a: u32, b: u32, c: u32) -> u32 {
    a.max(b).min(a.min(b).max(c))
}

/// Bit field: offset in `b`, width in `c`.
fn unsigned_field(a: u32, b: u32, c: u32) -> u32 {
    let width = c & 31;
    (a >> (b & 31)) & ((1u32 << width) - 1)
}

fn signed_field(a: u32, b: u32, c: u32) -> u32 {
    let (offset, width) = (b & 31, c & 31);
    if width == 0 {
        return 0;
    }
    if offset + width < 32 {
        ((a << (32 - offset - width)) as i32 >> (32 - width)) as u32
    } else {
        (a as i32 >> offset) as u32
    }
}

/// A byte of the pair `{a, b}`, or a constant, for each byte of the selector.
fn permute(a: u32, b: u32, selector: u32) -> u32 {
    let bytes = u64::from(a) << 32 | u64::from(b);
    let byte = |select: u32| -> u32 {
        let sign = |bit: u32| if bytes >> bit & 1 == 1 { 0xff } else { 0 };
        match select {
            0..=7 => (bytes >> (8 * select)) as u32 & 0xff,
            8 => sign(15),
            9 => sign(31),
            10 => sign(47),
            11 => sign(63),
            12 => 0,
            _ => 0xff,
        }
    };
    (0..4).fold(0, |result, at| {
        result | byte(selector >> (8 * at) & 0xff) << (8 * at)
    })
}

fn sum_of_differences(a: u32, b: u32, c: u32) -> u32 {
    a.to_le_bytes()
        .iter()
        .zip(b.to_le_bytes())
        .fold(c, |sum, (a, b)| sum.wrapping_add(u32::from(a.abs_diff(b))))
}

fn signed24(a: u32) -> i64 {
    i64::from((a << 8) as i32 >> 8)
}

fn dot4(a: u32, b: u32, c: u32) -> u32 {
    a.to_le_bytes()
        .iter()
        .zip(b.to_le_bytes())
        .fold(c, |sum, (a, b)| {
            sum.wrapping_add((i32::from(*a as i8) * i32::from(b as i8)) as u32)
        })
}

fn udot4(a: u32, b: u32, c: u32) -> u32 {
    a.to_le_bytes()
        .iter()
        .zip(b.to_le_bytes())
        .fold(c, |sum, (a, b)| {
            sum.wrapping_add(u32::from(*a) * u32::from(b))
        })
}

/// Bits of `mask` below a lane, in the low or high half of the lanes.
fn lanes_below(lane: u32, mask: u32, first: u32) -> u32 {
    let below = lane.saturating_sub(first).min(32);
    (u64::from(mask) & ((1u64 << below) - 1)).count_ones()
}

#[rustfmt::skip]
pub(super) fn find(name: &str) -> Option<Entry> {
    Some(match name {
        "v_mov_b32" | "v_accvgpr_read_b32" | "v_accvgpr_write_b32" | "v_accvgpr_mov_b32" => u32s!(|a| a),
        "v_not_b32" => u32s!(|a| !a),
        "v_bfrev_b32" => u32s!(|a| a.reverse_bits()),
        "v_ffbh_u32" => u32s!(|a| if a == 0 { u32::MAX } else { a.leading_zeros() }),
        "v_ffbl_b32" => u32s!(|a| if a == 0 { u32::MAX } else { a.trailing_zeros() }),
        "v_ffbh_i32" => u32s!(|a| {
            let run = if (a as i32) < 0 { a.leading_ones() } else { a.leading_zeros() };
            if run == 32 { u32::MAX } else { run }
        }),
        "v_add_u32" | "v_add_i32" => u32s!(|a, b| a.wrapping_add(b)),
        "v_sub_u32" | "v_sub_i32" => u32s!(|a, b| a.wrapping_sub(b)),
        "v_subrev_u32" => u32s!(|a, b| b.wrapping_sub(a)),
        "v_and_b32" => u32s!(|a, b| a & b),
        "v_or_b32" => u32s!(|a, b| a | b),
        "v_xor_b32" => u32s!(|a, b| a ^ b),
        "v_xnor_b32" => u32s!(|a, b| !(a ^ b)),
        "v_lshlrev_b32" => u32s!(|a, b| b << (a & 31)),
        "v_lshrrev_b32" => u32s!(|a, b| b >> (a & 31)),
        "v_ashrrev_i32" => u32s!(|a, b| (b as i32 >> (a & 31)) as u32),
        "v_min_u32" => u32s!(|a, b| a.min(b)),
        "v_max_u32" => u32s!(|a, b| a.max(b)),
        "v_min_i32" => u32s!(|a, b| (a as i32).min(b as i32) as u32),
        "v_max_i32" => u32s!(|a, b| (a as i32).max(b as i32) as u32),
        "v_mul_lo_u32" => u32s!(|a, b| a.wrapping_mul(b)),
        "v_mul_hi_u32" => u32s!(|a, b| ((u64::from(a) * u64::from(b)) >> 32) as u32),
        "v_mul_hi_i32" => u32s!(|a, b| ((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u32),
        "v_mul_u32_u24" => u32s!(|a, b| (a & 0xff_ffff).wrapping_mul(b & 0xff_ffff)),
        "v_mul_i32_i24" => u32s!(|a, b| (signed24(a) * signed24(b)) as u32),
        "v_mul_hi_u32_u24" => u32s!(|a, b| ((u64::from(a & 0xff_ffff) * u64::from(b & 0xff_ffff)) >> 32) as u32),
        "v_mul_hi_i32_i24" => u32s!(|a, b| ((signed24(a) * signed24(b)) >> 32) as u32),
        "v_bfm_b32" => u32s!(|a, b| ((1u32 << (a & 31)) - 1) << (b & 31)),
        "v_bcnt_u32_b32" => u32s!(|a, b| a.count_ones().wrapping_add(b)),
        "v_add3_u32" => u32s!(|a, b, c| a.wrapping_add(b).wrapping_add(c)),
        "v_lshl_add_u32" => u32s!(|a, b, c| (a << (b & 31)).wrapping_add(c)),
        "v_add_lshl_u32" => u32s!(|a, b, c| a.wrapping_add(b) << (c & 31)),
        "v_lshl_or_b32" => u32s!(|a, b, c| a << (b & 31) | c),
        "v_and_or_b32" => u32s!(|a, b, c| a & b | c),
        "v_or3_b32" => u32s!(|a, b, c| a | b | c),
        "v_xad_u32" => u32s!(|a, b, c| (a ^ b).wrapping_add(c)),
        "v_bfe_u32" => u32s!(|a, b, c| unsigned_field(a, b, c)),
        "v_bfe_i32" => u32s!(|a, b, c| signed_field(a, b, c)),
        "v_bfi_b32" => u32s!(|a, b, c| a & b | !a & c),
        "v_alignbit_b32" => u32s!(|a, b, c| ((u64::from(a) << 32 | u64::from(b)) >> (c & 31)) as u32),
        "v_alignbyte_b32" => u32s!(|a, b, c| ((u64::from(a) << 32 | u64::from(b)) >> (8 * (c & 3))) as u32),
        "v_perm_b32" => u32s!(|a, b, c| permute(a, b, c)),
        "v_min3_u32" => u32s!(|a, b, c| a.min(b).min(c)),
        "v_max3_u32" => u32s!(|a, b, c| a.max(b).max(c)),
        "v_min3_i32" => u32s!(|a, b, c| (a as i32).min(b as i32).min(c as i32) as u32),
        "v_max3_i32" => u32s!(|a, b, c| (a as i32).max(b as i32).max(c as i32) as u32),
        "v_med3_i32" => u32s!(|a, b, c| median(a as i32, b as i32, c as i32)),
        "v_med3_u32" => u32s!(|a, b, c| unsigned_median(a, b, c)),
        "v_mad_u32_u24" => u32s!(|a, b, c| (a & 0xff_ffff).wrapping_mul(b & 0xff_ffff).wrapping_add(c)),
        "v_mad_i32_i24" => u32s!(|a, b, c| ((signed24(a) * signed24(b)) as u32).wrapping_add(c)),
        "v_sad_u8" => u32s!(|a, b, c| sum_of_differences(a, b, c)),
        "v_sad_u32" => u32s!(|a, b, c| a.abs_diff(b).wrapping_add(c)),
        "v_dot4_i32_i8" | "v_dot4c_i32_i8" => u32s!(|a, b, c| dot4(a, b, c)),
        "v_dot4_u32_u8" => u32s!(|a, b, c| udot4(a, b, c)),
        "v_mbcnt_lo_u32_b32" => entry!(B32, [B32, B32], Numbered(|lane, a, b| b.wrapping_add(lanes_below(lane, a, 0)))),
        "v_mbcnt_hi_u32_b32" => entry!(B32, [B32, B32], Numbered(|lane, a, b| b.wrapping_add(lanes_below(lane, a, 32)))),
        "v_mov_b64" => entry!(B64, [B64], Wide(|[a, ..]| a)),
        "v_lshlrev_b64" => entry!(B64, [B32, B64], Wide(|[a, b, _]| b << (a & 63))),
        "v_lshrrev_b64" => entry!(B64, [B32, B64], Wide(|[a, b, _]| b >> (a & 63))),
        "v_ashrrev_i64" => entry!(B64, [B32, I64], Wide(|[a, b, _]| (b as i64 >> (a & 63)) as u64)),
        "v_lshl_add_u64" => entry!(B64, [B64, B32, B64], Wide(|[a, b, c]| (a << (b & 7)).wrapping_add(c))),
        "v_add_co_u32" => entry!(B32, [B32, B32], Carry(|a, b, _| a.overflowing_add(b))),
        "v_sub_co_u32" => entry!(B32, [B32, B32], Carry(|a, b, _| a.overflowing_sub(b))),
        "v_subrev_co_u32" => entry!(B32, [B32, B32], Carry(|a, b, _| b.overflowing_sub(a))),
        "v_addc_co_u32" => entry!(B32, [B32, B32], Carry(|a, b, carry| {
            let sum = u64::from(a) + u64::from(b) + u64::from(carry);
            (sum as u32, sum >> 32 != 0)
        })),
        "v_subb_co_u32" => entry!(B32, [B32, B32], Carry(|a, b, borrow| {
            (a.wrapping_sub(b).wrapping_sub(u32::from(borrow)), u64::from(b) + u64::from(borrow) > u64::from(a))
        })),
        "v_subbrev_co_u32" => entry!(B32, [B32, B32], Carry(|a, b, borrow| {
            (b.wrapping_sub(a).wrapping_sub(u32::from(borrow)), u64::from(a) + u64::from(borrow) > u64::from(b))
        })),
        "v_mad_u64_u32" => entry!(B64, [B32, B32, B64], Multiply64(|a, b, c| (a * b).overflowing_add(c))),
        "v_mad_i64_i32" => entry!(B64, [B32, B32, I64], Multiply64(|a, b, c| {
            let product = i64::from(a as i32) * i64::from(b as i32);
            let (sum, overflow) = product.overflowing_add(c as i64);
            (sum as u64, overflow)
        })),
        "v_cndmask_b32" => entry!(B32, [F32, F32], Select),
        "v_readlane_b32" => entry!(B32, [B32, B32], ReadLane),
        "v_readfirstlane_b32" => entry!(B32, [B32], ReadLane),
        "v_writelane_b32" => entry!(B32, [B32, B32], WriteLane),
        "v_swap_b32" => entry!(B32, [B32], Swap),
        "v_permlane32_swap_b32" => entry!(B32, [B32], SwapRows(32)),
        "v_permlane16_swap_b32" => entry!(B32, [B32], SwapRows(16)),
        "v_pk_mov_b32" => entry!(B64, [B64, B64], MovePair),
        _ => return None,
    })
}
