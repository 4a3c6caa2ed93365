// Rotation of pairs of features, two vectors at a time. Shared by RoPE and the fused QKV split.
//
// Compile-time macros:
//   HIPWARD_T         f32, f16 or bf16
//   HIPWARD_C         the tables: HIPWARD_T, or f32
//   HIPWARD_HALF      1: a pair is `i` and `i + PAIRS`; 0: `2 i` and `2 i + 1`
//   HIPWARD_INVERSE   1: inverse rotation
//   HIPWARD_HEADS     heads of a token
//   HIPWARD_HEAD_DIM  features of a head
//   HIPWARD_PAIRS     rotated pairs of a head
//   HIPWARD_BATCHED   0: there is only one sequence
//   HIPWARD_BYTES     bytes of a vector: 16, or less for tensors too small to keep all threads busy
//   HIPWARD_THREADS   threads of a block
//   HIPWARD_WHOLE     1: the threads' units cover the tensor exactly
#pragma once

using namespace hipward;

using T = HIPWARD_T;
using C = HIPWARD_C;

constexpr int BYTES = HIPWARD_BYTES;
using Part = Vec<T, BYTES>;

constexpr int N = Part::size;
static_assert(HIPWARD_HALF || N % 2 == 0, "a vector holds whole pairs");

constexpr int PAIRS = HIPWARD_PAIRS;
constexpr u32 HEADS = HIPWARD_HEADS, HEAD_DIM = HIPWARD_HEAD_DIM, HEAD_UNITS = HEAD_DIM / (2 * N);

// Position of a thread's unit. All divisors except the length are constants: division by run-time values was
// half of all instructions.
struct Place {
  u32 index, unit, head, token;
  i64 batch, position;
  __device__ __forceinline__ explicit Place(u32 length) : index(block() * HIPWARD_THREADS + thread()) {
    const u32 row = index / HEAD_UNITS;
    unit = index % HEAD_UNITS;
    head = row % HEADS;
    token = row / HEADS;
    batch = HIPWARD_BATCHED ? token / length : 0;
    position = HIPWARD_BATCHED ? token % length : token;
  }
};

// N elements of a table in single precision.
struct Angles {
  float at[N];
  __device__ __forceinline__ explicit Angles(const C* from) {
    // A vector of the table has at most 16 bytes.
    constexpr int M = N < Vec<C>::size ? N : Vec<C>::size;
    static_assert(sizeof(C) >= sizeof(T), "a table is no narrower than what it turns");
#pragma unroll
    for (int part = 0; part < N / M; ++part) {
      const Wide<M> values = widen(load<M * sizeof(C)>(from + part * M));
#pragma unroll
      for (int i = 0; i < M; ++i) at[part * M + i] = values.at[i];
    }
  }
};

// A head has HEAD_UNITS units of two vectors each. The first PAIRS / N rotate N pairs each; the others are copied, and so are all
// units of a head that is not rotated. `cos` and `sin` point to the position's row.
__device__ __forceinline__ void move_unit(const T* x, T* y, const C* cos, const C* sin, int unit, bool turns) {
  int first = 2 * unit * N, second = first + N;
  if (!turns || unit * N >= PAIRS) {
    const Part a = load<BYTES>(x + first), b = load<BYTES>(x + second);
    store(y + first, a);
    store(y + second, b);
    return;
  }
  if (HIPWARD_HALF) {
    first = unit * N;
    second = first + PAIRS;
  }
  const Wide<N> a = widen(load<BYTES>(x + first)), b = widen(load<BYTES>(x + second));
  const Angles c(cos + unit * N), s(sin + unit * N);
  Wide<N> out_a, out_b;
  const auto turned = [&](float p, float q, int angle, float& to_p, float& to_q) {
    const float sine = HIPWARD_INVERSE ? -s.at[angle] : s.at[angle];
    to_p = p * c.at[angle] - q * sine;
    to_q = q * c.at[angle] + p * sine;
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
  store(y + first, narrow<T>(out_a));
  store(y + second, narrow<T>(out_b));
}
