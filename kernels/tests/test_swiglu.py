"""`swiglu`: its definition, invalid arguments, and its machine code. Its kernel runs in `interpreted_models.py`."""

from __future__ import annotations

import pytest
import torch

from hipward_kernels.compile.package_kernels import compile_triton
from hipward_kernels.gpu.facts import wavefront_of
from hipward_kernels.ops.gated.triton import column_block
from hipward_kernels.ops.launch import warps
from hipward_kernels.ops.silu_mul import silu_mul
from hipward_kernels.ops.swiglu import swiglu
from hipward_kernels.ops.swiglu.triton import swiglu_backward_kernel


def test_swiglu_equals_silu_mul_of_the_halves_with_gradients() -> None:
    x = torch.randn(3, 5, 14, dtype=torch.float64, requires_grad=True)
    torch.testing.assert_close(swiglu(x), silu_mul(*x.chunk(2, -1)))
    assert torch.autograd.gradcheck(swiglu, (x,))


def test_invalid_arguments_are_rejected_with_a_message() -> None:
    with pytest.raises(ValueError, match=r"\[2, 7\].*2 \* N"):
        swiglu(torch.ones(2, 7))
    with pytest.raises(ValueError, match="is needed"):
        swiglu(torch.tensor(1.0))
    with pytest.raises(TypeError, match="int32"):
        swiglu(torch.ones(2, 8, dtype=torch.int32))


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950"])
@pytest.mark.parametrize("columns", [2048, 4096, 14336])
def test_backward_on_amd_has_wide_memory_accesses_and_no_spills(arch: str, columns: int) -> None:
    block = column_block(columns)
    names = swiglu_backward_kernel.arg_names
    signature = {name: "*bf16" if name.endswith("_ptr") else "i32" for name in names if name != "BLOCK"}
    code = compile_triton(arch, swiglu_backward_kernel, signature, {"BLOCK": block}, warps(block, wavefront_of(arch)))
    assert code.spills == 0
    assert code.wide("global load") > 0
    assert code.wide("global store") > 0
    assert code.narrow("global load") == 0
    assert code.waves_per_simd >= 7
