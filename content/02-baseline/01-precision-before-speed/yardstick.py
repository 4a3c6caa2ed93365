# test: run
"""The errors in the lesson's tables, measured against float64 on the CPU."""

from __future__ import annotations

import torch
from fused_wrong import Model, ModelNew
from gate import Errors, root_mean_square, rounding
from torch import nn

WIDTH = 4096


def row(name: str, dtype: torch.dtype, model: nn.Module, x: torch.Tensor) -> Errors:
    """Print the errors of one model."""
    exact = Model(WIDTH).double()(x.double())
    errors = Errors.between(exact, model.to(dtype)(x))
    print(f"{name:32}{errors.cosine:18.14f}{errors.max_abs:10.1e}{errors.rms:10.1e}")
    return errors


def limit(dtype: torch.dtype, eager: Errors, x: torch.Tensor) -> None:
    """Print the largest RMS error that passes."""
    size = root_mean_square(Model(WIDTH).double()(x.double()))
    allowed = 2 * eager.rms + rounding(dtype, WIDTH) * size
    print(f"{f'{str(dtype)[6:]}: limit':60}{allowed:10.1e}")


@torch.no_grad()
def main() -> None:
    torch.manual_seed(0)
    x = torch.randn(256, WIDTH)
    print(f"PyTorch {torch.__version__}{'cosine':>23}{'max':>10}{'rms':>10}")
    eager = row("float32: eager", torch.float32, Model(WIDTH), x)
    quarter = row("float32: a quarter of the row", torch.float32, ModelNew(WIDTH), x)
    limit(torch.float32, eager, x)
    rounded = row("bfloat16: eager", torch.bfloat16, Model(WIDTH), x.bfloat16())
    fused = row("bfloat16: nn.RMSNorm", torch.bfloat16, nn.RMSNorm(WIDTH, eps=1e-6), x.bfloat16())
    row("bfloat16: a quarter of the row", torch.bfloat16, ModelNew(WIDTH), x.bfloat16())
    limit(torch.bfloat16, rounded, x.bfloat16())
    # The figures in the lesson's text.
    assert quarter.cosine > 0.9997 and quarter.max_abs > 100_000 * eager.max_abs
    assert fused.rms < 0.8 * rounded.rms


if __name__ == "__main__":
    main()
