#include <hip/hip_runtime.h>

// Sums 256 values for each block, with wavefronts of 64 or of 32 lanes.
extern "C" __global__ void sum(const float *x, float *out) {
  __shared__ float parts[256 / 32];  // room for the smallest wavefront
  const int lane = threadIdx.x % warpSize, wave = threadIdx.x / warpSize;
  float value = x[blockIdx.x * 256 + threadIdx.x];
  for (int distance = warpSize / 2; distance > 0; distance /= 2)
    value += __shfl_xor(value, distance);
  if (lane == 0) parts[wave] = value;
  __syncthreads();
  if (threadIdx.x == 0) {
    float total = 0;
    for (int i = 0; i < 256 / warpSize; ++i) total += parts[i];
    out[blockIdx.x] = total;
  }
}
