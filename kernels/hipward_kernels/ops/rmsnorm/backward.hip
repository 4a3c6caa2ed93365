// RMSNorm and add+RMSNorm, backward. With r = 1 / sqrt(mean(x^2) + eps) and g = dy * weight, for each row:
//
//   dx      = r * (g - x * r^2 * mean(g * x)), plus the gradient that reaches the sum, for add+RMSNorm
//   dweight = the sum over rows of dy * x * r
//
// Block b of B (cluster b, if a row has several blocks) processes the rows b, b + B, ..., and stores its part of dweight in
// float32. The caller adds the parts in a fixed order. r is computed again, because x is read in any case.
//
// Compile-time macros: those of hip.hip without _PRELOAD and _STREAM. HIPWARD_ADD: 1: dtotal is added to dx.
#include "hipward.h"
#include "row.h"

constexpr bool ADD = HIPWARD_ADD;

// Whether the weight is read for each row: in registers, it would leave none for other blocks of the same multiprocessor.
constexpr bool REREAD = CLUSTER > 1 && VECTORS > 4;

extern "C" __global__ void HIPWARD_LAUNCH_BOUNDS(THREADS)
    backward(const T* dy, const T* x, const W* weight, const T* dtotal, T* dx, float* parts, i64 rows, i64 dy_stride,
             i64 x_stride, i64 dtotal_stride, i64 step, int columns, float over_columns, float eps) {
  // Two sums for each row; consecutive rows alternate between the halves.
  __shared__ float scratch[2][2 * SCRATCH];
  cluster_arrive();
  const i64 begin = i64(block() / CLUSTER) * ROWS, place = thread() / ROW_THREADS;
  Scale scale[VECTORS];
  const auto read_weight = [&](int v, int column) { scale[v].read(weight + column); };
  if constexpr (HAS_WEIGHT && !REREAD) for_each_vector(columns, true, read_weight);
  float dweight[VECTORS][N] = {};

  // All threads of a block process the same number of rows, because they reduce together.
  cluster_wait();
  int half = 0;
  for (i64 first = begin; first < rows; first += step, half ^= 1) {
    const i64 row = first + place;
    const bool live = ROWS == 1 || row < rows;
    Vec<T> from[VECTORS], slope[VECTORS], more[ADD ? VECTORS : 1];
    for_each_vector(columns, live, [&](int v, int column) { from[v] = load(x + row * x_stride + column); });
    for_each_vector(columns, live, [&](int v, int column) { slope[v] = load(dy + row * dy_stride + column); });
    if constexpr (HAS_WEIGHT && REREAD) for_each_vector(columns, live, read_weight);
    if constexpr (ADD) {
      for_each_vector(columns, live, [&](int v, int column) { more[v] = load(dtotal + row * dtotal_stride + column); });
    }

    Wide<2> sums = {};
    for_each_vector(columns, live, [&](int v, int) {
#pragma unroll
      for (int i = 0; i < N; ++i) {
        const float value = widen(from[v].at[i]);
        sums.at[0] += value * value;
        sums.at[1] += widen(slope[v].at[i]) * scale[v].at(i) * value;
      }
    });
    sums = row_sums(sums, scratch[half]);
    const float r = rsqrt_fast(sums.at[0] * over_columns + eps), along = r * r * (sums.at[1] * over_columns);

    for_each_vector(columns, live, [&](int v, int column) {
      Wide<N> out;
#pragma unroll
      for (int i = 0; i < N; ++i) {
        const float value = widen(from[v].at[i]), outer = widen(slope[v].at[i]);
        float gradient = r * (outer * scale[v].at(i) - value * along);
        if constexpr (ADD) gradient += widen(more[v].at[i]);
        out.at[i] = gradient;
        if constexpr (HAS_WEIGHT) dweight[v][i] += outer * value * r;
      }
      store(dx + row * columns + column, narrow<T>(out));
    });
  }

  if constexpr (HAS_WEIGHT) {
    parts += (begin + place) * columns;
    for_each_vector(columns, true, [&](int v, int column) {
#pragma unroll
      for (int i = 0; i < N; i += Vec<float>::size) {
        Vec<float> part;
#pragma unroll
        for (int j = 0; j < Vec<float>::size; ++j) part.at[j] = dweight[v][i + j];
        store(parts + column + i, part);
      }
    });
  }
}
