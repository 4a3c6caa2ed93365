// LayerNorm, backward. With r = 1 / sqrt(variance + eps), z = (x - mean) * r and g = dy * weight, for each row:
//
//   dx      = r * (g - mean(g) - z * mean(g * z))
//   dweight = the sum over rows of dy * z
//   dbias   = the sum over rows of dy
//
// Block b of B (cluster b, if a row has several blocks) processes the rows b, b + B, ..., and stores its parts of dweight and
// dbias in float32, one after the other. The caller adds the parts in a fixed order. mean and r are those of the forward.
//
// Compile-time macros: those of hip.hip without _PRELOAD and _SAVE.
#include "hipward.h"
#include "row.h"

constexpr bool HAS_BIAS = HIPWARD_HAS_BIAS;
constexpr int PARTS = int(HAS_WEIGHT) + int(HAS_BIAS);

__device__ __forceinline__ void store_part(float* to, const float* values) {
#pragma unroll
  for (int i = 0; i < N; i += Vec<float>::size) {
    Vec<float> part;
#pragma unroll
    for (int j = 0; j < Vec<float>::size; ++j) part.at[j] = values[i + j];
    store(to + i, part);
  }
}

extern "C" __global__ void HIPWARD_LAUNCH_BOUNDS(THREADS)
    backward(const T* dy, const T* x, const W* weight, const float* means, const float* scales, T* dx, float* parts,
             i64 rows, i64 dy_stride, i64 x_stride, i64 step, int columns, float over_columns) {
  // Two sums for each row; consecutive rows alternate between the halves.
  __shared__ float scratch[2][2 * SCRATCH];
  cluster_arrive();
  const i64 begin = i64(block() / CLUSTER) * ROWS, place = thread() / ROW_THREADS;
  float dweight[VECTORS][N] = {}, dbias[VECTORS][N] = {};

  // All threads of a block process the same number of rows, because they reduce together.
  cluster_wait();
  int half = 0;
  for (i64 first = begin; first < rows; first += step, half ^= 1) {
    const i64 row = first + place;
    const bool live = ROWS == 1 || row < rows;
    Vec<T> from[VECTORS], slope[VECTORS];
    for_each_vector(columns, live, [&](int v, int column) { from[v] = load(x + row * x_stride + column); });
    for_each_vector(columns, live, [&](int v, int column) { slope[v] = load(dy + row * dy_stride + column); });
    // Read for each row: in registers, the weight would leave none for a second workgroup on a compute unit.
    Scale scale[VECTORS];
    if constexpr (HAS_WEIGHT) for_each_vector(columns, live, [&](int v, int column) { scale[v].read(weight + column); });
    const float mean = live ? means[row] : 0.0f, r = live ? scales[row] : 0.0f;

    Wide<2> sums = {};
    for_each_vector(columns, live, [&](int v, int) {
#pragma unroll
      for (int i = 0; i < N; ++i) {
        const float gradient = widen(slope[v].at[i]) * scale[v].at(i);
        sums.at[0] += gradient;
        sums.at[1] += gradient * ((widen(from[v].at[i]) - mean) * r);
      }
    });
    sums = row_sums(sums, scratch[half]);
    const float level = sums.at[0] * over_columns, along = sums.at[1] * over_columns;

    for_each_vector(columns, live, [&](int v, int column) {
      Wide<N> out;
#pragma unroll
      for (int i = 0; i < N; ++i) {
        const float outer = widen(slope[v].at[i]), z = (widen(from[v].at[i]) - mean) * r;
        out.at[i] = r * (outer * scale[v].at(i) - level - z * along);
        if constexpr (HAS_WEIGHT) dweight[v][i] += outer * z;
        if constexpr (HAS_BIAS) dbias[v][i] += outer;
      }
      store(dx + row * columns + column, narrow<T>(out));
    });
  }

  parts += (begin + place) * PARTS * columns;
  for_each_vector(columns, PARTS > 0, [&](int v, int column) {
    if constexpr (HAS_WEIGHT) store_part(parts + column, dweight[v]);
    if constexpr (HAS_BIAS) store_part(parts + (PARTS - 1) * columns + column, dbias[v]);
  });
}
