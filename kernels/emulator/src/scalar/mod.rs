//! Scalar instructions: one operation for the whole wavefront. The table maps a mnemonic to a function of 64-bit values.

mod table;

use crate::error::Result;
use crate::listing::operand::{self, EXEC, Operand};
use crate::listing::text::{Text, integer};
use crate::machine::wave::Wave;
use crate::vector::Type;

/// What SCC becomes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Condition {
    /// Unchanged.
    Keep,
    /// Whether the result is not zero.
    NotZero,
    /// The flag that the function returns.
    Flag,
}

/// Operands of a scalar instruction: the sources, SCC, and the previous result.
#[derive(Clone, Copy)]
pub(crate) struct Inputs {
    pub(crate) a: u64,
    pub(crate) b: u64,
    pub(crate) scc: bool,
    pub(crate) old: u64,
}

/// An entry of the table.
#[derive(Clone, Copy)]
pub(crate) struct Entry {
    /// Type of the result; `None` for comparisons.
    pub(crate) result: Option<Type>,
    pub(crate) sources: &'static [Type],
    pub(crate) condition: Condition,
    pub(crate) function: fn(Inputs) -> (u64, bool),
}

#[derive(Clone, Copy)]
enum Source {
    Register(u8),
    Constant(u64),
}

/// A decoded scalar instruction.
#[derive(Clone)]
pub(crate) struct Instruction {
    entry: Entry,
    result: u8,
    sources: [Source; 2],
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Plain,
    /// `s_and_saveexec_b64` and its kin: the old EXEC is the result, the function's value the new EXEC.
    SaveExec,
}

/// Decodes an instruction. `None` if the mnemonic is not scalar arithmetic.
pub(crate) fn decode(text: &Text) -> Result<Option<Instruction>> {
    let name = text.mnemonic.as_str();
    let (lookup, kind) = match name.strip_suffix("_saveexec_b64") {
        Some("s_andn1") => return Ok(None),
        Some(operation) => (format!("{operation}_b64"), Kind::SaveExec),
        None => (name.to_owned(), Kind::Plain),
    };
    let Some(entry) = table::find(&lookup) else {
        return Ok(None);
    };
    let mut found = Instruction {
        entry,
        result: 0,
        sources: [Source::Constant(0); 2],
        kind,
    };
    let mut at = 0;
    if let Some(result) = entry.result {
        found.result = register(text, at, result.registers())?;
        at += 1;
    }
    let immediate = name.starts_with("s_movk")
        || name.starts_with("s_addk")
        || name.starts_with("s_mulk")
        || name.starts_with("s_cmovk")
        || name.starts_with("s_cmpk");
    let sources = if kind == Kind::SaveExec {
        1
    } else {
        entry.sources.len()
    };
    for (place, source) in entry.sources.iter().enumerate().take(sources) {
        found.sources[place] = self::source(text, at, *source)?;
        if immediate && at + 1 == entry.sources.len() + usize::from(entry.result.is_some()) {
            found.sources[place] = Source::Constant(short(text, at)?);
        }
        at += 1;
    }
    text.expect_operands(at)?;
    text.expect_no_modifiers()?;
    Ok(Some(found))
}

/// A 16-bit immediate, sign-extended, or zero-extended for unsigned comparisons.
fn short(text: &Text, at: usize) -> Result<u64> {
    let word = text.operand(at)?;
    let value = integer(word).filter(|value| (-32768..=65535).contains(value));
    let value = value.ok_or_else(|| text.error(format!("{word} is not a 16-bit integer")))?;
    let unsigned = text.mnemonic.ends_with("_u32");
    Ok(if unsigned {
        u64::from(value as u16)
    } else {
        u64::from(i32::from(value as i16) as u32)
    })
}

pub(crate) fn register(text: &Text, at: usize, count: u8) -> Result<u8> {
    match operand::operand(text.operand(at)?) {
        Some(Operand::Scalar(first, found)) if found == count && first < 128 => Ok(first),
        _ => Err(text.error(format!(
            "operand {} must be {count} scalar registers",
            at + 1
        ))),
    }
}

fn source(text: &Text, at: usize, kind: Type) -> Result<Source> {
    let word = text.operand(at)?;
    let wrong = || text.error(format!("the operand {word} is not supported"));
    match operand::operand(word).ok_or_else(wrong)? {
        Operand::Scalar(first, count) if count == kind.registers() => Ok(Source::Register(first)),
        Operand::Integer(value) => crate::vector::constant(value, kind)
            .map(Source::Constant)
            .ok_or_else(wrong),
        Operand::Float(value) => Ok(Source::Constant(crate::vector::float_constant(value, kind))),
        _ => Err(wrong()),
    }
}

impl Instruction {
    /// Executes the instruction.
    pub(crate) fn execute(&self, wave: &mut Wave) {
        let read = |place: usize| match (self.sources[place], self.entry.sources.get(place)) {
            (Source::Constant(bits), _) => bits,
            (Source::Register(register), Some(kind)) if kind.registers() == 2 => {
                wave.scalar64(register)
            }
            (Source::Register(register), _) => u64::from(wave.scalar(register)),
        };
        let wide = self.entry.result.is_some_and(|kind| kind.registers() == 2);
        let old = if wide {
            wave.scalar64(self.result)
        } else {
            u64::from(wave.scalar(self.result))
        };
        if self.kind == Kind::SaveExec {
            let exec = wave.exec();
            let (value, _) = (self.entry.function)(Inputs {
                a: read(0),
                b: exec,
                scc: wave.scc,
                old,
            });
            wave.set_scalar64(self.result, exec);
            wave.set_scalar64(EXEC, value);
            wave.scc = value != 0;
            return;
        }
        let (value, flag) = (self.entry.function)(Inputs {
            a: read(0),
            b: read(1),
            scc: wave.scc,
            old,
        });
        match self.entry.result {
            Some(_) if wide => wave.set_scalar64(self.result, value),
            Some(_) => wave.set_scalar(self.result, value as u32),
            None => {}
        }
        let value = if wide { value } else { u64::from(value as u32) };
        match self.entry.condition {
            Condition::Keep => {}
            Condition::NotZero => wave.scc = value != 0,
            Condition::Flag => wave.scc = flag,
        }
    }
}
