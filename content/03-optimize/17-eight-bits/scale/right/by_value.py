import torch
from torch import Tensor


def quantize(x: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    largest = torch.finfo(dtype).max
    scales = (x.float().abs().amax(-1, keepdim=True) / largest).clamp(min=1e-12)
    values = (x.float() / scales).clamp(-largest, largest).to(dtype)
    return values, scales


def to_fnuz(values: Tensor, scales: Tensor) -> tuple[Tensor, Tensor]:
    return (values.float() / 2).to(torch.float8_e4m3fnuz), scales + scales
