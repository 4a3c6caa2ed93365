//! Runs programs: the state of wavefronts, workgroups, and the grid of a launch.

mod initial;
#[cfg(not(target_arch = "wasm32"))]
pub(crate) mod parallel;
pub(crate) mod program;
pub(crate) mod run;
pub(crate) mod stepper;
pub(crate) mod wave;
