// The end of a decoding step: the likeliest token of each sequence, its place in the text, and the next position. One block, so
// that no other one reads the position while it is incremented.
//
// Compile-time macros:
//   HIPWARD_T        f32, f16 or bf16
//   HIPWARD_WAVE     lanes of a wave: 64 on AMD Instinct, 32 on NVIDIA
#include "hipward.h"

using namespace hipward;

using T = HIPWARD_T;

constexpr int THREADS = 1024, WAVE = HIPWARD_WAVE, WAVES = THREADS / WAVE;

struct Best {
  float value;
  u32 index;
  // The first of equal values, as in PyTorch.
  __device__ __forceinline__ void take(float other, u32 at) {
    if (other > value || (other == value && at < index)) {
      value = other;
      index = at;
    }
  }
};

// logits: [batch, words]; token: [batch]; text: [batch, length]; position: the number of tokens before, incremented.
extern "C" __global__ void HIPWARD_LAUNCH_BOUNDS(THREADS)
    choose(const T* logits, i64* token, i64* text, i64* position, u32 batch, u32 words, u32 length) {
  __shared__ float values[WAVES];
  __shared__ u32 indices[WAVES];
  wait_for_kernel_before();
  const i64 next = *position + 1;
  for (u32 sequence = 0; sequence < batch; ++sequence) {
    Best best{Max::neutral, words};
    for (u32 word = thread(); word < words; word += THREADS) best.take(widen(logits[i64(sequence) * words + word]), word);
#pragma unroll
    for (int distance = 1; distance < WAVE; distance *= 2) {
      const float other = from_lane_xor(best.value, distance);
      best.take(other, bit_cast<u32>(from_lane_xor(bit_cast<float>(best.index), distance)));
    }
    if (thread() % WAVE == 0) {
      values[thread() / WAVE] = best.value;
      indices[thread() / WAVE] = best.index;
    }
    barrier();
    if (thread() == 0) {
      for (int w = 1; w < WAVES; ++w) best.take(values[w], indices[w]);
      token[sequence] = best.index;
      if (next < length) text[sequence * i64(length) + next] = best.index;
    }
    barrier();
  }
  if (thread() == 0) *position = next;
}
