// Turning pairs of features, two 16-byte vectors at a time: what RoPE and the fused QKV split share.
//
// Set when compiling: HIPWARD_T (f32, f16 or bf16), HIPWARD_C (the tables: HIPWARD_T or f32), HIPWARD_HALF (1: a pair is
// `i` and `i + pairs`; 0: `2 i` and `2 i + 1`), HIPWARD_INVERSE (1: turns back), HIPWARD_THREADS of a block.
#pragma once

using namespace hipward;

using T = HIPWARD_T;
using C = HIPWARD_C;

constexpr int N = Vec<T>::size;

// N numbers of a table, in single precision.
struct Angles {
  float at[N];
  __device__ __forceinline__ explicit Angles(const C* from) {
    constexpr int M = Vec<C>::size;
    static_assert(M <= N, "a table is no narrower than what it turns");
#pragma unroll
    for (int part = 0; part < N / M; ++part) {
      const Vec<C> values = load(from + part * M);
#pragma unroll
      for (int i = 0; i < M; ++i) at[part * M + i] = widen(values.at[i]);
    }
  }
};

// A head has head_dim / (2 N) units of two vectors each. The first `pairs / N` turn N pairs, the others are copied, as are
// all units of a head that does not turn. `cos` and `sin` point to the position's row.
__device__ __forceinline__ void move_unit(const T* x, T* y, const C* cos, const C* sin, int unit, int pairs, bool turns) {
  int first = 2 * unit * N, second = first + N;
  if (!turns || unit * N >= pairs) {
    const Vec<T> a = load(x + first), b = load(x + second);
    store(y + first, a);
    store(y + second, b);
    return;
  }
  if (HIPWARD_HALF) {
    first = unit * N;
    second = first + pairs;
  }
  const Vec<T> a = load(x + first), b = load(x + second);
  const Angles c(cos + unit * N), s(sin + unit * N);
  Vec<T> out_a, out_b;
  const auto turned = [&](T p, T q, int angle, T& to_p, T& to_q) {
    const float from_p = widen(p), from_q = widen(q), sine = HIPWARD_INVERSE ? -s.at[angle] : s.at[angle];
    to_p = narrow<T>(from_p * c.at[angle] - from_q * sine);
    to_q = narrow<T>(from_q * c.at[angle] + from_p * sine);
  };
#pragma unroll
  for (int i = 0; i < N; ++i) {
    if (HIPWARD_HALF) {
      turned(a.at[i], b.at[i], i, out_a.at[i], out_b.at[i]);
    } else if (2 * i < N) {
      turned(a.at[2 * i], a.at[2 * i + 1], i, out_a.at[2 * i], out_a.at[2 * i + 1]);
    } else {
      turned(b.at[2 * i - N], b.at[2 * i + 1 - N], i, out_b.at[2 * i - N], out_b.at[2 * i + 1 - N]);
    }
  }
  store(y + first, out_a);
  store(y + second, out_b);
}
