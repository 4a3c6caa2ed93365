//! The stepper: each position has the same state whichever way it is reached, and the state of a run at its end.

mod common;

use hipward_emulator::{Launch, Listing, Memory, Program, Progress, Stepper};

/// Each lane loops as often as its number modulo 4, writes the number to LDS and, after a barrier, to memory.
const BODY: &str = "s_load_dwordx2 s[2:3], s[0:1], 0x0
    v_and_b32_e32 v1, 3, v0
    v_mov_b32_e32 v2, 0
    s_mov_b64 s[6:7], exec
    again:
    v_cmp_lt_u32_e32 vcc, v2, v1
    s_and_b64 exec, exec, vcc
    s_cbranch_execz after
    v_add_u32_e32 v2, 1, v2
    s_branch again
    after:
    s_mov_b64 exec, s[6:7]
    v_lshlrev_b32_e32 v3, 2, v0
    v_lshlrev_b32_e32 v4, 7, v0
    ds_write_b32 v3, v2
    s_waitcnt lgkmcnt(0)
    s_barrier
    ds_read_b32 v5, v4
    s_waitcnt lgkmcnt(0)
    global_store_dword v3, v5, s[2:3]";

const THREADS: u32 = 128;

fn stepper(budget: u64) -> (Stepper, u64) {
    let text = common::listing("gfx942", BODY, 1, 128 * THREADS);
    let listing = Listing::parse(&text).expect("a listing");
    let program = Program::new(&listing, None).expect("known instructions");
    let mut memory = Memory::new();
    let x = memory
        .add_zeroed("x", u64::from(4 * THREADS))
        .expect("a small buffer");
    let launch = Launch {
        grid: [3, 1, 1],
        workgroup: [THREADS, 1, 1],
        arguments: vec![x.to_le_bytes().to_vec()],
        dynamic_lds: 0,
        budget,
    };
    (Stepper::new(program, launch, memory).expect("a launch"), x)
}

/// A text of everything that is shown.
fn state(stepper: &Stepper, x: u64) -> String {
    let waves: Vec<String> = stepper
        .wavefronts()
        .map(|wave| {
            let (v2, v5) = (wave.vector("v2"), wave.vector("v5"));
            let progress = wave.progress();
            format!(
                "{} {progress:?} {:x} {v2:?} {v5:?}",
                wave.number(),
                wave.exec()
            )
        })
        .collect();
    format!(
        "{} {:?} {:?} {waves:?} {:?} {:?} {:?}",
        stepper.position(),
        stepper.workgroup(),
        stepper.line(),
        stepper.lds(),
        stepper.memory().contents(x, 4 * THREADS as usize),
        stepper.report().counts.instructions,
    )
}

#[test]
fn every_position_has_one_state() {
    let (mut stepper, x) = stepper(100_000);
    stepper.finish();
    assert!(stepper.has_ended());
    let total = stepper.position();
    let end = state(&stepper, x);
    stepper.go_to(0);
    let mut states = Vec::new();
    for position in 0..=total {
        stepper.go_to(position);
        assert_eq!(stepper.position(), position);
        states.push(state(&stepper, x));
    }
    assert_eq!(states.last(), Some(&end));
    for position in [total - 1, 5, total / 2, 0, 40] {
        stepper.go_to(position);
        assert_eq!(state(&stepper, x), states[position as usize]);
    }
}

#[test]
fn snapshots_do_not_change_the_states() {
    // Many snapshots: the interval grows.
    let (mut stepper, x) = stepper(100_000);
    stepper.set_interval(4);
    stepper.finish();
    let total = stepper.position();
    for position in (0..total).rev().step_by(7) {
        let (mut fresh, _) = self::stepper(100_000);
        fresh.go_to(position);
        stepper.go_to(position);
        assert_eq!(state(&stepper, x), state(&fresh, x));
    }
}

#[test]
fn masked_lanes_and_accesses_of_an_instruction_are_shown() {
    let (mut stepper, _) = stepper(100_000);
    // The addition of the loop: lanes 0, 4, 8, … have left it.
    let line = |name: &str| {
        let text = common::listing("gfx942", BODY, 1, 128 * THREADS);
        let at = text.lines().position(|line| line.contains(name));
        at.expect("the listing has the instruction") as u32 + 1
    };
    stepper.run_to_line(line("v_add_u32"));
    let wave = stepper.wavefront().expect("a wavefront");
    assert_eq!(wave.exec(), 0xeeee_eeee_eeee_eeee);
    assert_eq!(stepper.operands(), ["v2"]);
    stepper.run_to_line(line("s_barrier"));
    let waves: Vec<Progress> = stepper.wavefronts().map(|wave| wave.progress()).collect();
    assert!(matches!(
        waves[..],
        [Progress::Barrier(_), Progress::Running(_)]
    ));
    // Each lane reads its own row of 32 words, all in one bank.
    stepper.run_to_line(line("ds_read"));
    let trace = stepper.trace();
    assert!(trace.in_lds);
    assert_eq!((trace.lanes.len(), trace.conflicts), (64, 62));
    stepper.run_to_line(line("global_store"));
    assert_eq!(stepper.trace().lanes.len(), 64);
    stepper.finish();
    assert_eq!(stepper.trace().distinct_bytes(), u64::from(4 * THREADS));
}

#[test]
fn run_that_exceeds_its_budget_ends_with_an_error_at_every_visit() {
    let (mut stepper, _) = stepper(30);
    stepper.finish();
    let message = stepper.report().error.map(|error| error.message);
    assert!(
        message
            .expect("an error")
            .contains("did not end within 30 instructions")
    );
    stepper.go_to(10);
    assert!(stepper.report().error.is_none());
    stepper.finish();
    assert_eq!(stepper.position(), 30);
    assert!(stepper.report().error.is_some());
}
