// RMSNorm and add+RMSNorm, forward: y = x / sqrt(mean(x^2) + eps) * weight, for x or for x + residual.
//
// A row is in the registers of HIPWARD_ROW_THREADS threads, HIPWARD_VECTORS vectors of 16 bytes each, so
// that memory is read once and written once. The caches use their default policy unless a sweep found a better one: with many rows
// evict-first hints cost up to 10 % on an H200.
//
// Compile-time macros:
//   HIPWARD_T            f32, f16 or bf16: x, residual, y, total
//   HIPWARD_W            weight: HIPWARD_T, or f32
//   HIPWARD_WAVE         lanes of a wave: 64 on AMD Instinct, 32 on NVIDIA
//   HIPWARD_ROW_THREADS  threads of a block that share a row, a power of two
//   HIPWARD_ROWS         rows of a block; 1 if a row has several blocks
//   HIPWARD_CLUSTER      blocks that share a row
//   HIPWARD_VECTORS      vectors of a thread
//   HIPWARD_WHOLE        1: the threads' vectors cover the row exactly
//   HIPWARD_PRELOAD      1: the weight is read before the row is reduced; 2: together with the row. Both use registers
//   HIPWARD_ONCE         1: a row is loaded with an evict-first hint
//   HIPWARD_STREAM       1: results are stored with an evict-first hint
//   HIPWARD_ADD          1: normalize x + residual, and store the sum
//   HIPWARD_HAS_WEIGHT   0: weight is not read
#include "hipward.h"
#include "row.h"

constexpr bool ADD = HIPWARD_ADD;
constexpr bool PRELOAD = HIPWARD_PRELOAD && HAS_WEIGHT;

__device__ __forceinline__ Vec<T> get(const T* from) { return HIPWARD_ONCE ? load_once(from) : load(from); }

__device__ __forceinline__ void put(T* to, const Vec<T>& values) {
  if constexpr (HIPWARD_STREAM) {
    store_once(to, values);
  } else {
    store(to, values);
  }
}

extern "C" __global__ void HIPWARD_LAUNCH_BOUNDS(THREADS)
    forward(const T* x, const T* residual, const W* weight, T* y, T* total, i64 rows, i64 x_stride, i64 residual_stride,
            int columns, float over_columns, float eps) {
  __shared__ float scratch[SCRATCH];
  cluster_arrive();
  const i64 row = i64(block() / CLUSTER) * ROWS + thread() / ROW_THREADS;
  const bool live = ROWS == 1 || row < rows;

  // All loads come first, so that they are in flight together.
  x += row * x_stride;
  Vec<T> values[VECTORS], more[ADD ? VECTORS : 1];
  for_each_vector(columns, live, [&](int v, int column) { values[v] = get(x + column); });
  if constexpr (ADD) {
    residual += row * residual_stride;
    for_each_vector(columns, live, [&](int v, int column) { more[v] = get(residual + column); });
  }
  Scale scale[PRELOAD ? VECTORS : 1];
  if constexpr (PRELOAD) {
    for_each_vector(columns, live, [&](int v, int column) { scale[v].read(weight + column); });
    if constexpr (HIPWARD_PRELOAD == 2) for_each_vector(columns, live, [&](int v, int) { scale[v].come_with(values[v]); });
  }

  if constexpr (ADD) {
    total += row * columns;
    for_each_vector(columns, live, [&](int v, int column) {
      // The sum is rounded before it is normalized, as in the two separate ops.
      Wide<N> sum = widen(values[v]);
      const Wide<N> other = widen(more[v]);
#pragma unroll
      for (int i = 0; i < N; ++i) sum.at[i] += other.at[i];
      values[v] = narrow<T>(sum);
      put(total + column, values[v]);
    });
  }

  // Two sums, because each addition depends on the one before.
  float squares[2] = {};
  for_each_vector(columns, live, [&](int v, int) {
    const Wide<N> x = widen(values[v]);
#pragma unroll
    for (int i = 0; i < N; ++i) squares[i % 2] += x.at[i] * x.at[i];
  });
  cluster_wait();
  const float r = rsqrt_fast(row_sum(squares[0] + squares[1], scratch) * over_columns + eps);

  y += row * columns;
  for_each_vector(columns, live, [&](int v, int column) {
    Scale by = PRELOAD ? scale[PRELOAD ? v : 0] : Scale();
    if constexpr (HAS_WEIGHT && !PRELOAD) by.read(weight + column);
    Wide<N> out = widen(values[v]);
#pragma unroll
    for (int i = 0; i < N; ++i) out.at[i] = out.at[i] * r * by.at(i);
    put(y + column, narrow<T>(out));
  });
}
