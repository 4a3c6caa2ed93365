//! HW8: measurement.

pub mod cached_inputs;
pub mod first_call_timed;
pub mod mean_only;
pub mod no_warm_up;
pub mod nvidia_peak;
pub mod unchecked_speedup;
pub mod unsynchronized_timing;
pub mod wall_clock;

rules! {
    unsynchronized_timing,
    wall_clock,
    no_warm_up,
    first_call_timed,
    mean_only,
    cached_inputs,
    unchecked_speedup,
    nvidia_peak,
}
