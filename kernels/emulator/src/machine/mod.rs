//! Runs programs: the state of wavefronts, workgroups, and the grid of a launch.

mod initial;
pub(crate) mod program;
pub(crate) mod run;
pub(crate) mod stepper;
pub(crate) mod wave;
