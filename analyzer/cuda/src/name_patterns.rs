//! The patterns that most HIP names follow. `build.rs` uses them too: it packs the table of names.

/// CUDA's prefixes and HIP's, the longer ones first.
const BEGINNINGS: &[(&str, &str)] = &[
    ("CUBLASLT_", "HIPBLASLT_"),
    ("CUBLAS_", "HIPBLAS_"),
    ("CUSPARSE_", "HIPSPARSE_"),
    ("CUSOLVER_", "HIPSOLVER_"),
    ("CUFFT_", "HIPFFT_"),
    ("CURAND_", "HIPRAND_"),
    ("NVRTC_", "HIPRTC_"),
    ("cublas", "hipblas"),
    ("cusparse", "hipsparse"),
    ("cusolver", "hipsolver"),
    ("cufft", "hipfft"),
    ("curand", "hiprand"),
    ("nvrtc", "hiprtc"),
    ("cuda", "hip"),
    ("CUDA_", "HIP_"),
    ("CU_", "HIP_"),
    ("cu", "hip"),
    ("CU", "hip"),
];

/// `cudaMalloc` → `hipMalloc`
pub(crate) fn systematic(cuda: &str) -> Option<String> {
    BEGINNINGS
        .iter()
        .find_map(|(from, to)| Some(format!("{to}{}", cuda.strip_prefix(from)?)))
}

/// `cuMemAlloc_v2` → `hipMemAlloc`
pub(crate) fn without_version(cuda: &str) -> Option<String> {
    systematic(cuda.strip_suffix("_v2")?)
}

/// `CU_MEM_LOCATION_TYPE` → `hipMemLocationType`
pub(crate) fn camel_case(cuda: &str) -> String {
    let mut name = "hip".to_owned();
    for word in cuda.split('_').skip(1) {
        let (first, rest) = word.split_at(word.len().min(1));
        name.push_str(first);
        name.push_str(&rest.to_ascii_lowercase());
    }
    name
}
