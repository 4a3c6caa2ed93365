#include <hip/hip_runtime.h>

// Counts how often each number can be halved before it is at most 1. Lanes that leave the loop are masked until
// the last one leaves it.
__global__ void branch(const float* x, int* y) {
  float value = x[threadIdx.x];
  int count = 0;
  if (threadIdx.x % 4 != 3) {
    while (value > 1.0f) {
      value *= 0.5f;
      ++count;
    }
  }
  y[threadIdx.x] = count;
}
