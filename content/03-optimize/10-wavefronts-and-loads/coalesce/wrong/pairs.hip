// fails: case_wide
// message: A `float2` has 8 bytes. A load can have 16.
#include <hip/hip_runtime.h>

// sums[row]: the sum of 1024 numbers, by one wavefront. Each of its 64 lanes adds 16 numbers.
extern "C" __global__ void row_sums(const float* x, float* sums) {
  const float* row = x + blockIdx.x * 1024;
  const int lane = threadIdx.x;
  float sum = 0;
  // hole: loads
  const float2* vectors = reinterpret_cast<const float2*>(row);
  for (int i = 0; i < 8; ++i) sum += vectors[i * 64 + lane].x + vectors[i * 64 + lane].y;
  // end: loads
  for (int distance = 32; distance > 0; distance /= 2) sum += __shfl_xor(sum, distance);
  if (lane == 0) sums[blockIdx.x] = sum;
}
