"""V3 and V4 with their real Triton kernels on a CPU. Not collected by name: `test_models_triton.py` runs it.

Float32 only: the interpreter computes bfloat16 wrongly.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
import torch

from hipward_kernels.dispatch.registry import only
from hipward_kernels.models import SIZES, VERSIONS, Config, Switches, TinyLlama
from hipward_kernels.models.data import batches
from hipward_kernels.models.generation import generate
from hipward_kernels.models.weights import copy_weights, gradients, without_gradient
from hipward_kernels.ops.add_rmsnorm import OP as ADD_RMSNORM
from hipward_kernels.ops.cross_entropy import OP as CROSS_ENTROPY
from hipward_kernels.ops.qkv_rope import OP as QKV_ROPE
from hipward_kernels.ops.rmsnorm import OP as RMSNORM
from hipward_kernels.ops.rope import OP as ROPE
from hipward_kernels.ops.silu_mul import OP as SILU_MUL
from hipward_kernels.ops.swiglu import OP as SWIGLU
from hipward_kernels.ops.swiglu import swiglu

if TYPE_CHECKING:
    from hipward_kernels.models.data import Batch
    from hipward_kernels.ops.rope.layout import Layout

CPU = torch.device("cpu")
TINY = SIZES["tiny"].config


def pair(config: Config, switches: Switches) -> tuple[TinyLlama, TinyLlama, Batch]:
    torch.manual_seed(0)
    plain, other = (TinyLlama(config, each) for each in (Switches(), switches))
    with torch.no_grad():
        for parameter in plain.parameters():
            parameter.copy_(torch.randn_like(parameter) * (0.2 if parameter.dim() > 1 else 1))
    copy_weights(plain, other, config, switches)
    return plain, other, next(batches(config, 2, 9, CPU))


def test_triton_is_the_tier_in_use() -> None:
    for op in (RMSNORM, ADD_RMSNORM, SILU_MUL, ROPE, QKV_ROPE, CROSS_ENTROPY, SWIGLU):
        assert op.refusals(torch.ones(1, 1))["triton"] is None


@pytest.mark.parametrize(("name", "layout"), [("v3", "interleaved"), ("v4", "interleaved"), ("v4", "half")])
def test_kernels_train_like_pytorch(name: str, layout: Layout) -> None:
    config = replace(TINY, rope_layout=layout)
    switches = VERSIONS[name].with_(off=["compile"])  # type: ignore[index]
    plain, other, batch = pair(config, switches)
    losses = [model(*batch) for model in (plain, other)]
    torch.testing.assert_close(losses[1], losses[0], rtol=1e-5, atol=0)
    for loss in losses:
        loss.backward()
    assert without_gradient(other) == []
    expected, got = gradients(plain, config), gradients(other, config)
    for parameter, gradient in expected.items():
        difference = (got[parameter] - gradient).norm() / gradient.norm()
        assert difference < 2e-5, parameter


@pytest.mark.parametrize("shape", [(1, 2), (3, 5, 62), (2, 2 * 4099), (0, 8), (3, 0)])
def test_swiglu_matches_its_definition(shape: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    wide = 4 * torch.randn(*shape[:-1], shape[-1] + 6)
    results = []
    for tier in ("triton", "eager"):
        with only(tier):
            # Rows that are not contiguous.
            x = wide.clone()[..., : shape[-1]].requires_grad_()
            y = swiglu(x)
            results.append([y, *torch.autograd.grad(y, x, torch.cos(torch.arange(y.numel()).float()).view(y.shape))])
    for got, expected in zip(*results, strict=True):
        torch.testing.assert_close(got, expected, rtol=2e-5, atol=2e-5)


def test_kernels_decode_like_pytorch() -> None:
    plain, other, batch = pair(TINY, VERSIONS["v4"].with_(off=["compile"]))
    prompt = batch.tokens[:, :3]
    assert torch.equal(generate(other, prompt, 3), generate(plain, prompt, 3))
