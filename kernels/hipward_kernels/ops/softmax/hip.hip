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

extern "C" __global__ void HIPWARD_LAUNCH_BOUNDS(THREADS) forward(const T* x, T* y, i64 rows, i64 x_stride, int columns) {
  __shared__ float scratch[2 * SCRATCH];
  cluster_arrive();
  const i64 row = i64(block() / CLUSTER) * ROWS + thread() / ROW_THREADS;
  const bool live = ROWS == 1 || row < rows;
  x += row * x_stride;
  Vec<T> values[VECTORS];
  for_each_vector(columns, live, [&](int v, int column) { values[v] = load(x + column); });

  // Finite at first, so that an element of -inf does not result in inf - inf.
  float largest = Max::neutral;
  for_each_vector(columns, live, [&](int v, int) {
    const Wide<N> x = widen(values[v]);
#pragma unroll
    for (int i = 0; i < N; ++i) largest = Max::of(x.at[i], largest);
  });
  const float top = row_reduce<Max>(largest, scratch);
  cluster_arrive();
  const auto exponential = [&](float x) { return exp2_fast((x - top) * LOG2E); };
  float sums[2] = {};
  for_each_vector(columns, live, [&](int v, int) {
    const Wide<N> x = widen(values[v]);
#pragma unroll
    for (int i = 0; i < N; ++i) sums[i % 2] += exponential(x.at[i]);
  });
  const float over = reciprocal(row_sum(sums[0] + sums[1], scratch + SCRATCH));

  y += row * columns;
  for_each_vector(columns, live, [&](int v, int column) {
    Wide<N> out = widen(values[v]);
#pragma unroll
    for (int i = 0; i < N; ++i) out.at[i] = exponential(out.at[i]) * over;
    store(y + column, narrow<T>(out));
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
