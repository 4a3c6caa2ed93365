//! Workgroups on several threads: results, findings and counts are those of one thread.

mod common;

use common::listing;
use hipward_emulator::{Launch, Listing, Memory, Program, Report, run_on_threads};

const GROUPS: u32 = 400;

/// Runs code on workgroups of 64 lanes with two buffers of `u32`. `s2` is the workgroup's number, `v1` is four times
/// the number of the lane in the grid, and the addresses are in `s[4:7]`.
fn execute(body: &str, budget: u64, threads: usize) -> (Report, Vec<Vec<u8>>) {
    let body = format!(
        "s_load_dwordx4 s[4:7], s[0:1], 0x0
         s_lshl_b32 s3, s2, 8
         v_lshlrev_b32_e32 v1, 2, v0
         v_add_u32_e32 v1, s3, v1
         v_mov_b32_e32 v9, 0
         s_movk_i32 s10, 0x100
         .Lwork:
         v_add_u32_e32 v9, v9, v0
         v_xor_b32_e32 v9, s2, v9
         s_sub_u32 s10, s10, 1
         s_cmp_lg_u32 s10, 0
         s_cbranch_scc1 .Lwork
         s_waitcnt lgkmcnt(0)
         {body}"
    );
    let text = listing("gfx942", &body, 2, 0);
    let listing = Listing::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let program = Program::new(&listing, None).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let mut memory = Memory::new();
    let length = GROUPS as usize / 4 * 256;
    let numbers: Vec<u8> = (0..length as u32 / 4).flat_map(u32::to_le_bytes).collect();
    let addresses = [
        memory.add("x", &numbers).expect("a small buffer"),
        memory
            .add_uninitialized("y", length as u64)
            .expect("a small buffer"),
    ];
    memory.watch([addresses[1] + 40]);
    let launch = Launch {
        grid: [GROUPS / 4, 4, 1],
        workgroup: [64, 1, 1],
        arguments: addresses
            .iter()
            .map(|address| address.to_le_bytes().to_vec())
            .collect(),
        dynamic_lds: 0,
        budget,
    };
    let report =
        run_on_threads(&program, &launch, &mut memory, threads).expect("a launch that fits");
    let mut contents: Vec<Vec<u8>> = addresses
        .iter()
        .map(|address| memory.contents(*address, length).expect("in bounds"))
        .collect();
    contents.push(format!("{:?}", memory.writer(addresses[1] + 40)).into_bytes());
    (report, contents)
}

fn assert_independent(body: &str, budget: u64) -> (Report, Vec<Vec<u8>>) {
    let (expected, contents) = execute(body, budget, 1);
    for threads in [2, 3, 8] {
        let (report, found) = execute(body, budget, threads);
        assert_eq!(
            format!("{report:?}"),
            format!("{expected:?}"),
            "{threads} threads"
        );
        assert!(found == contents, "{threads} threads");
    }
    (expected, contents)
}

const STORE: &str = "global_load_dword v2, v1, s[4:5]
     s_waitcnt vmcnt(0)
     v_add_u32_e32 v2, v2, v9
     global_store_dword v1, v2, s[6:7]";

#[test]
fn independent_workgroups() {
    let (report, contents) = assert_independent(STORE, 1 << 30);
    assert!(
        report.error.is_none() && report.findings.is_empty(),
        "{report:?}"
    );
    assert!(contents[1].iter().any(|byte| *byte != 0));
}

#[test]
fn workgroups_that_read_what_others_stored() {
    // Each workgroup adds one to the sum of the one before it, in the same four bytes and in a row of its own.
    let chain = "v_mov_b32_e32 v3, 0
         global_load_dword v2, v3, s[4:5]
         s_waitcnt vmcnt(0)
         v_add_u32_e32 v2, 1, v2
         global_store_dword v3, v2, s[4:5]
         global_store_dword v1, v2, s[6:7]";
    let (report, contents) = assert_independent(chain, 1 << 30);
    assert!(report.error.is_none(), "{report:?}");
    assert_eq!(contents[0][..4], GROUPS.to_le_bytes());
}

#[test]
fn atomics_of_all_workgroups() {
    let add = "v_mov_b32_e32 v3, 0
         v_mov_b32_e32 v4, 1
         global_atomic_add v5, v3, v4, s[4:5] sc0
         s_waitcnt vmcnt(0)
         global_store_dword v1, v5, s[6:7]";
    let (_, contents) = assert_independent(add, 1 << 30);
    assert_eq!(contents[0][..4], (64 * GROUPS).to_le_bytes());
}

#[test]
fn findings_and_errors() {
    // The second half of the grid loads past the end of the first buffer, and memory that nothing has written.
    let outside = format!(
        "v_lshlrev_b32_e32 v3, 1, v1\nglobal_load_dword v4, v3, s[4:5]\n{STORE}\nglobal_load_dword v5, v3, s[6:7]"
    );
    let (report, _) = assert_independent(&outside, 1 << 30);
    assert!(report.findings.len() >= 2, "{report:?}");
    let trap = format!("{STORE}\ns_cmp_eq_u32 s2, 90\ns_cbranch_scc0 .Lend\ns_trap 2\n.Lend:");
    let (report, _) = assert_independent(&trap, 1 << 30);
    assert!(report.error.is_some());
    // The budget ends in the middle of the grid.
    let (report, _) = assert_independent(STORE, 300_007);
    assert!(report.error.is_some());
}
