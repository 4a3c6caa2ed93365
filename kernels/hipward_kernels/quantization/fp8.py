"""Linear layers with 8-bit floating-point weights and activations, with a scale for each row.

The format is that of the architecture: e4m3fnuz on gfx942, e4m3fn on gfx950, gfx12 and NVIDIA from sm_89 on
(`arch.fp8_dtype`). They are not interchangeable: the same bits have half the value in the first. Without matrix units
for the format (older GPUs, CPUs), the product is computed from the rounded numbers in the layer's dtype.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from hipward_kernels.dispatch.registry import Op
from hipward_kernels.gpu.arch import fp8_dtype, get_gfx
from hipward_kernels.linear.arguments import check
from hipward_kernels.numerics.distance import distance
from hipward_kernels.ops.checks import floating

if TYPE_CHECKING:
    from hipward_kernels.numerics.distance import Distance

OP = Op("hipward_kernels.quantization", "quantize_rows", ("triton", "eager"))


@dataclass(frozen=True)
class Quantized:
    """A quantized matrix: `values * scales`."""

    values: Tensor
    """Shape `[R, K]`, an 8-bit floating dtype."""
    scales: Tensor
    """Shape `[R, 1]`, float32."""

    def dequantized(self, dtype: torch.dtype) -> Tensor:
        """The matrix in `dtype`."""
        return (self.values.float() * self.scales).to(dtype)


def quantize(x: Tensor, dtype: torch.dtype) -> Quantized:
    """Rounds each row of `x` to an 8-bit format, scaled so that its largest number is the format's largest.

    Args:
        x: Shape `[R, K]`, any floating dtype.
        dtype: `torch.float8_e4m3fn` or `torch.float8_e4m3fnuz`.
    """
    if dtype not in (torch.float8_e4m3fn, torch.float8_e4m3fnuz):
        raise TypeError(f"quantize: the dtype is {dtype}; float8_e4m3fn or float8_e4m3fnuz is needed")
    floating("quantize", "x", x)
    if x.dim() != 2:
        raise ValueError(f"quantize: x has shape {list(x.shape)}; [R, K] is needed")
    if x.requires_grad and torch.is_grad_enabled():
        raise RuntimeError("quantize has no backward: rounding has no gradient. Use it under torch.no_grad()")
    return Quantized(*OP(x, dtype))


class FP8Linear(nn.Module):
    """An inference-only linear layer in 8-bit floating point: weights rounded once, activations at each call."""

    values: Tensor
    scales: Tensor
    bias: Tensor | None

    def __init__(self, layer: nn.Linear, dtype: torch.dtype | None = None) -> None:
        """`dtype=None` is the format of the layer's device.

        Raises:
            ValueError: The device has no 8-bit format, and `dtype` is None.
        """
        super().__init__()
        weight = layer.weight.detach()
        arch = get_gfx(weight.get_device())
        format_ = fp8_dtype(arch) if dtype is None else dtype
        if format_ is None:
            raise ValueError(
                f"FP8Linear: {arch} has no 8-bit matrix units; pass a dtype to emulate that of another GPU"
            )
        self.dtype = format_
        quantized = quantize(weight, format_)
        self.register_buffer("values", quantized.values)
        self.register_buffer("scales", quantized.scales)
        self.register_buffer("bias", None if layer.bias is None else layer.bias.detach())

    def forward(self, x: Tensor) -> Tensor:
        """`x` of shape `[..., K]` to `[..., N]`, in its dtype."""
        check(x, self.values, self.bias)
        rows = x.reshape(-1, x.shape[-1])
        quantized = quantize(rows, self.dtype)
        out = self._product(quantized, x.dtype)
        return out.view(*x.shape[:-1], self.values.shape[0])

    def uses_matrix_units(self, x: Tensor) -> bool:
        """Whether the product of `x` runs on 8-bit matrix units."""
        n, k = self.values.shape
        fits = n % 16 == 0 and k % 16 == 0 and x.dtype == torch.bfloat16
        return fits and x.is_cuda and fp8_dtype(get_gfx(x.get_device())) is self.dtype

    def _product(self, x: Quantized, dtype: torch.dtype) -> Tensor:
        bias = None if self.bias is None else self.bias.to(dtype)
        if x.values.shape[0] and self.uses_matrix_units(torch.empty(0, dtype=dtype, device=x.values.device)):
            return torch._scaled_mm(  # noqa: SLF001 - PyTorch's 8-bit product; torch.nn.functional has none before 2.10
                x.values, self.values.t(), x.scales, self.scales.t(), bias=bias, out_dtype=dtype
            )
        weight = Quantized(self.values, self.scales).dequantized(dtype)
        return F.linear(x.dequantized(dtype), weight, bias)

    def error(self, x: Tensor, layer: nn.Linear) -> tuple[Distance, float]:
        """Error against `layer` for `x`: the distance, and the root mean square error relative to the result's."""
        exact = F.linear(x.double(), layer.weight.double(), None if layer.bias is None else layer.bias.double())
        with torch.no_grad():
            apart = distance(self(x), exact)
        return apart, apart.rms / max(apart.expected_rms, 1e-30)
