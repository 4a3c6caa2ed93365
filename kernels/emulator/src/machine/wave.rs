//! The state of a wavefront: registers, EXEC, VCC, SCC, M0, the mode register, and the loads in flight.

use std::collections::VecDeque;

use crate::listing::operand::{EXEC, EXECZ, SCC, VCC, VCCZ};
use crate::vector::{LANES, Lanes};

/// The mode register, as far as it can change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mode {
    pub(crate) bits: u32,
}

impl Mode {
    const DENORMAL_32: u32 = 4;
    const OVERFLOW: u32 = 23;

    pub(crate) fn new(denormal32: u32, denormal64: u32, overflow: bool) -> Self {
        Self {
            bits: denormal32 << Self::DENORMAL_32
                | denormal64 << 6
                | u32::from(overflow) << Self::OVERFLOW,
        }
    }

    /// Whether denormal `f32` are flushed anywhere.
    pub(crate) fn flush32(self) -> bool {
        self.bits >> Self::DENORMAL_32 & 3 != 3
    }

    pub(crate) fn flush_inputs(self) -> bool {
        self.bits >> Self::DENORMAL_32 & 1 == 0
    }

    pub(crate) fn flush_results(self) -> bool {
        self.bits >> Self::DENORMAL_32 & 2 == 0
    }

    /// Whether conversions to 8 bits saturate.
    pub(crate) fn saturates(self) -> bool {
        self.bits >> Self::OVERFLOW & 1 == 1
    }
}

/// Which counter an access in flight decrements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counter {
    /// `vmcnt`: global and buffer memory, in order.
    Vector,
    /// `lgkmcnt`: LDS, in order.
    Lds,
    /// `lgkmcnt`: scalar loads, in any order.
    Scalar,
}

/// Registers that an access in flight fills.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Filled {
    pub(crate) counter: Counter,
    pub(crate) line: u32,
    /// First register and number; scalar registers if the counter is `Scalar`.
    pub(crate) first: u16,
    pub(crate) count: u16,
}

/// A wavefront.
#[derive(Clone)]
pub(crate) struct Wave {
    scalars: [u32; 128],
    vectors: Vec<Lanes>,
    pub(crate) scc: bool,
    pub(crate) at: usize,
    pub(crate) mode: Mode,
    /// Whether 8-bit floats are OCP instead of FNUZ.
    pub(crate) ocp: bool,
    /// Position in the workgroup.
    pub(crate) number: u32,
    pub(crate) state: State,
    pub(crate) in_flight: VecDeque<Filled>,
}

/// Why a wavefront does not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Running,
    /// Waits at the barrier at this position.
    Barrier(usize),
    Ended,
}

/// What registers contain before they are written: a NaN that no kernel computes by chance.
const UNDEFINED: u32 = 0x7fa5_a5a5;

impl Wave {
    pub(crate) fn new(registers: usize, number: u32, mode: Mode, ocp: bool) -> Self {
        Self {
            scalars: [UNDEFINED; 128],
            vectors: vec![[UNDEFINED; LANES]; registers.max(1)],
            scc: false,
            at: 0,
            mode,
            ocp,
            number,
            state: State::Running,
            in_flight: VecDeque::new(),
        }
    }

    pub(crate) fn exec(&self) -> u64 {
        self.scalar64(EXEC)
    }

    /// A scalar register, or a flag that can be read like one.
    pub(crate) fn scalar(&self, register: u8) -> u32 {
        match register {
            VCCZ => u32::from(self.scalar64(VCC) == 0),
            EXECZ => u32::from(self.exec() == 0),
            SCC => u32::from(self.scc),
            _ => self
                .scalars
                .get(usize::from(register))
                .copied()
                .unwrap_or(0),
        }
    }

    pub(crate) fn scalar64(&self, register: u8) -> u64 {
        let at = usize::from(register);
        match (self.scalars.get(at), self.scalars.get(at + 1)) {
            (Some(low), Some(high)) => u64::from(*low) | u64::from(*high) << 32,
            _ => u64::from(self.scalar(register)),
        }
    }

    pub(crate) fn set_scalar(&mut self, register: u8, value: u32) {
        if let Some(slot) = self.scalars.get_mut(usize::from(register)) {
            *slot = value;
        }
    }

    pub(crate) fn set_scalar64(&mut self, register: u8, value: u64) {
        self.set_scalar(register, value as u32);
        self.set_scalar(register.saturating_add(1), (value >> 32) as u32);
    }

    /// A vector register. The program's decoder made sure that it exists.
    pub(crate) fn vector(&self, register: u16) -> &Lanes {
        const NONE: &Lanes = &[UNDEFINED; LANES];
        self.vectors.get(usize::from(register)).unwrap_or(NONE)
    }

    /// Writes the lanes of a mask.
    pub(crate) fn set_vector(&mut self, register: u16, values: &Lanes, mask: u64) {
        let Some(slot) = self.vectors.get_mut(usize::from(register)) else {
            return;
        };
        if mask == u64::MAX {
            *slot = *values;
            return;
        }
        for (lane, (slot, value)) in slot.iter_mut().zip(values).enumerate() {
            *slot = if mask >> lane & 1 == 1 { *value } else { *slot };
        }
    }

    /// Writes one lane.
    pub(crate) fn set_lane(&mut self, register: u16, lane: usize, value: u32) {
        if let Some(slot) = self
            .vectors
            .get_mut(usize::from(register))
            .and_then(|slot| slot.get_mut(lane))
        {
            *slot = value;
        }
    }

    /// Writes the lanes of a mask into a pair of registers.
    pub(crate) fn set_wide(&mut self, register: u16, values: &[u64; LANES], mask: u64) {
        let low = std::array::from_fn(|lane| values[lane] as u32);
        let high = std::array::from_fn(|lane| (values[lane] >> 32) as u32);
        self.set_vector(register, &low, mask);
        self.set_vector(register + 1, &high, mask);
    }

    /// Waits until at most so many accesses are in flight.
    pub(crate) fn wait(&mut self, vector: u32, others: u32) {
        let keep =
            |in_flight: &mut VecDeque<Filled>, counts: &dyn Fn(Counter) -> bool, left: u32| {
                let total = in_flight
                    .iter()
                    .filter(|filled| counts(filled.counter))
                    .count();
                let mut done = total.saturating_sub(left as usize);
                in_flight.retain(|filled| {
                    // Scalar loads complete in any order: only a wait for all of them is a wait for one.
                    let ends = counts(filled.counter)
                        && done > 0
                        && (left == 0 || filled.counter != Counter::Scalar);
                    done -= usize::from(counts(filled.counter) && done > 0);
                    !ends
                });
            };
        keep(
            &mut self.in_flight,
            &|counter| counter == Counter::Vector,
            vector,
        );
        keep(
            &mut self.in_flight,
            &|counter| counter != Counter::Vector,
            others,
        );
    }
}
