//! HW3: code that depends on the GPU it runs on.

pub mod capability_gate;
pub mod causal_alignment;
pub mod cudnn;
pub mod device_name;
pub mod error_text;
pub mod extension_libraries;
pub mod fp8_dtype;
pub mod graph_capture;
pub mod launch_warp_size;
pub mod nvcc_flags;
pub mod tf32;
pub mod version_cuda_gate;

rules! {
    version_cuda_gate,
    capability_gate,
    cudnn,
    tf32,
    nvcc_flags,
    device_name,
    launch_warp_size,
    fp8_dtype,
    causal_alignment,
    graph_capture,
    extension_libraries,
    error_text,
}
