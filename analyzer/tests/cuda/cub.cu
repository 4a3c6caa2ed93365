// CUB with every form of its namespace.
#include <cuda_runtime.h>
#include <cub/cub.cuh>

using namespace cub;
namespace primitives = ::cub;

template <typename T, int THREADS>
__global__ void sum(const T* in, T* out) {
    using Reduce = BlockReduce<T, THREADS>;
    using Scan = typename ::cub::BlockScan<T, THREADS>;
    __shared__ typename Reduce::TempStorage storage;
    __shared__ typename Scan::TempStorage scanned;
    T before;
    Scan(scanned).ExclusiveSum(in[threadIdx.x], before);
    T total = Reduce(storage).Sum(before);
    if (threadIdx.x == 0) *out = total;
}

cudaError_t run(const int* in, int* out, void* space, size_t bytes, int n, cudaStream_t stream) {
    sum<int, 128><<<1, 128, 0, stream>>>(in, out);
    if (DeviceScan::InclusiveSum(space, bytes, in, out, n, stream) != cudaSuccess) return cudaGetLastError();
    if (primitives::DeviceReduce::Sum(space, bytes, in, out, n, stream) != cudaSuccess) return cudaGetLastError();
    return ::cub::DeviceReduce::Max(space, bytes, in, out, n, stream);
}
