//! A launch and what the page shows of it.

use crate::request::{Argument, Describe, Fill, RegisterFormat, Shown, Start, Target};
use crate::values::{self, Type};
use crate::view::{Access, Buffer, Counts, Description, Finding, Lds, Parameter, View};
use hipward_emulator::{
    ArgumentKind, Class, Launch, Listing, Memory, Program, Progress, Stepper, Trace, Wavefront,
    lane_ranges,
};
use std::collections::BTreeMap;

/// Largest buffer, in bytes.
const LARGEST_BUFFER: u64 = 64 << 20;
/// Most elements of a buffer that are shown.
const MOST_ELEMENTS: usize = 256;
/// Most segments that are drawn.
const MOST_SEGMENTS: usize = 32;
/// Most vector registers that are shown.
const MOST_VECTORS: usize = 12;
/// Rows of the LDS that are shown.
const LDS_ROWS: usize = 16;
/// Bytes of a segment, of a word, and words of a segment.
const SEGMENT: u64 = 64;
const WORD: u64 = 4;
const WORDS: usize = 16;

/// The arguments of a kernel.
///
/// # Errors
///
/// The listing cannot be read, or has an instruction that is not supported.
pub fn describe(request: &Describe) -> Result<Description, String> {
    let (arch, program) = decode(&request.listing, request.kernel.as_deref())?;
    let kernel = program.kernel();
    let parameters = kernel.arguments.iter().filter_map(|argument| {
        let is_buffer = match argument.kind {
            ArgumentKind::Buffer => true,
            ArgumentKind::Value => false,
            _ => return None,
        };
        Some(Parameter {
            name: argument.name.clone(),
            size: argument.size,
            is_buffer,
        })
    });
    Ok(Description {
        arch,
        kernel: kernel.name.clone(),
        largest_workgroup: kernel.largest_workgroup,
        arguments: parameters.collect(),
    })
}

fn decode(listing: &str, kernel: Option<&str>) -> Result<(&'static str, Program), String> {
    let listing = Listing::parse(listing).map_err(|error| sentence(&error))?;
    let program = Program::new(&listing, kernel).map_err(|error| sentence(&error))?;
    Ok((listing.arch.name(), program))
}

fn sentence(error: &hipward_emulator::Error) -> String {
    format!("The emulator cannot run this: {error}.")
}

fn sizes(name: &str, sizes: [u64; 3]) -> Result<[u32; 3], String> {
    match sizes.map(u32::try_from) {
        [Ok(x), Ok(y), Ok(z)] => Ok([x, y, z]),
        _ => {
            let [x, y, z] = sizes;
            let most = u32::MAX;
            Err(format!(
                "A {name} of {x}, {y}, {z} is not possible: each size is at most {most}."
            ))
        }
    }
}

/// A launch in progress.
pub struct Session {
    stepper: Stepper,
    /// The buffers with their addresses and arguments, in the order of the memory.
    buffers: Vec<(u64, Argument, Type)>,
    banks: u32,
}

impl Session {
    /// A launch before its first instruction.
    ///
    /// # Errors
    ///
    /// The listing cannot be executed, or the launch does not fit the kernel.
    pub fn new(request: Start) -> Result<Self, String> {
        let parsed = Listing::parse(&request.listing).map_err(|error| sentence(&error))?;
        let program =
            Program::new(&parsed, request.kernel.as_deref()).map_err(|error| sentence(&error))?;
        let declared = program.kernel().descriptor.lds_bytes;
        let mut memory = Memory::new();
        let (mut arguments, mut buffers) = (Vec::new(), Vec::new());
        for argument in request.arguments {
            let bytes = match (argument.kind, argument.count) {
                (None, _) => vec![0; 8],
                (Some(kind), None) => kind
                    .parse(&argument.value)
                    .map_err(|error| format!("Argument {}: {error}.", argument.name))?,
                (Some(kind), Some(count)) => {
                    let address = allocate(&mut memory, &argument, kind, count)?;
                    buffers.push((address, argument, kind));
                    address.to_le_bytes().to_vec()
                }
            };
            arguments.push(bytes);
        }
        let launch = Launch {
            grid: sizes("grid", request.grid)?,
            workgroup: sizes("workgroup", request.workgroup)?,
            arguments,
            dynamic_lds: request.lds.saturating_sub(declared),
            budget: request.budget,
        };
        let stepper = Stepper::new(program, launch, memory).map_err(|error| sentence(&error))?;
        Ok(Self {
            stepper,
            buffers,
            banks: parsed.arch.lds_banks(),
        })
    }

    /// Moves to an instruction.
    pub fn go(&mut self, to: Target) {
        match to {
            Target::Position(position) => self.stepper.go_to(position),
            Target::End => self.stepper.finish(),
            Target::NextWavefront => self.stepper.next_wavefront(),
            Target::Line(line) => self.stepper.run_to_line(line),
        }
    }

    /// The state after the last instruction.
    #[must_use]
    pub fn view(&self, shown: &Shown) -> View {
        let stepper = &self.stepper;
        let report = stepper.report();
        let wavefront = stepper.wavefront();
        let exec = wavefront.as_ref().map_or(0, Wavefront::exec);
        let (scalars, vectors) = self.registers(wavefront.as_ref(), shown);
        let mask = |mask: u64| format!("{mask:016x}");
        View {
            position: stepper.position(),
            ended: stepper.has_ended(),
            error: report.error.as_ref().map(|error| {
                let source = stepper.program().source(error.line);
                let source = source.map(|source| format!(", {}:{}", source.file, source.line));
                format!("{error}{}", source.unwrap_or_default())
            }),
            line: stepper.line(),
            workgroup: stepper.workgroup(),
            wavefront: wavefront.as_ref().map_or(0, Wavefront::number),
            active: (0..64).map(|lane| exec >> lane & 1 == 1).collect(),
            masks: [
                mask(exec),
                mask(wavefront.as_ref().map_or(0, Wavefront::vcc)),
                u8::from(wavefront.as_ref().is_some_and(Wavefront::scc)).to_string(),
            ],
            wavefronts: stepper
                .wavefronts()
                .map(|wave| match wave.progress() {
                    Progress::Running(line) => (wave.number(), "runs", Some(line)),
                    Progress::Barrier(line) => (wave.number(), "waits at the barrier", Some(line)),
                    Progress::Ended => (wave.number(), "has ended", None),
                })
                .collect(),
            scalars,
            vectors,
            access: self.access(),
            lds: self.lds(shown),
            counts: self.counts(&report.counts),
            findings: report.findings.iter().map(finding).collect(),
            buffers: self
                .buffers
                .iter()
                .map(|buffer| self.buffer(buffer))
                .collect(),
        }
    }

    #[allow(clippy::type_complexity, reason = "two lists of names and values")]
    fn registers(
        &self,
        wavefront: Option<&Wavefront<'_>>,
        shown: &Shown,
    ) -> (Vec<(String, String)>, Vec<(String, Vec<String>)>) {
        let (mut scalars, mut vectors) = (Vec::new(), Vec::new());
        let Some(wavefront) = wavefront else {
            return (scalars, vectors);
        };
        let watched = shown.watched.trim();
        let mut names = self.stepper.operands();
        if !watched.is_empty() && !names.iter().any(|name| name == watched) {
            names.insert(0, watched.to_owned());
        }
        for name in names {
            // Masks are bits.
            let is_mask = name.starts_with("exec") || name.starts_with("vcc");
            let format = if is_mask {
                RegisterFormat::Hex
            } else {
                shown.registers_as
            };
            let text = |bits: &u32| values::register(*bits, format);
            if let Some(bits) = wavefront.scalar(&name) {
                scalars.push((name, text(&bits)));
            } else if let Some(lanes) = wavefront.vector(&name)
                && vectors.len() < MOST_VECTORS
            {
                vectors.push((name, lanes.iter().map(text).collect()));
            }
        }
        (scalars, vectors)
    }

    fn access(&self) -> Option<Access> {
        let trace = self.stepper.trace();
        if trace.lanes.is_empty() {
            return None;
        }
        let place = |address: u64| {
            if trace.in_lds {
                format!("byte {address}")
            } else {
                self.place(address)
            }
        };
        let lanes = trace
            .lanes
            .iter()
            .map(|one| (one.lane, place(one.address), one.bytes))
            .collect();
        let mut access = Access {
            in_lds: trace.in_lds,
            bytes: trace.lanes.iter().map(|one| one.bytes).sum(),
            lanes,
            segment_count: 0,
            segments: Vec::new(),
            banks: Vec::new(),
            conflicts: trace.conflicts,
        };
        if trace.in_lds {
            access.banks = self.bank_lanes(trace);
        } else {
            let segments = segments(trace);
            access.segment_count = segments.len();
            access.segments = segments
                .into_iter()
                .take(MOST_SEGMENTS)
                .map(|(segment, words)| (self.place(segment.wrapping_mul(SEGMENT)), words))
                .collect();
        }
        Some(access)
    }

    /// An address relative to a buffer: `x[3]`, or in bytes if that is no element.
    fn place(&self, address: u64) -> String {
        let found = self
            .stepper
            .memory()
            .nearest(address)
            .and_then(|(index, offset)| Some((self.buffers.get(index)?, offset)));
        let Some(((_, argument, kind), offset)) = found else {
            return format!("address {address:#x}");
        };
        let size = kind.bytes() as i64;
        if offset >= 0 && offset % size == 0 {
            return format!("{}[{}]", argument.name, offset / size);
        }
        format!(
            "{} {} {} bytes",
            argument.name,
            if offset < 0 { "-" } else { "+" },
            offset.abs()
        )
    }

    fn bank_lanes(&self, trace: &Trace) -> Vec<Vec<usize>> {
        let mut banks = vec![Vec::new(); self.banks as usize];
        for one in &trace.lanes {
            let first = one.address / WORD;
            for word in first..first + (one.bytes as u64).div_ceil(WORD) {
                if let Some(lanes) = banks.get_mut((word % u64::from(self.banks)) as usize) {
                    lanes.push(one.lane);
                }
            }
        }
        banks
    }

    fn lds(&self, shown: &Shown) -> Option<Lds> {
        let bytes = self.stepper.lds();
        if bytes.is_empty() {
            return None;
        }
        let row = self.banks as usize * WORD as usize;
        let trace = self.stepper.trace();
        let accessed = trace.lanes.first().filter(|_| trace.in_lds);
        let total = bytes.len().div_ceil(row);
        let first = shown
            .lds_row
            .or_else(|| Some(usize::try_from(accessed?.address).ok()? / row))
            .unwrap_or(0)
            .min(total.saturating_sub(LDS_ROWS));
        let words = |row: &[u8]| {
            row.chunks(WORD as usize)
                .map(|word| {
                    let mut bits = [0; 4];
                    bits[..word.len()].copy_from_slice(word);
                    values::register(u32::from_le_bytes(bits), shown.registers_as)
                })
                .collect()
        };
        Some(Lds {
            bytes: bytes.len(),
            first,
            total,
            rows: bytes
                .chunks(row)
                .skip(first)
                .take(LDS_ROWS)
                .map(words)
                .collect(),
        })
    }

    fn counts(&self, counts: &hipward_emulator::Counts) -> Counts {
        let sum = |of: fn(&hipward_emulator::Access) -> u64, in_lds: bool| -> u64 {
            let accesses = counts.accesses.iter();
            accesses
                .filter(|access| (access.segments64 == 0) == in_lds)
                .map(of)
                .sum()
        };
        Counts {
            instructions: Class::ALL
                .iter()
                .map(|class| class.name())
                .zip(counts.instructions)
                .collect(),
            lanes: [counts.active_lanes, counts.masked_lanes],
            matrix_cycles: counts.matrix_cycles,
            global_bytes: [
                sum(|access| access.bytes, false),
                SEGMENT * sum(|access| access.segments64, false),
            ],
            distinct_bytes: self.stepper.trace().distinct_bytes(),
            lds_bytes: sum(|access| access.bytes, true),
            conflicts: sum(|access| access.bank_conflicts, true),
        }
    }

    fn buffer(&self, (address, argument, kind): &(u64, Argument, Type)) -> Buffer {
        let count = argument.count.unwrap_or(0);
        let shown = usize::try_from(count)
            .unwrap_or(usize::MAX)
            .min(MOST_ELEMENTS);
        let bytes = self
            .stepper
            .memory()
            .contents(*address, shown * kind.bytes());
        Buffer {
            name: argument.name.clone(),
            kind: *kind,
            count,
            values: bytes
                .unwrap_or_default()
                .chunks(kind.bytes())
                .map(|bytes| kind.show(bytes))
                .collect(),
        }
    }
}

/// Adds the buffer of an argument and returns its address.
fn allocate(
    memory: &mut Memory,
    argument: &Argument,
    kind: Type,
    count: u64,
) -> Result<u64, String> {
    let length = count.saturating_mul(kind.bytes() as u64);
    let refused = || {
        format!(
            "Argument {} has {length} bytes; a buffer can have up to {} MiB here.",
            argument.name,
            LARGEST_BUFFER >> 20
        )
    };
    if length > LARGEST_BUFFER {
        return Err(refused());
    }
    let address = match argument.fill {
        Fill::Zeros => memory.add_zeroed(&argument.name, length),
        fill => match kind.fill(fill, usize::try_from(count).map_err(|_| refused())?) {
            Some(contents) => memory.add(&argument.name, &contents),
            None => memory.add_uninitialized(&argument.name, length),
        },
    };
    address.ok_or_else(refused)
}

/// The segments of an access, with the lanes of each of their words.
fn segments(trace: &Trace) -> BTreeMap<u64, Vec<Vec<usize>>> {
    let mut segments = BTreeMap::new();
    for one in &trace.lanes {
        let (first, last) = (
            one.address / WORD,
            one.address.wrapping_add(one.bytes as u64 - 1) / WORD,
        );
        for word in first..=last {
            let words: &mut Vec<Vec<usize>> = segments
                .entry(word * WORD / SEGMENT)
                .or_insert_with(|| vec![Vec::new(); WORDS]);
            if let Some(lanes) = words.get_mut((word % WORDS as u64) as usize) {
                lanes.push(one.lane);
            }
        }
    }
    segments
}

fn finding(finding: &hipward_emulator::Finding) -> Finding {
    let [x, y, z] = finding.workgroup;
    let lanes = match finding.lanes.count_ones() {
        1 => "lane",
        _ => "lanes",
    };
    let source = match &finding.source {
        Some(source) => format!(", {}:{}", source.file, source.line),
        None => String::new(),
    };
    Finding {
        kind: finding.kind.name(),
        line: finding.line,
        place: format!(
            "workgroup {x}, {y}, {z}, wavefront {}, {lanes} {}{source}",
            finding.wavefront,
            lane_ranges(finding.lanes)
        ),
        message: finding.message.clone(),
        occurrences: finding.occurrences,
    }
}
