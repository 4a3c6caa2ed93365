// GELU-tanh×mul: gate / 2 * (1 + tanh(i)) * up with i = sqrt(2 / pi) * (gate + 0.044715 * gate^3).
//
// (1 + tanh(i)) / 2 is sigmoid(2 i): one exponential, and no clamping. The kernels and the compile-time macros are
// in gated.h.
#include "hipward.h"

using namespace hipward;

struct Activation {
  float value, derivative;
  __device__ __forceinline__ explicit Activation(float gate) {
    constexpr float root = 0.7978845608028654f, cubic = 0.044715f, log2e = 1.4426950408889634f;
    const float square = gate * gate;
    const float s = reciprocal(1.0f + exp2_fast(-2.0f * log2e * root * gate * (1.0f + cubic * square)));
    value = gate * s;
    // In this order, because the last factor is finite if the first one is zero.
    derivative = s + value * (1.0f - s) * (2.0f * root * (1.0f + 3.0f * cubic * square));
  }
};

#include "gated.h"
