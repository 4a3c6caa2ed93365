//! Runs a launch instruction by instruction, forward and back.

use super::program::Program;
use super::run::{Execution, Launch, Report};
use super::wave::{State, Wave};
use crate::error::Error;
use crate::listing::operand::{self, EXEC, M0, Operand, VCC};
use crate::memory::buffers::Memory;
use crate::trace::Trace;
use crate::vector::LANES;

/// Most snapshots. When there are more, every other one is dropped.
const MOST_SNAPSHOTS: usize = 8;

/// Instructions between two snapshots at first.
const INTERVAL: u64 = 1 << 14;

/// Instructions that take ten times as long as the copy of a page of memory, so that snapshots take a tenth of a run.
const PER_PAGE: u64 = 10;

/// Where a wavefront is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Its next instruction is at this line of the listing.
    Running(u32),
    /// It waits at the barrier at this line.
    Barrier(u32),
    /// It has ended.
    Ended,
}

/// A launch that can be executed up to any instruction. Going back restores a snapshot and executes from there.
pub struct Stepper {
    program: Program,
    launch: Launch,
    memory: Memory,
    execution: Execution,
    trace: Trace,
    /// States before, the first of them at the start.
    snapshots: Vec<(Execution, Memory)>,
    interval: u64,
    ended: bool,
    error: Option<Error>,
}

/// A wavefront of the current workgroup.
pub struct Wavefront<'a> {
    wave: &'a Wave,
    program: &'a Program,
}

impl Stepper {
    /// A launch before its first instruction.
    ///
    /// # Errors
    ///
    /// The launch does not fit the kernel.
    pub fn new(program: Program, launch: Launch, mut memory: Memory) -> Result<Self, Error> {
        let execution = Execution::new(&program, &launch, &mut memory)?;
        let mut stepper = Self {
            snapshots: vec![(execution.clone(), memory.clone())],
            program,
            launch,
            memory,
            execution,
            trace: Trace::default(),
            interval: INTERVAL,
            ended: false,
            error: None,
        };
        stepper.advance(0);
        Ok(stepper)
    }

    /// Executes or goes back until `position` instructions were executed, the launch ends, or an error ends it.
    pub fn go_to(&mut self, position: u64) {
        let position = position.min(self.launch.budget);
        if position < self.execution.executed {
            self.restore(position);
        }
        while self.error.is_none() && !self.ended && self.execution.executed < position {
            let boundary = (self.execution.executed / self.interval + 1) * self.interval;
            self.advance(position.min(boundary));
            if self.execution.executed == boundary {
                self.take_snapshot();
            }
        }
        if self.execution.executed == self.launch.budget && !self.ended && self.error.is_none() {
            self.error = Some(self.execution.over_budget(&self.program, &self.launch));
        }
    }

    /// Sets the number of instructions between two snapshots. It grows with the length of the run and with the memory.
    pub fn set_interval(&mut self, instructions: u64) {
        self.interval = instructions.max(1);
    }

    /// Executes until the end.
    pub fn finish(&mut self) {
        self.go_to(u64::MAX);
    }

    /// Executes until another wavefront has executed an instruction.
    pub fn next_wavefront(&mut self) {
        let own = self.place();
        self.proceed(|stepper| stepper.place() != own);
    }

    /// Executes until an instruction at a line of the listing was executed.
    pub fn run_to_line(&mut self, line: u32) {
        self.proceed(|stepper| stepper.line() == Some(line));
    }

    fn proceed(&mut self, is_there: impl Fn(&Self) -> bool) {
        loop {
            let before = self.execution.executed;
            self.go_to(before + 1);
            if is_there(self) || self.execution.executed == before {
                return;
            }
        }
    }

    fn place(&self) -> Option<([u32; 3], usize)> {
        let (wave, _) = self.execution.last?;
        Some((self.workgroup(), wave))
    }

    fn advance(&mut self, stop: u64) {
        let ended = self.execution.advance(
            &self.program,
            &self.launch,
            &mut self.memory,
            stop,
            Some(&mut self.trace),
        );
        match ended {
            Ok(ended) => self.ended = ended,
            Err(error) => self.error = Some(error),
        }
    }

    fn restore(&mut self, position: u64) {
        let found = self
            .snapshots
            .iter()
            .rposition(|(before, _)| before.executed == 0 || before.executed < position);
        let Some((execution, memory)) = found.and_then(|at| self.snapshots.get(at)) else {
            return;
        };
        (self.execution, self.memory) = (execution.clone(), memory.clone());
        (self.ended, self.error) = (false, None);
        // The accesses of the instruction before a snapshot are not part of it, so a snapshot of the position itself is not
        // used.
        self.trace.clear();
        self.advance(self.execution.executed);
    }

    fn take_snapshot(&mut self) {
        let newest = self.snapshots.last().map(|(newest, _)| newest.executed);
        if newest.is_some_and(|newest| newest >= self.execution.executed) {
            return;
        }
        while self.snapshots.len() >= MOST_SNAPSHOTS
            || self.interval < PER_PAGE * self.memory.pages()
        {
            self.interval *= 2;
            let interval = self.interval;
            self.snapshots
                .retain(|(execution, _)| execution.executed.is_multiple_of(interval));
        }
        if self.execution.executed.is_multiple_of(self.interval) {
            self.snapshots
                .push((self.execution.clone(), self.memory.clone()));
        }
    }

    /// Instructions that were executed.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.execution.executed
    }

    /// Whether the launch has ended.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// The kernel.
    #[must_use]
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Global memory.
    #[must_use]
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Findings and counts so far, and the error that ended the launch.
    #[must_use]
    pub fn report(&self) -> Report {
        self.execution.report(&self.program, self.error.clone())
    }

    /// The accesses of the last instruction.
    #[must_use]
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// Line of the listing of the last instruction; `None` before the first.
    #[must_use]
    pub fn line(&self) -> Option<u32> {
        let (_, step) = self.execution.last?;
        Some(self.program.steps.get(step)?.line)
    }

    /// The registers that the last instruction names.
    #[must_use]
    pub fn operands(&self) -> Vec<String> {
        let text = self
            .execution
            .last
            .and_then(|(_, step)| self.program.kernel.code.get(step));
        let mut names = Vec::new();
        for word in text.iter().flat_map(|text| &text.operands) {
            let range = match operand::modified(word).map(|modified| modified.operand) {
                Some(Operand::Vector(first, count)) => (first, u16::from(count), true),
                Some(Operand::Scalar(first, count)) => (first.into(), u16::from(count), false),
                _ => continue,
            };
            names.extend((range.0..range.0 + range.1).map(|register| name(register, range.2)));
        }
        let mut seen = std::collections::HashSet::new();
        names.retain(|name| seen.insert(name.clone()));
        names
    }

    /// The current workgroup.
    #[must_use]
    pub fn workgroup(&self) -> [u32; 3] {
        self.execution
            .group
            .as_ref()
            .map_or([0; 3], |group| group.id)
    }

    /// The LDS of the current workgroup.
    #[must_use]
    pub fn lds(&self) -> &[u8] {
        let group = self.execution.group.as_ref();
        group.map_or(&[], |group| group.lds.bytes())
    }

    /// The wavefronts of the current workgroup.
    pub fn wavefronts(&self) -> impl Iterator<Item = Wavefront<'_>> {
        let group = self.execution.group.as_ref();
        let waves = group.map_or(&[][..], |group| &group.waves);
        waves.iter().map(|wave| Wavefront {
            wave,
            program: &self.program,
        })
    }

    /// The wavefront that executed the last instruction; before the first instruction, the first wavefront.
    #[must_use]
    pub fn wavefront(&self) -> Option<Wavefront<'_>> {
        let position = self.execution.last.map_or(0, |(wave, _)| wave);
        self.wavefronts().nth(position)
    }
}

impl Wavefront<'_> {
    /// Its position in the workgroup.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.wave.number
    }

    /// Where it is.
    #[must_use]
    pub fn progress(&self) -> Progress {
        let line = |at: usize| self.program.steps.get(at).map_or(0, |step| step.line);
        match self.wave.state {
            State::Running => Progress::Running(line(self.wave.at)),
            State::Barrier(at) => Progress::Barrier(line(at)),
            State::Ended => Progress::Ended,
        }
    }

    /// The mask of active lanes.
    #[must_use]
    pub fn exec(&self) -> u64 {
        self.wave.exec()
    }

    /// The mask VCC.
    #[must_use]
    pub fn vcc(&self) -> u64 {
        self.wave.scalar64(VCC)
    }

    /// The bit SCC.
    #[must_use]
    pub fn scc(&self) -> bool {
        self.wave.scc
    }

    /// A scalar register by its name, such as `s4`, `vcc_lo` or `m0`.
    #[must_use]
    pub fn scalar(&self, name: &str) -> Option<u32> {
        match operand::operand(name)? {
            Operand::Scalar(register, 1) => Some(self.wave.scalar(register)),
            _ => None,
        }
    }

    /// The lanes of a vector register by its name, such as `v4` or `a0`.
    #[must_use]
    pub fn vector(&self, name: &str) -> Option<&[u32; LANES]> {
        match operand::operand(name)? {
            Operand::Vector(register, 1) if usize::from(register) < self.program.registers => {
                Some(self.wave.vector(register))
            }
            _ => None,
        }
    }
}

/// The name of a register.
fn name(register: u16, is_vector: bool) -> String {
    const VCC_HIGH: u16 = VCC as u16 + 1;
    const EXEC_HIGH: u16 = EXEC as u16 + 1;
    match (is_vector, register) {
        (true, operand::ACCUMULATION..) => format!("a{}", register - operand::ACCUMULATION),
        (true, _) => format!("v{register}"),
        (_, register) if register == u16::from(VCC) => "vcc_lo".to_owned(),
        (_, VCC_HIGH) => "vcc_hi".to_owned(),
        (_, register) if register == u16::from(EXEC) => "exec_lo".to_owned(),
        (_, EXEC_HIGH) => "exec_hi".to_owned(),
        (_, register) if register == u16::from(M0) => "m0".to_owned(),
        _ => format!("s{register}"),
    }
}
