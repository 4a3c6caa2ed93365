// Shuffles and votes with 32-bit masks: their fixes are unsafe.
#include <cuda_runtime.h>

#define FULL_MASK 0xffffffff

__device__ float warp_sum(float x) {
    for (int offset = warpSize / 2; offset > 0; offset /= 2) x += __shfl_down_sync(FULL_MASK, x, offset);
    return __shfl_sync(0xffffffffu, x, 0);
}

__global__ void compact(const float* in, float* out, int* counts, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const bool keep = i < n && in[i] > 0.0f;
    unsigned votes = __ballot_sync(0xffffffff, keep);
    if (threadIdx.x % warpSize == 0) atomicAdd(counts, __popc(votes));
    if (__any_sync(-1, keep)) out[blockIdx.x] = warp_sum(keep ? in[i] : 0.0f);
    __syncwarp(0xffffffff);
    if (__popc(__activemask()) == 0) out[0] = 0.0f;
}

void run(const float* in, float* out, int* counts, int n, cudaStream_t stream) {
    compact<<<(n + 255) / 256, 256, 0, stream>>>(in, out, counts, n);
}
