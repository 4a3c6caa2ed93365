//! Runs a few instructions on one wavefront.

#![allow(dead_code, reason = "each test uses a part of it")]

use hipward_emulator::{Launch, Listing, Memory, Program, Report, run};
use std::cell::Cell;

thread_local! {
    /// A fault in the emulator: an instruction that is executed as another one.
    static FAULT: Cell<Option<(&'static str, &'static str)>> = const { Cell::new(None) };
    /// Runs in which the fault had an effect on the code.
    static FAULTY_RUNS: Cell<usize> = const { Cell::new(0) };
}

/// Executes an instruction, or a part of one, as another one, and requires that a test fails.
pub(crate) fn assert_caught(faults: &[(&'static str, &'static str, fn())]) {
    for (from, to, test) in faults {
        FAULT.set(Some((from, to)));
        FAULTY_RUNS.set(0);
        let outcome = std::panic::catch_unwind(test);
        FAULT.set(None);
        assert!(FAULTY_RUNS.get() > 0, "no test executes {from}");
        assert!(
            outcome.is_err(),
            "no test notices that {from} is executed as {to}"
        );
    }
}

/// A listing with one kernel, `test`, whose arguments are so many addresses, in `s[0:1]`.
pub(crate) fn listing(arch: &str, body: &str, buffers: usize, lds: u32) -> String {
    let arguments: String = (0..buffers)
        .map(|at| {
            format!(
                "      - .offset: {}\n        .size: 8\n        .value_kind: global_buffer\n",
                8 * at
            )
        })
        .collect();
    let body: String = body
        .lines()
        .map(|line| {
            let line = line.trim();
            if line.ends_with(':') {
                format!("{line}\n")
            } else {
                format!("\t{line}\n")
            }
        })
        .collect();
    format!(
        "\t.amdgcn_target \"amdgcn-amd-amdhsa--{arch}\"\ntest:\n{body}\ts_endpgm\n.Lfunc_end0:\n\
         \t.amdhsa_kernel test\n\t\t.amdhsa_group_segment_fixed_size {lds}\n\t\t.amdhsa_user_sgpr_count 2\n\
         \t\t.amdhsa_user_sgpr_kernarg_segment_ptr 1\n\t\t.amdhsa_float_denorm_mode_32 3\n\t.end_amdhsa_kernel\n\
         \t.amdgpu_metadata\n---\namdhsa.kernels:\n  - .args:\n{arguments}    .max_flat_workgroup_size: 1024\n    \
         .name: test\n...\n\t.end_amdgpu_metadata\n"
    )
}

/// Runs code on a workgroup with these buffers; returns the report and the buffers' contents.
pub(crate) fn execute(
    arch: &str,
    body: &str,
    buffers: &[&[u8]],
    lds: u32,
    threads: u32,
) -> (Report, Vec<Vec<u8>>) {
    let mut body = body.to_owned();
    let faulty = FAULT.get().is_some_and(|(from, to)| {
        let changed = body.replace(from, to);
        std::mem::replace(&mut body, changed) != body
    });
    let text = listing(arch, &body, buffers.len(), lds);
    let listing = Listing::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let program = Program::new(&listing, None).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let mut memory = Memory::new();
    let addresses: Vec<u64> = buffers
        .iter()
        .map(|bytes| memory.add("x", bytes).expect("a small buffer"))
        .collect();
    let arguments = addresses
        .iter()
        .map(|address| address.to_le_bytes().to_vec())
        .collect();
    let launch = Launch {
        grid: [1, 1, 1],
        workgroup: [threads, 1, 1],
        arguments,
        dynamic_lds: 0,
        budget: 100_000,
    };
    let report = run(&program, &launch, &mut memory).unwrap_or_else(|error| panic!("{error}"));
    FAULTY_RUNS.set(FAULTY_RUNS.get() + usize::from(faulty && report.error.is_none()));
    let contents = addresses
        .iter()
        .zip(buffers)
        .map(|(address, bytes)| memory.contents(*address, bytes.len()).expect("in bounds"))
        .collect();
    (report, contents)
}

/// Runs a vector instruction on registers, one lane for each tuple, and returns `v[8:9]` of each lane.
///
/// The code finds the operands in `v2`, `v4` and `v6` (pairs for 64 bits) and the lane's number in `v0`.
pub(crate) fn vector(arch: &str, code: &str, operands: &[[u64; 3]]) -> Vec<u64> {
    let mut bytes = vec![0; 64 * 32];
    for (lane, row) in bytes.chunks_exact_mut(32).enumerate() {
        let values = operands[lane % operands.len()];
        for (slot, value) in row.chunks_exact_mut(8).zip(values) {
            slot.copy_from_slice(&value.to_le_bytes());
        }
    }
    let body = format!(
        "s_load_dwordx2 s[0:1], s[0:1], 0x0
         v_lshlrev_b32_e32 v1, 5, v0
         s_waitcnt lgkmcnt(0)
         global_load_dwordx2 v[2:3], v1, s[0:1]
         global_load_dwordx2 v[4:5], v1, s[0:1] offset:8
         global_load_dwordx2 v[6:7], v1, s[0:1] offset:16
         v_mov_b32_e32 v8, 0
         v_mov_b32_e32 v9, 0
         s_waitcnt vmcnt(0)
         {code}
         global_store_dwordx2 v1, v[8:9], s[0:1] offset:24"
    );
    let (report, contents) = execute(arch, &body, &[&bytes], 0, 64);
    assert!(report.error.is_none(), "{:?}", report.error);
    assert!(report.findings.is_empty(), "{:?}", report.findings);
    let results = contents[0]
        .chunks_exact(32)
        .map(|row| u64::from_le_bytes(row[24..32].try_into().expect("eight bytes")));
    results.take(operands.len()).collect()
}

/// Runs scalar code with operands in `s[4:5]` and `s[6:7]`; returns `s[8:9]` and SCC.
pub(crate) fn scalar(code: &str, a: u64, b: u64, scc: bool) -> (u64, bool) {
    let mut bytes = Vec::new();
    bytes.extend(a.to_le_bytes());
    bytes.extend(b.to_le_bytes());
    bytes.extend([0; 16]);
    let body = format!(
        "s_load_dwordx2 s[0:1], s[0:1], 0x0
         s_waitcnt lgkmcnt(0)
         s_load_dwordx4 s[4:7], s[0:1], 0x0
         s_mov_b64 s[8:9], 0
         s_waitcnt lgkmcnt(0)
         s_cmp_eq_u32 {}, 1
         {code}
         s_cselect_b32 s10, 1, 0
         v_mov_b32_e32 v1, s8
         v_mov_b32_e32 v2, s9
         v_mov_b32_e32 v3, s10
         v_mov_b32_e32 v4, 0
         global_store_dwordx3 v4, v[1:3], s[0:1] offset:16",
        u32::from(scc)
    );
    let (report, contents) = execute("gfx942", &body, &[&bytes], 0, 1);
    assert!(
        report.error.is_none() && report.findings.is_empty(),
        "{report:?}"
    );
    let word =
        |at: usize| u32::from_le_bytes(contents[0][at..at + 4].try_into().expect("four bytes"));
    (
        u64::from(word(16)) | u64::from(word(20)) << 32,
        word(24) != 0,
    )
}

/// Numbers that are edges of their formats, and random ones from a fixed seed.
pub(crate) fn numbers(count: usize, seed: u64) -> Vec<u64> {
    let mut numbers: Vec<u64> = vec![
        0,
        1,
        2,
        0x7f,
        0x80,
        0xff,
        0x7fff,
        0x8000,
        0xffff,
        0x7fff_ffff,
        0x8000_0000,
        0xffff_ffff,
        u64::MAX,
        1 << 63,
        0x3f80_0000,
        0xbf80_0000,
        0x4049_0fdb,
        0x7f80_0000,
        0xff80_0000,
        0x7fc0_0000,
        1,
        0x0080_0000,
        0x7f7f_ffff,
    ];
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    while numbers.len() < count {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        numbers.push(state.wrapping_mul(0x2545_f491_4f6c_dd1d));
    }
    numbers.truncate(count);
    numbers
}

/// Runs a matrix product of one wavefront.
///
/// Each lane has 20 words: the code finds them in `v[4:23]`, and the sum, 32 times `start`, in `v[36:67]`, where it leaves
/// the result. Returns those 32 registers of each lane.
pub(crate) fn product(
    arch: &str,
    code: &str,
    lanes: &[[u32; 20]; 64],
    start: u32,
) -> Vec<[u32; 32]> {
    let bytes: Vec<u8> = lanes
        .iter()
        .flatten()
        .flat_map(|word| word.to_le_bytes())
        .collect();
    let each = |count: usize, line: &dyn Fn(usize) -> String| -> String {
        (0..count).map(|at| line(at) + "\n").collect()
    };
    let loads = each(5, &|at| {
        let first = 4 + 4 * at;
        let last = first + 3;
        format!(
            "global_load_dwordx4 v[{first}:{last}], v1, s[4:5] offset:{}",
            16 * at
        )
    });
    let starts = each(32, &|at| format!("v_mov_b32_e32 v{}, {start:#x}", 36 + at));
    let stores = each(8, &|at| {
        let first = 36 + 4 * at;
        let last = first + 3;
        format!(
            "global_store_dwordx4 v2, v[{first}:{last}], s[6:7] offset:{}",
            16 * at
        )
    });
    let body = format!(
        "s_load_dwordx4 s[4:7], s[0:1], 0x0
         s_movk_i32 s8, 0x50
         v_mul_lo_u32 v1, v0, s8
         v_lshlrev_b32_e32 v2, 7, v0
         s_waitcnt lgkmcnt(0)
         {loads}{starts}s_waitcnt vmcnt(0)
         {code}
         {stores}"
    );
    let (report, contents) = execute(arch, &body, &[&bytes, &[0; 8192]], 0, 64);
    assert!(
        report.error.is_none() && report.findings.is_empty(),
        "{code}: {report:?}"
    );
    assert!(report.counts.matrix_cycles > 0);
    contents[1]
        .chunks_exact(128)
        .map(|row| {
            std::array::from_fn(|at| {
                let bytes = &row[4 * at..4 * at + 4];
                u32::from_le_bytes(bytes.try_into().expect("four bytes"))
            })
        })
        .collect()
}

/// Row and column of the result of a product of 32-bit numbers in `size` rows, for a lane and register.
pub(crate) fn result_place(size: usize, lane: usize, register: usize) -> (usize, usize) {
    if size == 16 {
        (lane / 16 * 4 + register, lane % 16)
    } else {
        (register / 4 * 8 + lane / 32 * 4 + register % 4, lane % 32)
    }
}
