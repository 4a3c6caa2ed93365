// fails: case_values
// fails: case_segments
// fails: case_wide
// message: Each load takes 64 vectors, so the next one begins 64 vectors later. 256 is the number of floats.
#include <hip/hip_runtime.h>

// sums[row]: the sum of 1024 numbers, by one wavefront. Each of its 64 lanes adds 16 numbers.
extern "C" __global__ void row_sums(const float* x, float* sums) {
  const float* row = x + blockIdx.x * 1024;
  const int lane = threadIdx.x;
  float sum = 0;
  // hole: loads
  const float4* vectors = reinterpret_cast<const float4*>(row);
  for (int i = 0; i < 4; ++i) {
    const float4 v = vectors[i * 256 + lane];
    sum += v.x + v.y + v.z + v.w;
  }
  // end: loads
  for (int distance = 32; distance > 0; distance /= 2) sum += __shfl_xor(sum, distance);
  if (lane == 0) sums[blockIdx.x] = sum;
}
