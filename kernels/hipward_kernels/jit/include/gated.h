// activation(gate) * up per element, forward and backward. The including file defines the activation as
//
//   struct Activation {
//     float value;       // activation(gate)
//     float derivative;  // its derivative there
//     __device__ explicit Activation(float gate);
//   };
//
// Compile-time macros:
//   HIPWARD_T        f32, f16 or bf16
//   HIPWARD_THREADS  threads of a block
//   HIPWARD_VECTORS  vectors that a thread reads from each input
//   HIPWARD_BYTES    bytes of a vector: 16, or less for tensors too small to keep all threads busy
//   HIPWARD_ONCE     1: inputs are loaded with an evict-first hint
//   HIPWARD_STREAM   1: results are stored with an evict-first hint
//   HIPWARD_WHOLE    1: the threads' vectors cover the tensor exactly, so no bounds checks, which cost a small tensor up to 2 %
//   HIPWARD_FLAT     1: all tensors are contiguous. 0: a row is `row_vectors` vectors, and the rows of a tensor may be any
//                    distance apart
//   HIPWARD_JOINED   1: the gradients are the halves of the rows of one tensor; needs HIPWARD_FLAT 0
#pragma once

#ifndef HIPWARD_JOINED
#define HIPWARD_JOINED 0
#endif

using namespace hipward;

using T = HIPWARD_T;

constexpr int BYTES = HIPWARD_BYTES;
using Part = Vec<T, BYTES>;

constexpr int N = Part::size;

__device__ __forceinline__ Part read(const T* from) { return HIPWARD_ONCE ? load_once<BYTES>(from) : load<BYTES>(from); }

__device__ __forceinline__ void put(T* to, const Part& values) {
  if constexpr (HIPWARD_STREAM) {
    store_once(to, values);
  } else {
    store(to, values);
  }
}

template <typename Body>
__device__ __forceinline__ void for_each_vector(u32 vectors, u32 row_vectors, Body body) {
  const u32 first = block() * (HIPWARD_THREADS * HIPWARD_VECTORS) + thread();
#pragma unroll
  for (int v = 0; v < HIPWARD_VECTORS; ++v) {
    const u32 index = first + v * HIPWARD_THREADS;
    if (!HIPWARD_WHOLE && index >= vectors) continue;
    if constexpr (HIPWARD_FLAT) {
      body(v, i64(0), i64(index) * N, i64(index) * N);
    } else {
      const u32 row = index / row_vectors;
      body(v, i64(row), i64(index - row * row_vectors) * N, i64(index) * N);
    }
  }
}

extern "C" __global__ void HIPWARD_LAUNCH_BOUNDS(HIPWARD_THREADS)
    forward(const T* gate, const T* up, T* y, i64 gate_stride, i64 up_stride, u32 vectors,
            u32 row_vectors) {
  // All loads come first, so that they are in flight together.
  Part g[HIPWARD_VECTORS], u[HIPWARD_VECTORS];
  for_each_vector(vectors, row_vectors, [&](int v, i64 row, i64 column, i64) {
    g[v] = read(gate + row * gate_stride + column);
    u[v] = read(up + row * up_stride + column);
  });
  for_each_vector(vectors, row_vectors, [&](int v, i64, i64, i64 at) {
    const Wide<N> from = widen(g[v]);
    Wide<N> out = widen(u[v]);
#pragma unroll
    for (int i = 0; i < N; ++i) out.at[i] *= Activation(from.at[i]).value;
    put(y + at, narrow<T>(out));
  });
}

extern "C" __global__ void HIPWARD_LAUNCH_BOUNDS(HIPWARD_THREADS)
    backward(const T* dy, const T* gate, const T* up, T* dgate, T* dup, i64 dy_stride, i64 gate_stride,
             i64 up_stride, u32 vectors, u32 row_vectors) {
  Part d[HIPWARD_VECTORS], g[HIPWARD_VECTORS], u[HIPWARD_VECTORS];
  for_each_vector(vectors, row_vectors, [&](int v, i64 row, i64 column, i64) {
    d[v] = read(dy + row * dy_stride + column);
    g[v] = read(gate + row * gate_stride + column);
    u[v] = read(up + row * up_stride + column);
  });
  for_each_vector(vectors, row_vectors, [&](int v, i64 row, i64 column, i64 at) {
    if constexpr (HIPWARD_JOINED) at = row * 2 * row_vectors * N + column;
    const Wide<N> slope = widen(d[v]), from = widen(g[v]), factor = widen(u[v]);
    Wide<N> to_gate, to_up;
#pragma unroll
    for (int i = 0; i < N; ++i) {
      const Activation activation(from.at[i]);
      to_gate.at[i] = slope.at[i] * factor.at[i] * activation.derivative;
      to_up.at[i] = slope.at[i] * activation.value;
    }
    put(dgate + at, narrow<T>(to_gate));
    put(dup + at, narrow<T>(to_up));
  });
}
