// A tree reduction in shared memory, with the block size as a template argument and dynamic shared memory.
#include <cuda_runtime.h>
#include <vector>

namespace reduction {

struct Sum {
    template <typename T>
    __host__ __device__ T operator()(T a, T b) const { return a + b; }
};

template <typename T, unsigned Block, typename Op = Sum>
__global__ void __launch_bounds__(Block) reduce(const T* in, T* out, unsigned n, Op op = Op()) {
    extern __shared__ __align__(sizeof(T)) unsigned char bytes[];
    T* shared = reinterpret_cast<T*>(bytes);
    T mine = 0;
    for (unsigned i = blockIdx.x * Block + threadIdx.x; i < n; i += gridDim.x * Block) mine = op(mine, in[i]);
    shared[threadIdx.x] = mine;
    __syncthreads();
#pragma unroll
    for (unsigned step = Block / 2; step > 0; step >>= 1) {
        if (threadIdx.x < step) shared[threadIdx.x] = op(shared[threadIdx.x], shared[threadIdx.x + step]);
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = shared[0];
}

template <typename T>
cudaError_t run(const T* in, T* out, unsigned n, cudaStream_t stream = nullptr) {
    constexpr unsigned block = 256;
    auto kernel = reduce<T, block>;
    int blocks = 0;
    cudaError_t status = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, block, block * sizeof(T));
    if (status != cudaSuccess) return status;
    status = cudaFuncSetAttribute(reduce<T, block>, cudaFuncAttributeMaxDynamicSharedMemorySize, 32 * 1024);
    if (status != cudaSuccess) return status;
    cudaFuncAttributes attributes;
    if ((status = cudaFuncGetAttributes(&attributes, reduce<T, block>)) != cudaSuccess) return status;
    const dim3 grid(static_cast<unsigned>(blocks), 1, 1);
    reduce<T, block><<<grid, dim3(block), block * sizeof(T), stream>>>(in, out, n, Sum());
    reduce<T, block><<<1, block, block * sizeof(T), stream>>>(out, out, blocks, Sum{});
    return cudaPeekAtLastError();
}

template cudaError_t run<float>(const float*, float*, unsigned, cudaStream_t);
template cudaError_t run<double>(const double*, double*, unsigned, cudaStream_t);

}  // namespace reduction
