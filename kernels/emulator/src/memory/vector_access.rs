//! Loads, stores and atomics of global, flat and buffer instructions.

use super::atomic::{self, Atomic};
use super::buffers::Read;
use super::distinct::Distinct;
use super::{Environment, Place, lanes};
use crate::FindingKind;
use crate::error::Result;
use crate::listing::operand::{self, M0, Operand};
use crate::listing::text::Text;
use crate::machine::wave::{Counter, Filled, Wave};
use crate::vector::LANES;

/// Bit of the fourth word of a buffer resource: the lane's number is part of the address, as in private memory on gfx90a.
pub(crate) const RESOURCE_ADDS_LANE: u32 = 1 << 23;

/// A decoded access.
#[derive(Clone)]
pub(crate) struct Instruction {
    operation: Operation,
    address: Address,
    /// First register of the data: the result of a load, the operand of a store.
    data: u16,
    /// First register of the operand of an atomic.
    operand: u16,
}

#[derive(Clone, Copy)]
enum Operation {
    Load(Part),
    /// A load whose result goes to LDS, at the address in M0 and the place of the lane.
    LoadToLds(Part),
    Store(Part),
    Atomic(Atomic, bool),
}

/// Size and place of the data of a lane.
#[derive(Clone, Copy)]
struct Part {
    bytes: usize,
    sign_extended: bool,
    /// Half of the register that is replaced or stored, if not the whole register.
    half: Option<bool>,
}

#[derive(Clone, Copy)]
enum Address {
    /// A 64-bit address for each lane.
    Lanes { register: u16, offset: i64 },
    /// A scalar base and a 32-bit offset for each lane.
    Base {
        base: u8,
        register: u16,
        offset: i64,
    },
    /// Private memory: a byte offset in the memory of each lane.
    Private {
        register: Option<u16>,
        scalar: Option<u8>,
        offset: i64,
    },
    /// A buffer resource.
    Buffer {
        resource: u8,
        register: Option<u16>,
        scalar: Scalar,
        offset: u32,
    },
}

#[derive(Clone, Copy)]
enum Scalar {
    Register(u8),
    Constant(u32),
}

/// Address of each active lane, and the number of its bytes that the resource permits.
struct Addresses {
    address: [u64; LANES],
    permitted: [usize; LANES],
    /// The offset of each lane, if the access is to private memory.
    private: Option<[u64; LANES]>,
}

impl Addresses {
    /// The addresses of an access to private memory. Those past the end of a lane's memory are out of bounds.
    fn locate_private(&mut self, wave: &Wave, bytes: usize) {
        let Some(offsets) = &self.private else { return };
        for (lane, (address, offset)) in self.address.iter_mut().zip(offsets).enumerate() {
            let is_inside = offset + bytes as u64 <= u64::from(wave.private_bytes);
            *address = if is_inside {
                wave.private + lane as u64 * u64::from(wave.private_bytes) + offset
            } else {
                wave.private_end.saturating_add(*offset)
            };
        }
    }
}

/// Decodes an instruction. `None` if the mnemonic is not an access of this kind.
pub(crate) fn decode(text: &mut Text) -> Result<Option<Instruction>> {
    let name = text.mnemonic.clone();
    let Some((space, rest)) = ["global_", "flat_", "buffer_", "scratch_"]
        .iter()
        .find_map(|space| Some((*space, name.strip_prefix(space)?)))
    else {
        return Ok(None);
    };
    let operation = if let Some(kind) = rest.strip_prefix("load_") {
        part(kind).map(Operation::Load)
    } else if let Some(kind) = rest.strip_prefix("store_") {
        part(kind).map(Operation::Store)
    } else if let Some(kind) = rest.strip_prefix("atomic_") {
        // `glc` and `sc0` request the old value.
        let returns = text.take_flag("glc") || text.take_flag("sc0");
        atomic::global(kind).map(|atomic| Operation::Atomic(atomic, returns))
    } else {
        None
    };
    let Some(operation) = operation else {
        return Ok(None);
    };
    // Cache policies do not change results.
    for flag in ["glc", "slc", "nt", "sc0", "sc1"] {
        text.take_flag(flag);
    }
    let offset = text.take_integer("offset")?.unwrap_or(0);
    if !(-4096..=4095).contains(&offset) {
        return Err(text.error(format!("offset:{offset} is out of range")));
    }
    let mut found = Instruction {
        operation,
        address: Address::Lanes {
            register: 0,
            offset,
        },
        data: 0,
        operand: 0,
    };
    if space == "buffer_" {
        found.buffer_operands(text, offset)?;
    } else if space == "scratch_" {
        found.private_operands(text, offset)?;
    } else {
        found.global_operands(text, offset, space == "flat_")?;
    }
    text.expect_no_modifiers()?;
    Ok(Some(found))
}

#[rustfmt::skip]
fn part(kind: &str) -> Option<Part> {
    let (bytes, sign_extended, half) = match kind {
        "ubyte" | "byte" => (1, false, None),
        "sbyte" => (1, true, None),
        "ushort" | "short" => (2, false, None),
        "sshort" => (2, true, None),
        "dword" => (4, false, None),
        "dwordx2" => (8, false, None),
        "dwordx3" => (12, false, None),
        "dwordx4" => (16, false, None),
        "ubyte_d16" => (1, false, Some(false)),
        "sbyte_d16" => (1, true, Some(false)),
        "ubyte_d16_hi" | "byte_d16_hi" => (1, false, Some(true)),
        "sbyte_d16_hi" => (1, true, Some(true)),
        "short_d16" => (2, false, Some(false)),
        "short_d16_hi" => (2, false, Some(true)),
        _ => return None,
    };
    Some(Part { bytes, sign_extended, half })
}

fn vector(text: &Text, at: usize, count: u8) -> Result<u16> {
    match operand::operand(text.operand(at)?) {
        Some(Operand::Vector(first, found)) if found == count => Ok(first),
        _ => Err(text.error(format!(
            "operand {} must be {count} vector registers",
            at + 1
        ))),
    }
}

impl Instruction {
    fn registers(bytes: usize) -> u8 {
        bytes.div_ceil(4) as u8
    }

    fn global_operands(&mut self, text: &Text, offset: i64, flat: bool) -> Result<()> {
        let (address, base) = match self.operation {
            Operation::Load(part) => {
                self.data = vector(text, 0, Self::registers(part.bytes))?;
                (1, 2)
            }
            Operation::LoadToLds(_) => return Err(text.error("lds is not supported here")),
            Operation::Store(part) => {
                self.data = vector(text, 1, Self::registers(part.bytes))?;
                (0, 2)
            }
            Operation::Atomic(atomic, returns) => {
                let first = usize::from(returns);
                let width = Self::registers(atomic.bytes);
                if returns {
                    self.data = vector(text, 0, width)?;
                }
                self.operand = vector(
                    text,
                    first + 1,
                    if atomic.compares { 2 * width } else { width },
                )?;
                (first, first + 2)
            }
        };
        let scalar = if flat {
            Operand::Off
        } else {
            operand::operand(text.operand(base)?).unwrap_or(Operand::Off)
        };
        text.expect_operands(base + usize::from(!flat))?;
        self.address = match scalar {
            Operand::Scalar(base, 2) => Address::Base {
                base,
                register: vector(text, address, 1)?,
                offset,
            },
            Operand::Off => Address::Lanes {
                register: vector(text, address, 2)?,
                offset,
            },
            _ => return Err(text.error("the base must be a pair of scalar registers, or off")),
        };
        Ok(())
    }

    fn private_operands(&mut self, text: &Text, offset: i64) -> Result<()> {
        let (data, address) = match self.operation {
            Operation::Load(part) => (vector(text, 0, Self::registers(part.bytes))?, 1),
            Operation::Store(part) => (vector(text, 1, Self::registers(part.bytes))?, 0),
            Operation::LoadToLds(_) | Operation::Atomic(..) => {
                return Err(text.error("private memory has no atomics"));
            }
        };
        self.data = data;
        text.expect_operands(3)?;
        let register = match operand::operand(text.operand(address)?) {
            Some(Operand::Off) => None,
            _ => Some(vector(text, address, 1)?),
        };
        let scalar = match operand::operand(text.operand(2)?) {
            Some(Operand::Off) => None,
            Some(Operand::Scalar(register, 1)) => Some(register),
            _ => return Err(text.error("operand 3 must be a scalar register, or off")),
        };
        self.address = Address::Private {
            register,
            scalar,
            offset,
        };
        Ok(())
    }

    fn buffer_operands(&mut self, text: &mut Text, offset: i64) -> Result<()> {
        let offen = text.take_flag("offen");
        if text.take_flag("idxen") {
            return Err(text.error("idxen is not supported"));
        }
        let mut first = 1;
        if text.take_flag("lds") {
            self.operation = match self.operation {
                Operation::Load(part) if part.bytes >= 4 => Operation::LoadToLds(part),
                _ => return Err(text.error("lds is supported for loads of whole registers only")),
            };
            first = 0;
        }
        match self.operation {
            Operation::Load(part) | Operation::Store(part) => {
                self.data = vector(text, 0, Self::registers(part.bytes))?
            }
            Operation::LoadToLds(_) => {}
            Operation::Atomic(atomic, _) => {
                let width = Self::registers(atomic.bytes);
                self.operand = vector(text, 0, if atomic.compares { 2 * width } else { width })?;
                // The old value replaces the operand.
                self.data = self.operand;
            }
        }
        text.expect_operands(first + 3)?;
        let register = match operand::operand(text.operand(first)?) {
            Some(Operand::Off) if !offen => None,
            _ if offen => Some(vector(text, first, 1)?),
            _ => return Err(text.error("an offset register needs offen")),
        };
        let scalar = match operand::operand(text.operand(first + 2)?) {
            Some(Operand::Scalar(first, 1)) => Scalar::Register(first),
            Some(Operand::Integer(value)) if (0..=64).contains(&value) => {
                Scalar::Constant(value as u32)
            }
            _ => return Err(text.error("the scalar offset must be a register or a small constant")),
        };
        let Ok(offset) = u32::try_from(offset) else {
            return Err(text.error("the offset of a buffer access is negative"));
        };
        self.address = match operand::operand(text.operand(first + 1)?) {
            Some(Operand::Scalar(resource, 4)) => Address::Buffer {
                resource,
                register,
                scalar,
                offset,
            },
            _ => return Err(text.error("the resource must be four scalar registers")),
        };
        Ok(())
    }

    /// Bytes of a lane.
    fn bytes(&self) -> usize {
        match self.operation {
            Operation::Load(part) | Operation::LoadToLds(part) | Operation::Store(part) => {
                part.bytes
            }
            Operation::Atomic(atomic, _) => atomic.bytes,
        }
    }

    /// Whether the access is a read-modify-write operation.
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn is_atomic(&self) -> bool {
        matches!(self.operation, Operation::Atomic(..))
    }

    /// First register that the access fills, and their number.
    pub(crate) fn result(&self) -> Option<(u16, u16)> {
        match self.operation {
            Operation::Load(part) => Some((self.data, u16::from(Self::registers(part.bytes)))),
            Operation::Atomic(atomic, true) => {
                Some((self.data, u16::from(Self::registers(atomic.bytes))))
            }
            _ => None,
        }
    }

    fn addresses(&self, wave: &Wave) -> std::result::Result<Addresses, String> {
        let bytes = self.bytes();
        let mut found = Addresses {
            address: [0; LANES],
            permitted: [bytes; LANES],
            private: None,
        };
        match self.address {
            Address::Private {
                register,
                scalar,
                offset,
            } => {
                let scalar = scalar.map_or(0, |register| wave.scalar(register));
                found.private = Some(std::array::from_fn(|lane| {
                    let own = register.map_or(0, |register| wave.vector(register)[lane]);
                    let sum = u64::from(scalar.wrapping_add(own)).wrapping_add_signed(offset);
                    u64::from(sum as u32)
                }));
            }
            Address::Lanes { register, offset } => {
                let (low, high) = (wave.vector(register), wave.vector(register + 1));
                for lane in 0..LANES {
                    let base = u64::from(low[lane]) | u64::from(high[lane]) << 32;
                    found.address[lane] = base.wrapping_add_signed(offset);
                }
            }
            Address::Base {
                base,
                register,
                offset,
            } => {
                let (base, offsets) = (wave.scalar64(base), wave.vector(register));
                for (address, own) in found.address.iter_mut().zip(offsets) {
                    *address = base
                        .wrapping_add(u64::from(*own))
                        .wrapping_add_signed(offset);
                }
            }
            Address::Buffer {
                resource,
                register,
                scalar,
                offset,
            } => {
                let words = [0, 1, 2, 3].map(|word| wave.scalar(resource.saturating_add(word)));
                if words[3] & RESOURCE_ADDS_LANE != 0 {
                    // The scalar offset is that of the wavefront: of all its lanes together.
                    let scalar = match scalar {
                        Scalar::Register(register) => wave.scalar(register) / LANES as u32,
                        Scalar::Constant(value) => value,
                    };
                    found.private = Some(std::array::from_fn(|lane| {
                        let own = register.map_or(0, |register| wave.vector(register)[lane]);
                        u64::from(scalar.wrapping_add(own).wrapping_add(offset))
                    }));
                    found.locate_private(wave, bytes);
                    return Ok(found);
                }
                if words[1] >> 16 != 0 {
                    return Err(
                        "a buffer resource with a stride or swizzle is not supported".to_owned(),
                    );
                }
                let base = u64::from(words[0]) | u64::from(words[1]) << 32;
                let scalar = match scalar {
                    Scalar::Register(register) => wave.scalar(register),
                    Scalar::Constant(value) => value,
                };
                let limit = u64::from(words[2]).saturating_sub(u64::from(scalar));
                for lane in 0..LANES {
                    let own = register.map_or(0, |register| wave.vector(register)[lane]);
                    let at = u64::from(own) + u64::from(offset);
                    found.address[lane] = base.wrapping_add(u64::from(scalar)).wrapping_add(at);
                    // The range is checked for each dword.
                    let room = usize::try_from(limit.saturating_sub(at)).unwrap_or(usize::MAX);
                    found.permitted[lane] = if room >= bytes { bytes } else { room & !3 };
                }
            }
        }
        found.locate_private(wave, bytes);
        Ok(found)
    }

    /// Executes the access.
    ///
    /// # Errors
    ///
    /// The buffer resource is of a kind that is not emulated.
    pub(crate) fn execute(
        &self,
        wave: &mut Wave,
        environment: &mut Environment<'_>,
        place: &Place,
    ) -> std::result::Result<(), String> {
        let exec = wave.exec();
        let addresses = self.addresses(wave)?;
        if exec != 0 {
            self.count(&addresses, exec, environment, place);
            if let Some(trace) = &mut environment.trace {
                for lane in lanes(exec).filter(|lane| addresses.permitted[*lane] > 0) {
                    trace.global(lane, addresses.address[lane], addresses.permitted[lane]);
                }
            }
        }
        self.check_alignment(&addresses, exec, wave, environment, place);
        match self.operation {
            Operation::Load(part) => self.load(part, &addresses, exec, wave, environment, place),
            Operation::LoadToLds(part) => {
                self.load_to_lds(part, &addresses, exec, wave, environment, place)
            }
            Operation::Store(part) => self.store(part, &addresses, exec, wave, environment, place),
            Operation::Atomic(atomic, returns) => {
                self.atomic(&atomic, returns, &addresses, exec, wave, environment, place)
            }
        }
        let (first, count) = self.result().unwrap_or((0, 0));
        wave.in_flight.push_back(Filled {
            counter: Counter::Vector,
            line: place.line,
            first,
            count,
        });
        Ok(())
    }

    fn count(
        &self,
        addresses: &Addresses,
        exec: u64,
        environment: &mut Environment<'_>,
        place: &Place,
    ) {
        let (mut segments, mut bytes) = (Distinct::with_capacity(2 * LANES), 0);
        for lane in lanes(exec) {
            let count = addresses.permitted[lane] as u64;
            if count == 0 {
                continue;
            }
            bytes += count;
            if let Some(offsets) = &addresses.private {
                // The same four bytes of all lanes are next to each other.
                let dwords = offsets[lane] / 4..(offsets[lane] + count).div_ceil(4);
                dwords.for_each(|dword| segments.add(4 * dword + lane as u64 / 16));
                continue;
            }
            let (first, last) = (
                addresses.address[lane] / 64,
                addresses.address[lane].wrapping_add(count - 1) / 64,
            );
            segments.add(first);
            segments.add(last);
        }
        let halves = segments.values().len() as u64;
        let lines = segments.values().chunk_by(|a, b| a / 2 == b / 2).count() as u64;
        let access = environment.counts.access(place.step, place.line);
        access.executions += 1;
        access.bytes += bytes;
        access.segments64 += halves;
        access.lines128 += lines;
    }

    fn check_alignment(
        &self,
        addresses: &Addresses,
        exec: u64,
        wave: &Wave,
        environment: &mut Environment<'_>,
        place: &Place,
    ) {
        let unit = self.bytes().min(4) as u64;
        let unit = if unit == 3 { 1 } else { unit };
        let wrong = lanes(exec)
            .filter(|lane| {
                addresses.permitted[*lane] > 0 && !addresses.address[*lane].is_multiple_of(unit)
            })
            .fold(0u64, |mask, lane| mask | 1 << lane);
        if wrong != 0 {
            environment.report(FindingKind::Misaligned, place, wave, wrong, || {
                let address = addresses.address[wrong.trailing_zeros() as usize];
                format!("address {address:#x} is not a multiple of {unit}")
            });
        }
    }

    fn load(
        &self,
        part: Part,
        addresses: &Addresses,
        exec: u64,
        wave: &mut Wave,
        environment: &mut Environment<'_>,
        place: &Place,
    ) {
        let (mut outside, mut unwritten) = (0u64, 0u64);
        for lane in lanes(exec) {
            let (bytes, read) = read_lane(environment, addresses, lane, part.bytes);
            outside |= u64::from(read == Read::OutOfBounds) << lane;
            unwritten |= u64::from(read == Read::Uninitialized) << lane;
            if part.bytes >= 4 {
                for (register, word) in (self.data..).zip(bytes[..part.bytes].chunks_exact(4)) {
                    wave.set_lane(
                        register,
                        lane,
                        u32::from_le_bytes([word[0], word[1], word[2], word[3]]),
                    );
                }
            } else {
                let value = extend(part, u16::from_le_bytes([bytes[0], bytes[1]]));
                let old = wave.vector(self.data)[lane];
                wave.set_lane(self.data, lane, place_half(part.half, old, value));
            }
        }
        report(
            environment,
            wave,
            place,
            addresses,
            outside,
            unwritten,
            "loads",
            part.bytes,
        );
    }

    fn load_to_lds(
        &self,
        part: Part,
        addresses: &Addresses,
        exec: u64,
        wave: &Wave,
        environment: &mut Environment<'_>,
        place: &Place,
    ) {
        let (mut outside, mut unwritten) = (0u64, 0u64);
        let (mut outside_lds, mut race) = (0u64, 0u64);
        let offset = match self.address {
            Address::Buffer { offset, .. } => offset,
            _ => 0,
        };
        let start = wave.scalar(M0).wrapping_add(offset);
        for lane in lanes(exec) {
            let (bytes, read) = read_lane(environment, addresses, lane, part.bytes);
            outside |= u64::from(read == Read::OutOfBounds) << lane;
            unwritten |= u64::from(read == Read::Uninitialized) << lane;
            let to = start.wrapping_add((lane * part.bytes) as u32);
            let seen = environment.lds.write(to, &bytes[..part.bytes], wave.number);
            outside_lds |= u64::from(seen.out_of_bounds) << lane;
            race |= u64::from(seen.race_with.is_some()) << lane;
        }
        for (kind, lanes) in [
            (FindingKind::OutOfBounds, outside_lds),
            (FindingKind::LdsRace, race),
        ] {
            if lanes != 0 {
                environment.report(kind, place, wave, lanes, || {
                    format!(
                        "{} bytes of each lane are stored to LDS from byte {start} on, {}",
                        part.bytes,
                        if kind == FindingKind::LdsRace {
                            "which another wavefront accesses without a barrier between them"
                        } else {
                            "which is past its end"
                        }
                    )
                });
            }
        }
        report(
            environment,
            wave,
            place,
            addresses,
            outside,
            unwritten,
            "loads",
            part.bytes,
        );
    }

    fn store(
        &self,
        part: Part,
        addresses: &Addresses,
        exec: u64,
        wave: &Wave,
        environment: &mut Environment<'_>,
        place: &Place,
    ) {
        let mut outside = 0u64;
        for lane in lanes(exec) {
            let mut bytes = [0; 16];
            for (register, word) in
                (self.data..).zip(bytes[..part.bytes.next_multiple_of(4)].chunks_exact_mut(4))
            {
                word.copy_from_slice(&wave.vector(register)[lane].to_le_bytes());
            }
            if part.half == Some(true) {
                bytes.copy_within(2..4, 0);
            }
            let permitted = addresses.permitted[lane].min(part.bytes);
            if permitted > 0
                && !environment.store(
                    addresses.address[lane],
                    &bytes[..permitted],
                    place,
                    wave,
                    lane,
                )
            {
                outside |= 1 << lane;
            }
        }
        report(
            environment,
            wave,
            place,
            addresses,
            outside,
            0,
            "stores",
            part.bytes,
        );
    }

    #[allow(clippy::too_many_arguments, reason = "as the other operations")]
    fn atomic(
        &self,
        atomic: &Atomic,
        returns: bool,
        addresses: &Addresses,
        exec: u64,
        wave: &mut Wave,
        environment: &mut Environment<'_>,
        place: &Place,
    ) {
        let (mut outside, mut unwritten) = (0u64, 0u64);
        let width = u16::from(Self::registers(atomic.bytes));
        for lane in lanes(exec) {
            if addresses.permitted[lane] < atomic.bytes {
                continue;
            }
            let value = |first: u16| {
                let high = if width == 2 {
                    wave.vector(first + 1)[lane]
                } else {
                    0
                };
                u64::from(wave.vector(first)[lane]) | u64::from(high) << 32
            };
            let (data, expected) = (
                value(self.operand),
                if atomic.compares {
                    value(self.operand + width)
                } else {
                    0
                },
            );
            let mut bytes = [0; 8];
            let address = addresses.address[lane];
            match environment.memory.read(address, &mut bytes[..atomic.bytes]) {
                Read::Written => {}
                Read::Uninitialized => unwritten |= 1 << lane,
                Read::OutOfBounds => outside |= 1 << lane,
            }
            let old = u64::from_le_bytes(bytes);
            let new = atomic.apply(old, data, expected).to_le_bytes();
            environment.store(address, &new[..atomic.bytes], place, wave, lane);
            if returns {
                wave.set_lane(self.data, lane, old as u32);
                if width == 2 {
                    wave.set_lane(self.data + 1, lane, (old >> 32) as u32);
                }
            }
        }
        report(
            environment,
            wave,
            place,
            addresses,
            outside,
            unwritten,
            "updates",
            atomic.bytes,
        );
    }
}

fn extend(part: Part, bits: u16) -> u32 {
    match (part.bytes, part.sign_extended) {
        (1, true) => i32::from(bits as u8 as i8) as u32,
        (1, false) => u32::from(bits as u8),
        (_, true) => i32::from(bits as i16) as u32,
        (_, false) => u32::from(bits),
    }
}

/// Replaces a half of a register, or all of it.
pub(super) fn place_half(half: Option<bool>, old: u32, value: u32) -> u32 {
    match half {
        None => value,
        Some(false) => old & 0xffff_0000 | value & 0xffff,
        Some(true) => old & 0xffff | value << 16,
    }
}

/// The permitted bytes of a lane's access, at most `size`, and the result of reading them. Bytes that are not permitted are 0.
fn read_lane(
    environment: &mut Environment<'_>,
    addresses: &Addresses,
    lane: usize,
    size: usize,
) -> ([u8; 16], Read) {
    let mut bytes = [0; 16];
    let permitted = addresses.permitted[lane].min(size);
    let read = match permitted {
        0 => Read::Written,
        _ => environment
            .memory
            .read(addresses.address[lane], &mut bytes[..permitted]),
    };
    (bytes, read)
}

#[allow(clippy::too_many_arguments, reason = "the parts of two messages")]
fn report(
    environment: &mut Environment<'_>,
    wave: &Wave,
    place: &Place,
    addresses: &Addresses,
    outside: u64,
    unwritten: u64,
    verb: &str,
    bytes: usize,
) {
    for (kind, lanes) in [
        (FindingKind::OutOfBounds, outside),
        (FindingKind::Uninitialized, unwritten),
    ] {
        if lanes == 0 {
            continue;
        }
        let lane = lanes.trailing_zeros() as usize;
        let location = environment.memory.describe(addresses.address[lane]);
        environment.report(kind, place, wave, lanes, || match kind {
            FindingKind::OutOfBounds => format!("lane {lane} {verb} {bytes} bytes {location}"),
            _ => format!("lane {lane} {verb} {bytes} bytes that were never written, {location}"),
        });
    }
}
