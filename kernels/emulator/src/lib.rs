//! Executes AMD machine code without an AMD GPU.
//!
//! The input is the assembly text that Triton (`asm["amdgcn"]`) and clang (`-S`) print for gfx90a, gfx942 and gfx950. A
//! [`Program`] is a kernel with every instruction decoded; [`run`] executes a [`Launch`] of it on a [`Memory`].
//!
//! ```
//! use hipward_emulator::{Launch, Listing, Memory, Program, run};
//!
//! # fn main() -> Result<(), hipward_emulator::Error> {
//! let listing = Listing::parse(include_str!("../tests/listings/twice.s"))?;
//! let program = Program::new(&listing, Some("twice"))?;
//! let mut memory = Memory::new();
//! let x = memory.add("x", &1.5f32.to_le_bytes()).expect("a small buffer");
//! let launch = Launch {
//!     grid: [1, 1, 1],
//!     workgroup: [1, 1, 1],
//!     arguments: vec![x.to_le_bytes().to_vec()],
//!     dynamic_lds: 0,
//!     budget: 1000,
//! };
//! let report = run(&program, &launch, &mut memory)?;
//! assert!(report.error.is_none() && report.findings.is_empty());
//! assert_eq!(memory.contents(x, 4), Some(3.0f32.to_le_bytes().to_vec()));
//! # Ok(())
//! # }
//! ```
//!
//! [`Stepper`] runs a launch instruction by instruction, forward and back, and shows registers, LDS and accesses.
//!
//! # What is emulated
//!
//! * Wavefronts of 64 lanes under EXEC, with scalar, vector and accumulation registers, VCC, SCC, M0 and the fields of the
//!   mode register that compilers change. The initial registers follow the kernel descriptor.
//! * Scalar, vector and packed arithmetic, DPP, SDWA, matrix products, global, flat and buffer accesses, atomics, LDS,
//!   and exchanges between lanes.
//! * Buffers with bounds. Memory is sparse, so buffers of several GiB are possible.
//! * Private memory of the lanes (scratch), and the constants and variables of the listing.
//! * Calls of the functions of the listing, by name and by pointer.
//!
//! An instruction, operand or modifier that is not supported is an [`Error`] with its line when the program is decoded.
//!
//! # What is checked
//!
//! [`FindingKind`] lists the checks. A run continues after a finding: a load out of bounds reads zero, a store is dropped.
//!
//! # Where it ends
//!
//! * It measures no time. [`Counts`] are exact, and lower bounds of a time follow from them, never a time.
//! * `v_rcp`, `v_rsq`, `v_exp`, `v_log`, `v_sin` and `v_cos` are rounded correctly here, within 1 ULP on hardware.
//!   `v_exp_f32` and `v_log_f32` flush denormals. Matrix and dot products round once; the hardware's order of partial sums is not
//!   documented. Everything else is exact. The payload of a NaN is not defined.
//! * Workgroups run as if one after another, and the wavefronts of a workgroup in turn, so a kernel that waits in a loop
//!   for another workgroup or wavefront does not end within its budget. [`run`] uses several threads; results, findings
//!   and counts do not depend on their number.
//! * Rounding modes other than to nearest even, pointers to private memory and structured buffers are not supported.
//! * A finding can be missing: a race is detected only between accesses that the run executed.

mod arch;
#[cfg(feature = "command")]
mod command;
mod count;
mod error;
mod finding;
#[cfg(feature = "command")]
mod json;
mod listing;
mod machine;
mod memory;
mod mfma;
mod number;
mod scalar;
mod trace;
mod vector;

pub use arch::Arch;
#[cfg(feature = "command")]
pub use command::run_command;
pub use count::{Access, Class, Counts};
pub use error::Error;
pub use finding::{Finding, FindingKind, lane_ranges};
#[cfg(feature = "command")]
pub use json::report_to_json;
pub use listing::{Argument, ArgumentKind, Descriptor, Kernel, Listing, SourceLine};
pub use machine::program::{Program, supports};
pub use machine::run::{Launch, Report, run, run_on_threads};
pub use machine::stepper::{Progress, Stepper, Wavefront};
pub use memory::buffers::{Memory, Writer};
pub use number::{from_bf16, from_f16, to_bf16, to_f16};
pub use trace::{LaneAccess, Trace};
