// Ten classic kernels, as they are written for CUDA, for wavefronts of any width.
#include <hip/hip_runtime.h>

constexpr int BLOCK = 256;

extern "C" __global__ void reduction(const float* x, float* sum, int n) {
  __shared__ float parts[BLOCK / 32];
  float own = 0.0f;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) own += x[i];
  for (int offset = warpSize / 2; offset > 0; offset /= 2) own += __shfl_down(own, offset);
  if (threadIdx.x % warpSize == 0) parts[threadIdx.x / warpSize] = own;
  __syncthreads();
  if (threadIdx.x == 0) {
    float total = 0.0f;
    for (int warp = 0; warp < BLOCK / warpSize; ++warp) total += parts[warp];
    atomicAdd(sum, total);
  }
}

extern "C" __global__ void scan(const int* x, int* y, int n) {
  __shared__ int values[2][BLOCK];
  int i = blockIdx.x * BLOCK + threadIdx.x, from = 0;
  values[0][threadIdx.x] = i < n ? x[i] : 0;
  __syncthreads();
  for (int offset = 1; offset < BLOCK; offset *= 2, from = 1 - from) {
    int value = values[from][threadIdx.x];
    if (threadIdx.x >= offset) value += values[from][threadIdx.x - offset];
    values[1 - from][threadIdx.x] = value;
    __syncthreads();
  }
  if (i < n) y[i] = values[from][threadIdx.x];
}

extern "C" __global__ void transpose(const float* x, float* y, int rows, int columns) {
  __shared__ float tile[32][33];
  int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 32 + threadIdx.y;
  for (int i = 0; i < 32; i += blockDim.y)
    if (column < columns && row + i < rows) tile[threadIdx.y + i][threadIdx.x] = x[(row + i) * columns + column];
  __syncthreads();
  column = blockIdx.y * 32 + threadIdx.x, row = blockIdx.x * 32 + threadIdx.y;
  for (int i = 0; i < 32; i += blockDim.y)
    if (column < rows && row + i < columns) y[(row + i) * rows + column] = tile[threadIdx.x][threadIdx.y + i];
}

extern "C" __global__ void histogram(const unsigned char* x, unsigned* bins, int n) {
  __shared__ unsigned own[256];
  own[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&own[x[i]], 1u);
  __syncthreads();
  if (own[threadIdx.x]) atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}

__constant__ float WEIGHTS[5] = {1.0f, -4.0f, 6.0f, -4.0f, 1.0f};

extern "C" __global__ void stencil(const float* x, float* y, int n) {
  __shared__ float tile[BLOCK + 4];
  int i = blockIdx.x * BLOCK + threadIdx.x;
  auto load = [&](int at) { return at >= 0 && at < n ? x[at] : 0.0f; };
  tile[threadIdx.x + 2] = load(i);
  if (threadIdx.x < 2) {
    tile[threadIdx.x] = load(i - 2);
    tile[BLOCK + 2 + threadIdx.x] = load(i + BLOCK);
  }
  __syncthreads();
  float sum = 0.0f;
  for (int k = 0; k < 5; ++k) sum += WEIGHTS[k] * tile[threadIdx.x + k];
  if (i < n) y[i] = sum;
}

extern "C" __global__ void matmul(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ float left[16][16], right[16][16];
  int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0.0f;
  for (int start = 0; start < k; start += 16) {
    int at = start + threadIdx.x, below = start + threadIdx.y;
    left[threadIdx.y][threadIdx.x] = row < m && at < k ? a[row * k + at] : 0.0f;
    right[threadIdx.y][threadIdx.x] = column < n && below < k ? b[below * n + column] : 0.0f;
    __syncthreads();
    for (int i = 0; i < 16; ++i) sum += left[threadIdx.y][i] * right[i][threadIdx.x];
    __syncthreads();
  }
  if (row < m && column < n) c[row * n + column] = sum;
}

extern "C" __global__ void bitonic_sort(int* x) {
  __shared__ int values[BLOCK];
  values[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  for (int size = 2; size <= BLOCK; size *= 2) {
    for (int stride = size / 2; stride > 0; stride /= 2) {
      int other = threadIdx.x ^ stride;
      if (other > threadIdx.x) {
        int a = values[threadIdx.x], b = values[other];
        bool ascending = (threadIdx.x & size) == 0;
        if ((a > b) == ascending) values[threadIdx.x] = b, values[other] = a;
      }
      __syncthreads();
    }
  }
  x[threadIdx.x] = values[threadIdx.x];
}

extern "C" __global__ void softmax(const float* x, float* y, int columns) {
  const float* row = x + blockIdx.x * columns;
  float largest = -INFINITY, sum = 0.0f;
  for (int i = threadIdx.x; i < columns; i += warpSize) largest = fmaxf(largest, row[i]);
  for (int mask = warpSize / 2; mask > 0; mask /= 2) largest = fmaxf(largest, __shfl_xor(largest, mask));
  for (int i = threadIdx.x; i < columns; i += warpSize) sum += expf(row[i] - largest);
  for (int mask = warpSize / 2; mask > 0; mask /= 2) sum += __shfl_xor(sum, mask);
  for (int i = threadIdx.x; i < columns; i += warpSize) y[blockIdx.x * columns + i] = expf(row[i] - largest) / sum;
}

extern "C" __global__ void atomics(const int* x, int* results, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  atomicMax(&results[0], x[i]);
  atomicMin(&results[1], x[i]);
  atomicXor(&results[2], x[i]);
  atomicInc((unsigned*)&results[3], 1000);
  int seen = results[4], expected;
  do {
    expected = seen;
    seen = atomicCAS(&results[4], expected, expected * 3 + 1 > 1000000 ? 7 : expected * 3 + 1);
  } while (seen != expected);
}

extern "C" __global__ void warp_shuffles(const int* x, int* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % warpSize;
  int value = i < n ? x[i] : 0;
  unsigned long long odd = __ballot(value & 1);
  int before = __popcll(odd & ((1ull << lane) - 1));
  for (int offset = 1; offset < warpSize; offset *= 2) {
    int left = __shfl_up(value, offset);
    if (lane >= offset) value += left;
  }
  int first = __shfl(value, 0), any = __any(value < 0), all = __all(value > -1000000);
  if (i < n) y[i] = value * 8 + before + first + 2 * any + 4 * all;
}
