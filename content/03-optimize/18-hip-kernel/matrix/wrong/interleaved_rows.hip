// fails: case_one
// fails: case_sum
// message: The four rows of a lane are neighbours: 4 * high to 4 * high + 3.
#include <hip/hip_runtime.h>

using float4_t = __attribute__((ext_vector_type(4))) float;

// c = a b by one wavefront, with the matrix core: a is 16 x k, b is k x 16, row by row; k is a multiple of 4.
extern "C" __global__ void product(const float* a, const float* b, float* c, int k) {
  const int lane = threadIdx.x, low = lane % 16, high = lane / 16;
  float4_t sum = {0, 0, 0, 0};
  for (int first = 0; first < k; first += 4) {
    // hole: operands
    const float of_a = a[low * k + first + high];
    const float of_b = b[(first + high) * 16 + low];
    // end: operands
    sum = __builtin_amdgcn_mfma_f32_16x16x4f32(of_a, of_b, sum, 0, 0, 0);
  }
  for (int i = 0; i < 4; ++i) {
    // hole: result
    c[(4 * i + high) * 16 + low] = sum[i];
    // end: result
  }
}
