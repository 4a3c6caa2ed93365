//! The state in which a launch starts: the kernarg segment, and the registers of each wavefront, as LLVM's user guide for
//! the AMDGPU backend describes them.

use super::program::Program;
use super::run::Launch;
use super::wave::{Mode, Wave};
use crate::arch::Arch;
use crate::error::{Error, Result};
use crate::listing::operand::EXEC;
use crate::listing::{Argument, ArgumentKind};
use crate::memory::buffers::Memory;
use crate::memory::vector_access::RESOURCE_ADDS_LANE;
use crate::vector::LANES;

/// Addresses that the initial registers contain.
#[derive(Clone)]
pub(super) struct Segments {
    kernarg: u64,
    kernarg_words: Vec<u32>,
    dispatch: u64,
    /// Private memory of the wavefronts of a workgroup.
    private: u64,
}

/// Longest kernarg segment, in bytes.
const LONGEST: u32 = 1 << 16;

impl Segments {
    /// Writes the kernarg segment and the dispatch packet.
    pub(super) fn new(program: &Program, launch: &Launch, memory: &mut Memory) -> Result<Self> {
        let kernel = &program.kernel;
        let explicit: Vec<&Argument> = kernel
            .arguments
            .iter()
            .filter(|argument| is_explicit(argument))
            .collect();
        if explicit.len() != launch.arguments.len() {
            let (takes, has) = (explicit.len(), launch.arguments.len());
            return Err(Error::new(
                kernel.line,
                format!(
                    "{} takes {takes} argument{}; the launch has {has}",
                    kernel.name,
                    if takes == 1 { "" } else { "s" },
                ),
            ));
        }
        let end = kernel
            .arguments
            .iter()
            .map(|argument| argument.offset.saturating_add(argument.size))
            .max()
            .unwrap_or(0);
        let length = end.max(kernel.descriptor.get("kernarg_size"));
        if length > LONGEST {
            return Err(Error::new(
                kernel.line,
                format!("the arguments take {length} bytes; the limit is {LONGEST}"),
            ));
        }
        let mut bytes = vec![0; length.next_multiple_of(64) as usize];
        let mut values = launch.arguments.iter();
        for (position, argument) in kernel.arguments.iter().enumerate() {
            let hidden;
            let value: &[u8] = match &argument.kind {
                ArgumentKind::Buffer | ArgumentKind::Value => {
                    let Some(value) = values.next() else { continue };
                    if value.len() != argument.size as usize {
                        let message = format!(
                            "argument {position} takes {} bytes; the launch has {}",
                            argument.size,
                            value.len()
                        );
                        return Err(Error::new(argument.line, message));
                    }
                    value
                }
                ArgumentKind::Hidden(name) => {
                    hidden = hidden_value(name, launch, argument.size);
                    &hidden
                }
                ArgumentKind::Other(kind) => {
                    return Err(Error::new(
                        argument.line,
                        format!("argument {position} is of kind {kind}, which is not supported"),
                    ));
                }
            };
            let start = argument.offset as usize;
            bytes[start..start + value.len()].copy_from_slice(value);
        }
        let kernarg_words = bytes
            .chunks_exact(4)
            .map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
            .collect();
        let full = || Error::new(kernel.line, "there are too many buffers");
        let kernarg = memory.add("the kernarg segment", &bytes).ok_or_else(full)?;
        let dispatch = memory
            .add("the dispatch packet", &packet(launch, kernarg))
            .ok_or_else(full)?;
        if !memory.set_data(&program.data) {
            return Err(full());
        }
        let private = memory
            .add_uninitialized("private memory", private_length(program, launch))
            .ok_or_else(full)?;
        Ok(Self {
            kernarg,
            kernarg_words,
            dispatch,
            private,
        })
    }

    /// Makes private memory uninitialized, for the next workgroup.
    pub(super) fn start_workgroup(&self, memory: &mut Memory) {
        memory.forget(self.private);
    }

    /// A wavefront at the start of a workgroup.
    pub(super) fn wave(
        &self,
        program: &Program,
        launch: &Launch,
        workgroup: [u32; 3],
        number: u32,
    ) -> Wave {
        let descriptor = &program.kernel.descriptor;
        let mode = Mode::new(
            descriptor.get_or("float_denorm_mode_32", 0) & 3,
            descriptor.get_or("float_denorm_mode_16_64", 3) & 3,
            descriptor.get("fp16_overflow") != 0,
        );
        let mut wave = Wave::new(
            program.registers,
            number,
            mode,
            program.arch == Arch::Gfx950,
        );
        let mut next = 0u8;
        let mut put = |words: &[u32]| {
            for word in words {
                wave.set_scalar(next, *word);
                next = next.saturating_add(1);
            }
        };
        let pair = |value: u64| [value as u32, (value >> 32) as u32];
        let user = |name: &str| descriptor.get(&format!("user_sgpr_{name}")) != 0;
        if user("private_segment_buffer") {
            put(&[0, 0, u32::MAX, RESOURCE_ADDS_LANE]);
        }
        if user("dispatch_ptr") {
            put(&pair(self.dispatch));
        }
        if user("queue_ptr") {
            put(&[0; 2]);
        }
        if user("kernarg_segment_ptr") {
            put(&pair(self.kernarg));
        }
        if user("dispatch_id") {
            put(&[0; 2]);
        }
        if user("flat_scratch_init") {
            put(&[0; 2]);
        }
        if user("private_segment_size") {
            put(&[0]);
        }
        let (length, offset) = (
            descriptor.get("user_sgpr_kernarg_preload_length"),
            descriptor.get("user_sgpr_kernarg_preload_offset"),
        );
        for at in offset..offset.saturating_add(length.min(16)) {
            put(&[self.kernarg_words.get(at as usize).copied().unwrap_or(0)]);
        }
        if let Some(count) = descriptor.find("user_sgpr_count") {
            next = count.min(16) as u8;
        }
        let mut put = |word: u32| {
            wave.set_scalar(next, word);
            next = next.saturating_add(1);
        };
        for ((axis, default), id) in [("x", 1), ("y", 0), ("z", 0)].into_iter().zip(workgroup) {
            if descriptor.get_or(&format!("system_sgpr_workgroup_id_{axis}"), default) != 0 {
                put(id);
            }
        }
        if descriptor.get("system_sgpr_workgroup_info") != 0 {
            put(0);
        }
        if descriptor.get("system_sgpr_private_segment_wavefront_offset") != 0 {
            put(0);
        }
        let (lane, wavefront) = (
            descriptor.private_bytes,
            u64::from(descriptor.private_bytes) * LANES as u64,
        );
        wave.private = self.private + u64::from(number) * wavefront;
        wave.private_bytes = lane;
        wave.at = program.kernel.entry;
        wave.private_end = self.private + private_length(program, launch);
        self.lanes(program, launch, number, &mut wave);
        wave
    }

    /// EXEC and the work-item ids, which one register contains: ten bits for each axis.
    fn lanes(&self, program: &Program, launch: &Launch, number: u32, wave: &mut Wave) {
        let [x, y, z] = launch.workgroup.map(u64::from);
        let first = u64::from(number) * LANES as u64;
        let active = (x * y * z).saturating_sub(first).min(LANES as u64);
        wave.set_scalar64(
            EXEC,
            if active == 64 {
                u64::MAX
            } else {
                (1 << active) - 1
            },
        );
        let axes = program.kernel.descriptor.get("system_vgpr_workitem_id");
        let ids = std::array::from_fn(|lane| {
            let item = first + lane as u64;
            let own_y = if axes >= 1 { item / x % y } else { 0 };
            let own_z = if axes >= 2 { item / (x * y) } else { 0 };
            ((item % x) | (own_y << 10) | (own_z << 20)) as u32
        });
        wave.set_vector(0, &ids, u64::MAX);
    }
}

/// Bytes of private memory of a workgroup.
fn private_length(program: &Program, launch: &Launch) -> u64 {
    let items: u64 = launch
        .workgroup
        .iter()
        .map(|size| u64::from(*size))
        .product();
    let lanes = items.next_multiple_of(LANES as u64);
    u64::from(program.kernel.descriptor.private_bytes) * lanes
}

fn is_explicit(argument: &Argument) -> bool {
    matches!(argument.kind, ArgumentKind::Buffer | ArgumentKind::Value)
}

/// A value that the runtime provides.
fn hidden_value(name: &str, launch: &Launch, size: u32) -> Vec<u8> {
    let axis = match name.as_bytes().last() {
        Some(b'y') => 1,
        Some(b'z') => 2,
        _ => 0,
    };
    let value = match name.trim_end_matches(['x', 'y', 'z']) {
        "hidden_block_count_" => u64::from(launch.grid[axis]),
        "hidden_group_size_" => u64::from(launch.workgroup[axis]),
        "hidden_grid_dims" => {
            1 + launch
                .grid
                .iter()
                .zip(launch.workgroup)
                .rposition(|(groups, items)| *groups > 1 || items > 1)
                .unwrap_or(0) as u64
        }
        "hidden_dynamic_lds_size" => u64::from(launch.dynamic_lds),
        _ => 0,
    };
    let mut bytes = value.to_le_bytes().to_vec();
    bytes.resize(size as usize, 0);
    bytes
}

/// The fields of an AQL dispatch packet that kernels read.
fn packet(launch: &Launch, kernarg: u64) -> [u8; 64] {
    let mut packet = [0; 64];
    for axis in 0..3 {
        let items = launch.workgroup[axis];
        packet[4 + 2 * axis..6 + 2 * axis].copy_from_slice(&(items as u16).to_le_bytes());
        let total = launch.grid[axis].saturating_mul(items);
        packet[12 + 4 * axis..16 + 4 * axis].copy_from_slice(&total.to_le_bytes());
    }
    packet[40..48].copy_from_slice(&kernarg.to_le_bytes());
    packet
}
