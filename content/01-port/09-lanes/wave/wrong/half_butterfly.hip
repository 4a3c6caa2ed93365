// fails: case_sums
// message: The two halves of a wavefront never meet: the first distance is 16, and a wavefront has 64 lanes.
#include <hip/hip_runtime.h>

// sums[block]: the sum of 256 numbers, by a block of 256 threads.
extern "C" __global__ void row_sums(const float* x, float* sums) {
  __shared__ float parts[256 / 32];  // room for the smallest wavefront
  float value = x[blockIdx.x * 256 + threadIdx.x];
  // hole: butterfly
  for (int distance = 16; distance > 0; distance /= 2)
    value += __shfl_xor(value, distance);
  // end: butterfly
  if (threadIdx.x % warpSize == 0) parts[threadIdx.x / warpSize] = value;
  __syncthreads();
  if (threadIdx.x == 0) {
    float total = 0;
    for (int wave = 0; wave < 256 / warpSize; ++wave) total += parts[wave];
    sums[blockIdx.x] = total;
  }
}

// rank[i]: how many numbers before x[i] are positive, counted within the wavefront.
extern "C" __global__ void ranks(const float* x, int* rank) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  // hole: ballot
  const int lane = threadIdx.x % warpSize;
  const unsigned long long votes = __ballot(x[i] > 0);
  rank[i] = __popcll(votes & ((1ull << lane) - 1));
  // end: ballot
}
