# fails: case_rows
# message: One scale for the whole matrix: rows of small numbers lose their digits.
import torch
from torch import Tensor


def quantize(x: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    largest = torch.finfo(dtype).max
    scales = (x.float().abs().max().expand(x.shape[0], 1) / largest).clamp(min=1e-12)
    values = (x.float() / scales).clamp(-largest, largest).to(dtype)
    return values, scales


def to_fnuz(values: Tensor, scales: Tensor) -> tuple[Tensor, Tensor]:
    bits = values.view(torch.uint8)
    bits = torch.where(bits == 0x80, torch.zeros_like(bits), bits)
    return bits.view(torch.float8_e4m3fnuz), scales * 2
