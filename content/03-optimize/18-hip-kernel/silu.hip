#include <hip/hip_runtime.h>

constexpr unsigned THREADS = 256, VECTORS = 2;  // of a block, and of each thread

__device__ float silu(float gate) { return gate / (1.0f + __expf(-gate)); }

// y = silu(gate) * up, for tensors of 4 * vectors floats.
extern "C" __global__ void __launch_bounds__(THREADS)
    silu_mul(const float4 *gate, const float4 *up, float4 *y, unsigned vectors) {
  const unsigned first = blockIdx.x * THREADS * VECTORS + threadIdx.x;
  float4 g[VECTORS], u[VECTORS];
#pragma unroll
  for (unsigned v = 0; v < VECTORS; ++v) {
    const unsigned index = first + v * THREADS;
    if (index < vectors) g[v] = gate[index], u[v] = up[index];
  }
#pragma unroll
  for (unsigned v = 0; v < VECTORS; ++v) {
    const unsigned index = first + v * THREADS;
    if (index < vectors)
      y[index] = make_float4(silu(g[v].x) * u[v].x, silu(g[v].y) * u[v].y,
                             silu(g[v].z) * u[v].z, silu(g[v].w) * u[v].w);
  }
}
