// Attention of one query a sequence with the filled positions of caches, for steps of decoding ("flash decoding").
//
// The lanes of a team read one key and one value at a time, and have running maxima and sums of the heads that share them. The
// teams of a block are merged at the end. If one block for each head of the keys would leave most of the GPU idle, several share the
// positions, and `combine` merges their results.
//
// Compile-time macros:
//   HIPWARD_T        f32, f16 or bf16
//   HIPWARD_WAVE     lanes of a wave: 64 on AMD Instinct, 32 on NVIDIA
//   HIPWARD_HEADS, HIPWARD_KV_HEADS, HIPWARD_HEAD_DIM   heads of queries, of keys and of values, and their features
//   HIPWARD_THREADS  threads of a block
//   HIPWARD_SHARED   heads of queries that a block computes, all of one head of keys
//   HIPWARD_SPLIT    1: several blocks share the positions
#include "hipward.h"

using namespace hipward;

using T = HIPWARD_T;

constexpr int THREADS = HIPWARD_THREADS, WAVE = HIPWARD_WAVE, WAVES = THREADS / WAVE;
constexpr int HEAD_DIM = HIPWARD_HEAD_DIM, HEADS = HIPWARD_HEADS, KV_HEADS = HIPWARD_KV_HEADS;
constexpr int SHARED = HIPWARD_SHARED;

constexpr int N = Vec<T>::size;
constexpr int TEAM = HEAD_DIM / N, TEAMS = THREADS / TEAM;
// Keys and values that a team has in flight.
constexpr int DEPTH = 4;
constexpr float LOG2E = 1.44269504f;

static_assert(HEAD_DIM % N == 0 && (TEAM & (TEAM - 1)) == 0 && TEAM <= WAVE, "a team is a part of a wave");

// The softmax over some positions: the largest score, the sum of the exponentials, and the weighted sum of the values.
struct Softmax {
  float largest, sum;
  Wide<N> value;
};

__device__ __forceinline__ float total_of_team(float x) { return reduce_lanes<Sum, TEAM>(x); }

// Merges the teams of a wave; every team gets the result.
__device__ __forceinline__ void merge_teams(Softmax& mine) {
#pragma unroll
  for (int distance = TEAM; distance < WAVE; distance *= 2) {
    const float other = from_lane_xor(mine.largest, distance);
    const float largest = Max::of(mine.largest, other);
    const float scale = exp2_fast(mine.largest - largest), other_scale = exp2_fast(other - largest);
    mine.largest = largest;
    mine.sum = mine.sum * scale + from_lane_xor(mine.sum, distance) * other_scale;
#pragma unroll
    for (int i = 0; i < N; ++i) {
      mine.value.at[i] = mine.value.at[i] * scale + from_lane_xor(mine.value.at[i], distance) * other_scale;
    }
  }
}

__shared__ float largest_of[WAVES][SHARED], sum_of[WAVES][SHARED];
__shared__ alignas(16) float value_of[WAVES][SHARED][HEAD_DIM];

// query: [B, HEADS, HEAD_DIM]; keys and values: [B, room, KV_HEADS, HEAD_DIM]; out: like query. With HIPWARD_SPLIT, the results of
// each block: out_values [B, HEADS, splits, HEAD_DIM], and out_softmax [B, HEADS, splits, 2], the largest score and the sum.
extern "C" __global__ void HIPWARD_LAUNCH_BOUNDS(THREADS)
    attend(const T* query, const T* keys, const T* values, const i64* position, T* out, float* out_values, float* out_softmax,
           u32 room, u32 splits, float scale) {
  let_next_kernel_start();
  constexpr int GROUPS = HEADS / SHARED;
  const u32 split = HIPWARD_SPLIT ? block() % splits : 0, row = HIPWARD_SPLIT ? block() / splits : block();
  const u32 group = row % GROUPS, batch = row / GROUPS;
  const int head = group * SHARED, kv_head = head / (HEADS / KV_HEADS);
  const int team = thread() / TEAM, lane = thread() % TEAM;

  const i64 of_head = (i64(batch) * room * KV_HEADS + kv_head) * HEAD_DIM + lane * N;
  keys += of_head;
  values += of_head;
  // The first keys of a block that is alone do not depend on the position, which another kernel may still increment.
  if (!HIPWARD_SPLIT && lane == 0) {
#pragma unroll
    for (int d = 0; d < DEPTH; ++d) {
      const i64 key = d * TEAMS + team;
      if (key >= room) break;
      prefetch(keys + key * (KV_HEADS * HEAD_DIM));
      prefetch(values + key * (KV_HEADS * HEAD_DIM));
    }
  }
  wait_for_kernel_before();
  const i64 filled = *position + 1 < room ? *position + 1 : room;
  const i64 share = HIPWARD_SPLIT ? (filled + splits - 1) / splits : filled;
  const i64 begin = split * share, end = begin + share < filled ? begin + share : filled;

  Wide<N> q[SHARED];
  Softmax mine[SHARED];
#pragma unroll
  for (int h = 0; h < SHARED; ++h) {
    q[h] = widen(load(query + (i64(batch) * HEADS + head + h) * HEAD_DIM + lane * N));
#pragma unroll
    for (int i = 0; i < N; ++i) q[h].at[i] *= scale * LOG2E;
    mine[h] = Softmax{Max::neutral, 0.0f, {}};
  }
  // The first keys are loaded before `end` is known.
  for (i64 first = begin; !HIPWARD_SPLIT || first < end;) {
    Vec<T> k[DEPTH], v[DEPTH];
#pragma unroll
    for (int d = 0; d < DEPTH; ++d) {
      const i64 key = first + d * TEAMS + team;
      // A team beyond the end reads a position that does not count. A block that is alone does not wait for `end`.
      const i64 last = HIPWARD_SPLIT ? end - 1 : i64(room) - 1;
      const i64 read = key < last ? key : last;
      k[d] = load(keys + read * (KV_HEADS * HEAD_DIM));
      v[d] = load(values + read * (KV_HEADS * HEAD_DIM));
    }
#pragma unroll
    for (int h = 0; h < SHARED; ++h) {
      float scores[DEPTH], largest = mine[h].largest;
#pragma unroll
      for (int d = 0; d < DEPTH; ++d) {
        const Wide<N> wide = widen(k[d]);
        float part = 0.0f;
#pragma unroll
        for (int i = 0; i < N; ++i) part += q[h].at[i] * wide.at[i];
        scores[d] = total_of_team(part);
        if (first + d * TEAMS + team < end) largest = Max::of(largest, scores[d]);
      }
      const float kept = exp2_fast(mine[h].largest - largest);
      mine[h].largest = largest;
      mine[h].sum *= kept;
#pragma unroll
      for (int i = 0; i < N; ++i) mine[h].value.at[i] *= kept;
#pragma unroll
      for (int d = 0; d < DEPTH; ++d) {
        if (first + d * TEAMS + team >= end) continue;
        const float weight = exp2_fast(scores[d] - largest);
        const Wide<N> wide = widen(v[d]);
        mine[h].sum += weight;
#pragma unroll
        for (int i = 0; i < N; ++i) mine[h].value.at[i] += weight * wide.at[i];
      }
    }
    first += DEPTH * TEAMS;
    if (!HIPWARD_SPLIT && first >= end) break;
  }

  const int wave = thread() / WAVE;
#pragma unroll
  for (int h = 0; h < SHARED; ++h) {
    merge_teams(mine[h]);
    if (thread() % WAVE < TEAM) {
#pragma unroll
      for (int i = 0; i < N; ++i) value_of[wave][h][lane * N + i] = mine[h].value.at[i];
      if (lane == 0) {
        largest_of[wave][h] = mine[h].largest;
        sum_of[wave][h] = mine[h].sum;
      }
    }
  }
  barrier();
  for (int at = thread(); at < SHARED * HEAD_DIM; at += THREADS) {
    const int h = at / HEAD_DIM, feature = at % HEAD_DIM;
    float largest = Max::neutral, sum = 0.0f, value = 0.0f;
#pragma unroll
    for (int w = 0; w < WAVES; ++w) largest = Max::of(largest, largest_of[w][h]);
#pragma unroll
    for (int w = 0; w < WAVES; ++w) {
      const float weight = exp2_fast(largest_of[w][h] - largest);
      sum += weight * sum_of[w][h];
      value += weight * value_of[w][h][feature];
    }
    const i64 of_query = i64(batch) * HEADS + head + h;
    if constexpr (HIPWARD_SPLIT) {
      const i64 part = of_query * splits + split;
      out_values[part * HEAD_DIM + feature] = value;
      if (feature == 0) {
        out_softmax[2 * part] = largest;
        out_softmax[2 * part + 1] = sum;
      }
    } else {
      out[of_query * HEAD_DIM + feature] = narrow<T>(value * reciprocal(sum));
    }
  }
}

// Merges the results of the blocks that share the positions of a head; a block for each head of queries.
extern "C" __global__ void HIPWARD_LAUNCH_BOUNDS(THREADS)
    combine(const float* values, const float* softmax, T* out, u32 splits) {
  let_next_kernel_start();
  wait_for_kernel_before();
  const i64 first = i64(block()) * splits;
  for (int feature = thread(); feature < HEAD_DIM; feature += THREADS) {
    float largest = Max::neutral, sum = 0.0f, value = 0.0f;
    for (u32 s = 0; s < splits; ++s) largest = Max::of(largest, softmax[2 * (first + s)]);
    for (u32 s = 0; s < splits; ++s) {
      const float weight = exp2_fast(softmax[2 * (first + s)] - largest);
      sum += weight * softmax[2 * (first + s) + 1];
      value += weight * values[(first + s) * HEAD_DIM + feature];
    }
    out[i64(block()) * HEAD_DIM + feature] = narrow<T>(value * reciprocal(sum));
  }
}
