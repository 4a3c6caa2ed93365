//! Runs workgroups on several threads, with the result of running them one after another.
//!
//! Each thread runs a part of the grid on memory on top of the launch's memory. The parts are then applied in the order of
//! the grid. A part that read what an earlier part stored to is run again on the new contents, as is a part that
//! has an error or that does not end. So results, findings and counts do not depend on the number of threads.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::program::Program;
use super::run::{Execution, Group, Launch};
use crate::count::Counts;
use crate::error::Result;
use crate::finding::Findings;
use crate::memory::buffers::{Changes, Memory, Stored};
use crate::memory::lds::Lds;

/// Instructions of a part. Less is not worth a copy of the memory that it accesses.
const PART: u64 = 100_000;

/// Largest number of workgroups in a part.
const MOST: u64 = 1024;

/// Parts of each thread between two times at which parts are applied.
const PARTS: usize = 4;

/// A part may execute so many times the instructions that the first workgroup lets expect. A workgroup that waits for
/// another one would not end before.
const SLACK: u64 = 64;

/// Instructions and accesses of a part.
struct Done {
    execution: Execution,
    changes: Changes,
}

/// Runs as many workgroups as can run without an error. The caller runs the others.
pub(super) fn advance(
    execution: &mut Execution,
    program: &Program,
    launch: &Launch,
    memory: &mut Memory,
    threads: usize,
) -> Result<()> {
    let groups = launch
        .grid
        .iter()
        .fold(1u64, |count, size| count.saturating_mul(u64::from(*size)));
    if threads < 2 || groups < 3 || program.updates_memory() {
        return Ok(());
    }
    // The first workgroup shows how long the others are.
    let first = first_workgroup(execution, program, launch, memory)?;
    if first == 0 || first.saturating_mul(groups) < 2 * PART {
        return Ok(());
    }
    let size = (PART / first).clamp(1, MOST);
    let mut next = 1;
    while next < groups {
        let parts: Vec<Range<u64>> = (0..(threads * PARTS) as u64)
            .map(|part| next + part * size..(next + (part + 1) * size).min(groups))
            .filter(|part| part.start < part.end)
            .collect();
        let below = Arc::new(std::mem::take(memory));
        let budget = size
            .saturating_mul(first)
            .saturating_mul(SLACK)
            .min(launch.budget - execution.executed);
        let done = together(execution, program, launch, &below, &parts, threads, budget);
        *memory = Arc::unwrap_or_clone(below);
        let mut stored = Stored::default();
        let mut again = 0;
        for (part, done) in parts.iter().zip(done) {
            let ready = done.filter(|done| {
                !done.changes.depend_on(&stored)
                    && done.execution.executed < launch.budget - execution.executed
            });
            let done = if let Some(done) = ready {
                done
            } else {
                again += 1;
                let below = Arc::new(std::mem::take(memory));
                let left = launch.budget - execution.executed;
                let done = run_part(execution, program, launch, &below, part, left);
                *memory = Arc::unwrap_or_clone(below);
                // An error, or the end of the budget: the caller runs this part and reports it.
                let Some(done) = done else { return Ok(()) };
                done
            };
            memory.apply(&done.changes);
            stored.add(&done.changes);
            let part = done.execution;
            execution.findings.append(part.findings);
            execution.counts.add(part.counts);
            execution.executed += part.executed;
            (execution.group, execution.last) = (part.group, part.last);
        }
        next = parts.last().map_or(groups, |part| part.end);
        if 2 * again > parts.len() {
            return Ok(());
        }
    }
    Ok(())
}

/// Runs the first workgroup in place. Returns its instructions, or 0 if it did not end.
fn first_workgroup(
    execution: &mut Execution,
    program: &Program,
    launch: &Launch,
    memory: &mut Memory,
) -> Result<u64> {
    execution.until = 1;
    let ended = execution.advance(program, launch, memory, launch.budget, None);
    execution.until = u64::MAX;
    ended?;
    let group = execution.group.as_ref();
    Ok(group
        .filter(|group| group.ended)
        .map_or(0, |_| execution.executed))
}

/// Runs parts on threads. `None` for a part that has an error or does not end.
fn together(
    execution: &Execution,
    program: &Program,
    launch: &Launch,
    below: &Arc<Memory>,
    parts: &[Range<u64>],
    threads: usize,
    budget: u64,
) -> Vec<Option<Done>> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(part) = parts.get(number) else {
                return done;
            };
            done.push((
                number,
                run_part(execution, program, launch, below, part, budget),
            ));
        }
    };
    let mut all: Vec<Option<Done>> = parts.iter().map(|_| None).collect();
    let found = thread::scope(|scope| {
        // Without a thread, this one does all parts.
        let others: Vec<_> = (1..threads.min(parts.len()))
            .map_while(|_| thread::Builder::new().spawn_scoped(scope, work).ok())
            .collect();
        let mut found = work();
        for other in others {
            found.extend(other.join().unwrap_or_default());
        }
        found
    });
    for (number, done) in found {
        all[number] = done;
    }
    all
}

/// Runs a part on memory on top of `below`. `None` if it has an error or does not end.
fn run_part(
    execution: &Execution,
    program: &Program,
    launch: &Launch,
    below: &Arc<Memory>,
    part: &Range<u64>,
    budget: u64,
) -> Option<Done> {
    let mut memory = Memory::on_top(below);
    let mut own = Execution {
        segments: execution.segments.clone(),
        findings: Findings::default(),
        counts: Counts::default(),
        until: part.end,
        executed: 0,
        group: part.start.checked_sub(1).map(|before| Group {
            id: launch.id_of(before),
            lds: Lds::new(0),
            waves: Vec::new(),
            current: 0,
            ended: true,
        }),
        last: None,
    };
    own.advance(program, launch, &mut memory, budget, None)
        .ok()?;
    let group = own.group.as_ref()?;
    let ended = group.ended && launch.number_of(group.id) + 1 == part.end;
    own.until = u64::MAX;
    ended.then(|| Done {
        execution: own,
        changes: memory.detach(),
    })
}
