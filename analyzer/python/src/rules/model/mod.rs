//! HW6: performance of model code.

pub mod activation_mul;
pub mod causal_mask;
pub mod constant_in_forward;
pub mod contiguous_copy;
pub mod evaluation_gradient;
pub mod expert_loop;
pub mod item_in_step;
pub mod loader_workers;
pub mod manual_attention;
pub mod manual_rms_norm;
pub mod repeat_kv;
pub mod separate_gate_up;
pub mod separate_qkv;

rules! {
    separate_qkv,
    separate_gate_up,
    manual_attention,
    manual_rms_norm,
    activation_mul,
    repeat_kv,
    contiguous_copy,
    constant_in_forward,
    expert_loop,
    causal_mask,
    loader_workers,
    evaluation_gradient,
    item_in_step,
}
