# test: run
"""How does Triton's interpreter convert float32 to bfloat16?"""

import os

os.environ["TRITON_INTERPRET"] = "1"

import torch
import triton
import triton.language as tl


@triton.jit
def convert(source, target, size: tl.constexpr):
    place = tl.arange(0, size)
    tl.store(target + place, tl.load(source + place).to(tl.bfloat16))


x = torch.rand(1024, generator=torch.Generator().manual_seed(0))
got = torch.empty(1024, dtype=torch.bfloat16)
convert[(1,)](x, got, 1024)
nearest = x.bfloat16()
print(f"equal to the nearest bfloat16: {int((got == nearest).sum())} of 1024")
print(f"larger than the number: {int((got.float() > x).sum())}")
print(f"error / error of the nearest: {float((got.float() - x).norm() / (nearest.float() - x).norm()):.2f}")
