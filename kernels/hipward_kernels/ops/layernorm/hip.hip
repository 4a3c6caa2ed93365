// LayerNorm, forward: y = (x - mean) / sqrt(variance + eps) * weight + bias.
//
// A row is in the registers of HIPWARD_ROW_THREADS threads, so the variance is the mean square of the differences from the
// mean, which does not cancel for rows far from zero.
//
// Compile-time macros:
//   HIPWARD_T            f32, f16 or bf16: x, y
//   HIPWARD_W            weight and bias: HIPWARD_T, or f32
//   HIPWARD_WAVE         lanes of a wave: 64 on AMD Instinct, 32 on NVIDIA
//   HIPWARD_ROW_THREADS  threads of a block that share a row, a power of two
//   HIPWARD_ROWS         rows of a block; 1 if a row has several blocks
//   HIPWARD_CLUSTER      blocks that share a row
//   HIPWARD_VECTORS      vectors of a thread
//   HIPWARD_WHOLE        1: the threads' vectors cover the row exactly
//   HIPWARD_PRELOAD      1: weight and bias are read before the row is reduced, which uses registers
//   HIPWARD_HAS_WEIGHT   0: weight is not read
//   HIPWARD_HAS_BIAS     0: bias is not read
//   HIPWARD_SAVE         1: mean and 1 / sqrt(variance + eps) of each row are stored, for the backward
#include "hipward.h"
#include "row.h"

constexpr bool PRELOAD = HIPWARD_PRELOAD;
constexpr bool HAS_BIAS = HIPWARD_HAS_BIAS;

using Shift = OfColumns<HAS_BIAS, 0>;

extern "C" __global__ void HIPWARD_LAUNCH_BOUNDS(THREADS)
    forward(const T* x, const W* weight, const W* bias, T* y, float* means, float* scales, i64 rows, i64 x_stride,
            int columns, float over_columns, float eps) {
  __shared__ float scratch[2 * SCRATCH];
  cluster_arrive();
  const i64 row = i64(block() / CLUSTER) * ROWS + thread() / ROW_THREADS;
  const bool live = ROWS == 1 || row < rows;

  // All loads come first, so that they are in flight together.
  x += row * x_stride;
  Vec<T> values[VECTORS];
  for_each_vector(columns, live, [&](int v, int column) { values[v] = load(x + column); });
  Scale scale[PRELOAD ? VECTORS : 1];
  Shift shift[PRELOAD ? VECTORS : 1];
  if constexpr (PRELOAD) {
    for_each_vector(columns, live, [&](int v, int column) {
      if constexpr (HAS_WEIGHT) scale[v].read(weight + column);
      if constexpr (HAS_BIAS) shift[v].read(bias + column);
    });
  }

  // Two sums, because each addition depends on the one before.
  float sums[2] = {};
  for_each_vector(columns, live, [&](int v, int) {
    const Wide<N> x = widen(values[v]);
#pragma unroll
    for (int i = 0; i < N; ++i) sums[i % 2] += x.at[i];
  });
  cluster_wait();
  const float mean = row_sum(sums[0] + sums[1], scratch) * over_columns;
  float squares[2] = {};
  for_each_vector(columns, live, [&](int v, int) {
    const Wide<N> x = widen(values[v]);
#pragma unroll
    for (int i = 0; i < N; ++i) {
      const float difference = x.at[i] - mean;
      squares[i % 2] += difference * difference;
    }
  });
  const float r = rsqrt_fast(row_sum(squares[0] + squares[1], scratch + SCRATCH) * over_columns + eps);

  y += row * columns;
  for_each_vector(columns, live, [&](int v, int column) {
    Scale by = PRELOAD ? scale[PRELOAD ? v : 0] : Scale();
    Shift to = PRELOAD ? shift[PRELOAD ? v : 0] : Shift();
    if constexpr (HAS_WEIGHT && !PRELOAD) by.read(weight + column);
    if constexpr (HAS_BIAS && !PRELOAD) to.read(bias + column);
    Wide<N> out = widen(values[v]);
#pragma unroll
    for (int i = 0; i < N; ++i) out.at[i] = (out.at[i] - mean) * r * by.at(i) + to.at(i);
    store(y + column, narrow<T>(out));
  });
  if constexpr (HIPWARD_SAVE) {
    if (live && thread() % ROW_THREADS == 0 && cluster_rank() == 0) {
      means[row] = mean;
      scales[row] = r;
    }
  }
}
