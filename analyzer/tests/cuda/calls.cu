// Calls whose arguments differ from HIP's: overloads of later CUDA releases, defaults that HIP lacks, symbols.
#include <cuda.h>
#include <cuda_runtime.h>

__constant__ float weights[16];

__global__ void scale(float* x) { x[threadIdx.x] *= weights[threadIdx.x % 16]; }

bool graphs(cudaGraph_t graph, cudaGraphNode_t a, cudaGraphNode_t b, cudaStream_t stream) {
    cudaGraphExec_t executable;
    cudaGraphNode_t failed;
    cudaGraphExecUpdateResult result;
    size_t count = 1;
    char text[64];
    bool ok = cudaGraphInstantiate(&executable, graph, 0) == cudaSuccess;
    ok = ok && cudaGraphInstantiate(&executable, graph) == cudaSuccess;
    ok = ok && cudaGraphInstantiate(&executable, graph, &failed, text, sizeof text) == cudaSuccess;
    ok = ok && cudaGraphExecUpdate(executable, graph, &failed, &result) == cudaSuccess;
    ok = ok && cudaGraphAddDependencies(graph, &a, &b, 1) == cudaSuccess;
    ok = ok && cudaGraphAddDependencies(graph, &a, &b, nullptr, 1) == cudaSuccess;
    ok = ok && cudaGraphRemoveDependencies(graph, &a, &b, NULL, 1) == cudaSuccess;
    ok = ok && cudaGraphGetEdges(graph, &a, &b, nullptr, &count) == cudaSuccess;
    ok = ok && cudaGraphNodeGetDependencies(a, nullptr, nullptr, &count) == cudaSuccess;
    ok = ok && cudaGraphNodeGetDependentNodes(a, nullptr, &count) == cudaSuccess;
    cudaStreamCaptureStatus status;
    unsigned long long id;
    cudaGraph_t captured;
    const cudaGraphNode_t* nodes;
    ok = ok && cudaStreamGetCaptureInfo(stream, &status) == cudaSuccess;
    ok = ok && cudaStreamGetCaptureInfo(stream, &status, &id) == cudaSuccess;
    ok = ok && cudaStreamGetCaptureInfo(stream, &status, &id, &captured, &nodes, &count) == cudaSuccess;
    ok = ok && cudaStreamGetCaptureInfo(stream, &status, &id, &captured, &nodes, nullptr, &count) == cudaSuccess;
    return ok && cudaStreamUpdateCaptureDependencies(stream, &a, nullptr, 1, 0) == cudaSuccess;
}

bool symbols(cudaGraph_t graph, cudaGraphExec_t executable, float* host, cudaStream_t stream) {
    cudaGraphNode_t node;
    const size_t bytes = sizeof weights;
    bool ok = cudaMemcpyToSymbolAsync(weights, host, bytes) == cudaSuccess;
    ok = ok && cudaMemcpyToSymbolAsync(weights, host, bytes, 0) == cudaSuccess;
    ok = ok && cudaMemcpyFromSymbolAsync(host, weights, bytes) == cudaSuccess;
    ok = ok && cudaMemcpyFromSymbolAsync(host, weights, bytes, 0, cudaMemcpyDeviceToHost, stream) == cudaSuccess;
    ok = ok && cudaGraphAddMemcpyNodeToSymbol(&node, graph, nullptr, 0, weights, host, bytes, 0, cudaMemcpyHostToDevice) == cudaSuccess;
    ok = ok && cudaGraphAddMemcpyNodeFromSymbol(&node, graph, nullptr, 0, host, weights, bytes, 0, cudaMemcpyDeviceToHost) == cudaSuccess;
    ok = ok && cudaGraphMemcpyNodeSetParamsToSymbol(node, weights, host, bytes, 0, cudaMemcpyHostToDevice) == cudaSuccess;
    ok = ok && cudaGraphMemcpyNodeSetParamsFromSymbol(node, host, weights, bytes, 0, cudaMemcpyDeviceToHost) == cudaSuccess;
    ok = ok && cudaGraphExecMemcpyNodeSetParamsToSymbol(executable, node, weights, host, bytes, 0, cudaMemcpyHostToDevice) == cudaSuccess;
    return ok && cudaGraphExecMemcpyNodeSetParamsFromSymbol(executable, node, host, weights, bytes, 0, cudaMemcpyDeviceToHost) == cudaSuccess;
}

bool launches(float* x, cudaStream_t stream) {
    int grid, block, blocks;
    void* arguments[] = {&x};
    bool ok = cudaOccupancyMaxPotentialBlockSize(&grid, &block, scale) == cudaSuccess;
    ok = ok && cudaOccupancyMaxPotentialBlockSize(&grid, &block, scale, 0, 256) == cudaSuccess;
    ok = ok && cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, scale, block, 0) == cudaSuccess;
    cudaFuncAttributes attributes;
    ok = ok && cudaFuncGetAttributes(&attributes, &scale) == cudaSuccess;
    ok = ok && cudaLaunchCooperativeKernel(scale, dim3(grid), dim3(block), arguments) == cudaSuccess;
    ok = ok && cudaLaunchCooperativeKernel((void*)scale, dim3(grid), dim3(block), arguments, 0, stream) == cudaSuccess;
    return ok && cudaLaunchKernel(scale, dim3(grid), dim3(block), arguments) == cudaSuccess;
}

bool driver(CUfunction function, CUdeviceptr to, CUdeviceptr from, CUgraph graph, CUstream stream) {
    int grid, block;
    CUgraphExec executable;
    CUcontext context;
    void* address;
    bool ok = cuOccupancyMaxPotentialBlockSize(&grid, &block, function, nullptr, 0, 0) == CUDA_SUCCESS;
    ok = ok && cuOccupancyMaxPotentialBlockSizeWithFlags(&grid, &block, function, NULL, 0, 0, 0) == CUDA_SUCCESS;
    ok = ok && cuMemcpy(to, from, 64) == CUDA_SUCCESS;
    ok = ok && cuMemcpyAsync(to, from, 64, stream) == CUDA_SUCCESS;
    ok = ok && cuCtxCreate(&context, nullptr, 0, 0) == CUDA_SUCCESS;
    ok = ok && cuGetProcAddress("hipMalloc", &address, 12000, 0) == CUDA_SUCCESS;
    return ok && cuGraphInstantiate(&executable, graph, 0) == CUDA_SUCCESS;
}

#ifdef __CUDACC__
__device__ float twice(float x) { return 2 * x; }
#endif
#ifndef __CUDACC__
#error "this is for a compiler of device code"
#endif
