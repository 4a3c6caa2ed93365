// fails: case_rows
// fails: case_short
// message: Only a part of the threads reaches this barrier. It must be outside of the branch.
#include <hip/hip_runtime.h>

// RMSNorm without a weight: a workgroup of 256 threads for each row, of any length.
extern "C" __global__ void rmsnorm(const float* x, float* y, int columns, float eps) {
  __shared__ float parts[256];
  const float* row = x + size_t(blockIdx.x) * columns;
  float sum = 0;
  // hole: mask
  for (int column = threadIdx.x; column < columns; column += 256)
    sum += row[column] * row[column];
  // end: mask
  parts[threadIdx.x] = sum;
  for (int step = 128; step > 0; step /= 2) {
    // hole: step
    if (threadIdx.x < step) {
      __syncthreads();
      parts[threadIdx.x] += parts[threadIdx.x + step];
    }
    // end: step
  }
  // hole: ready
  // Thread 0 has written the sum.
  __syncthreads();
  // end: ready
  const float factor = rsqrtf(parts[0] / columns + eps);
  for (int column = threadIdx.x; column < columns; column += 256)
    y[size_t(blockIdx.x) * columns + column] = row[column] * factor;
}
