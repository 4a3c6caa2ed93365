// Softmax cross-entropy: losses of rows of logits, and the gradient of the logits.
//
// The forward reads a row once and computes a maximum and a sum of exponentials per thread (online softmax). Compile-time
// macros: HIPWARD_T (f32, f16 or bf16), HIPWARD_WAVE (lanes), HIPWARD_THREADS (of a block).
//
// A training step with the sum or mean of the losses needs `sum` too; its backward reads one gradient for all rows, with
// a stride of 0.
#include "hipward.h"

using namespace hipward;

using T = HIPWARD_T;

constexpr int N = Vec<T>::size;
constexpr int THREADS = HIPWARD_THREADS;
constexpr int WAVES = THREADS / HIPWARD_WAVE;
constexpr float LOG2E = 1.4426950408889634f;
constexpr float LN2 = 0.6931471805599453f;

extern "C" __global__ void HIPWARD_LAUNCH_BOUNDS(THREADS)
    forward(const T* logits, const i64* labels, float* losses, float* normalizers, i64 stride, i64 ignore_index,
            int columns) {
  __shared__ float scratch[2 * WAVES];
  const i64 row = block();
  logits += row * stride;
  // Finite, so that a logit of -inf does not result in inf - inf.
  float largest = Max::neutral, total = 0.0f;
#pragma unroll 4
  for (int column = thread() * N; column < columns; column += THREADS * N) {
    const Wide<N> values = widen(load(logits + column));
    float higher = largest;
#pragma unroll
    for (int i = 0; i < N; ++i) higher = Max::of(values.at[i], higher);
    total *= exp2_fast((largest - higher) * LOG2E);
#pragma unroll
    for (int i = 0; i < N; ++i) total += exp2_fast((values.at[i] - higher) * LOG2E);
    largest = higher;
  }
  const float top = reduce<Max, THREADS, HIPWARD_WAVE>(largest, scratch);
  const float sum = reduce<Sum, THREADS, HIPWARD_WAVE>(total * exp2_fast((largest - top) * LOG2E), scratch + WAVES);
  if (thread() == 0) {
    const float normalizer = top + log2_fast(sum) * LN2;
    const i64 label = labels[row];
    normalizers[row] = normalizer;
    float loss = bit_cast<float>(0x7fc00000u);
    if (label >= 0 && label < columns) loss = normalizer - widen(logits[label]);
    losses[row] = label == ignore_index ? 0.0f : loss;
  }
}

// One block. `factor` is what the gradient of the result is multiplied by for each row: 1, or 1 / the rows that count.
extern "C" __global__ void HIPWARD_LAUNCH_BOUNDS(THREADS)
    sum(const float* losses, const i64* labels, float* result, float* factor, i64 rows, i64 ignore_index, int mean) {
  __shared__ float scratch[2 * WAVES];
  float total = 0.0f, counted = 0.0f;
#pragma unroll 4
  for (i64 row = thread(); row < rows; row += THREADS) {
    total += losses[row];
    counted += labels[row] == ignore_index ? 0.0f : 1.0f;
  }
  total = reduce<Sum, THREADS, HIPWARD_WAVE>(total, scratch);
  counted = reduce<Sum, THREADS, HIPWARD_WAVE>(counted, scratch + WAVES);
  if (thread() == 0) {
    *result = mean ? total / counted : total;
    *factor = mean ? 1.0f / counted : 1.0f;
  }
}

// Block `b` handles N * THREADS columns of row `b / row_blocks`. `factor` may be null, for 1.
extern "C" __global__ void HIPWARD_LAUNCH_BOUNDS(THREADS)
    backward(const float* dlosses, const T* logits, const i64* labels, const float* normalizers, const float* factor,
             T* dlogits, i64 dlosses_stride, i64 stride, i64 ignore_index, int columns, u32 row_blocks) {
  const i64 row = block() / row_blocks;
  const int column = (block() % row_blocks * THREADS + thread()) * N;
  if (column >= columns) return;
  dlogits += row * columns + column;
  const i64 label = labels[row];
  if (label == ignore_index) {
    // Not a product with zero: the gradient is zero even if the row's logits are not finite.
    store(dlogits, Vec<T>{});
    return;
  }
  const float normalizer = normalizers[row], dloss = dlosses[row * dlosses_stride] * (factor ? *factor : 1.0f);
  Wide<N> out = widen(load(logits + row * stride + column));
#pragma unroll
  for (int i = 0; i < N; ++i) out.at[i] = exp2_fast((out.at[i] - normalizer) * LOG2E);
  // One vector of the row has the label.
  if (label >= column && label < column + N) {
#pragma unroll
    for (int i = 0; i < N; ++i) out.at[i] -= label == column + i ? 1.0f : 0.0f;
  }
#pragma unroll
  for (int i = 0; i < N; ++i) out.at[i] *= dloss;
  store(dlogits, narrow<T>(out));
}
