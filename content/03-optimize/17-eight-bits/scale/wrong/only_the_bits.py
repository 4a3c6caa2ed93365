# fails: case_convert, case_bits, case_minus_zero
# message: The same bits mean half the value in e4m3fnuz, so the scales must be doubled.
import torch
from torch import Tensor


def quantize(x: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    largest = torch.finfo(dtype).max
    scales = (x.float().abs().amax(-1, keepdim=True) / largest).clamp(min=1e-12)
    values = (x.float() / scales).clamp(-largest, largest).to(dtype)
    return values, scales


def to_fnuz(values: Tensor, scales: Tensor) -> tuple[Tensor, Tensor]:
    bits = values.view(torch.uint8)
    bits = torch.where(bits == 0x80, torch.zeros_like(bits), bits)
    return bits.view(torch.float8_e4m3fnuz), scales
