//! Decodes a vector instruction: mnemonic, operands in their types, modifiers.

use super::modifiers::Modifiers;
use super::{Body, Entry, Instruction, Source, Type, find, saturating};
use crate::error::Result;
use crate::listing::operand::{self, Modified, Operand, VCC};
use crate::listing::text::Text;
use crate::number::{f64_to_f16, to_f16};

/// Decodes an instruction. `None` if the mnemonic is not a vector operation.
pub(crate) fn decode(text: &mut Text) -> Result<Option<Instruction>> {
    let name = ["_e32", "_e64", "_sdwa", "_dpp"]
        .iter()
        .find_map(|suffix| text.mnemonic.strip_suffix(suffix))
        .unwrap_or(&text.mnemonic)
        .to_owned();
    if name == "v_bitop3_b32" {
        let entry = super::entry!(
            B32,
            [B32, B32, B32],
            Update(|[a, b, c], _, context| bitwise(a, b, c, context))
        );
        return instruction(text, &name, entry).map(Some);
    }
    if name == "v_bitop3_b16" {
        let entry = super::entry!(
            B16,
            [B16, B16, B16],
            Update(|[a, b, c], old, context| {
                let result = bitwise(a, b, c, context) & 0xffff;
                if context.select[3] {
                    old & 0xffff | result << 16
                } else {
                    result
                }
            })
        );
        return instruction(text, &name, entry).map(Some);
    }
    match find(&name) {
        Some(entry) => instruction(text, &name, entry).map(Some),
        None => Ok(None),
    }
}

/// Any function of three bits: bit `4a + 2b + c` of the table.
fn bitwise(a: u64, b: u64, c: u64, context: super::Context) -> u32 {
    (0..8u32)
        .filter(|row| context.table >> row & 1 == 1)
        .fold(0, |result, row| {
            let side = |value: u64, bit: u32| {
                if row >> bit & 1 == 1 {
                    value as u32
                } else {
                    !(value as u32)
                }
            };
            result | side(a, 2) & side(b, 1) & side(c, 0)
        })
}

fn instruction(text: &mut Text, name: &str, entry: Entry) -> Result<Instruction> {
    let packed = matches!(entry.body, Body::Pair(_) | Body::Halves(_));
    let mut modifiers = Modifiers::parse(text, packed)?;
    let mut entry = entry;
    if let (true, Some(saturating)) = (modifiers.clamp, saturating::find(name)) {
        entry = saturating;
        modifiers.clamp = false;
    }
    let mut found = Instruction {
        entry,
        result: 0,
        scalar_result: 0,
        sources: [Source::Constant(0); 3],
        mask: VCC,
        writes_exec: name.starts_with("v_cmpx_"),
        modifiers: None,
    };
    let mut at = 0;
    match entry.body {
        Body::Compare(_) | Body::CompareWide(_) => found.scalar_result = scalar(text, &mut at, 2)?,
        Body::ReadLane => found.scalar_result = scalar(text, &mut at, 1)?,
        _ => found.result = vector(text, &mut at, entry.result.registers())?,
    }
    if matches!(
        entry.body,
        Body::Carry(_) | Body::Multiply64(_) | Body::DivideScale
    ) {
        found.scalar_result = scalar(text, &mut at, 2)?;
    }
    // The sum of these is also an operand.
    let accumulates = ["v_fmac_", "v_mac_", "v_dot2c_", "v_dot4c_"]
        .iter()
        .any(|prefix| name.starts_with(prefix));
    let read = entry.sources.len() - usize::from(accumulates);
    for (place, kind) in entry.sources.iter().enumerate().take(read) {
        let modified = modified(text, &mut at)?;
        // A constant that is read as a half has 16 bits.
        let is_half = matches!(entry.body, Body::Mix(_)) && modifiers.select_high[place];
        let constant = if is_half { Type::F16 } else { *kind };
        found.sources[place] = source(text, modified, constant)?;
        let changes_sign = kind.sign().is_some();
        if (modified.negative || modified.absolute) && !changes_sign {
            return Err(text.error("an integer operand has no sign modifier"));
        }
        modifiers.negative[place] |= modified.negative;
        modifiers.absolute[place] |= modified.absolute;
        if modified.sign_extended {
            match (&mut modifiers.sdwa, place) {
                (Some(sdwa), 0 | 1) => sdwa.sign_extended[place] = true,
                _ => return Err(text.error("sext needs SDWA")),
            }
        }
    }
    if accumulates {
        found.sources[read] = Source::Vector(found.result);
    }
    let carries = matches!(name, "v_addc_co_u32" | "v_subb_co_u32" | "v_subbrev_co_u32");
    if carries || matches!(entry.body, Body::Select) {
        found.mask = scalar(text, &mut at, 2)?;
    }
    text.expect_operands(at)?;
    check(text, &found, &modifiers)?;
    if !modifiers.is_plain(packed) {
        found.modifiers = Some(Box::new(modifiers));
    }
    Ok(found)
}

/// Refuses combinations whose result the guides do not define, or that are not emulated.
fn check(text: &Text, found: &Instruction, modifiers: &Modifiers) -> Result<()> {
    let body = &found.entry.body;
    let narrow = matches!(
        body,
        Body::One(_) | Body::Two(_) | Body::Three(_) | Body::Select | Body::Numbered(_)
    );
    let compare = matches!(body, Body::Compare(_) | Body::CompareWide(_));
    let carry = matches!(body, Body::Carry(_));
    // Operations on 16-bit operands, lane by lane.
    let single = matches!(body, Body::Wide(_) | Body::CompareWide(_))
        && found.entry.result.registers() == 1
        && found.entry.sources.iter().all(|kind| kind.registers() == 1);
    if (modifiers.dpp.is_some() || modifiers.sdwa.is_some())
        && !(narrow || carry || single || matches!(body, Body::Compare(_)))
    {
        return Err(text.error("DPP and SDWA are not supported for this instruction"));
    }
    if modifiers.dpp.is_some()
        && (compare || carry || !matches!(found.sources[0], Source::Vector(_)))
    {
        return Err(
            text.error("DPP needs a vector register as its first source, and a vector result")
        );
    }
    let float = matches!(found.entry.result, Type::F32 | Type::F16 | Type::F64);
    if (modifiers.clamp || modifiers.output_scale != 1.0) && (!float || compare) {
        return Err(
            text.error("clamp and output scale are supported for floating-point results only")
        );
    }
    if modifiers.output_scale != 1.0 && found.entry.result != Type::F32 {
        return Err(text.error("an output scale is supported for f32 results only"));
    }
    let halves = found
        .entry
        .sources
        .iter()
        .chain([&found.entry.result])
        .any(|kind| matches!(kind, Type::B16 | Type::F16));
    let selects = matches!(
        body,
        Body::Pair(_) | Body::Halves(_) | Body::MovePair | Body::Mix(_) | Body::Update(_)
    ) || halves;
    let has_halves = matches!(
        body,
        Body::Pair(_) | Body::Halves(_) | Body::Mix(_) | Body::MovePair
    );
    let high = modifiers.negative_high != [false; 3] || modifiers.select_high != [false; 3];
    if high && !has_halves {
        return Err(text.error("op_sel_hi and neg_hi are not supported for this instruction"));
    }
    for (place, kind) in found.entry.sources.iter().enumerate() {
        if kind.sign().is_none() && (modifiers.negative[place] || modifiers.absolute[place]) {
            return Err(text.error("an integer operand has no sign modifier"));
        }
    }
    let selects_result = narrow && modifiers.select[found.entry.sources.len()];
    if modifiers.select != [false; 4] && (!selects || selects_result) {
        return Err(text.error("op_sel is not supported for this instruction"));
    }
    if let Body::Pair(_) | Body::Mix(_) = body {
        for (place, source) in found
            .sources
            .iter()
            .enumerate()
            .take(found.entry.sources.len())
        {
            // Zero is the same in both halves.
            let constant = matches!(source, Source::Constant(bits) if *bits != 0);
            let high = matches!(body, Body::Pair(_)) && modifiers.select_high[place];
            if constant && (high || modifiers.select[place]) {
                return Err(text.error("the high half of a constant is not supported"));
            }
        }
    }
    if let Body::ReadLane | Body::WriteLane = body {
        let registers =
            matches!(body, Body::WriteLane) || matches!(found.sources[0], Source::Vector(_));
        let lane = found.entry.sources.len() == 1 || !matches!(found.sources[1], Source::Vector(_));
        if !registers || !lane {
            return Err(text.error("the lane must be a scalar, and the register a vector register"));
        }
    }
    if let (Body::Swap | Body::SwapRows(_), Source::Scalar(_) | Source::Constant(_)) =
        (body, found.sources[0])
    {
        return Err(text.error("both operands must be vector registers"));
    }
    Ok(())
}

fn modified(text: &Text, at: &mut usize) -> Result<Modified> {
    let word = text.operand(*at)?;
    *at += 1;
    operand::modified(word)
        .ok_or_else(|| text.error(format!("the operand {word} is not supported")))
}

fn scalar(text: &Text, at: &mut usize, count: u8) -> Result<u8> {
    match modified(text, at)?.operand {
        Operand::Scalar(first, found) if found == count && first < 128 => Ok(first),
        _ => Err(text.error(format!("operand {at} must be {count} scalar registers"))),
    }
}

fn vector(text: &Text, at: &mut usize, count: u8) -> Result<u16> {
    match modified(text, at)?.operand {
        Operand::Vector(first, found) if found == count => Ok(first),
        _ => Err(text.error(format!("operand {at} must be {count} vector registers"))),
    }
}

/// Converts an operand to a source of a type.
fn source(text: &Text, modified: Modified, kind: Type) -> Result<Source> {
    let count = kind.registers();
    match modified.operand {
        Operand::Scalar(first, found) if found == count => Ok(Source::Scalar(first)),
        Operand::Vector(first, found) if found == count => Ok(Source::Vector(first)),
        Operand::Integer(value) => constant(value, kind)
            .map(Source::Constant)
            .ok_or_else(|| text.error(format!("the constant {value} does not fit"))),
        Operand::Float(value) => Ok(Source::Constant(float_constant(value, kind))),
        Operand::Scalar(..) | Operand::Vector(..) => {
            Err(text.error(format!("an operand must be {count} registers wide")))
        }
        Operand::Off => Err(text.error("an operand must be a register or a constant")),
    }
}

/// Bits of an integer constant. Those from -16 to 64 are sign-extended; others are 32-bit literals.
pub(crate) fn constant(value: i64, kind: Type) -> Option<u64> {
    let inline = (-16..=64).contains(&value);
    let literal = u32::try_from(value)
        .ok()
        .or_else(|| i32::try_from(value).ok().map(|value| value as u32));
    match kind {
        Type::B32 | Type::F32 | Type::B16 | Type::F16 => literal.map(u64::from),
        _ if inline => Some(value as u64),
        // A literal is the high half of a double.
        Type::F64 => literal.map(|bits| u64::from(bits) << 32),
        Type::I64 => literal.map(|bits| i64::from(bits as i32) as u64),
        Type::B64 => literal.map(u64::from),
    }
}

pub(crate) fn float_constant(value: f64, kind: Type) -> u64 {
    // The constant is 1 / 2π; listings print a rounded decimal of it.
    let inverse_tau = (value - std::f64::consts::FRAC_1_PI / 2.0).abs() < 1e-8;
    match kind {
        Type::F64 | Type::B64 | Type::I64 if inverse_tau => 0x3fc4_5f30_6dc9_c882,
        Type::F64 | Type::B64 | Type::I64 => value.to_bits(),
        Type::F16 | Type::B16 if inverse_tau => 0x3118,
        Type::F16 => u64::from(f64_to_f16(value)),
        Type::B16 => u64::from(to_f16(value as f32)),
        Type::F32 | Type::B32 if inverse_tau => 0x3e22_f983,
        Type::F32 | Type::B32 => u64::from((value as f32).to_bits()),
    }
}
