//! Modifiers of vector instructions: operand signs, selections of halves, DPP and SDWA.

use super::LANES;
use crate::error::Result;
use crate::listing::text::Text;

/// Everything after the operands, decoded.
#[derive(Clone, Debug, Default)]
pub(crate) struct Modifiers {
    pub(crate) negative: [bool; 3],
    pub(crate) absolute: [bool; 3],
    pub(crate) negative_high: [bool; 3],
    /// `op_sel`: the last entry in use selects the half of the result.
    pub(crate) select: [bool; 4],
    /// `op_sel_hi`.
    pub(crate) select_high: [bool; 3],
    pub(crate) clamp: bool,
    /// Power of two that the result is multiplied with: `mul:2`, `mul:4`, `div:2`.
    pub(crate) output_scale: f32,
    pub(crate) truth_table: u8,
    pub(crate) dpp: Option<Dpp>,
    pub(crate) sdwa: Option<Sdwa>,
}

/// Data-parallel primitives: the first source comes from another lane.
#[derive(Clone, Debug)]
pub(crate) struct Dpp {
    /// Source lane of each lane; 255 if there is none.
    pub(crate) lanes: [u8; LANES],
    /// Lanes that `row_mask` and `bank_mask` permit to be written.
    pub(crate) written: u64,
    /// A lane without a source reads zero instead of being left out.
    pub(crate) zero: bool,
}

/// Sub-dword addressing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sdwa {
    pub(crate) sources: [Part; 2],
    pub(crate) sign_extended: [bool; 2],
    pub(crate) result: Part,
    pub(crate) unused: Unused,
}

/// A part of a register: bit offset and width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) offset: u32,
    pub(crate) width: u32,
}

/// The bits of the result that SDWA does not write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unused {
    Zero,
    SignExtend,
    Preserve,
}

impl Part {
    const ALL: Self = Self {
        offset: 0,
        width: 32,
    };

    fn parse(text: &str) -> Option<Self> {
        let (kind, at) = text.split_at_checked(text.len().checked_sub(1)?)?;
        let at = at.parse::<u32>().ok();
        match (kind, at) {
            ("DWOR", None) if text == "DWORD" => Some(Self::ALL),
            ("BYTE_", Some(at @ 0..=3)) => Some(Self {
                offset: 8 * at,
                width: 8,
            }),
            ("WORD_", Some(at @ 0..=1)) => Some(Self {
                offset: 16 * at,
                width: 16,
            }),
            _ => None,
        }
    }

    pub(crate) fn mask(self) -> u32 {
        if self.width == 32 {
            u32::MAX
        } else {
            ((1 << self.width) - 1) << self.offset
        }
    }

    /// Extracts the part.
    pub(crate) fn of(self, value: u32, sign_extended: bool) -> u32 {
        let field = (value & self.mask()) >> self.offset;
        let unused = 32 - self.width;
        if sign_extended {
            ((field << unused) as i32 >> unused) as u32
        } else {
            field
        }
    }
}

impl Modifiers {
    /// Reads the modifiers that are not part of operands. `packed` instructions select the high halves by default.
    pub(super) fn parse(text: &mut Text, packed: bool) -> Result<Self> {
        let mut found = Self {
            output_scale: 1.0,
            select_high: [packed; 3],
            ..Self::default()
        };
        let mut lists = [[false; 4]; 3];
        for (list, name) in lists.iter_mut().zip(["op_sel", "neg_lo", "neg_hi"]) {
            for (slot, bit) in list
                .iter_mut()
                .zip(text.take_bits(name)?.unwrap_or_default())
            {
                *slot = bit;
            }
        }
        found.select = lists[0];
        found.negative.copy_from_slice(&lists[1][..3]);
        found.negative_high.copy_from_slice(&lists[2][..3]);
        for (slot, bit) in found
            .select_high
            .iter_mut()
            .zip(text.take_bits("op_sel_hi")?.unwrap_or_default())
        {
            *slot = bit;
        }
        found.clamp = text.take_flag("clamp");
        for (modifier, factor) in [("mul:2", 2.0), ("mul:4", 4.0), ("div:2", 0.5)] {
            if text.take_flag(modifier) {
                found.output_scale = factor;
            }
        }
        if let Some(table) = text.take_integer("bitop3")? {
            found.truth_table = u8::try_from(table)
                .map_err(|_| text.error(format!("bitop3:{table} is not a byte")))?;
        }
        found.dpp = Dpp::parse(text)?;
        found.sdwa = Sdwa::parse(text)?;
        text.expect_no_modifiers()?;
        Ok(found)
    }

    /// Whether the modifiers change nothing.
    pub(super) fn is_plain(&self, packed: bool) -> bool {
        let none = [false; 3];
        self.negative == none
            && self.absolute == none
            && self.negative_high == none
            && self.select == [false; 4]
            && self.select_high == [packed; 3]
            && !self.clamp
            && self.output_scale == 1.0
            && self.truth_table == 0
            && self.dpp.is_none()
            && self.sdwa.is_none()
    }
}

impl Dpp {
    fn parse(text: &mut Text) -> Result<Option<Self>> {
        const NONE: u8 = 255;
        let mut lanes = None;
        let mut map = |f: &dyn Fn(usize) -> Option<usize>| {
            let mut table = [NONE; LANES];
            for (lane, slot) in table.iter_mut().enumerate() {
                *slot = f(lane)
                    .filter(|from| *from < LANES)
                    .map_or(NONE, |from| from as u8);
            }
            lanes = Some(table);
        };
        if let Some(list) = text.take("quad_perm") {
            let inner = list.trim_start_matches('[').trim_end_matches(']');
            let order: Option<Vec<usize>> = inner
                .split(',')
                .map(|at| at.trim().parse().ok().filter(|at| *at < 4))
                .collect();
            let Some(order) = order.filter(|order| order.len() == 4) else {
                return Err(text.error(format!("quad_perm:{list} is not a list of four lanes")));
            };
            map(&|lane| Some(lane & !3 | order[lane & 3]));
        }
        for (name, first, last) in [
            ("row_shl", 1, 15),
            ("row_shr", 1, 15),
            ("row_ror", 1, 15),
            ("row_newbcast", 0, 15),
            ("row_bcast", 15, 31),
        ] {
            let Some(by) = text.take_integer(name)? else {
                continue;
            };
            if by < first || by > last || name == "row_bcast" && by != 15 && by != 31 {
                return Err(text.error(format!("{name}:{by} is not a DPP control")));
            }
            let by = by as usize;
            match name {
                "row_shl" => map(&|lane| (lane % 16 + by < 16).then_some(lane + by)),
                "row_shr" => map(&|lane| (lane % 16 >= by).then(|| lane - by)),
                "row_ror" => map(&|lane| Some(lane & !15 | (lane + 16 - by) & 15)),
                "row_newbcast" => map(&|lane| Some(lane & !15 | by)),
                _ if by == 15 => map(&|lane| (lane >= 16).then(|| (lane & !15) - 1)),
                _ => map(&|lane| (lane >= 32).then_some(31)),
            }
        }
        for (name, value) in [
            ("wave_shl", 1),
            ("wave_rol", 1),
            ("wave_shr", 1),
            ("wave_ror", 1),
        ] {
            if text.take_integer(name)? != Some(value) {
                continue;
            }
            match name {
                "wave_shl" => map(&|lane| Some(lane + 1)),
                "wave_rol" => map(&|lane| Some((lane + 1) % LANES)),
                "wave_shr" => map(&|lane| lane.checked_sub(1)),
                _ => map(&|lane| Some((lane + LANES - 1) % LANES)),
            }
        }
        if text.take_flag("row_mirror") {
            map(&|lane| Some((lane & !15) | (15 - (lane & 15))));
        }
        if text.take_flag("row_half_mirror") {
            map(&|lane| Some((lane & !7) | (7 - (lane & 7))));
        }
        let rows = text.take_integer("row_mask")?.unwrap_or(15) as usize;
        let banks = text.take_integer("bank_mask")?.unwrap_or(15) as usize;
        // Both spellings set the bit: an old assembler wrote it inverted.
        let zero = text.take_integer("bound_ctrl")?.is_some();
        let Some(lanes) = lanes else {
            return if text.mnemonic.ends_with("_dpp") {
                Err(text.error("this DPP control is not supported"))
            } else {
                Ok(None)
            };
        };
        let permitted =
            |lane: usize| rows >> (lane / 16) & 1 == 1 && banks >> (lane % 16 / 4) & 1 == 1;
        let written = (0..LANES)
            .filter(|lane| permitted(*lane))
            .fold(0, |mask, lane| mask | 1u64 << lane);
        Ok(Some(Self {
            lanes,
            written,
            zero,
        }))
    }
}

impl Sdwa {
    fn parse(text: &mut Text) -> Result<Option<Self>> {
        let mut parts = [Part::ALL; 3];
        for (part, name) in parts.iter_mut().zip(["src0_sel", "src1_sel", "dst_sel"]) {
            if let Some(value) = text.take(name) {
                *part = Part::parse(&value)
                    .ok_or_else(|| text.error(format!("{name}:{value} is not supported")))?;
            }
        }
        let unused = match text.take("dst_unused").as_deref() {
            None | Some("UNUSED_PAD") => Unused::Zero,
            Some("UNUSED_SEXT") => Unused::SignExtend,
            Some("UNUSED_PRESERVE") => Unused::Preserve,
            Some(other) => return Err(text.error(format!("dst_unused:{other} is not supported"))),
        };
        let [first, second, result] = parts;
        let sdwa = Self {
            sources: [first, second],
            sign_extended: [false; 2],
            result,
            unused,
        };
        Ok(text.mnemonic.ends_with("_sdwa").then_some(sdwa))
    }
}
