//! HW1: libraries that only NVIDIA's stack provides.

pub mod apex;
pub mod bitsandbytes;
pub mod cuda_only_library;
pub mod cuda_python;
pub mod cuda_shared_library;
pub mod cuda_tool;
pub mod cuda_wheels;
pub mod cupy;
pub mod dali;
pub mod flash_attn;
pub mod nvidia_smi;
pub mod nvtx;
pub mod onnxruntime_provider;
pub mod pynvml;
pub mod tensorrt;
pub mod xformers;

rules! {
    pynvml,
    nvidia_smi,
    flash_attn,
    apex,
    cupy,
    xformers,
    bitsandbytes,
    tensorrt,
    dali,
    nvtx,
    cuda_python,
    cuda_only_library,
    onnxruntime_provider,
    cuda_shared_library,
    cuda_wheels,
    cuda_tool,
}
