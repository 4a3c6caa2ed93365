"""8-bit floating-point linear layers, in the format of the GPU's matrix units.

Example:
    >>> import torch
    >>> from hipward_kernels.quantization import FP8Linear
    >>> layer = FP8Linear(torch.nn.Linear(4096, 6144), torch.float8_e4m3fn)
    >>> layer(torch.randn(8, 4096)).shape
    torch.Size([8, 6144])
"""

from hipward_kernels.quantization.fp8 import FP8Linear, Quantized, quantize

__all__ = ["FP8Linear", "Quantized", "quantize"]
