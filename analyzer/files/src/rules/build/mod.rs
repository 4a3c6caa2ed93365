//! HW0: requirements, containers and build files.

pub mod cmake_cuda;
pub mod cmake_cuda_architectures;
pub mod conda_cuda;
pub mod cpp_standard;
pub mod cuda_libraries;
pub mod cuda_local_version;
pub mod cuda_variable;
pub mod cuda_wheel_index;
pub mod nvcc_command;
pub mod nvcc_options;
pub mod nvidia_base_image;
pub mod nvidia_container_runtime;
pub mod nvidia_package;
pub mod nvidia_system_package;
pub mod package_wheel;
pub mod python_release;
pub mod torch_release;
pub mod triton_package;

rules! {
    cuda_wheel_index,
    cuda_local_version,
    nvidia_package,
    nvidia_base_image,
    nvidia_container_runtime,
    nvcc_options,
    cmake_cuda,
    cmake_cuda_architectures,
    nvcc_command,
    nvidia_system_package,
    conda_cuda,
    cuda_variable,
    triton_package,
    torch_release,
    cuda_libraries,
    cpp_standard,
    python_release,
    package_wheel,
}
