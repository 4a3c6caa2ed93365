//! CUDA's headers and the HIP equivalents.

use super::Source;
use hipward_analyzer_core::words::listed;

/// The replacement for a CUDA header; the empty string if HIP needs none.
pub fn hip_header(cuda: &str) -> Option<&'static str> {
    let is_path = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'_' | b'.');
    if cuda.starts_with("cub/") && cuda.ends_with(".cuh") && cuda.bytes().all(is_path) {
        return Some("hipcub/hipcub.hpp");
    }
    // The generators that `curand_kernel.h` includes.
    let part = cuda.strip_prefix("curand_").unwrap_or_default();
    if listed(CURAND_PARTS, part) {
        return Some("hiprand/hiprand_kernel.h");
    }
    NOT_HIPIFIED
        .iter()
        .chain(HIPIFIED)
        .find(|(header, _)| *header == cuda)
        .map(|(_, hip)| *hip)
}

/// True if PyTorch's hipify does not convert an include of the header.
pub fn is_left_by_hipify(cuda: &str) -> bool {
    let part = cuda
        .strip_prefix("cub/")
        .and_then(|rest| rest.strip_suffix(".cuh"));
    if let Some(part) = part {
        return hip_header(cuda).is_some() && !listed(HIPIFIED_CUB, part);
    }
    NOT_HIPIFIED.iter().any(|(header, _)| *header == cuda)
}

/// The headers of CUB that it converts, without `cub/` and `.cuh`.
const HIPIFIED_CUB: &str = "cub config util_allocator util_ptx util_type block/block_load block/block_raking_layout \
    block/block_reduce block/block_scan block/block_store device/device_radix_sort device/device_reduce \
    device/device_run_length_encode device/device_scan device/device_select";

/// The names of CUB that PyTorch's hipify converts, after `cub::`. Its list also has `cub::` alone, which matches no name.
pub(crate) const HIPIFIED_CUB_NAMES: &str = "ArgIndexInputIterator ArgMax ArgMin BLOCK_LOAD_DIRECT \
    BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY BLOCK_REDUCE_WARP_REDUCTIONS BLOCK_SCAN_WARP_SCANS BLOCK_STORE_DIRECT \
    BLOCK_STORE_WARP_TRANSPOSE BlockLoad BlockRadixSort BlockRakingLayout BlockReduce BlockScan BlockStore CTA_SYNC \
    CachingDeviceAllocator CountingInputIterator DeviceHistogram DeviceRadixSort DeviceReduce DeviceRunLengthEncode DeviceScan \
    DeviceSegmentedRadixSort DeviceSegmentedReduce DeviceSelect FpLimits KeyValuePair LaneId Log2 Max Min RowMajorTid ShuffleDown \
    ShuffleIndex Sum TransformInputIterator Uninitialized WarpMask WarpReduce";

/// `namespace cub = hipcub;`, after which `cub::` needs no renaming.
pub fn aliases_cub(source: &Source<'_>) -> bool {
    let is_alias = |at: &u32| {
        let name = at + 2 + u32::from(source.token_text(at + 2) == "::");
        source.before(*at, 1) == "namespace"
            && source.token_text(at + 1) == "="
            && source.token_text(name) == "hipcub"
    };
    source.places("cub").iter().any(is_alias)
}

/// Headers that the hipify of PyTorch 2.15 leaves, or turns into a path that does not exist.
const NOT_HIPIFIED: &[(&str, &str)] = &[
    ("cudaProfiler.h", "hip/hip_runtime_api.h"),
    ("device_launch_parameters.h", ""),
    ("cuda_device_runtime_api.h", "hip/hip_runtime_api.h"),
    ("device_atomic_functions.h", ""),
    ("sm_20_atomic_functions.h", ""),
    ("sm_30_intrinsics.h", ""),
    ("sm_60_atomic_functions.h", ""),
    ("crt/device_functions.h", ""),
    ("texture_fetch_functions.h", ""),
    ("vector_functions.h", "hip/hip_vector_types.h"),
    ("texture_types.h", "hip/hip_texture_types.h"),
    ("surface_types.h", "hip/surface_types.h"),
    ("math_constants.h", "hip/hip_math_constants.h"),
    ("cuda_fp16.hpp", "hip/hip_fp16.h"),
    ("cuda_fp8.h", "hip/hip_fp8.h"),
    ("cublas_api.h", "hipblas/hipblas.h"),
    ("cublasXt.h", "hipblas/hipblas.h"),
    ("cusolverMg.h", "hipsolver/hipsolver.h"),
    ("cusolverRf.h", "hipsolver/hipsolver.h"),
    ("cusolverSp.h", "hipsolver/hipsolver.h"),
    ("cusolverSp_LOWLEVEL_PREVIEW.h", "hipsolver/hipsolver.h"),
    ("cusolver_common.h", "hipsolver/hipsolver.h"),
    ("cusparse_v2.h", "hipsparse/hipsparse.h"),
    ("nvtx3/nvToolsExt.h", "roctracer/roctx.h"),
];

/// Headers that it converts.
const HIPIFIED: &[(&str, &str)] = &[
    ("cuda.h", "hip/hip_runtime.h"),
    ("cuda_runtime.h", "hip/hip_runtime.h"),
    ("cuda_runtime_api.h", "hip/hip_runtime_api.h"),
    ("cuda_profiler_api.h", "hip/hip_runtime_api.h"),
    ("device_functions.h", "hip/device_functions.h"),
    ("channel_descriptor.h", "hip/channel_descriptor.h"),
    ("driver_types.h", "hip/driver_types.h"),
    ("library_types.h", "hip/library_types.h"),
    ("vector_types.h", "hip/hip_vector_types.h"),
    ("cuda_texture_types.h", "hip/hip_texture_types.h"),
    ("cuComplex.h", "hip/hip_complex.h"),
    ("cuda_fp16.h", "hip/hip_fp16.h"),
    ("cuda_bf16.h", "hip/hip_bf16.h"),
    ("cooperative_groups.h", "hip/hip_cooperative_groups.h"),
    ("cublas.h", "hipblas/hipblas.h"),
    ("cublas_v2.h", "hipblas/hipblas.h"),
    ("cublasLt.h", "hipblaslt/hipblaslt.h"),
    ("curand.h", "hiprand/hiprand.h"),
    ("curand_kernel.h", "hiprand/hiprand_kernel.h"),
    ("curand_mtgp32_host.h", "hiprand/hiprand_mtgp32_host.h"),
    (
        "curand_mtgp32dc_p_11213.h",
        "rocrand/rocrand_mtgp32_11213.h",
    ),
    ("cusolverDn.h", "hipsolver/hipsolver.h"),
    ("cusparse.h", "hipsparse/hipsparse.h"),
    ("cufft.h", "hipfft/hipfft.h"),
    ("cufftXt.h", "hipfft/hipfftXt.h"),
    ("nvrtc.h", "hip/hiprtc.h"),
    ("nccl.h", "rccl/rccl.h"),
    ("nvToolsExt.h", "roctracer/roctx.h"),
];

const CURAND_PARTS: &str = "discrete.h discrete2.h globals.h lognormal.h mrg32k3a.h mtgp32.h mtgp32_kernel.h normal.h \
    normal_static.h philox4x32_x.h poisson.h precalc.h uniform.h";
