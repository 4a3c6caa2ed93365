//! Runs a launch: workgroups as if one after another, the wavefronts of a workgroup in turn from barrier to barrier.

use super::initial::Segments;
#[cfg(not(target_arch = "wasm32"))]
use super::parallel;
use super::program::{Instruction, ModeField, ModeValue, Program, address_of, position_of};
use super::wave::{Counter, State, Wave};
use crate::FindingKind;
use crate::count::{Class, Counts};
use crate::error::{Error, Result};
use crate::finding::{Finding, Findings};
use crate::memory::buffers::Memory;
use crate::memory::lds::Lds;
use crate::memory::{Environment, Place};
use crate::trace::Trace;
use crate::vector::LANES;

/// What to run.
#[derive(Clone, Debug)]
pub struct Launch {
    /// Workgroups in each dimension.
    pub grid: [u32; 3],
    /// Work-items of a workgroup in each dimension.
    pub workgroup: [u32; 3],
    /// The bytes of each argument, without hidden ones: eight for an address.
    pub arguments: Vec<Vec<u8>>,
    /// Bytes of LDS beyond those that the code declares.
    pub dynamic_lds: u32,
    /// Most instructions that the wavefronts execute together.
    pub budget: u64,
}

impl Launch {
    /// The workgroup at a position in the order of execution.
    #[cfg(not(target_arch = "wasm32"))]
    pub(super) fn id_of(&self, number: u64) -> [u32; 3] {
        let [width, height, _] = self.grid.map(|size| u64::from(size).max(1));
        let (row, x) = (number / width, number % width);
        [x, row % height, row / height].map(|position| position as u32)
    }

    /// The position of a workgroup in the order of execution.
    pub(super) fn number_of(&self, id: [u32; 3]) -> u64 {
        let [x, y, z] = id.map(u64::from);
        let [width, height, _] = self.grid.map(u64::from);
        z.wrapping_mul(height)
            .wrapping_add(y)
            .wrapping_mul(width)
            .wrapping_add(x)
    }
}

/// The result of a run.
#[derive(Clone, Debug)]
pub struct Report {
    /// Why the run ended early. The buffers then contain what was stored so far.
    pub error: Option<Error>,
    /// What the checks found.
    pub findings: Vec<Finding>,
    /// What was executed.
    pub counts: Counts,
}

/// Largest workgroup.
const LARGEST: u64 = 1024;

/// Most bytes of private memory of a lane.
const MOST_PRIVATE: u32 = 1 << 17;

/// Accesses in flight after which the hardware stalls.
const MOST_IN_FLIGHT: usize = 128;

/// Runs a launch.
///
/// # Errors
///
/// The launch does not fit the kernel: arguments, sizes, LDS. An error during execution is part of the report.
pub fn run(
    program: &Program,
    launch: &Launch,
    memory: &mut Memory,
) -> std::result::Result<Report, Error> {
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    run_on_threads(program, launch, memory, threads)
}

/// Runs a launch like [`run`] on a number of threads. The result does not depend on it.
///
/// # Errors
///
/// As [`run`].
pub fn run_on_threads(
    program: &Program,
    launch: &Launch,
    memory: &mut Memory,
    threads: usize,
) -> std::result::Result<Report, Error> {
    let mut execution = Execution::new(program, launch, memory)?;
    #[cfg(not(target_arch = "wasm32"))]
    let started = parallel::advance(&mut execution, program, launch, memory, threads);
    #[cfg(target_arch = "wasm32")]
    let started = {
        let _ = threads;
        Ok(())
    };
    let ended =
        started.and_then(|()| execution.advance(program, launch, memory, launch.budget, None));
    let error = match ended {
        Ok(true) => None,
        Ok(false) => Some(execution.over_budget(program, launch)),
        Err(error) => Some(error),
    };
    Ok(execution.report(program, error))
}

fn check(program: &Program, launch: &Launch) -> Result<()> {
    let kernel = &program.kernel;
    let items: u64 = launch
        .workgroup
        .iter()
        .map(|size| u64::from(*size))
        .fold(1, u64::saturating_mul);
    let largest = match kernel.largest_workgroup {
        0 => LARGEST,
        largest => LARGEST.min(u64::from(largest)),
    };
    if items == 0 || items > largest {
        return Err(Error::new(
            kernel.line,
            format!(
                "a workgroup of {items} work-items is not possible; {} permits 1 to {largest}",
                kernel.name
            ),
        ));
    }
    if launch.grid.contains(&0) {
        return Err(Error::new(kernel.line, "the grid is empty"));
    }
    let lds = u64::from(kernel.descriptor.lds_bytes) + u64::from(launch.dynamic_lds);
    let available = program.arch.lds_bytes();
    if lds > u64::from(available) {
        return Err(Error::new(
            kernel.line,
            format!(
                "the launch takes {lds} bytes of LDS; {} has {available}",
                program.arch.name()
            ),
        ));
    }
    let private = kernel.descriptor.private_bytes;
    if private > MOST_PRIVATE {
        return Err(Error::new(
            kernel.descriptor.line_of("private_segment_fixed_size"),
            format!(
                "{} uses {private} bytes of private memory for each lane; the limit is {MOST_PRIVATE}",
                kernel.name
            ),
        ));
    }
    for name in ["float_round_mode_32", "float_round_mode_16_64"] {
        if kernel.descriptor.get(name) != 0 {
            return Err(Error::new(
                kernel.descriptor.line_of(name),
                format!(".amdhsa_{name} other than 0 (to nearest even) is not supported"),
            ));
        }
    }
    Ok(())
}

/// The state of a launch between two instructions.
#[derive(Clone)]
pub(crate) struct Execution {
    pub(super) segments: Segments,
    pub(super) findings: Findings,
    pub(super) counts: Counts,
    /// Number of the workgroup before which [`Execution::advance`] pauses.
    pub(super) until: u64,
    /// Instructions that the wavefronts have executed together.
    pub(crate) executed: u64,
    /// The workgroup in progress, or the last one.
    pub(crate) group: Option<Group>,
    /// The wavefront that executed the last instruction, and the position of the instruction.
    pub(crate) last: Option<(usize, usize)>,
}

/// A workgroup in progress.
#[derive(Clone)]
pub(crate) struct Group {
    pub(crate) id: [u32; 3],
    pub(crate) lds: Lds,
    pub(crate) waves: Vec<Wave>,
    pub(super) current: usize,
    pub(super) ended: bool,
}

impl Execution {
    /// A launch before its first instruction. The arguments become buffers of `memory`.
    pub(crate) fn new(program: &Program, launch: &Launch, memory: &mut Memory) -> Result<Self> {
        check(program, launch)?;
        Ok(Self {
            segments: Segments::new(program, launch, memory)?,
            findings: Findings::default(),
            counts: Counts::default(),
            until: u64::MAX,
            executed: 0,
            group: None,
            last: None,
        })
    }

    /// Executes until `stop` instructions were executed, and returns whether the launch has ended.
    pub(crate) fn advance(
        &mut self,
        program: &Program,
        launch: &Launch,
        memory: &mut Memory,
        stop: u64,
        trace: Option<&mut Trace>,
    ) -> Result<bool> {
        let mut machine = Machine {
            program,
            launch,
            memory,
            left: stop.saturating_sub(self.executed),
            execution: self,
            trace,
        };
        let before = machine.left;
        let ended = machine.grid();
        let executed = before - machine.left;
        self.executed += executed;
        ended
    }

    /// The error of a launch that did not end within its budget.
    pub(crate) fn over_budget(&self, program: &Program, launch: &Launch) -> Error {
        let group = self.group.as_ref();
        let wave = group.and_then(|group| group.waves.get(group.current));
        let step = wave.and_then(|wave| program.steps.get(wave.at));
        let message = format!(
            "the kernel did not end within {} instructions; wavefront {} of workgroup {:?} is here",
            launch.budget,
            wave.map_or(0, |wave| wave.number),
            group.map_or([0; 3], |group| group.id),
        );
        let line = step.map_or(program.kernel.line, |step| step.line);
        Error {
            is_over_budget: true,
            ..Error::new(line, message)
        }
    }

    /// Findings and counts so far.
    pub(crate) fn report(&self, program: &Program, error: Option<Error>) -> Report {
        let mut counts = self.counts.clone();
        counts.finish();
        let source = |step: usize| program.steps.get(step).and_then(|step| step.source.clone());
        Report {
            error,
            findings: self.findings.clone().finish(source),
            counts,
        }
    }
}

struct Machine<'a> {
    program: &'a Program,
    launch: &'a Launch,
    memory: &'a mut Memory,
    execution: &'a mut Execution,
    left: u64,
    trace: Option<&'a mut Trace>,
}

impl Machine<'_> {
    /// Runs workgroups until all have ended or no instructions are left. Returns whether all have ended.
    fn grid(&mut self) -> Result<bool> {
        loop {
            let mut group = match self.execution.group.take() {
                Some(group) if !group.ended => group,
                previous => match self.next(previous.as_ref().map(|group| group.id)) {
                    // A pause leaves the last workgroup in place, so that its state can be shown.
                    Some(id)
                        if (self.left > 0 || previous.is_none())
                            && self.launch.number_of(id) < self.execution.until =>
                    {
                        self.start(id)
                    }
                    next => {
                        self.execution.group = previous;
                        return Ok(next.is_none());
                    }
                },
            };
            let ended = self.workgroup(&mut group);
            let paused = !group.ended;
            self.execution.group = Some(group);
            ended?;
            if paused {
                return Ok(false);
            }
        }
    }

    /// The workgroup after another one.
    fn next(&self, previous: Option<[u32; 3]>) -> Option<[u32; 3]> {
        let Some(mut id) = previous else {
            return Some([0; 3]);
        };
        for (position, size) in id.iter_mut().zip(self.launch.grid) {
            *position += 1;
            if *position < size {
                return Some(id);
            }
            *position = 0;
        }
        None
    }

    fn start(&mut self, id: [u32; 3]) -> Group {
        self.execution.segments.start_workgroup(self.memory);
        let items: u32 = self.launch.workgroup.iter().product();
        let segments = &self.execution.segments;
        Group {
            id,
            lds: Lds::new(self.program.kernel.descriptor.lds_bytes + self.launch.dynamic_lds),
            waves: (0..items.div_ceil(LANES as u32))
                .map(|number| segments.wave(self.program, self.launch, id, number))
                .collect(),
            current: 0,
            ended: false,
        }
    }

    /// Runs a workgroup until it has ended or no instructions are left.
    fn workgroup(&mut self, group: &mut Group) -> Result<()> {
        loop {
            while let Some(wave) = group.waves.get_mut(group.current) {
                self.wave(wave, group.current, &mut group.lds, group.id)?;
                if wave.state == State::Running {
                    return Ok(());
                }
                group.current += 1;
            }
            group.current = 0;
            let waiting: Vec<(u32, usize)> = group
                .waves
                .iter()
                .filter_map(|wave| match wave.state {
                    State::Barrier(step) => Some((wave.number, step)),
                    _ => None,
                })
                .collect();
            let Some((number, step)) = waiting.first().copied() else {
                group.ended = true;
                return Ok(());
            };
            if waiting.len() < group.waves.len() {
                let line = self.program.steps.get(step).map_or(0, |step| step.line);
                let (count, all) = (waiting.len(), group.waves.len());
                self.execution.findings.add(
                    FindingKind::DivergentBarrier,
                    line,
                    step,
                    group.id,
                    number,
                    u64::MAX,
                    || {
                        format!(
                            "{count} of {all} wavefronts reach this barrier; the others have ended"
                        )
                    },
                );
            }
            group.lds.barrier();
            group
                .waves
                .iter_mut()
                .filter(|wave| wave.state != State::Ended)
                .for_each(|wave| wave.state = State::Running);
        }
    }

    /// Runs a wavefront until it ends, reaches a barrier, or no instructions are left.
    fn wave(
        &mut self,
        wave: &mut Wave,
        position: usize,
        lds: &mut Lds,
        workgroup: [u32; 3],
    ) -> Result<()> {
        while wave.state == State::Running && self.left > 0 {
            let at = wave.at;
            let Some(step) = self.program.steps.get(at) else {
                let line = self.program.steps.last().map_or(0, |step| step.line);
                return Err(Error::new(
                    line,
                    "execution runs past the last instruction of the kernel",
                ));
            };
            self.left -= 1;
            self.execution.last = Some((position, at));
            if let Some(trace) = &mut self.trace {
                trace.clear();
            }
            self.execution.counts.instructions[step.class as usize] += 1;
            if !wave.in_flight.is_empty() {
                self.check_waits(wave, at, workgroup);
            }
            wave.at += 1;
            let place = Place {
                line: step.line,
                step: at,
            };
            let mut environment = Environment {
                memory: &mut *self.memory,
                lds: &mut *lds,
                findings: &mut self.execution.findings,
                counts: &mut self.execution.counts,
                trace: self.trace.as_deref_mut(),
                workgroup,
            };
            match &step.instruction {
                Instruction::Scalar(instruction) => instruction.execute(wave),
                Instruction::Vector(instruction) => instruction.execute(wave),
                Instruction::Matrix(instruction) => {
                    instruction.execute(wave);
                    self.execution.counts.matrix_cycles += instruction.cycles;
                }
                Instruction::ScalarLoad(instruction) => {
                    instruction.execute(wave, &mut environment, &place)
                }
                Instruction::Memory(instruction) => instruction
                    .execute(wave, &mut environment, &place)
                    .map_err(|message| Error::new(step.line, message))?,
                Instruction::Lds(instruction) => {
                    instruction.execute(
                        wave,
                        &mut environment,
                        &place,
                        self.program.arch.lds_banks(),
                    );
                }
                Instruction::Branch(branch, target) => {
                    if branch.is_taken(wave) {
                        wave.at = *target;
                    }
                }
                Instruction::Jump(jump) => {
                    let address = wave.scalar64(jump.target);
                    let target = position_of(address)
                        .filter(|target| *target < self.program.steps.len())
                        .ok_or_else(|| {
                            let message = format!(
                                "the kernel jumps to address {address:#x}, where no function of the listing is"
                            );
                            Error::new(step.line, message)
                        })?;
                    if let Some(link) = jump.link {
                        wave.set_scalar64(link, address_of(at + 1));
                    }
                    wave.at = target;
                }
                Instruction::Wait(vector, others) => wave.wait(*vector, *others),
                Instruction::SetMode(field, value) => set_mode(wave, *field, *value),
                Instruction::Trap => {
                    let message = format!(
                        "the kernel executes a trap in wavefront {} of workgroup {workgroup:?}: an assertion failed, \
                         such as the check of a mask of lanes",
                        wave.number
                    );
                    return Err(Error::new(step.line, message));
                }
                Instruction::Barrier => wave.state = State::Barrier(at),
                Instruction::End => wave.state = State::Ended,
                Instruction::Nothing => {}
            }
            if matches!(step.class, Class::Vector | Class::VectorMemory | Class::Lds) {
                let active = u64::from(wave.exec().count_ones());
                self.execution.counts.active_lanes += active;
                self.execution.counts.masked_lanes += LANES as u64 - active;
            }
            if wave.in_flight.len() > MOST_IN_FLIGHT {
                wave.in_flight.pop_front();
            }
        }
        Ok(())
    }

    /// Reports registers that a load in flight fills.
    fn check_waits(&mut self, wave: &mut Wave, at: usize, workgroup: [u32; 3]) {
        let Some(step) = self.program.steps.get(at) else {
            return;
        };
        let overlaps = |ranges: &[(u16, u16)], first: u16, count: u16| {
            ranges
                .iter()
                .any(|(start, length)| *start < first + count && first < start + length)
        };
        let early = wave.in_flight.iter().position(|filled| {
            let ranges = if filled.counter == Counter::Scalar {
                &step.scalars
            } else {
                &step.vectors
            };
            filled.count > 0 && overlaps(ranges, filled.first, filled.count)
        });
        let Some(filled) = early.and_then(|at| wave.in_flight.remove(at)) else {
            return;
        };
        let counter = if filled.counter == Counter::Vector {
            "vmcnt"
        } else {
            "lgkmcnt"
        };
        let file = match (filled.counter, filled.first) {
            (Counter::Scalar, _) => 's',
            (_, 256..) => 'a',
            _ => 'v',
        };
        let (first, last) = (filled.first % 256, (filled.first + filled.count - 1) % 256);
        self.execution.findings.add(FindingKind::MissingWait, step.line, at, workgroup, wave.number, wave.exec(), || {
            format!(
                "{file}[{first}:{last}] is used, but the load at line {} may still be filling it: there is no s_waitcnt {counter} between them",
                filled.line
            )
        });
    }
}

fn set_mode(wave: &mut Wave, field: ModeField, value: ModeValue) {
    let value = match value {
        ModeValue::Constant(value) => value,
        ModeValue::Register(register) => wave.scalar(register),
    };
    let mask = ((1 << field.width) - 1) << field.offset;
    wave.mode.bits = wave.mode.bits & !mask | value << field.offset & mask;
}
