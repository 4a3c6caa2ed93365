// fails: case_segments
// message: Each lane reads 64 neighbouring bytes of its own, so a load touches 64 segments and uses a quarter of each.
#include <hip/hip_runtime.h>

// sums[row]: the sum of 1024 numbers, by one wavefront. Each of its 64 lanes adds 16 numbers.
extern "C" __global__ void row_sums(const float* x, float* sums) {
  const float* row = x + blockIdx.x * 1024;
  const int lane = threadIdx.x;
  float sum = 0;
  // hole: loads
  for (int i = 0; i < 16; ++i) sum += row[lane * 16 + i];
  // end: loads
  for (int distance = 32; distance > 0; distance /= 2) sum += __shfl_xor(sum, distance);
  if (lane == 0) sums[blockIdx.x] = sum;
}
