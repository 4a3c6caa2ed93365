// A captured graph, peer access, memory pools, pointer attributes, two- and three-dimensional copies.
#include <cuda_runtime.h>

__global__ void step(float* x, float by) { x[blockIdx.x * blockDim.x + threadIdx.x] += by; }

struct Graph {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    ~Graph() {
        if (executable) cudaGraphExecDestroy(executable);
        if (graph) cudaGraphDestroy(graph);
    }
};

bool capture(Graph& to, float* x, cudaStream_t stream) {
    if (cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) != cudaSuccess) return false;
    for (int i = 0; i < 4; ++i) step<<<{64, 1}, {256}, 0, stream>>>(x, 1.0f * i);
    return cudaStreamEndCapture(stream, &to.graph) == cudaSuccess &&
           cudaGraphInstantiate(&to.executable, to.graph, nullptr, nullptr, 0) == cudaSuccess &&
           cudaGraphLaunch(to.executable, stream) == cudaSuccess;
}

bool copies(float* host, int device, int peer, cudaStream_t stream) {
    int can = 0;
    size_t free = 0, total = 0, pitch = 0;
    void *rows = nullptr, *pooled = nullptr;
    cudaPointerAttributes attributes;
    cudaMemPool_t pool;
    cudaExtent extent = make_cudaExtent(64, 8, 4);
    cudaPitchedPtr volume;
    bool ok = cudaDeviceCanAccessPeer(&can, device, peer) == cudaSuccess;
    ok = ok && (!can || cudaDeviceEnablePeerAccess(peer, 0) != cudaErrorInvalidDevice);
    ok = ok && cudaMemGetInfo(&free, &total) == cudaSuccess;
    ok = ok && cudaMallocPitch(&rows, &pitch, 100, 8) == cudaSuccess;
    ok = ok && cudaMemcpy2DAsync(rows, pitch, host, 100, 100, 8, cudaMemcpyDefault, stream) == cudaSuccess;
    ok = ok && cudaMalloc3D(&volume, extent) == cudaSuccess && cudaMemset3D(volume, 0, extent) == cudaSuccess;
    ok = ok && cudaDeviceGetDefaultMemPool(&pool, device) == cudaSuccess;
    ok = ok && cudaMallocFromPoolAsync(&pooled, 256, pool, stream) == cudaSuccess;
    ok = ok && cudaFreeAsync(pooled, stream) == cudaSuccess;
    ok = ok && cudaHostRegister(host, 4096, cudaHostRegisterDefault) == cudaSuccess;
    ok = ok && cudaPointerGetAttributes(&attributes, rows) == cudaSuccess && attributes.type == cudaMemoryTypeDevice;
    return ok;
}
