//! HW2: environment variables.

pub mod cublas_workspace_config;
pub mod cuda_alloc_conf;
pub mod cuda_home;
pub mod cuda_launch_blocking;
pub mod max_autotune_variable;
pub mod miopen_find_mode;
pub mod rccl_variable;
pub mod redundant_hip_variable;
pub mod set_too_late;
pub mod torch_cuda_arch_list;
pub mod visible_devices;

rules! {
    cuda_alloc_conf,
    cuda_launch_blocking,
    visible_devices,
    rccl_variable,
    torch_cuda_arch_list,
    cuda_home,
    cublas_workspace_config,
    max_autotune_variable,
    redundant_hip_variable,
    miopen_find_mode,
    set_too_late,
}
