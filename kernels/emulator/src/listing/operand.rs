//! An operand as text: registers, constants, and the source modifiers `-`, `|…|` and `sext(…)`.

use super::text::integer;

/// Index of `vcc_lo` among the scalar registers.
pub(crate) const VCC: u8 = 106;
/// Index of `m0`.
pub(crate) const M0: u8 = 124;
/// Index of `exec_lo`.
pub(crate) const EXEC: u8 = 126;
/// Indexes of the bits that can be read like registers.
pub(crate) const VCCZ: u8 = 251;
pub(crate) const EXECZ: u8 = 252;
pub(crate) const SCC: u8 = 253;
/// Index of the first accumulation register among the vector registers.
pub(crate) const ACCUMULATION: u16 = 256;

/// An operand without its type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Operand {
    /// Scalar registers: first and number.
    Scalar(u8, u8),
    /// Vector registers: first and number. Accumulation registers start at 256.
    Vector(u16, u8),
    Integer(i64),
    Float(f64),
    /// `off` or `null`.
    Off,
}

/// An operand with source modifiers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Modified {
    pub(crate) operand: Operand,
    pub(crate) negative: bool,
    pub(crate) absolute: bool,
    pub(crate) sign_extended: bool,
}

/// Parses an operand with source modifiers.
pub(crate) fn modified(text: &str) -> Option<Modified> {
    let (mut text, mut found) = (
        text.trim(),
        Modified {
            operand: Operand::Off,
            negative: false,
            absolute: false,
            sign_extended: false,
        },
    );
    for _ in 0..4 {
        if let Some(operand) = operand(text) {
            found.operand = operand;
            return Some(found);
        }
        let inside = |name: &str| {
            text.strip_prefix(name)
                .and_then(|rest| rest.strip_suffix(')'))
        };
        if let Some(rest) = text.strip_prefix('-') {
            (found.negative, text) = (true, rest);
        } else if let Some(rest) = inside("neg(") {
            (found.negative, text) = (true, rest);
        } else if let Some(rest) = text
            .strip_prefix('|')
            .and_then(|rest| rest.strip_suffix('|'))
            .or_else(|| inside("abs("))
        {
            (found.absolute, text) = (true, rest);
        } else if let Some(rest) = inside("sext(") {
            (found.sign_extended, text) = (true, rest);
        } else {
            return None;
        }
    }
    None
}

/// Parses an operand.
pub(crate) fn operand(text: &str) -> Option<Operand> {
    let single = |first: u8, count: u8| Some(Operand::Scalar(first, count));
    match text {
        "vcc" => return single(VCC, 2),
        "vcc_lo" => return single(VCC, 1),
        "vcc_hi" => return single(VCC + 1, 1),
        "exec" => return single(EXEC, 2),
        "exec_lo" => return single(EXEC, 1),
        "exec_hi" => return single(EXEC + 1, 1),
        "flat_scratch" => return single(102, 2),
        "flat_scratch_lo" => return single(102, 1),
        "flat_scratch_hi" => return single(103, 1),
        "m0" => return single(M0, 1),
        "scc" | "src_scc" => return single(SCC, 1),
        "src_vccz" => return single(VCCZ, 1),
        "src_execz" => return single(EXECZ, 1),
        "off" | "null" => return Some(Operand::Off),
        _ => {}
    }
    if let Some(number) = integer(text) {
        return Some(Operand::Integer(number));
    }
    if text.contains('.') && text.starts_with(|c: char| c.is_ascii_digit() || c == '-') {
        return text.parse().ok().map(Operand::Float);
    }
    let (file, rest) = text.split_at_checked(1)?;
    let (first, count) = match rest
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
    {
        None => (
            rest.parse::<u16>()
                .ok()
                .filter(|_| rest.starts_with(|c: char| c.is_ascii_digit()))?,
            1,
        ),
        Some(range) => {
            let (first, last) = range.split_once(':').unwrap_or((range, range));
            let (first, last) = (
                first.trim().parse::<u16>().ok()?,
                last.trim().parse::<u16>().ok()?,
            );
            (first, last.checked_sub(first)?.checked_add(1)?)
        }
    };
    let end = first.checked_add(count)?;
    match file {
        "s" if end <= 106 => Some(Operand::Scalar(first as u8, count as u8)),
        "v" if end <= 256 && count <= 32 => Some(Operand::Vector(first, count as u8)),
        "a" if end <= 256 && count <= 32 => {
            Some(Operand::Vector(ACCUMULATION + first, count as u8))
        }
        _ => None,
    }
}
