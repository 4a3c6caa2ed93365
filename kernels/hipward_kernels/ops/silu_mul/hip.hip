// SiLU×mul: gate * sigmoid(gate) * up. The kernels and the compile-time macros are in gated.h.
#include "hipward.h"

using namespace hipward;

struct Activation {
  float value, derivative;
  __device__ __forceinline__ explicit Activation(float gate) {
    const float s = reciprocal(1.0f + exp2_fast(-1.4426950408889634f * gate));
    value = gate * s;
    derivative = s * (1.0f + gate * (1.0f - s));
  }
};

#include "gated.h"
