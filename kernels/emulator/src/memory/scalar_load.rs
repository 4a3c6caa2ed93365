//! Scalar loads: `s_load_dword` to `s_load_dwordx16`.

use super::buffers::Read;
use super::{Environment, Place};
use crate::FindingKind;
use crate::error::Result;
use crate::listing::operand::{self, Operand};
use crate::listing::text::{Text, integer};
use crate::machine::wave::{Counter, Filled, Wave};
use crate::scalar;

/// A decoded scalar load.
#[derive(Clone)]
pub(crate) struct Instruction {
    result: u8,
    count: u8,
    base: u8,
    register: Option<u8>,
    offset: i64,
}

/// Decodes an instruction. `None` if the mnemonic is not a scalar load.
pub(crate) fn decode(text: &mut Text) -> Result<Option<Instruction>> {
    let count = match text.mnemonic.as_str() {
        "s_load_dword" => 1,
        "s_load_dwordx2" => 2,
        "s_load_dwordx4" => 4,
        "s_load_dwordx8" => 8,
        "s_load_dwordx16" => 16,
        _ => return Ok(None),
    };
    text.take_flag("glc");
    let mut offset = text.take_integer("offset")?.unwrap_or(0);
    text.expect_operands(3)?;
    text.expect_no_modifiers()?;
    let (result, base) = (
        scalar::register(text, 0, count)?,
        scalar::register(text, 1, 2)?,
    );
    let word = text.operand(2)?;
    let register = match (operand::operand(word), integer(word)) {
        (_, Some(number)) => {
            offset = offset.saturating_add(number);
            None
        }
        (Some(Operand::Scalar(register, 1)), _) => Some(register),
        _ => return Err(text.error(format!("the offset {word} is not supported"))),
    };
    Ok(Some(Instruction {
        result,
        count,
        base,
        register,
        offset,
    }))
}

impl Instruction {
    pub(crate) fn execute(
        &self,
        wave: &mut Wave,
        environment: &mut Environment<'_>,
        place: &Place,
    ) {
        let register = self
            .register
            .map_or(0, |register| u64::from(wave.scalar(register)));
        let address = wave
            .scalar64(self.base)
            .wrapping_add(register)
            .wrapping_add_signed(self.offset);
        // The two lowest bits are ignored.
        let address = address & !3;
        let mut bytes = [0; 64];
        let bytes = &mut bytes[..usize::from(self.count) * 4];
        let read = environment.memory.read(address, bytes);
        if read == Read::OutOfBounds {
            let location = environment.memory.describe(address);
            let length = bytes.len();
            environment.report(FindingKind::OutOfBounds, place, wave, 0, || {
                format!("loads {length} bytes {location}")
            });
        } else if read == Read::Uninitialized {
            let location = environment.memory.describe(address);
            environment.report(FindingKind::Uninitialized, place, wave, 0, || {
                format!("loads bytes that were never written, {location}")
            });
        }
        for (register, word) in (self.result..).zip(bytes.chunks_exact(4)) {
            wave.set_scalar(
                register,
                u32::from_le_bytes([word[0], word[1], word[2], word[3]]),
            );
        }
        let access = environment.counts.access(place.step, place.line);
        access.executions += 1;
        access.bytes += bytes.len() as u64;
        // From the position in the first block: the last address can be past 2⁶⁴.
        let blocks = |size: u64| (address % size + bytes.len() as u64).div_ceil(size);
        access.segments64 += blocks(64);
        access.lines128 += blocks(128);
        let (first, count) = (u16::from(self.result), u16::from(self.count));
        wave.in_flight.push_back(Filled {
            counter: Counter::Scalar,
            line: place.line,
            first,
            count,
        });
    }
}
