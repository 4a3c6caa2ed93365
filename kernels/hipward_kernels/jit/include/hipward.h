// The differences between AMD's and NVIDIA's compilers, so that each kernel is one file for both.
//
// Built by hipRTC, hipcc or clang for AMD and by NVRTC or nvcc for NVIDIA. No other header is included: neither ROCm nor
// CUDA has to be installed to compile a kernel. Nothing about a particular op belongs here.
#pragma once

#if defined(__AMDGCN__)
#define HIPWARD_AMD 1
#else
#define HIPWARD_AMD 0
#endif

// Instructions that only AMD's gfx9 (Instinct) has. HIPWARD_PLAIN=1 compiles without them, to compare.
#if defined(__GFX9__) && !defined(HIPWARD_PLAIN)
#define HIPWARD_GFX9 1
#else
#define HIPWARD_GFX9 0
#endif

// Minimum number of resident blocks per compute unit, which limits a thread's registers; 0: no limit.
#ifndef HIPWARD_RESIDENT
#define HIPWARD_RESIDENT 0
#endif

#if HIPWARD_AMD && !defined(__HIPCC_RTC__) && !defined(HIP_INCLUDE_HIP_HIP_RUNTIME_H) && !defined(__global__)
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __forceinline__ inline __attribute__((always_inline))
#endif

// Number of neighbouring blocks that share a row; 1: none. Requires an NVIDIA GPU of sm_90 or later.
#ifndef HIPWARD_CLUSTER
#define HIPWARD_CLUSTER 1
#endif

#if HIPWARD_AMD
#define HIPWARD_LAUNCH_BOUNDS(threads) __attribute__((amdgpu_flat_work_group_size(threads, threads)))
#elif HIPWARD_CLUSTER > 1
#define HIPWARD_LAUNCH_BOUNDS(threads) \
  __launch_bounds__(threads, HIPWARD_RESIDENT) __cluster_dims__(HIPWARD_CLUSTER, 1, 1)
#else
#define HIPWARD_LAUNCH_BOUNDS(threads) __launch_bounds__(threads, HIPWARD_RESIDENT)
#endif

namespace hipward {

using i64 = long long;
using u32 = unsigned int;
using u16 = unsigned short;

// --- Indices of threads and blocks -------------------------------------------------------------------------------------------
#if HIPWARD_AMD
__device__ __forceinline__ u32 thread() { return __builtin_amdgcn_workitem_id_x(); }
__device__ __forceinline__ u32 block() { return __builtin_amdgcn_workgroup_id_x(); }
__device__ __forceinline__ void barrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
#else
__device__ __forceinline__ u32 thread() { return threadIdx.x; }
__device__ __forceinline__ u32 block() { return blockIdx.x; }
__device__ __forceinline__ void barrier() { __syncthreads(); }
#endif

// --- 16-bit floating types: bits, and conversions that round to nearest even -------------------------------------
struct bf16 {
  u16 bits;
};
struct f16 {
  u16 bits;
};
using f32 = float;

template <typename To, typename From>
__device__ __forceinline__ To bit_cast(From from) {
  static_assert(sizeof(To) == sizeof(From), "the same number of bits");
  return __builtin_bit_cast(To, from);
}

__device__ __forceinline__ float widen(float x) { return x; }
__device__ __forceinline__ float widen(bf16 x) { return bit_cast<float>(u32(x.bits) << 16); }
#if HIPWARD_AMD
__device__ __forceinline__ float widen(f16 x) { return float(bit_cast<_Float16>(x)); }
#else
__device__ __forceinline__ float widen(f16 x) {
  float wide;
  asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(x.bits));
  return wide;
}
#endif

template <typename T>
__device__ __forceinline__ T narrow(float x);
template <>
__device__ __forceinline__ float narrow<float>(float x) {
  return x;
}
#if HIPWARD_AMD
template <>
__device__ __forceinline__ bf16 narrow<bf16>(float x) {
  return bit_cast<bf16>(__bf16(x));
}
template <>
__device__ __forceinline__ f16 narrow<f16>(float x) {
  return bit_cast<f16>(_Float16(x));
}
#else
template <>
__device__ __forceinline__ bf16 narrow<bf16>(float x) {
  bf16 y;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
  return y;
}
template <>
__device__ __forceinline__ f16 narrow<f16>(float x) {
  f16 y;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
  return y;
}
#endif

// --- Vectors of 16 bytes, the widest access of a thread on both vendors; smaller ones for small tensors --------------
template <typename T, int BYTES = 16>
struct alignas(BYTES) Vec {
  static constexpr int size = BYTES / sizeof(T);
  T at[size];
};

#if HIPWARD_AMD
typedef u32 Quad __attribute__((ext_vector_type(4)));
typedef u32 Pair __attribute__((ext_vector_type(2)));
#else
struct alignas(16) Quad {
  u32 x, y, z, w;
};
struct alignas(8) Pair {
  u32 x, y;
};
#endif

template <int BYTES>
struct Words;
template <>
struct Words<16> {
  using type = Quad;
};
template <>
struct Words<8> {
  using type = Pair;
};
template <>
struct Words<4> {
  using type = u32;
};

template <int BYTES = 16, typename T>
__device__ __forceinline__ Vec<T, BYTES> load(const T* from) {
  return bit_cast<Vec<T, BYTES>>(*reinterpret_cast<const typename Words<BYTES>::type*>(from));
}

template <typename T, int BYTES>
__device__ __forceinline__ void store(T* to, const Vec<T, BYTES>& values) {
  using Word = typename Words<BYTES>::type;
  *reinterpret_cast<Word*>(to) = bit_cast<Word>(values);
}

// For data that is not read again soon: loaded with an evict-first hint, so that it does not displace other data in the caches.
template <int BYTES = 16, typename T>
__device__ __forceinline__ Vec<T, BYTES> load_once(const T* from) {
  using Word = typename Words<BYTES>::type;
#if HIPWARD_AMD
  return bit_cast<Vec<T, BYTES>>(__builtin_nontemporal_load(reinterpret_cast<const Word*>(from)));
#else
  if constexpr (BYTES == 16) {
    unsigned long long first;
    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(first));
    Quad word;
    asm volatile("ld.global.L1::no_allocate.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %5;"
                 : "=r"(word.x), "=r"(word.y), "=r"(word.z), "=r"(word.w)
                 : "l"(from), "l"(first));
    return bit_cast<Vec<T, BYTES>>(word);
  } else {
    return load<BYTES>(from);
  }
#endif
}

// Stores data that this kernel does not read again.
template <typename T, int BYTES>
__device__ __forceinline__ void store_once(T* to, const Vec<T, BYTES>& values) {
  using Word = typename Words<BYTES>::type;
  const Word word = bit_cast<Word>(values);
#if HIPWARD_AMD
  __builtin_nontemporal_store(word, reinterpret_cast<Word*>(to));
#else
  if constexpr (BYTES == 16) {
    asm volatile("st.global.cs.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(word.x), "r"(word.y), "r"(word.z),
                 "r"(word.w)
                 : "memory");
  } else {
    *reinterpret_cast<Word*>(to) = word;
  }
#endif
}

// --- Conversion of a vector to single precision and back, two elements per word: fewer instructions on NVIDIA ----------
template <int N>
struct Wide {
  float at[N];
};

#if !HIPWARD_AMD
template <int N>
struct Many {
  u32 at[N];
};

template <typename T>
__device__ __forceinline__ u32 narrow_two(float low, float high);
template <>
__device__ __forceinline__ u32 narrow_two<bf16>(float low, float high) {
  u32 two;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(two) : "f"(high), "f"(low));
  return two;
}
template <>
__device__ __forceinline__ u32 narrow_two<f16>(float low, float high) {
  u32 two;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(two) : "f"(high), "f"(low));
  return two;
}

template <int BYTES>
__device__ __forceinline__ Wide<BYTES / 2> widen(const Vec<bf16, BYTES>& values) {
  const auto words = bit_cast<Many<BYTES / 4>>(values);
  Wide<BYTES / 2> wide;
#pragma unroll
  for (int i = 0; i < BYTES / 4; ++i) {
    wide.at[2 * i] = bit_cast<float>(words.at[i] << 16);
    wide.at[2 * i + 1] = bit_cast<float>(words.at[i] & 0xffff0000u);
  }
  return wide;
}
#endif

template <typename T, int BYTES>
__device__ __forceinline__ Wide<Vec<T, BYTES>::size> widen(const Vec<T, BYTES>& values) {
  Wide<Vec<T, BYTES>::size> wide;
#pragma unroll
  for (int i = 0; i < Vec<T, BYTES>::size; ++i) wide.at[i] = widen(values.at[i]);
  return wide;
}

#if HIPWARD_GFX9 && !defined(__gfx950__)
// Rounds to nearest even with integer arithmetic; gfx950 has an instruction for it. The sum would change a NaN, and the compiler
// therefore compares and selects for each element: here two elements share a comparison, and a vector has one branch.
template <int N>
__device__ __forceinline__ bool round_without_nan(const Wide<N>& wide, Vec<bf16, 2 * N>& values) {
  u32 words[N / 2];
  bool has_nan = false;
#pragma unroll
  for (int i = 0; i < N / 2; ++i) {
    const float low = wide.at[2 * i], high = wide.at[2 * i + 1];
    has_nan |= __builtin_isunordered(low, high);
    const u32 a = bit_cast<u32>(low), b = bit_cast<u32>(high);
    // Bytes 2 and 3 of both sums.
    words[i] = __builtin_amdgcn_perm(b + 0x7fff + (b >> 16 & 1), a + 0x7fff + (a >> 16 & 1), 0x07060302);
  }
  __builtin_memcpy(&values, words, sizeof(words));
  return !has_nan;
}
#endif

template <typename T, int N>
__device__ __forceinline__ Vec<T, N * sizeof(T)> narrow(const Wide<N>& wide) {
#if HIPWARD_GFX9 && !defined(__gfx950__)
  if constexpr (__is_same(T, bf16)) {
    Vec<bf16, 2 * N> rounded;
    if (__builtin_expect(round_without_nan(wide, rounded), 1)) return rounded;
  }
#endif
#if !HIPWARD_AMD
  if constexpr (sizeof(T) == 2) {
    Many<N / 2> words;
#pragma unroll
    for (int i = 0; i < N / 2; ++i) words.at[i] = narrow_two<T>(wide.at[2 * i], wide.at[2 * i + 1]);
    return bit_cast<Vec<T, N * sizeof(T)>>(words);
  }
#endif
  Vec<T, N * sizeof(T)> values;
#pragma unroll
  for (int i = 0; i < N; ++i) values.at[i] = narrow<T>(wide.at[i]);
  return values;
}

// Makes `values` depend on `others`, so that both loads are in flight together. NVIDIA's assembler moves a load down to where
// its result is first used, so the second load would be issued only after the first has completed.
template <typename T, typename U>
__device__ __forceinline__ void together(Vec<T>& values, const Vec<U>& others) {
#if !HIPWARD_AMD
  // values ^ (others & 0); the assembler cannot infer that this is 0 because launches have one dimension.
  Quad mine = bit_cast<Quad>(values);
  asm volatile("lop3.b32 %0, %0, %1, %2, 0x78;" : "+r"(mine.x) : "r"(bit_cast<Quad>(others).x), "r"(blockIdx.y));
  values = bit_cast<Vec<T>>(mine);
#endif
}

// --- Fast single-precision functions: at most 2 units in the last place; numbers below 2^-126 become zero -------------
#if HIPWARD_AMD
__device__ __forceinline__ float exp2_fast(float x) { return __builtin_amdgcn_exp2f(x); }
__device__ __forceinline__ float reciprocal(float x) { return __builtin_amdgcn_rcpf(x); }
__device__ __forceinline__ float rsqrt_fast(float x) { return __builtin_amdgcn_rsqf(x); }
__device__ __forceinline__ float log2_fast(float x) { return __builtin_amdgcn_logf(x); }
#else
__device__ __forceinline__ float exp2_fast(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ __forceinline__ float reciprocal(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ __forceinline__ float rsqrt_fast(float x) {
  float y;
  asm("rsqrt.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ __forceinline__ float log2_fast(float x) {
  float y;
  asm("lg2.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
#endif

// --- Overlap with the neighbouring kernels of a stream (NVIDIA from sm_90 on, if the launch allows it; see `driver.py`) --------
// The next kernel may start as soon as all blocks have called `let_next_kernel_start`. It must call `wait_for_kernel_before` in
// every thread before it reads what earlier kernels write, or writes anything. Then all earlier kernels have ended.
#if !HIPWARD_AMD && __CUDA_ARCH__ >= 900
__device__ __forceinline__ void let_next_kernel_start() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }
__device__ __forceinline__ void wait_for_kernel_before() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
#else
__device__ __forceinline__ void let_next_kernel_start() {}
__device__ __forceinline__ void wait_for_kernel_before() {}
#endif

// Brings a line into the L2 cache, where that is a kernel's own instruction.
template <typename T>
__device__ __forceinline__ void prefetch(const T* from) {
#if !HIPWARD_AMD
  asm volatile("prefetch.global.L2 [%0];" ::"l"(from));
#endif
}

// --- Clusters: neighbouring blocks that run concurrently and can write to each other's shared memory --------------
#if !HIPWARD_AMD && HIPWARD_CLUSTER > 1
__device__ __forceinline__ u32 cluster_rank() {
  u32 rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
// Barrier of a cluster: `arrive`, then `wait` until all threads have arrived. Earlier writes are visible afterwards.
__device__ __forceinline__ void cluster_arrive() { asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"); }
__device__ __forceinline__ void cluster_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }
// Writes to the address of `here` in the shared memory of another block of the cluster.
__device__ __forceinline__ void store_in_block(float* here, u32 rank, float x) {
  u32 there;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(u32(__cvta_generic_to_shared(here))), "r"(rank));
  asm volatile("st.shared::cluster.f32 [%0], %1;" ::"r"(there), "f"(x) : "memory");
}
#else
__device__ __forceinline__ u32 cluster_rank() { return 0; }
__device__ __forceinline__ void cluster_arrive() {}
__device__ __forceinline__ void cluster_wait() {}
__device__ __forceinline__ void store_in_block(float* here, u32, float x) { *here = x; }
#endif

// --- Reductions over the threads of a row ------------------------------------------------------------------------
__device__ __forceinline__ float from_lane_xor(float x, int distance) {
#if HIPWARD_AMD
  const int lane = __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0));
  return bit_cast<float>(__builtin_amdgcn_ds_bpermute((lane ^ distance) << 2, bit_cast<int>(x)));
#else
  return __shfl_xor_sync(0xffffffffu, x, distance);
#endif
}

struct Sum {
  static constexpr float neutral = 0.0f;
  static __device__ __forceinline__ float of(float a, float b) { return a + b; }
};
struct Max {
  static constexpr float neutral = -3.402823466e+38f;
#if HIPWARD_AMD
  // One instruction, and one for three operands; a comparison and a selection take two.
  static __device__ __forceinline__ float of(float a, float b) { return __builtin_fmaxf(a, b); }
#else
  static __device__ __forceinline__ float of(float a, float b) { return a > b ? a : b; }
#endif
};

#if HIPWARD_GFX9
// The value of another lane of the same 16, or lane 15 or 31 of the wave: an operand of the arithmetic instruction (DPP), where
// `ds_bpermute` goes through LDS. Values of CONTROL: LLVM's "User Guide for AMDGPU Backend", `dpp_ctrl`.
template <int CONTROL>
__device__ __forceinline__ float from_lane_dpp(float x) {
  return bit_cast<float>(__builtin_amdgcn_update_dpp(0, bit_cast<int>(x), CONTROL, 0xf, 0xf, true));
}
constexpr int SWAP_1 = 0xb1, SWAP_2 = 0x4e, MIRROR_8 = 0x141, MIRROR_16 = 0x140, ROW_BEFORE = 0x142, LANE_31 = 0x143;
// Lane i gets the value of lane i ^ 16.
constexpr int SWIZZLE_16 = 16 << 10 | 31;
#endif

// Over LANES neighbouring lanes of a wave; each lane gets the result.
template <typename Operation, int LANES>
__device__ __forceinline__ float reduce_lanes(float x) {
#if HIPWARD_GFX9
  // Lanes that have been reduced together hold the same value, so a mirror image is as good as an exchange.
  if constexpr (LANES >= 2) x = Operation::of(x, from_lane_dpp<SWAP_1>(x));
  if constexpr (LANES >= 4) x = Operation::of(x, from_lane_dpp<SWAP_2>(x));
  if constexpr (LANES >= 8) x = Operation::of(x, from_lane_dpp<MIRROR_8>(x));
  if constexpr (LANES >= 16) x = Operation::of(x, from_lane_dpp<MIRROR_16>(x));
  if constexpr (LANES == 32) {
    x = Operation::of(x, bit_cast<float>(__builtin_amdgcn_ds_swizzle(bit_cast<int>(x), SWIZZLE_16)));
  }
  if constexpr (LANES == 64) {
    // Only lane 63 gets all four rows.
    x = Operation::of(x, from_lane_dpp<ROW_BEFORE>(x));
    x = Operation::of(x, from_lane_dpp<LANE_31>(x));
    x = bit_cast<float>(__builtin_amdgcn_readlane(bit_cast<int>(x), 63));
  }
  return x;
#endif
#pragma unroll
  for (int distance = LANES / 2; distance > 0; distance /= 2) x = Operation::of(x, from_lane_xor(x, distance));
  return x;
}

// A thread of a row of several waves stores the COUNT results of its wave, and gets those of all waves: result k of wave w is
// at [w * COUNT + k]. `scratch` has COUNT floats per wave of the block. All threads of the block must call it together, and two
// consecutive calls must use different scratch memory.
template <int THREADS, int WAVE, int COUNT>
__device__ __forceinline__ const float* share(const Wide<COUNT>& x, float* scratch) {
  constexpr int waves = THREADS / WAVE;
  const int wave = thread() / WAVE;
  if (thread() % WAVE == 0) {
#pragma unroll
    for (int k = 0; k < COUNT; ++k) scratch[wave * COUNT + k] = x.at[k];
  }
  barrier();
  return scratch + wave / waves * waves * COUNT;
}

// The same for a row that is shared by all threads of the CLUSTER blocks of a cluster; `scratch` has COUNT floats per wave of the
// cluster. Before the first call, all blocks must have started: `cluster_arrive` and `cluster_wait`.
template <int THREADS, int WAVE, int CLUSTER, int COUNT>
__device__ __forceinline__ const float* share_in_cluster(const Wide<COUNT>& x, float* scratch) {
  static_assert(THREADS % WAVE == 0 && CLUSTER <= WAVE, "whole waves, with a lane for each block");
  const u32 wave = cluster_rank() * (THREADS / WAVE) + thread() / WAVE, lane = thread() % WAVE;
  if (lane < CLUSTER) {
#pragma unroll
    for (int k = 0; k < COUNT; ++k) store_in_block(scratch + wave * COUNT + k, lane, x.at[k]);
  }
  cluster_arrive();
  cluster_wait();
  return scratch;
}

// Reduces COUNT numbers over the THREADS neighbouring threads that share a row; every thread gets the results. A wave has WAVE
// lanes: 64 on AMD Instinct, 32 on NVIDIA. `scratch`: see `share`, which is called if a row spans several waves.
template <typename Operation, int THREADS, int WAVE, int COUNT>
__device__ __forceinline__ Wide<COUNT> reduce(Wide<COUNT> x, float* scratch) {
  static_assert((THREADS & (THREADS - 1)) == 0, "a power of two");
#pragma unroll
  for (int k = 0; k < COUNT; ++k) x.at[k] = reduce_lanes<Operation, (THREADS < WAVE ? THREADS : WAVE)>(x.at[k]);
  if constexpr (THREADS > WAVE) {
    const float* of_waves = share<THREADS, WAVE>(x, scratch);
#pragma unroll
    for (int k = 0; k < COUNT; ++k) {
      // Four at a time, because each operation depends on the one before.
      float parts[4] = {Operation::neutral, Operation::neutral, Operation::neutral, Operation::neutral};
#pragma unroll
      for (int i = 0; i < THREADS / WAVE; ++i) parts[i % 4] = Operation::of(parts[i % 4], of_waves[i * COUNT + k]);
      x.at[k] = Operation::of(Operation::of(parts[0], parts[1]), Operation::of(parts[2], parts[3]));
    }
  }
  return x;
}

template <typename Operation, int THREADS, int WAVE>
__device__ __forceinline__ float reduce(float x, float* scratch) {
  return reduce<Operation, THREADS, WAVE>(Wide<1>{{x}}, scratch).at[0];
}

// The same over a row that is shared by all threads of the CLUSTER blocks of a cluster. `scratch`: see `share_in_cluster`.
template <typename Operation, int THREADS, int WAVE, int CLUSTER, int COUNT>
__device__ __forceinline__ Wide<COUNT> reduce_in_cluster(Wide<COUNT> x, float* scratch) {
  constexpr int waves = THREADS / WAVE * CLUSTER;
#pragma unroll
  for (int k = 0; k < COUNT; ++k) x.at[k] = reduce_lanes<Operation, WAVE>(x.at[k]);
  const float* of_waves = share_in_cluster<THREADS, WAVE, CLUSTER>(x, scratch);
#pragma unroll
  for (int k = 0; k < COUNT; ++k) {
    x.at[k] = Operation::neutral;
#pragma unroll
    for (int i = thread() % WAVE; i < waves; i += WAVE) x.at[k] = Operation::of(x.at[k], of_waves[i * COUNT + k]);
    x.at[k] = reduce_lanes<Operation, WAVE>(x.at[k]);
  }
  return x;
}

}  // namespace hipward
