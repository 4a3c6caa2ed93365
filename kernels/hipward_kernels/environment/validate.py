"""Checks that the GPU computes correctly: `python -m hipward_kernels.environment.validate` after a port.

Four steps: the device, a matrix product that is compared with float64, a transformer layer forward and backward with a
gradient for every parameter, and torch.compile. It also runs on a CPU.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

import torch
from torch import nn

from hipward_kernels.environment.gpu_utils import detect_gpu_vendor
from hipward_kernels.gpu.devices import describe
from hipward_kernels.numerics.distance import distance

if TYPE_CHECKING:
    from collections.abc import Callable

BF16_ERROR = 1e-2
"""Largest relative root mean square error of a bf16 product. Rounding of the result alone gives 2e-3."""


class InvalidError(Exception):
    """A step failed; the message states the reason."""


def device_is_there(device: torch.device) -> str:
    """The device, and what PyTorch was built for."""
    here = describe(device)
    runtime = f"HIP {torch.version.hip}" if torch.version.hip else f"CUDA {torch.version.cuda}"
    built = runtime if device.type != "cpu" else "no GPU used"
    return f"{here.name} ({here.arch}), {here.memory_bytes / 2**30:.0f} GiB, PyTorch {torch.__version__}, {built}"


def matrix_product(device: torch.device) -> str:
    """A bf16 product, compared with float64."""
    generator = torch.Generator().manual_seed(0)
    # Two different matrices: the product of one with its own transpose is symmetric, which hides a wrong layout.
    a, b = (torch.randn(1024, 1024, generator=generator).to(torch.bfloat16) for _ in range(2))
    got = (a.to(device) @ b.to(device)).cpu()
    expected = a.double() @ b.double()
    apart = distance(got, expected)
    off = apart.rms / apart.expected_rms
    if not off < BF16_ERROR:
        raise InvalidError(f"the relative error of a bf16 matrix product is {off:.2g}, {BF16_ERROR:g} is allowed")
    return f"relative error {off:.1e}"


def training_step(device: torch.device) -> str:
    """A transformer layer forward and backward."""
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(256, 8, 512, dropout=0.0, batch_first=True).to(device, torch.bfloat16)
    layer(torch.randn(2, 32, 256, device=device, dtype=torch.bfloat16)).square().mean().backward()
    bad = [name for name, p in layer.named_parameters() if p.grad is None or not bool(torch.isfinite(p.grad).all())]
    if bad:
        raise InvalidError(f"these parameters have no finite gradient: {', '.join(bad)}")
    return f"{sum(1 for _ in layer.parameters())} parameters, each with a finite gradient"


def compiles(device: torch.device) -> str:
    """torch.compile, compared with eager."""

    def norm(x: torch.Tensor) -> torch.Tensor:
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6)

    x = torch.randn(64, 256, device=device)
    off = float((torch.compile(norm, fullgraph=True)(x) - norm(x)).abs().max())
    if not off < 1e-4:
        raise InvalidError(f"torch.compile differs from eager by {off:.2g}")
    return f"largest difference from eager {off:.1e}"


STEPS: tuple[tuple[str, Callable[[torch.device], str]], ...] = (
    ("device", device_is_there),
    ("matrix product", matrix_product),
    ("training step", training_step),
    ("torch.compile", compiles),
)


def validate(device: torch.device, skip: tuple[str, ...] = ()) -> bool:
    """Runs every step and prints a line for each; returns whether all passed."""
    well = True
    for name, step in STEPS:
        if name in skip:
            continue
        try:
            print(f"ok    {name}: {step(device)}")
        # A broken installation may raise anything; later steps may give more information.
        except Exception as error:  # noqa: BLE001
            print(f"FAILS {name}: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}")
            well = False
    return well


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(prog="python -m hipward_kernels.environment.validate", description=__doc__)
    default = "cpu" if detect_gpu_vendor() == "none" else "cuda"
    parser.add_argument("--device", default=default, help="cpu, cuda, cuda:1 (ROCm devices are cuda:N)")
    parser.add_argument("--skip", action="append", default=[], choices=[name for name, _ in STEPS])
    options = parser.parse_args()
    sys.exit(0 if validate(torch.device(options.device), tuple(options.skip)) else 1)


if __name__ == "__main__":
    main()
