// RMSNorm and add+RMSNorm, forward: y = x / sqrt(mean(x^2) + eps) * weight, for x or for x + residual.
//
// A row is held in registers by the HIPWARD_ROW_THREADS threads that share it, HIPWARD_VECTORS vectors of 16 bytes each, so
// that memory is read once and written once. Caches keep their own policy: evict-first hints cost 5 % on an H200.
//
// Set when compiling:
//   HIPWARD_T            f32, f16 or bf16: x, residual, y, total
//   HIPWARD_W            weight: HIPWARD_T, or f32
//   HIPWARD_WAVE         lanes of a wave: 64 on AMD Instinct, 32 on NVIDIA
//   HIPWARD_ROW_THREADS  threads of a row, a power of two
//   HIPWARD_ROWS         rows of a block
//   HIPWARD_VECTORS      vectors of a thread
//   HIPWARD_ADD          1: normalize x + residual, and store the sum
//   HIPWARD_HAS_WEIGHT   0: weight is not read
#include "hipward.h"

using namespace hipward;

using T = HIPWARD_T;
using W = HIPWARD_W;

constexpr int WAVE = HIPWARD_WAVE;
constexpr int ROW_THREADS = HIPWARD_ROW_THREADS;
constexpr int ROWS = HIPWARD_ROWS;
constexpr int VECTORS = HIPWARD_VECTORS;
constexpr bool ADD = HIPWARD_ADD;
constexpr bool HAS_WEIGHT = HIPWARD_HAS_WEIGHT;

constexpr int N = Vec<T>::size;
constexpr int THREADS = ROW_THREADS * ROWS;
constexpr int WAVES = THREADS > WAVE ? THREADS / WAVE : 1;

// First column of a thread's vector: neighbouring threads have neighbouring vectors.
__device__ __forceinline__ int column_of(int vector) {
  return (vector * ROW_THREADS + int(thread() % ROW_THREADS)) * N;
}

__device__ __forceinline__ Vec<T> scaled(const Vec<T>& x, float r, const W* weight) {
  Vec<T> y;
  if constexpr (HAS_WEIGHT) {
    constexpr int M = Vec<W>::size;
    static_assert(M <= N, "the weight is no narrower than the rows");
#pragma unroll
    for (int part = 0; part < N / M; ++part) {
      const Vec<W> w = load(weight + part * M);
#pragma unroll
      for (int i = 0; i < M; ++i) {
        const int at = part * M + i;
        y.at[at] = narrow<T>(widen(x.at[at]) * r * widen(w.at[i]));
      }
    }
  } else {
#pragma unroll
    for (int i = 0; i < N; ++i) y.at[i] = narrow<T>(widen(x.at[i]) * r);
  }
  return y;
}

// Normalizes the row whose part is in `values`, and stores it at `y`. Threads without a row of their own take part too.
__device__ __forceinline__ void finish(const Vec<T> (&values)[VECTORS], const W* weight, T* y, int columns, float eps,
                                       float* scratch, bool live) {
  float squares = 0.0f;
#pragma unroll
  for (int v = 0; v < VECTORS; ++v) {
#pragma unroll
    for (int i = 0; i < N; ++i) squares += widen(values[v].at[i]) * widen(values[v].at[i]);
  }
  squares = reduce<Sum, ROW_THREADS, WAVE>(squares, scratch);
  const float r = rsqrt_fast(squares / float(columns) + eps);
#pragma unroll
  for (int v = 0; v < VECTORS; ++v) {
    const int column = column_of(v);
    if (live && column < columns) store(y + column, scaled(values[v], r, weight + column));
  }
}

extern "C" __global__ void HIPWARD_LAUNCH_BOUNDS(THREADS)
    forward(const T* x, const T* residual, const W* weight, T* y, T* total, i64 rows, i64 x_stride, i64 residual_stride,
            int columns, float eps) {
  __shared__ float scratch[WAVES];
  const i64 row = i64(block()) * ROWS + thread() / ROW_THREADS;
  const bool live = row < rows;
  x += row * x_stride;
  Vec<T> values[VECTORS];
#pragma unroll
  for (int v = 0; v < VECTORS; ++v) {
    const int column = column_of(v);
    values[v] = live && column < columns ? load(x + column) : Vec<T>{};
  }
  if constexpr (ADD) {
    residual += row * residual_stride;
    total += row * columns;
    Vec<T> more[VECTORS];
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) {
      const int column = column_of(v);
      more[v] = live && column < columns ? load(residual + column) : Vec<T>{};
    }
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) {
      const int column = column_of(v);
      // The sum is rounded before it is normalized, as the two ops one after the other would.
#pragma unroll
      for (int i = 0; i < N; ++i) values[v].at[i] = narrow<T>(widen(values[v].at[i]) + widen(more[v].at[i]));
      if (live && column < columns) store(total + column, values[v]);
    }
  }
  finish(values, weight, y + row * columns, columns, eps, scratch, live);
}
