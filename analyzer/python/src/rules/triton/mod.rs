//! HW7: Triton kernels.

pub mod block_covers_row;
pub mod block_power_of_two;
pub mod cuda_libdevice;
pub mod fp8_name;
pub mod global_variable;
pub mod inline_ptx;
pub mod lds;
pub mod matrix_options;
pub mod missing_mask;
pub mod num_stages;
pub mod num_warps;
pub mod store_dtype;
pub mod tanh;
pub mod unclamped_exp;
pub mod warp_size;
pub mod without_backward;

rules! {
    num_warps,
    num_stages,
    tanh,
    unclamped_exp,
    block_power_of_two,
    block_covers_row,
    missing_mask,
    store_dtype,
    inline_ptx,
    cuda_libdevice,
    fp8_name,
    warp_size,
    without_backward,
    lds,
    matrix_options,
    global_variable,
}
