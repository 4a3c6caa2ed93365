#if __CUDA_ARCH__ >= 700
#include <cuda_runtime.h>
__global__ void k(int *a) { a[threadIdx.x % 32] = __ballot_sync(0xffffffff, /* 1); }
k<<<1, (2, f<3>>(>>>(cudaMalloc(&a, "\
