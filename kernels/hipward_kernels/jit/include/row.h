// A row in registers: its distribution over the threads, its weight, and sums over it. Shared by RMSNorm, LayerNorm and softmax,
// forward and backward.
//
// Compile-time macros: HIPWARD_T, _W, _WAVE, _ROW_THREADS, _ROWS, _CLUSTER, _VECTORS, _WHOLE and _HAS_WEIGHT, which the including
// file describes.
#pragma once

using namespace hipward;

using T = HIPWARD_T;
using W = HIPWARD_W;

constexpr int WAVE = HIPWARD_WAVE;
constexpr int ROW_THREADS = HIPWARD_ROW_THREADS;
constexpr int ROWS = HIPWARD_ROWS;
constexpr int CLUSTER = HIPWARD_CLUSTER;
constexpr int VECTORS = HIPWARD_VECTORS;
constexpr bool HAS_WEIGHT = HIPWARD_HAS_WEIGHT;

constexpr int N = Vec<T>::size;
constexpr int THREADS = ROW_THREADS * ROWS;
constexpr int WAVES = THREADS > WAVE ? THREADS / WAVE : 1;
// Scratch memory for each number that is summed over a row, in floats.
constexpr int SCRATCH = WAVES * CLUSTER;

static_assert(CLUSTER == 1 || ROWS == 1, "a row of several blocks is alone in each");

// Calls `body` for each of the thread's vectors that is inside the row, with its index and its first column:
// neighbouring threads have neighbouring vectors.
template <typename Body>
__device__ __forceinline__ void for_each_vector(int columns, bool live, Body body) {
  const int first = (int(cluster_rank()) * VECTORS * ROW_THREADS + int(thread() % ROW_THREADS)) * N;
#pragma unroll
  for (int v = 0; v < VECTORS; ++v) {
    const int column = first + v * ROW_THREADS * N;
    if (live && (HIPWARD_WHOLE || column < columns)) body(v, column);
  }
}

// A weight or bias of a vector's columns, in the dtype W; `ABSENT` for each column if there is none.
template <bool PRESENT, int ABSENT>
struct OfColumns {
  static constexpr int parts = Vec<T>::size / Vec<W>::size;
  static_assert(parts > 0, "the weight is no narrower than the rows");
  Vec<W> values[PRESENT ? parts : 1];

  __device__ __forceinline__ void read(const W* from) {
#pragma unroll
    for (int part = 0; part < parts; ++part) values[part] = load(from + part * Vec<W>::size);
  }
  // The row's vector depends on these; see `together`.
  __device__ __forceinline__ void come_with(Vec<T>& of_row) const {
#pragma unroll
    for (int part = 0; part < parts; ++part) together(of_row, values[part]);
  }
  __device__ __forceinline__ float at(int i) const {
    return PRESENT ? widen(values[i / Vec<W>::size]).at[i % Vec<W>::size] : float(ABSENT);
  }
};

using Scale = OfColumns<HAS_WEIGHT, 1>;

// Sums over the row's threads. All threads of the block must call it, also those without a row; two consecutive calls must use
// different scratch memory, of COUNT * SCRATCH floats. If a row has several blocks, they must have started: `cluster_wait`.
template <int COUNT>
__device__ __forceinline__ Wide<COUNT> row_sums(const Wide<COUNT>& x, float* scratch) {
  if constexpr (CLUSTER > 1) {
    return reduce_in_cluster<Sum, ROW_THREADS, WAVE, CLUSTER>(x, scratch);
  } else {
    return reduce<Sum, ROW_THREADS, WAVE>(x, scratch);
  }
}
__device__ __forceinline__ float row_sum(float x, float* scratch) { return row_sums(Wide<1>{{x}}, scratch).at[0]; }
