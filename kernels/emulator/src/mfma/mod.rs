//! Matrix products of a wavefront (`v_mfma_*`), with scales (`v_mfma_scale_*`), and with a sparse factor (`v_smfmac_*`).
//!
//! Products are exact, and each element is summed in `f64` and rounded once (integers wrap). The hardware rounds partial
//! sums in an order that AMD does not document, so results agree within rounding, not bit for bit.

mod format;
mod name;
mod shape;

use crate::arch::Arch;
use crate::error::Result;
use crate::listing::operand::{self, ACCUMULATION, Operand};
use crate::listing::text::Text;
use crate::machine::wave::Wave;
use crate::number;
use crate::vector::LANES;
use format::Format;
use name::{Formats, Kind, Name};
use shape::Shape;

/// A decoded matrix product.
#[derive(Clone)]
pub(crate) struct Instruction {
    shape: Shape,
    left: Factor,
    right: Factor,
    /// Positions of the elements of a sparse left factor.
    index: Option<Index>,
    result: u16,
    /// First register of the sum, or a constant.
    sum: std::result::Result<u16, f64>,
    pub(crate) cycles: u64,
}

#[derive(Clone, Copy)]
struct Factor {
    format: Format,
    first: u16,
    layout: Layout,
    scale: Option<Scale>,
}

/// Which lane and element holds a number.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Layout {
    Plain,
    /// Of the formats of `f8f6f4`.
    Selected,
}

/// Scales of a factor: a byte of a register, for 32 consecutive elements of each row.
#[derive(Clone, Copy)]
struct Scale {
    register: u16,
    byte: u32,
}

/// Elements that share a scale.
const SCALED: usize = 32;

/// Two bits for each stored element: its position among four.
#[derive(Clone, Copy)]
struct Index {
    register: u16,
    /// First bit of the set in use.
    first: usize,
}

/// Decodes an instruction. `None` if the mnemonic is not a matrix product that `arch` has.
pub(crate) fn decode(text: &mut Text, arch: Arch) -> Result<Option<Instruction>> {
    let mnemonic = text.mnemonic.strip_suffix("_e64").unwrap_or(&text.mnemonic);
    let Some(name) = name::parse(mnemonic) else {
        return Ok(None);
    };
    let (left, right) = match name.formats {
        Formats::Fixed(left, right) => (left, right),
        // Any formats, to find out whether the architecture has the product.
        Formats::Selected => (Format::Fp8, Format::Fp8),
    };
    if name.cycles(arch, left, right).is_none() {
        return Ok(None);
    }
    let modifiers = Modifiers::take(text)?;
    text.expect_no_modifiers()?;
    if name.kind != Kind::Scaled {
        modifiers.expect_no_scales(text)?;
    }
    let (left, right) = match name.formats {
        Formats::Fixed(left, right) => (left, right),
        Formats::Selected => modifiers.formats(text)?,
    };
    let Some(cycles) = name.cycles(arch, left, right) else {
        return Ok(None);
    };
    let decoded = match name.kind {
        Kind::Sparse => sparse(text, name, left, right, &modifiers, cycles)?,
        Kind::Dense | Kind::Scaled => dense(text, name, left, right, &modifiers, cycles)?,
    };
    Ok(Some(decoded))
}

/// The modifiers of matrix products.
struct Modifiers {
    broadcast_size: i64,
    broadcast_block: i64,
    lane_groups: i64,
    /// Low and high bits of the bytes of the scales.
    select: [Vec<bool>; 2],
}

impl Modifiers {
    fn take(text: &mut Text) -> Result<Self> {
        let mut integer = |name: &str| Ok(text.take_integer(name)?.unwrap_or(0));
        Ok(Self {
            broadcast_size: integer("cbsz")?,
            broadcast_block: integer("abid")?,
            lane_groups: integer("blgp")?,
            select: [
                text.take_bits("op_sel")?.unwrap_or_default(),
                text.take_bits("op_sel_hi")?.unwrap_or_default(),
            ],
        })
    }

    fn expect_no_scales(&self, text: &Text) -> Result<()> {
        if self.select.iter().flatten().any(|bit| *bit) {
            return Err(text.error("op_sel is not supported without scales"));
        }
        Ok(())
    }

    fn expect_zero(&self, text: &Text) -> Result<()> {
        let values = [
            ("cbsz", self.broadcast_size),
            ("abid", self.broadcast_block),
            ("blgp", self.lane_groups),
        ];
        match values.iter().find(|(_, value)| *value != 0) {
            None => Ok(()),
            Some((name, _)) => Err(text.error(format!("{name} is not supported"))),
        }
    }

    /// The formats that `cbsz` and `blgp` select.
    fn formats(&self, text: &Text) -> Result<(Format, Format)> {
        let format = |name: &str, number: i64| {
            Format::selected(number)
                .ok_or_else(|| text.error(format!("{name}:{number} is not a format")))
        };
        if self.broadcast_block != 0 {
            return Err(text.error("abid is not supported"));
        }
        Ok((
            format("cbsz", self.broadcast_size)?,
            format("blgp", self.lane_groups)?,
        ))
    }

    /// The bytes of the scales of both factors.
    fn bytes(&self, text: &Text) -> Result<[u32; 2]> {
        if self
            .select
            .iter()
            .any(|bits| bits.get(2..).is_some_and(|bits| bits.contains(&true)))
        {
            return Err(text.error("op_sel selects the bytes of two scales only"));
        }
        let bit =
            |list: usize, at: usize| u32::from(self.select[list].get(at).copied().unwrap_or(false));
        Ok([0, 1].map(|at| bit(0, at) | bit(1, at) << 1))
    }
}

fn dense(
    text: &Text,
    name: Name,
    left: Format,
    right: Format,
    modifiers: &Modifiers,
    cycles: u64,
) -> Result<Instruction> {
    let shape = name.shape;
    let scales = if name.kind == Kind::Scaled {
        text.expect_operands(6)?;
        let bytes = modifiers.bytes(text)?;
        let scale = |at: usize, byte: u32| {
            let register = registers(text, at, 1)?;
            if register >= ACCUMULATION {
                return Err(text.error("a scale must be a vector register"));
            }
            Ok(Some(Scale { register, byte }))
        };
        [scale(4, bytes[0])?, scale(5, bytes[1])?]
    } else {
        text.expect_operands(4)?;
        [None, None]
    };
    let layout = match name.formats {
        Formats::Fixed(..) => {
            modifiers.expect_zero(text)?;
            Layout::Plain
        }
        Formats::Selected => Layout::Selected,
    };
    let factor = |at: usize, format: Format| {
        Ok(Factor {
            format,
            first: registers(text, at, shape.factor_elements() * format.bits() / 32)?,
            layout,
            scale: scales[at - 1],
        })
    };
    let sum = shape.result_elements() * if left == Format::F64 { 2 } else { 1 };
    let start = match operand::operand(text.operand(3)?) {
        Some(Operand::Integer(value)) if left == Format::I8 => Err(value as f64),
        Some(Operand::Integer(0)) => Err(0.0),
        Some(Operand::Float(value)) if left != Format::I8 => Err(value),
        _ => Ok(registers(text, 3, sum)?),
    };
    Ok(Instruction {
        shape,
        result: registers(text, 0, sum)?,
        left: factor(1, left)?,
        right: factor(2, right)?,
        index: None,
        sum: start,
        cycles,
    })
}

fn sparse(
    text: &Text,
    name: Name,
    left: Format,
    right: Format,
    modifiers: &Modifiers,
    cycles: u64,
) -> Result<Instruction> {
    text.expect_operands(4)?;
    if modifiers.lane_groups != 0 {
        return Err(text.error("blgp is not supported"));
    }
    let shape = name.shape;
    let stored = stored(shape).factor_elements();
    // A register contains as many sets of positions as fit. With `cbsz` the first one is used.
    let bits = 2 * stored;
    let set = if modifiers.broadcast_size == 0 {
        usize::try_from(modifiers.broadcast_block)
            .ok()
            .filter(|set| (set + 1) * bits <= 32)
            .ok_or_else(|| {
                text.error(format!(
                    "abid:{} is not one of the {} sets of positions",
                    modifiers.broadcast_block,
                    32 / bits
                ))
            })?
    } else {
        0
    };
    let factor = |at: usize, format: Format, elements: usize| {
        Ok(Factor {
            format,
            first: registers(text, at, elements * format.bits() / 32)?,
            layout: Layout::Plain,
            scale: None,
        })
    };
    let result = registers(text, 0, shape.result_elements())?;
    Ok(Instruction {
        shape,
        left: factor(1, left, stored)?,
        right: factor(2, right, shape.factor_elements())?,
        index: Some(Index {
            register: registers(text, 3, 1)?,
            first: set * bits,
        }),
        result,
        sum: Ok(result),
        cycles,
    })
}

/// The shape of what a sparse factor stores.
fn stored(shape: Shape) -> Shape {
    Shape {
        depth: shape.depth / 2,
        ..shape
    }
}

/// The first register of an operand of so many vector registers.
fn registers(text: &Text, at: usize, count: usize) -> Result<u16> {
    match operand::operand(text.operand(at)?) {
        Some(Operand::Vector(first, found)) if usize::from(found) == count => Ok(first),
        _ => Err(text.error(format!(
            "operand {} must be {count} vector register{}",
            at + 1,
            if count == 1 { "" } else { "s" }
        ))),
    }
}

impl Instruction {
    /// Executes the product. EXEC does not matter.
    pub(crate) fn execute(&self, wave: &mut Wave) {
        let Shape {
            size,
            depth,
            blocks,
        } = self.shape;
        let stored = match self.index {
            Some(_) => stored(self.shape),
            None => self.shape,
        };
        // Rows of the left factor, and columns of the right one side by side, so that a row of sums is one loop.
        let mut left = Vec::with_capacity(blocks * size * stored.depth);
        let mut positions = Vec::new();
        let mut right = vec![0.0; blocks * depth * size];
        for block in 0..blocks {
            for row in 0..size {
                for at in 0..stored.depth {
                    let place = self.left.place(stored, block, row, at);
                    left.push(self.left.number(wave, place, row, at, size));
                    if let Some(index) = self.index {
                        positions.push(index.position(wave, place, at));
                    }
                }
                for at in 0..depth {
                    let place = self.right.place(self.shape, block, row, at);
                    right[(block * depth + at) * size + row] =
                        self.right.number(wave, place, row, at, size);
                }
            }
        }
        let mut results = vec![[0u64; LANES]; self.shape.result_elements()];
        let mut sums = vec![0.0; size];
        let format = self.left.format;
        for (row, factors) in left.chunks_exact(stored.depth).enumerate() {
            let first = row * stored.depth;
            let (block, row) = (row / size, row % size);
            for (column, sum) in sums.iter_mut().enumerate() {
                let (lane, element) = self.shape.result(block, row, column, format);
                *sum = self.start(wave, lane, element);
            }
            let columns = &right[block * depth * size..];
            for (at, a) in factors.iter().enumerate() {
                let at = positions.get(first + at).copied().unwrap_or(at);
                for (sum, b) in sums.iter_mut().zip(&columns[at * size..]) {
                    *sum += a * b;
                }
            }
            for (column, sum) in sums.iter().enumerate() {
                let (lane, element) = self.shape.result(block, row, column, format);
                results[element][lane] = match format {
                    Format::F64 => sum.to_bits(),
                    Format::I8 => u64::from(*sum as i64 as u32),
                    _ => u64::from((*sum as f32).to_bits()),
                };
            }
        }
        for (register, values) in (self.result..)
            .step_by(if format == Format::F64 { 2 } else { 1 })
            .zip(&results)
        {
            if format == Format::F64 {
                wave.set_wide(register, values, u64::MAX);
            } else {
                wave.set_vector(
                    register,
                    &std::array::from_fn(|lane| values[lane] as u32),
                    u64::MAX,
                );
            }
        }
    }

    fn start(&self, wave: &Wave, lane: usize, element: usize) -> f64 {
        match (self.sum, self.left.format) {
            (Err(constant), _) => constant,
            (Ok(first), Format::F64) => {
                let register = first + 2 * element as u16;
                f64::from_bits(
                    u64::from(wave.vector(register)[lane])
                        | u64::from(wave.vector(register + 1)[lane]) << 32,
                )
            }
            (Ok(first), Format::I8) => f64::from(wave.vector(first + element as u16)[lane] as i32),
            (Ok(first), _) => f64::from(f32::from_bits(wave.vector(first + element as u16)[lane])),
        }
    }
}

impl Factor {
    /// Lane and element of a number.
    fn place(&self, shape: Shape, block: usize, row: usize, depth: usize) -> (usize, usize) {
        match self.layout {
            Layout::Plain => shape.factor(block, row, depth),
            Layout::Selected => shape.selected_factor(self.format, row, depth),
        }
    }

    /// The number at a place, times its scale.
    fn number(
        &self,
        wave: &Wave,
        (lane, element): (usize, usize),
        row: usize,
        depth: usize,
        size: usize,
    ) -> f64 {
        let bits = self.format.bits();
        let (register, shift) = (
            self.first + (element * bits / 32) as u16,
            element * bits % 32,
        );
        let mut word = u64::from(wave.vector(register)[lane]);
        if shift + bits > 32 {
            word |= u64::from(wave.vector(register + 1)[lane]) << 32;
        }
        let number = self
            .format
            .decode(word >> shift & (u64::MAX >> (64 - bits)), wave.ocp);
        match self.scale {
            None => number,
            Some(Scale { register, byte }) => {
                let word = wave.vector(register)[depth / SCALED * size + row];
                number * number::scale((word >> (8 * byte)) as u8)
            }
        }
    }
}

impl Index {
    /// The depth of a stored element.
    fn position(self, wave: &Wave, (lane, element): (usize, usize), stored: usize) -> usize {
        let word = wave.vector(self.register)[lane];
        stored / 2 * 4 + (word >> (self.first + 2 * element) & 3) as usize
    }
}
