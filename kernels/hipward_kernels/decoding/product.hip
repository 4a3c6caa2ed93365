// The matrix product of a few rows with a weight, y = x weight^T, for steps of decoding: the weight is read once, at the speed of
// memory. Before it, a residual addition and RMSNorm of the rows; after it, SwiGLU's activation, or RoPE and the stores into the
// caches of keys and values.
//
// HIPWARD_LANES neighbouring threads compute the elements of one or two rows of the weight. A thread loads its first vectors of
// the weight before it waits for the kernel before, so that the memory is busy between two kernels too (NVIDIA, `overlap`).
//
// Compile-time macros:
//   HIPWARD_T        f32, f16 or bf16: all tensors except the tables
//   HIPWARD_W        the norm's weight: HIPWARD_T, or f32
//   HIPWARD_C        the tables of RoPE: HIPWARD_T, or f32
//   HIPWARD_WAVE     lanes of a wave: 64 on AMD Instinct, 32 on NVIDIA
//   HIPWARD_COLUMNS  length of the rows, a multiple of a vector
//   HIPWARD_BATCH    rows of x, each of the next token of a sequence
//   HIPWARD_LANES    threads of a row of the weight, whole waves, a power of two
//   HIPWARD_TILES    results, or pairs of rows, that a group of LANES threads computes: x is normalized once for all of them
//   HIPWARD_NORM     1: x is normalized first
//   HIPWARD_ADD      1: x + residual is normalized, and the sum is stored
//   HIPWARD_THEN     what follows: 0 nothing, 1 SwiGLU's activation, 2 RoPE and the caches
//   HIPWARD_HALF     RoPE's pairs, 1: `i` and `i + HEAD_DIM / 2`; 0: `2 i` and `2 i + 1`
//   HIPWARD_HEADS, HIPWARD_KV_HEADS, HIPWARD_HEAD_DIM   heads of queries, of keys and of values, and their features
#include "hipward.h"

using namespace hipward;

using T = HIPWARD_T;
using W = HIPWARD_W;
using C = HIPWARD_C;

constexpr int THREADS = 256, WAVE = HIPWARD_WAVE, LANES = HIPWARD_LANES;
constexpr int COLUMNS = HIPWARD_COLUMNS, BATCH = HIPWARD_BATCH;
constexpr bool NORM = HIPWARD_NORM, ADD = HIPWARD_ADD;

constexpr int N = Vec<T>::size;
constexpr int VECTORS = COLUMNS / N;
// Vectors of a row that a thread has in flight.
constexpr int DEPTH = (VECTORS + LANES - 1) / LANES < 8 ? (VECTORS + LANES - 1) / LANES : 8;
constexpr int STEPS = (VECTORS + DEPTH * LANES - 1) / (DEPTH * LANES);
constexpr bool WHOLE = VECTORS % (DEPTH * LANES) == 0;
constexpr int TILES = HIPWARD_TILES;
// Rows of the weight of a result.
constexpr int OF_TILE = HIPWARD_THEN ? 2 : 1;
constexpr int ROWS = TILES * OF_TILE;

constexpr int PARTS = THREADS / LANES;
constexpr int WAVES = THREADS / WAVE;
// Vectors of a row of x that a thread normalizes.
constexpr int NORM_VECTORS = NORM ? (VECTORS + THREADS - 1) / THREADS : 1;

static_assert(COLUMNS % N == 0, "rows of whole vectors");
static_assert(LANES % WAVE == 0 && THREADS % LANES == 0, "whole waves");

// The rows that are multiplied, if they are normalized first.
__shared__ alignas(16) T normed[NORM ? BATCH * COLUMNS : 1];
__shared__ float scratch[BATCH * WAVES];
__shared__ float of_waves[ROWS * BATCH * WAVES];

// The weight of the norm for N columns.
struct Scale {
  static constexpr int parts = N / Vec<W>::size;
  Vec<W> values[parts];

  __device__ __forceinline__ void read(const W* from) {
#pragma unroll
    for (int part = 0; part < parts; ++part) values[part] = load(from + part * Vec<W>::size);
  }
  __device__ __forceinline__ float at(int i) const { return widen(values[i / Vec<W>::size].at[i % Vec<W>::size]); }
};

// Calls `body` for each vector of a row that this thread normalizes, with its index and its first column.
template <typename Body>
__device__ __forceinline__ void each(Body body) {
#pragma unroll
  for (int v = 0; v < NORM_VECTORS; ++v) {
    const int column = (v * THREADS + thread()) * N;
    if (VECTORS % THREADS == 0 || column < COLUMNS) body(v, column);
  }
}

// Normalizes all rows of x into `normed`. The sum with `residual` is rounded first, as in two separate ops.
__device__ __forceinline__ void normalize(const T* x, const T* residual, const W* norm, T* total, float eps) {
  Scale scale[NORM_VECTORS];
  // A constant, so it can be read before the kernel before has ended.
  each([&](int v, int column) { scale[v].read(norm + column); });
  wait_for_kernel_before();

  Vec<T> rows[BATCH][NORM_VECTORS];
  Wide<BATCH> squares;
#pragma unroll
  for (int m = 0; m < BATCH; ++m) {
    each([&](int v, int column) { rows[m][v] = load(x + m * COLUMNS + column); });
    if constexpr (ADD) {
      each([&](int v, int column) {
        Wide<N> sum = widen(rows[m][v]);
        const Wide<N> other = widen(load(residual + m * COLUMNS + column));
#pragma unroll
        for (int i = 0; i < N; ++i) sum.at[i] += other.at[i];
        rows[m][v] = narrow<T>(sum);
        if (block() == 0) store(total + m * COLUMNS + column, rows[m][v]);
      });
    }
    squares.at[m] = 0.0f;
    each([&](int v, int) {
      const Wide<N> wide = widen(rows[m][v]);
#pragma unroll
      for (int i = 0; i < N; ++i) squares.at[m] += wide.at[i] * wide.at[i];
    });
  }
  squares = reduce<Sum, THREADS, WAVE>(squares, scratch);
#pragma unroll
  for (int m = 0; m < BATCH; ++m) {
    const float r = rsqrt_fast(squares.at[m] * (1.0f / COLUMNS) + eps);
    each([&](int v, int column) {
      Wide<N> wide = widen(rows[m][v]);
#pragma unroll
      for (int i = 0; i < N; ++i) wide.at[i] = wide.at[i] * r * scale[v].at(i);
      store(normed + m * COLUMNS + column, narrow<T>(wide));
    });
  }
  barrier();
}

// A vector of a row that is multiplied.
__device__ __forceinline__ Vec<T> row_of_x(const T* x, int row, int vector) {
  if constexpr (NORM) return load(normed + row * COLUMNS + vector * N);
  return load(x + row * COLUMNS + vector * N);
}

// A number as the dtype has it, as if the product had been stored.
__device__ __forceinline__ float rounded(float x) { return widen(narrow<T>(x)); }

#if HIPWARD_THEN == 2
constexpr int HEAD_DIM = HIPWARD_HEAD_DIM, PAIRS = HEAD_DIM / 2;
constexpr u32 TURNED = HIPWARD_HEADS + HIPWARD_KV_HEADS;
#endif

// The rows of the weight of a group, as `first` and `first + distance`.
struct Rows {
  u32 first, distance;
  __device__ __forceinline__ Rows(u32 group, u32 groups) {
#if HIPWARD_THEN == 2
    const u32 head = group / PAIRS, pair = group % PAIRS;
    first = head * HEAD_DIM + (HIPWARD_HALF ? pair : 2 * pair);
    distance = HIPWARD_HALF ? PAIRS : 1;
#else
    first = group;
    distance = groups;
#endif
  }
};

// `groups`: rows of the weight over ROWS. `y`: [BATCH, groups], or the queries. The pointers after `total` are used for RoPE: keys
// and values are [BATCH, room, KV_HEADS, HEAD_DIM], and the tables have a row for each position.
extern "C" __global__ void HIPWARD_LAUNCH_BOUNDS(THREADS)
    product(const T* x, const T* residual, const W* norm, const T* weight, T* y, T* total, const C* cos, const C* sin, T* keys,
            T* values, const i64* position, u32 groups, u32 room, float eps) {
  let_next_kernel_start();
  const int lane = thread() % LANES;
  const u32 group = block() * PARTS * TILES + thread() / LANES;
  // Beyond the last result, that one is computed again, because all threads of a block meet at barriers.
  const auto rows_of = [&](int tile) {
    const u32 mine = group + tile * PARTS;
    return Rows(mine < groups ? mine : groups - 1, groups);
  };

  float sums[ROWS][BATCH] = {};
  Vec<T> in_flight[ROWS][DEPTH];
  const auto fetch = [&](int step) {
#pragma unroll
    for (int d = 0; d < DEPTH; ++d) {
      const int vector = (step * DEPTH + d) * LANES + lane;
      if (!WHOLE && vector >= VECTORS) continue;
#pragma unroll
      for (int r = 0; r < ROWS; ++r) {
        const Rows rows = rows_of(r / OF_TILE);
        in_flight[r][d] = load_once(weight + i64(rows.first + r % OF_TILE * rows.distance) * COLUMNS + vector * N);
      }
    }
  };
  fetch(0);
  if constexpr (NORM) {
    normalize(x, residual, norm, total, eps);
  } else {
    wait_for_kernel_before();
  }
#if HIPWARD_THEN == 2
  // Loaded while the products are computed.
  static_assert(TILES == 1, "one pair");
  const Rows rows = rows_of(0);
  const u32 head = rows.first / HEAD_DIM, pair = group % PAIRS;
  const i64 at = *position;
  float c = 1.0f, s = 0.0f;
  if (head < TURNED && at < room) {
    c = widen(cos[at * PAIRS + pair]);
    s = widen(sin[at * PAIRS + pair]);
  }
#endif
#pragma unroll 1
  for (int step = 0; step < STEPS; ++step) {
    if (step) fetch(step);
#pragma unroll
    for (int d = 0; d < DEPTH; ++d) {
      const int vector = (step * DEPTH + d) * LANES + lane;
      if (!WHOLE && vector >= VECTORS) continue;
      Wide<N> of_weight[ROWS];
#pragma unroll
      for (int r = 0; r < ROWS; ++r) of_weight[r] = widen(in_flight[r][d]);
#pragma unroll
      for (int m = 0; m < BATCH; ++m) {
        const Wide<N> of_x = widen(row_of_x(x, m, vector));
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
#pragma unroll
          for (int i = 0; i < N; ++i) sums[r][m] += of_x.at[i] * of_weight[r].at[i];
        }
      }
    }
  }

  Wide<ROWS * BATCH> all;
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
#pragma unroll
    for (int m = 0; m < BATCH; ++m) all.at[r * BATCH + m] = sums[r][m];
  }
  all = reduce<Sum, LANES, WAVE>(all, of_waves);
#pragma unroll
  for (int each = 0; each < TILES * BATCH; ++each) {
    const int m = each % BATCH, row = each / BATCH * OF_TILE;
    const u32 result = group + row / OF_TILE * PARTS;
    if (lane != each || result >= groups) continue;
    const float first = rounded(all.at[row * BATCH + m]);
#if HIPWARD_THEN == 0
    y[m * i64(groups) + result] = narrow<T>(first);
#elif HIPWARD_THEN == 1
    const float up = rounded(all.at[(row + 1) * BATCH + m]);
    y[m * i64(groups) + result] = narrow<T>(first * up * reciprocal(1.0f + exp2_fast(-1.44269504f * first)));
#else
    const float second = rounded(all.at[(row + 1) * BATCH + m]);
    if (at >= room) continue;
    const u32 feature = rows.first - head * HEAD_DIM;
    T* to;
    const i64 of_cache = (m * i64(room) + at) * (HIPWARD_KV_HEADS * HEAD_DIM) + feature;
    if (head < HIPWARD_HEADS) {
      to = y + (m * HIPWARD_HEADS + head) * HEAD_DIM + feature;
    } else if (head < TURNED) {
      to = keys + of_cache + (head - HIPWARD_HEADS) * HEAD_DIM;
    } else {
      to = values + of_cache + (head - TURNED) * HEAD_DIM;
    }
    to[0] = narrow<T>(first * c - second * s);
    to[rows.distance] = narrow<T>(second * c + first * s);
#endif
  }
}
