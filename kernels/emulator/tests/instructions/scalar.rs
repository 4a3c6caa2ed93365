//! Scalar instructions: operands in `s[4:5]` and `s[6:7]`, the result in `s[8:9]`, which is 0 before.

use crate::common::{numbers, scalar};

type Narrow = fn(u32, u32, bool) -> (u32, bool);
type Wide = fn(u64, u64, bool) -> (u64, bool);

fn or_ones(found: bool, at: u32) -> u32 {
    if found { at } else { u32::MAX }
}

/// Offset and width of a bit field.
fn field(b: u64) -> (u32, u32) {
    (b as u32 & 63, (b >> 16) as u32 & 63)
}

#[rustfmt::skip]
const NARROW: [(&str, Narrow); 52] = [
    ("s_absdiff_i32 s8, s4, s6", |a, b, _| {
        let difference = (a as i32).wrapping_sub(b as i32);
        let result = if difference < 0 { difference.wrapping_neg() } else { difference };
        (result as u32, result != 0)
    }),
    ("s_bcnt0_i32_b32 s8, s4", |a, _, _| (a.count_zeros(), a.count_zeros() != 0)),
    ("s_bcnt1_i32_b32 s8, s4", |a, _, _| (a.count_ones(), a.count_ones() != 0)),
    ("s_bfm_b32 s8, s4, s6", |a, b, scc| (((1u32 << (a & 31)) - 1) << (b & 31), scc)),
    ("s_ff0_i32_b32 s8, s4", |a, _, scc| (or_ones(a != u32::MAX, a.trailing_ones()), scc)),
    ("s_sext_i32_i8 s8, s4", |a, _, scc| (a as u8 as i8 as i32 as u32, scc)),
    ("s_max_u32 s8, s4, s6", |a, b, _| (a.max(b), a >= b)),
    ("s_min_i32 s8, s4, s6", |a, b, _| ((a as i32).min(b as i32) as u32, (a as i32) < b as i32)),
    ("s_lshl1_add_u32 s8, s4, s6", |a, b, _| shifted_sum(a, b, 1)),
    ("s_lshl3_add_u32 s8, s4, s6", |a, b, _| shifted_sum(a, b, 3)),
    ("s_lshl4_add_u32 s8, s4, s6", |a, b, _| shifted_sum(a, b, 4)),
    ("s_pack_hh_b32_b16 s8, s4, s6", |a, b, scc| (a >> 16 | b >> 16 << 16, scc)),
    ("s_pack_lh_b32_b16 s8, s4, s6", |a, b, scc| (a & 0xffff | b >> 16 << 16, scc)),
    ("s_mov_b32 s8, s6\ns_cmov_b32 s8, s4", |a, b, scc| (if scc { a } else { b }, scc)),
    ("s_mov_b32 s8, s6\ns_cmovk_i32 s8, 0xfffd", |_, b, scc| (if scc { -3i32 as u32 } else { b }, scc)),
    ("s_mov_b32 s8, s6\ns_addk_i32 s8, 0xfed4", |_, b, _| {
        let (sum, overflow) = (b as i32).overflowing_add(-300);
        (sum as u32, overflow)
    }),
    ("s_mov_b32 s8, s6\ns_mulk_i32 s8, 0xff00", |_, b, scc| (b.wrapping_mul(-256i32 as u32), scc)),
    ("s_mov_b32 s8, s6\ns_bitset0_b32 s8, s4", |a, b, scc| (b & !(1 << (a & 31)), scc)),
    ("s_mov_b32 s8, s6\ns_bitset1_b32 s8, s4", |a, b, scc| (b | 1 << (a & 31), scc)),
    ("s_bitcmp0_b32 s4, s6", |a, b, _| (0, a >> (b & 31) & 1 == 0)),
    ("s_cmp_eq_i32 s4, s6", |a, b, _| (0, a == b)),
    ("s_cmp_lg_i32 s4, s6", |a, b, _| (0, a != b)),
    ("s_cmp_ge_i32 s4, s6", |a, b, _| (0, a as i32 >= b as i32)),
    ("s_cmp_le_i32 s4, s6", |a, b, _| (0, a as i32 <= b as i32)),
    ("s_cmp_gt_u32 s4, s6", |a, b, _| (0, a > b)),
    ("s_cmp_le_u32 s4, s6", |a, b, _| (0, a <= b)),
    ("s_cmpk_eq_i32 s4, 0xffff", |a, _, _| (0, a as i32 == -1)),
    ("s_cmpk_lg_i32 s4, 0xffff", |a, _, _| (0, a as i32 != -1)),
    ("s_cmpk_ge_i32 s4, 0xffff", |a, _, _| (0, a as i32 >= -1)),
    ("s_cmpk_gt_i32 s4, 0xffff", |a, _, _| (0, a as i32 > -1)),
    ("s_cmpk_le_i32 s4, 0xffff", |a, _, _| (0, a as i32 <= -1)),
    ("s_cmpk_lt_i32 s4, 0xffff", |a, _, _| (0, (a as i32) < -1)),
    ("s_cmpk_eq_u32 s4, 0x8000", |a, _, _| (0, a == 0x8000)),
    ("s_cmpk_lg_u32 s4, 0x8000", |a, _, _| (0, a != 0x8000)),
    ("s_cmpk_ge_u32 s4, 0x8000", |a, _, _| (0, a >= 0x8000)),
    ("s_cmpk_gt_u32 s4, 0x8000", |a, _, _| (0, a > 0x8000)),
    ("s_cmpk_le_u32 s4, 0x8000", |a, _, _| (0, a <= 0x8000)),
    ("s_and_b32 s8, s4, s6", |a, b, _| (a & b, a & b != 0)),
    ("s_or_b32 s8, s4, s6", |a, b, _| (a | b, a | b != 0)),
    ("s_xor_b32 s8, s4, s6", |a, b, _| (a ^ b, a != b)),
    ("s_andn2_b32 s8, s4, s6", |a, b, _| (a & !b, a & !b != 0)),
    ("s_orn2_b32 s8, s4, s6", |a, b, _| (a | !b, a | !b != 0)),
    ("s_nand_b32 s8, s4, s6", |a, b, _| (!(a & b), !(a & b) != 0)),
    ("s_nor_b32 s8, s4, s6", |a, b, _| (!(a | b), !(a | b) != 0)),
    ("s_xnor_b32 s8, s4, s6", |a, b, _| (!(a ^ b), !(a ^ b) != 0)),
    // Scheduling and caches have no result.
    ("s_nop 1\ns_sleep 1\ns_setprio 3\ns_sethalt 0\ns_icache_inv\ns_dcache_inv\ns_dcache_wb", |_, _, scc| (0, scc)),
    ("v_nop\nbuffer_wbl2 sc1\nbuffer_inv sc1\nbuffer_wbinvl1\nbuffer_wbinvl1_vol\nbuffer_invl2", |_, _, scc| (0, scc)),
    // VCC and EXEC are not zero, so the moves are skipped.
    ("s_mov_b64 vcc, 1\ns_cbranch_vccnz .LBB0_1\ns_mov_b32 s8, 1\n.LBB0_1:", |_, _, scc| (0, scc)),
    ("s_cbranch_execnz .LBB0_1\ns_mov_b32 s8, 1\n.LBB0_1:", |_, _, scc| (0, scc)),
    ("s_cbranch_scc0 .LBB0_1\ns_mov_b32 s8, 1\n.LBB0_1:", |_, _, scc| (u32::from(scc), scc)),
    ("s_flbit_i32 s8, s4", |a, _, scc| ((1..32).find(|at| ((a >> (31 - at)) ^ (a >> 31)) & 1 == 1).unwrap_or(u32::MAX), scc)),
    // Denormals of single precision are flushed.
    ("s_mov_b32 s4, 0\ns_setreg_b32 hwreg(HW_REG_MODE, 4, 2), s4\nv_mov_b32_e32 v5, 1\nv_add_f32_e32 v5, 0, v5\nv_readfirstlane_b32 s8, v5", |_, _, scc| (0, scc)),
];

fn shifted_sum(a: u32, b: u32, shift: u32) -> (u32, bool) {
    let sum = (u64::from(a) << shift) + u64::from(b);
    (sum as u32, sum > u64::from(u32::MAX))
}

fn logic(result: u64) -> (u64, bool) {
    (result, result != 0)
}

/// EXEC, which one work-item has set to 1, is the other operand of `saveexec`.
#[rustfmt::skip]
const WIDE: [(&str, Wide); 26] = [
    ("s_bcnt0_i32_b64 s8, s[4:5]", |a, _, _| logic(u64::from(a.count_zeros()))),
    ("s_brev_b64 s[8:9], s[4:5]", |a, _, scc| (a.reverse_bits(), scc)),
    ("s_ff1_i32_b64 s8, s[4:5]", |a, _, scc| (u64::from(or_ones(a != 0, a.trailing_zeros())), scc)),
    ("s_flbit_i32_b64 s8, s[4:5]", |a, _, scc| (u64::from(or_ones(a != 0, a.leading_zeros())), scc)),
    ("s_bfm_b64 s[8:9], s4, s6", |a, b, scc| (((1u64 << (a & 63)) - 1) << (b & 63), scc)),
    ("s_and_b32 s6, s6, 0x3f003f\ns_bfe_u64 s[8:9], s[4:5], s6", |a, b, _| {
        let (offset, width) = field(b);
        logic(a >> offset & ((1 << width) - 1))
    }),
    ("s_and_b32 s6, s6, 0x3f003f\ns_bfe_i64 s[8:9], s[4:5], s6", |a, b, _| {
        let (offset, width) = field(b);
        let value = (a as i64 >> offset) as u64 & ((1 << width) - 1);
        let negative = width > 0 && value >> (width - 1) & 1 == 1;
        logic(if negative { value | u64::MAX << width } else { value })
    }),
    ("s_mov_b64 s[8:9], s[6:7]\ns_bitset0_b64 s[8:9], s4", |a, b, scc| (b & !(1 << (a & 63)), scc)),
    ("s_mov_b64 s[8:9], s[6:7]\ns_bitset1_b64 s[8:9], s4", |a, b, scc| (b | 1 << (a & 63), scc)),
    ("s_bitcmp0_b64 s[4:5], s6", |a, b, _| (0, a >> (b & 63) & 1 == 0)),
    ("s_bitcmp1_b64 s[4:5], s6", |a, b, _| (0, a >> (b & 63) & 1 == 1)),
    ("s_mov_b64 s[8:9], s[6:7]\ns_cmov_b64 s[8:9], s[4:5]", |a, b, scc| (if scc { a } else { b }, scc)),
    ("s_cmp_lg_u64 s[4:5], s[6:7]", |a, b, _| (0, a != b)),
    ("s_and_b64 s[8:9], s[4:5], s[6:7]", |a, b, _| logic(a & b)),
    ("s_or_b64 s[8:9], s[4:5], s[6:7]", |a, b, _| logic(a | b)),
    ("s_xor_b64 s[8:9], s[4:5], s[6:7]", |a, b, _| logic(a ^ b)),
    ("s_andn2_b64 s[8:9], s[4:5], s[6:7]", |a, b, _| logic(a & !b)),
    ("s_orn2_b64 s[8:9], s[4:5], s[6:7]", |a, b, _| logic(a | !b)),
    ("s_nand_b64 s[8:9], s[4:5], s[6:7]", |a, b, _| logic(!(a & b))),
    ("s_nor_b64 s[8:9], s[4:5], s[6:7]", |a, b, _| logic(!(a | b))),
    ("s_xnor_b64 s[8:9], s[4:5], s[6:7]", |a, b, _| logic(!(a ^ b))),
    ("s_or_saveexec_b64 s[10:11], s[4:5]\ns_mov_b64 s[8:9], exec\ns_mov_b64 exec, s[10:11]", |a, _, _| logic(a | 1)),
    ("s_xor_saveexec_b64 s[10:11], s[4:5]\ns_mov_b64 s[8:9], exec\ns_mov_b64 exec, s[10:11]", |a, _, _| logic(a ^ 1)),
    ("s_nand_saveexec_b64 s[10:11], s[4:5]\ns_mov_b64 s[8:9], exec\ns_mov_b64 exec, s[10:11]", |a, _, _| logic(!(a & 1))),
    ("s_nor_saveexec_b64 s[10:11], s[4:5]\ns_mov_b64 s[8:9], exec\ns_mov_b64 exec, s[10:11]", |a, _, _| logic(!(a | 1))),
    ("s_xnor_saveexec_b64 s[10:11], s[4:5]\ns_mov_b64 s[8:9], exec\ns_mov_b64 exec, s[10:11]", |a, _, _| logic(!(a ^ 1))),
];

const NOT_OF_EXEC: (&str, Wide) = (
    "s_orn2_saveexec_b64 s[10:11], s[4:5]\ns_mov_b64 s[8:9], exec\ns_mov_b64 exec, s[10:11]",
    |a, _, _| logic(a | !1),
);

/// The code of the rows.
pub(crate) fn codes() -> Vec<String> {
    let narrow = NARROW.iter().map(|(code, _)| *code);
    let wide = WIDE.iter().map(|(code, _)| *code);
    narrow
        .chain(wide)
        .chain([NOT_OF_EXEC.0, LOADS])
        .map(str::to_owned)
        .collect()
}

/// Pairs of numbers, half of them equal.
fn pairs() -> Vec<(u64, u64)> {
    let all = numbers(40, 7);
    let other = |at: usize| {
        if at.is_multiple_of(4) {
            all[at]
        } else {
            all[(at * 7 + 3) % all.len()]
        }
    };
    all.iter()
        .enumerate()
        .map(|(at, a)| (*a, other(at)))
        .collect()
}

#[test]
fn scalar_instructions_have_the_results_of_the_guides() {
    for (at, (a, b)) in pairs().into_iter().enumerate() {
        let scc = at % 2 == 1;
        for (code, expected) in NARROW {
            let (result, flag) = expected(a as u32, b as u32, scc);
            let case = format!("{code}: a = {a:#x}, b = {b:#x}, scc = {scc}");
            assert_eq!(scalar(code, a, b, scc), (u64::from(result), flag), "{case}");
        }
        for (code, expected) in WIDE.into_iter().chain([NOT_OF_EXEC]) {
            let case = format!("{code}: a = {a:#x}, b = {b:#x}, scc = {scc}");
            assert_eq!(scalar(code, a, b, scc), expected(a, b, scc), "{case}");
        }
    }
}

/// Adds 24 words of the first buffer.
const LOADS: &str = "s_load_dwordx8 s[16:23], s[4:5], 0x40\ns_load_dwordx16 s[32:47], s[4:5], 0x0";

#[test]
fn wide_scalar_loads_fill_all_registers() {
    let registers: Vec<usize> = (32..48).chain(16..24).collect();
    let stores: String = registers
        .iter()
        .enumerate()
        .map(|(at, register)| {
            format!(
                "v_mov_b32_e32 v2, s{register}\nglobal_store_dword v1, v2, s[6:7] offset:{}\n",
                4 * at
            )
        })
        .collect();
    let body = format!(
        "s_load_dwordx4 s[4:7], s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\n{LOADS}\ns_waitcnt lgkmcnt(0)\nv_mov_b32_e32 v1, 0\n{stores}"
    );
    let bytes: Vec<u8> = (0..24u32)
        .flat_map(|word| (word * 0x0101_0101).to_le_bytes())
        .collect();
    let (report, contents) = crate::common::execute("gfx942", &body, &[&bytes, &[0; 96]], 0, 1);
    assert!(
        report.error.is_none() && report.findings.is_empty(),
        "{report:?}"
    );
    assert_eq!(contents[1], bytes);
}
