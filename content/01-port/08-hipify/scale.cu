#include <cublas_v2.h>
#include <cuda_runtime.h>

__global__ void scale(float *x, float factor, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= factor;
}

void run(cublasHandle_t handle, float *x, float factor, int n, cudaStream_t stream) {
  cublasSetStream(handle, stream);
  scale<<<(n + 255) / 256, 256, 0, stream>>>(x, factor, n);
  cudaStreamSynchronize(stream);
}
