# test: run
"""Run this first on a new machine: it checks that the port is correct, before any timing."""

from __future__ import annotations

import torch
from torch import nn


# anchor: where
def where_am_i() -> torch.device:
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    name = torch.cuda.get_device_name(0) if device.type == "cuda" else "CPU"
    print(f"{name} · torch {torch.__version__} · HIP {torch.version.hip} · CUDA {torch.version.cuda}")
    return device
# end: where


# anchor: matmul
def check_matmul(device: torch.device) -> None:
    """A bf16 product must be as exact as bf16 permits; absence of NaN is not enough."""
    a, b = torch.randn(2, 1024, 1024, device=device, dtype=torch.bfloat16)
    exact = a.cpu().double() @ b.cpu().double()
    error = (torch.matmul(a, b).cpu().double() - exact).norm() / exact.norm()
    assert error < torch.finfo(torch.bfloat16).eps, f"relative error {error:.1e}"
# end: matmul


# anchor: train
def check_training_step(device: torch.device) -> None:
    """One step of a small transformer: every parameter must get a finite gradient."""
    layer = nn.TransformerEncoderLayer(512, nhead=8, batch_first=True)
    layer = layer.to(device, torch.bfloat16)
    x = torch.randn(4, 128, 512, device=device, dtype=torch.bfloat16)
    layer(x).float().pow(2).mean().backward()
    for name, parameter in layer.named_parameters():
        assert parameter.grad is not None, f"{name} got no gradient"
        assert parameter.grad.isfinite().all(), f"{name} has a gradient with NaN or Inf"
# end: train


if __name__ == "__main__":
    torch.manual_seed(0)
    device = where_am_i()
    check_matmul(device)
    check_training_step(device)
    print("validation passed")
