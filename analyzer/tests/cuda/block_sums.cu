// Sums of blocks with shuffles, for any number of lanes. The fix of the mask is unsafe.
#include <cstdio>

#define FULL_MASK 0xffffffff

extern "C" __global__ void block_sums(const float* in, float* out, unsigned n) {
    __shared__ float partial[32];
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = i < n ? in[i] : 0.0f;
    for (int offset = warpSize / 2; offset > 0; offset /= 2) x += __shfl_down_sync(FULL_MASK, x, offset);
    if (threadIdx.x % warpSize == 0) partial[threadIdx.x / warpSize] = x;
    __syncthreads();
    if (threadIdx.x == 0) {
        float sum = 0.0f;
        for (unsigned warp = 0; warp < blockDim.x / warpSize; ++warp) sum += partial[warp];
        out[blockIdx.x] = sum;
    }
}

int run(const float* in, float* out, unsigned n, cudaStream_t stream) {
    block_sums<<<(n + 255) / 256, 256, 0, stream>>>(in, out, n);
    const cudaError_t error = cudaStreamSynchronize(stream);
    if (error == cudaErrorMemoryAllocation || error == cudaErrorInvalidResourceHandle) puts(cudaGetErrorString(error));
    return error == cudaSuccess ? 0 : 1;
}
