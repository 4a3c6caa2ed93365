//! Memory accesses, and the findings and counts about them.

mod common;

use common::execute;
use hipward_emulator::{FindingKind, Launch, Listing, Memory, Program, Report};

fn kinds(report: &Report) -> Vec<(FindingKind, u32)> {
    report
        .findings
        .iter()
        .map(|finding| (finding.kind, finding.line))
        .collect()
}

/// The start of every test: the address of the first buffer in `s[0:1]`, and four times the lane's number in `v1`.
const START: &str =
    "s_load_dwordx2 s[0:1], s[0:1], 0x0\nv_lshlrev_b32_e32 v1, 2, v0\ns_waitcnt lgkmcnt(0)\n";

fn run(body: &str, bytes: &[u8], lds: u32, threads: u32) -> (Report, Vec<u8>) {
    let (report, mut contents) =
        execute("gfx942", &format!("{START}{body}"), &[bytes], lds, threads);
    assert_eq!(report.error, None);
    (report, contents.remove(0))
}

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes
        .chunks_exact(4)
        .map(|word| u32::from_le_bytes(word.try_into().expect("four bytes")))
        .collect()
}

#[test]
fn stores_past_the_end_are_dropped_and_reported() {
    let (report, contents) = run("global_store_dword v1, v0, s[0:1]", &[0xff; 40], 0, 64);
    assert_eq!(words(&contents), (0..10).collect::<Vec<_>>());
    assert_eq!(kinds(&report), [(FindingKind::OutOfBounds, 6)]);
    let finding = &report.findings[0];
    assert_eq!(finding.lanes, !0 << 10);
    assert_eq!(
        finding.message,
        "lane 10 stores 4 bytes right past the end of x, which has 40 bytes"
    );
}

#[test]
fn loads_before_the_start_read_zero_and_are_reported() {
    let (report, contents) = run(
        "global_load_dword v2, v1, s[0:1] offset:-4\ns_waitcnt vmcnt(0)\nglobal_store_dword v1, v2, s[0:1]",
        &[1; 256],
        0,
        64,
    );
    assert_eq!(words(&contents)[..2], [0, 0x0101_0101]);
    assert_eq!(
        report.findings[0].message,
        "lane 0 loads 4 bytes 4 bytes before the start of x"
    );
}

#[test]
fn a_register_that_is_used_before_its_wait_is_reported() {
    let early = "global_load_dword v2, v1, s[0:1]\nv_add_u32_e32 v3, 1, v2";
    assert_eq!(
        kinds(&run(early, &[0; 256], 0, 64).0),
        [(FindingKind::MissingWait, 7)]
    );
    let two = "global_load_dword v2, v1, s[0:1]\nglobal_load_dword v3, v1, s[0:1]\ns_waitcnt vmcnt(1)\nv_add_u32_e32 v4, 1, v2";
    assert_eq!(kinds(&run(two, &[0; 256], 0, 64).0), []);
    let second = format!("{two}\nv_add_u32_e32 v4, 1, v3");
    assert_eq!(
        kinds(&run(&second, &[0; 256], 0, 64).0),
        [(FindingKind::MissingWait, 10)]
    );
    let scalar = "s_load_dword s4, s[0:1], 0x0\ns_load_dword s5, s[0:1], 0x4\ns_waitcnt lgkmcnt(1)\ns_add_u32 s6, s4, 1";
    assert_eq!(
        kinds(&run(scalar, &[0; 256], 0, 64).0),
        [(FindingKind::MissingWait, 9)],
        "scalar loads return in any order"
    );
}

#[test]
fn misaligned_accesses_are_executed_and_reported() {
    let body = "v_add_u32_e32 v1, 2, v1\nglobal_store_dword v1, v0, s[0:1]";
    let (report, contents) = run(body, &[0; 8], 0, 1);
    assert_eq!(kinds(&report), [(FindingKind::Misaligned, 7)]);
    assert_eq!(contents, [0; 8]);
}

#[test]
fn narrow_accesses_extend_and_keep() {
    let body = "global_load_ubyte v2, v1, s[0:1]
        global_load_sbyte v3, v1, s[0:1]
        global_load_sshort v4, v1, s[0:1]
        v_mov_b32_e32 v5, 0x11112222
        global_load_short_d16_hi v5, v1, s[0:1]
        s_waitcnt vmcnt(0)
        global_store_dwordx4 v1, v[2:5], s[0:1] offset:4
        global_store_byte v1, v5, s[0:1] offset:20
        global_store_short_d16_hi v1, v5, s[0:1] offset:22";
    let mut bytes = vec![0; 24];
    bytes[..2].copy_from_slice(&[0xfe, 0x80]);
    let (report, contents) = run(body, &bytes, 0, 1);
    assert!(report.findings.is_empty(), "{:?}", report.findings);
    assert_eq!(
        words(&contents),
        [
            0x80fe,
            0xfe,
            0xffff_fffe,
            0xffff_80fe,
            0x80fe_2222,
            0x80fe_0022
        ]
    );
}

#[test]
fn buffer_accesses_beyond_the_records_read_zero_without_a_finding() {
    let body = "s_mov_b32 s2, 16
        s_mov_b32 s3, 0x27000
        buffer_load_dword v2, v1, s[0:3], 0 offen
        s_waitcnt vmcnt(0)
        global_store_dword v1, v2, s[0:1]
        buffer_store_dword v0, v1, s[0:3], 0 offen offset:8";
    let (report, contents) = run(body, &[7; 32], 0, 8);
    assert!(report.findings.is_empty(), "{:?}", report.findings);
    let seven = 0x0707_0707;
    assert_eq!(words(&contents), [seven, seven, 0, 1, 0, 0, 0, 0]);
}

/// Adds 1 to the number 2 GiB after the start of a buffer of 3 GiB, and returns it.
fn beyond_2_gib(access: &str) -> u32 {
    let body = format!("{START}v_or_b32_e32 v2, 0x80000000, v1\n{access}");
    let text = common::listing("gfx942", &body, 1, 0);
    let listing = Listing::parse(&text).expect("a listing");
    let program = Program::new(&listing, None).expect("a program");
    let mut memory = Memory::new();
    let x = memory.add_zeroed("x", 3 << 30).expect("below the limit");
    let launch = Launch {
        grid: [1, 1, 1],
        workgroup: [64, 1, 1],
        arguments: vec![x.to_le_bytes().to_vec()],
        dynamic_lds: 0,
        budget: 100,
    };
    let report = hipward_emulator::run(&program, &launch, &mut memory).expect("a run");
    assert!(
        report.error.is_none() && report.findings.is_empty(),
        "{report:?}"
    );
    words(&memory.contents(x + (2 << 30), 4).expect("in bounds"))[0]
}

/// Triton compiles 32-bit offsets for tensors of at most 2 GiB. With a larger one, such code reads zeros and drops stores.
#[test]
fn code_for_2_gib_does_not_reach_the_rest_of_a_larger_tensor() {
    let small = "s_mov_b32 s2, 0x7ffffffe
        s_mov_b32 s3, 0x27000
        buffer_load_dword v3, v2, s[0:3], 0 offen
        s_waitcnt vmcnt(0)
        v_add_u32_e32 v3, 1, v3
        buffer_store_dword v3, v2, s[0:3], 0 offen";
    assert_eq!(beyond_2_gib(small), 0);
    let large = "v_mov_b32_e32 v4, s0
        v_mov_b32_e32 v5, s1
        v_add_co_u32_e32 v4, vcc, v4, v2
        v_addc_co_u32_e32 v5, vcc, 0, v5, vcc
        global_load_dword v3, v[4:5], off
        s_waitcnt vmcnt(0)
        v_add_u32_e32 v3, 1, v3
        global_store_dword v[4:5], v3, off";
    assert_eq!(beyond_2_gib(large), 1);
}

#[test]
fn atomics_return_the_old_value_of_each_lane_in_turn() {
    let body = "v_mov_b32_e32 v2, 0\nv_mov_b32_e32 v3, 1
        global_atomic_add v4, v2, v3, s[0:1] sc0
        s_waitcnt vmcnt(0)
        global_store_dword v1, v4, s[0:1] offset:4";
    let (report, contents) = run(body, &[0; 20], 0, 4);
    assert!(report.findings.is_empty(), "{:?}", report.findings);
    assert_eq!(words(&contents), [4, 0, 1, 2, 3]);
}

#[test]
fn transactions_count_segments_of_an_instruction() {
    let access = |code: &str| {
        let body = format!("{code}\nglobal_load_dword v2, v1, s[0:1]\ns_waitcnt vmcnt(0)");
        run(&body, &vec![0; 1 << 16], 0, 64).0.counts.accesses[1]
    };
    let contiguous = access("");
    assert_eq!(
        (contiguous.bytes, contiguous.segments64, contiguous.lines128),
        (256, 4, 2)
    );
    let strided = access("v_lshlrev_b32_e32 v1, 5, v1");
    assert_eq!(
        (strided.bytes, strided.segments64, strided.lines128),
        (256, 64, 64)
    );
    assert_eq!(access("v_mov_b32_e32 v1, 0").segments64, 1);
}

#[test]
fn lds_exchanges_data_between_wavefronts_after_a_barrier() {
    // Each thread writes its number, and reads that of the thread opposite.
    let body = |barrier: &str| {
        format!(
            "ds_write_b32 v1, v0
            s_waitcnt lgkmcnt(0)
            {barrier}
            v_sub_u32_e32 v2, 0x1fc, v1
            ds_read_b32 v3, v2
            s_waitcnt lgkmcnt(0)
            global_store_dword v1, v3, s[0:1]"
        )
    };
    let (report, contents) = run(&body("s_barrier"), &[0; 512], 512, 128);
    assert!(report.findings.is_empty(), "{:?}", report.findings);
    assert_eq!(words(&contents), (0..128).rev().collect::<Vec<_>>());
    let (report, _) = run(&body("s_nop 0"), &[0; 512], 512, 128);
    assert!(
        kinds(&report)
            .iter()
            .any(|(kind, line)| *kind == FindingKind::LdsRace && *line == 6),
        "{report:?}"
    );
}

#[test]
fn lds_instructions_with_two_parts_use_both_offsets() {
    let body = "v_mov_b32_e32 v2, 5\nv_mov_b32_e32 v3, 6\nv_mov_b32_e32 v4, 0
        ds_write2_b32 v4, v2, v3 offset0:1 offset1:3
        ds_write_b32 v4, v2 offset:8
        ds_read2_b32 v[6:7], v4 offset0:3 offset1:2
        s_waitcnt lgkmcnt(0)
        global_store_dwordx2 v4, v[6:7], s[0:1]";
    let (report, contents) = run(body, &[0; 8], 64, 1);
    assert!(report.findings.is_empty(), "{:?}", report.findings);
    assert_eq!(words(&contents), [6, 5]);
}

#[test]
fn a_barrier_that_a_wavefront_misses_is_reported() {
    let body = "v_readfirstlane_b32 s4, v0\ns_cmp_eq_u32 s4, 0\ns_cbranch_scc1 .LEND\ns_barrier\n.LEND:\ns_nop 0";
    assert_eq!(
        kinds(&run(body, &[0; 8], 0, 128).0),
        [(FindingKind::DivergentBarrier, 9)]
    );
    assert_eq!(kinds(&run(body, &[0; 8], 0, 64).0), []);
}

#[test]
fn unwritten_memory_is_reported() {
    let body = "ds_read_b32 v2, v1\ns_waitcnt lgkmcnt(0)";
    assert_eq!(
        kinds(&run(body, &[0; 8], 256, 64).0),
        [(FindingKind::Uninitialized, 6)]
    );
    assert_eq!(
        kinds(&run(body, &[0; 8], 128, 64).0),
        [
            (FindingKind::OutOfBounds, 6),
            (FindingKind::Uninitialized, 6)
        ]
    );
}

#[test]
fn a_kernel_that_never_ends_is_stopped() {
    let (report, _) = execute("gfx942", ".LOOP:\ns_nop 0\ns_branch .LOOP", &[], 0, 64);
    let error = report.error.expect("the budget ends");
    assert!(error.line == 4 || error.line == 5, "{error}");
    assert!(
        error
            .message
            .starts_with("the kernel did not end within 100000 instructions"),
        "{error}"
    );
}

#[test]
fn masked_lanes_are_counted_and_left_out() {
    let body = "s_mov_b64 exec, 0xff\nglobal_store_dword v1, v0, s[0:1]";
    let (report, contents) = run(body, &[0xff; 256], 0, 64);
    assert_eq!(
        words(&contents)
            .iter()
            .filter(|word| **word != u32::MAX)
            .count(),
        8
    );
    assert_eq!(
        (report.counts.active_lanes, report.counts.masked_lanes),
        (64 + 8, 56)
    );
}

#[test]
fn stores_to_watched_addresses_record_their_lane() {
    let text = common::listing(
        "gfx942",
        "s_load_dwordx2 s[0:1], s[0:1], 0x0
         v_lshlrev_b32_e32 v1, 2, v0
         s_waitcnt lgkmcnt(0)
         global_store_dword v1, v0, s[0:1]
         global_store_dword v1, v0, s[0:1] offset:4",
        1,
        0,
    );
    let listing = Listing::parse(&text).expect("a listing");
    let program = Program::new(&listing, None).expect("a program");
    let mut memory = Memory::new();
    let x = memory.add("x", &[0; 1024]).expect("a small buffer");
    memory.watch([x + 4 * 70, x + 4 * 71 + 3, x + 1020]);
    let launch = Launch {
        grid: [1, 1, 1],
        workgroup: [128, 1, 1],
        arguments: vec![x.to_le_bytes().to_vec()],
        dynamic_lds: 0,
        budget: 1000,
    };
    let report = hipward_emulator::run(&program, &launch, &mut memory).expect("a launch");
    assert!(report.error.is_none());
    let writer = memory.writer(x + 4 * 70).expect("a store");
    assert_eq!((writer.wavefront, writer.lane, writer.line), (1, 5, 7));
    let writer = memory.writer(x + 4 * 71 + 3).expect("a store");
    assert_eq!((writer.wavefront, writer.lane, writer.line), (1, 6, 7));
    assert_eq!(memory.writer(x + 1020), None);
    assert_eq!(memory.writer(x), None);
}

#[test]
fn private_memory_belongs_to_a_lane_and_has_bounds() {
    let text = common::listing(
        "gfx942",
        "s_load_dwordx2 s[0:1], s[0:1], 0x0
         v_lshlrev_b32_e32 v1, 2, v0
         v_and_b32_e32 v2, 12, v1
         s_mov_b32 s4, 4
         s_waitcnt lgkmcnt(0)
         scratch_store_dword v2, v0, off
         scratch_load_dword v3, v2, off
         s_waitcnt vmcnt(0)
         global_store_dword v1, v3, s[0:1]
         scratch_load_dword v4, off, s4 offset:8
         scratch_load_dword v5, off, s4 offset:12",
        1,
        0,
    );
    let listing = Listing::parse(&text).expect("a listing");
    let program = Program::new(&listing, None).expect("a program");
    let mut memory = Memory::new();
    let x = memory.add("x", &[0; 512]).expect("a small buffer");
    let launch = Launch {
        grid: [2, 1, 1],
        workgroup: [128, 1, 1],
        arguments: vec![x.to_le_bytes().to_vec()],
        dynamic_lds: 0,
        budget: 1000,
    };
    let report = hipward_emulator::run(&program, &launch, &mut memory).expect("a launch");
    assert!(report.error.is_none());
    let stored = words(&memory.contents(x, 512).expect("in bounds"));
    assert_eq!(stored, (0..128).collect::<Vec<u32>>());
    // Only every fourth lane wrote its last word; no lane has a fifth.
    let found: Vec<(FindingKind, u64)> = report
        .findings
        .iter()
        .map(|finding| (finding.kind, finding.lanes))
        .collect();
    assert_eq!(
        found,
        [
            (FindingKind::Uninitialized, 0x7777_7777_7777_7777),
            (FindingKind::OutOfBounds, u64::MAX),
        ]
    );
    assert_eq!(report.findings[0].occurrences, 4);
    // The same word of 64 lanes is contiguous.
    assert_eq!(
        report
            .counts
            .accesses
            .last()
            .map(|access| access.segments64),
        Some(16)
    );
}

#[test]
fn traps_end_the_kernel_with_an_error() {
    let body = "v_cmp_lt_u32_e32 vcc, 100, v0\n s_cbranch_vccz ok\n s_trap 2\n ok:";
    let (report, _) = execute("gfx942", body, &[], 0, 128);
    let error = report.error.expect("a trap");
    assert_eq!(error.line, 5);
    assert!(error.message.contains("trap in wavefront 1"), "{error}");
}

#[test]
fn seeded_faults_are_caught() {
    common::assert_caught(&[
        (
            "global_load_sbyte",
            "global_load_ubyte",
            narrow_accesses_extend_and_keep,
        ),
        (
            "ds_read2_b32",
            "ds_read2st64_b32",
            lds_instructions_with_two_parts_use_both_offsets,
        ),
    ]);
}
