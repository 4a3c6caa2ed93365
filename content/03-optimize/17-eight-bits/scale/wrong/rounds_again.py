# fails: case_convert, case_bits
# message: Converting through the value rounds the largest numbers down. Keep the bits.
import torch
from torch import Tensor


def quantize(x: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    largest = torch.finfo(dtype).max
    scales = (x.float().abs().amax(-1, keepdim=True) / largest).clamp(min=1e-12)
    values = (x.float() / scales).clamp(-largest, largest).to(dtype)
    return values, scales


def to_fnuz(values: Tensor, scales: Tensor) -> tuple[Tensor, Tensor]:
    return values.float().clamp(-240, 240).to(torch.float8_e4m3fnuz), scales
