//! A kernel with every instruction decoded.

use std::collections::BTreeSet;

use super::wave::Wave;
use crate::arch::Arch;
use crate::count::Class;
use crate::error::{Error, Result};
use crate::listing::data::{Data, addend};
use crate::listing::operand::{self, Operand};
use crate::listing::text::{Text, integer};
use crate::listing::{Kernel, Listing, SourceLine, relocation};
use crate::memory::buffers::DATA;
use crate::memory::{lds_access, scalar_load, vector_access};
use crate::{mfma, scalar, vector};

/// A kernel that can be run.
pub struct Program {
    pub(crate) kernel: Kernel,
    pub(crate) arch: Arch,
    pub(crate) steps: Vec<Step>,
    /// Vector registers that the code names, accumulation registers included.
    pub(crate) registers: usize,
    /// Constants and variables, if the code uses them. They start at [`DATA`].
    pub(crate) data: Vec<u8>,
}

/// A decoded instruction.
pub(crate) struct Step {
    pub(crate) line: u32,
    pub(crate) source: Option<SourceLine>,
    pub(crate) class: Class,
    pub(crate) instruction: Instruction,
    /// Vector registers that are read or written, except the result of a load: first and number.
    pub(crate) vectors: Vec<(u16, u16)>,
    /// The same for scalar registers.
    pub(crate) scalars: Vec<(u16, u16)>,
}

pub(crate) enum Instruction {
    Scalar(scalar::Instruction),
    Vector(Box<vector::Instruction>),
    Matrix(Box<mfma::Instruction>),
    ScalarLoad(scalar_load::Instruction),
    Memory(Box<vector_access::Instruction>),
    Lds(lds_access::Instruction),
    Branch(Branch, usize),
    Jump(Jump),
    /// Largest numbers of accesses in flight after `s_waitcnt`: `vmcnt` and `lgkmcnt`.
    Wait(u32, u32),
    SetMode(ModeField, ModeValue),
    Barrier,
    /// Ends the kernel with an error: an assertion of the source failed.
    Trap,
    End,
    Nothing,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Branch {
    Always,
    Scc(bool),
    Vccz(bool),
    Execz(bool),
}

/// A jump to an address in scalar registers: a call, or a return.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Jump {
    /// First register of the address.
    pub(crate) target: u8,
    /// First register of the return address, for a call.
    pub(crate) link: Option<u8>,
}

/// A field of the mode register: bit offset and width.
#[derive(Clone, Copy)]
pub(crate) struct ModeField {
    pub(crate) offset: u32,
    pub(crate) width: u32,
}

#[derive(Clone, Copy)]
pub(crate) enum ModeValue {
    Constant(u32),
    Register(u8),
}

/// Most instructions of a kernel.
const LONGEST: usize = 1 << 20;

impl Program {
    /// Decodes a kernel of a listing.
    ///
    /// # Errors
    ///
    /// An instruction, operand or modifier is not supported; the error names it and its line.
    pub fn new(listing: &Listing, name: Option<&str>) -> std::result::Result<Self, Error> {
        let kernel = listing.kernel(name)?.clone();
        if let Some(past) = kernel.code.get(LONGEST) {
            return Err(Error::new(
                past.line,
                format!("the kernel has more than {LONGEST} instructions"),
            ));
        }
        let mut registers = 1;
        let mut steps = Vec::with_capacity(kernel.code.len());
        let mut linker = Linker {
            data: &listing.data,
            kernel: &kernel,
            pointers: Vec::new(),
            uses_data: false,
        };
        for text in &kernel.code {
            let resolved = linker.resolved(text)?;
            let text = resolved.as_ref().unwrap_or(text);
            let step = step(text, &kernel, listing.arch)?;
            let used = step
                .vectors
                .iter()
                .copied()
                .chain(step.instruction.result());
            registers = used
                .map(|(first, count)| usize::from(first + count))
                .fold(registers, usize::max);
            steps.push(step);
        }
        let data = linker.contents()?;
        Ok(Self {
            kernel,
            arch: listing.arch,
            steps,
            registers,
            data,
        })
    }

    /// The kernel.
    #[must_use]
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// The architecture.
    #[must_use]
    pub fn arch(&self) -> Arch {
        self.arch
    }

    /// Line of the source for a line of the listing, if the listing has it. That of the kernel's label is the line of its
    /// first instruction.
    #[must_use]
    pub fn source(&self, line: u32) -> Option<&SourceLine> {
        if line == self.kernel.line {
            return self.steps.get(self.kernel.entry)?.source.as_ref();
        }
        let at = self
            .steps
            .binary_search_by_key(&line, |step| step.line)
            .ok()?;
        self.steps.get(at)?.source.as_ref()
    }

    /// Whether the code has atomic instructions on global memory. Their order decides results.
    #[cfg(not(target_arch = "wasm32"))]
    pub(super) fn updates_memory(&self) -> bool {
        self.steps.iter().any(
            |step| matches!(&step.instruction, Instruction::Memory(access) if access.is_atomic()),
        )
    }

    /// The mnemonics in the code, without encoding suffixes.
    #[must_use]
    pub fn mnemonics(&self) -> BTreeSet<&str> {
        self.kernel
            .code
            .iter()
            .map(|text| text.mnemonic.as_str())
            .collect()
    }
}

impl Instruction {
    /// The vector registers that a load fills.
    fn result(&self) -> Option<(u16, u16)> {
        match self {
            Self::Memory(access) => access.result(),
            Self::Lds(access) => access.result(),
            _ => None,
        }
    }
}

/// Whether an instruction, named by its mnemonic without encoding suffix, is executed on an architecture. Some of its
/// operands or modifiers may not be supported.
#[must_use]
pub fn supports(arch: Arch, mnemonic: &str) -> bool {
    if matches!(mnemonic, "s_getpc_b64" | "s_trap") {
        return true;
    }
    let kernel = Kernel::default();
    let mut text = Text::parse(mnemonic, 0, None);
    // Names are looked up before operands, which are missing here.
    match decode(&mut text, &kernel, arch) {
        Ok(_) => true,
        Err(error) => error.message != unsupported(mnemonic, arch),
    }
}

fn unsupported(mnemonic: &str, arch: Arch) -> String {
    format!(
        "the instruction {mnemonic} is not supported on {}",
        arch.name()
    )
}

/// Bytes between the addresses of two instructions.
const INSTRUCTION: u64 = 4;

/// Address of the first instruction. No buffer is there, so code cannot be read.
const CODE: u64 = DATA + (1 << 35);

/// The address of an instruction.
pub(crate) fn address_of(position: usize) -> u64 {
    CODE + INSTRUCTION * position as u64
}

/// The position of the instruction at an address.
pub(crate) fn position_of(address: u64) -> Option<usize> {
    let distance = address.checked_sub(CODE)?;
    (distance.is_multiple_of(INSTRUCTION))
        .then(|| usize::try_from(distance / INSTRUCTION).ok())
        .flatten()
}

/// Replaces symbols by their addresses.
struct Linker<'a> {
    data: &'a Data,
    kernel: &'a Kernel,
    /// Symbols whose addresses the code loads from the global offset table, which follows the data.
    pointers: Vec<String>,
    uses_data: bool,
}

impl Linker<'_> {
    /// An instruction that computes an address, with that address as a constant. `None` for any other.
    ///
    /// Compilers add the distance to a symbol, `SYMBOL@rel32@lo+4` and `SYMBOL@rel32@hi+12`, or to its entry in the
    /// global offset table, to the program counter. Here the program counter is 0, so the distance is the address.
    fn resolved(&mut self, text: &Text) -> Result<Option<Text>> {
        if text.mnemonic == "s_getpc_b64" {
            let mut text = text.clone();
            text.mnemonic = "s_mov_b64".to_owned();
            text.operands.push("0".to_owned());
            return Ok(Some(text));
        }
        for (place, word) in text.operands.iter().enumerate() {
            let value = if let Some((symbol, rest)) = relocation(word) {
                self.relocated(text, word, symbol, rest)?
            } else if let Some(value) = self.distance(word) {
                value
            } else {
                continue;
            };
            let mut text = text.clone();
            text.operands[place] = format!("{value:#x}");
            return Ok(Some(text));
        }
        Ok(None)
    }

    fn relocated(&mut self, text: &Text, word: &str, symbol: &str, rest: &str) -> Result<u32> {
        let (half, addend) = addend(rest);
        let (shift, distance) = match half {
            "lo" => (0, 4),
            "hi" => (32, 12),
            _ => return Err(text.error(format!("{word} is not supported"))),
        };
        let target = self.address(symbol).ok_or_else(|| {
            text.error(format!(
                "{symbol} is not a function or data of this listing"
            ))
        })?;
        let base = if word.contains("@gotpcrel32@") {
            self.pointer(symbol)
        } else {
            target
        };
        let addend = addend.ok_or_else(|| text.error(format!("{word} is not supported")))?;
        let address = base.wrapping_add_signed(addend.wrapping_sub(distance));
        Ok((address >> shift) as u32)
    }

    /// The address of data or of a function.
    fn address(&mut self, symbol: &str) -> Option<u64> {
        if let Some(at) = self.data.symbols.get(symbol) {
            self.uses_data = true;
            return Some(DATA + u64::from(*at));
        }
        self.kernel.labels.get(symbol).copied().map(address_of)
    }

    /// The address of the entry of a symbol in the global offset table.
    fn pointer(&mut self, symbol: &str) -> u64 {
        self.uses_data = true;
        let known = self.pointers.iter().position(|known| known == symbol);
        let entry = known.unwrap_or(self.pointers.len());
        if known.is_none() {
            self.pointers.push(symbol.to_owned());
        }
        DATA + (self.data.bytes.len().next_multiple_of(8) + 8 * entry) as u64
    }

    /// Half of the distance of a far branch: `(.LBB0_5-.Lpost_getpc0)&4294967295` or `(…)>>32`.
    fn distance(&self, word: &str) -> Option<u32> {
        let (labels, half) = word.strip_prefix('(')?.split_once(')')?;
        let (target, start) = labels.split_once('-')?;
        if !start.starts_with(".Lpost_getpc") {
            return None;
        }
        let address = address_of(*self.kernel.labels.get(target)?);
        match half {
            "&4294967295" => Some(address as u32),
            ">>32" => Some((address >> 32) as u32),
            _ => None,
        }
    }

    /// The bytes of the data, with the addresses in it, and the global offset table.
    fn contents(mut self) -> Result<Vec<u8>> {
        if !self.uses_data {
            return Ok(Vec::new());
        }
        let data = self.data;
        if let Some((line, directive)) = &data.unsupported {
            let message = format!("the data {directive} is not supported");
            return Err(Error::new(*line, message));
        }
        let mut bytes = data.bytes.clone();
        for (at, symbol, addend, line) in &data.addresses {
            let found = self.address(symbol).ok_or_else(|| {
                let message = format!(
                    "the data contains the address of {symbol}, which is not a function or data of this listing"
                );
                Error::new(*line, message)
            })?;
            let address = found.wrapping_add_signed(*addend);
            if let Some(slot) = bytes.get_mut(*at as usize..*at as usize + 8) {
                slot.copy_from_slice(&address.to_le_bytes());
            }
        }
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        for symbol in std::mem::take(&mut self.pointers) {
            let address = self.address(&symbol).unwrap_or(0);
            bytes.extend(address.to_le_bytes());
        }
        Ok(bytes)
    }
}

fn step(text: &Text, kernel: &Kernel, arch: Arch) -> Result<Step> {
    let mut rest = text.clone();
    let (instruction, class) = decode(&mut rest, kernel, arch)?;
    let (mut vectors, mut scalars) = (Vec::new(), Vec::new());
    // The first operand of a load is its result. Loads of one kind complete in order, so it may be filled again.
    let skipped = usize::from(
        instruction.result().is_some() || matches!(instruction, Instruction::ScalarLoad(_)),
    );
    for word in text.operands.iter().skip(skipped) {
        match operand::modified(word).map(|modified| modified.operand) {
            Some(Operand::Vector(first, count)) => vectors.push((first, u16::from(count))),
            Some(Operand::Scalar(first, count)) => {
                scalars.push((u16::from(first), u16::from(count)))
            }
            _ => {}
        }
    }
    Ok(Step {
        line: text.line,
        source: text.source.clone(),
        class,
        instruction,
        vectors,
        scalars,
    })
}

fn decode(text: &mut Text, kernel: &Kernel, arch: Arch) -> Result<(Instruction, Class)> {
    if let Some(control) = control(text, kernel)? {
        let class = if matches!(control, Instruction::Branch(..) | Instruction::Jump(_)) {
            Class::Branch
        } else {
            Class::Control
        };
        return Ok((control, class));
    }
    if text.mnemonic.starts_with("s_") {
        if let Some(found) = scalar::decode(text)? {
            return Ok((Instruction::Scalar(found), Class::Scalar));
        }
        if let Some(found) = scalar_load::decode(text)? {
            return Ok((Instruction::ScalarLoad(found), Class::ScalarMemory));
        }
    } else if text.mnemonic.starts_with("v_") {
        if let Some(found) = mfma::decode(text, arch)? {
            return Ok((Instruction::Matrix(Box::new(found)), Class::Matrix));
        }
        if let Some(found) = vector::decode(text)? {
            return Ok((Instruction::Vector(Box::new(found)), Class::Vector));
        }
    } else if let Some(found) = lds_access::decode(text, arch)? {
        return Ok((Instruction::Lds(found), Class::Lds));
    } else if let Some(found) = vector_access::decode(text)? {
        return Ok((Instruction::Memory(Box::new(found)), Class::VectorMemory));
    }
    Err(Error::new(text.line, unsupported(&text.mnemonic, arch)))
}

fn control(text: &Text, kernel: &Kernel) -> Result<Option<Instruction>> {
    let branch = |branch| {
        let label = text.operand(0)?;
        text.expect_operands(1)?;
        let target = kernel.labels.get(label).copied();
        target
            .map(|target| Some(Instruction::Branch(branch, target)))
            .ok_or_else(|| text.error(format!("there is no label {label}")))
    };
    match text.mnemonic.as_str() {
        "s_branch" => branch(Branch::Always),
        "s_cbranch_scc0" => branch(Branch::Scc(false)),
        "s_cbranch_scc1" => branch(Branch::Scc(true)),
        "s_cbranch_vccz" => branch(Branch::Vccz(true)),
        "s_cbranch_vccnz" => branch(Branch::Vccz(false)),
        "s_cbranch_execz" => branch(Branch::Execz(true)),
        "s_cbranch_execnz" => branch(Branch::Execz(false)),
        "s_setpc_b64" => {
            text.expect_operands(1)?;
            let target = scalar::register(text, 0, 2)?;
            Ok(Some(Instruction::Jump(Jump { target, link: None })))
        }
        "s_swappc_b64" => {
            text.expect_operands(2)?;
            let target = scalar::register(text, 1, 2)?;
            let link = Some(scalar::register(text, 0, 2)?);
            Ok(Some(Instruction::Jump(Jump { target, link })))
        }
        "s_endpgm" => Ok(Some(Instruction::End)),
        "s_trap" if text.operands == ["2"] => Ok(Some(Instruction::Trap)),
        "s_barrier" => Ok(Some(Instruction::Barrier)),
        "s_waitcnt" => wait(text).map(Some),
        "s_setreg_imm32_b32" | "s_setreg_b32" => set_mode(text).map(Some),
        // Without effect on results: scheduling, and caches, which are not emulated.
        "s_nop" | "s_sleep" | "s_setprio" | "s_sethalt" | "s_dcache_wb" | "s_dcache_inv"
        | "s_icache_inv" | "v_nop" | "buffer_wbl2" | "buffer_inv" | "buffer_wbinvl1"
        | "buffer_wbinvl1_vol" | "buffer_invl2" => Ok(Some(Instruction::Nothing)),
        _ => Ok(None),
    }
}

fn wait(text: &Text) -> Result<Instruction> {
    let (mut vector, mut others) = (u32::MAX, u32::MAX);
    for word in text.operands.iter().chain(&text.modifiers) {
        if word == "&" {
            continue;
        }
        if let Some(bits) = integer(word).and_then(|bits| u32::try_from(bits).ok()) {
            vector = bits & 15 | bits >> 10 & 0x30;
            others = bits >> 8 & 15;
            // The largest values mean that the counter is not waited for.
            continue;
        }
        let count = word
            .split_once('(')
            .and_then(|(name, rest)| Some((name, rest.strip_suffix(')')?.parse::<u32>().ok()?)));
        match count {
            Some(("vmcnt", count)) => vector = count,
            Some(("lgkmcnt", count)) => others = count,
            Some(("expcnt", _)) => {}
            _ => return Err(text.error(format!("{word} is not supported"))),
        }
    }
    Ok(Instruction::Wait(vector, others))
}

/// `s_setreg_imm32_b32 hwreg(HW_REG_MODE, 23, 1), 1`. Denormals and saturation can change; rounding cannot.
fn set_mode(text: &Text) -> Result<Instruction> {
    let word = text.operand(0)?;
    let inside = word
        .strip_prefix("hwreg(")
        .and_then(|rest| rest.strip_suffix(')'));
    let parts: Vec<&str> = inside
        .unwrap_or_default()
        .split(',')
        .map(str::trim)
        .collect();
    let number = |at: usize| parts.get(at).and_then(|part| part.parse::<u32>().ok());
    let (Some(&"HW_REG_MODE"), Some(offset), Some(width)) = (parts.first(), number(1), number(2))
    else {
        return Err(text.error(format!(
            "{word} is not supported; fields of HW_REG_MODE are"
        )));
    };
    let supported =
        (4..8).contains(&offset) && offset.saturating_add(width) <= 8 || offset == 23 && width == 1;
    if !supported || width == 0 {
        return Err(text.error(format!(
            "bits {offset} to {} of the mode are not supported",
            offset.saturating_add(width).saturating_sub(1)
        )));
    }
    let value = match operand::operand(text.operand(1)?) {
        Some(Operand::Integer(value)) => ModeValue::Constant(value as u32),
        Some(Operand::Scalar(register, 1)) => ModeValue::Register(register),
        _ => return Err(text.error("the value must be a constant or a scalar register")),
    };
    Ok(Instruction::SetMode(ModeField { offset, width }, value))
}

impl Branch {
    pub(crate) fn is_taken(self, wave: &Wave) -> bool {
        match self {
            Self::Always => true,
            Self::Scc(value) => wave.scc == value,
            Self::Vccz(value) => (wave.scalar64(operand::VCC) == 0) == value,
            Self::Execz(value) => (wave.exec() == 0) == value,
        }
    }
}
