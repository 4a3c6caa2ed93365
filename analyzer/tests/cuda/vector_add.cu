// Streams, events, pinned and managed memory, device properties.
#include <cstdio>
#include <cstdlib>
#include <cuda.h>
#include <cuda_runtime.h>
#include <device_launch_parameters.h>

#define CUDA_CHECK(call)                                                             \
    do {                                                                             \
        cudaError_t err = (call);                                                    \
        if (err != cudaSuccess) {                                                    \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__,                   \
                    cudaGetErrorName(err), cudaGetErrorString(err)); /* and stop */  \
            exit(EXIT_FAILURE);                                                      \
        }                                                                            \
    } while (0)

template <typename T>
__global__ void add(const T* __restrict__ a, const T* __restrict__ b, T* c, size_t n) {
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) {
        c[i] = a[i] + b[i];
    }
}

static void describe(int device) {
    cudaDeviceProp properties;
    CUDA_CHECK(cudaGetDeviceProperties(&properties, device));
    int blocks = 0;
    CUDA_CHECK(cudaDeviceGetAttribute(&blocks, cudaDevAttrMultiProcessorCount, device));
    printf("%s: %d multiprocessors, %zu bytes\n", properties.name, blocks, properties.totalGlobalMem);
}

int main() {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) == cudaErrorNoDevice || devices == 0) return 0;
    describe(0);
    const size_t n = 1 << 20, bytes = n * sizeof(float);
    float *a, *b, *c, *device_a, *device_b, *device_c, *managed;
    CUDA_CHECK(cudaMallocHost(&a, bytes));
    CUDA_CHECK(cudaMallocHost((void**)&b, bytes));
    CUDA_CHECK(cudaHostAlloc((void**)&c, bytes, cudaHostAllocMapped | cudaHostAllocPortable));
    CUDA_CHECK(cudaMallocManaged(&managed, bytes, cudaMemAttachGlobal));
    CUDA_CHECK(cudaMalloc(&device_a, bytes));
    CUDA_CHECK(cudaMalloc(&device_b, bytes));
    CUDA_CHECK(cudaMalloc((void**)&device_c, bytes));

    cudaStream_t stream;
    cudaEvent_t start, stop;
    CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CUDA_CHECK(cudaEventCreate(&start));
    CUDA_CHECK(cudaEventDestroy(start));
    CUDA_CHECK(cudaEventCreate(&start, cudaEventDefault));
    CUDA_CHECK(cudaEventCreateWithFlags(&stop, cudaEventBlockingSync));
    CUDA_CHECK(cudaEventRecord(start, stream));
    CUDA_CHECK(cudaMemcpyAsync(device_a, a, bytes, cudaMemcpyHostToDevice, stream));
    CUDA_CHECK(cudaMemcpyAsync(device_b, b, bytes, cudaMemcpyHostToDevice, stream));
    add<float><<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(device_a, device_b, device_c, n);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaMemcpyAsync(c, device_c, bytes, cudaMemcpyDeviceToHost, stream));
    CUDA_CHECK(cudaEventRecord(stop, stream));
    CUDA_CHECK(cudaStreamSynchronize(stream));
    float milliseconds = 0;
    CUDA_CHECK(cudaEventElapsedTime(&milliseconds, start, stop));
    printf("%f ms, %f\n", milliseconds, c[0]);
    CUDA_CHECK(cudaFreeHost(a));
    CUDA_CHECK(cudaFree(device_a));
    CUDA_CHECK(cudaStreamDestroy(stream));
    CUDA_CHECK(cudaDeviceReset());
    return 0;
}
