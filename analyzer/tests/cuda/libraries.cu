// Host code that uses the libraries. Their headers are not in the Triton wheel, so only the names are checked.
#include <cublas_v2.h>
#include <cublasLt.h>
#include <cuda_runtime.h>
#include <cufft.h>
#include <curand.h>
#include <curand_kernel.h>
#include <cusolverDn.h>
#include <cusparse.h>
#include <nvrtc.h>
#include <cub/cub.cuh>

__global__ void noise(curandState* states, float* out) {
    curandState mine = states[threadIdx.x];
    out[threadIdx.x] = curand_uniform(&mine) + curand_normal(&mine);
    states[threadIdx.x] = mine;
}

bool blas(const float* a, const float* b, float* c, int n, cudaStream_t stream) {
    cublasHandle_t handle;
    const float one = 1.0f, zero = 0.0f;
    bool ok = cublasCreate(&handle) == CUBLAS_STATUS_SUCCESS && cublasSetStream(handle, stream) == CUBLAS_STATUS_SUCCESS;
    ok = ok && cublasSetMathMode(handle, CUBLAS_DEFAULT_MATH) == CUBLAS_STATUS_SUCCESS;
    ok = ok && cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_T, n, n, n, &one, a, n, b, n, &zero, c, n) == CUBLAS_STATUS_SUCCESS;
    ok = ok && cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a, CUDA_R_32F, n, b, CUDA_R_32F, n, &zero, c,
                            CUDA_R_32F, n, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT) == CUBLAS_STATUS_SUCCESS;
    cublasLtHandle_t light;
    cublasLtMatmulDesc_t operation;
    ok = ok && cublasLtCreate(&light) == CUBLAS_STATUS_SUCCESS;
    ok = ok && cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F) == CUBLAS_STATUS_SUCCESS;
    return ok && cublasDestroy(handle) == CUBLAS_STATUS_SUCCESS;
}

bool others(float* x, cufftComplex* signal, int n, cudaStream_t stream) {
    curandGenerator_t generator;
    cufftHandle plan;
    cusparseHandle_t sparse;
    cusolverDnHandle_t solver;
    nvrtcProgram program;
    size_t bytes = 0;
    bool ok = curandCreateGenerator(&generator, CURAND_RNG_PSEUDO_PHILOX4_32_10) == CURAND_STATUS_SUCCESS;
    ok = ok && curandGenerateUniform(generator, x, n) == CURAND_STATUS_SUCCESS;
    ok = ok && cufftPlan1d(&plan, n, CUFFT_C2C, 1) == CUFFT_SUCCESS && cufftSetStream(plan, stream) == CUFFT_SUCCESS;
    ok = ok && cufftExecC2C(plan, signal, signal, CUFFT_FORWARD) == CUFFT_SUCCESS;
    ok = ok && cusparseCreate(&sparse) == CUSPARSE_STATUS_SUCCESS;
    ok = ok && cusolverDnCreate(&solver) == CUSOLVER_STATUS_SUCCESS;
    ok = ok && nvrtcCreateProgram(&program, "", "x.cu", 0, nullptr, nullptr) == NVRTC_SUCCESS;
    ok = ok && cub::DeviceReduce::Sum(nullptr, bytes, x, x, n, stream) == cudaSuccess;
    return ok && cub::DeviceScan::ExclusiveSum(nullptr, bytes, x, x, n, stream) == cudaSuccess;
}
