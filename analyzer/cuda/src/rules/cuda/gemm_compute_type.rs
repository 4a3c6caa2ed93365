//! HW927: a data type as the compute type of a matrix product.

use std::collections::HashSet;

use crate::CudaChecker;
use hipward_analyzer_core::diagnostic::RawFix;
use hipward_analyzer_core::{HandledBy, Severity};

declare_rule! {
    /// ## What it does
    ///
    /// Finds calls of `cublasGemmEx`, `cublasGemmStridedBatchedEx` and `cublasGemmBatchedEx`, and of hipBLAS's functions with
    /// these names, whose compute type is a data type: `CUDA_R_32F`, or a variable of the type `cudaDataType_t`.
    ///
    /// ## Why on ROCm
    ///
    /// Since CUDA 11 the compute type is a `cublasComputeType_t`. In C++ cuBLAS has a second form of each function, which takes
    /// the data type of older code. hipBLAS has the first form only. hipify writes `HIP_R_32F`, which does not convert to
    /// `hipblasComputeType_t`, so the call does not compile.
    ///
    /// ## Example
    ///
    /// ```cuda
    /// #include <hipblas/hipblas.h>
    ///
    /// void square(hipblasHandle_t handle, int n, const float* a, float* b) {
    ///     const float one = 1, zero = 0;
    ///     hipblasGemmEx(handle, HIPBLAS_OP_N, HIPBLAS_OP_N, n, n, n, &one, a, HIP_R_32F, n, a, HIP_R_32F, n,
    ///                   &zero, b, HIP_R_32F, n, HIP_R_32F, HIPBLAS_GEMM_DEFAULT);
    /// }
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```cuda
    /// #include <hipblas/hipblas.h>
    ///
    /// void square(hipblasHandle_t handle, int n, const float* a, float* b) {
    ///     const float one = 1, zero = 0;
    ///     hipblasGemmEx(handle, HIPBLAS_OP_N, HIPBLAS_OP_N, n, n, n, &one, a, HIP_R_32F, n, a, HIP_R_32F, n,
    ///                   &zero, b, HIP_R_32F, n, HIPBLAS_COMPUTE_32F, HIPBLAS_GEMM_DEFAULT);
    /// }
    /// ```
    ///
    /// ## Fix safety
    ///
    /// Safe: cuBLAS's second form calls the first one with this compute type, except that a handle in the pedantic mode or the
    /// one for TF32 gets the compute type of that mode. Display-only for a variable.
    ///
    /// ## References
    ///
    /// * [hipBLAS: removed in 3.0](https://rocm.docs.amd.com/projects/hipBLAS/en/latest/reference/deprecation.html)
    /// * [cublasGemmEx](https://docs.nvidia.com/cuda/cublas/#cublasgemmex)
    "HW927" "gemm-compute-type" {
        title: "hipBLAS takes no data type as the compute type",
        family: CudaCpp,
        severity: Error,
        applicability: Safe,
        targets: "every ROCm target",
        lesson: Some("port/hipify"),
        cuda: check,
    }
}

const FUNCTIONS: [&str; 6] = [
    "cublasGemmEx",
    "cublasGemmStridedBatchedEx",
    "cublasGemmBatchedEx",
    "hipblasGemmEx",
    "hipblasGemmStridedBatchedEx",
    "hipblasGemmBatchedEx",
];

/// Arguments of the function with the fewest.
const FEWEST: usize = 19;

fn check(cx: &CudaChecker<'_>) {
    let source = cx.source;
    let types = ["cudaDataType_t", "cudaDataType", "hipDataType"];
    let declarations = types.map(|kind| source.places(kind));
    let variables: HashSet<&str> = declarations
        .into_iter()
        .flatten()
        .map(|at| source.token_text(at + 1))
        .collect();
    for function in FUNCTIONS {
        // rocBLAS takes a data type.
        if cx.roc_name(function).is_some() {
            continue;
        }
        for at in cx.uses(function) {
            let Some(call) = source.call(at) else {
                continue;
            };
            let arguments = source.arguments(&call);
            let Some(kind) = arguments.iter().nth_back(1).filter(|kind| kind.len() == 1) else {
                continue;
            };
            let name = source.token_text(kind.start);
            let fix = if let Some(new) = compute_type(name) {
                let edits = vec![(source.span(kind.clone()), new.clone())];
                RawFix::safe_edits(format!("Use {new}"), edits)
            } else if variables.contains(name) {
                RawFix::display_only("Give it the type cublasComputeType_t")
            } else {
                continue;
            };
            if arguments.len() >= FEWEST {
                cx.report_as(
                    &RULE,
                    Severity::Error,
                    HandledBy::You,
                    kind.clone(),
                    format!(
                        "`{name}` is a data type; hipBLAS takes a `hipblasComputeType_t` here."
                    ),
                    fix,
                );
            }
        }
    }
}

/// `CUBLAS_COMPUTE_32F` for `CUDA_R_32F`, `HIPBLAS_COMPUTE_32F` for `HIP_R_32F`.
fn compute_type(data_type: &str) -> Option<String> {
    let (library, kind) = match data_type.strip_prefix("CUDA_") {
        Some(kind) => ("CUBLAS", kind),
        None => ("HIPBLAS", data_type.strip_prefix("HIP_")?),
    };
    let (_, size) = kind.split_once('_')?;
    matches!(size, "16F" | "32F" | "64F" | "32I").then(|| format!("{library}_COMPUTE_{size}"))
}
