"""RMSNorm of a row: the kernel that the site's page for machine code begins with."""

import triton
import triton.language as tl


@triton.jit
def rmsnorm_kernel(x_ptr, weight_ptr, y_ptr, stride, eps, N: tl.constexpr, BLOCK: tl.constexpr):
    """Normalises one row of `N` numbers; `BLOCK` is the next power of two."""
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < N
    x = tl.load(x_ptr + row * stride + at, mask=inside, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(x * x) / N + eps)
    weight = tl.load(weight_ptr + at, mask=inside, other=0.0).to(tl.float32)
    tl.store(y_ptr + row * stride + at, (x * scale * weight).to(tl.bfloat16), mask=inside)
