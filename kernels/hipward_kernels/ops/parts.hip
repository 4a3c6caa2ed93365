// The sum of the parts of a weight's gradient: the rows of a matrix of float32, added in a fixed order and rounded once.
//
// Compile-time macros:
//   HIPWARD_W        dtype of the weight: f32, f16 or bf16
//   HIPWARD_THREADS  threads of a block
//   HIPWARD_ACROSS   vectors of four columns that a block adds
#include "hipward.h"

using namespace hipward;

using W = HIPWARD_W;

constexpr int N = Vec<float>::size;
constexpr int ACROSS = HIPWARD_ACROSS;
constexpr int WIDTH = ACROSS * N;
constexpr int SLICES = HIPWARD_THREADS / ACROSS;

extern "C" __global__ void HIPWARD_LAUNCH_BOUNDS(HIPWARD_THREADS)
    add_parts(const float* parts, W* sum, i64 count, int columns) {
  __shared__ float scratch[SLICES * WIDTH];
  const int place = int(thread()) % ACROSS, slice = int(thread()) / ACROSS;
  const int column = (int(block()) * ACROSS + place) * N;
  float total[N] = {};
  if (column < columns) {
#pragma unroll 4
    for (i64 part = slice; part < count; part += SLICES) {
      const Vec<float> values = load(parts + part * columns + column);
#pragma unroll
      for (int i = 0; i < N; ++i) total[i] += values.at[i];
    }
  }
#pragma unroll
  for (int i = 0; i < N; ++i) scratch[slice * WIDTH + place * N + i] = total[i];
  // Halves the slices until one is left.
#pragma unroll
  for (int left = SLICES / 2; left > 0; left /= 2) {
    barrier();
    for (int at = int(thread()); at < left * WIDTH; at += HIPWARD_THREADS) scratch[at] += scratch[at + left * WIDTH];
  }
  barrier();
  const int mine = int(thread()), to = int(block()) * WIDTH + mine;
  if (mine < WIDTH && to < columns) sum[to] = narrow<W>(scratch[mine]);
}
