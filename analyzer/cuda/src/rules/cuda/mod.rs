//! HW9: CUDA C++.

pub mod ballot_width;
pub mod block_lanes;
pub mod compute_capability;
pub mod cooperative_groups;
pub mod cuda_api;
pub mod cuda_arch;
pub mod cuda_header;
pub mod cuda_unsupported;
pub mod dynamic_parallelism;
pub mod fp8_format;
pub mod gemm_compute_type;
pub mod half_atomic;
pub mod hipify_launch;
pub mod inline_ptx;
pub mod kernel_launch;
pub mod lane_mask;
pub mod launch_bounds;
pub mod launch_braces;
pub mod ldg_half;
pub mod libcudacxx;
pub mod nvcc_only_cpp;
pub mod nvidia_library;
pub mod removed_torch_api;
pub mod shared_memory;
pub mod texture;
pub mod vector_operator;
pub mod warp_size;
pub mod wmma;

rules! {
    warp_size,
    lane_mask,
    ballot_width,
    cooperative_groups,
    inline_ptx,
    wmma,
    nvidia_library,
    cuda_arch,
    launch_bounds,
    block_lanes,
    half_atomic,
    compute_capability,
    shared_memory,
    texture,
    dynamic_parallelism,
    libcudacxx,
    fp8_format,
    vector_operator,
    kernel_launch,
    launch_braces,
    hipify_launch,
    removed_torch_api,
    ldg_half,
    gemm_compute_type,
    cuda_unsupported,
    cuda_header,
    cuda_api,
    nvcc_only_cpp,
}
