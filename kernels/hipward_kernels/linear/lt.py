"""The route through hipBLASLt or cuBLASLt, for products that PyTorch would run with rocBLAS or cuBLAS."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

NAME = "hipblaslt" if torch.version.hip else "cublaslt"


def refusal(x: Tensor) -> str | None:
    """Why this route cannot run, or None if it can."""
    return None if x.is_cuda else f"{NAME} needs a GPU; this tensor is on the CPU"


def linear(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """See `hipward_kernels.linear`. The library is a setting of the whole process, which is restored afterwards."""
    before = torch.backends.cuda.preferred_blas_library()
    torch.backends.cuda.preferred_blas_library(NAME)
    try:
        return F.linear(x, weight, bias)
    finally:
        torch.backends.cuda.preferred_blas_library(before)
