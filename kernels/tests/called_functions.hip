// Device functions that are not inlined.
#include <hip/hip_runtime.h>

#define CALLED __device__ __attribute__((noinline))

CALLED float polynomial(float x, float a, float b, float c) { return (a * x + b) * x + c; }

// More arguments than registers for arguments: some are passed on the stack.
CALLED int many(int a0, int a1, int a2, int a3, int a4, int a5, int a6, int a7, int a8, int a9, int a10, int a11, int a12,
                int a13, int a14, int a15, int a16, int a17, int a18, int a19, int a20, int a21, int a22, int a23, int a24,
                int a25, int a26, int a27, int a28, int a29, int a30, int a31, int a32, int a33, int a34) {
  return a0 + 2 * a1 - 3 * a2 + a3 * a4 + a5 - a6 + a7 + a8 - a9 + a10 + a11 - a12 + a13 + a14 - a15 + a16 + a17 - a18 +
         a19 + a20 - a21 + a22 + a23 - a24 + a25 + a26 - a27 + a28 + a29 - a30 + 5 * a31 - 7 * a32 + 11 * a33 - 13 * a34;
}

CALLED int inner(int x) { return x % 7 == 3 ? x * 5 : x - 2; }

// Calls another function in a loop, so that values live across calls.
CALLED int outer(int x, int count) {
  int sum = x;
  for (int i = 0; i < count; ++i) sum += inner(sum + i) - i;
  return sum;
}

CALLED int plus(int x) { return x + 10; }
CALLED int times(int x) { return x * 10; }
CALLED int minus(int x) { return x - 10; }

typedef int (*Function)(int);
__device__ const Function TABLE[3] = {plus, times, minus};

CALLED int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

extern "C" __global__ void calls(const float* x, float* y, int* z, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  y[i] = polynomial(x[i], 2.0f, -3.0f, 0.5f);
  // The lanes of a wavefront take both sides.
  int value = i & 1 ? outer(i, 3 + i % 4) : inner(i);
  z[i] = value + many(i, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27,
                      28, 29, 30, 31, 32, 33, i);
}

extern "C" __global__ void function_pointers(int* z, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) z[i] = TABLE[(i / 5) % 3](i);
}

extern "C" __global__ void recursion(int* z, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) z[i] = fibonacci(i % 9);
}
