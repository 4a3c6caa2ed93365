//! Runs a launch: workgroups one after another, the wavefronts of a workgroup in turn from barrier to barrier.

use super::initial::Segments;
use super::program::{Instruction, ModeField, ModeValue, Program};
use super::wave::{Counter, State, Wave};
use crate::FindingKind;
use crate::count::{Class, Counts};
use crate::error::{Error, Result};
use crate::finding::{Finding, Findings};
use crate::memory::buffers::Memory;
use crate::memory::lds::Lds;
use crate::memory::{Environment, Place};
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
    check(program, launch)?;
    let segments = Segments::new(program, launch, memory)?;
    let mut machine = Machine {
        program,
        launch,
        segments,
        memory,
        findings: Findings::default(),
        counts: Counts::default(),
        left: launch.budget,
    };
    let error = machine.grid().err();
    let (findings, mut counts) = (machine.findings, machine.counts);
    counts.finish();
    let source = |step: usize| program.steps.get(step).and_then(|step| step.source.clone());
    Ok(Report {
        error,
        findings: findings.finish(source),
        counts,
    })
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
            0,
            format!(
                "a workgroup of {items} work-items is not possible; {} permits 1 to {largest}",
                kernel.name
            ),
        ));
    }
    if launch.grid.contains(&0) {
        return Err(Error::new(0, "the grid is empty"));
    }
    let lds = u64::from(kernel.descriptor.lds_bytes) + u64::from(launch.dynamic_lds);
    let available = program.arch.lds_bytes();
    if lds > u64::from(available) {
        return Err(Error::new(
            0,
            format!(
                "the launch takes {lds} bytes of LDS; {} has {available}",
                program.arch.name()
            ),
        ));
    }
    let private = kernel.descriptor.private_bytes;
    if private > MOST_PRIVATE {
        return Err(Error::new(
            0,
            format!(
                "{} uses {private} bytes of private memory for each lane; the limit is {MOST_PRIVATE}",
                kernel.name
            ),
        ));
    }
    for name in ["float_round_mode_32", "float_round_mode_16_64"] {
        if kernel.descriptor.get(name) != 0 {
            return Err(Error::new(
                0,
                format!(".amdhsa_{name} other than 0 (to nearest even) is not supported"),
            ));
        }
    }
    Ok(())
}

struct Machine<'a> {
    program: &'a Program,
    launch: &'a Launch,
    segments: Segments,
    memory: &'a mut Memory,
    findings: Findings,
    counts: Counts,
    left: u64,
}

impl Machine<'_> {
    fn grid(&mut self) -> Result<()> {
        let [x, y, z] = self.launch.grid;
        for z in 0..z {
            for y in 0..y {
                for x in 0..x {
                    self.workgroup([x, y, z])?;
                }
            }
        }
        Ok(())
    }

    fn workgroup(&mut self, workgroup: [u32; 3]) -> Result<()> {
        let items: u32 = self.launch.workgroup.iter().product();
        self.segments.start_workgroup(self.memory);
        let mut lds = Lds::new(self.program.kernel.descriptor.lds_bytes + self.launch.dynamic_lds);
        let mut waves: Vec<Wave> = (0..items.div_ceil(LANES as u32))
            .map(|number| {
                self.segments
                    .wave(self.program, self.launch, workgroup, number)
            })
            .collect();
        loop {
            for wave in &mut waves {
                self.wave(wave, &mut lds, workgroup)?;
            }
            let waiting: Vec<(u32, usize)> = waves
                .iter()
                .filter_map(|wave| match wave.state {
                    State::Barrier(step) => Some((wave.number, step)),
                    _ => None,
                })
                .collect();
            let Some((number, step)) = waiting.first().copied() else {
                return Ok(());
            };
            if waiting.len() < waves.len() {
                let line = self.program.steps.get(step).map_or(0, |step| step.line);
                let (count, all) = (waiting.len(), waves.len());
                self.findings.add(
                    FindingKind::DivergentBarrier,
                    line,
                    step,
                    workgroup,
                    number,
                    u64::MAX,
                    || {
                        format!(
                            "{count} of {all} wavefronts reach this barrier; the others have ended"
                        )
                    },
                );
            }
            lds.barrier();
            waves
                .iter_mut()
                .filter(|wave| wave.state != State::Ended)
                .for_each(|wave| wave.state = State::Running);
        }
    }

    /// Runs a wavefront until it ends or reaches a barrier.
    fn wave(&mut self, wave: &mut Wave, lds: &mut Lds, workgroup: [u32; 3]) -> Result<()> {
        while wave.state == State::Running {
            let at = wave.at;
            let Some(step) = self.program.steps.get(at) else {
                let line = self.program.steps.last().map_or(0, |step| step.line);
                return Err(Error::new(
                    line,
                    "execution runs past the last instruction of the kernel",
                ));
            };
            if self.left == 0 {
                let message = format!(
                    "the kernel did not end within {} instructions; wavefront {} of workgroup {workgroup:?} is here",
                    self.launch.budget, wave.number
                );
                return Err(Error::new(step.line, message));
            }
            self.left -= 1;
            self.counts.instructions[step.class as usize] += 1;
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
                findings: &mut self.findings,
                counts: &mut self.counts,
                workgroup,
            };
            match &step.instruction {
                Instruction::Scalar(instruction) => instruction.execute(wave),
                Instruction::Vector(instruction) => instruction.execute(wave),
                Instruction::Matrix(instruction) => {
                    instruction.execute(wave);
                    self.counts.matrix_cycles += instruction.cycles;
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
                Instruction::Wait(vector, others) => wave.wait(*vector, *others),
                Instruction::SetMode(field, value) => set_mode(wave, *field, *value),
                Instruction::Barrier => wave.state = State::Barrier(at),
                Instruction::End => wave.state = State::Ended,
                Instruction::Nothing => {}
            }
            if matches!(step.class, Class::Vector | Class::VectorMemory | Class::Lds) {
                let active = u64::from(wave.exec().count_ones());
                self.counts.active_lanes += active;
                self.counts.masked_lanes += LANES as u64 - active;
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
        self.findings.add(FindingKind::MissingWait, step.line, at, workgroup, wave.number, wave.exec(), || {
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
