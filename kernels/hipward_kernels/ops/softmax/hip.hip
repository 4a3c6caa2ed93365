// Softmax of rows, and its gradient. A row is in the registers of HIPWARD_ROW_THREADS threads:
//
//   y  = exp(x - max(x)) / sum(exp(x - max(x)))
//   dx = y * (dy - sum(dy * y))
//
// Compile-time macros: HIPWARD_T (f32, f16 or bf16), HIPWARD_WAVE, _ROW_THREADS, _ROWS, _CLUSTER, _VECTORS and _WHOLE, as in
// rmsnorm/hip.hip.
#define HIPWARD_W HIPWARD_T
#define HIPWARD_HAS_WEIGHT 0
#include "hipward.h"
#include "row.h"

constexpr float LOG2E = 1.4426950408889634f;

__device__ __forceinline__ float exponential(float x) { return exp2_fast(x * LOG2E); }

// exp(top - row's top) / row's sum, from a thread's largest number and its sum of exp(x - top). One barrier serves for both.
__device__ __forceinline__ float row_factor(float top, float sum, float* scratch) {
  constexpr int lanes = ROW_THREADS < WAVE ? ROW_THREADS : WAVE;
  float of_row = reduce_lanes<Max, lanes>(top);
  sum = reduce_lanes<Sum, lanes>(sum * exponential(top - of_row));
  if constexpr (ROW_THREADS > WAVE || CLUSTER > 1) {
    const Wide<2> of_wave = {{of_row, sum}};
    const float* of_waves;
    if constexpr (CLUSTER > 1) {
      of_waves = share_in_cluster<ROW_THREADS, WAVE, CLUSTER>(of_wave, scratch);
    } else {
      of_waves = share<ROW_THREADS, WAVE>(of_wave, scratch);
    }
    // A lane has a wave, or several.
    constexpr int waves = ROW_THREADS / WAVE * CLUSTER, sharing = waves < WAVE ? waves : WAVE;
    const int lane = thread() % sharing;
#pragma unroll
    for (int i = 0; i < waves; i += sharing) of_row = Max::of(of_waves[2 * (i + lane)], of_row);
    of_row = reduce_lanes<Max, sharing>(of_row);
    sum = 0.0f;
#pragma unroll
    for (int i = 0; i < waves; i += sharing) {
      sum += of_waves[2 * (i + lane) + 1] * exponential(of_waves[2 * (i + lane)] - of_row);
    }
    sum = reduce_lanes<Sum, sharing>(sum);
  }
  return exponential(top - of_row) * reciprocal(sum);
}

extern "C" __global__ void HIPWARD_LAUNCH_BOUNDS(THREADS) forward(const T* x, T* y, i64 rows, i64 x_stride, int columns) {
  __shared__ float scratch[2 * SCRATCH];
  cluster_arrive();
  const i64 row = i64(block() / CLUSTER) * ROWS + thread() / ROW_THREADS;
  const bool live = ROWS == 1 || row < rows;
  x += row * x_stride;
  Vec<T> values[VECTORS];
  for_each_vector(columns, live, [&](int v, int column) { values[v] = load(x + column); });

  // Finite at first, so that an element of -inf does not result in inf - inf.
  float top = Max::neutral;
  for_each_vector(columns, live, [&](int v, int) {
    const Wide<N> x = widen(values[v]);
#pragma unroll
    for (int i = 0; i < N; ++i) top = Max::of(x.at[i], top);
  });
  // Kept in registers: computed twice, they would take half of the time of the memory.
  Wide<N> exponentials[VECTORS];
  float sums[2] = {};
  for_each_vector(columns, live, [&](int v, int) {
    exponentials[v] = widen(values[v]);
#pragma unroll
    for (int i = 0; i < N; ++i) {
      exponentials[v].at[i] = exponential(exponentials[v].at[i] - top);
      sums[i % 2] += exponentials[v].at[i];
    }
  });
  cluster_wait();
  const float factor = row_factor(top, sums[0] + sums[1], scratch);

  y += row * columns;
  for_each_vector(columns, live, [&](int v, int column) {
#pragma unroll
    for (int i = 0; i < N; ++i) exponentials[v].at[i] *= factor;
    store(y + column, narrow<T>(exponentials[v]));
  });
}

extern "C" __global__ void HIPWARD_LAUNCH_BOUNDS(THREADS)
    backward(const T* dy, const T* y, T* dx, i64 rows, i64 dy_stride, int columns) {
  __shared__ float scratch[SCRATCH];
  cluster_arrive();
  const i64 row = i64(block() / CLUSTER) * ROWS + thread() / ROW_THREADS;
  const bool live = ROWS == 1 || row < rows;
  dy += row * dy_stride;
  y += row * columns;
  Vec<T> values[VECTORS], slope[VECTORS];
  for_each_vector(columns, live, [&](int v, int column) { values[v] = load(y + column); });
  for_each_vector(columns, live, [&](int v, int column) { slope[v] = load(dy + column); });
  float products[2] = {};
  for_each_vector(columns, live, [&](int v, int) {
    const Wide<N> y = widen(values[v]), dy = widen(slope[v]);
#pragma unroll
    for (int i = 0; i < N; ++i) products[i % 2] += y.at[i] * dy.at[i];
  });
  cluster_wait();
  const float along = row_sum(products[0] + products[1], scratch);
  dx += row * columns;
  for_each_vector(columns, live, [&](int v, int column) {
    const Wide<N> y = widen(values[v]);
    Wide<N> out = widen(slope[v]);
#pragma unroll
    for (int i = 0; i < N; ++i) out.at[i] = y.at[i] * (out.at[i] - along);
    store(dx + column, narrow<T>(out));
  });
}
