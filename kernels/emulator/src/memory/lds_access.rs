//! LDS instructions: reads, writes, atomics, and exchanges between lanes.

use super::atomic::{self, Atomic};
use super::distinct::Distinct;
use super::lds::Seen;
use super::vector_access::place_half;
use super::{Environment, Place, lanes};
use crate::FindingKind;
use crate::arch::Arch;
use crate::error::Result;
use crate::listing::operand::{self, Operand};
use crate::listing::text::Text;
use crate::machine::wave::{Counter, Filled, Wave};
use crate::vector::{LANES, Lanes};

/// A decoded LDS instruction.
#[derive(Clone)]
pub(crate) struct Instruction {
    operation: Operation,
    address: u16,
    /// Result or first operand.
    data: u16,
    /// Second operand.
    second: u16,
    /// The number that an exchange compares with.
    compared: u16,
    /// Byte offsets of the two parts; equal for single accesses.
    offsets: [u32; 2],
}

#[derive(Clone, Copy)]
enum Operation {
    Read {
        bytes: usize,
        sign_extended: bool,
        half: Option<bool>,
    },
    /// Eight bytes for each lane, transposed as a matrix of elements of this many bytes.
    ReadTransposed {
        element: usize,
    },
    ReadTwo {
        bytes: usize,
    },
    Write {
        bytes: usize,
        high: bool,
    },
    WriteTwo {
        bytes: usize,
    },
    Atomic {
        atomic: Atomic,
        returns: bool,
    },
    Permute,
    PermuteBack,
    Swizzle(u16),
}

#[rustfmt::skip]
fn operation(name: &str) -> Option<Operation> {
    let read = |bytes, sign_extended, half| Some(Operation::Read { bytes, sign_extended, half });
    let write = |bytes, high| Some(Operation::Write { bytes, high });
    match name {
        "read_b32" => read(4, false, None),
        "read_b64" => read(8, false, None),
        "read_b96" => read(12, false, None),
        "read_b128" => read(16, false, None),
        "read_u8" => read(1, false, None),
        "read_i8" => read(1, true, None),
        "read_u16" => read(2, false, None),
        "read_i16" => read(2, true, None),
        "read_u8_d16" => read(1, false, Some(false)),
        "read_u8_d16_hi" => read(1, false, Some(true)),
        "read_i8_d16" => read(1, true, Some(false)),
        "read_i8_d16_hi" => read(1, true, Some(true)),
        "read_u16_d16" => read(2, false, Some(false)),
        "read_u16_d16_hi" => read(2, false, Some(true)),
        "read2_b32" | "read2st64_b32" => Some(Operation::ReadTwo { bytes: 4 }),
        "read2_b64" | "read2st64_b64" => Some(Operation::ReadTwo { bytes: 8 }),
        "write_b8" => write(1, false),
        "write_b8_d16_hi" => write(1, true),
        "write_b16" => write(2, false),
        "write_b16_d16_hi" => write(2, true),
        "write_b32" => write(4, false),
        "write_b64" => write(8, false),
        "write_b96" => write(12, false),
        "write_b128" => write(16, false),
        "write2_b32" | "write2st64_b32" => Some(Operation::WriteTwo { bytes: 4 }),
        "write2_b64" | "write2st64_b64" => Some(Operation::WriteTwo { bytes: 8 }),
        "bpermute_b32" => Some(Operation::PermuteBack),
        "permute_b32" => Some(Operation::Permute),
        _ => atomic::lds(name).map(|(atomic, returns)| Operation::Atomic { atomic, returns }),
    }
}

/// Decodes an instruction. `None` if the mnemonic is not an LDS instruction.
pub(crate) fn decode(text: &mut Text, arch: Arch) -> Result<Option<Instruction>> {
    let Some(name) = text.mnemonic.strip_prefix("ds_").map(str::to_owned) else {
        return Ok(None);
    };
    if name == "swizzle_b32" {
        return swizzle(text).map(Some);
    }
    let transposed = match name.as_str() {
        "read_b64_tr_b16" if arch == Arch::Gfx950 => Some(2),
        "read_b64_tr_b8" if arch == Arch::Gfx950 => Some(1),
        _ => None,
    };
    let transposed = transposed.map(|element| Operation::ReadTransposed { element });
    let Some(operation) = transposed.or_else(|| operation(&name)) else {
        return Ok(None);
    };
    let mut found = Instruction {
        operation,
        address: 0,
        data: 0,
        second: 0,
        compared: 0,
        offsets: [0; 2],
    };
    let unit = match operation {
        Operation::ReadTwo { bytes } | Operation::WriteTwo { bytes } => {
            bytes as i64 * if name.contains("st64") { 64 } else { 1 }
        }
        _ => 0,
    };
    if unit > 0 {
        for (offset, key) in found.offsets.iter_mut().zip(["offset0", "offset1"]) {
            let value = text.take_integer(key)?.unwrap_or(0);
            if !(0..=255).contains(&value) {
                return Err(text.error(format!("{key}:{value} is not a byte")));
            }
            *offset = (value * unit) as u32;
        }
    } else {
        let value = text.take_integer("offset")?.unwrap_or(0);
        let Ok(value) = u16::try_from(value) else {
            return Err(text.error(format!("offset:{value} is out of range")));
        };
        found.offsets = [u32::from(value); 2];
    }
    text.expect_no_modifiers()?;
    let mut operands = Vec::new();
    match operation {
        Operation::Read { .. } | Operation::ReadTransposed { .. } | Operation::ReadTwo { .. } => {
            let (_, count) = found.result().unwrap_or((0, 1));
            operands.extend([(&mut found.data, count), (&mut found.address, 1)]);
        }
        Operation::Write { bytes, .. } => {
            operands.extend([
                (&mut found.address, 1),
                (&mut found.data, bytes.div_ceil(4) as u16),
            ]);
        }
        Operation::WriteTwo { bytes } => {
            let count = bytes as u16 / 4;
            operands.extend([
                (&mut found.address, 1),
                (&mut found.data, count),
                (&mut found.second, count),
            ]);
        }
        Operation::Permute | Operation::PermuteBack => {
            operands.extend([
                (&mut found.data, 1),
                (&mut found.address, 1),
                (&mut found.second, 1),
            ]);
        }
        Operation::Atomic { atomic, returns } => {
            let count = atomic.bytes as u16 / 4;
            if returns {
                operands.push((&mut found.data, count));
            }
            operands.push((&mut found.address, 1));
            if atomic.compares {
                operands.push((&mut found.compared, count));
            }
            operands.push((&mut found.second, count));
        }
        Operation::Swizzle(_) => {}
    }
    text.expect_operands(operands.len())?;
    for (at, (register, count)) in operands.into_iter().enumerate() {
        *register = vector(text, at, count)?;
    }
    Ok(Some(found))
}

fn vector(text: &Text, at: usize, count: u16) -> Result<u16> {
    match operand::operand(text.operand(at)?) {
        Some(Operand::Vector(first, found)) if u16::from(found) == count => Ok(first),
        _ => Err(text.error(format!(
            "operand {} must be {count} vector registers",
            at + 1
        ))),
    }
}

/// `ds_swizzle_b32 v0, v1 offset:swizzle(…)` or with a number.
fn swizzle(text: &mut Text) -> Result<Instruction> {
    let value = text.take("offset").unwrap_or_default();
    let numbers = |inside: &str| -> Vec<u16> {
        inside
            .split(',')
            .filter_map(|part| part.trim().parse().ok())
            .collect()
    };
    let pattern = if let Some(number) = crate::listing::text::integer(&value) {
        u16::try_from(number).ok()
    } else if let Some(inside) = value
        .strip_prefix("swizzle(QUAD_PERM,")
        .and_then(|rest| rest.strip_suffix(')'))
    {
        match numbers(inside)[..] {
            [a, b, c, d] if [a, b, c, d].iter().all(|at| *at < 4) => {
                Some(0x8000 | a | b << 2 | c << 4 | d << 6)
            }
            _ => None,
        }
    } else if let Some(inside) = value
        .strip_prefix("swizzle(SWAP,")
        .and_then(|rest| rest.strip_suffix(')'))
    {
        match numbers(inside)[..] {
            [size @ (1 | 2 | 4 | 8 | 16)] => Some(size << 10 | 0x1f),
            _ => None,
        }
    } else if let Some(inside) = value
        .strip_prefix("swizzle(REVERSE,")
        .and_then(|rest| rest.strip_suffix(')'))
    {
        match numbers(inside)[..] {
            [size @ (2 | 4 | 8 | 16 | 32)] => Some((size - 1) << 10 | 0x1f),
            _ => None,
        }
    } else if let Some(inside) = value
        .strip_prefix("swizzle(BROADCAST,")
        .and_then(|rest| rest.strip_suffix(')'))
    {
        match numbers(inside)[..] {
            [size @ (2 | 4 | 8 | 16 | 32), lane] if lane < size => {
                Some(lane << 5 | (32 - size) & 0x1f)
            }
            _ => None,
        }
    } else {
        None
    };
    let Some(pattern) = pattern.filter(|pattern| pattern & 0x8000 == 0 || *pattern < 0x8100) else {
        return Err(text.error(format!("the pattern offset:{value} is not supported")));
    };
    text.expect_no_modifiers()?;
    text.expect_operands(2)?;
    let (data, second) = (vector(text, 0, 1)?, vector(text, 1, 1)?);
    Ok(Instruction {
        operation: Operation::Swizzle(pattern),
        address: 0,
        data,
        second,
        compared: 0,
        offsets: [0; 2],
    })
}

/// Problems of an instruction's lanes.
#[derive(Default)]
struct Problems {
    outside: u64,
    unwritten: u64,
    race: u64,
    other: u32,
}

impl Problems {
    fn add(&mut self, seen: Seen, lane: usize) {
        self.outside |= u64::from(seen.out_of_bounds) << lane;
        self.unwritten |= u64::from(seen.uninitialized) << lane;
        if let Some(other) = seen.race_with {
            self.race |= 1 << lane;
            self.other = other;
        }
    }
}

impl Instruction {
    /// First register that the instruction fills, and their number.
    pub(crate) fn result(&self) -> Option<(u16, u16)> {
        let count = match self.operation {
            Operation::Read { bytes, .. } => bytes.div_ceil(4),
            Operation::ReadTransposed { .. } => 2,
            Operation::ReadTwo { bytes } => bytes / 2,
            Operation::Atomic {
                atomic,
                returns: true,
            } => atomic.bytes / 4,
            Operation::Permute | Operation::PermuteBack | Operation::Swizzle(_) => 1,
            Operation::Write { .. } | Operation::WriteTwo { .. } | Operation::Atomic { .. } => {
                return None;
            }
        };
        Some((self.data, count as u16))
    }

    pub(crate) fn execute(
        &self,
        wave: &mut Wave,
        environment: &mut Environment<'_>,
        place: &Place,
        banks: u32,
    ) {
        let exec = wave.exec();
        match self.operation {
            Operation::Permute | Operation::PermuteBack | Operation::Swizzle(_) => {
                self.exchange(wave, exec)
            }
            _ => self.access(wave, exec, environment, place, banks),
        }
        let (first, count) = self.result().unwrap_or((0, 0));
        wave.in_flight.push_back(Filled {
            counter: Counter::Lds,
            line: place.line,
            first,
            count,
        });
    }

    fn exchange(&self, wave: &mut Wave, exec: u64) {
        let (source, addresses) = (*wave.vector(self.second), *wave.vector(self.address));
        let active = |lane: usize| {
            if exec >> lane & 1 == 1 {
                source[lane]
            } else {
                0
            }
        };
        let mut result: Lanes = [0; LANES];
        for lane in 0..LANES {
            let target = (addresses[lane].wrapping_add(self.offsets[0]) / 4 % 64) as usize;
            match self.operation {
                Operation::PermuteBack => result[lane] = active(target),
                Operation::Permute if exec >> lane & 1 == 1 => result[target] = source[lane],
                Operation::Swizzle(pattern) => result[lane] = active(swizzled(lane, pattern)),
                _ => {}
            }
        }
        wave.set_vector(self.data, &result, exec);
    }

    fn access(
        &self,
        wave: &mut Wave,
        exec: u64,
        environment: &mut Environment<'_>,
        place: &Place,
        banks: u32,
    ) {
        let mut problems = Problems::default();
        let addresses = *wave.vector(self.address);
        let parts = if self.offsets[0] == self.offsets[1] {
            1
        } else {
            2
        };
        let (width, unit) = match self.operation {
            Operation::Read { bytes, .. } | Operation::Write { bytes, .. } => (bytes, bytes.min(4)),
            Operation::ReadTwo { bytes } | Operation::WriteTwo { bytes } => (bytes, 4),
            Operation::Atomic { atomic, .. } => (atomic.bytes, 4),
            _ => (8, 4),
        };
        let at = |lane: usize, part: usize| addresses[lane].wrapping_add(self.offsets[part]);
        let wrong = lanes(exec)
            .filter(|lane| !(at(*lane, 0) as usize).is_multiple_of(unit))
            .fold(0u64, |mask, lane| mask | 1 << lane);
        for lane in lanes(exec) {
            let number = wave.number;
            let mut bytes = [0; 16];
            match self.operation {
                Operation::Read {
                    bytes: count,
                    sign_extended,
                    half,
                } => {
                    problems.add(
                        environment
                            .lds
                            .read(at(lane, 0), &mut bytes[..count], number),
                        lane,
                    );
                    if count >= 4 {
                        fill(wave, self.data, lane, &bytes[..count]);
                    } else {
                        let bits = u16::from_le_bytes([bytes[0], bytes[1]]);
                        let value = match (count, sign_extended) {
                            (1, true) => i32::from(bits as u8 as i8) as u32,
                            (_, true) => i32::from(bits as i16) as u32,
                            _ => u32::from(bits),
                        };
                        let old = wave.vector(self.data)[lane];
                        wave.set_lane(self.data, lane, place_half(half, old, value));
                    }
                }
                Operation::ReadTransposed { .. } => {
                    let seen = environment.lds.read(at(lane, 0), &mut bytes[..8], number);
                    problems.add(seen, lane);
                    fill(wave, self.data, lane, &bytes[..8]);
                }
                Operation::ReadTwo { bytes: count } => {
                    for part in 0..2 {
                        let slice = &mut bytes[part * count..(part + 1) * count];
                        problems.add(environment.lds.read(at(lane, part), slice, number), lane);
                    }
                    fill(wave, self.data, lane, &bytes[..2 * count]);
                }
                Operation::Write { bytes: count, high } => {
                    take(
                        wave,
                        self.data,
                        lane,
                        &mut bytes[..count.next_multiple_of(4)],
                    );
                    if high {
                        bytes.copy_within(2..4, 0);
                    }
                    problems.add(
                        environment.lds.write(at(lane, 0), &bytes[..count], number),
                        lane,
                    );
                }
                Operation::WriteTwo { bytes: count } => {
                    for (part, register) in [self.data, self.second].into_iter().enumerate() {
                        take(wave, register, lane, &mut bytes[..count]);
                        problems.add(
                            environment
                                .lds
                                .write(at(lane, part), &bytes[..count], number),
                            lane,
                        );
                    }
                }
                Operation::Atomic { atomic, returns } => {
                    let number_in = |register: u16| {
                        let mut bytes = [0; 8];
                        take(wave, register, lane, &mut bytes[..atomic.bytes]);
                        u64::from_le_bytes(bytes)
                    };
                    let data = number_in(self.second);
                    let compared = if atomic.compares {
                        number_in(self.compared)
                    } else {
                        0
                    };
                    let update = |old| atomic.apply(old, data, compared);
                    let (old, seen) =
                        environment
                            .lds
                            .update(at(lane, 0), atomic.bytes, number, update);
                    problems.add(seen, lane);
                    if returns {
                        fill(wave, self.data, lane, &old.to_le_bytes()[..atomic.bytes]);
                    }
                }
                _ => {}
            }
        }
        if let Operation::ReadTransposed { element } = self.operation {
            transpose(wave, self.data, element, exec);
        }
        if exec != 0 {
            let conflicts: u64 = (0..parts)
                .map(|part| conflicts(exec, width, banks, |lane| at(lane, part)))
                .sum();
            let access = environment.counts.access(place.step, place.line);
            access.executions += 1;
            access.bytes += u64::from(exec.count_ones()) * (width * parts) as u64;
            access.bank_conflicts += conflicts;
            if let Some(trace) = &mut environment.trace {
                trace.conflicts = conflicts;
                for part in 0..parts {
                    lanes(exec).for_each(|lane| trace.lds(lane, at(lane, part), width));
                }
            }
        }
        self.report(&problems, wrong, wave, environment, place, &|lane| {
            at(lane, 0)
        });
    }

    fn report(
        &self,
        problems: &Problems,
        misaligned: u64,
        wave: &Wave,
        environment: &mut Environment<'_>,
        place: &Place,
        address: &dyn Fn(usize) -> u32,
    ) {
        let length = environment.lds.length();
        let found = [
            (FindingKind::OutOfBounds, problems.outside),
            (FindingKind::Uninitialized, problems.unwritten),
            (FindingKind::LdsRace, problems.race),
            (FindingKind::Misaligned, misaligned),
        ];
        for (kind, lanes) in found.into_iter().filter(|(_, lanes)| *lanes != 0) {
            let lane = lanes.trailing_zeros() as usize;
            let at = address(lane);
            let other = problems.other;
            environment.report(kind, place, wave, lanes, || match kind {
                FindingKind::OutOfBounds => format!("lane {lane} accesses byte {at} of an LDS of {length} bytes"),
                FindingKind::Uninitialized => format!("lane {lane} reads LDS at byte {at}, which was never written"),
                FindingKind::Misaligned => format!("lane {lane} accesses LDS at byte {at}, which is not a multiple of the access's unit"),
                _ => format!(
                    "wavefronts {} and {other} access LDS at byte {at} without a barrier between them, and one of them writes",
                    wave.number
                ),
            });
        }
    }
}

/// Writes bytes into consecutive registers of a lane.
fn fill(wave: &mut Wave, first: u16, lane: usize, bytes: &[u8]) {
    for (register, word) in (first..).zip(bytes.chunks_exact(4)) {
        wave.set_lane(
            register,
            lane,
            u32::from_le_bytes([word[0], word[1], word[2], word[3]]),
        );
    }
}

fn take(wave: &Wave, first: u16, lane: usize, bytes: &mut [u8]) {
    for (register, word) in (first..).zip(bytes.chunks_exact_mut(4)) {
        word.copy_from_slice(&wave.vector(register)[lane].to_le_bytes());
    }
}

/// Transposes two registers. In each group of 16 lanes, the elements of `8 / element` successive parts of the group are the
/// rows of a matrix with 16 columns; each lane gets a column.
fn transpose(wave: &mut Wave, first: u16, element: usize, exec: u64) {
    let bytes: [[u8; 8]; LANES] = std::array::from_fn(|lane| {
        let mut bytes = [0; 8];
        take(wave, first, lane, &mut bytes);
        bytes
    });
    let elements = 8 / element;
    for lane in lanes(exec) {
        let (group, column) = (lane & !15, lane & 15);
        let mut own = [0; 8];
        for (row, slot) in own.chunks_exact_mut(element).enumerate() {
            let from = group + row * (16 / elements) + column / elements;
            if exec >> from & 1 == 1 {
                let start = column % elements * element;
                slot.copy_from_slice(&bytes[from][start..start + element]);
            }
        }
        fill(wave, first, lane, &own);
    }
}

/// The source lane of a swizzle.
fn swizzled(lane: usize, pattern: u16) -> usize {
    let pattern = usize::from(pattern);
    if pattern & 0x8000 != 0 {
        return lane & !3 | pattern >> (2 * (lane & 3)) & 3;
    }
    let (and, or, xor) = (pattern & 31, pattern >> 5 & 31, pattern >> 10 & 31);
    lane & 32 | ((lane & 31 & and | or) ^ xor)
}

/// The mask of `count` lanes from `start` on.
fn mask_of(start: usize, count: usize) -> u64 {
    u64::MAX >> (LANES - count) << start
}

/// Cycles that bank conflicts add: each group of lanes that is served at once needs a cycle for each different word of a
/// bank.
fn conflicts(exec: u64, width: usize, banks: u32, address: impl Fn(usize) -> u32) -> u64 {
    let words = width.div_ceil(4) as u32;
    let group = (banks / words).clamp(1, 64) as usize;
    let (mut extra, mut used) = (0, Distinct::with_capacity(LANES));
    for start in (0..LANES).step_by(group) {
        used.clear();
        for lane in lanes(exec & mask_of(start, group)) {
            for word in 0..words {
                used.add(u64::from((address(lane) / 4).wrapping_add(word)));
            }
        }
        let mut of_bank = [0u8; LANES];
        let mut most = 1;
        for word in used.values() {
            let count = &mut of_bank[(word % u64::from(banks)) as usize % LANES];
            *count += 1;
            most = most.max(*count);
        }
        extra += u64::from(most) - 1;
    }
    extra
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn swizzle_patterns_select_lanes() {
        // SWAP of neighbours, reversal of 32, broadcast of lane 3 of each 8, quad permutation 3 2 1 0.
        assert_eq!(
            (swizzled(4, 1 << 10 | 0x1f), swizzled(37, 1 << 10 | 0x1f)),
            (5, 36)
        );
        assert_eq!(
            (swizzled(0, 31 << 10 | 0x1f), swizzled(40, 31 << 10 | 0x1f)),
            (31, 55)
        );
        assert_eq!(
            (swizzled(14, 3 << 5 | 24), swizzled(32, 3 << 5 | 24)),
            (11, 35)
        );
        assert_eq!(
            (
                swizzled(5, 0x8000 | 0b00_01_10_11),
                swizzled(7, 0x8000 | 0b00_01_10_11)
            ),
            (6, 4)
        );
    }

    #[test]
    fn conflicts_count_words_of_the_same_bank() {
        let all = u64::MAX;
        assert_eq!(conflicts(all, 4, 32, |lane| lane as u32 * 4), 0);
        assert_eq!(conflicts(all, 4, 32, |_| 64), 0);
        assert_eq!(conflicts(all, 4, 32, |lane| lane as u32 * 8), 2);
        assert_eq!(conflicts(all, 4, 32, |lane| lane as u32 * 128), 62);
        assert_eq!(conflicts(all, 16, 32, |lane| lane as u32 * 16), 0);
        assert_eq!(conflicts(1, 4, 32, |_| 0), 0);
    }
}
