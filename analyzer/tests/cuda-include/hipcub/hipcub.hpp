// Declarations of hipCUB for compiling tests/cuda/cub.cu without ROCm: the names, namespaces and
// parameters of hipcub/backend/rocprim. https://github.com/ROCm/hipCUB
#pragma once

#include <hip/hip_runtime.h>

namespace hipcub {

template <typename T, int BLOCK_DIM_X>
class BlockReduce {
public:
    struct TempStorage { T values[BLOCK_DIM_X]; };
    __device__ explicit BlockReduce(TempStorage& storage);
    __device__ T Sum(T input);
};

template <typename T, int BLOCK_DIM_X>
class BlockScan {
public:
    struct TempStorage { T values[BLOCK_DIM_X]; };
    __device__ explicit BlockScan(TempStorage& storage);
    __device__ void ExclusiveSum(T input, T& output);
};

struct DeviceReduce {
    template <typename In, typename Out>
    static hipError_t Sum(void* space, size_t& bytes, In in, Out out, int n, hipStream_t stream = 0, bool debug = false);
    template <typename In, typename Out>
    static hipError_t Max(void* space, size_t& bytes, In in, Out out, int n, hipStream_t stream = 0, bool debug = false);
};

struct DeviceScan {
    template <typename In, typename Out>
    static hipError_t InclusiveSum(void* space, size_t& bytes, In in, Out out, int n, hipStream_t stream = 0, bool debug = false);
};

}  // namespace hipcub
