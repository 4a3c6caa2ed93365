// The driver API: a module, a function in it, and a launch with its arguments in an array.
#include <cuda.h>

static bool launch(const void* image, CUdeviceptr data, int n) {
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction function;
    CUstream stream;
    if (cuInit(0) != CUDA_SUCCESS || cuDeviceGet(&device, 0) != CUDA_SUCCESS) return false;
    if (cuDevicePrimaryCtxRetain(&context, device) != CUDA_SUCCESS) return false;
    if (cuModuleLoadData(&module, image) != CUDA_SUCCESS) return false;
    if (cuModuleGetFunction(&function, module, "scale") == CUDA_ERROR_NOT_FOUND) return false;
    if (cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS) return false;
    void* arguments[] = {&data, &n};
    if (cuLaunchKernel(function, (n + 255) / 256, 1, 1, 256, 1, 1, 0, stream, arguments, nullptr) != CUDA_SUCCESS) return false;
    int warp = 0;
    if (cuDeviceGetAttribute(&warp, CU_DEVICE_ATTRIBUTE_WARP_SIZE, device) != CUDA_SUCCESS) return false;
    return cuStreamSynchronize(stream) == CUDA_SUCCESS && cuModuleUnload(module) == CUDA_SUCCESS;
}

bool run(const void* image, int n) {
    CUdeviceptr data;
    if (cuMemAlloc(&data, n * sizeof(float)) != CUDA_SUCCESS) return false;
    bool ok = launch(image, data, n);
    return cuMemFree(data) == CUDA_SUCCESS && ok;
}
