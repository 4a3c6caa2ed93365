// Sums 256 values for each block.
__global__ void sum(const float *x, float *out) {
  __shared__ float parts[256 / 32];
  const int lane = threadIdx.x % warpSize, warp = threadIdx.x >> 5;
  float value = x[blockIdx.x * 256 + threadIdx.x];
  for (int distance = 16; distance > 0; distance /= 2)
    value += __shfl_xor_sync(0xffffffff, value, distance);
  if (lane == 0) parts[warp] = value;
  __syncthreads();
  if (threadIdx.x == 0) {
    float total = 0;
    for (int i = 0; i < 256 / 32; ++i) total += parts[i];
    out[blockIdx.x] = total;
  }
}
