"""8-bit floating-point linear layers, in the format of the GPU's matrix units."""

from hipward_kernels.quantization.fp8 import FP8Linear, Quantized, quantize

__all__ = ["FP8Linear", "Quantized", "quantize"]
